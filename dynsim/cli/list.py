"""`dynsim list`: list the systems, theorems, papers, claims, experiments and figures that other commands accept."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from dynsim.cli.parsing.options import parse, say, warn

if TYPE_CHECKING:
    from dynsim.systems.catalogue.entries import Entry


@dataclass(frozen=True)
class List:
    """List systems, initial distributions, theorems, papers, claims, experiments and figures, or one of these."""

    what: Annotated[
        Literal[
            "all",
            "systems",
            "initial-distributions",
            "theorems",
            "papers",
            "claims",
            "verifiers",
            "experiments",
            "figures",
        ],
        tyro.conf.Positional,
    ] = "all"
    """the list to print"""


def main(words: Sequence[str]) -> int:
    """Print the chosen list, or all lists."""
    o = parse(List, words, "list")
    problems: list[str] = []
    lists = {
        "systems": _systems,
        "initial-distributions": _distributions,
        "theorems": _theorems,
        "papers": lambda: _papers(problems),
        "claims": lambda: _claims(problems),
        "verifiers": _verifiers,
        "experiments": _experiments,
        "figures": lambda: _figures(problems),
    }
    for name, rows in lists.items():
        if o.what in ("all", name):
            say(f"{name.replace('-', ' ')}:")
            for row in rows():
                say(f"  {row}")
    warn(dict.fromkeys(problems))  # once for all lists
    return 0


def _systems() -> list[str]:
    from dynsim.cli.building.papers import SYSTEMS
    from dynsim.cli.simulate import WITH_OWN_OPTIONS
    from dynsim.systems.catalogue.entries import CATALOGUE

    rows = {name: text for name, (text, _) in SYSTEMS.items()} | WITH_OWN_OPTIONS
    rows |= {name: _of_the_catalogue(entry) for name, entry in CATALOGUE.items()}
    return [f"{name:<22}{text}" for name, text in rows.items()]


def _of_the_catalogue(entry: "Entry") -> str:
    """Describe a system of the catalogue, with its components and its parameters with default values."""
    from dynsim.systems.named import parameters

    system = entry.system()
    values = [f"{name} = {','.join(f'{v:g}' for v in x.ravel())}" for name, x in parameters(system).items()]
    return f"{entry.text} ({', '.join(system.names)}); {', '.join(values) or 'no parameters'}"


def _distributions() -> list[str]:
    from dynsim.systems.tokens.initial import DISTRIBUTIONS

    texts = {name: (draw.__doc__ or "").splitlines()[0] for name, draw in DISTRIBUTIONS.items()}
    return [f"{name:<22}{text.removeprefix('Return ')}" for name, text in texts.items()]


def _theorems() -> list[str]:
    from dynsim.cli.theorem.entries import ENTRIES

    rows = [(name, entry.says, " ".join(f"--{one}" for one in entry.options)) for name, entry in ENTRIES.items()]
    return [f"{name:<22}{says}; {options}" for name, says, options in rows]


def _papers(problems: list[str]) -> list[str]:
    from dynsim.cli.ledger.own_papers import own_papers
    from dynsim.papers import PAPERS

    own, left_out = own_papers(())
    problems += left_out
    rows = [(paper, "") for paper in PAPERS.values()] + [(one.paper, f", of the package {one.where}") for one in own]
    return [f"{paper.key:<22}{paper.title}{origin}" for paper, origin in rows]


def _claims(problems: list[str]) -> list[str]:
    from dynsim.cli.ledger.own_claims import library

    known = library(())
    problems += known.problems
    decided = {claim.statement_id for claim in known.claims}
    open_ones = sum(statement.full_id not in decided for statement in known.statements)
    rows = _in_columns([(claim.id, claim.variant) for claim in known.claims])
    if open_ones:
        rows.append(f"and {open_ones} statements without a claim, which the ledger lists as open")
    return rows


def _in_columns(rows: list[tuple[str, str]]) -> list[str]:
    width = max((len(name) for name, _ in rows), default=0) + 2
    return [f"{name:<{width}}{text}".rstrip() for name, text in rows]


def _verifiers() -> list[str]:
    from analysis.verifiers.pages import verifiers

    return list(verifiers())


def _experiments() -> list[str]:
    from analysis.experiments import experiments

    return _in_columns([(experiment.name, experiment.text) for experiment in experiments()])


def _figures(problems: list[str]) -> list[str]:
    from dynsim.cli.ledger.own_figures import known_figures

    figures, left_out = known_figures(())
    problems += left_out
    return [f"{figure.name:<30}{figure.caption.splitlines()[0]}" for figure in figures]
