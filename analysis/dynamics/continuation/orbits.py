"""Continue periodic orbits in a parameter, by shooting and collocation, and switch branches."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from analysis.dynamics.continuation.bifurcations import Bifurcation, moved_bifurcation
from analysis.dynamics.continuation.branches import Branch, cut_at, joined
from analysis.dynamics.continuation.collocation_curve import CollocationCurve
from analysis.dynamics.continuation.curve import CurvePoint
from analysis.dynamics.continuation.equilibria import check_autonomous
from analysis.dynamics.continuation.meshes import (
    Part,
    both_ways_on_meshes,
    branch_of_parts,
    follow_on_meshes,
    on_intervals,
    on_resolved_mesh,
)
from analysis.dynamics.continuation.orbit_curve import Cycle, OrbitCurve, moved_states
from analysis.dynamics.continuation.scaling import hopf_units, orbit_units
from analysis.dynamics.continuation.stepping import departing
from analysis.dynamics.continuation.steps import Steps
from analysis.dynamics.continuation.switching import rays
from analysis.dynamics.flow_maps.autonomy import check_period, depends_on_time
from analysis.dynamics.flow_maps.compiled import compiled
from analysis.dynamics.flow_maps.rolled_solver import extremes
from analysis.dynamics.linearisation import kind, tangent_basis, tangent_jacobian
from analysis.dynamics.periodic_orbits.shooting import UNIT, PeriodicOrbit, periodic_orbit
from analysis.dynamics.scaling.flat import flat_states
from analysis.dynamics.scaling.units import Units
from dynsim._core.checked import checked
from dynsim._core.host import filled
from dynsim._core.placement import on_host_by_default
from dynsim._core.types import State
from dynsim._core.validation import choice, function, instance, integer, number
from dynsim.errors import ArgumentError, shown
from dynsim.simulation.checks import check_flow
from dynsim.systems.base import AbstractFlow
from dynsim.systems.named import with_parameter
from dynsim.systems.parameter import Parameter
from dynsim.systems.rescaled import is_flat

# Methods by which branches of periodic orbits are computed.
WAYS = ("auto", "shooting", "collocation")
# Default of the period at which a branch ends, in time units of the curve.
LONGEST = 1e3
# Relative tolerance of the solver; the absolute tolerance is a hundredth of it.
RTOL = 1e-10
# Relative tolerance, and absolute one in the units of the given system, if it is not a hundredth of the relative one.
Tolerances = tuple[float, float | None]
# Number of orbit segments solved in one program; the last one is repeated to fill the group.
TOGETHER = 64
# Relative tolerance of the solver whose dense output has the extremes of an orbit, and places in each of its steps.
RANGES, SAMPLES = 1e-8, 16
# Default of the largest number of points of a branch in each direction.
POINTS = 1000
# Default of the number of nodes of orbits from a Hopf point; with 4, Hodgkin-Huxley's cycles need ten times the steps.
SEGMENTS = 12


@on_host_by_default
def continue_orbits(
    parameter: Parameter,
    orbit: PeriodicOrbit,
    *,
    forcing: Callable[[Any], Any] | None = None,
    steps: Steps = Steps(),
    max_period: float | None = None,
    rtol: float = RTOL,
    atol: float | None = None,
    method: str = "auto",
) -> Branch:
    """Continue periodic orbits in a parameter, from one of them in both directions of the curve.

    States of the branch are `Cycle(nodes, period)`, its eigenvalues are the Floquet multipliers, for autonomous flows
    without the trivial one. It has as many nodes as the first orbit: give that more `segments` where multipliers are
    large. Length is measured in the norm of all nodes, the period and the parameter together, each in a unit near its
    size; see `continue_equilibria`.

    Args:
        parameter: the parameter of a flow, and its range.
        orbit: what `periodic_orbit` returned at the flow's own value of the parameter.
        forcing: of a forced flow, the period as a function of the flow, such as `lambda flow: 2 * jnp.pi / flow.omega`.
        steps: the steps along the curve.
        max_period: the period at which a branch ends, as it does towards a homoclinic orbit; by default 1e3 units of
            time, those of the curve.
        rtol: the relative tolerance of the solver.
        atol: the absolute tolerance for every entry of the state, by shooting; by default a hundredth of the relative
            one, in units near the size of the orbit.
        method: `shooting`, or `collocation` for stiff flows, long periods and large multipliers, from an orbit by
            either method. Collocation replaces its mesh where the error of an orbit, relative to the ranges of its
            states, exceeds a thousand times `rtol`. States then have the `times` of their nodes; branches end with
            `accuracy` where 400 intervals do not suffice. `auto` begins with the method of the orbit, and goes on by
            collocation where shooting ends or a multiplier exceeds 1e6, which the `notes` of the branch say. Normal
            forms are computed on a mesh by all methods, except on curved spaces.

    Raises:
        ValueError: for bad input, or if no orbit is found near the first one.

    Example:
        >>> import dynsim as ds
        >>> from analysis.dynamics import Steps, continue_orbits, periodic_orbit
        >>> flow = ds.catalogue.VanDerPol(mu=1.0)
        >>> orbit = periodic_orbit(flow, [2.0, 0.0], 6.6, segments=4)
        >>> cycles = continue_orbits(ds.Parameter(flow, "mu", 0.5, 1.0), orbit, steps=Steps(first=0.5))
        >>> sorted({*cycles.kinds}), [round(float(period), 3) for period in cycles.states.period[[0, -1]]]
        (['stable'], [6.381, 6.663])
    """
    given = instance("orbit", orbit, PeriodicOrbit, "a periodic orbit that `periodic_orbit` returned")
    count = len(jax.tree.leaves(given.nodes)[0])
    check_flow(parameter.system)
    cycle = Cycle(given.nodes, np.asarray(given.period), given.times)
    units = orbit_units(parameter.system, cycle, (parameter,))
    options = max_period, (rtol, atol), mesh_of(method, cycle)
    curve = curve_of_orbits(units, given.state, count, forcing, *options, changes=method == "auto")
    check_forcing(parameter.system, cycle, forcing)
    first = _orbit_near(curve, curve.own(cycle), curve.value)
    if first is None and method == "collocation" and given.times is None:  # its nodes may be a poor mesh
        forced = forcing is not None
        found = periodic_orbit(parameter.system, given.state, float(given.period), forced=forced, method=method)
        return continue_orbits(
            parameter, found, forcing=forcing, steps=steps, max_period=max_period, rtol=rtol, method=method
        )
    if first is None:
        raise ArgumentError("orbit", "be near a periodic orbit", "leads to none at the flow's own parameter")
    return both_ways_on_meshes(curve, first, steps.limits(curve.parameter, POINTS, curve.unit))


@checked
@on_host_by_default
def orbits_from_hopf(
    parameter: Parameter,
    at: Bifurcation,
    *,
    segments: int = SEGMENTS,
    steps: Steps = Steps(),
    max_period: float | None = None,
    rtol: float = RTOL,
    atol: float | None = None,
    method: str = "auto",
) -> Branch:
    """Continue the periodic orbits that begin at a Hopf point of a branch of equilibria.

    At a degenerate Hopf point, as that of van der Pol's equation, orbits of all sizes may exist at one value of the
    parameter. Where another family crosses this vertical one, the branch goes on along that, if possible to stable
    orbits. The crossing is its first branch point, from which `switch_orbits` gives the other direction.

    >>> import dynsim as ds
    >>> from analysis.dynamics import continue_equilibria, orbits_from_hopf
    >>> from dynsim.catalogue import VanDerPol
    >>> mu = ds.Parameter(VanDerPol(mu=-1.0), "mu", -1.0, 1.0)
    >>> (hopf,) = continue_equilibria(mu, [0.0, 0.0]).bifurcations
    >>> cycles = orbits_from_hopf(mu, hopf)
    >>> cycles.kinds[-1], round(float(cycles.states.period[-1]), 4)
    ('stable', 6.6633)

    Args:
        parameter: the parameter of a flow, and its range.
        at: the Hopf point.
        segments: the number of nodes of the orbits, at least 3.
        steps: the steps along the curve, in the norm of the distances of the nodes from the equilibrium.
        max_period: the period at which the branch ends; see `continue_orbits`.
        rtol: the relative tolerance of the solver.
        atol: the absolute tolerance; see `continue_orbits`.
        method: `auto`, `shooting` or `collocation`; see `continue_orbits`. `segments` is the first number of intervals.

    Raises:
        ValueError: for bad input, a bifurcation of another kind, or if no orbit is found nearby.
    """
    found = families_from_hopf(parameter, at, (segments, steps, max_period, (rtol, atol), method))
    if not found:
        raise ArgumentError(
            "at", "be a Hopf point whose orbits lie in the range of the parameter", "has them beyond it"
        )
    return found[0]


def families_from_hopf(
    parameter: Parameter, at: Bifurcation, options: tuple[int, Steps, float | None, Tolerances, str]
) -> tuple[Branch, ...]:
    """Continue the orbits from a Hopf point, and other directions of a family that crosses a vertical one.

    There is no family if the point is at an end of the range and its orbits lie beyond.
    `options` are the segments, the steps, the longest period, the tolerances and the method of `orbits_from_hopf`.
    """
    segments, steps, max_period, (rtol, atol), method = options
    if at.kind != "Hopf point":
        raise ArgumentError("at", "be a Hopf point", f"is a {at.kind}")
    check_flow(parameter.system)
    check_autonomous("flow", parameter, at.state)
    count, units = integer("segments", segments, least=3), hopf_units(parameter, at)
    mesh = np.linspace(0.0, 1.0, count + 1) if choice("method", method, WAYS) == "collocation" else None
    curve = curve_of_orbits(units, at.state, count, None, max_period, (rtol, atol), mesh, changes=method == "auto")
    begin = _at_hopf(curve, at if curve.units is None else moved_bifurcation(units, at))
    curve.at_crossings = True
    within = steps.limits(curve.parameter, POINTS, curve.unit)
    parts, end = follow_on_meshes(curve, begin, begin.tangent, within)
    if not parts and end == "bounds":
        return ()
    if not parts:
        raise ArgumentError(
            "at", "be a Hopf point from which orbits can be continued", "leads to none: try another `step`"
        )
    found: Any = branch_of_parts(parts, ("Hopf point", end), within.marks)
    crossing = next((b for b in found.bifurcations if b.kind == end == "branch point"), None)
    if crossing is None:
        return (found,)
    left = [
        (own, branch_of_parts(own, (crossing.kind, last), within.marks))
        for own, last in _leaving(parameter, crossing, None, (steps, max_period, (rtol, atol), method))
    ]
    ways = sorted(left, key=lambda way: way[1].beside[0] != "stable")
    if not ways:
        return (found,)
    on, (others, way) = found, ways[0]
    counts = [jax.tree.leaves(one.states.nodes)[0].shape[1] for one in (on, way)]
    if way.states.times is not None or on.states.times is not None:
        on, way = on_intervals(parts, on, max(counts)), on_intervals(others, way, max(counts))
    middle = crossing._replace(state=jax.tree.map(lambda a: a[0], way.states))
    first = cut_at(on, middle, end)._replace(bifurcations=(crossing,), vertical=False)
    return joined([first, way], ("Hopf point", way.ends[1])), *(one for _, one in ways[1:])


def check_forcing(flow: AbstractFlow, cycle: Cycle, forcing: Any) -> None:
    """Raise `ValueError` if a time-dependent flow has no forcing, or if the orbit's period does not fit it."""
    if forcing is not None:
        check_period("forcing", flow, cycle.nodes, float(cycle.period))
    elif depends_on_time(flow, jax.tree.map(lambda a: a[0], cycle.nodes)):
        raise ArgumentError("forcing", "be the period, for a flow that depends on time", "is None")


