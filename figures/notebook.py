"""Pictures of results as PNG files in memory, for notebooks."""

import io
from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from analysis.dynamics.attractors.basins import Basins
from analysis.dynamics.attractors.fractions import FractionCurves
from analysis.dynamics.continuation.branches import Branch
from analysis.dynamics.diagrams import Diagram
from analysis.dynamics.lyapunov import LyapunovSpectrum
from analysis.dynamics.periodic_orbits.shooting import PeriodicOrbit
from analysis.dynamics.poincare import OrbitDiagram, Section
from analysis.dynamics.portraits.curved import Portrait
from analysis.dynamics.portraits.plane import PhasePlane
from analysis.dynamics.scaling.flat import flat_states
from dynsim.simulation.trajectory import Trajectory
from figures import basins, diagrams
from figures.fitted import fitted
from figures.panels.exponents import running_exponents
from figures.panels.labels import axis_label, axis_labels, rate_label, shared_unit
from figures.panels.maps import orbit_diagram, section
from figures.portraits import circle, plane, sphere
from figures.style import canvas, colour, settings
from figures.trajectories import drawing, has_picture

DPI = 130


def png(result: Any) -> bytes | None:
    """PNG of a result, or None for a result without a picture, such as one with matrices as states."""
    draw = next((draw for kind, draw in DRAWINGS.items() if isinstance(result, kind)), None)
    drawn = None if draw is None else draw(result)
    return None if drawn is None else rendered(drawn)


def rendered(drawn: Figure) -> bytes:
    """Render a figure as a PNG, with the settings of `figures.style`."""
    file = io.BytesIO()
    with settings():
        drawn.savefig(file, format="png", dpi=DPI)
    return file.getvalue()


def _trajectory(run: Trajectory) -> Figure | None:
    return drawing(run) if has_picture(run) else None


def _section(found: Section) -> Figure | None:
    states = flat_states(found.states) if len(found.times) else np.empty((0, 0))
    if states.shape[1] < 2:
        return None
    with settings():
        drawn, (ax,) = canvas()
        names, units = (found.names, found.units) if found.names else (("x_1", "x_2"), ("", ""))
        first, second = axis_labels(names[:2], units[:2])
        section(ax, states[:, :2], labels=(first, second), directions=found.directions,
                size=float(np.max(np.abs(states), initial=0.0)))  # fmt: skip
        return drawn


def _orbits(found: OrbitDiagram) -> Figure | None:
    if not np.any(np.isfinite(found.values)):
        return None
    with settings():
        drawn, (ax,) = canvas()
        orbit_diagram(ax, found.parameters, found.values, labels=(axis_label(found.name), "state"))
        return drawn


def _exponents(found: LyapunovSpectrum) -> Figure:
    with settings():
        drawn, (ax,) = canvas()
        running_exponents(ax, found.times, found.running, found.errors)
        drawn.legend(loc="outside lower center", ncols=3)
        return fitted(drawn)


def _multipliers(found: PeriodicOrbit) -> Figure | None:
    """Draw the Floquet multipliers and the unit circle; those outside, of unstable directions, are filled."""
    if not np.size(found.multipliers):
        return None
    with settings():
        drawn, (ax,) = canvas()
        turn = np.linspace(0.0, 2 * np.pi, 200)
        ax.plot(np.cos(turn), np.sin(turn), color=colour("reference"), linewidth=0.6)
        for side, style in ((abs(found.multipliers) <= 1, "none"), (abs(found.multipliers) > 1, "full")):
            values = np.asarray(found.multipliers)[side]
            ax.plot(np.real(values), np.imag(values), "o", fillstyle=style, color=colour("first"))
        ax.set_aspect("equal", "datalim")
        ax.set(xlabel=r"$\mathrm{Re}\,\mu$", ylabel=r"$\mathrm{Im}\,\mu$", title="Floquet multipliers")
        return drawn


def _plane(found: PhasePlane) -> Figure:
    names, units = (found.names, found.units) if found.names else (("x_1", "x_2"), ("", ""))
    return plane(found, axis_labels(names, units), speed=rate_label("speed", shared_unit(list(units)), found.time_unit))


def _curved(found: Portrait) -> Figure:
    """Draw the portrait of a flow on the circle or on the sphere."""
    letters = [f"$y_{k + 1}$" for k in range(found.points.shape[1])]
    return circle(found, letters) if len(letters) == 2 else sphere(found, letters)


def _diagram(found: Diagram) -> Figure | None:
    if not found.branches:
        return None
    measures = diagrams.measured(found)
    name, unit = (found.names[0], found.units[0]) if found.names else ("x_1", "")
    return diagrams.drawing(measures, axis_label(name, unit), limits=diagrams.limits_of(measures)[0])


def _branch(found: Branch) -> Figure:
    """Draw a component of equilibria, or the periods of periodic orbits."""
    states: Any = found.states
    if hasattr(states, "period"):
        values = np.asarray(states.period)[:, None], np.array([[b.state.period] for b in found.bifurcations])
        drawn = diagrams.Drawn(Diagram(found.name, (found,), (1,)), ((found, False),), (values,))
        return diagrams.drawing(drawn, "period")
    return diagrams.drawing(diagrams.measured(Diagram(found.name, (found,), (1,))), axis_label("x_1"))


def _basins(found: Basins) -> Figure | None:
    return basins.drawing(found) if found.labels.ndim <= 2 and found.varied else None


def _fractions(found: FractionCurves) -> Figure:
    return basins.shares(found, axis_label(found.name))


DRAWINGS: dict[type, Callable[[Any], Figure | None]] = {
    Trajectory: _trajectory,
    Section: _section,
    OrbitDiagram: _orbits,
    LyapunovSpectrum: _exponents,
    PeriodicOrbit: _multipliers,
    PhasePlane: _plane,
    Diagram: _diagram,
    Branch: _branch,
    Basins: _basins,
    Portrait: _curved,
    FractionCurves: _fractions,
}
