"""`dynsim explore`: write a page with sliders that explores a system in a browser."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dynsim.cli.parsing.options import Force, check_outputs, say, typed_as
from dynsim.cli.parsing.ranges import named_range
from dynsim.cli.parsing.system import SystemOptions, parse_system
from dynsim.errors import ArgumentError, check_positive

if TYPE_CHECKING:
    from figures.explore.source import SystemSource


@dataclass(frozen=True)
class Explore(SystemOptions):
    """Write a page that explores a system in a browser: dynsim explore "x' = y; y' = mu*(1 - x^2)*y - x" --mu 1.

    The page is one HTML file that needs no server and no network. It shows the phase plane with nullclines, equilibria
    and the trajectories that you click, time series, the Poincare section of a forced flow, the potential of a flow on
    a line or the cobweb of a map, and a bifurcation diagram, while you move sliders for the parameters.

    SYSTEM is a flow or a map with at most 12 components and without noise: a name that `dynsim list systems` shows,
    equations, or `file.py:name` of yours.
    """

    box: tuple[float, ...] = ()
    """the window: lower and upper bound of each component, or of the two of `--plane`; by default the catalogue's"""
    plane: tuple[str, ...] = ()
    """names of the two components that are drawn first, for systems with more than two"""
    range: tuple[str, ...] = ()
    """ends of the sliders of parameters, NAME=LOW:HIGH each; by default from zero to twice the value"""
    horizon: float | None = None
    """length of trajectories in time units or steps; by default that of equations, or 50 (1,000 steps for
    a map of several components)"""
    out: Path = Path("explore.html")
    """the page (.html) to write"""
    force: Force = False


def main(words: Sequence[str]) -> int:
    """Write the page."""
    o = parse_system(Explore, words, "explore")
    check_positive(horizon=o.horizon)
    check_outputs(o.force, out=o.out, out_endings=(".html",))
    ranges = {made.name: made.bounds for made in (named_range(word, "range", ascending=True) for word in o.range)}
    from dynsim.cli.building.systems import found
    from dynsim.systems.base import FunctionFlow, FunctionMap
    from figures.explore.model import component_names
    from figures.explore.page import page

    made = found(o, "explore")
    known = o.start or not isinstance(made.system, FunctionFlow | FunctionMap)
    start = made.state() if known else None  # a random one is chosen with the page
    if not (known or made.system.names) and o.box and not o.plane and len(o.box) % 2 == 0:
        start = [(low + high) / 2 for low, high in zip(o.box[::2], o.box[1::2], strict=True)]
    box = _window(o, component_names(made.system, start)) if o.box else {}
    with typed_as(ranges="range"):
        written = page(made.system, start, {**box, **ranges}, o.plane, o.horizon, *_named(o, made.name))
    written.save(o.out)
    say(str(written).replace("`save` writes it to a file.", f"page {o.out}"))
    return 0


def _window(o: Explore, names: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Ranges of components from `--box`."""
    shown = o.plane or names
    if len(o.box) != 2 * len(shown):
        must = f"hold a lower and an upper bound for each of {', '.join(shown)}"
        raise ArgumentError("box", must, f"holds {len(o.box)} numbers")
    sides = list(zip(o.box[::2], o.box[1::2], strict=True))
    for low, high in sides:
        if not low < high:
            raise ArgumentError("box", "hold a lower bound before each upper bound", f"holds {low:g} before {high:g}")
    return dict(zip(shown, sides, strict=True))


def _named(o: Explore, name: str) -> tuple[str, "SystemSource | None"]:
    """The title of the page, without a folder, and how a user's own system is named; others name themselves."""
    from dynsim.cli.building.equations import is_equations
    from dynsim.cli.building.own_code import imported
    from figures.explore.source import source_of_own

    if is_equations(o.system) or ":" not in o.system:
        return name, None
    options: dict[str, Any] = {"names": o.names, "units": o.units, "angle": o.angle}
    source = source_of_own(o.system, imported(o.system, beside=o.system), options, o.map)
    return source.words.split()[0], source
