"""Lanes in JAX: all members of a chunk step at once, each with its own step size, clock and end."""

from collections.abc import Callable
from typing import Any, NamedTuple

import diffrax as dfx
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array

from dynsim.integrators.lanes.method import RUNNING, Lane, Settings, TrialStep, begun, stepped, within

WIDTH = 64
"""Lanes are filled up to a multiple: a loop over a remainder rounds otherwise, and results would depend on it."""


class Solved(NamedTuple):
    """What lanes return, with members on the last axis.

    Attributes:
        saved: states at the times after the first, shape (times - 1, d, members); undefined where not reached.
        final: the last states, shape (d, members).
        last: the last times, shape (members,).
        counts: steps, rejected steps, whether the last trial step was finite, and the status, shape (4, members).
    """

    saved: Array
    final: Array
    last: Array
    counts: Array


def solved(
    solver: dfx.AbstractERK,
    field: Callable[[Any, Any, Any], Any],
    flow: Any,
    axes: Any,
    starts: Array,
    settings: Settings,
    times: Array,
) -> Solved:
    """Integrate all members in lanes, inside a JAX program.

    Members are the last axis, so that arithmetic on a component goes through neighbouring numbers.

    Args:
        solver: an explicit Runge-Kutta method with one tableau.
        field: the velocity (d,) from a flow, a time and a state (d,).
        flow: the flow, or one with a leading axis of members in some arrays.
        axes: 0 for these arrays, None for the others.
        starts: initial states, shape (d, members).
        settings: what all members share.
        times: the times to save at after the first, increasing; the last is the end.
    """
    d, given = starts.shape
    members, count = -(-given // WIDTH) * WIDTH, times.shape[0]
    starts = _filled(starts, members - given, -1)
    filled = lambda axis, a: a if axis is None else _filled(a, members - given, axis)
    flow = jax.tree.map(filled, axes, flow, is_leaf=lambda axis: axis is None)
    begin = lambda flow, y: begun(solver, lambda t, y: field(flow, t, y), y, settings)
    step = lambda flow, lane: stepped(solver, lambda t, y: field(flow, t, y), lane, settings)
    over = lambda work, *ins: eqx.filter_vmap(work, in_axes=ins, out_axes=-1)
    due = jnp.concatenate([times, jnp.full((1,), np.inf, times.dtype)])

    def save(carry: tuple[TrialStep, Array, Array, Array]) -> tuple[TrialStep, Array, Array, Array]:
        """Store the states at the first time that is due for any member, for all members with this time due."""
        trial, index, wanted, saved = carry
        now = trial.accepted & (wanted <= trial.end)
        row = jnp.min(jnp.where(now, index, count))
        mine = now & (index == row)
        values = over(lambda trial, t: within(solver, trial, t), -1, -1)(trial, wanted)
        old = lax.dynamic_index_in_dim(saved, row, keepdims=False)
        saved = lax.dynamic_update_index_in_dim(saved, jnp.where(mine, values, old), row, 0)
        return trial, jnp.where(mine, index + 1, index), jnp.where(mine, due[row + 1], wanted), saved

    def advance(carry: tuple[Lane, Array, Array, Array]) -> tuple[Lane, Array, Array, Array]:
        lane, trial = over(step, axes, -1)(flow, carry[0])
        pending = lambda carry: jnp.any(carry[0].accepted & (carry[2] <= carry[0].end))
        _, index, wanted, saved = lax.while_loop(pending, save, (trial, *carry[1:]))
        return lane, index, wanted, saved

    lane = over(begin, axes, -1)(flow, starts)
    nothing = jnp.zeros((count, d, members), starts.dtype)
    carry = (lane, jnp.zeros(members, np.int32), jnp.broadcast_to(due[0], (members,)), nothing)
    lane, _, _, saved = lax.while_loop(lambda carry: jnp.any(carry[0].status == RUNNING), advance, carry)
    counts = jnp.stack([lane.steps, lane.rejected, lane.finite.astype(np.int32), lane.status])
    return Solved(*(a[..., :given] for a in (saved, lane.y, lane.t, counts)))


def _filled(a: Array, more: int, axis: int) -> Array:
    """Repeat the last entry of an axis some times."""
    last = lax.index_in_dim(a, -1, axis)
    return jnp.concatenate([a, jnp.repeat(last, more, axis)], axis) if more else a
