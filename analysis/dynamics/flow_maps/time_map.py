"""Advance many states over equal time intervals by a flow, or over steps by a map, in one compiled program."""

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from analysis.dynamics.flow_maps.compiled import compiled
from analysis.dynamics.flow_maps.variational import Linearised
from analysis.dynamics.scaling.flat import flat_state, states_like
from analysis.dynamics.scaling.samples import norms
from analysis.dynamics.scaling.units import Units, rounded_units
from dynsim._core.host import filled, room_for
from dynsim._core.placement import current, placed
from dynsim._core.types import State
from dynsim._runtime.cores import on_cores
from dynsim.integrators.corners import MEETS, NEARS, rests_in_corner
from dynsim.integrators.switched_field import SwitchedField
from dynsim.integrators.switched_solver import CLOSEST, switched_over, switched_velocity
from dynsim.integrators.time_structure import breakpoints, longest_step
from dynsim.spaces import Euclidean
from dynsim.systems.base import AbstractFlow, AbstractMap

if TYPE_CHECKING:
    import diffrax as dfx

# Number of intervals in one call; a fixed number lets one compiled program serve all.
WINDOW = 8
# Number of windows that one program follows, between which a run may be interrupted.
AT_ONCE = 16
# Number of entries of the states solved together, which then stay in the cache.
NUMBERS = 4096
# Number of states solved together by a second, small program.
FEW = 64
# Distance, in turns, at which an angle close to minus half a turn counts as half a turn.
NEARLY = 1e-9
# Share of the size of states that their extent must be for the relative tolerance to resolve it.
DISTANT = 1 / 32
# Smallest relative tolerance that rounding errors allow.
FINEST = 1e-13
# Largest number of solver steps in an interval.
STEPS = 20_000

Features = Callable[[State], Array]


def state_itself(x: State) -> Array:
    """Flatten a state; these are the default features."""
    return ravel_pytree(x)[0]


def resolving_tolerance(rtol: float, xs: Float[np.ndarray, "... n"], extent: Float[np.ndarray, " n"]) -> float:
    """Choose a relative tolerance, smaller where states are far from zero, to resolve their extents.

    An extent of zero is not known, and does not count.
    """
    sizes = np.max(np.where(np.isfinite(xs), np.abs(xs), 0.0).reshape(-1, xs.shape[-1]), axis=0)
    shares = np.divide(extent, sizes, out=np.ones(len(sizes)), where=(sizes > 0) & (extent > 0))
    share = float(np.min(shares, initial=1.0))
    return rtol if share > DISTANT else max(share * rtol, FINEST)


