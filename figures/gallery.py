"""The one list of figures, and how they are found by name."""

import fnmatch
from types import ModuleType

from dynsim.errors import nearest
from dynsim.papers import PAPERS
from figures import consensus, consensus_networks
from figures.figure import Figure


def collect(*rooms: ModuleType) -> tuple[Figure, ...]:
    """Return the figures of modules in their order.

    Raises:
        ValueError: for a name that stands twice, or a figure without drawing.
    """
    found: dict[str, Figure] = {}
    for figure in (thing for room in rooms for thing in vars(room).values() if isinstance(thing, Figure)):
        if figure.name in found:
            raise ValueError(f"Figure `{figure.name}` must be written once, but stands twice.")
        if figure.draw is None:
            raise ValueError(f"Figure `{figure.name}` must have a drawing, but has none.")
        found[figure.name] = figure
    return tuple(found.values())


FIGURES = collect(consensus, consensus_networks)


def find_figures(pattern: str) -> tuple[Figure, ...]:
    """Return the figures that a key, a name or a shell pattern names; without a key it is tried under every key.

    Raises:
        ValueError: if it names none, with the nearest name.
    """
    forms = (pattern, *(f"{key}/{pattern}" for key in PAPERS))
    found = tuple(f for f in FIGURES if any(_matches(f, form) for form in forms))
    if not found:
        names = {name for f in FIGURES for name in (f.name, f.name.split("/", 1)[1], f.source.paper.key)}
        must = "name a figure, a paper with figures, or match one as a shell pattern"
        raise ValueError(f"Argument `pattern` must {must}, but `{pattern}` does not{nearest(pattern, names)}.")
    return found


def _matches(figure: Figure, form: str) -> bool:
    return form in (figure.name, figure.source.paper.key) or fnmatch.fnmatchcase(figure.name, form)