def curve_of_orbits(
    units: Units,
    start: State,
    count: int,
    forcing: Any,
    max_period: float | None,
    tolerances: Tolerances,
    mesh: Float[np.ndarray, " edges"] | None = None,
    *,
    changes: bool = False,
) -> OrbitCurve:
    """Set up the curve of periodic orbits of a flow in scaled units, along its first parameter.

    With a mesh, shares of the period from 0 to 1, it is one of collocation. The absolute tolerance, if there is one, is
    in the units of the given system. `changes` lets a curve by shooting on a flat space go on by collocation.
    """
    longest = LONGEST if max_period is None else number("max_period", max_period) / units.time
    begin, period = units.rescaled(start), forcing_in(units, forcing)
    rtol, atol = tolerances
    given = period, longest, number("rtol", rtol), units
    if mesh is None:
        absolute = None if atol is None else number("atol", atol) / float(np.max(units.flat(begin)))
        found = OrbitCurve(units.varied[0], begin, count, *given, absolute)
        found.changes = changes and is_flat(found.flow.space)
        found.on_mesh = on_resolved_mesh
        return found
    if atol is not None:
        raise ArgumentError("atol", "be left out with collocation, which has no solver", f"is {shown(atol)}")
    return CollocationCurve(units.varied[0], begin, mesh, *given)