class TimeMap(eqx.Module):
    """Map of a flow over an interval, or an iterate of a map, for flattened states, (members, n).

    States solved together share the steps of the solver, whose error is the largest one among them, in units of
    `sizes`, (n,), which are 1 by default. The absolute tolerance holds for every entry in its own unit; it is by
    default a hundredth of the relative one, in units of `sizes`. A state is frozen once a feature exceeds `bound`, or
    where the field is not finite. With a larger bound `beyond` it continues to move. It has then escaped only beyond
    the larger bound, or where the solver fails beyond the smaller one, as before a blow-up. With a `solver`, such as an
    implicit one for stiff flows, each state has its own steps; also if the field may jump on surfaces of states, on
    which it slides.
    """

    system: AbstractFlow | AbstractMap
    restored: Any
    features: Any
    interval: Array
    rtol: Array
    atol: Array | None
    bound: Array
    beyond: Array
    unit: Array
    sizes: Array
    solver: "dfx.AbstractAdaptiveSolver | None"
    switched: SwitchedField | None

    def __init__(
        self,
        system: AbstractFlow | AbstractMap,
        state: State,
        features: Features,
        interval: float,
        rtol: float,
        bound: float,
        sizes: State | None = None,
        beyond: float = 0.0,
        solver: "dfx.AbstractAdaptiveSolver | None" = None,
        atol: float | None = None,
    ):
        """Store the system, the structure of a state, and numbers as arrays, so that new values compile nothing."""
        pair = Linearised(system, state)
        self.system, self.restored, self.switched = system, pair.restored, None if solver else pair.switched
        self.features, self.solver = features, solver
        self.interval, self.rtol, self.bound = (jnp.asarray(number, float) for number in (interval, rtol, bound))
        self.beyond, self.unit = jnp.asarray(max(float(bound), float(beyond))), jnp.asarray(2 * float(interval))
        every = jax.tree.map(lambda y: np.ones(np.shape(y)), state)  # NumPy arrays, so that nothing is compiled
        entries = every if sizes is None else jax.tree.map(lambda y, size: y * np.asarray(size), every, sizes)
        self.sizes = jnp.asarray(flat_state(entries))
        self.atol = None if atol is None else jnp.asarray(float(atol))

    def units_at(self, x: Float[np.ndarray, " n"]) -> Units:
        """Choose units of a flow near `sizes`, and near two of the first intervals.

        If the intervals have become longer since, the time scale of the field at a flattened state is used when it is
        longer.
        """
        system: Any = self.system
        sizes = jax.tree.map(lambda y: np.asarray(y if y.ndim == 1 else jnp.max(y)), self.restored(self.sizes))
        first, now = float(self.unit), 2 * float(self.interval)
        if now > first and np.size(rates := norms(system, states_of(self, x[None]))) and rates[0] > 0:
            return rounded_units(system, sizes, min(max(first, 1 / float(rates[0])), now))
        return rounded_units(system, sizes, first)

    @property
    def rescaled_atol(self) -> Array | None:
        """Absolute tolerance in units of `sizes` that keeps every entry within `atol`; None for the default."""
        return None if self.atol is None else self.atol / jnp.max(self.sizes)

    @property
    def is_map(self) -> bool:
        """Whether the system is a map; the interval is then a number of steps."""
        return isinstance(self.system, AbstractMap)

    def features_of(self, xs: Float[np.ndarray, "members n"]) -> Float[np.ndarray, "members f"]:
        """Compute the features of states."""
        return xs if self.features is state_itself else _by_rows(_features, self, xs)

    def lost(self, xs: Float[np.ndarray, "members n"]) -> tuple[np.ndarray, np.ndarray]:
        """Test which states have escaped beyond the bound, and at which states the system is not defined."""
        with np.errstate(invalid="ignore"):
            escaped = np.max(np.abs(self.features_of(xs)), axis=1) > float(self.beyond)
        return escaped, ~escaped & ~_by_rows(_defined, self, xs)

    def over(self, times: float) -> "TimeMap":
        """Build the map over intervals that are `times` as long."""
        return eqx.tree_at(lambda m: m.interval, self, times * self.interval)

    def resolving(self, rtol: float, xs: Float[np.ndarray, "... n"], extent: Float[np.ndarray, " n"]) -> "TimeMap":
        """Build the map with a relative tolerance that resolves the extents of states; see `resolving_tolerance`."""
        return eqx.tree_at(lambda m: m.rtol, self, jnp.asarray(resolving_tolerance(rtol, xs, extent), float))

    def window(self, xs: Float[np.ndarray, "members n"], begun: int) -> Float[np.ndarray, "window members n"]:
        """Compute the states after each of `WINDOW` intervals; NaN where the solver fails.

        Args:
            xs: flattened states.
            begun: number of intervals since time 0, where a forced flow starts.
        """
        found = _moved(self, xs, begun)
        if float(self.beyond) <= float(self.bound):
            return found
        with np.errstate(invalid="ignore"):
            sizes = np.max(np.abs(self.features_of(found[-1])), axis=1)
        out = np.flatnonzero((sizes > float(self.bound)) & (sizes <= float(self.beyond)))
        if out.size:
            further = eqx.tree_at(lambda m: m.bound, self, self.beyond)
            found, again = np.array(found), np.array(_moved(further, xs[out], begun))
            blown = ~np.all(np.isfinite(again), axis=(0, 2))
            again[:, blown] = _outside(self, found[-1, out[blown]])
            found[:, out] = again
        return found

    def later(
        self, xs: Float[np.ndarray, "members n"], begun: int, windows: int
    ) -> Float[np.ndarray, "window members n"]:
        """Compute the states after each interval of the last of some windows: those of `window`, called so often.

        Few programs run, each for several windows, because the call of one takes longer than a window of few states.
        """
        found = np.empty((WINDOW, *xs.shape))
        for first in range(0, windows, AT_ONCE):
            count = min(AT_ONCE, windows - first)
            found = self._several(xs, begun + first * WINDOW, count)
            xs = found[-1]
        return found

    def _several(self, xs: np.ndarray, begun: int, windows: int) -> np.ndarray:
        """Compute the last of some windows in one program; window by window if it fails or states leave the bound."""
        if self.solver is None and self.switched is None:
            found = _moved(self, xs, begun, windows)
            with np.errstate(invalid="ignore"):
                if np.all(np.max(np.abs(self.features_of(found[-1])), axis=1) <= float(self.bound)):
                    return found
        found = np.empty((WINDOW, *xs.shape))
        for k in range(windows):
            found = self.window(xs, begun + k * WINDOW)
            xs = found[-1]
        return found

    def _times(self, begun: int, windows: int = 1) -> tuple[np.ndarray, np.ndarray, Any]:
        """Compute the initial time, the times at which the field jumps, and the largest step."""
        begin = begun * float(self.interval)
        if isinstance(self.system, AbstractMap):
            return np.asarray(begin), np.empty(0), None
        like = jax.eval_shape(self.restored, jax.ShapeDtypeStruct(self.sizes.shape, float))
        jumps = breakpoints(self.system, like, begin, begin + windows * WINDOW * float(self.interval))
        longest = self.system.step_limit() if self.switched is None else longest_step(self.system, like)
        padded = np.pad(jumps, (0, -len(jumps) % FEW), constant_values=np.inf)
        return np.asarray(begin), padded, None if math.isinf(longest) else np.asarray(longest)


