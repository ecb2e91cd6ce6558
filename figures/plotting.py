"""Draw any result that has a picture, by the function for its type."""

import functools
import importlib
import inspect
from collections.abc import Callable
from typing import Any, get_args, get_type_hints

from dynsim.errors import ArgumentError, nearest, shown
from dynsim.systems.named import listed
from figures.artists import Artists

DRAWINGS = {
    "dynsim.simulation.trajectory.Trajectory": "trajectories.trajectory",
    "dynsim.simulation.hybrid_trajectory.HybridTrajectory": "trajectories.trajectory",
    "dynsim.simulation.ensemble.Ensemble": "ensembles.ensemble",
    "analysis.dynamics.portraits.plane.PhasePlane": "portraits.plane",
    "analysis.dynamics.portraits.curved.Portrait": "portraits.curved_portrait",
    "analysis.dynamics.portraits.line.LinePortrait": "portraits.line",
    "analysis.dynamics.portraits.simplex.SimplexPortrait": "portraits.simplex",
    "analysis.dynamics.diagrams.Diagram": "diagrams.diagram",
    "analysis.dynamics.continuation.branches.Branch": "diagrams.branch",
    "analysis.dynamics.continuation.ensembles.BranchEnsemble": "diagrams.members",
    "analysis.dynamics.codim2.curves.CriticalCurve": "diagrams.plane",
    "analysis.dynamics.codim2.planes.StabilityMap": "diagrams.counts",
    "analysis.dynamics.attractors.basins.Basins": "basins.basins",
    "analysis.dynamics.attractors.fractions.FractionCurves": "basins.shares",
    "analysis.dynamics.poincare.Section": "measures.section",
    "analysis.dynamics.orbit_diagrams.OrbitDiagram": "series.orbit_diagram",
    "analysis.dynamics.orbit_diagrams.HysteresisDiagram": "series.hysteresis",
    "analysis.dynamics.series.return_maps.ReturnMap": "series.return_map",
    "analysis.dynamics.series.power_spectra.PowerSpectrum": "series.power_spectrum",
    "analysis.dynamics.series.recurrence.RecurrencePlot": "series.recurrence",
    "analysis.dynamics.series.chaos_test.ZeroOneTest": "series.zero_one_test",
    "analysis.dynamics.lyapunov.LyapunovSpectrum": "measures.exponents",
    "analysis.dynamics.periodic_orbits.shooting.PeriodicOrbit": "measures.multipliers",
    "analysis.dynamics.boundary_values.problem.BoundarySolution": "phases.solution",
    "analysis.dynamics.boundary_values.connecting.ConnectingOrbit": "phases.connection",
    "analysis.dynamics.phase.response.PhaseResponse": "phases.response",
    "analysis.dynamics.phase.isochrons.Isochrons": "phases.isochrons",
    "analysis.dynamics.phase.locking.LockingRange": "phases.locking",
    "analysis.dynamics.tori.torus.InvariantTorus": "tori.section",
    "analysis.dynamics.tori.branches.TorusBranch": "tori.branch",
    "analysis.tokens.densities.TokenDensity": "densities.density",
    "analysis.chains.convergence.Convergence": "convergence.convergence",
    "analysis.fast_slow.critical_manifold.ManifoldBranch": "manifolds.branch",
    "analysis.theorems.conditions.Conditions": "theorems.conditions",
}
"""The function that draws each type of result. Modules are imported when a result of the type is drawn."""
RUNS = {
    "dynsim.systems.prototypes.flow.PrototypeFlow": "prototype_runs.prototypes",
    "dynsim.systems.prototypes.flow.CoupledFlow": "prototype_runs.prototypes",
    "dynsim.systems.prototypes.hierarchy.TwoLevelFlow": "prototype_runs.prototypes",
    "dynsim.systems.growing.flow.GrowingFlow": "prototype_runs.temperatures",
    "dynsim.systems.growing.descent.GrowingStep": "prototype_runs.temperatures",
}
"""The function that draws runs of a system, where it is not that of all runs."""
OTHERS = {"plane": "diagrams.plane", "torus": "tori.surface"}
"""Further pictures of a result, by name."""


def plot(result: Any, ax: Any = None, *, picture: str = "", **options: Any) -> Artists:
    """Draw a result into axes of matplotlib, or into a figure of our own, and return its artists by name.

    In given axes the style in use holds, and a legend and a colour bar are drawn only if they are asked for.

    Args:
        result: a result of dynsim or of `analysis.dynamics`, or the dataset of `dynsim.sweep`.
        ax: axes of matplotlib; some results take several. Without any, a figure is made in our style.
        picture: which picture, for results with several: `plane`, the curves of a diagram in two parameters, or
            `torus`, a torus as a surface.
        options: each part of the picture, left out by False, `equilibria=False`, or styled by properties of matplotlib,
            `equilibria={"markersize": 8}`; `legend`, `labels`, `limits` and `title`, which may be switched off; and
            others of the method `plot` of the result, or for a dataset of `figures.sweeps.sweep`.

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
    draw = _function(OTHERS[picture]) if picture in OTHERS else drawing_of(result)
    if draw is None:
        raise ArgumentError("result", "be one that has a picture", f"is {shown(result)}")
    names = options_of(draw)
    style = {name: options[name] for name in options if "style" in names and name not in names and _is_property(name)}
    known = [name for name in names if name != "style"]
    wrong = [name for name in options if name not in known and name not in style]
    if wrong:
        raise ArgumentError("options", f"be among {listed(known, 30)}", f"hold `{wrong[0]}`{nearest(wrong[0], known)}")
    options = {name: value for name, value in options.items() if name not in style}
    return draw(result, ax, **options, **({"style": style} if style else {}))


def drawing_of(result: Any) -> Callable[..., Artists] | None:
    """The function that draws results of a type, or None."""
    if type(result).__name__ == "Dataset" and "status" in result:
        return _function("sweeps.sweep")
    found = next((DRAWINGS[name] for name in _names(result) if name in DRAWINGS), None)
    if found == "trajectories.trajectory":
        phases = getattr(result, "phases", (result,))
        found = next((RUNS[name] for name in _names(phases[0].system) if name in RUNS), found) if phases else found
    return None if found is None else _function(found)


def _names(one: Any) -> list[str]:
    """Names of the class of an object and of the classes that it extends."""
    return [f"{kind.__module__}.{kind.__qualname__}" for kind in type(one).__mro__]


def _function(name: str) -> Callable[..., Artists]:
    """Import a function of a module of this package."""
    module, _, function = name.partition(".")
    return getattr(importlib.import_module(f"figures.{module}"), function)


@functools.cache
def options_of(draw: Callable[..., Artists]) -> tuple[str, ...]:
    """Names of the options of a function, with `style` if it takes properties of artists, too."""
    *own, frame = list(inspect.signature(draw).parameters.values())[2:]
    (kind,) = get_args(frame.annotation)
    return (*(one.name for one in own), *get_type_hints(kind))


def _is_property(name: str) -> bool:
    """Whether a line of matplotlib has this property."""
    from matplotlib.lines import Line2D

    return hasattr(Line2D, f"set_{name}")
