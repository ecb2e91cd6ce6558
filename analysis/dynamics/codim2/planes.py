"""Continue all bifurcations of a diagram in the plane of two parameters, and count equilibria on a grid."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Float

from analysis.dynamics.codim2.curves import CriticalCurve, critical_curve, kinds_of, plane_of, units_at
from analysis.dynamics.continuation.branches import Bifurcation
from analysis.dynamics.continuation.extending import extend
from analysis.dynamics.continuation.orbit_curve import Cycle, flat_sizes
from analysis.dynamics.continuation.scaling import curve_units
from analysis.dynamics.continuation.steps import Steps
from analysis.dynamics.equilibria.newton import newton
from analysis.dynamics.flow_maps.flat import chord_distances, flat_state, flat_states
from analysis.dynamics.linearisation import eigenvalues, kind, tangent_jacobian
from analysis.dynamics.periodic_orbits.maps import phases
from dynsim._core.printing import one_line, report
from dynsim._core.types import State
from dynsim._core.validation import integer
from dynsim.errors import ArgumentError
from dynsim.simulation.checks import check_flow
from dynsim.systems.base import AbstractFlow, AbstractMap
from dynsim.systems.named import with_parameter
from dynsim.systems.parameter import Parameter

# Distance from a segment of a curve, relative to its length, below which a bifurcation belongs to the curve.
NEAR = 0.1


def critical_curves(
    parameters: tuple[Parameter, Parameter],
    bifurcations: Sequence[Bifurcation],
    *,
    iterates: Sequence[int] = (),
    known: Sequence[CriticalCurve] = (),
    forcing: Callable[[Any], Any] | None = None,
    steps: Steps = Steps(),
    max_period: float | None = None,
) -> tuple[CriticalCurve, ...]:
    """Continue all bifurcations of a diagram in two parameters, each curve once.

    Others, such as branch points, are left out. `iterates` are those of the branches on which bifurcations of a map
    lie, by default 1. Curves that are `known` come first and go on to the ends of the ranges; see `extend`. The other
    arguments and the errors are those of `critical_curve`.
    """
    first, second = plane_of(parameters)
    flow, low, high = first.system, *second.bounds
    if not low <= second.value <= high:
        must = f"have the second parameter's own value, {second.value:g}, in its range"
        raise ArgumentError("parameters", must, f"go from {low:g} to {high:g}")
    times = list(iterates) or [1] * len(bifurcations)
    followed = [(at, k) for at, k in zip(bifurcations, times, strict=True) if at.kind in kinds_of(flow, at.state)]
    found: list[CriticalCurve] = []
    for one in known:
        state = jax.tree.map(lambda a: a[0], one.states)
        if not any(_covers(curve, one, _sizes((first, second), state, float(one.first[0]))) for curve in found):
            found.append(extend(one, (first, second), forcing=forcing, steps=steps, max_period=max_period))
    for at, k in followed:
        sizes = _sizes((first, second), at.state, at.parameter)
        places = [at._replace(state=state) for state in _images(first, at, k)]
        if not any(c.iterate == k and _passes(c, place, second.value, sizes) for c in found for place in places):
            period = forcing if isinstance(at.state, Cycle) else None
            options: Any = {"forcing": period, "steps": steps, "max_period": max_period}
            found.append(critical_curve((first, second), at, iterate=k, **options))
    return tuple(found)


def _images(first: Parameter, at: Bifurcation, iterate: int) -> list[State]:
    """List the states on the orbit of a point of an iterate of a map; for a flow, the state alone."""
    if not isinstance(first.system, AbstractMap):
        return [at.state]
    states = jax.tree.map(lambda a: np.asarray(a)[None], at.state)
    found = phases(first, states, np.array([at.parameter]), iterate)
    return [jax.tree.map(lambda a: a[0], one) for one in found]


def _sizes(parameters: tuple[Parameter, Parameter], state: State, first: float) -> np.ndarray:
    """Compute the units of both parameters and of the entries of a flattened state, by which distances are divided."""
    units = units_at(parameters, state, (first, parameters[1].value))
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
    parameters: tuple[Parameter, Parameter],
    starts: Sequence[State],
    *,
    shape: tuple[int, int] = (50, 50),
    radius: float = 1e-6,
) -> StabilityMap:
    """Count the equilibria that Newton's method finds from given starting points, on a grid of two parameters.

    The grid has `shape` values at equal distances over the ranges of the first and of the second parameter.

    Starts at a grid point are those given and the equilibria of its neighbour. There may be more equilibria. Those that
    are nearer to each other than `radius` are one; it is in units near the sizes of the states, as all tolerances are.
    """
    plane = plane_of(parameters)
    check_flow(plane[0].system)
    sizes = [integer("shape", count, least=1) for count in shape]
    ps, qs = (np.linspace(*one.bounds, count) for one, count in zip(plane, sizes, strict=True))
    counts = np.zeros((2, len(qs), len(ps)), int)
    if not starts:
        return StabilityMap(ps, qs, counts[0], counts[1])
    units = curve_units(plane, starts[0])
    (first, second), begin = units.varied, [units.rescaled(start) for start in starts]
    for row, q in enumerate(qs / units.parameters[1]):
        before: list[State] = []
        for column, p in enumerate(ps / units.parameters[0]):
            moved = with_parameter(first.take, second.at(q), jnp.asarray(p))
            before = _distinct(moved, [*before, *begin], radius)
            kinds = [kind(v, 1e-9) for v in (eigenvalues(tangent_jacobian(moved, x)) for x in before)]
            counts[:, row, column] = len(kinds), kinds.count("stable")
    return StabilityMap(ps, qs, counts[0], counts[1])


def _distinct(flow: AbstractFlow, starts: Sequence[State], radius: float) -> list[State]:
    """Find the distinct equilibria to which Newton's method converges."""
    found: list[State] = []
    for start in starts:
        x, speed = newton(flow, start)
        flat = np.asarray(ravel_pytree(x)[0])
        new = all(np.max(np.abs(flat - np.asarray(ravel_pytree(y)[0]))) > radius for y in found)
        if speed <= 1e-9 and np.all(np.isfinite(flat)) and new:
            found.append(x)
    return found
