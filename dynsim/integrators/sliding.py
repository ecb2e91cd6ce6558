"""Solve where a trajectory slides on a surface on which the field jumps, and other solvers take ever smaller steps."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.flatten_util import ravel_pytree
from jaxtyping import Array

from dynsim._core.host import filled, room_for
from dynsim._core.shared_functions import shared
from dynsim._core.types import State, Times
from dynsim.errors import Outcome
from dynsim.integrators.base import Event, Stats, masked
from dynsim.integrators.corners import rests_on_both, through_corners
from dynsim.integrators.events import before_reset, check_begin, check_end, events_at, first_signs, values
from dynsim.integrators.lanes.brackets import narrowed, untouched
from dynsim.integrators.switched_field import SwitchedField, switched_field
from dynsim.integrators.switched_solver import switched_over, switched_velocity
from dynsim.integrators.time_structure import longest_step
from dynsim.spaces import AbstractSpace
from dynsim.systems.base import AbstractFlow
from dynsim.systems.rescaled import is_flat

STUCK = (Outcome.MAX_STEPS, Outcome.STEP_UNDERFLOW)
WINDOW = 32  # intervals of one call, so that one program serves all numbers of times


def slid(flow: AbstractFlow, y0: State, ts: Times, rtol: Any, stats: Stats) -> tuple[State, Stats, str] | None:
    """Solve again, by Filippov's convention, what a solver could not, if the trajectory slides on a surface.

    Give the states at times, statistics, and why the trajectory cannot be followed, or an empty text. It is None for
    other trajectories. The absolute tolerance is a hundredth of the relative one. It is solved in float64.
    """
    if isinstance(stats.outcome, Tracer) or int(stats.outcome) not in STUCK or _traced(flow, (y0, ts, stats)):
        return None
    flat, restored = ravel_pytree(y0)
    y0 = jax.tree.map(lambda leaf: leaf.astype(float), y0)
    field = switched_field(flow, y0)
    if field is None:
        return None
    times, start = jnp.asarray(ts, float), jnp.asarray(flat, float)
    limits = jnp.asarray(rtol, float), jnp.asarray(longest_step(flow, y0), float)
    (rows, steps, failed, blocked), slides, gathers = _in_windows(field, start, np.asarray(times), *limits)
    if not slides:
        return None
    reached = int(np.argmax(failed | blocked)) if np.any(failed | blocked) else len(rows)
    ends = Outcome.FINISHED if reached == len(rows) else Outcome.MAX_STEPS
    ys = jax.vmap(restored)(jnp.asarray(np.concatenate([np.asarray(flat)[None], rows]), flat.dtype))
    last = times[min(reached, len(rows))].astype(flat.dtype)
    stats = Stats(ends is Outcome.FINISHED, int(ends), int(np.sum(steps)), 0, jnp.zeros((), flat.dtype), last)
    said, after = "", f"after t = {float(last):.6g}."
    if gathers is not None:
        said = (
            f"Infinitely many crossings of surfaces accumulate at t = {gathers:.6g}, after which the trajectory is not "
        )
        said += f"determined, of those where {field.named()}."
    elif np.any(blocked):
        said = f"{field.blocked(' and meets a third one')}, {after}"
    elif np.any(failed):
        said = f"The field may jump where {field.named()}, and the trajectory there cannot be followed {after}"
    return masked(ys, jnp.asarray(ts), stats), stats, said


def may_slide(flow: AbstractFlow, y0: State) -> bool:
    """Whether a flow with known numbers may jump on surfaces of states, on which its trajectories are followed."""
    if not is_flat(flow.space) or _traced(flow, y0):
        return False
    return switched_field(flow, jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, float), y0)) is not None


class SlidingStates(eqx.Module):
    """The states of a trajectory that slides at any times, (times,), in any order, computed from its start."""

    field: SwitchedField
    start: Array
    begin: Array
    rtol: Array
    longest: Array
    restored: Any

    def __call__(self, ts: Times) -> State:
        """States at times, times first, in the precision of the start."""
        times = jnp.asarray(ts, float)
        order = jnp.argsort(times)
        grid = jnp.concatenate([self.begin[None], times[order]])
        follow = _over if isinstance(grid, Tracer) else _in_windows
        rows = jnp.asarray(follow(self.field, jnp.asarray(self.start, float), grid, self.rtol, self.longest)[0][0])
        return jax.vmap(self.restored)(jnp.zeros_like(rows).at[order].set(rows).astype(self.start.dtype))

    def after(self, x: State, t: Any) -> "SlidingStates":
        """The same trajectory from a later state on."""
        later = ravel_pytree(x)[0].astype(self.start.dtype), jnp.asarray(t, float)
        return eqx.tree_at(lambda one: (one.start, one.begin), self, later)


def sliding_states(
    flow: AbstractFlow, y0: State, t0: float, t1: float, rtol: Any
) -> tuple[SlidingStates, Stats] | None:
    """Dense output between two times of a trajectory that slides, or None for another one."""
    failed = Stats(False, int(Outcome.MAX_STEPS), 0, 0, jnp.zeros(()), jnp.asarray(t0, float))
    again = slid(flow, y0, np.array([t0, t1]), rtol, failed)
    if again is None or again[2]:
        return None
    flat, restored = ravel_pytree(y0)
    double = jax.tree.map(lambda leaf: leaf.astype(float), y0)
    field, limit = switched_field(flow, double), longest_step(flow, double)
    numbers = (jnp.asarray(number, float) for number in (t0, rtol, limit))
    return SlidingStates(field, flat, *numbers, jax.tree_util.Partial(restored)), again[1]  # pyright: ignore


def slid_until(
    flow: AbstractFlow, y0: State, ts: Times, events: Sequence[Event], rtol: Any
) -> tuple[State, Stats, float, State, tuple[int, ...]] | None:
    """Locate the first event of a trajectory that slides, as `locate` of an integrator; None for other trajectories.

    Events are looked for at as many samples as in a solver's steps, and located on the states from the start.
    """
    times, given = np.asarray(ts, float), shared(tuple(events))
    again = sliding_states(flow, y0, float(times[0]), float(times[-1]), rtol)
    if again is None or not bool(again[1].succeeded):
        return None
    states, stats = again
    begin, y = jnp.asarray(times[0]), jax.tree.map(lambda leaf: jnp.asarray(leaf, float), y0)
    start, sides, quiet = _begun(states, flow.space, given, begin, y)
    check_begin(start)
    grid = _sampled(times, int(stats.num_steps), given)
    rows = states(grid)
    at_samples = np.asarray(_values(flow.space, given, jnp.asarray(grid), rows))
    found = narrowed(given, untouched(begin, grid[-1], sides, quiet), grid, at_samples)
    if int(found.event) >= 0 and float(found.begin) > times[0]:  # only the bracket is solved again
        before = jax.tree.map(lambda leaf: leaf[int(np.searchsorted(grid, found.begin))], rows)
        states = states.after(before, found.begin)
    while found.splits:  # on the host, where intersections of surfaces are followed
        ts = found.samples(given)
        found = narrowed(given, found, ts, np.asarray(_values(flow.space, given, jnp.asarray(ts), states(ts))))
    check_end(found)
    y = jax.tree.map(lambda leaf: leaf[0].astype(float), states(np.array([found.end])))
    velocity = _velocity(states, jnp.asarray(found.end), y)
    return again[0](times), stats, float(found.end), y, events_at(given, flow.space, found, y, velocity)


def _sampled(times: np.ndarray, steps: int, events: Sequence[Event]) -> np.ndarray:
    """The times after the first one at which events are looked at, each as often as in so many steps of a solver."""
    count = steps * max(event.samples for event in events)
    return np.union1d(times, np.linspace(times[0], times[-1], count + 1))[1:]


def _velocity(states: SlidingStates, t: Array, y: State) -> State:
    flat, restored = ravel_pytree(y)
    return restored(switched_velocity(states.field, t, flat))


_values = eqx.filter_jit(lambda space, events, ts, ys: values(events, space, ts, ys))


@eqx.filter_jit
def _begun(states: SlidingStates, space: AbstractSpace, events: tuple[Event, ...], t: Array, y: State) -> Any:
    """Values and signs of events at the start, and when they show; see `first_signs`."""
    return first_signs(events, space, t, y, *(_velocity(states, t, x) for x in (y, before_reset(events, y))))


def sliding_paths(
    flow: AbstractFlow, starts: np.ndarray, ts: np.ndarray, rtol: float, atol: float
) -> np.ndarray | None:
    """Solve from many vectors, with sliding, (starts, times, d), NaN after a failure; None without any surface."""
    field = switched_field(flow, jnp.zeros(starts.shape[1:]))
    if field is None:
        return None
    given = jnp.asarray(filled(np.asarray(starts, float), room_for(len(starts))))
    numbers = (jnp.asarray(number, float) for number in (rtol, longest_step(flow, jnp.zeros(starts.shape[1:])), atol))
    rows = np.asarray(_paths(field, given, jnp.asarray(ts, float), *numbers))[: len(starts)]
    return np.concatenate([np.asarray(starts, float)[:, None], rows], axis=1)


def _in_windows(
    field: SwitchedField, x: Array, ts: Array | np.ndarray, rtol: Array, longest: Array
) -> tuple[tuple[np.ndarray, ...], bool, float | None]:
    """Do the same as `_over` by one program for any number of times, also along intersections of two surfaces.

    Last comes the time at which crossings accumulate and it ends, or None.
    """
    count = len(ts) - 1
    grid = filled(np.asarray(ts, float), -(-count // WINDOW) * WINDOW + 1)
    parts, slides, both, gathers = [], False, False, None
    for k in range(0, len(grid) - 1, WINDOW):
        times = jnp.asarray(grid[k : k + WINDOW + 1])
        if both and bool(rests_on_both(field, times[0], x)):
            nothing = np.zeros(WINDOW, bool)
            found, slid_here = [np.empty((WINDOW, *x.shape)), np.zeros(WINDOW, int), nothing, ~nothing], True
        else:
            found, slid_here = _over(field, x, times, rtol, longest)
        found, slides = [np.array(part) for part in found], slides or bool(slid_here)
        if np.any(found[2] | found[3]):
            both, last = True, _past_corners(field, x, grid[k : k + WINDOW + 1], rtol, longest, found)
            slides = slides or not np.any(found[2])
            gathers = last if gathers is None else gathers
        x = jnp.asarray(found[0][-1])
        parts.append(found)
        if np.any(found[2] | found[3]):
            rest = len(grid) - 1 - k - WINDOW
            never = np.ones(rest, bool)
            parts.append([np.full((rest, *x.shape), np.nan), np.zeros(rest, int), never, ~never])
            break
    rows, steps, failed, blocked = (np.concatenate(part)[:count] for part in zip(*parts, strict=True))
    return (rows, steps, failed, blocked), slides, gathers


def _past_corners(
    field: SwitchedField, x: Array, ts: np.ndarray, rtol: Array, longest: Array, found: list[np.ndarray]
) -> float | None:
    """Solve the intervals again from the first one in which the trajectory is on two surfaces, or fails.

    Give the time at which crossings accumulate and it ends, or None.
    """
    rows, steps, failed, blocked = found
    first = int(np.argmax(failed | blocked))
    x = jnp.asarray(rows[first - 1]) if first else x
    for k in range(first, len(rows)):
        if ts[k] == ts[k + 1]:
            rows[k], steps[k], failed[k], blocked[k] = x, 0, False, False
            continue
        passed = through_corners(field, float(ts[k]), float(ts[k + 1]), x, rtol, longest)
        failed[k], blocked[k], steps[k] = passed.failed, passed.blocked, passed.steps
        if passed.failed or passed.blocked:
            rows[k:], blocked[k:] = np.nan, blocked[k]
            return passed.t if passed.accumulates else None
        x, rows[k] = passed.x, passed.x
    return None


def _traced(flow: AbstractFlow, numbers: Any) -> bool:
    return any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves((numbers, eqx.filter(flow, eqx.is_array))))


@eqx.filter_jit
def _paths(field: SwitchedField, starts: Array, ts: Array, rtol: Array, longest: Array, atol: Array) -> Array:
    return jax.vmap(lambda x: _over(field, x, ts, rtol, longest, atol)[0][0])(starts)


def jumping(flow: AbstractFlow, y0: State, stats: Stats | None = None) -> str:
    """Say where the field may jump, as a cause of ever smaller steps, or give an empty text."""
    if stats is not None and int(stats.outcome) not in STUCK:
        return ""
    field = switched_field(flow, y0)
    said = "The field may jump where {}, and the trajectory there cannot be followed."
    return "" if field is None else said.format(field.named())


@eqx.filter_jit
def _over(
    field: SwitchedField, x: Array, ts: Array, rtol: Array, longest: Any, atol: Any = None
) -> tuple[tuple[Array, Array, Array, Array], Array]:
    """The states at times after the first one, with steps and failures of each interval, and whether it slides."""

    def once(carry: tuple[Array, Array], ends: tuple[Array, Array]) -> tuple[tuple[Array, Array], tuple]:
        x, slides = carry
        begin, end = ends
        none, first = jnp.zeros((x.shape[0], 0)), (end - begin) / 4
        found = switched_over(field, begin, end, first, x, none, rtol, longest, atol=atol)
        x = jnp.where(found.failed | found.blocked, jnp.nan, found.x)
        return (x, slides | found.slid), (x, found.steps, found.failed, found.blocked)

    (_, slides), found = jax.lax.scan(once, (x, jnp.asarray(False)), (ts[:-1], ts[1:]))
    return found, slides