def _moved(time_map: TimeMap, xs: np.ndarray, begun: int, windows: int = 1) -> np.ndarray:
    """Compute the states after each of the last `WINDOW` intervals of some windows, up to the bound."""
    here = np.all(np.isfinite(xs), axis=1)
    if not np.all(here):  # the solver would accept no step from a state that is not finite
        found = np.full((WINDOW, *xs.shape), np.nan)
        found[:, here] = _moved(time_map, xs[here], begun, windows) if np.any(here) else np.nan
        return found
    times = time_map._times(begun, windows)
    if (states := _by_kernel(time_map, xs, times, windows)) is not None:
        return states
    width = max(FEW, NUMBERS // max(1, xs.shape[1]))
    if len(xs) <= 4 * FEW:
        width = FEW
    parts = [np.arange(k, min(k + width, len(xs))) for k in range(0, len(xs), width)]
    solved = lambda part: _part(time_map, xs[part], width, times, windows)
    return np.concatenate(on_cores(solved, parts), axis=1)


class _Rescaled(AbstractFlow):
    """The flow of a time map in units of `sizes`, which stands still out of bounds."""

    time_map: TimeMap
    longest: float

    @property
    def space(self) -> Euclidean:
        """All flattened states."""
        return Euclidean()

    def velocity(self, t: Any, x: Array) -> Array:
        """Compute the velocity of a flattened state."""
        y = x * self.time_map.sizes
        moved = velocity_of(self.time_map)(jnp.asarray(t, float), y)
        return _frozen(self.time_map, y[:, None], moved[:, None], 0.0)[:, 0] / self.time_map.sizes

    def step_limit(self) -> float:
        """The limit of the flow."""
        return self.longest


class _Frozen(AbstractMap):
    """The map of a time map, which leaves a state out of bounds where it is."""

    time_map: TimeMap

    @property
    def space(self) -> Euclidean:
        """All flattened states."""
        return Euclidean()

    def step(self, k: Any, x: Array) -> Array:
        """Apply the map to a flattened state."""
        moved = velocity_of(self.time_map)(k, x)
        return _frozen(self.time_map, x[:, None], moved[:, None], x[:, None])[:, 0]


def _by_kernel(
    time_map: TimeMap, xs: np.ndarray, times: tuple[np.ndarray, np.ndarray, Any], windows: int
) -> np.ndarray | None:
    """Do the same as `_moved` where a GPU has a kernel for the system, each state with its own steps; otherwise None.

    A kernel takes no time for each step, so that few states over many windows are worth its call, too.

    A processor is not faster so: there the states solved together share their steps, whose control costs nothing.
    """
    begin, jumps, longest = times
    if jumps.size or time_map.switched is not None or time_map.solver is not None:
        return None
    with placed(xs.size * windows, ()):
        if current().platform == "cpu":
            return None
        from dynsim.integrators.diffrax_backend import Diffrax
        from dynsim.integrators.fixed_step.maps import Iteration
        from dynsim.integrators.in_lanes import Ways

        ts: Any = float(time_map.interval) * np.append(0, (windows - 1) * WINDOW + np.arange(1, WINDOW + 1))
        system: Any
        by: Any
        if time_map.is_map:
            system, sizes, by = _Frozen(time_map=time_map), 1.0, Iteration()  # pyright: ignore[reportCallIssue]
            ts = int(begin) + np.round(ts).astype(int)
        else:
            limit = math.inf if longest is None else float(longest)
            system, sizes = _Rescaled(time_map=time_map, longest=limit), np.asarray(time_map.sizes)  # pyright: ignore[reportCallIssue]
            atol = time_map.rtol / 100 if time_map.rescaled_atol is None else time_map.rescaled_atol
            by = Diffrax(rtol=float(time_map.rtol), atol=float(atol), max_steps=windows * WINDOW * STEPS)
            ts = float(begin) + ts
        starts = jnp.asarray(xs / sizes)
        lanes = by.lanes((system,), starts, ts)
        if not (isinstance(lanes, Ways) and lanes.programs is not None):
            return None
        values, _, stats = by.observe((system,), starts, jnp.asarray(ts), _state, lanes=lanes)
        if time_map.is_map:
            return np.swapaxes(np.asarray(values), 0, 1)[1:]
        return np.asarray(_projected(time_map, values, stats.succeeded))


def _state(t: Any, x: Array) -> Array:
    del t
    return x


@compiled
def _projected(time_map: TimeMap, values: Array, whole: Array) -> Array:
    """Scale states (members, times, n) back, and project them; without the first ones, and NaN where not whole."""
    states = jnp.swapaxes(jnp.where(whole[:, None, None], values, jnp.nan), 0, 1)[1:]
    return jnp.stack([_on(time_map, ys.T * time_map.sizes[:, None]).T for ys in states])


def _part(
    time_map: TimeMap, xs: np.ndarray, width: int, times: tuple[np.ndarray, np.ndarray, Any], windows: int = 1
) -> np.ndarray:
    """Advance states together; if the solver fails for the group, split it into smaller ones.

    The states of several windows are then NaN: the group is split in the window in which it fails.
    """
    states, failed = _run(time_map, filled(xs, width), *times, np.asarray(windows))
    if not bool(failed):
        return np.asarray(states)[:, : len(xs)]
    if len(xs) == 1 or windows > 1:
        return np.full((WINDOW, *xs.shape), np.nan)
    size = FEW if len(xs) > FEW else 1
    pieces = [_part(time_map, xs[k : k + size], FEW, times) for k in range(0, len(xs), size)]
    return np.concatenate(pieces, axis=1)


def states_of(time_map: TimeMap, flat: Float[np.ndarray, "states n"]) -> State:
    """Restore states on the first axis of every array from flattened ones, as NumPy arrays without compiling."""
    like = jax.eval_shape(time_map.restored, jax.ShapeDtypeStruct(flat.shape[1:], flat.dtype))
    return states_like(like, flat)


def state_of(time_map: TimeMap, flat: Float[np.ndarray, " n"]) -> State:
    """Restore a state from a flattened one, as NumPy arrays."""
    return jax.tree.map(lambda y: y[0], states_of(time_map, flat[None]))


def _outside(time_map: TimeMap, xs: np.ndarray) -> np.ndarray:
    """Scale states until they lie beyond all bounds; NaN if their features do not follow."""
    beyond = float(time_map.beyond)
    far = 10 * beyond * xs / np.max(np.abs(xs), axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        outside = np.max(np.abs(time_map.features_of(far)), axis=1, keepdims=True) > beyond
    return np.where(outside, far, np.nan)


def _by_rows(fn: Callable, time_map: TimeMap, xs: np.ndarray) -> np.ndarray:
    """Apply a function to states, padded to a power of two in number, so that few programs are compiled."""
    if not len(xs):
        return np.asarray(fn(time_map, jnp.zeros((FEW, xs.shape[1]))))[:0]
    padded = filled(xs, room_for(len(xs), least=FEW))
    with placed(xs.size, time_map) as here:
        return np.asarray(fn(here, jnp.asarray(padded)))[: len(xs)]


@compiled
def _features(time_map: TimeMap, xs: Array) -> Array:
    return jax.vmap(lambda x: jnp.ravel(time_map.features(time_map.restored(x))))(xs)


@compiled
def _defined(time_map: TimeMap, xs: Array) -> Array:
    velocity = velocity_of(time_map)
    return jax.vmap(lambda x: jnp.all(jnp.isfinite(x)) & jnp.all(jnp.isfinite(velocity(jnp.zeros(()), x))))(xs)


def velocity_of(time_map: TimeMap) -> Callable[[Array, Array], Array]:
    """Build the vector field of a flow, or the step of a map, as a function of flattened states."""
    system, restored, field = time_map.system, time_map.restored, time_map.switched
    if field is not None:
        return lambda t, x: switched_velocity(field, jnp.asarray(t, float), x)
    if isinstance(system, AbstractMap):
        return lambda t, x: ravel_pytree(system.step(t.astype(int), restored(x)))[0]
    return lambda t, x: ravel_pytree(system.vector_field(t, restored(x)))[0]


@compiled
def _run(time_map: TimeMap, xs: Any, begin: Any, jumps: Any, longest: Any, windows: Any) -> tuple[Array, Array]:
    """Compute the states after each interval of the last window, and whether the solver failed.

    Inside, members are the last axis.
    """
    if time_map.switched is not None:
        return _switched(time_map, time_map.switched, xs, begin, longest), jnp.asarray(False)
    if time_map.solver is not None:
        return _apart(time_map, xs, begin, jumps, longest), jnp.asarray(False)
    step = _map_interval if isinstance(time_map.system, AbstractMap) else _flow_interval

    def over(first: Array, carry: tuple, k: Array) -> tuple[tuple, Array]:
        ys, length, failed = carry
        start = begin + (first + k).astype(float) * time_map.interval
        stopped = lambda y, length: (y, length, jnp.asarray(True))
        moved = lambda y, length: step(time_map, y, start, length, jumps, longest)
        ys, length, failed = jax.lax.cond(failed, stopped, moved, ys, length)
        return (ys, length, failed), ys.T

    def window(k: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        states, failed = carry
        begun = (states[-1].T, time_map.interval / 50, failed)
        (_, _, failed), states = jax.lax.scan(partial(over, k * WINDOW), begun, jnp.arange(WINDOW))
        return states, failed

    return jax.lax.fori_loop(0, windows, window, (jnp.broadcast_to(xs, (WINDOW, *xs.shape)), jnp.asarray(False)))


def _apart(time_map: TimeMap, xs: Array, begin: Array, jumps: Array, longest: Any) -> Array:
    """Do the same as `_run` with a given solver, with separate steps for each member; NaN where it fails."""
    import diffrax as dfx

    from dynsim.integrators.embedded import solve_within

    sizes, velocity = time_map.sizes, velocity_of(time_map)
    ts = begin + time_map.interval * jnp.arange(1.0, WINDOW + 1)

    def field(t: Any, z: Array, args: Any) -> Array:
        del args
        y = z * sizes
        return _frozen(time_map, y[:, None], velocity(jnp.asarray(t), y)[:, None], 0.0)[:, 0] / sizes

    def one(x: Array) -> Array:
        solution = solve_within(
            field, begin, ts[-1], x / sizes, rtol=time_map.rtol, atol=time_map.rescaled_atol,
            first=time_map.interval / 50, longest=longest, jumps=jumps, stops=ts, saveat=dfx.SaveAt(ts=ts),
            max_steps=WINDOW * STEPS, solver=time_map.solver,
        )  # fmt: skip
        assert solution.ys is not None
        return jnp.where(solution.result == dfx.RESULTS.successful, solution.ys * sizes[None], jnp.nan)

    states = jax.vmap(one, out_axes=2)(xs)
    return jnp.swapaxes(jax.vmap(lambda ys: _on(time_map, ys))(states), 1, 2)


def _switched(time_map: TimeMap, field: SwitchedField, xs: Array, begin: Array, longest: Any) -> Array:
    """Do the same for a field that jumps on surfaces of states; NaN where it fails, or moves on two surfaces."""
    length = time_map.interval
    limit = jnp.inf if longest is None else longest

    def out(x: Array) -> Array:
        return jnp.max(jnp.abs(jnp.ravel(time_map.features(time_map.restored(x))))) > time_map.bound

    def over(x: Array, k: Array) -> tuple[Array, Array]:
        start, none = begin + k.astype(float) * length, jnp.zeros((x.shape[0], 0))
        end = begin + (k + 1).astype(float) * length
        still = rests_in_corner(field, start, x, CLOSEST)[0]
        found = switched_over(
            field, start, end, length / 4, x, none, time_map.rtol, limit,
            atol=time_map.rescaled_atol, sizes=time_map.sizes, stops=lambda x: out(x) | still,
        )  # fmt: skip
        rests, onto = rests_in_corner(field, end, found.x, jnp.where(found.accumulates, NEARS, MEETS))
        x = jnp.where(found.blocked, onto, found.x)
        x = jnp.where(found.failed | (found.blocked & ~rests), jnp.nan, x)
        return x, x

    return jax.vmap(lambda x: jax.lax.scan(over, x, jnp.arange(WINDOW))[1], out_axes=1)(xs)


def _frozen(time_map: TimeMap, ys: Array, moved: Array, still: Array | float) -> Array:
    """Replace the motion of members, (n, members), that are out of bounds by one that leaves them where they are."""
    values = jax.vmap(lambda y: jnp.ravel(time_map.features(time_map.restored(y))), in_axes=1)(ys)
    out = jnp.max(jnp.abs(values), axis=1) > time_map.bound
    return jnp.where(out | ~jnp.all(jnp.isfinite(moved), axis=0), still, moved)


def _map_interval(
    time_map: TimeMap, ys: Array, begin: Array, length: Array, jumps: Array, longest: Any
) -> tuple[Array, Array, Array]:
    del jumps, longest
    step = jax.vmap(velocity_of(time_map), in_axes=(None, 1), out_axes=1)
    steps = jnp.round(time_map.interval).astype(int)
    once = lambda k, y: _frozen(time_map, y, step(begin + k.astype(float), y), y)
    return jax.lax.fori_loop(0, steps, once, ys), length, jnp.asarray(False)


def _flow_interval(
    time_map: TimeMap, ys: Array, begin: Array, length: Array, jumps: Array, longest: Any
) -> tuple[Array, Array, Array]:
    import diffrax as dfx

    from dynsim.integrators.embedded import solve_within

    velocity = jax.vmap(velocity_of(time_map), in_axes=(None, 1), out_axes=1)
    worst = lambda error: jnp.max(jnp.sqrt(jnp.mean(error**2, axis=0)))
    sizes = time_map.sizes[:, None]

    def field(t: Any, z: Array, args: Any) -> Array:
        del args
        y = z * sizes
        return _frozen(time_map, y, velocity(jnp.asarray(t), y), 0.0) / sizes

    solution = solve_within(
        field, begin, begin + time_map.interval, ys / sizes,
        rtol=time_map.rtol, atol=time_map.rescaled_atol, first=length, longest=longest, jumps=jumps, norm=worst,
        max_steps=STEPS,
    )  # fmt: skip
    assert solution.ys is not None
    steps = jnp.maximum(solution.stats["num_accepted_steps"], 1)
    failed: Any = solution.result != dfx.RESULTS.successful
    return _on(time_map, solution.ys[0] * sizes), time_map.interval / steps.astype(float), failed


def _on(time_map: TimeMap, ys: Array) -> Array:
    """Project states, (n, members), to the space."""
    space, restored = time_map.system.space, time_map.restored
    return jax.vmap(lambda y: ravel_pytree(space.project(restored(y)))[0], in_axes=1, out_axes=1)(ys)
