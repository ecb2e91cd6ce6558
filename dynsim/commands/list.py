"""`dynsim list`: what there is."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import tyro

from dynsim.commands.options import parse, say


@dataclass(frozen=True)
class List:
    """List what there is: systems, laws, claims, figures, or all of it."""

    what: Annotated[Literal["all", "systems", "laws", "claims", "experiments", "figures"], tyro.conf.Positional] = "all"
    """what to list"""


def main(words: Sequence[str]) -> int:
    """Print the lists."""
    o = parse(List, words, "list")
    lists = {"systems": _systems, "laws": _laws, "claims": _claims, "experiments": _experiments, "figures": _figures}
    for name, rows in lists.items():
        if o.what in ("all", name):
            say(f"{name}:")
            for row in rows():
                say(f"  {row}")
    return 0


def _systems() -> list[str]:
    from dynsim.commands.simulate import WITH_OWN_OPTIONS
    from dynsim.commands.simulate.systems import SYSTEMS

    rows = {name: text for name, (text, _) in SYSTEMS.items()} | WITH_OWN_OPTIONS
    return [f"{name:<22}{text}" for name, text in rows.items()]


def _laws() -> list[str]:
    from dynsim.initial_distributions import DISTRIBUTIONS

    return [f"{name:<22}{(law.__doc__ or '').splitlines()[0]}" for name, law in DISTRIBUTIONS.items()]


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
