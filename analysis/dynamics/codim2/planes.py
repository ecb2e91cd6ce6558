"""Continue all bifurcations of a diagram in the plane of two parameters, and count equilibria on a grid."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Float
from numpy.typing import ArrayLike

from analysis.dynamics.codim2.curves import CriticalCurve, critical_curve, extended_curve, kinds_of, units_through
from analysis.dynamics.continuation.branches import Bifurcation, flat_sizes
from analysis.dynamics.continuation.orbit_curve import Cycle
from analysis.dynamics.continuation.scaling import curve_units
from analysis.dynamics.equilibria.newton import newton
from analysis.dynamics.flow_maps.flat import chord_distances, flat_state, flat_states
from analysis.dynamics.linearisation import eigenvalues, kind, tangent_jacobian
from analysis.dynamics.periodic_orbits.maps import phases
from dynsim._core.printing import one_line, report
from dynsim._core.types import State
from dynsim._core.validation import reals
from dynsim.errors import ArgumentError
from dynsim.simulation.checks import check_flow
from dynsim.systems.base import AbstractFlow, AbstractMap
from dynsim.systems.named import real_parameter, with_parameter

# Distance from a segment of a curve, relative to its length, below which a bifurcation belongs to the curve.
NEAR = 0.1


def critical_curves(
    flow: AbstractFlow | AbstractMap,
    where: tuple[Callable[[Any], Any], Callable[[Any], Any]],
    bifurcations: Sequence[Bifurcation],
    bounds: tuple[tuple[float, float], tuple[float, float]],
    *,
    iterates: Sequence[int] = (),
    known: Sequence[CriticalCurve] = (),
    forcing: Callable[[Any], Any] | None = None,
    step: float = 0.05,
    max_step: float | None = None,
    max_points: int = 500,
    max_period: float | None = None,
) -> tuple[CriticalCurve, ...]:
    """Continue all given bifurcations in two parameters, computing each curve once.

    Kinds that cannot be continued, such as branch points, are left out. `iterates` are those of the branches on which
    bifurcations of a map lie, 1 by default. `known` curves come first and are continued to the bounds; see
    `extended_curve`. The other arguments and the errors are the same as for `critical_curve`.
    """
    options: Any = {"step": step, "max_step": max_step, "max_points": max_points, "max_period": max_period}
    _, second = real_parameter("where", where[1], flow)
    if not bounds[1][0] <= second <= bounds[1][1]:
        must = f"hold the flow's own second parameter, {second:g}"
        raise ArgumentError("bounds", must, f"are {bounds[1][0]:g} to {bounds[1][1]:g}")
    times = list(iterates) or [1] * len(bifurcations)
    followed = [(at, k) for at, k in zip(bifurcations, times, strict=True) if at.kind in kinds_of(flow, at.state)]
    found: list[CriticalCurve] = []
    for one in known:
        if not any(_covers(curve, one, _sizes_on(flow, where, one, bounds)) for curve in found):
            found.append(extended_curve(flow, where, one, bounds, forcing=forcing, **options))
    for at, k in followed:
        sizes = _sizes(flow, where, at.state, at.parameter, bounds)
        places = [at._replace(state=state) for state in _images(flow, where[0], at, k)]
        if not any(c.iterate == k and _passes(c, place, second, sizes) for c in found for place in places):
            period = forcing if isinstance(at.state, Cycle) else None
            found.append(critical_curve(flow, where, at, bounds, iterate=k, forcing=period, **options))
    return tuple(found)


def _images(flow: AbstractFlow | AbstractMap, take: Any, at: Bifurcation, iterate: int) -> list[State]:
    """List the states on the orbit of a point of an iterate of a map; for a flow, the state alone."""
    if not isinstance(flow, AbstractMap):
        return [at.state]
    states = jax.tree.map(lambda a: np.asarray(a)[None], at.state)
    found = phases(flow, take, states, np.array([at.parameter]), iterate)
    return [jax.tree.map(lambda a: a[0], one) for one in found]


def _sizes_on(flow: AbstractFlow | AbstractMap, where: Any, curve: CriticalCurve, bounds: Any) -> np.ndarray:
    """Compute the units at the first point of a curve; see `_sizes`."""
    return _sizes(flow, where, jax.tree.map(lambda a: a[0], curve.states), float(curve.first[0]), bounds)


def _sizes(flow: AbstractFlow | AbstractMap, where: Any, state: State, first: float, bounds: Any) -> np.ndarray:
    """Compute the units of both parameters and of the entries of a flattened state, by which distances are divided."""
    units = units_through(flow, where, state, first, bounds)
    return np.array([*units.parameters, *flat_sizes(units, state)])


def _passes(curve: CriticalCurve, at: Bifurcation, second: float, sizes: Any = 1.0) -> bool:
    """Test whether a curve passes through a bifurcation, by scaled distances."""
    point = np.array([at.parameter, second, *flat_state(at.state)])
    same = curve.kind == at.kind and curve.of_orbits == isinstance(at.state, Cycle)
    return same and len(_rows(curve)[0]) == len(point) and _holds(curve, point, sizes)


def _covers(curve: CriticalCurve, other: CriticalCurve, sizes: Any = 1.0) -> bool:
    """Test whether a curve passes through both ends of another one."""
    same = (curve.kind, curve.of_orbits, curve.iterate) == (other.kind, other.of_orbits, other.iterate)
    return (
        same
        and len(_rows(curve)[0]) == len(_rows(other)[0])
        and all(_holds(curve, _rows(other)[k], sizes) for k in (0, -1))
    )


def _holds(curve: CriticalCurve, point: np.ndarray, sizes: Any) -> bool:
    """Test whether a curve passes through a point, given as both parameters and the flattened state."""
    gaps, lengths = chord_distances(_rows(curve) / sizes, point / sizes)
    return bool(np.any(gaps <= NEAR * lengths))


def _rows(curve: CriticalCurve) -> np.ndarray:
    return np.column_stack([curve.first, curve.second, flat_states(curve.states)])


class StabilityMap(NamedTuple):
    """Numbers of equilibria found, and of stable ones, on a grid of two parameters, (second, first)."""

    first: Float[np.ndarray, " columns"]
    second: Float[np.ndarray, " rows"]
    found: np.ndarray
    stable: np.ndarray

    __repr__ = one_line
    __str__ = report


def stability_map(
    flow: AbstractFlow,
    where: tuple[Callable[[Any], Any], Callable[[Any], Any]],
    first: ArrayLike,
    second: ArrayLike,
    starts: Sequence[State],
    *,
    radius: float = 1e-6,
) -> StabilityMap:
    """Count equilibria, and stable ones, that Newton's method finds from given starts on a grid of two parameters.

    At each grid point the starts are the given ones and the equilibria of its neighbour; further equilibria may be
    missed. Equilibria closer than `radius`, in units near the sizes of the states, count as one.
    """
    check_flow(flow)
    for one in where:
        real_parameter("where", one, flow)
    ps, qs = (np.atleast_1d(np.asarray(reals(name, v), float)) for name, v in (("first", first), ("second", second)))
    counts = np.zeros((2, len(qs), len(ps)), int)
    if not starts:
        return StabilityMap(ps, qs, counts[0], counts[1])
    ends = [(np.min(values), np.max(values)) for values in (ps, qs)]
    units = curve_units(flow, where, starts[0], ends)
    begin = [units.rescaled(start) for start in starts]
    for row, q in enumerate(qs / units.parameters[1]):
        before: list[State] = []
        for column, p in enumerate(ps / units.parameters[0]):
            moved = with_parameter(units.where[1], units.system, jnp.asarray(q))
            moved = with_parameter(units.where[0], moved, jnp.asarray(p))
            before = _distinct(moved, [*before, *begin], radius)
            kinds = [kind(v, 1e-9) for v in (eigenvalues(tangent_jacobian(moved, x)) for x in before)]
            counts[:, row, column] = len(kinds), kinds.count("stable")
    return StabilityMap(ps, qs, counts[0], counts[1])


def _distinct(flow: AbstractFlow, starts: Sequence[State], radius: float) -> list[State]:
    """Find the different equilibria to which Newton's method converges."""
    found: list[State] = []
    for start in starts:
        x, speed = newton(flow, start)
        flat = np.asarray(ravel_pytree(x)[0])
        new = all(np.max(np.abs(flat - np.asarray(ravel_pytree(y)[0]))) > radius for y in found)
        if speed <= 1e-9 and np.all(np.isfinite(flat)) and new:
            found.append(x)
    return found
