"""Trajectories as curves: a flow followed at nearly unit speed, forwards or backwards, from many points at once."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from analysis.dynamics.numpy_solver import Field, follow, sampled
from dynsim._types import State, Time
from dynsim.errors import argument_error
from dynsim.padding import filled, room_for
from dynsim.programs import Programmed
from dynsim.spaces import AbstractSpace, Euclidean
from dynsim.systems.base import AbstractFlow

SLOW = 1e-3  # of the typical speed: below it the pace is proportional to the speed, so that curves end at equilibria
POINTS = 1001  # of a curve of three diagonals: chords do not show on turns of a fiftieth of the window
BETWEEN = 2  # times from a point of a curve to the next
TIMES = BETWEEN * (POINTS - 1) + 1  # at which states that are followed are kept
TOGETHER = 16  # starts are followed, the last one repeated
LONG = 250.0  # a time over which a compiled program is faster than NumPy, with the seconds that compiling it takes
ENTRIES, ROWS = 2**15, (8, 512)  # of states at which a field is evaluated at once, and how many of these there are
PERIODIC = 1e-7  # of its change in time: a smaller difference after a period is that of its rounded value
ROUNDING = 1e-12  # of the field: differences of its values up to rounding
MOMENTS = (0.0, 0.37, 1.7, 5.3, 11.3, 41.0)  # at which a field is compared with itself: does it depend on time?


class Frozen(AbstractFlow):
    """A flow with its field at one time."""

    flow: Any
    space: AbstractSpace
    t: Array

    def __init__(self, flow: AbstractFlow, t: Time = 0.0):
        """Store the flow and the time of its field."""
        self.flow, self.space, self.t = flow, flow.space, jnp.asarray(t, float)

    def velocity(self, t: Time, x: State) -> State:
        """Return the field."""
        del t
        return self.flow.vector_field(self.t, x)


class Paced(AbstractFlow):
    r"""A flow with vector states, frozen at a time, in units of its own, followed at a speed of at most one.

    With x = s z and the unit T of time it is $\dot z = \pm w / \sqrt{|w|^2 + c^2}$ for w = (T / s) f(s z): its curves
    are those of the flow, and it vanishes with it. With c infinite the speed is that of the flow, $\dot z = \pm w$.
    All of these are arrays: one program follows a flow in every way.
    """

    flow: Any
    space: AbstractSpace
    sign: Array
    t: Array
    slow: Array
    size: Array
    unit: Array

    def __init__(self, flow: AbstractFlow, sign: float, t: Time, slow: float, size: Any = 1.0, unit: float = 1.0):
        """Store the flow, the direction, the time of its field, the speed c below which it is slowed down, and units.

        Args:
            flow: the flow.
            sign: 1 for forwards, -1 for backwards.
            t: the time at which the field is taken.
            slow: the speed c, in the units; infinity for the speed of the flow.
            size: the unit s of the states, 1 or one for each component; 1 on a curved space.
            unit: the unit T of time.
        """
        self.flow, self.space = flow, flow.space
        self.sign, self.t, self.slow, self.size, self.unit = (
            jnp.asarray(np.asarray(value, float)) for value in (sign, t, slow, size, unit)
        )

    def velocity(self, t: Time, x: State) -> State:
        """Return the direction of the field, of a length that vanishes only with it, or the field."""
        del t
        v = self.sign * self.unit / self.size * self.flow.vector_field(self.t, self.size * x)
        speed = jnp.sqrt(jnp.sum(v**2) + self.slow**2)
        return v / jnp.where(jnp.isfinite(self.slow), speed, 1.0)


def followed(
    flow: AbstractFlow, starts: Array | np.ndarray, ts: np.ndarray, *, signs: Sequence[float], t: Time = 0.0,
    slow: float = np.inf, size: Any = 1.0, unit: float = 1.0, rtol: float, atol: float,
) -> Float[np.ndarray, "starts times d"]:  # fmt: skip
    """Return the states of a `Paced` flow at some times from many starts, in its units; NaN from a failure on.

    Starts are filled up to a multiple of `TOGETHER`: with `TIMES` times all calls for a flow run one program.
    """
    starts = np.asarray(starts, float)
    directions = np.asarray(signs, float)
    long = not np.isfinite(slow) and ts[-1] - ts[0] > LONG
    slowed = None if long else _slowed(flow, t, directions, slow, np.broadcast_to(size, starts.shape[-1:]), unit)
    if slowed is not None and len(starts):
        begins = np.full(len(starts), ts[0])
        found = follow(slowed, starts, begins, np.full(len(starts), ts[-1] - ts[0]), rtol=rtol, atol=atol, keep=True)
        return sampled(slowed, found, starts, begins, np.asarray(ts, float) - ts[0])
    from dynsim.ensembles import ensemble
    from dynsim.integrators import Diffrax

    count, members = len(starts), -(-len(starts) // TOGETHER) * TOGETHER
    units = np.broadcast_to(size, starts.shape[-1:])
    flows = [Paced(flow, sign, t, slow, units, unit) for sign in filled(directions, members)]
    path = ensemble(
        flows, filled(starts, members), ts, _state, integrator=Diffrax(rtol=rtol, atol=atol), chunk=TOGETHER
    )
    return np.asarray(path.values)[:count]


def _slowed(flow: AbstractFlow, t: Time, signs: np.ndarray, slow: float, size: np.ndarray, unit: float) -> Field | None:
    """Return the field of `Paced` flows for NumPy; None where it is compiled."""
    field = _FIELD.rows((flow,), np.zeros(()), np.zeros(size.shape)) if flow.space == Euclidean() else None
    if field is None:
        return None

    at, factors, units = np.float64(t), signs * unit, size[:, None]

    def slowed(which: np.ndarray, times: np.ndarray, z: np.ndarray) -> np.ndarray:
        del times
        found = np.empty_like(z)
        found[:] = factors[which]
        for row, v in zip(found, field.columns(at, *(units * z)), strict=True):
            row *= v
        found /= units
        return found / np.sqrt(np.sum(found**2, axis=0) + slow**2) if np.isfinite(slow) else found

    return slowed


def curves(
    flow: AbstractFlow, starts: Array | np.ndarray, length: float, *, signs: Sequence[float], t: Time = 0.0
) -> Float[np.ndarray, "starts points d"]:
    """Return the curves of a flow with vector states from many points, up to a length, as points along them.

    The field is frozen at `t`. The sign of a curve is -1 for backwards. A curve that cannot be followed is NaN from
    there on.
    """
    if not len(starts):
        return np.empty((0, POINTS, starts.shape[-1]))
    slow = SLOW * typical_speed(flow, starts, t)
    ts = np.linspace(0.0, length, TIMES)
    return followed(flow, starts, ts, signs=signs, t=t, slow=slow, rtol=1e-5, atol=1e-7 * length)[:, ::BETWEEN]


def typical_speed(flow: AbstractFlow, points: Array | np.ndarray, t: Time = 0.0, size: Any = 1.0) -> float:
    """Return the median speed at some points, in a unit of the states, or one where it is zero."""
    with np.errstate(all="ignore"):
        speeds = np.linalg.norm(fields(flow, points, t) / size, axis=-1)
    known = speeds[~np.isnan(speeds)]
    return float(np.median(known) if known.size else np.nan) or 1.0


def fields(flow: AbstractFlow, points: State, ts: Any) -> Float[np.ndarray, "points d"]:
    """Return the field at states, on the first axis of every array, and a time, or one for each, as flat vectors.

    The states are filled up to parts of one size: one program serves any number. NumPy: not for `jit`.
    """
    leaves, tree = jax.tree.flatten(jax.tree.map(np.asarray, points))
    count, entries = len(leaves[0]), sum(leaf[:1].size for leaf in leaves)
    if not count:
        return np.empty((0, entries))
    programmed = _FIELD.rows((flow,), np.zeros(()), jax.tree.unflatten(tree, [leaf[0] for leaf in leaves]))
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
        raise argument_error(name, must, f"is {period:.10g}, after which the field differs {share}")


def _at_moments(flow: AbstractFlow, points: State, later: float) -> Float[np.ndarray, "moments points d"]:
    """Return the field at states and at each of `MOMENTS`, some time later."""
    count, moments = len(jax.tree.leaves(points)[0]), np.asarray(MOMENTS) + later
    again = jax.tree.map(lambda a: np.tile(np.asarray(a), (len(moments), *(1,) * (np.ndim(a) - 1))), points)
    return fields(flow, again, np.repeat(moments, count)).reshape(len(moments), count, -1)


def _field(flow: AbstractFlow, t: Array, x: State) -> Array:
    return ravel_pytree(flow.vector_field(t, x))[0]


_FIELD = Programmed(_field)


@eqx.filter_jit
def _fields(flow: AbstractFlow, points: State, ts: Array | np.ndarray) -> Array:
    return jax.vmap(lambda t, x: _field(flow, t, x))(ts, points)


def _state(t: Time, x: Array) -> Array:
    del t
    return x
