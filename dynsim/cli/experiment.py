"""`dynsim experiment`: run the papers' experiments."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from dynsim.cli.parsing.options import Data, parse, say, typed_as
from dynsim.errors import ArgumentError, nearest
from dynsim.io.data import use_data


@dataclass(frozen=True)
class Experiment:
    """Run one of the papers' experiments. An interrupted run resumes; a finished run is not repeated."""

    name: Annotated[str, tyro.conf.Positional]
    """the experiment: a name that `dynsim list` shows"""
    size: Literal["quick", "paper"] = "quick"
    """quick takes about half a minute; paper uses the sizes of the paper"""
    seeds: int = 1
    """number of seeds; the seeds 0, 1, ... are run"""
    out: Path | None = None
    """the folder for records; by default the one that DYNSIM_RESULTS names, or results/experiments"""
    data: Data = None
    cluster: str | None = None
    """the address of the scheduler of a Dask cluster, on whose workers the seeds run (extra `cluster`)"""


def main(words: Sequence[str]) -> int:
    """Run the seeds that have no finished record, and print a summary of each record."""
    o = parse(Experiment, words, "experiment")
    from analysis.experiments import experiments, records, results_folder
    from dynsim._runtime.executors import cluster

    found = {e.name: e for e in experiments()} | {e.name.split("/", 1)[1]: e for e in experiments()}
    if o.name not in found:
        must = f"be one of {', '.join(e.name for e in experiments())}"
        raise ArgumentError("name", must, f"is `{o.name}`{nearest(o.name, found)}")
    if o.seeds < 1:
        raise ArgumentError("seeds", "be at least 1", f"is {o.seeds}")
    use_data(o.data)
    folder = results_folder() if o.out is None else o.out
    with cluster(o.cluster) as executor, typed_as(results="out"):
        for kept in records(found[o.name], o.size, range(o.seeds), results=folder, executor=executor):
            say(f"{kept.name}, size {kept.size}, seed {kept.seed}, kept in {folder}")
            say(found[o.name].summary(kept.arrays))
    return 0
