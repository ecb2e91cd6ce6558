"""Compute periodic orbits of flows by multiple shooting on any state space, with their Floquet multipliers."""

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Complex, Float

from analysis.dynamics.collocation.intervals import ACCURATE, METHODS, CycleField
from analysis.dynamics.equilibrium_types import fixed_point_type
from analysis.dynamics.flow_maps.autonomy import check_period, depends_on_time
from analysis.dynamics.flow_maps.compiled import compiled
from analysis.dynamics.flow_maps.component_sizes import orbit_scale, turn_unit
from analysis.dynamics.flow_maps.python_solver import StuckError, advanced
from analysis.dynamics.flow_maps.time_map import TimeMap, state_itself, states_of
from analysis.dynamics.flow_maps.variational import Linearised
from analysis.dynamics.linearisation import kind, tangent_basis
from analysis.dynamics.periodic_orbits.collocated_orbit import OrbitGuess, collocated_orbit, guessed_orbit
from analysis.dynamics.periodic_orbits.fast_multipliers import resolved_multipliers
from analysis.dynamics.periodic_orbits.maps import periodic_points
from analysis.dynamics.periodic_orbits.multipliers import product_eigenvalues, return_factors
from analysis.dynamics.scaling.flat import flat_state, states_like
from analysis.dynamics.scaling.units import Units, made_units
from dynsim._core.host import filled, room_for
from dynsim._core.placement import on_host_by_default
from dynsim._core.printing import ROUNDING, one_line, printed
from dynsim._core.types import State
from dynsim._core.validation import choice, integer, number, reals
from dynsim.errors import ArgumentError
from dynsim.integrators.dop853 import MAX_STEPS
from dynsim.integrators.switched_field import WHOLE, jumps_left_out, may_leave_out
from dynsim.notebook import picture, plot
from dynsim.simulation.checks import check_flow, check_start, double_state
from dynsim.spaces.base import nearest
from dynsim.systems.base import AbstractFlow, AbstractMap
from dynsim.systems.noisy import NoisyFlow
from dynsim.systems.rescaled import is_flat

if TYPE_CHECKING:
    import diffrax as dfx

    from figures.artists import Artists

# Number of segments for which a compiled program has room; longer lists are solved by several calls.
ROWS = 16
# Most entries of states and derivatives that are integrated in step; large states take longer than calls.
ENTRIES = 4096
# States on an orbit between which jumps are looked for of a field whose pieces are not known.
PASSED = 64
# Share of a segment by which an orbit is moved on that begins on a surface on which its field jumps.
AHEAD = 0.382
# Largest number of Newton steps.
ITERATIONS = 30
# Largest factor between the guess of the period and the period found; larger ones suggest several turns.
FURTHEST = 3.0
# Largest gap between segments, relative to the size of the states, at which an orbit counts as closed.
CLOSED = 1e-9
# Size, in the units, below which an orbit counts as an equilibrium; states far from zero may be known less well.
SMALL = 1e-5
# Errors of the nodes of an orbit, relative to the norm of its states: a thousand tolerances of the solver.
NOISE = 1e-7
# Relative singular value below which a direction counts as one along a family of orbits, and is not moved.
FLAT = 1e-8
# Accuracy of the multipliers, relative to the largest one or to one.
RESOLVED = 1e-10
# Multipliers whose moduli are this close to one do not decide about stability.
UNIT = 1e-6


