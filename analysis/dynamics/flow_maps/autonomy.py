"""Evaluate the vector field at many states, and test whether it depends on time or has a given period."""

import math
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from dynsim._core.host import filled, room_for
from dynsim._core.types import State
from dynsim.errors import ArgumentError
from dynsim.integrators.time_structure import uses_time
from dynsim.programs import Programmed
from dynsim.systems.base import AbstractFlow

# Number of entries of the states evaluated at once, and the bounds of the number of states.
ENTRIES, ROWS = 2**15, (8, 512)


# Largest change after a period, relative to the change in time, that is explained by rounding of the period.
PERIODIC = 1e-7


# Largest change, relative to the field, that counts as rounding error.
ROUNDING = 1e-12


# Times at which a field is compared to test whether it depends on time.
MOMENTS = (0.0, 0.37, 1.7, 5.3, 11.3, 41.0)


def fields(flow: AbstractFlow, points: State, ts: Any) -> Float[np.ndarray, "points d"]:
    """Evaluate the vector field at many states, (points, d), at one time or at a time for each.

    The states are on the first axis of every array. They are padded to blocks of one size, so that one compiled program
    serves any number. NumPy: not for `jit`.
    """
    leaves, tree = jax.tree.flatten(jax.tree.map(np.asarray, points))
    count, entries = len(leaves[0]), sum(math.prod(leaf.shape[1:]) for leaf in leaves)
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
    """Compute the largest change of the field between time 0 and a few other times, and its largest entry.

    `points` are states on the first axis of every array. NaN is ignored. The change is zero for a field whose program
    does not use the time, and where it is rounding.
    """
    if uses_time(flow, jax.tree.map(lambda a: jax.ShapeDtypeStruct(np.shape(a)[1:], float), points)) is False:
        found = fields(flow, points, 0.0)
        return 0.0, float(np.nanmax(np.abs(found), initial=0.0))
    found = _at_moments(flow, points, 0.0)
    with np.errstate(invalid="ignore"):
        change = float(np.nanmax(np.abs(found - found[0]), initial=0.0))
        size = float(np.nanmax(np.abs(found), initial=0.0))
    return change if change > ROUNDING * size else 0.0, size


def depends_on_time(flow: AbstractFlow, x: State) -> bool:
    """Test whether the field at a state depends on time, by comparing a few times."""
    change, size = change_in_time(flow, jax.tree.map(lambda a: np.asarray(a, float)[None], x))
    return change > 1e-9 * size


def check_period(name: str, flow: AbstractFlow, points: State, period: float) -> None:
    """Check that the field at given states has a given period, to about seven digits.

    Args:
        name: name of the argument in the error.
        flow: the flow.
        points: states on the first axis of every array.
        period: the period to check.

    Raises:
        ValueError: if the field differs after the period.
    """
    before, after = (_at_moments(flow, points, later) for later in (0.0, period))
    with np.errstate(invalid="ignore"):
        varies = float(np.nanmax(np.abs(before - before[0]), initial=0.0))
        differs = float(np.nanmax(np.abs(after - before), initial=0.0))
    if differs > max(PERIODIC * varies, ROUNDING * float(np.nanmax(np.abs(before), initial=0.0))):
        must = "be that of the forcing, or a multiple of it, to eight digits"
        share = f"by {differs / varies:.2g} times its change in time" if varies > 0 else f"by {differs:.2g}"
        raise ArgumentError(name, must, f"is {period:.10g}, after which the field differs {share}")


def has_period(flow: AbstractFlow, x: State, period: float) -> bool:
    """Test whether the field at a state has a given period, to about seven digits."""
    try:
        check_period("period", flow, jax.tree.map(lambda a: np.asarray(a, float)[None], x), period)
    except ArgumentError:
        return False
    return True


def _at_moments(flow: AbstractFlow, points: State, later: float) -> Float[np.ndarray, "moments points d"]:
    """Evaluate the field at states and at each of `MOMENTS`, shifted by `later`."""
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
