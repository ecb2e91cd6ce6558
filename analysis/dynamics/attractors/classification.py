"""Classify the limit set of a long trajectory: an equilibrium, a periodic orbit or another recurrent set."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float
from scipy.ndimage import maximum_filter1d
from scipy.spatial import KDTree

from analysis.dynamics.attractors.curves import spread_along
from analysis.dynamics.attractors.limit_set import CURVE, SURFACE, LimitSet, Slow, with_principal_angles
from analysis.dynamics.attractors.surfaces import can_walk
from analysis.dynamics.equilibria.families import family_through
from analysis.dynamics.equilibria.newton import displaced, newton, step_to_rest
from analysis.dynamics.equilibria.settling import ESCAPE, look
from analysis.dynamics.equilibria.sliding import rest_by_sliding, rest_in_corner
from analysis.dynamics.flow_maps.angles import entry_extents, periods_of, whole_turns
from analysis.dynamics.flow_maps.time_map import TimeMap, state_of, states_of, velocity_of
from analysis.dynamics.linearisation import kind, spectrum, transverse_jacobian
from analysis.dynamics.periodic_orbits.maps import periodic_points
from analysis.dynamics.periodic_orbits.shooting import PeriodicOrbit, periodic_orbit
from analysis.dynamics.scaling.flat import flat_state, flat_states
from analysis.dynamics.scaling.units import Units
from dynsim._core.types import State, SymmetryGenerator
from dynsim.errors import ArgumentError
from dynsim.integrators import Diffrax, stiff
from dynsim.simulation.dense import dense_path
from dynsim.systems.base import AbstractFlow, AbstractMap

# Largest speed, in units of the trajectory, that counts as zero up to rounding.
AT_REST = 1e-10
# Largest motion in an interval, relative to the extent, at which an equilibrium is looked for.
SLOW = 1e-3
# Newton steps from a state to beyond an equilibrium, also a degenerate one up to a field of order ten.
BEYOND = 10.0
# Largest distance, relative to the extent, between the trajectory and the solution that Newton's method may find.
NEAR = 1e-2
# Distance from the start, relative to the extent, at which Newton's method for an orbit is stopped as diverging.
LOST = 10 * NEAR
# Largest gap, relative to the extent, that counts as a recurrence of a map.
RETURNED = 1e-5
# Replaces `RETURNED` for a trajectory held on a basin boundary, which is known less exactly.
EDGE = 1e-3
# Distance, relative to the extent, at which a trajectory counts as being on the limit.
CLOSE = 1e-6
# Number of samples of a periodic orbit; divisible by 2 to 10, the periods that are tested.
SAMPLES = 5040
# Number of points that represent an orbit, more of them where it bends.
CLOUD = 1024
# Largest number of recurrences of a trajectory from which a cycle is looked for.
TRIES = 2
# Relative tolerance of the explicit solver in shooting.
IN_SHOOTING = 1e-10
# Relative tolerance of an implicit solver in shooting; its steps do not let Newton's method reach `IN_SHOOTING`. Points
# of an orbit are also known up to this.
ON_ORBIT = 1e-8
# Multipliers whose moduli are this close to one do not decide about stability.
UNIT = 1e-6


class TrajectoryRecord(NamedTuple):
    """A trajectory after a transient, sampled at intervals, with the sizes that distances are measured by."""

    time_map: TimeMap
    states: Float[np.ndarray, "samples n"]
    features: Float[np.ndarray, "samples f"]
    extent: Float[np.ndarray, " f"]
    forced: bool
    longest_period: int
    symmetries: Sequence[SymmetryGenerator]
    edge: bool = False  # on a basin boundary, where unstable sets count at once

    @property
    def flow_at_rest(self) -> bool:
        """Whether equilibria of a field are limits of the system."""
        return not self.time_map.is_map and not self.forced

    def apart(self, features: Any, others: Any) -> Any:
        """Compute the largest difference of features, relative to the extent."""
        return np.max(np.abs(features - others) / self.extent, axis=-1)

    def scaled(self, flat: np.ndarray) -> np.ndarray:
        """Scale the entries of flattened states, or of differences of states, by the units of the search."""
        return np.abs(flat / np.asarray(self.time_map.sizes))

    def state(self, row: int) -> State:
        """Get the state at a sample."""
        return state_of(self.time_map, self.states[row])


def limit_of(record: TrajectoryRecord) -> LimitSet | Slow | None:
    """Find the limit that a trajectory has reached, or its speed if it still moves; None if this is open."""
    found = _limit(record)
    return with_principal_angles(record.time_map, found) if isinstance(found, LimitSet) else found


def _limit(record: TrajectoryRecord) -> LimitSet | Slow | None:
    if record.flow_at_rest:
        step = record.apart(record.features[-1], record.features[-2])
        resting = _equilibrium(record) if step < SLOW else None
        return resting if isinstance(resting, LimitSet) else _cycle(record) or resting
    period = _recurrence(record)
    return None if period == 0 else _periodic_points(record, period)


def _on_limit(record: TrajectoryRecord, features: np.ndarray, rate: float, cycle: float) -> bool:
    """Test whether a trajectory has stayed on an unstable set longer than rounding errors would let it."""
    if record.edge:
        return True
    period = max(1, round(cycle / float(record.time_map.interval)))
    distances = np.min([record.apart(record.features, point) for point in features], axis=0)
    stayed = len(distances) - 1 - int(np.max(np.flatnonzero(distances > CLOSE), initial=-1))
    return stayed > period and rate * stayed * float(record.time_map.interval) > ESCAPE


def _sliding_rest(record: TrajectoryRecord) -> LimitSet | None:
    """Recognise a state at rest on a surface on which the field jumps, alone or on a curve of them."""
    field, x = record.time_map.switched, record.states[-1]
    sizes = entry_extents(record.time_map, record.extent, len(x))
    found = None if field is None else rest_by_sliding(field, 0.0, x, sizes) or rest_in_corner(field, 0.0, x)
    if found is None:
        return None
    points, word, values = found
    features = record.time_map.features_of(points)
    gap = float(np.max(np.linalg.norm(np.diff(features, axis=0) / record.extent, axis=1), initial=0.0))
    return LimitSet(
        CURVE if len(points) > 1 else "equilibrium", word, states_of(record.time_map, points), features, 0.0, values,
        spacing=gap / 2,
    )  # fmt: skip


def _equilibrium(record: TrajectoryRecord) -> LimitSet | Slow | None:
    if (resting := _sliding_rest(record)) is not None:
        return resting
    flow: Any = record.time_map.system
    speed = float(np.max(np.abs(_field(record.time_map, jnp.asarray(record.states[-1])))))
    units = record.time_map.units_at(record.states[-1])
    z, rest = newton(units.system, units.rescaled(record.state(-1)))
    z, near = _improved(units.system, z)
    x = units.restored(z)
    flat = np.asarray(ravel_pytree(x)[0])[None]
    features = record.time_map.features_of(flat)
    distance = float(record.apart(features[0], record.features[-1]))
    size = float(np.max(record.scaled(record.states)))
    if not (rest <= AT_REST * (1 + size) and distance <= NEAR and distance <= _distance(record, features[0], 0)):
        return _relative_equilibrium(record) or Slow(speed)
    settled = look(flow, x, units=units)
    if settled.verdict == "metastable" and not _is_linear(units, z, settled.rate):
        return Slow(settled.rate)  # clusters whose slow merging is below rounding error
    found = transverse_jacobian(units.system, z, 0.0, units.acting(record.symmetries), near=near).spectrum()
    values = found.values / units.time
    if found.kind == "stable":
        return LimitSet("equilibrium", "stable", states_of(record.time_map, flat), features, 0.0, values)
    top = float(np.max(np.real(values), initial=0.0))
    if found.kind == "undecided":
        if distance > CLOSE:
            return Slow(speed)
    elif not _on_limit(record, features, top, 0.0):
        return Slow(top)
    alone = LimitSet("equilibrium", found.kind, states_of(record.time_map, flat), features, 0.0, values)
    return _curve(record, units, x, values) or alone


def _improved(flow: AbstractFlow, x: State) -> tuple[State, State]:
    """Improve an equilibrium by a Newton step, which counts in units far larger than it; give a state beyond it, too.

    Where the equilibrium is degenerate Newton's steps shrink by a factor only, and lead to it between both.
    """
    step = step_to_rest(flow, x)
    if not np.all(np.isfinite(step)):
        return x, x
    return displaced(flow.space, x, step), displaced(flow.space, x, BEYOND * step)


def _curve(record: TrajectoryRecord, units: Units, x: State, values: np.ndarray) -> LimitSet | None:
    """Find the curve of equilibria of one stability type through x, up to one extent to each side, if any.

    A surface of equilibria is represented by x, if the other directions decide about its stability.
    """
    flat, extent = flat_state(x), record.extent
    sizes = np.array(entry_extents(record.time_map, extent, len(flat)))
    for k, period in periods_of(record.time_map):
        sizes[k] = period / 2  # half a period to each side covers the whole of a closed curve
    inside = lambda y: bool(np.all(np.abs(y - flat) <= sizes))
    family = family_through(units, x, ravel_pytree(x)[1](jnp.asarray(sizes)), inside=inside)
    word, points = ("undecided", flat[None]) if family is None else family.part(flat, sizes)
    is_surface = family is not None and family.end == "surface" and can_walk(record.time_map)
    if word == "undecided" or len(points) == 1 and not is_surface:
        return None
    if is_surface:
        whole = states_of(record.time_map, points)
        return LimitSet(SURFACE, word, whole, record.time_map.features_of(points), 0.0, values)
    features = record.time_map.features_of(points)
    gap = float(np.max(np.linalg.norm(np.diff(features, axis=0) / extent, axis=1), initial=0.0))
    return LimitSet(CURVE, word, states_of(record.time_map, points), features, 0.0, values, spacing=gap / 2)


def _relative_equilibrium(record: TrajectoryRecord) -> LimitSet | None:
    """Recognise a state that moves while its features rest, as along the orbit of a symmetry; None if it does not."""
    stays = record.apart(record.features[-1], record.features[len(record.features) // 2]) <= CLOSE
    moved = float(np.max(np.abs(record.states[-1] - record.states[-2])))
    if not stays or float(np.max(np.abs(record.features[-1] - record.features[-2]))) > 1e-6 * moved:
        return None
    states = states_of(record.time_map, record.states[-1:])
    return LimitSet("relative equilibrium", "undecided", states, record.features[-1:], 0.0, np.empty(0, complex))


def _distance(record: TrajectoryRecord, features: np.ndarray, row: int) -> float:
    """Compute the distance of features from a sample, at least `CLOSE`; infinite on a basin boundary."""
    return np.inf if record.edge else max(float(record.apart(features, record.features[row])), CLOSE)


def _is_linear(units: Units, z: State, rate: float) -> bool:
    """Test whether a growth rate is the real part of an eigenvalue of the linearisation."""
    values, scaled = spectrum(units.system, z).values, rate * units.time
    return bool(np.any(np.abs(np.real(values) - scaled) <= 1e-6 * (1 + abs(scaled))))


@eqx.filter_jit
def _field(time_map: TimeMap, flat: Array) -> Array:
    return velocity_of(time_map)(jnp.zeros(()), flat)


def _recurrence(record: TrajectoryRecord) -> int:
    """Find the least period of the last samples of a map or stroboscopic map; 0 if there is none."""
    f = record.features
    for period in range(1, min(record.longest_period, len(f) // 3) + 1):
        last = max(2 * period, 8)
        if np.all(record.apart(f[-last:], f[-last - period : -period]) <= (EDGE if record.edge else RETURNED)):
            return period
    return 0


def _periodic_points(record: TrajectoryRecord, period: int) -> LimitSet | None:
    """Locate the periodic orbit of a map, or of a forced flow, near the last samples."""
    time_map, system = record.time_map, record.time_map.system
    if isinstance(system, AbstractMap):
        states, values, _ = periodic_points(time_map, record.states[-1], period)
        if np.all(np.isfinite(states)) and _recurs(record, states[-1]):
            if (least := _least_period(record, states[: -1 : round(float(time_map.interval))])) < period:
                return _periodic_points(record, least)
            duration = period * float(time_map.interval)
            return _judged(record, states[:-1], values, duration, "fixed point" if duration == 1 else "periodic orbit")
    else:
        duration = period * float(time_map.interval)
        orbit = _polished(record, duration, period, _turns(record, period), forced=True)
        if orbit is not None:
            if (least := _least_period(record, flat_states(orbit.nodes))) < period:
                return _periodic_points(record, least)
            return _judged(
                record, flat_states(orbit.nodes), orbit.multipliers, duration, "periodic orbit", orbit.stability
            )
    last = record.states[-period:]
    return _judged(record, last, np.empty(0, complex), period * float(time_map.interval), "periodic orbit")


def _least_period(record: TrajectoryRecord, flat: Float[np.ndarray, "points n"]) -> int:
    """Find the least period of periodic points, whose trajectory may recur less often up to errors of the solver."""
    features = record.time_map.features_of(flat)
    errors = np.maximum(CLOSE * record.extent, ON_ORBIT * np.max(np.abs(features), axis=0))
    same = lambda period: np.all(np.abs(np.roll(features, -period, axis=0) - features) <= errors)
    return next((k for k in range(1, len(flat)) if len(flat) % k == 0 and same(k)), len(flat))


def _recurs(record: TrajectoryRecord, gap: np.ndarray) -> bool:
    return bool(np.max(record.scaled(gap)) <= 1e-9 * (1 + np.max(record.scaled(record.states))))


def _judged(
    record: TrajectoryRecord, flat: np.ndarray, values: np.ndarray, period: float, word: str, stability: str = ""
) -> LimitSet | None:
    """Classify a periodic orbit near the trajectory; None if the trajectory is not on it or will leave it."""
    features = record.time_map.features_of(flat)
    distance = np.min([record.apart(point, record.features[-1]) for point in features])
    if distance > NEAR:
        return None
    found = LimitSet(word, "undecided", states_of(record.time_map, flat), features, period, values)
    if not values.size:
        return found
    sizes = np.abs(values)
    found = found._replace(stability=stability or kind(np.log(np.maximum(sizes, 1e-300)), UNIT))
    rate = float(np.log(np.maximum(np.max(sizes), 1.0))) / period
    unstable = found.stability in ("saddle", "unstable")
    if unstable and not _on_limit(record, features, rate, period):
        return None
    return found


def _polished(
    record: TrajectoryRecord, duration: float, segments: int, shift: np.ndarray, *, forced: bool
) -> PeriodicOrbit | None:
    """Refine the orbit through the last sample by Newton's method; None if it does not converge."""
    flow: Any = record.time_map.system
    turn = record.time_map.restored(jnp.asarray(shift)) if np.any(shift) else None
    solver = record.time_map.solver
    try:
        return periodic_orbit(
            flow, record.state(-1), duration, segments=segments, forced=forced, shift=turn,
            lost=lambda x, period: _is_lost(record, x, period / duration), solver=solver,
            rtol=IN_SHOOTING if solver is None else ON_ORBIT,
        )  # fmt: skip
    except (ArgumentError, np.linalg.LinAlgError):
        return None


