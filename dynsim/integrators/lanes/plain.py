"""Lanes in JAX: all members of a chunk step at once, each with its own step size, clock and end."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array

from dynsim.integrators.lanes.brackets import Bracket, first_crossing, narrowed, untouched
from dynsim.integrators.lanes.method import (
    DONE,
    RUNNING,
    STUCK,
    Lane,
    Settings,
    TrialStep,
    Walls,
    at_samples,
    begun,
    stepped,
    within,
)
from dynsim.integrators.lanes.recorded import FlowForm

WIDTH = 64
"""Lanes are filled up to a multiple: a loop over a remainder rounds otherwise, and results would depend on it."""
CROWDED = 256
"""Powers of two from here on get another `WIDTH`: all arrays would fall on the same lines of a processor's cache."""


class Solved(NamedTuple):
    """What lanes return, with members on the last axis.

    Attributes:
        saved: states at the times after the first, shape (times - 1, d, members); undefined where not reached.
        final: the last states, shape (d, members).
        last: the last times, shape (members,).
        counts: steps, rejected steps, whether the last trial step was finite, the status, and the index of the event
            that ended the member or -1, shape (5, members).
        sides: the last known sign of each event, shape (events, members).
    """

    saved: Array
    final: Array
    last: Array
    counts: Array
    sides: Array


def solved(
    solver: Any,
    form: FlowForm,
    system: Any,
    axes: Any,
    starts: Array,
    settings: Settings,
    times: Array,
    signs: tuple[Array, Array],
    jumps: Array,
) -> Solved:
    """Integrate all members in lanes, inside a JAX program.

    Members are the last axis, so that arithmetic on a component goes through neighbouring numbers.

    Args:
        solver: a method that `suits` lanes.
        form: the form of the system.
        system: the system, or one with a leading axis of members in some arrays.
        axes: 0 for these arrays, None for the others.
        starts: initial states, shape (d, members).
        settings: what all members share; the initial time has shape (members,).
        times: the times to save at after the first, increasing; the last is the end.
        signs: the sign of each event at the start, and the time until which it is not looked at, shape (events,
            members).
        jumps: times at which the field jumps, increasing.
    """
    (d, given), count, watch = starts.shape, times.shape[0], system.watch
    (starts, sides, quiet, begins), system = widened((starts, *signs, settings.t0), system, axes)
    members = starts.shape[1]
    settings, same = settings._replace(t0=begins), Settings(-1, *[None] * 5)
    field = lambda system: lambda t, y: form.velocity(system, t, y)
    begin = lambda system, y, settings, *ahead: begun(solver, field(system), y, settings, *ahead)
    far = jnp.concatenate([jumps, jnp.full(2, np.inf, jumps.dtype)])
    walls = lambda passed: Walls(far[passed], far[passed + 1]) if jumps.size else None
    over = lambda work, *ins: eqx.filter_vmap(work, in_axes=ins, out_axes=-1)
    velocities = lambda t, y: over(form.velocity, axes, -1, -1)(system, t, y)
    # The arrays of all members go through a step together: XLA would transpose those of a mapped step of one member.
    together = jax.numpy_rank_promotion("allow")
    step = together(lambda lane, walls: stepped(solver, velocities, lane, settings, walls))
    inside = together(lambda trial, t: within(solver, trial, t))
    due = jnp.concatenate([times, jnp.full((1,), np.inf, times.dtype)])
    # A processor is faster if what is computed is not computed again for each of its uses; a GPU is slower.
    once = lambda made: lax.platform_dependent(made, cpu=lax.optimization_barrier, default=lambda made: made)
    places, lanes = np.ogrid[:d, :members]

    def sampled(system: Any, trial: TrialStep) -> tuple[Array, Array]:
        """Times in a step of one member, and the values of the events there."""
        step = untouched(trial.t, trial.end, None, None)
        ts, ys = step.samples(watch.events), at_samples(solver, trial, watch.samples)
        return ts, jax.vmap(lambda t, y: form.values(system, t, y))(ts, ys)

    def look(trial: TrialStep, last: Bracket) -> Bracket:
        """Search the steps of all members for events; in most steps no sign changes."""
        ts, values = over(sampled, axes, -1)(system, trial)
        step = last._replace(begin=trial.t, end=trial.end, event=jnp.full(members, -1))
        calm = jnp.all(jnp.sign(values) == last.sides[None], axis=(0, 1)) | ~trial.accepted
        search = over(lambda step, ts, values: narrowed(watch.events, step, ts, values), -1, -1, -1)
        none = step._replace(begin=trial.end)
        return lax.cond(jnp.all(calm), lambda: none, lambda: search(step, ts, values))

    def narrow(system: Any, trial: TrialStep, first: Bracket) -> tuple[Bracket, Array]:
        """Narrow the bracket of an event in a step of one member; also the state there."""
        values = jax.vmap(lambda t: form.values(system, t, within(solver, trial, t)))
        step = untouched(trial.t, trial.end, first.sides, first.quiet)._replace(value=jnp.zeros_like(first.value))
        found = first_crossing(watch.events, step, values)
        found = _chosen(found.event >= 0, found, first)  # rounding may hide the change of sign
        return found, within(solver, trial, found.end)

    def save(carry: tuple[TrialStep, Array, Array, Array]) -> tuple[TrialStep, Array, Array, Array]:
        """Store the state of each member at the first time that is due for it, if there is one in its step."""
        trial, index, wanted, saved = carry
        now = trial.accepted & (wanted <= trial.end)
        row = jnp.where(now, index, count)  # of no member
        saved = saved.at[row, places, lanes].set(once(inside(trial, wanted)), mode="drop", unique_indices=True)
        index = jnp.where(now, index + 1, index)
        return trial, index, jnp.where(now, due[index], wanted), saved

    def renewed(lane: Lane, jumped: Array) -> Lane:
        """Compute the field anew after a jump."""
        new = lambda: jnp.where(jumped, velocities(lane.t, lane.y), lane.f)
        return lane._replace(f=lax.cond(jnp.any(jumped), new, lambda: lane.f))

    def advance(carry: Any) -> Any:
        last, searched, *saving = carry
        made = step(last, walls(last.passed))
        lane, trial = once(made)
        lane = renewed(lane, lane.passed != last.passed) if jumps.size else lane
        if watch is not None:
            bracket, kept = searched
            bracket = _chosen(trial.accepted, look(trial, bracket), bracket)
            hit = trial.accepted & (bracket.event >= 0)
            lane = lane._replace(status=jnp.where(hit, np.int32(DONE), lane.status))
            searched = bracket, _chosen(hit, trial, kept)
        pending = lambda carry: jnp.any(carry[0].accepted & (carry[2] <= carry[0].end))
        _, *saving = lax.while_loop(pending, save, (trial, *saving))
        return lane, searched, *saving

    passed = jnp.searchsorted(jumps, begins, side="right").astype(np.int32)
    lane = over(begin, axes, -1, same, -1, -1)(system, starts, settings, passed, walls(passed))
    nothing = jnp.zeros((count, d, members), starts.dtype)
    searched = None
    if watch is not None:
        bracket = Bracket(begins, begins, sides, jnp.full(members, -1), jnp.zeros_like(begins), quiet)
        searched = (
            bracket,
            jax.tree.map(jnp.zeros_like, step(lane, walls(passed))[1]),
        )
    carry = (lane, searched, jnp.zeros(members, np.int32), jnp.broadcast_to(due[0], (members,)), nothing)
    lane, searched, _, _, saved = lax.while_loop(lambda carry: jnp.any(carry[0].status == RUNNING), advance, carry)
    event = jnp.full(members, -1, np.int32)
    if searched is not None:
        bracket, trial = searched
        found, at = over(narrow, axes, -1, -1)(system, trial, bracket)
        lane, event, sides = _ended(lane, bracket.event >= 0, found, at), bracket.event.astype(np.int32), bracket.sides
    counts = jnp.stack([lane.steps, lane.rejected, lane.finite.astype(np.int32), lane.status, event])
    return Solved(*(a[..., :given] for a in (saved, lane.y, lane.t, counts, sides)))