class PeriodicOrbit(NamedTuple):
    """Periodic orbit: a first state, the period, the Floquet multipliers, and how well the orbit closes.

    Attributes:
        state: a point of the orbit.
        period: in the flow's time unit.
        nodes: states at equal shares of the period, on the first axis of every array.
        multipliers: Floquet multipliers by decreasing modulus, without the trivial multiplier 1 of an autonomous flow.
        trivial_error: distance of the computed trivial multiplier from 1, which estimates their errors; 0 for a forced
            flow.
        gap: largest distance between the end of a segment and the next node.
        stability: `stable`, `saddle`, `unstable`, or `undecided` if no modulus exceeds one but one is within 1e-6 of
            it.
        times: shares of the period at which an orbit computed by collocation has its nodes; None after shooting.
    """

    state: State
    period: float
    nodes: State
    multipliers: Complex[np.ndarray, " m"]
    trivial_error: float
    gap: float
    stability: str
    times: Float[np.ndarray, " nodes"] | None = None

    __repr__ = one_line
    _repr_png_ = picture

    def plot(self, ax: Any = None, **options: Any) -> "Artists":
        """Draw the Floquet multipliers in the complex plane into axes; those outside the unit circle are filled.

        In given axes your style sheet holds, and a legend is drawn only on request. Without axes, a figure is made in
        the style of `figures`.

        Args:
            ax: axes of matplotlib; without any, a figure is made.
            options: the parts `multipliers` and `circle`. A part is left out by False, and styled by properties of
                matplotlib, `multipliers={"markersize": 8}`. Also `colour`, `legend`, `labels`, `limits` and `title`,
                which may all be switched off.

        Returns:
            The artists of each part by name, such as `drawn.multipliers`.

        Raises:
            ValueError: for axes of another projection, an unknown option, or a result that holds nothing to draw.
        """
        return plot(self, ax, **options)

    def __str__(self) -> str:
        """Describe stability, period and multipliers in one line."""
        largest = max(float(np.max(np.abs(part), initial=1.0)) for part in jax.tree.leaves(self.nodes))
        errors = RESOLVED * float(np.max(np.abs(self.multipliers), initial=1.0)), self.gap / largest
        error = max(*errors, self.trivial_error)
        values = ", ".join(printed(value, error / ROUNDING, digits=5) for value in self.multipliers.tolist())
        more = "" if self.description == self.stability else f" ({self.description})"
        return f"{self.stability} periodic orbit of period {self.period:.8g} with the multipliers {values}{more}"

    @property
    def description(self) -> str:
        """Type in words, such as `stable focus` or `flip saddle`; see `equilibrium_types.fixed_point_type`."""
        return fixed_point_type(self.multipliers, self.stability, max(UNIT, 10 * self.trivial_error))


