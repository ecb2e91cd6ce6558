"""Continue periodic orbits in a parameter by multiple shooting, locate bifurcations, and switch branches."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from analysis.dynamics.continuation.branches import (
    Bifurcation,
    Branch,
    bifurcation_in_own,
    branch,
    branch_in_given,
    cycle_in_own,
)
from analysis.dynamics.continuation.curve import CurvePoint
from analysis.dynamics.continuation.equilibria import check_autonomous
from analysis.dynamics.continuation.orbit_curve import Cycle, OrbitCurve
from analysis.dynamics.continuation.scaling import hopf_units, orbit_units
from analysis.dynamics.continuation.stepping import both_ways, departing, follow, limits, two_bounds
from analysis.dynamics.continuation.switching import rays
from analysis.dynamics.flow_maps.autonomy import check_period, depends_on_time
from analysis.dynamics.linearisation import tangent_basis, tangent_jacobian
from analysis.dynamics.periodic_orbits.shooting import PeriodicOrbit, periodic_orbit
from analysis.dynamics.scaling.units import Units, made_units
from dynsim._core.host import filled
from dynsim._core.types import State
from dynsim._core.validation import function, instance, integer, number
from dynsim.errors import ArgumentError
from dynsim.simulation.checks import check_flow
from dynsim.systems.base import AbstractFlow
from dynsim.systems.named import real_parameter, with_parameter

# Default of the period at which a branch ends, in time units of the curve.
LONGEST = 1e3
# Relative tolerance of the solver; the absolute tolerance is a hundredth of it.
RTOL = 1e-10
# Number of orbit segments solved in one program; the last one is repeated to fill the group.
TOGETHER = 64
# Number of parts into which cubics divide an interval between two samples to find an extreme.
CUBIC = 8


def continue_orbits(
    flow: AbstractFlow,
    where: Callable[[Any], Any],
    orbit: PeriodicOrbit,
    bounds: tuple[float, float],
    *,
    forcing: Callable[[Any], Any] | None = None,
    step: float = 0.05,
    max_step: float | None = None,
    max_points: int = 200,
    max_period: float | None = None,
    rtol: float = RTOL,
) -> Branch:
    """Continue periodic orbits in a parameter, in both directions within bounds, and locate their bifurcations.

    The states of the branch are `Cycle(nodes, period)`. Its eigenvalues are the Floquet multipliers, without the
    trivial one of an autonomous flow. It has as many nodes as the first orbit; use more `segments` there if multipliers
    are large. Arclength is measured in the norm of nodes, period and parameter together, each scaled to order one; see
    `continue_equilibria`.

    Args:
        flow: the system.
        where: selects the parameter, a real number, among the leaves of the flow, such as `lambda flow: flow.mu`.
        orbit: the result of `periodic_orbit` at the flow's own parameter value.
        bounds: lower and upper bound of the parameter.
        forcing: period of the forcing as a function of the flow, such as `lambda flow: 2 * jnp.pi / flow.omega`.
        step: first step along the curve, in scaled units.
        max_step: largest step. The default is four times the first step or a hundredth of the width of the bounds, if
            that is larger.
        max_points: largest number of points in each direction; a branch that reaches it ends with `steps`.
        max_period: period at which a branch ends, as near a homoclinic orbit; the default is 1e3 scaled time units.
        rtol: relative tolerance of the solver. The absolute tolerance is a hundredth of it, in units of the orbit.

    Raises:
        ValueError: for bad input, or if no orbit is found near the first one.
    """
    given = instance("orbit", orbit, PeriodicOrbit, "a periodic orbit that `periodic_orbit` returned")
    count = len(jax.tree.leaves(given.nodes)[0])
    check_flow(flow)
    cycle = Cycle(given.nodes, np.asarray(given.period))
    units = orbit_units(flow, (where,), cycle, (two_bounds(bounds),))
    curve = curve_of_orbits(units, given.state, count, forcing, max_period, rtol)
    within = limits(bounds, step, max_step, max_points, *units.parameters)
    check_forcing(flow, cycle, forcing)
    first = curve.at(cycle_in_own(units, cycle), curve.value)
    if first is None:
        raise ArgumentError("orbit", "be near a periodic orbit", "leads to none at the flow's own parameter")
    return branch_in_given(units, both_ways(curve, first, within))


def orbits_from_hopf(
    flow: AbstractFlow,
    where: Callable[[Any], Any],
    at: Bifurcation,
    bounds: tuple[float, float],
    *,
    segments: int = 4,
    step: float = 0.05,
    max_step: float | None = None,
    max_points: int = 200,
    max_period: float | None = None,
    rtol: float = RTOL,
) -> Branch:
    """Continue the periodic orbits that are born at a Hopf point of a branch of equilibria.

    Args:
        flow: the system.
        where: selects the parameter among the leaves of the flow.
        at: the Hopf point.
        bounds: lower and upper bound of the parameter.
        segments: number of nodes of the orbits, at least 3.
        step: first step, in scaled units: the norm of the distances of the nodes from the equilibrium.
        max_step: largest step. The default is four times the first step or a hundredth of the width of the bounds, if
            that is larger.
        max_points: largest number of points; a branch that reaches it ends with `steps`.
        max_period: period at which the branch ends; see `continue_orbits`.
        rtol: relative tolerance of the solver.

    Raises:
        ValueError: for bad input, a bifurcation of another kind, or if no orbit is found nearby.
    """
    if at.kind != "Hopf point":
        raise ArgumentError("at", "be a Hopf point", f"is a {at.kind}")
    check_flow(flow)
    check_autonomous("flow", flow, where, at.state, two_bounds(bounds))
    count, units = integer("segments", segments, least=3), hopf_units(flow, where, at, two_bounds(bounds))
    within, at = limits(bounds, step, max_step, max_points, *units.parameters), bifurcation_in_own(units, at)
    curve = curve_of_orbits(units, at.state, count, None, max_period, rtol)
    begin = _at_hopf(curve, with_parameter(units.where[0], units.system, jnp.asarray(at.parameter)), at)
    points, end = follow(curve, begin, begin.tangent, within)
    if not points:
        raise ArgumentError(
            "at", "be a Hopf point from which orbits can be continued", "leads to none: try another `step`"
        )
    return branch_in_given(units, branch(curve, [begin, *points], ("Hopf point", end)))


def check_forcing(flow: AbstractFlow, cycle: Cycle, forcing: Any) -> None:
    """Raise `ValueError` if a time-dependent flow has no forcing, or if the orbit's period does not fit it."""
    if forcing is not None:
        check_period("forcing", flow, cycle.nodes, float(cycle.period))
    elif depends_on_time(flow, jax.tree.map(lambda a: a[0], cycle.nodes)):
        raise ArgumentError("forcing", "be the period, for a flow that depends on time", "is None")


