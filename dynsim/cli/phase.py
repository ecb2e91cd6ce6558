"""`dynsim phase`: compute the phase response curve of an oscillator, and draw isochrons in the plane."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dynsim.cli.parsing.options import Force, check_outputs, refuse_unused, say
from dynsim.cli.parsing.outputs import write_out
from dynsim.cli.parsing.system import SystemOptions, parse_system
from dynsim.errors import ArgumentError, check_at_least


@dataclass(frozen=True)
class Phase(SystemOptions):
    """Compute how kicks advance the phase of an oscillator: dynsim phase van-der-pol --figure response.png.

    The trajectory from `--start` leads to a stable periodic orbit, of which the infinitesimal phase response curve is
    computed by the adjoint equation. With `--isochrons 16`, curves of states of one phase are traced in the plane.

    SYSTEM is a name that `dynsim list systems` shows, or `file.py:name` of yours; each of its parameters is an option
    of its own.
    """

    component: str = ""
    """the component whose response is drawn; by default all"""
    unit: Literal["time", "radians", "cycles"] = "time"
    """unit of the phase advance in the figure"""
    points: int = 401
    """number of phases"""
    isochrons: int = 0
    """number of isochrons, evenly spaced in phase, instead of the response; for systems of two components"""
    box: tuple[float, ...] = ()
    """window of the isochrons: lower and upper bound of each component; by default the catalogue's"""
    longest: int = 4096
    """for how many steps the trajectory is followed until it has settled"""
    out: Path | None = None
    """a table (.csv, .parquet or .npz) to write: the response, or the points of the isochrons"""
    figure: Path | None = None
    """the figure (.pdf, .svg or .png) to write"""
    force: Force = False


def main(words: Sequence[str]) -> int:
    """Find the periodic orbit, and compute, print and draw its phase response or isochrons."""
    o = parse_system(Phase, words, "phase")
    check_at_least(0, isochrons=o.isochrons)
    check_at_least(8, points=o.points)
    check_outputs(o.force, figure=o.figure, out=o.out)
    if o.isochrons:
        refuse_unused(o, ("component", "unit", "points"), "with `--isochrons`")
    else:
        refuse_unused(o, ("box",), "without `--isochrons`")
    from analysis.dynamics.attractors.attracting_orbit import attracting_orbit
    from analysis.dynamics.attractors.options import Search
    from analysis.dynamics.flow_maps.autonomy import depends_on_time
    from analysis.dynamics.phase.isochrons import isochrons
    from analysis.dynamics.phase.response import phase_response
    from dynsim.cli.building.systems import flow
    from dynsim.programs import without_compiling

    made = flow(o, "phase")
    if depends_on_time(made.system, made.begun()):
        raise ArgumentError("system", "be autonomous: the phase of a forced orbit is fixed", "depends on time")
    with without_compiling():
        orbit = attracting_orbit(made.system, made.begun(), search=Search(longest=o.longest))
        say(str(orbit))
        if o.isochrons:
            box = o.box or made.box
            if len(box) != 4:
                raise ArgumentError("box", "hold two bounds of both components", f"holds {len(box)} numbers")
            found, drawing, what = isochrons(made.system, orbit, box, count=o.isochrons), {}, "isochrons"
        else:
            found, what = phase_response(made.system, orbit, points=o.points), "phase response"
            drawing = {"phase": o.unit} | ({"component": o.component} if o.component else {})
    say(str(found))
    write_out(o.out, found, drawing=drawing)
    if o.figure is not None:
        found.plot(**drawing).save(o.figure, f"{what} of {made.name}")
        say(f"figure {o.figure}")
    return 0
