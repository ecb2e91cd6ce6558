"""Continue tori from Neimark-Sacker points for `dynsim continue --tori`, and draw the last one of each branch."""

from typing import TYPE_CHECKING, Any

from dynsim.cli.continuation.options import Continue
from dynsim.cli.parsing.options import say
from dynsim.errors import ArgumentError

if TYPE_CHECKING:
    from analysis.dynamics.diagrams import Diagram
    from dynsim.systems.parameter import Parameter

ENDS = {
    "steps": "at the largest number of tori (`--max-tori` sets it)",
    "accuracy": "where as many values as are allowed do not resolve the section, as where a torus loses its smoothness",
    "lost": "where no step converges, however small (a smaller `--step` may help)",
}
"""Explanations of the values of `TorusBranch.ends`."""


def check_tori(o: Continue, system: Any) -> None:
    """Raise `ValueError` for tori of a flow without periodic orbits, from which they begin."""
    from dynsim.systems.base import AbstractFlow

    if o.tori and isinstance(system, AbstractFlow) and not (o.cycles or o.of_cycle or o.resume):
        raise ArgumentError("tori", "be given with `--cycles`, `--cycle` or `--from` for a flow", "is given alone")


def with_tori_of(o: Continue, parameter: "Parameter", diagram: "Diagram") -> "Diagram":
    """Continue the tori from all Neimark-Sacker points of a diagram, and print them."""
    from analysis.dynamics.continuation.steps import Steps
    from analysis.dynamics.diagrams import with_tori

    found = with_tori(diagram, parameter, steps=Steps(first=o.step, largest=o.max_step, points=o.max_tori))
    for one in found.tori:
        say(f"  {one}")
    for note in found.notes:
        say(note)
    if not found.tori and not found.notes:
        say("there is no Neimark-Sacker point from which tori begin")
    for end in dict.fromkeys(end for one in found.tori for end in one.ends):
        locked = f"where the motion locks to a periodic orbit that closes after {end.rpartition(':')[2]} turns"
        if where := ENDS.get(end, locked if end.startswith("locked") else ""):
            say(f"a branch of tori ends {where}")
    return found


def draw_tori(o: Continue, diagram: "Diagram") -> None:
    """Draw the last torus of each branch, if a figure is requested."""
    if o.torus_figure is None:
        return
    for k, one in enumerate(diagram.tori):
        torus = one.tori[-1]
        path = o.torus_figure if k == 0 else o.torus_figure.with_stem(f"{o.torus_figure.stem}-{k + 1}")
        section = torus.section
        drawn = torus.plot() if section is None or section.is_map else torus.plot_surface()
        drawn.save(path, f"torus at {torus.name} = {torus.parameter:.6g}")
        say(f"figure {path}")