def curve_of_orbits(
    units: Units, start: State, count: int, forcing: Any, max_period: float | None, rtol: float
) -> OrbitCurve:
    """Build the curve of orbits of a flow in its units."""
    longest = LONGEST if max_period is None else number("max_period", max_period) / units.time
    curve = OrbitCurve(
        units.system, units.where[0], units.rescaled(start), count, forcing_in(units, forcing), longest,
        number("rtol", rtol),
    )  # fmt: skip
    curve.units = None if units.are_given else units
    return curve


def forcing_in(units: Units, forcing: Any) -> Any:
    """Express the period of a forcing as a function of the rescaled flow; None without a forcing."""
    if forcing is None or units.are_given:
        return forcing
    function("forcing", forcing, "the flow")
    return _Forcing(forcing, units)


class _Forcing(NamedTuple):
    """Period of a forcing in rescaled time, as a function of the rescaled flow."""

    given: Callable[[Any], Any]
    units: Units

    def __call__(self, flow: Any) -> Any:
        return self.given(self.units.given(flow)) / self.units.time


def _at_hopf(curve: OrbitCurve, flow: AbstractFlow, at: Bifurcation) -> CurvePoint:
    """Build the orbit of size zero at a Hopf point, with its tangent towards orbits of positive size."""
    basis, J = tangent_basis(flow.space, at.state), tangent_jacobian(flow, at.state)
    values, vectors = np.linalg.eig(J)
    which = int(np.argmin(np.abs(values - 1j * at.frequency)))
    phases = np.exp(2j * np.pi * np.arange(curve.segments) / curve.segments)
    moves = np.real(phases[:, None] * (basis @ vectors[:, which])[None, :])
    center = np.asarray(ravel_pytree(at.state)[0])
    state = curve.cycle(np.tile(center, (curve.segments, 1)), 2 * np.pi / at.frequency)
    point = curve.measured(state, at.parameter)
    tangent = np.append(point.basis.T @ np.append(moves.ravel(), 0.0), 0.0)
    multipliers = np.exp(2 * np.pi / at.frequency * np.delete(values, which))
    ordered = multipliers[np.argsort(-np.abs(multipliers), kind="stable")]
    return point._replace(tangent=tangent / np.linalg.norm(tangent), values=ordered)