def mesh_of(method: str, cycle: Cycle, repeats: int = 1) -> np.ndarray | None:
    """Choose the mesh of a method for an orbit, which may be repeated: that of its nodes; None for shooting."""
    choice("method", method, WAYS)
    if method == "shooting" and cycle.times is not None:
        raise ArgumentError("method", "be collocation, as that of the known orbit", "is shooting")
    if method == "shooting" or (method == "auto" and cycle.times is None):
        return None
    count = len(jax.tree.leaves(cycle.nodes)[0])
    times = np.arange(count) / count if cycle.times is None else np.asarray(cycle.times)
    return np.append(np.concatenate([(k + times) / repeats for k in range(repeats)]), 1.0)


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


def _at_hopf(curve: OrbitCurve, at: Bifurcation) -> CurvePoint:
    """Build the orbit of size zero at a Hopf point, with its tangent towards orbits of positive size."""
    flow = curve.parameter.at(at.parameter)
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
    return point._replace(tangent=tangent / np.linalg.norm(tangent), spectrum=lambda: ordered)


@checked
@on_host_by_default
def switch_orbits(
    parameter: Parameter,
    at: Bifurcation,
    *,
    forcing: Callable[[Any], Any] | None = None,
    steps: Steps = Steps(),
    max_period: float | None = None,
    rtol: float = RTOL,
    atol: float | None = None,
    method: str = "auto",
) -> tuple[Branch, ...]:
    """Continue the periodic orbits that leave a branch point, or the doubled orbits at a period doubling.

    At a period doubling one branch leaves, whose orbits have twice the period and twice the nodes. At a branch point
    there is one in each direction; the first branch itself is left out. Where several multipliers are 1, directions
    are looked for on a sphere (see `switching.rays`).

    Args:
        parameter: the parameter of the branch.
        at: a branch point or a period doubling of periodic orbits.
        forcing: of a forced flow, the period as a function of the flow; see `continue_orbits`.
        steps: the steps along the new branches.
        max_period: the period at which a branch of periodic orbits ends; see `continue_orbits`.
        rtol: relative tolerance of the solver.
        atol: absolute tolerance of the solver; see `continue_orbits`.
        method: `auto`, `shooting` or `collocation`; see `continue_orbits`.

    Raises:
        ValueError: for bad input, or a bifurcation of another kind.

    Example:
        >>> import dynsim as ds
        >>> from analysis.dynamics import Steps, continue_orbits, periodic_orbit, switch_orbits
        >>> flow = ds.catalogue.Roessler(c=2.5)
        >>> c = ds.Parameter(flow, "c", 2.5, 3.0)
        >>> orbit = periodic_orbit(flow, [0.0, -3.3, 0.1], 5.75, segments=2)
        >>> (doubling,) = continue_orbits(c, orbit, steps=Steps(largest=1.0), rtol=1e-8).bifurcations
        >>> (doubled,) = switch_orbits(c, doubling, steps=Steps(largest=1.0), rtol=1e-8)
        >>> doubling.kind, round(float(doubling.parameter), 3), round(float(doubled.states.period[0]), 2)
        ('period doubling', 2.832, 11.54)
    """
    left = _leaving(parameter, at, forcing, (steps, max_period, (rtol, atol), method))
    return tuple(branch_of_parts(parts, (at.kind, end), steps.marks) for parts, end in left)


