"""Integrate at nearly unit speed, for drawing trajectories as curves, forwards or backwards from many points."""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from analysis.dynamics.flow_maps.autonomy import PROGRAMMED, fields
from analysis.dynamics.flow_maps.numpy_solver import Field, follow, sampled
from dynsim._core.host import filled
from dynsim._core.types import State, Time
from dynsim.integrators.sliding import sliding_paths
from dynsim.integrators.switched_field import switched_field
from dynsim.spaces import AbstractSpace
from dynsim.spaces.euclidean import Flat
from dynsim.systems.base import AbstractFlow

# Speed, relative to the typical one, below which the motion slows down, so that curves end at equilibria.
SLOW = 1e-3
# Relative tolerance of curves.
RTOL = 1e-5
# Number of points of a curve of length three diagonals; its turns still look smooth.
POINTS = 1001
# Number of integration times between successive points of a curve.
BETWEEN = 2
# Number of times at which integrated states are stored.
TIMES = BETWEEN * (POINTS - 1) + 1
# Number of starts integrated together; the last one is repeated to fill the group.
TOGETHER = 16
# Length of time from which on a compiled program is faster than NumPy, in spite of the seconds that it compiles.
LONG = 250.0
# Steps of one curve that NumPy takes at most, half a second; a slow spiral needs many more, which compiled code takes.
PATIENCE = 1000


class Frozen(AbstractFlow):
    """Flow whose vector field is frozen at one time."""

    flow: Any
    space: AbstractSpace
    t: Array

    def __init__(self, flow: AbstractFlow, t: Time = 0.0):
        """Store the flow and the time at which its field is evaluated."""
        self.flow, self.space, self.t = flow, flow.space, jnp.asarray(t, float)

    def velocity(self, t: Time, x: State) -> State:
        """Evaluate the frozen vector field."""
        return self.flow.vector_field(self.t, x)


class Paced(AbstractFlow):
    r"""Flow with vector states, frozen at a time and rescaled, that moves at a speed of at most one.

    With x = s z and the time unit T it is $\dot z = \pm w / \sqrt{|w|^2 + c^2}$ for w = (T / s) f(s z). Its curves and
    equilibria are those of the flow. With infinite c it keeps the speed of the flow, $\dot z = \pm w$. All parameters
    are arrays, so that one compiled program serves every choice.
    """

    flow: Any
    space: AbstractSpace
    sign: Array
    t: Array
    slow: Array
    size: Array
    unit: Array

    def __init__(self, flow: AbstractFlow, sign: float, t: Time, slow: float, size: Any = 1.0, unit: float = 1.0):
        """Store the flow, the direction, the time of its field, the slow speed c and the units.

        Args:
            flow: the flow.
            sign: 1 for forwards, -1 for backwards.
            t: time at which the field is evaluated.
            slow: the speed c in rescaled units; infinity keeps the speed of the flow.
            size: unit s of the states, one number or one for each component; 1 on a curved space.
            unit: unit T of time.
        """
        self.flow, self.space = flow, flow.space
        self.sign, self.t, self.slow, self.size, self.unit = (
            jnp.asarray(np.asarray(value, float)) for value in (sign, t, slow, size, unit)
        )

    def velocity(self, t: Time, x: State) -> State:
        """Evaluate the field at nearly unit speed, or unchanged if c is infinite."""
        v = self.sign * self.unit / self.size * self.flow.vector_field(self.t, self.size * x)
        speed = jnp.sqrt(jnp.sum(v**2) + self.slow**2)
        return v / jnp.where(jnp.isfinite(self.slow), speed, 1.0)