def _chosen(which: Array, new: Any, old: Any) -> Any:
    """Choose between two trees of arrays with members on the last axis."""
    return jax.tree.map(lambda a, b: jnp.where(which, a, b), new, old)


def _ended(lane: Lane, hit: Array, found: Bracket, at: Array) -> Lane:
    """Move members that hit an event there; one whose event is not a number has failed there."""
    undefined = hit & jnp.isnan(found.value)
    return lane._replace(
        t=jnp.where(hit, found.end, lane.t),
        y=jnp.where(hit, at, lane.y),
        finite=lane.finite & ~undefined,
        status=jnp.where(undefined, np.int32(STUCK), lane.status),
    )


def widened(arrays: tuple[Array, ...], system: Any, axes: Any) -> tuple[tuple[Array, ...], Any]:
    """Fill arrays with members on the last axis, and a system, up to a multiple of `WIDTH` members."""
    given = arrays[0].shape[-1]
    more = -given % WIDTH
    if (given + more).bit_count() == 1 and given + more >= CROWDED:
        more += WIDTH
    of = lambda axis, a: a if axis is None else _filled(a, more, axis)
    whole = jax.tree.map(of, axes, system, is_leaf=lambda axis: axis is None)
    return tuple(_filled(a, more, -1) for a in arrays), whole


def _filled(a: Array, more: int, axis: int) -> Array:
    """Repeat the last entry of an axis some times."""
    last = lax.index_in_dim(a, -1, axis)
    return jnp.concatenate([a, jnp.repeat(last, more, axis)], axis) if more else a