def _leaving(
    parameter: Parameter, at: Bifurcation, forcing: Any, options: tuple[Steps, float | None, Tolerances, str]
) -> list[tuple[list[Part], str]]:
    """Follow the orbits that leave a bifurcation of orbits; give the parts of each curve, and why it ends.

    `options` are the steps, the longest period, the tolerances and the method of `switch_orbits`.
    """
    steps, max_period, tolerances, method = options
    if at.kind not in ("branch point", "period doubling"):
        raise ArgumentError("at", "be a branch point or a period doubling", f"is a {at.kind}")
    check_flow(parameter.system)
    doubled, given = at.kind == "period doubling", at.state
    check_forcing(parameter.at(at.parameter), given, forcing)
    units, repeats = orbit_units(parameter.system, given, (parameter,), at=(at.parameter,)), 2 if doubled else 1
    period = forcing if forcing is None or not doubled else (lambda flow: 2 * forcing(flow))
    start, count = jax.tree.map(lambda a: jnp.asarray(a[0]), given.nodes), len(jax.tree.leaves(given.nodes)[0])
    mesh = mesh_of(method, given, repeats)
    given_too = max_period, tolerances, mesh
    curve = curve_of_orbits(units, start, repeats * count, period, *given_too, changes=method == "auto")
    within = steps.limits(curve.parameter, POINTS, curve.unit)
    at = at if curve.units is None else moved_bifurcation(units, at)
    cycle: Any = at.state
    nodes = jax.tree.map(lambda a: np.concatenate([np.asarray(a)] * repeats), cycle.nodes)
    here = curve.measured(Cycle(nodes, np.asarray(repeats * float(cycle.period))), at.parameter)
    known, change = at.direction[:-2], at.direction[-2:]
    along, across = curve.crossing(here, np.concatenate([np.tile(known, repeats), change * [repeats, 1]]))
    ways = [sign * across[0] for sign in ((1,) if doubled else (1, -1))]
    if len(across) > 1 and not doubled:
        ways = rays(curve, here, along, across, min(within.step, within.largest))
    left = [departing(curve, here, along, way, within, follow_on_meshes) for way in ways]
    return [one for one in left if one is not None]


