"""Run experiments of the papers in two sizes; a run saves one record, which claims, figures and commands read."""

import contextlib
import importlib
import json
import os
import pkgutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from dynsim._core.types import Key
from dynsim._runtime.executors import as_executor, finished
from dynsim._runtime.interrupts import on_interrupt
from dynsim.errors import ArgumentError, UnavailableError
from dynsim.io.data import VARIABLE
from dynsim.io.locks import held
from dynsim.io.npz import read_arrays, writable_folder, write_arrays
from dynsim.keys import random_key
from dynsim.papers import Source

Size = Literal["quick", "paper"]
Arrays = Mapping[str, np.ndarray]
RESULTS = "DYNSIM_RESULTS"


@dataclass(frozen=True)
class Experiment:
    """An experiment: a configuration for each size, and a function that runs it.

    `quick` takes at most half a minute on two cores; `paper` has the numbers of the paper. `run` takes a configuration,
    a random key and a folder for finished parts; resumed from such parts it must give the same bits. `summary` returns
    the results as a few lines of text.
    """

    name: str
    source: Source
    text: str
    quick: Any
    paper: Any
    run: Callable[[Any, Key, Path], Arrays]
    summary: Callable[[Arrays], str]

    def config(self, size: Size) -> Any:
        """Select the configuration for a size."""
        return self.quick if size == "quick" else self.paper


@dataclass(frozen=True)
class Record:
    """Result of a run: its arrays, with the name of the experiment, size, seed and configuration."""

    name: str
    size: Size
    seed: int
    config: Mapping[str, Any]
    arrays: Arrays


def experiments() -> tuple[Experiment, ...]:
    """Collect the experiments of all papers."""
    found = [module.name for module in pkgutil.walk_packages(__path__, f"{__name__}.") if not module.ispkg]
    modules = [importlib.import_module(name) for name in found]
    return tuple(experiment for module in modules for experiment in getattr(module, "EXPERIMENTS", ()))


def names_in(arrays: Arrays, part: str) -> list[str]:
    """List the names before `part` in a record's arrays: "soft 16" for "soft 16: codebook" and the part "codebook"."""
    return [name.removesuffix(f": {part}") for name in arrays if name.endswith(f": {part}")]


def results_folder() -> Path:
    """Find the folder of records: the environment variable `DYNSIM_RESULTS`, else `results/experiments`."""
    return Path(os.environ.get(RESULTS, "results/experiments"))


def use_results(folder: Path | None) -> None:
    """Set the folder of records for this process and its child processes; None leaves it unchanged.

    Raises:
        ValueError: if `folder` is not a folder.
    """
    if folder is None:
        return
    if not folder.is_dir():
        raise ArgumentError("results", "be a folder of records of experiments", f"`{folder}` is not a folder")
    os.environ[RESULTS] = str(folder.resolve())


def record(experiment: Experiment, size: Size, seed: int = 0, results: Path | None = None) -> Record:
    """Load the record of a run, or run the experiment if there is none; an interrupted run is resumed.

    Raises:
        ValueError: if the folder cannot be written, the disk is full, or the record is of another configuration.
    """
    place = _file(experiment, size, seed, results)
    config = _config(experiment, size)
    if place.exists():
        return _loaded(place, experiment, size, seed, config)
    parts = place.with_suffix(".parts")
    with on_interrupt(lambda: f"Stopped; finished parts are kept in `{parts}`; repeat the command to resume."):
        arrays = experiment.run(experiment.config(size), random_key(seed, experiment.name), parts)
    return _written(place, experiment, size, seed, arrays)


