"""`dynsim experiment`: the papers' experiments."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from dynsim.commands.options import parse
from dynsim.errors import argument_error


@dataclass(frozen=True)
class Experiment:
    """Run one of the papers' experiments, resumably."""

    name: Annotated[str, tyro.conf.Positional]
    """which experiment"""
    size: Literal["quick", "paper"] = "quick"
    """half a minute, or the paper's own numbers"""
    seeds: int = 1
    """how many"""
    out: Path = Path("results")
    """where records go"""


def main(words: Sequence[str]) -> int:
    """Refuse: the first experiments come with the trained transformers of Section 7.5."""
    o = parse(Experiment, words, "experiment")
    must = "name an experiment, of which there is none yet (Sections 7.1 to 7.4 run by `dynsim simulate published-...`)"
    raise argument_error("name", must, f"is `{o.name}`")