def at_equal_times(parameter: Parameter, at: Bifurcation) -> Bifurcation:
    """Give the orbit of a bifurcation by its states at equal shares of the period, for methods that shoot.

    The direction of the branch in these coordinates is left out.
    """
    cycle: Any = at.state
    if cycle.times is None:
        return at
    curve = _curve_through(parameter, cycle, at.parameter)
    other, found = curve.by_shooting(curve.own(cycle), at.parameter / curve.unit)
    state: Any = found if other.units is None else moved_states(other.units, found, 1)
    return at._replace(state=state, direction=np.zeros(other.nodes(state).size + 2))


@checked
@on_host_by_default
def orbit_of(parameter: Parameter, cycles: Branch, point: int) -> PeriodicOrbit:
    """Find one of the orbits of a branch of an autonomous flow again, with its multipliers and errors.

    Args:
        parameter: the parameter in which the branch was continued.
        cycles: a branch of periodic orbits of an autonomous flow.
        point: index of the orbit on the branch.

    Example:
        >>> import dynsim as ds
        >>> from analysis.dynamics import Steps, continue_orbits, orbit_of, periodic_orbit
        >>> flow = ds.catalogue.VanDerPol(mu=1.0)
        >>> mu = ds.Parameter(flow, "mu", 0.5, 1.0)
        >>> cycles = continue_orbits(mu, periodic_orbit(flow, [2.0, 0.0], 6.6, segments=4), steps=Steps(first=0.5))
        >>> last = orbit_of(mu, cycles, -1)
        >>> last.stability, len(last.nodes)
        ('stable', 4)
    """
    states: Any = cycles.states
    moved = parameter.at(cycles.parameters[point])
    if states.times is not None:
        return collocated_again(parameter, jax.tree.map(lambda a: a[point], states), float(cycles.parameters[point]))
    start = jax.tree.map(lambda a: jnp.asarray(a[point, 0]), states.nodes)
    return periodic_orbit(moved, start, float(states.period[point]), segments=jax.tree.leaves(states.nodes)[0].shape[1])