def followed(
    flow: AbstractFlow, starts: Array | np.ndarray, ts: np.ndarray, *, signs: Sequence[float], t: Time = 0.0,
    slow: float = np.inf, size: Any = 1.0, unit: float = 1.0, rtol: float, atol: float, far: float = np.inf,
) -> Float[np.ndarray, "starts times d"]:  # fmt: skip
    """Integrate a `Paced` flow from many starts; give the rescaled states at given times, NaN after a failure.

    Beyond a distance `far` from zero, in rescaled units, they may be NaN, too.

    Starts are padded to a multiple of `TOGETHER`. With `TIMES` times, all calls for a flow share one compiled program.
    """
    starts = np.asarray(starts, float)
    directions = np.asarray(signs, float)
    if isinstance(flow.space, Flat) and switched_field(flow, jnp.zeros(starts.shape[1:])) is not None:
        return _sliding(
            flow, starts, ts, directions, (t, slow, np.broadcast_to(size, starts.shape[-1:]), unit), (rtol, atol)
        )
    long = not np.isfinite(slow) and ts[-1] - ts[0] > LONG
    slowed = None if long else _slowed(flow, t, directions, slow, np.broadcast_to(size, starts.shape[-1:]), unit)
    if slowed is not None and len(starts):
        begins = np.full(len(starts), ts[0])
        durations = np.full(len(starts), ts[-1] - ts[0])
        found = follow(
            slowed,
            starts,
            begins,
            durations,
            rtol=rtol,
            atol=atol,
            max_steps=PATIENCE,
            keep=True,
            settles=bool(np.isfinite(slow)),
            far=far,
        )
        if np.all(found.counts < PATIENCE):
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


def _sliding(
    flow: AbstractFlow,
    starts: np.ndarray,
    ts: np.ndarray,
    directions: np.ndarray,
    paced: tuple[Any, ...],
    tolerances: tuple[float, float],
) -> Float[np.ndarray, "starts times d"]:
    """Follow a flow that may jump on surfaces of states, on which curves slide by Filippov's convention.

    A change of speed that differs on both sides of a surface keeps the direction along it.
    """
    found = np.full((len(starts), len(ts), starts.shape[1]), np.nan)
    for sign in np.unique(directions):
        which = directions == sign
        paths = sliding_paths(Paced(flow, sign, *paced), starts[which], ts, *tolerances)
        found[which] = np.nan if paths is None else paths
    return found


def _slowed(flow: AbstractFlow, t: Time, signs: np.ndarray, slow: float, size: np.ndarray, unit: float) -> Field | None:
    """Get a NumPy version of the field of `Paced` flows, or None if it should be compiled."""
    field = PROGRAMMED.rows((flow,), np.zeros(()), np.zeros(size.shape)) if isinstance(flow.space, Flat) else None
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
    flow: AbstractFlow, starts: Array | np.ndarray, length: float, *, signs: Sequence[float], t: Time = 0.0,
    rtol: float = RTOL, atol: float | None = None,
) -> Float[np.ndarray, "starts points d"]:  # fmt: skip
    """Compute the curves of a flow with vector states through many points, as points along them up to a length.

    The field is frozen at `t`. A sign of -1 traces a curve backwards. A curve is NaN from where the integration fails.
    The absolute tolerance is by default a hundredth of the relative one, in units of the length.
    """
    if not len(starts):
        return np.empty((0, POINTS, starts.shape[-1]))
    slow = SLOW * typical_speed(flow, starts, t)
    ts, absolute = np.linspace(0.0, length, TIMES), rtol / 100 * length if atol is None else atol
    return followed(flow, starts, ts, signs=signs, t=t, slow=slow, rtol=rtol, atol=absolute)[:, ::BETWEEN]


def typical_speed(flow: AbstractFlow, points: Array | np.ndarray, t: Time = 0.0, size: Any = 1.0) -> float:
    """Compute the median speed at some points, in a unit of the states; 1 if it is zero."""
    with np.errstate(all="ignore"):
        speeds = np.linalg.norm(fields(flow, points, t) / size, axis=-1)
    known = speeds[~np.isnan(speeds)]
    return float(np.median(known) if known.size else np.nan) or 1.0


def _state(t: Time, x: Array) -> Array:
    del t
    return x