@on_host_by_default
def periodic_orbit(
    flow: AbstractFlow | AbstractMap,
    guess: State,
    period: float,
    *,
    segments: int = 1,
    forced: bool = False,
    shift: State | None = None,
    rtol: float = 1e-10,
    lost: Callable[[State, float], bool] | None = None,
    solver: "dfx.AbstractAdaptiveSolver | None" = None,
    method: str = "shooting",
) -> PeriodicOrbit:
    """Compute a periodic orbit by multiple shooting or collocation from a guess of a state and the period.

    Angles of the space close modulo their periods: an orbit may turn, as a rotating pendulum, by as many whole turns as
    the guess's trajectory in the guessed period. Tolerances are relative to the range of this trajectory.

    >>> from analysis.dynamics import periodic_orbit
    >>> from dynsim.catalogue import VanDerPol
    >>> orbit = periodic_orbit(VanDerPol(mu=1.0), [2.0, 0.0], 6.5)
    >>> orbit.stability, round(orbit.period, 4)
    ('stable', 6.6633)

    The period of a map is a number of steps; its orbit is computed by Newton's method from the guess.

    >>> import numpy as np
    >>> from dynsim.catalogue import Logistic
    >>> cycle = periodic_orbit(Logistic(r=3.2), [0.5], 2)
    >>> cycle.stability, np.round(cycle.nodes, 4).ravel().tolist()
    ('stable', [0.513, 0.7995])

    Args:
        flow: the system.
        guess: a state near the orbit, converted to float64. Its trajectory supplies the nodes of the other segments.
        period: a guess of the period; for a forced flow the exact period, a multiple of that of the forcing.
        segments: number of segments of multiple shooting; use more for orbits with large multipliers.
        forced: whether the period is fixed, for a flow that depends on time.
        shift: increment of the state over a period, made of whole periods of its angles; the field must be invariant
            under it. By default the whole turns of the guess's trajectory, 0 without angles.
        rtol: relative tolerance of the solver. The absolute tolerance is a hundredth of it, in units of the orbit.
        lost: tests whether the first state and the period have moved too far away, so that the iteration stops.
        solver: a diffrax solver, by default Tsit5. For stiff flows use an implicit one, such as `Kvaerno4()`.
        method: `shooting`, or `collocation` at the Gauss points of an adapted mesh, for flows on flat spaces: for stiff
            flows, long periods and large multipliers. Its nodes are at `times` that the mesh decides, and `rtol` is a
            thousandth of their largest error, relative to the ranges of the states.

    Raises:
        ValueError: for bad input, or if the iteration does not converge, is lost, or collapses onto an equilibrium.
    """
    if isinstance(flow, AbstractMap):
        given = {"segments": segments != 1, "forced": forced, "shift": shift, "solver": solver}
        given["method"] = choice("method", method, METHODS) != "shooting"
        return _of_map(flow, guess, period, given)
    check_flow(flow)
    start = check_start("guess", flow, double_state("guess", guess))
    time, count = number("period", period), integer("segments", segments, least=1)
    if choice("method", method, METHODS) == "collocation":
        _check_collocation(flow, {"shift": shift, "lost": lost, "solver": solver})
    if not forced and depends_on_time(flow, start):
        must = "be True for a flow that depends on time, with the period of its forcing"
        raise ArgumentError("forced", must, f"is {forced}")
    if forced:
        check_period("period", flow, jax.tree.map(lambda a: a[None], start), time)
    turn = None if shift is None else _turn(flow, start, shift)
    angles = flat_state(flow.space.periods(start))
    flat, restored = ravel_pytree(start)
    pair, tolerance = Linearised(flow, start, solver), jax.device_put(np.float64(rtol))  # which compiles nothing
    if method == "collocation":
        if pair.switched is not None:
            must = "be shooting for a field that may jump"
            raise ArgumentError("method", must, f"is collocation; it jumps where {pair.switched.named()}")
        field = CycleField(flow, None, start)
        guess = guessed_orbit(field, flat_state(start), time, angles, count, forced=forced)
        return orbit_on_mesh(flow, start, guess, time, forced=forced, rtol=float(rtol))
    units = _units(pair, flat, time, tolerance)
    if not units.are_given:
        moved = None if turn is None else units.rescaled(restored(jnp.asarray(turn)))
        first, duration = units.rescaled(start), time / units.time
        away = None if lost is None else lambda x, period: lost(units.restored(x), period * units.time)
        found = periodic_orbit(
            units.system, first, duration, segments=count, forced=forced, shift=moved, rtol=rtol, lost=away,
            solver=solver,
        )  # fmt: skip
        return orbit_in_given(found, units)
    nodes, flat_space = _nodes(pair, flat, time, count, tolerance), is_flat(flow.space)
    begun_aside, before = False, np.inf
    for _ in range(ITERATIONS):
        bases = [np.eye(len(node)) if flat_space else tangent_basis(flow.space, restored(node)) for node in nodes]
        ends, maps, speeds, begun, _ = shoot(pair, nodes, time, tolerance)
        gaps = np.asarray(ends) - np.roll(nodes, -1, axis=0)
        if turn is None:  # the turns of the guess's trajectory, which ends in the last segment
            turn = gaps[-1] - nearest(gaps[-1], angles)
        gaps[-1] -= turn
        if not np.all(np.isfinite(gaps)):
            why = "" if pair.switched is None else ", or slides on two surfaces at once, on which the field jumps"
            raise ArgumentError("guess", "lead to a periodic orbit", f"leads to values that are not finite{why}")
        matrix, right = _newton_system(nodes, bases, gaps, np.asarray(maps), np.asarray(speeds), forced)
        change = np.linalg.lstsq(matrix, right, rcond=FLAT)[0]
        spread = np.ptp(
            np.vstack([nodes, nodes[:1] + turn]), axis=0
        )  # an orbit that is traversed twice in two segments has no spread between its nodes
        size = float(max(np.max(spread), np.max(np.abs(np.asarray(speeds[0]))) * time))
        gap = float(np.max(np.abs(gaps)))
        small = gap <= CLOSED * (1 + float(np.max(np.abs(nodes))))
        # of an orbit far from zero, the gap is closed as far as rounding lets it
        small, before = small and (gap <= CLOSED * (1 + size) or gap > before / 2), gap
        if small and float(np.max(np.abs(change))) <= 1e-7 * (1 + time):
            if not (forced or begun_aside) and _on_a_surface(pair, nodes):
                nodes, begun_aside = _ahead(pair, nodes, AHEAD * time / count, tolerance), True
                continue
            found = _found(pair, nodes, time, gap, size, bases, np.asarray(maps), None if forced else begun)
            if may_leave_out(flow, start):
                _check_jumps(pair, nodes[0], time, tolerance)
            if not 1 / FURTHEST <= time / period <= FURTHEST:  # the guess may be that of several turns
                raise ArgumentError("period", "be near that of the orbit", f"is {period:g}, and leads to {time:g}")
            return found
        moves = change[:-1].reshape(count, -1)
        nodes = np.stack([_moved(pair, x + B @ m) for x, B, m in zip(nodes, bases, moves, strict=True)])
        time += 0.0 if forced else float(np.clip(change[-1], -time / 3, time / 3))
        if lost is not None and lost(restored(jnp.asarray(nodes[0])), time):
            raise ArgumentError("guess", "be near a periodic orbit", "leads away from where it is looked for")
    raise ArgumentError("guess", "be near a periodic orbit", f"leads to none in {ITERATIONS} steps of Newton's method")


