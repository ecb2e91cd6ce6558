"""Whether a flow depends on time, and whether a given period is one of its field."""

from typing import Any

import equinox as eqx
import jax
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from dynsim._core.host import filled, room_for
from dynsim._core.types import State
from dynsim.errors import ArgumentError
from dynsim.programs import Programmed
from dynsim.systems.base import AbstractFlow

ENTRIES, ROWS = 2**15, (8, 512)  # of states at which a field is evaluated at once, and how many of these there are


PERIODIC = 1e-7  # of its change in time: a smaller difference after a period is that of its rounded value


ROUNDING = 1e-12  # of the field: differences of its values up to rounding


MOMENTS = (0.0, 0.37, 1.7, 5.3, 11.3, 41.0)  # at which a field is compared with itself: does it depend on time?


def fields(flow: AbstractFlow, points: State, ts: Any) -> Float[np.ndarray, "points d"]:
    """Return the field at states, on the first axis of every array, and a time, or one for each, as flat vectors.

    The states are filled up to parts of one size: one program serves any number. NumPy: not for `jit`.
    """
    leaves, tree = jax.tree.flatten(jax.tree.map(np.asarray, points))
    count, entries = len(leaves[0]), sum(leaf[:1].size for leaf in leaves)
    if not count:
        return np.empty((0, entries))
    programmed = PROGRAMMED.rows((flow,), np.zeros(()), jax.tree.unflatten(tree, [leaf[0] for leaf in leaves]))
    if programmed is not None:
        return programmed(np.broadcast_to(ts, count).astype(float), *leaves)
    rows = int(np.clip(ENTRIES // room_for(entries), *ROWS))
    columns = [
        filled(column, -(-count // rows) * rows) for column in (np.broadcast_to(ts, count).astype(float), *leaves)
    ]
    parts = [[column[k : k + rows] for column in columns] for k in range(0, count, rows)]
    found = [np.asarray(_fields(flow, jax.tree.unflatten(tree, states), times)) for times, *states in parts]
    return np.concatenate(found)[:count]


def change_in_time(flow: AbstractFlow, points: State) -> tuple[float, float]:
    """Return the largest change of the field from time 0 to some other times, and its largest entry.

    `points` are states on the first axis of every array; what is not a number is left out.
    """
    found = _at_moments(flow, points, 0.0)
    with np.errstate(invalid="ignore"):
        change = np.nanmax(np.abs(found - found[0]), initial=0.0)
    return float(change), float(np.nanmax(np.abs(found), initial=0.0))


def depends_on_time(flow: AbstractFlow, x: State) -> bool:
    """Return whether the field at a state differs between some times."""
    change, size = change_in_time(flow, jax.tree.map(lambda a: np.asarray(a, float)[None], x))
    return change > 1e-9 * size


def check_period(name: str, flow: AbstractFlow, points: State, period: float) -> None:
    """Raise `ValueError` for the argument `name`, unless the field at states has a period, to about seven digits.

    `points` are states on the first axis of every array.
    """
    before, after = (_at_moments(flow, points, later) for later in (0.0, period))
    with np.errstate(invalid="ignore"):
        varies = float(np.nanmax(np.abs(before - before[0]), initial=0.0))
        differs = float(np.nanmax(np.abs(after - before), initial=0.0))
    if differs > max(PERIODIC * varies, ROUNDING * float(np.nanmax(np.abs(before), initial=0.0))):
        must = "be that of the forcing, or a multiple of it, to eight digits"
        share = f"by {differs / varies:.2g} times its change in time" if varies > 0 else f"by {differs:.2g}"
        raise ArgumentError(name, must, f"is {period:.10g}, after which the field differs {share}")


def _at_moments(flow: AbstractFlow, points: State, later: float) -> Float[np.ndarray, "moments points d"]:
    """Return the field at states and at each of `MOMENTS`, some time later."""
    count, moments = len(jax.tree.leaves(points)[0]), np.asarray(MOMENTS) + later
    again = jax.tree.map(lambda a: np.tile(np.asarray(a), (len(moments), *(1,) * (np.ndim(a) - 1))), points)
    return fields(flow, again, np.repeat(moments, count)).reshape(len(moments), count, -1)


def _field(flow: AbstractFlow, t: Array, x: State) -> Array:
    return ravel_pytree(flow.vector_field(t, x))[0]


PROGRAMMED = Programmed(_field)
"""The field at one time and one state, as a program for NumPy where commands compile little."""


@eqx.filter_jit
def _fields(flow: AbstractFlow, points: State, ts: Array | np.ndarray) -> Array:
    return jax.vmap(lambda t, x: _field(flow, t, x))(ts, points)
