"""Trajectories as curves: a flow followed at nearly unit speed, forwards or backwards, from many points at once."""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from analysis.dynamics.flow_maps.autonomy import PROGRAMMED, fields
from analysis.dynamics.flow_maps.numpy_solver import Field, follow, sampled
from dynsim._core.host import filled
from dynsim._core.types import State, Time
from dynsim.spaces import AbstractSpace, Euclidean
from dynsim.systems.base import AbstractFlow

SLOW = 1e-3  # of the typical speed: below it the pace is proportional to the speed, so that curves end at equilibria
POINTS = 1001  # of a curve of three diagonals: chords do not show on turns of a fiftieth of the window
BETWEEN = 2  # times from a point of a curve to the next
TIMES = BETWEEN * (POINTS - 1) + 1  # at which states that are followed are kept
TOGETHER = 16  # starts are followed, the last one repeated
LONG = 250.0  # a time over which a compiled program is faster than NumPy, with the seconds that compiling it takes


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
    from dynsim.integrators import Diffrax
    from dynsim.simulation.ensemble import ensemble

    count, members = len(starts), -(-len(starts) // TOGETHER) * TOGETHER
    units = np.broadcast_to(size, starts.shape[-1:])
    flows = [Paced(flow, sign, t, slow, units, unit) for sign in filled(directions, members)]
    path = ensemble(
        flows, filled(starts, members), ts, _state, integrator=Diffrax(rtol=rtol, atol=atol), chunk=TOGETHER
    )
    return np.asarray(path.values)[:count]


def _slowed(flow: AbstractFlow, t: Time, signs: np.ndarray, slow: float, size: np.ndarray, unit: float) -> Field | None:
    """Return the field of `Paced` flows for NumPy; None where it is compiled."""
    field = PROGRAMMED.rows((flow,), np.zeros(()), np.zeros(size.shape)) if flow.space == Euclidean() else None
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


def _state(t: Time, x: Array) -> Array:
    del t
    return x