def _check_collocation(flow: AbstractFlow, given: dict[str, Any]) -> None:
    """Raise `ValueError` for a flow or an option that collocation does not have."""
    for name, value in given.items():
        if value is not None:
            raise ArgumentError(name, "be left out for collocation", "is given")
    if not is_flat(flow.space):
        raise ArgumentError("method", "be shooting on a curved space", "is collocation")


def orbit_on_mesh(
    flow: AbstractFlow, start: State, guess: OrbitGuess, time: float, *, forced: bool = False, rtol: float = 1e-10
) -> PeriodicOrbit:
    """Compute a periodic orbit by collocation on a flat space, from a trajectory that nearly comes back.

    `time` is a period to which that of the orbit is compared, since a guess may be that of several turns.
    """
    units = made_units(flow)
    if not isinstance(flow, NoisyFlow):
        units = made_units(flow, scale=orbit_scale(flow, states_like(start, guess.nodes)), time=turn_unit(time))
    begin = units.rescaled(start)
    pair, sizes, angles = Linearised(units.system, begin), units.flat(start), flat_state(flow.space.periods(start))
    field = CycleField(units.system, None, begin)
    own = guess.scaled(sizes, units.time)
    made = collocated_orbit(field, own, angles / sizes, forced=forced, accuracy=ACCURATE * rtol)
    size = float(max(np.max(np.ptp(made.nodes, axis=0)), np.max(np.abs(made.speeds)) * made.period))
    begun = None if forced else np.roll(made.speeds, 1, axis=0)
    bases = [np.eye(made.nodes.shape[1])] * len(made.nodes)
    found = _found(pair, made.nodes, made.period, made.gap, size, bases, made.intervals.maps, begun)
    begins, durations = made.period * made.mesh[:-1], made.period * np.diff(made.mesh)
    values = resolved_multipliers(field, begins, durations, 0.0, made.intervals.stages, made.intervals.maps, begun)
    found = found._replace(multipliers=values, stability=kind(np.abs(values) - 1, max(UNIT, 10 * found.trivial_error)))
    period = made.period * units.time
    if not 1 / FURTHEST <= period / time <= FURTHEST:  # the guess may be that of several turns
        raise ArgumentError("period", "be near that of the orbit", f"is {time:g}, and leads to {period:g}")
    return orbit_in_given(found._replace(times=made.mesh[:-1]), units)


def _on_a_surface(pair: Linearised, nodes: np.ndarray) -> bool:
    """Tell whether a node lies on a surface on which the field jumps, before or behind which rounding decides."""
    if pair.switched is None:
        return False
    gaps = [np.min(np.abs(pair.switched.at(jnp.zeros(()), jnp.asarray(node), None)[1])) for node in nodes]
    return bool(min(gaps) <= CLOSED * (1 + np.max(np.abs(nodes))))


def _ahead(pair: Linearised, nodes: np.ndarray, time: float, rtol: Array) -> np.ndarray:
    """Move nodes along the flow by a time."""
    return np.stack([np.asarray(_nodes(pair, jnp.asarray(node), 2 * time, 2, rtol))[1] for node in nodes])