def _is_lost(record: TrajectoryRecord, x: State, ratio: float) -> bool:
    """Test whether an iterate of Newton's method is too far from the last sample or the expected period."""
    features = record.time_map.features_of(np.asarray(ravel_pytree(x)[0])[None])[0]
    return not (float(record.apart(features, record.features[-1])) <= LOST and 0.5 < ratio < 1.5)


def _turns(record: TrajectoryRecord, samples: float) -> np.ndarray:
    """Count the whole turns of each angle between the last state and the state some samples before."""
    return whole_turns(record.time_map, record.states[-1] - record.states[-1 - round(samples)])


def _cycle(record: TrajectoryRecord) -> LimitSet | None:
    """Locate the limit cycle near the last samples; None if they do not repeat."""
    f = record.features
    moves = record.apart(f[1:], f[:-1])
    moves = np.append(moves[0], moves)  # the distance to each sample from the one before
    local = maximum_filter1d(moves, 5)
    left, tries = False, 0
    for k in range(2, len(f) // 2 - 1):
        gap = record.apart(f[-1], f[-1 - k])
        left = left or gap > 1.5 * local[-1]
        if left and gap <= local[-1] and np.all(record.apart(f[-k:], f[-2 * k : -k]) <= local[-k:]):
            found, tries = _closed(record, k - _ahead(record, k)), tries + 1
            if found is not None or tries == TRIES:
                return found
    return None


def _ahead(record: TrajectoryRecord, k: int) -> float:
    """Compute by how many intervals the last sample is ahead of the one `k` samples before it, to first order."""
    f = record.features / record.extent
    velocity = (f[-k] - f[-2 - k]) / 2
    return float((f[-1] - f[-1 - k]) @ velocity / max(float(velocity @ velocity), 1e-300))


def _closed(record: TrajectoryRecord, samples: float) -> LimitSet | None:
    """Locate the limit cycle whose period is about `samples` intervals."""
    duration = samples * float(record.time_map.interval)
    orbit = _polished(record, duration, 1, _turns(record, samples), forced=False)
    if orbit is None:
        return None
    curve = _path(record, orbit)
    flat = curve(np.linspace(0.0, orbit.period, SAMPLES + 1))
    features = record.time_map.features_of(flat)
    for turns in range(10, 1, -1):  # search for the least period
        if np.all(record.apart(features[SAMPLES // turns], features[0]) <= CLOSE):
            shift = whole_turns(record.time_map, flat[SAMPLES // turns] - flat[0])
            orbit = _polished(record, orbit.period / turns, 1, shift, forced=False)
            if orbit is None:
                return None
            curve = _path(record, orbit)
            break
    of = lambda ts: record.time_map.features_of(curve(ts)) / record.extent
    ts = spread_along(of, orbit.period, SAMPLES, CLOUD)
    found = _judged(record, curve(ts), orbit.multipliers, orbit.period, "periodic orbit", orbit.stability)
    if found is None:
        return None
    chords = (found.features - np.roll(found.features, 1, axis=0)) / record.extent
    return found._replace(spacing=float(np.max(np.linalg.norm(chords, axis=1))) / 2)


def _path(record: TrajectoryRecord, orbit: PeriodicOrbit) -> Callable[[np.ndarray], np.ndarray]:
    """Integrate over a period of an orbit, and give a function that computes flattened states at times."""
    flow: Any = record.time_map.system
    start, ends = jax.tree.map(jnp.asarray, orbit.state), np.array([0.0, orbit.period])
    path = dense_path(flow, start, ends, Diffrax() if record.time_map.solver is None else stiff(ON_ORBIT))
    return lambda ts: flat_states(path.states_at(ts))


# Number of parts of half a trajectory; it recurs if each part is close to other parts.
PARTS = 16
# Numbers of blocks of a trajectory in which a drift has to show. By chance, a quantity grows or falls over 8 of them in
# 1 of 20,000 cases.
BLOCKS = (5, 6, 7, 8)
# Smallest change from one block to the next, relative to the extent, that counts as a drift.
TREND = 1e-3


def recurrent_set(record: TrajectoryRecord) -> LimitSet | None:
    """Accept the samples as a recurrent set if each half is as close to the other as to itself at other times.

    Distances are thus measured across the trajectory, not along it. A slow drift is not a recurrent set, such as that
    of a component that decays slowly while the others turn on a limit cycle.
    """
    if _drifts(record.features / record.extent):
        return None
    halves = np.array_split(record.features / record.extent, 2)
    cross = distances_across(record)
    for one, away in zip(halves, cross[::-1], strict=True):
        own = np.quantile(_distances_at_other_times(one), [0.5, 0.99])
        if np.any(np.quantile(away, [0.5, 0.99]) > 3 * own + CLOSE):
            return None
    spacing = max(float(np.quantile(away, 0.9)) for away in cross)
    states = states_of(record.time_map, record.states)
    found = LimitSet(
        "recurrent set", "undecided", states, record.features, float("nan"), np.empty(0, complex), spacing=spacing
    )
    return with_principal_angles(record.time_map, found)


def distances_across(record: TrajectoryRecord) -> list[Float[np.ndarray, " samples"]]:
    """Compute the distances of the samples in each half of a trajectory from the other half, relative to the extent."""
    one, other = np.array_split(record.features / record.extent, 2)
    return [KDTree(other).query(one)[0], KDTree(one).query(other)[0]]


def _drifts(features: np.ndarray) -> bool:
    """Test whether the mean or the variance of a feature grows, or falls, throughout a trajectory.

    It has to do so from each block to the next, for blocks of several lengths: the phase of an oscillation can advance
    by a small angle from block to block for some of them. Weights that vanish smoothly at the ends of a block make the
    averages nearly independent of such phases.
    """
    signs = [_trends(features, count) for count in BLOCKS]
    return bool(np.any(np.abs(np.sum(signs, axis=0)) == len(BLOCKS)))


def _trends(features: np.ndarray, count: int) -> np.ndarray:
    """Compute the signs of the trends of means and spreads over a number of blocks; 0 where there is none."""
    blocks = np.array(np.split(features[len(features) % count :], count))
    at = (np.arange(blocks.shape[1]) + 0.5) / blocks.shape[1]
    weights = np.exp(-1 / (at * (1 - at)))
    means = np.average(blocks, axis=1, weights=weights)
    spreads = np.sqrt(np.average((blocks - means[:, None]) ** 2, axis=1, weights=weights))
    moves = np.diff(np.stack([means, spreads]), axis=1)
    return np.all(moves > TREND, axis=1) * 1 - np.all(moves < -TREND, axis=1) * 1


def _distances_at_other_times(points: np.ndarray) -> np.ndarray:
    """Compute the distances of the points in every other part of a trajectory from the remaining parts."""
    parts = np.array_split(points, PARTS)
    return KDTree(np.concatenate(parts[::2])).query(np.concatenate(parts[1::2]))[0]