def orbit_ranges(parameter: Parameter, cycles: Branch, component: int) -> Float[np.ndarray, "points 2"]:
    """Find the least and the largest value of a component on each periodic orbit of a branch.

    Each orbit is solved anew from all of its nodes. The extremes are those of the dense output of the solver: in each
    of its steps the component is evaluated at several places, and the best one is refined by Newton's method.
    """
    states: Any = cycles.states
    if states.times is not None:
        return _ranges_on_meshes(parameter, cycles, component)
    rows = jax.tree.map(lambda a: np.asarray(a).reshape(-1, *a.shape[2:]), states.nodes)
    units = orbit_units(parameter.system, Cycle(rows, np.median(np.asarray(states.period))), (parameter,))
    states, take = moved_states(units, states, -1), units.varied[0].take
    values = cycles.parameters / units.parameters[0]
    like = jax.tree.map(lambda a: a[0], rows)
    size = units.flat(like)[component]
    points, m = jax.tree.leaves(states.nodes)[0].shape[:2]
    nodes = flat_states(jax.tree.map(lambda a: np.asarray(a, float).reshape(points * m, *a.shape[2:]), states.nodes))
    numbers = np.stack([np.repeat(states.period, m) / m, np.repeat(values, m), np.tile(np.arange(m), points)], axis=1)
    total = -(-points * m // TOGETHER) * TOGETHER
    restored, found = jax.tree_util.Partial(ravel_pytree(like)[1]), []
    for begin in range(0, total, TOGETHER):
        part = [rows[begin : begin + TOGETHER] for rows in (nodes, numbers)]
        left = len(part[0])
        arrays = (filled(part[0], TOGETHER), filled(part[1], TOGETHER), np.asarray(left), np.asarray(component))
        found.append(np.asarray(_ranges(units.system, take, restored, *arrays))[:left])
    ends = np.concatenate(found).reshape(points, m, 2)
    return size * np.stack([np.min(ends[..., 0], axis=1), np.max(ends[..., 1], axis=1)], axis=1)


def _orbit_near(curve: OrbitCurve, cycle: Any, parameter: float) -> CurvePoint | None:
    """Find the orbit near a known one at a parameter; beside a homoclinic orbit, at the period of the known one.

    There the period depends on the parameter so strongly that its rounding errors count.
    """
    found = curve.at(cycle, parameter)
    if found is not None or curve.forced:
        return found
    direction = np.zeros(curve.basis(cycle).shape[1] + 1)
    direction[-2] = 1.0
    found = curve.corrected(cycle, parameter, direction)
    near = found is not None and abs(found.parameter - parameter) <= curve.tolerances[1] * (1 + abs(parameter))
    return found if near else None


def _curve_through(parameter: Parameter, cycle: Cycle, value: float) -> CollocationCurve:
    """Set up the curve of orbits by collocation through one of them, on its mesh."""
    units = orbit_units(parameter.system, cycle, (parameter,), at=(value,))
    start = jax.tree.map(lambda a: jnp.asarray(a[0]), cycle.nodes)
    mesh: Any = mesh_of("collocation", cycle)
    curve: Any = curve_of_orbits(units, start, len(mesh) - 1, None, None, (RTOL, None), mesh)
    return curve


def collocated_again(parameter: Parameter, cycle: Cycle, value: float) -> PeriodicOrbit:
    """Find an orbit by collocation again, on its mesh, with its multipliers and errors."""
    curve = _curve_through(parameter, cycle, value)
    point = _orbit_near(curve, curve.own(cycle), value / curve.unit)
    if point is None:
        raise ArgumentError("cycles", "be a branch of this flow", "holds an orbit that Newton's method does not find")
    state, error = (
        point.state if curve.units is None else moved_states(curve.units, point.state, 1),
        curve.trivial_error(point),
    )
    gap = float(np.max(np.abs(curve.equations(point.state, point.parameter, point.basis).values)))
    first = jax.tree.map(lambda a: a[0], state.nodes)
    stability = kind(np.abs(point.values) - 1, max(UNIT, 10 * error))
    return PeriodicOrbit(
        first, float(state.period), state.nodes, point.values, error, gap, stability, np.asarray(cycle.times)
    )


def _ranges_on_meshes(parameter: Parameter, cycles: Branch, component: int) -> Float[np.ndarray, "points 2"]:
    """Find the extremes of a component on orbits by collocation, from the polynomials of the intervals.

    The best of the samples in each interval is refined by the parabola through it and its neighbours.
    """
    states: Any = cycles.states
    curve, found = None, []
    for k, value in enumerate(cycles.parameters):
        cycle = jax.tree.map(lambda a, k=k: a[k], states)
        mesh: Any = mesh_of("collocation", cycle)
        curve = _curve_through(parameter, cycle, float(value)) if curve is None else curve.on(mesh)
        shares = np.append((mesh[:-1, None] + np.diff(mesh)[:, None] * np.arange(SAMPLES) / SAMPLES).ravel(), 1.0)
        rows = curve.states_at(curve.own(cycle), float(value) / curve.unit, shares[:-1])[:, component]
        size = (
            1.0
            if curve.units is None
            else float(curve.units.flat(jax.tree.map(lambda a: a[0], cycle.nodes))[component])
        )
        found.append([size * _extreme(shares, rows, sign) for sign in (-1, 1)])
    return np.array(found)


def _extreme(shares: np.ndarray, rows: np.ndarray, sign: int) -> float:
    """Find the largest value, or with sign -1 the least one, of a function of period 1 by a parabola."""
    k = int(np.argmax(sign * rows))
    values = rows[[k - 1, k, (k + 1) % len(rows)]]
    before, after = np.diff(shares)[k - 1], np.diff(shares)[k]
    steps = (values[1] - values[0]) / before, (values[2] - values[1]) / after
    bend = (steps[1] - steps[0]) / (before + after)
    slope = (steps[0] * after + steps[1] * before) / (before + after)
    return float(values[1] - slope**2 / (4 * bend)) if sign * bend < 0 else float(values[1])


@compiled
def _ranges(
    flow: AbstractFlow, where: Any, restored: Any, nodes: Array, numbers: Array, count: Array, component: Array
) -> Array:
    """Compute the extremes of a component on the first segments, (segments, 2).

    The columns of `numbers` are the duration of each segment, the parameter, and the number of segments before it.
    """

    def one(k: Any, found: Array) -> Array:
        duration, parameter, before = numbers[k]
        moved, begin = with_parameter(where, flow, parameter), duration * before
        field = lambda t, y: ravel_pytree(moved.vector_field(t, restored(y)))[0]
        ends = extremes(
            field, begin, begin + duration, nodes[k], duration / 100, RANGES, RANGES / 100, component, SAMPLES
        )
        return found.at[k].set(ends)

    return jax.lax.fori_loop(0, count, one, jnp.zeros((nodes.shape[0], 2)))