def records(
    experiment: Experiment,
    size: Size,
    seeds: Sequence[int],
    *,
    results: Path | None = None,
    executor: Executor | None = None,
) -> Iterator[Record]:
    """Yield the records of several seeds, in their order, or with an executor, which runs them, as they finish.

    Finished parts of a seed are kept beside its record, where a machine of the executor sees this folder, and resumed.
    Data files are those of the folder that `DYNSIM_DATA` names here, or else there.

    Raises:
        ValueError: as `record`, for records that another run makes, and for an executor that ends before its work.
    """
    if executor is None:
        for seed in seeds:
            with _held(_file(experiment, size, seed, results)):
                made = record(experiment, size, seed, results)
            yield made
        return
    places = {seed: _file(experiment, size, seed, results) for seed in seeds}
    done = [seed for seed in seeds if places[seed].exists()]
    yield from (record(experiment, size, seed, results) for seed in done)
    todo = [seed for seed in seeds if seed not in done]
    kept = lambda: f"records are kept in `{places[seeds[0]].parent}`, and the same call goes on"
    with contextlib.ExitStack() as stack:
        for seed in todo:
            stack.enter_context(_held(places[seed]))
        data = os.environ.get(VARIABLE, "")
        calls = {
            seed: (_run_elsewhere, (experiment, size, seed, places[seed].with_suffix(".parts").resolve(), data))
            for seed in todo
        }
        for seed, arrays in finished(as_executor(executor), calls, kept):
            yield _written(places[seed], experiment, size, seed, arrays)


def _run_elsewhere(experiment: Experiment, size: Size, seed: int, parts: Path, data: str) -> dict[str, np.ndarray]:
    """Run an experiment in a process of an executor, and collect its arrays."""
    if data and Path(data).is_dir():
        os.environ[VARIABLE] = data
    arrays = experiment.run(experiment.config(size), random_key(seed, experiment.name), parts)
    return {name: np.asarray(array) for name, array in arrays.items()}


def _held(place: Path) -> contextlib.AbstractContextManager[None]:
    """Lock a record that is being made; its parts are locked by what makes them."""
    return held("results", writable_folder("results", place.parent), f".{place.stem}.running")


def _config(experiment: Experiment, size: Size) -> dict[str, Any]:
    return json.loads(json.dumps(asdict(experiment.config(size))))


def _written(place: Path, experiment: Experiment, size: Size, seed: int, arrays: Arrays) -> Record:
    """Write a record."""
    config = _config(experiment, size)
    header = {"name": experiment.name, "size": size, "seed": seed, "config": config, "source": str(experiment.source)}
    write_arrays(place, {"header": np.array(json.dumps(header)), **arrays})
    return Record(experiment.name, size, seed, config, arrays)


def paper_record(experiment: Experiment, seed: int = 0, results: Path | None = None) -> Record | None:
    """Load the record of size `paper`; None if there is none. Nothing is run.

    Raises:
        UnavailableError: if it is of another configuration.
    """
    return best_record(experiment, seed, results) if _file(experiment, "paper", seed, results).exists() else None


def best_record(experiment: Experiment, seed: int = 0, results: Path | None = None) -> Record:
    """Load the record of size `paper` if there is one, else of size `quick`, running it if it is missing.

    Raises:
        UnavailableError: if there is no such record and it cannot be made, for want of data or of a place to write.
    """
    finished = _file(experiment, "paper", seed, results).exists()
    try:
        return record(experiment, "paper" if finished else "quick", seed, results)
    except ArgumentError as error:
        raise UnavailableError(str(error)) from error


def _file(experiment: Experiment, size: Size, seed: int, results: Path | None) -> Path:
    return (results_folder() if results is None else results) / experiment.name / f"{size}-{seed}.npz"


def _loaded(path: Path, experiment: Experiment, size: Size, seed: int, config: Mapping[str, Any]) -> Record:
    arrays = read_arrays(path)
    try:
        header = json.loads(str(arrays.pop("header")))
    except (KeyError, json.JSONDecodeError):
        raise ArgumentError("results", "hold records of experiments", f"`{path}` is not a record") from None
    if (header.get("name"), header.get("config")) != (experiment.name, config):
        must = f"hold records of `{experiment.name}` as it is configured now"
        raise ArgumentError("results", must, f"`{path}` is of another configuration")
    return Record(experiment.name, size, seed, config, arrays)