def _check_jumps(pair: Linearised, node: np.ndarray, time: float, rtol: Array) -> None:
    """Raise `ValueError` if an orbit crosses a jump of a field whose pieces are not known."""
    states = _nodes(pair, jnp.asarray(node), time, PASSED, rtol)
    where = jumps_left_out(pair.system, jax.vmap(pair.restored)(jnp.concatenate([states, states[:1]])), 0.0)
    if where:
        raise ArgumentError("flow", WHOLE, f"has one that jumps where {where}")


def _of_map(system: AbstractMap, guess: State, period: float, given: dict[str, Any]) -> PeriodicOrbit:
    """Compute a periodic orbit of a map by Newton's method; raise `ValueError` if there is none near the guess."""
    for name, value in given.items():
        if value is not None and value is not False:
            raise ArgumentError(name, "be left out for a map", "is given")
    steps, start = integer("period", period, least=1), check_start("guess", system, double_state("guess", guess))
    time_map = TimeMap(system, start, state_itself, 1.0, 1e-10, np.inf)
    points, values, scale = periodic_points(time_map, np.asarray(ravel_pytree(start)[0], float), steps)
    gap = float(np.max(np.abs(points[-1])))
    if not (np.all(np.isfinite(points)) and np.all(np.abs(points[-1]) <= CLOSED * scale)):
        raise ArgumentError("guess", "be near a periodic orbit", "leads to none by Newton's method")
    ordered = values[np.argsort(-np.abs(values), kind="stable")]
    nodes = states_of(time_map, points[:-1])
    first = jax.tree.map(lambda part: part[0], nodes)
    return PeriodicOrbit(first, float(steps), nodes, ordered, 0.0, gap, kind(np.abs(ordered) - 1, UNIT))


def _units(pair: Linearised, flat: Array, time: float, rtol: Array) -> Units:
    """Choose units near the range of the guess's trajectory, and near its period."""
    if isinstance(pair.system, NoisyFlow):
        return made_units(pair.system)
    scale = orbit_scale(pair.system, passed(pair, flat, time, rtol)) if is_flat(pair.system.space) else 1.0
    return made_units(pair.system, scale=scale, time=turn_unit(time))


def passed(pair: Linearised, flat: Array, time: float, rtol: Array) -> State:
    """Compute five states along a trajectory, on a new first axis."""
    return states_like(jax.eval_shape(pair.restored, flat), _nodes(pair, flat, time, 5, rtol))


def orbit_in_given(orbit: PeriodicOrbit, units: Units) -> PeriodicOrbit:
    """Convert an orbit computed in rescaled units to the units of the given flow."""
    return orbit._replace(
        state=units.restored(orbit.state),
        nodes=jax.tree.map(np.asarray, units.restored(orbit.nodes)),
        period=orbit.period * units.time,
        gap=orbit.gap * float(max(np.max(np.asarray(size)) for size in jax.tree.leaves(units.scale))),
    )


def _found(
    pair: Linearised,
    nodes: np.ndarray,
    time: float,
    gap: float,
    size: float,
    bases: list[np.ndarray],
    maps: np.ndarray,
    speeds: np.ndarray | None,
) -> PeriodicOrbit:
    """Compute the multipliers and the stability of a closed orbit; raise `ValueError` if it is an equilibrium.

    `speeds` are the velocities at the nodes, or None for a forced flow.
    """
    if size <= SMALL + NOISE * float(np.max(np.abs(nodes))):
        raise ArgumentError("guess", "be near a periodic orbit", "leads to an equilibrium")
    factors = np.stack([B.T @ A @ b for B, A, b in zip([*bases[1:], bases[0]], maps, bases, strict=True)])
    values, error = product_eigenvalues(factors), 0.0
    if speeds is not None:
        error = float(np.min(np.abs(values - 1)))
        along = np.stack([b.T @ v for b, v in zip(bases, speeds, strict=True)])
        values = product_eigenvalues(return_factors(factors, along))
    states = states_like(jax.eval_shape(pair.restored, jax.ShapeDtypeStruct(nodes.shape[1:], nodes.dtype)), nodes)
    first = jax.device_put(jax.tree.map(lambda part: part[0], states))  # which compiles nothing
    return PeriodicOrbit(first, time, states, values, error, gap, kind(np.abs(values) - 1, max(UNIT, 10 * error)))


