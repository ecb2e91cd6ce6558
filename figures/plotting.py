"""Draw any result that has a picture, by the function for its type."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

from analysis.dynamics.attractors.basins import Basins
from analysis.dynamics.attractors.fractions import FractionCurves
from analysis.dynamics.boundary_values.problem import BoundarySolution
from analysis.dynamics.codim2.curves import CriticalCurve
from analysis.dynamics.codim2.planes import StabilityMap
from analysis.dynamics.continuation.branches import Branch
from analysis.dynamics.diagrams import Diagram
from analysis.dynamics.lyapunov import LyapunovSpectrum
from analysis.dynamics.orbit_diagrams import HysteresisDiagram, OrbitDiagram
from analysis.dynamics.periodic_orbits.shooting import PeriodicOrbit
from analysis.dynamics.phase.isochrons import Isochrons
from analysis.dynamics.phase.locking import LockingRange
from analysis.dynamics.phase.response import PhaseResponse
from analysis.dynamics.poincare import Section
from analysis.dynamics.portraits.curved import Portrait
from analysis.dynamics.portraits.plane import PhasePlane
from analysis.dynamics.series.chaos_test import ZeroOneTest
from analysis.dynamics.series.power_spectra import PowerSpectrum
from analysis.dynamics.series.recurrence import RecurrencePlot
from analysis.dynamics.series.return_maps import ReturnMap
from analysis.theorems.conditions import Conditions
from dynsim.errors import ArgumentError, nearest, shown
from dynsim.simulation.ensemble import Ensemble
from dynsim.simulation.hybrid_trajectory import HybridTrajectory
from dynsim.simulation.trajectory import Trajectory
from dynsim.systems.named import listed
from figures import basins, diagrams, measures, phases, portraits, series, theorems
from figures.artists import Artists
from figures.ensembles import ensemble
from figures.sweeps import sweep
from figures.trajectories import trajectory

DRAWINGS: dict[type, Callable[..., Artists]] = {
    Trajectory: trajectory,
    HybridTrajectory: trajectory,
    Ensemble: ensemble,
    PhasePlane: portraits.plane,
    Portrait: portraits.curved_portrait,
    Diagram: diagrams.diagram,
    Branch: diagrams.branch,
    CriticalCurve: diagrams.plane,
    StabilityMap: diagrams.counts,
    Basins: basins.basins,
    FractionCurves: basins.shares,
    Section: measures.section,
    OrbitDiagram: series.orbit_diagram,
    HysteresisDiagram: series.hysteresis,
    ReturnMap: series.return_map,
    PowerSpectrum: series.power_spectrum,
    RecurrencePlot: series.recurrence,
    ZeroOneTest: series.zero_one_test,
    LyapunovSpectrum: measures.exponents,
    PeriodicOrbit: measures.multipliers,
    BoundarySolution: phases.solution,
    PhaseResponse: phases.response,
    Isochrons: phases.isochrons,
    LockingRange: phases.locking,
    Conditions: theorems.conditions,
}
OTHERS: dict[str, Callable[..., Artists]] = {"plane": diagrams.plane}
"""Further pictures of a result, by name."""


def plot(result: Any, ax: Any = None, *, picture: str = "", **options: Any) -> Artists:
    """Draw a result into axes of matplotlib, or into a figure of our own, and return its artists by name.

    In given axes the style in use holds, and a legend and a colour bar are drawn only if they are asked for. Every part
    can be switched off, `equilibria=False`, or styled, `equilibria={"markersize": 8}`.

    Args:
        result: a result of dynsim or of `analysis.dynamics`, or the dataset of `dynsim.sweep`.
        ax: axes of matplotlib; some results take several. Without any, a figure is made in our style.
        picture: which picture, for results with several: `plane`, the curves of a diagram in two parameters.
        options: those of the method `plot` of the result; for a dataset see `figures.sweeps.sweep`.

    Raises:
        ValueError: for a result without a picture, axes of another projection, an unknown option, or properties that
            matplotlib does not know.

    Example:
        >>> import dynsim as ds
        >>> import matplotlib.figure
        >>> from figures import plot
        >>> ax = matplotlib.figure.Figure().subplots()
        >>> plot(ds.iterate(ds.catalogue.Logistic(r=2.0), [0.3], 20), ax, colour="red").lines[0].get_color()
        'red'
    """
    draw = OTHERS[picture] if picture in OTHERS else drawing_of(result)
    if draw is None:
        raise ArgumentError("result", "be one that has a picture", f"is {shown(result)}")
    known = _options(draw)
    wrong = [name for name in options if name not in known and not (None in known and _is_property(name))]
    if wrong:
        names = [name for name in known if name]
        raise ArgumentError("options", f"be among {listed(names, 30)}", f"hold `{wrong[0]}`{nearest(wrong[0], names)}")
    return draw(result, ax, **options)


def drawing_of(result: Any) -> Callable[..., Artists] | None:
    """The function that draws results of a type, or None."""
    if type(result).__name__ == "Dataset" and "status" in result:
        return sweep
    return next((draw for kind, draw in DRAWINGS.items() if isinstance(result, kind)), None)


@functools.cache
def _options(draw: Callable[..., Artists]) -> tuple[str | None, ...]:
    """Names of the options of a function, and None if it takes properties of artists, too."""
    parameters = list(inspect.signature(draw).parameters.values())[2:]
    return tuple(None if one.kind is one.VAR_KEYWORD else one.name for one in parameters)


def _is_property(name: str) -> bool:
    """Whether a line of matplotlib has this property."""
    from matplotlib.lines import Line2D

    return hasattr(Line2D, f"set_{name}")
