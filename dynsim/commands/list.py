"""`dynsim list`: print the names that the other commands take."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import tyro

from dynsim.commands.options import parse, say


@dataclass(frozen=True)
class List:
    """List systems, initial distributions, claims, experiments and figures, or one of these."""

    what: Annotated[
        Literal["all", "systems", "initial-distributions", "claims", "experiments", "figures"], tyro.conf.Positional
    ] = "all"
    """the list to print"""


def main(words: Sequence[str]) -> int:
    """Print the chosen list, or all of them."""
    o = parse(List, words, "list")
    lists = {
        "systems": _systems,
        "initial-distributions": _distributions,
        "claims": _claims,
        "experiments": _experiments,
        "figures": _figures,
    }
    for name, rows in lists.items():
        if o.what in ("all", name):
            say(f"{name.replace('-', ' ')}:")
            for row in rows():
                say(f"  {row}")
    return 0


def _systems() -> list[str]:
    from dynsim.commands.simulate import WITH_OWN_OPTIONS
    from dynsim.commands.simulate.systems import SYSTEMS

    rows = {name: text for name, (text, _) in SYSTEMS.items()} | WITH_OWN_OPTIONS
    return [f"{name:<22}{text}" for name, text in rows.items()]


def _distributions() -> list[str]:
    from dynsim.initial_distributions import DISTRIBUTIONS

    texts = {name: (draw.__doc__ or "").splitlines()[0] for name, draw in DISTRIBUTIONS.items()}
    return [f"{name:<22}{text.removeprefix('Return ')}" for name, text in texts.items()]


def _claims() -> list[str]:
    from analysis.claims import claims, statements

    decided = {claim.statement_id for claim in claims()}
    open_ones = sum(statement.full_id not in decided for statement in statements())
    rows = [f"{claim.id:<62}{claim.variant}" for claim in claims()]
    return [*rows, f"and {open_ones} statements without a claim, which the ledger lists as open"]


def _experiments() -> list[str]:
    from analysis.experiments import experiments

    return [f"{experiment.name:<22}{experiment.text}" for experiment in experiments()]


def _figures() -> list[str]:
    from figures.gallery import FIGURES

    return [f"{figure.name:<30}{figure.caption.splitlines()[0]}" for figure in FIGURES]