def switch_orbits(
    flow: AbstractFlow,
    where: Callable[[Any], Any],
    at: Bifurcation,
    bounds: tuple[float, float],
    *,
    forcing: Callable[[Any], Any] | None = None,
    step: float = 0.05,
    max_step: float | None = None,
    max_points: int = 200,
    max_period: float | None = None,
    rtol: float = RTOL,
) -> tuple[Branch, ...]:
    """Switch branches of periodic orbits at a branch point, or continue the doubled orbits of a period doubling.

    At a period doubling there is one new branch, whose orbits have twice the period and twice as many nodes. At a
    branch point there is one for each direction, without the first branch. If several multipliers are 1, directions are
    searched on a sphere (see `switching.rays`).

    Raises:
        ValueError: for bad input, or a bifurcation of another kind.
    """
    if at.kind not in ("branch point", "period doubling"):
        raise ArgumentError("at", "be a branch point or a period doubling", f"is a {at.kind}")
    real_parameter("where", where, flow)
    check_flow(flow)
    doubled = at.kind == "period doubling"
    cycle: Any = at.state
    moved = with_parameter(where, flow, jnp.asarray(at.parameter))
    check_forcing(moved, cycle, forcing)
    units = orbit_units(moved, (where,), cycle, (two_bounds(bounds),))
    units = made_units(flow, [real_parameter("where", where, flow)[0]], units.scale, units.time, units.parameters)
    within, at = limits(bounds, step, max_step, max_points, *units.parameters), bifurcation_in_own(units, at)
    cycle = at.state
    repeats = 2 if doubled else 1
    nodes = jax.tree.map(lambda a: np.concatenate([np.asarray(a)] * repeats), cycle.nodes)
    period = forcing if forcing is None or not doubled else (lambda flow: 2 * forcing(flow))
    start, count = jax.tree.map(lambda a: jnp.asarray(a[0]), nodes), len(jax.tree.leaves(nodes)[0])
    curve = curve_of_orbits(units, units.restored(start), count, period, max_period, rtol)
    here = curve.measured(Cycle(nodes, np.asarray(repeats * float(cycle.period))), at.parameter)
    known, change = at.direction[:-2], at.direction[-2:]
    along, across = curve.crossing(here, np.concatenate([np.tile(known, repeats), change * [repeats, 1]]))
    ways = [sign * across[0] for sign in ((1,) if doubled else (1, -1))]
    if len(across) > 1 and not doubled:
        ways = rays(curve, here, along, across, min(within.step, within.largest))
    left = [departing(curve, here, along, way, within) for way in ways]
    return tuple(branch_in_given(units, branch(curve, one[0], (at.kind, one[1]))) for one in left if one is not None)


def orbit_of(flow: AbstractFlow, where: Callable[[Any], Any], cycles: Branch, point: int) -> PeriodicOrbit:
    """Recompute one orbit of a branch of an autonomous flow, with its multipliers and errors."""
    states: Any = cycles.states
    moved = with_parameter(where, flow, jnp.asarray(cycles.parameters[point]))
    start = jax.tree.map(lambda a: jnp.asarray(a[point, 0]), states.nodes)
    return periodic_orbit(moved, start, float(states.period[point]), segments=jax.tree.leaves(states.nodes)[0].shape[1])


