"""Lanes in JAX: all members of a chunk step at once, each with its own step size, clock and end."""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array

from dynsim.integrators.lanes.method import RUNNING
from dynsim.integrators.lanes.recorded import Recorded
from dynsim.programs.columns import on_columns

T, END, Y = 0, 1, 2  # places in the columns of a lane; the state's come from the third on


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


def solved(programs: Recorded, starts: Array, settings: Any, numbers: Any, times: Array) -> Solved:
    """Integrate all members in lanes, inside a JAX program.

    Args:
        programs: the recorded steps.
        starts: initial states, shape (d, members).
        settings: numbers of `Settings`, in their order.
        numbers: one number or one column for each entry of the parameters.
        times: the times to save at after the first, increasing; the last is the end.
    """
    d, given = starts.shape
    members = -(-given // WIDTH) * WIDTH
    fill = lambda a: jnp.concatenate([a, jnp.broadcast_to(a[..., -1:], (*a.shape[:-1], members - given))], axis=-1)
    starts, numbers = fill(starts), [fill(a) if jnp.ndim(a) else a for a in numbers]
    count = times.shape[0]
    shared = [*settings, *numbers]
    column = lambda a: jnp.broadcast_to(a, (members,))
    lane = [column(a) for a in on_columns(programs.begin, *(starts[k] for k in range(d)), *shared)]
    due = jnp.concatenate([times, jnp.full((1,), np.inf, times.dtype)])
    width = len(lane)
    status = width - 1

    def save(carry: Any) -> Any:
        step, index, wanted, saved = carry
        now = step[0] & (wanted <= step[2])
        row = jnp.min(jnp.where(now, index, count))
        mine = now & (index == row)
        values = jnp.stack([column(a) for a in on_columns(programs.inside, *step, wanted)])
        old = lax.dynamic_index_in_dim(saved, row, keepdims=False)
        saved = lax.dynamic_update_index_in_dim(saved, jnp.where(mine, values, old), row, 0)
        index = jnp.where(mine, index + 1, index)
        return step, index, jnp.where(mine, due[row + 1], wanted), saved

    def advance(carry: Any) -> Any:
        lane, index, wanted, saved = carry
        found = [column(a) for a in on_columns(programs.step, *lane, *shared)]
        lane, step = found[:width], found[width:]
        pending = lambda carry: jnp.any(carry[0][0] & (carry[2] <= carry[0][2]))
        _, index, wanted, saved = lax.while_loop(pending, save, (step, index, wanted, saved))
        return lane, index, wanted, saved

    index = jnp.zeros(members, np.int32)
    saved = jnp.zeros((count, d, members), starts.dtype)
    going = lambda carry: jnp.any(carry[0][status] == RUNNING)
    lane, _, _, saved = lax.while_loop(going, advance, (lane, index, column(due[0]), saved))
    counts = jnp.stack([lane[Y + 2 * d], lane[Y + 2 * d + 1], lane[Y + 2 * d + 3].astype(np.int32), lane[status]])
    return Solved(*(a[..., :given] for a in (saved, jnp.stack(lane[Y : Y + d]), lane[T], counts)))