def _turn(flow: AbstractFlow, start: State, shift: State) -> np.ndarray:
    """Check that the field is invariant under a shift, and flatten it; raise `ValueError` if it is not."""
    flat, restored = ravel_pytree(start)
    turn = np.asarray(ravel_pytree(jax.tree.map(lambda a: jnp.asarray(reals("shift", a), float), shift))[0])
    if turn.shape != flat.shape:
        raise ArgumentError("shift", f"have {flat.size} entries, as the state", f"has {turn.size}")
    field = lambda x: np.asarray(ravel_pytree(flow.vector_field(jnp.zeros(()), restored(jnp.asarray(x))))[0])
    here, there = field(flat), field(np.asarray(flat) + turn)
    if not np.max(np.abs(there - here)) <= 1e-9 * (1 + np.max(np.abs(here))):
        raise ArgumentError("shift", "hold whole periods of angles, after which the field is the same", "does not")
    return turn


def _newton_system(
    nodes: np.ndarray, bases: list[np.ndarray], gaps: np.ndarray, maps: np.ndarray, speeds: np.ndarray, forced: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Assemble the linear equations of a Newton step for the tangent coordinates of the nodes and the period.

    A forced flow has a last row that fixes the period. For an autonomous one the shortest solution is
    taken, which near the orbit does not move the nodes along it. A phase condition at a guess far from the orbit
    would ask for steps of many turns.
    """
    count, d = len(nodes), bases[0].shape[1]
    matrix, right = np.zeros((count * d + forced, count * d + 1)), np.zeros(count * d + forced)
    for k in range(count):
        after = (k + 1) % count
        rows = slice(k * d, (k + 1) * d)
        matrix[rows, rows] += bases[after].T @ maps[k] @ bases[k]
        matrix[rows, after * d : (after + 1) * d] -= np.eye(d)
        matrix[rows, -1] = bases[after].T @ speeds[k] / count
        right[rows] = -bases[after].T @ gaps[k]
    if forced:
        matrix[-1, -1] = 1.0
    return matrix, right


def _nodes(pair: Linearised, flat: Array, time: float, count: int, rtol: Array) -> Float[np.ndarray, "segments n"]:
    """Integrate from a state to the nodes at equal shares of a period."""
    nodes, t = [np.asarray(flat)], 0.0
    for _ in range(count - 1):
        nodes.append(_shot(pair, nodes[-1], t, time / count, rtol)[0])
        t += time / count
    return np.stack(nodes)


class Shots(NamedTuple):
    """Ends of segments, their derivatives by the nodes, velocities at ends and nodes, and numbers of steps."""

    ends: Float[np.ndarray, "k n"]
    maps: Float[np.ndarray, "k n n"]
    last: Float[np.ndarray, "k n"]
    first: Float[np.ndarray, "k n"]
    steps: Float[np.ndarray, " k"]


def shoot(pair: Linearised, nodes: Any, time: Any, rtol: Array, most: int = MAX_STEPS) -> Shots:
    """Integrate all segments of a period, each in at most so many steps."""
    count, period = len(nodes), float(time)
    return shots(pair, nodes, period * np.arange(count) / count, np.full(count, period / count), rtol, most)


def shots(
    pair: Linearised, nodes: Any, begins: np.ndarray, durations: np.ndarray, rtol: Array, most: int = MAX_STEPS
) -> Shots:
    """Integrate from states at some times over some durations; ends are NaN where that takes more than `most` steps.

    One compiled program serves any number of states: they are filled up to a multiple of `ROWS`, and it stops after
    those that are given.
    """
    nodes, (count, n) = np.asarray(nodes, float), np.shape(nodes)
    quick = _segments_in_python(pair, nodes, begins, durations, float(rtol))
    if quick is not None:
        return quick
    together = pair.solver is None and pair.switched is None
    room, found = min(ROWS, room_for(ENTRIES // (n * (n + 1)))) if together else ROWS, []
    for k in range(0, count, room):
        parts = [filled(np.asarray(part, float)[k : k + room], room) for part in (nodes, begins, durations)]
        counts = np.asarray(min(count - k, room)), np.asarray(most)
        found.append(jax.device_get(_segments(pair, *parts, *counts, rtol, together)))
    return Shots(*(np.concatenate(part)[:count] for part in zip(*found, strict=True)))


def _segments_in_python(
    pair: Linearised, nodes: np.ndarray, begins: np.ndarray, durations: np.ndarray, rtol: float
) -> Shots | None:
    """Do the same without compiling, or return None if the field has no short program or more steps are needed."""
    n = nodes.shape[1]
    field = pair.in_python(n) if pair.rolled and pair.switched is None and is_flat(pair.system.space) else None
    if field is None:
        return None
    ends, maps, velocities = np.full_like(nodes, np.nan), np.empty((len(nodes), n, n)), []
    atol = rtol / 100 if pair.atol is None else float(pair.atol)
    longest = math.inf if pair.longest is None else float(pair.longest)
    for k, (x, begin, time) in enumerate(zip(nodes, begins.tolist(), durations.tolist(), strict=True)):
        start = np.append(x, np.eye(n))
        try:
            y = advanced(field, begin, begin + time, start, time / 100, rtol=rtol, atol=atol, longest=longest)
        except StuckError as stuck:
            if not stuck.rejected:
                return None
            y = np.full_like(start, np.nan)
        ends[k], maps[k] = y[:n], y[n:].reshape(n, n)
        velocities.append([field([t, *z.tolist()])[:n] for t, z in ((begin + time, y), (begin, start))])
    last, first = np.swapaxes(np.array(velocities), 0, 1)
    return Shots(ends, maps, last, first, np.full(len(nodes), np.nan))


def stops_at(pair: Linearised, node: np.ndarray, begin: float, duration: float, rtol: Array) -> np.ndarray:
    """Compute the state at which the solver of a segment stops: its end, or where it cannot go on."""
    arrays = (jnp.asarray(np.asarray(part, float)) for part in (node, begin, duration))
    return np.asarray(_stop(pair, *arrays, rtol))


@functools.partial(compiled, loops=True)
def _stop(pair: Linearised, x: Array, begin: Array, duration: Array, rtol: Array) -> Array:
    return pair.over(begin, begin + duration, duration / 100, x, jnp.eye(x.shape[0]), rtol)[0]


def _shot(pair: Linearised, node: np.ndarray, begin: float, duration: float, rtol: Array) -> Shots:
    return Shots(*(part[0] for part in shots(pair, [node], np.array([begin]), np.array([duration]), rtol)))


@functools.partial(compiled, loops=True)
def _segments(
    pair: Linearised,
    nodes: Array,
    begins: Array,
    durations: Array,
    count: Array,
    most: Array,
    rtol: Array,
    together: bool,
) -> tuple[Array, ...]:
    """Compute `Shots` of the first segments, in step with each other or one by one."""
    one = lambda k: _segment(pair, nodes[k], begins[k], jnp.where(k < count, durations[k], 0.0), most, rtol)
    rows = jnp.arange(len(nodes))
    if together:
        return jax.vmap(one)(rows)
    empty = jax.tree.map(lambda part: jnp.zeros((len(rows), *part.shape), part.dtype), jax.eval_shape(one, 0))
    filled_in = lambda k, found: jax.tree.map(lambda part, row: part.at[k].set(row), found, one(k))
    return jax.lax.fori_loop(0, count, filled_in, empty)


def _segment(pair: Linearised, x: Array, begin: Array, duration: Array, most: Array, rtol: Array) -> tuple[Array, ...]:
    """Compute the end of a segment, its derivative by the beginning, the velocities at both, and the steps taken."""
    end, V, step, failed, _ = pair.over(
        begin, begin + duration, duration / 100, x, jnp.eye(x.shape[0]), rtol, rolled=True, most=most
    )
    last, first = jax.vmap(pair.velocity)(jnp.stack([begin + duration, begin]), jnp.stack([end, x]))
    return jnp.where(failed, jnp.nan, end), V, last, first, duration / step


def _moved(pair: Linearised, x: np.ndarray) -> np.ndarray:
    if is_flat(pair.system.space):
        return x
    return np.asarray(ravel_pytree(pair.system.space.project(pair.restored(jnp.asarray(x))))[0])
