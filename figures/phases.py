"""Phase response curves, isochrons, locking regions, connecting orbits and boundary value problems in axes."""

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np

from analysis.dynamics.boundary_values.connecting import ConnectingOrbit
from analysis.dynamics.boundary_values.problem import BoundarySolution
from analysis.dynamics.phase.isochrons import Isochrons
from analysis.dynamics.phase.locking import LockingRange
from analysis.dynamics.phase.response import PhaseResponse
from dynsim._core.validation import choice, number
from dynsim.errors import ArgumentError
from dynsim.systems.named import Components
from figures.artists import Artists, Frame, Part, sheet
from figures.panels import phases as panels
from figures.panels.labels import axis_label, axis_labels, time_label
from figures.panels.phase import equilibria as marks

ADVANCES = ("time", "radians", "cycles")


def response(
    found: PhaseResponse,
    ax: Any = None,
    *,
    lines: Part = True,
    component: str | int | None = None,
    phase: str = "time",
    colour: Any = None,
    **frame: Unpack[Frame],
) -> Artists:
    """Draw a phase response curve; see `PhaseResponse.plot`."""
    which = _chosen(Components(found.names, found.units, found.time_unit), component)
    unit = {"time": 1.0, "radians": 2 * np.pi / found.period, "cycles": 1 / found.period}
    values = found.values * unit[choice("phase", phase, ADVANCES)]
    words = {"time": found.time_unit, "radians": "rad", "cycles": ""}
    name = axis_label("phase advance per unit of a kick", words[phase])
    with sheet(ax, **frame) as drawn:
        for k in which:
            drawn.draw("lines", lines, panels.response, found.phases, values[:, k], k, name, found.names[k],
                       colour=colour)  # fmt: skip
    return drawn


def _chosen(known: Components, component: str | int | None) -> Sequence[int]:
    """Indices of the components that are drawn: the one that is named, or all."""
    return range(len(known.names)) if component is None else [known.place(component, "component")]


def solution(
    found: BoundarySolution,
    ax: Any = None,
    *,
    lines: Part = True,
    component: str | int | None = None,
    colour: Any = None,
    **frame: Unpack[Frame],
) -> Artists:
    """Draw the solution of a boundary value problem; see `BoundarySolution.plot`."""
    which = _chosen(Components(found.names, found.units), component)
    places = np.sort(np.append(np.linspace(found.x[0], found.x[-1], 1001), found.x))
    values = found.at(places)
    with sheet(ax, **frame) as drawn:
        for k in which:
            drawn.draw("lines", lines, panels.component, places, values[:, k], k, found.names[k], colour=colour)
        drawn.axes[0].set(
            ylabel=axis_label(found.names[which[0]], found.units[which[0]]) if len(which) == 1 else "state"
        )
    return drawn


def connection(
    found: ConnectingOrbit,
    ax: Any = None,
    *,
    lines: Part = True,
    equilibria: Part = True,
    components: Sequence[str | int] = (),
    over_time: bool = False,
    colour: Any = None,
    **frame: Unpack[Frame],
) -> Artists:
    """Draw a homoclinic or heteroclinic orbit; see `ConnectingOrbit.plot`."""
    known = Components(found.names, found.units, found.time_unit)
    which = [known.place(one, "components") for one in components or range(len(known.names) if over_time else 2)]
    if not over_time and len(which) != 2:
        raise ArgumentError("components", "be two without `over_time=True`", f"are {len(which)}")
    words = axis_labels([known.names[k] for k in which], [known.units[k] for k in which])
    ends = np.array([found.begin, found.end])[: 1 if found.kind == "homoclinic" else 2]
    with sheet(ax, **frame) as drawn:
        drawn.draw("lines", False, panels.connection)
        drawn.draw("equilibria", False, marks)
        if over_time:
            for k in which:
                drawn.draw("lines", lines, panels.component, found.times, found.states[:, k], k, known.names[k],
                           colour=colour)  # fmt: skip
            drawn.axes[0].set(xlabel=time_label(found.time_unit), ylabel=words[0] if len(which) == 1 else "state")
        else:
            drawn.draw("lines", lines, panels.connection, found.states[:, which], found.kind, colour=colour)
            drawn.draw("equilibria", equilibria, marks, ends[:, which], ["saddle"] * len(ends))
            drawn.axes[0].set(xlabel=words[0], ylabel=words[1])
    return drawn


def isochrons(
    found: Isochrons,
    ax: Any = None,
    *,
    isochrons: Part = True,
    cycle: Part = True,
    colour: Any = None,
    **frame: Unpack[Frame],
) -> Artists:
    """Draw isochrons; see `Isochrons.plot`."""
    words = axis_labels(found.names, found.units)
    with sheet(ax, **frame, aspect=0.9) as drawn:
        drawn.draw("isochrons", isochrons, panels.isochrons, found.curves, found.phases, colour=colour)
        drawn.draw("cycle", cycle, panels.cycle, found.cycle)
        drawn.axes[0].set(xlabel=words[0], ylabel=words[1], xlim=found.box[0], ylim=found.box[1])
    return drawn


def locking(
    found: LockingRange,
    ax: Any = None,
    *,
    region: Part = True,
    lines: Part = True,
    strength: float = 1.0,
    colour: Any = None,
    **frame: Unpack[Frame],
) -> Artists:
    """Draw a locking region; see `LockingRange.plot`."""
    strengths = np.linspace(0.0, number("strength", strength), 101)
    ends = np.array([found.tongue(size) for size in strengths])
    with sheet(ax, **frame) as drawn:
        drawn.draw("region", region, panels.region, ends, strengths, colour=colour)
        drawn.draw("lines", lines, panels.borders, ends, strengths, colour=colour)
        unit = f"rad/{found.time_unit}" if found.time_unit else ""
        drawn.axes[0].set(xlabel=axis_label("frequency of the forcing", unit), ylabel="strength of the forcing")
    return drawn