def orbit_ranges(
    flow: AbstractFlow, where: Callable[[Any], Any], cycles: Branch, component: int, *, samples: int = 50
) -> Float[np.ndarray, "points 2"]:
    """Compute the smallest and largest value of a component on each periodic orbit of a branch.

    Each orbit is integrated again from all of its nodes, at rtol 1e-6, with `samples` samples between nodes. Cubic
    interpolation with the velocities locates extremes between samples.
    """
    count, (take, _) = integer("samples", samples, least=2), real_parameter("where", where, flow)
    states: Any = cycles.states
    rows = jax.tree.map(lambda a: np.asarray(a).reshape(-1, *a.shape[2:]), states.nodes)
    units = orbit_units(flow, (take,), Cycle(rows, np.median(np.asarray(states.period))), ((0.0, 1.0),))
    states, (take,) = cycle_in_own(units, states), units.where
    size = units.flat(jax.tree.map(lambda a: a[0], rows))[component]
    points, m = jax.tree.leaves(states.nodes)[0].shape[:2]
    nodes = jax.tree.map(lambda a: np.asarray(a, float).reshape(points * m, *a.shape[2:]), states.nodes)
    numbers = np.stack(
        [np.repeat(states.period, m) / m, np.repeat(cycles.parameters, m), np.tile(np.arange(m), points)]
    )
    total, shares = -(-points * m // TOGETHER) * TOGETHER, jnp.linspace(0.0, 1.0, count)
    nodes, numbers = jax.tree.map(lambda a: filled(a, total), nodes), filled(numbers.T, total)
    found = []
    for begin in range(0, total, TOGETHER):
        part = slice(begin, begin + TOGETHER)
        some = jax.tree.map(lambda a, part=part: jnp.asarray(a[part]), nodes)
        found.append(_ranges(units.system, take, some, jnp.asarray(numbers[part]), shares, jnp.asarray(component)))
    ends = np.concatenate(found)[: points * m].reshape(points, m, 2)
    return size * np.stack([np.min(ends[..., 0], axis=1), np.max(ends[..., 1], axis=1)], axis=1)


@eqx.filter_jit
def _ranges(flow: AbstractFlow, where: Any, nodes: Any, numbers: Array, shares: Array, component: Array) -> Array:
    """Compute the extremes of a component on segments, (segments, 2).

    The columns of `numbers` are the duration of each segment, the parameter, and the number of segments before it.
    """

    import diffrax as dfx

    from dynsim.integrators.embedded import solve_within
    from dynsim.integrators.save_times import InOrder, request

    def extremes(node: State, duration: Array, parameter: Array, before: Array) -> Array:
        moved, ts = with_parameter(where, flow, parameter), duration * (shares + before)
        saved = dfx.SaveAt(subs=request(InOrder(ts)))
        found = solve_within(moved.vector_field, ts[0], ts[-1], node, rtol=1e-6, first=duration / 250, saveat=saved)
        of = lambda states: jax.vmap(lambda x: ravel_pytree(x)[0])(states)[:, component]
        values = _with_cubics(of(found.ys), of(jax.vmap(moved.vector_field)(ts, found.ys)), ts[1] - ts[0])
        return jnp.stack([jnp.min(values), jnp.max(values)])

    return jax.vmap(extremes)(nodes, *numbers.T)


def _with_cubics(values: Array, slopes: Array, step: Array) -> Array:
    """Refine values at equal distances by the cubics that also match their slopes."""
    u = jnp.arange(1, CUBIC)[:, None] / CUBIC
    first, last, out, into = (row[None] for row in (values[:-1], values[1:], step * slopes[:-1], step * slopes[1:]))
    ends = (1 + 2 * u) * (1 - u) ** 2 * first + u**2 * (3 - 2 * u) * last
    bends = u * (1 - u) ** 2 * out - u**2 * (1 - u) * into
    return jnp.concatenate([values, (ends + bends).ravel()])
