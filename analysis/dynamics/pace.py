"""Trajectories as curves: a flow followed at nearly unit speed, forwards or backwards, from many points at once."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from dynsim._types import State, Time
from dynsim.ensembles import ensemble
from dynsim.errors import argument_error
from dynsim.integrators import Diffrax
from dynsim.spaces import AbstractSpace
from dynsim.systems.base import AbstractFlow

SLOW = 1e-3  # of the typical speed: below it the pace is proportional to the speed, so that curves end at equilibria
POINTS = 1001  # of a curve of three diagonals: chords do not show on turns of a fiftieth of the window
PERIODIC = 1e-7  # of its change in time: a smaller difference after a period is that of its rounded value
ROUNDING = 1e-12  # of the field: differences of its values up to rounding
TIMES = (0.0, 0.37, 1.7, 5.3, 11.3, 41.0)  # at which a field is compared with itself: does it depend on time?


class Turned(AbstractFlow):
    """A flow frozen at a time, followed forwards or, if `sign` is -1, backwards."""

    flow: Any
    space: AbstractSpace
    t: Array
    sign: Array

    def __init__(self, flow: AbstractFlow, sign: float = 1.0, t: Time = 0.0):
        """Store the flow, the direction, and the time of its field."""
        self.flow, self.space = flow, flow.space
        self.t, self.sign = jnp.asarray(t, float), jnp.asarray(sign, float)

    def velocity(self, t: Time, x: State) -> State:
        """Return the field, reversed for backwards."""
        del t
        return jax.tree.map(lambda part: self.sign * part, self.flow.vector_field(self.t, x))


class Paced(Turned):
    """A flow, frozen at a time, whose curves are followed at a speed of at most one, backwards if `sign` is -1."""

    slow: Array

    def __init__(self, flow: AbstractFlow, sign: float, t: Time, slow: float):
        """Store the flow, the direction, the time of its field, and the speed below which it is slowed down."""
        super().__init__(flow, sign, t)
        self.slow = jnp.asarray(slow, float)

    def velocity(self, t: Time, x: State) -> State:
        """Return the direction of the field, of a length that vanishes only with it."""
        v = super().velocity(t, x)
        size = jnp.sqrt(jnp.sum(ravel_pytree(v)[0] ** 2) + self.slow**2)
        return jax.tree.map(lambda part: part / size, v)


def curves(
    flow: AbstractFlow, starts: Array, length: float, *, signs: Sequence[float], t: Time = 0.0, points: int = POINTS
) -> Float[np.ndarray, "starts points d"]:
    """Return the curves of a flow with vector states from many points, up to a length, as points along them.

    The field is frozen at `t`. The sign of a curve is -1 for backwards. A curve that cannot be followed is NaN from
    there on.
    """
    if not len(starts):
        return np.empty((0, points, starts.shape[-1]))
    slow = SLOW * typical_speed(flow, starts, t)
    path = ensemble(
        [Paced(flow, sign, t, slow) for sign in signs], starts, np.linspace(0.0, length, points), _state,
        integrator=Diffrax(rtol=1e-5, atol=1e-7 * length), chunk=len(starts),
    )  # fmt: skip
    return np.asarray(path.values)


def typical_speed(flow: AbstractFlow, points: Array, t: Time = 0.0) -> float:
    """Return the median speed at some points, or one where it is zero."""
    field = jax.vmap(lambda x: flow.vector_field(jnp.asarray(t, float), x))(points)
    return float(jnp.nanmedian(jnp.linalg.norm(field, axis=-1))) or 1.0


def change_in_time(flow: AbstractFlow, points: State) -> tuple[float, float]:
    """Return the largest change of the field from time 0 to some other times, and its largest entry.

    `points` are states on the first axis of every array; what is not a number is left out.
    """
    fields = np.asarray(_fields(flow, points, jnp.asarray(TIMES)))
    with np.errstate(invalid="ignore"):
        change = np.nanmax(np.abs(fields - fields[0]), initial=0.0)
    return float(change), float(np.nanmax(np.abs(fields), initial=0.0))


def depends_on_time(flow: AbstractFlow, x: State) -> bool:
    """Return whether the field at a state differs between some times."""
    change, size = change_in_time(flow, jax.tree.map(lambda a: jnp.asarray(a, float)[None], x))
    return change > 1e-9 * size


def check_period(name: str, flow: AbstractFlow, points: State, period: float) -> None:
    """Raise `ValueError` for the argument `name`, unless the field at states has a period, to about seven digits.

    `points` are states on the first axis of every array.
    """
    before, after = (np.asarray(_fields(flow, points, jnp.asarray(TIMES) + later)) for later in (0.0, period))
    with np.errstate(invalid="ignore"):
        varies = float(np.nanmax(np.abs(before - before[0]), initial=0.0))
        differs = float(np.nanmax(np.abs(after - before), initial=0.0))
    if differs > max(PERIODIC * varies, ROUNDING * float(np.nanmax(np.abs(before), initial=0.0))):
        must = "be that of the forcing, or a multiple of it, to eight digits"
        share = f"by {differs / varies:.2g} times its change in time" if varies > 0 else f"by {differs:.2g}"
        raise argument_error(name, must, f"is {period:.10g}, after which the field differs {share}")


@eqx.filter_jit
def _fields(flow: AbstractFlow, points: State, ts: Array) -> Array:
    at = lambda t: jax.vmap(lambda x: ravel_pytree(flow.vector_field(t, x))[0])(points)
    return jax.vmap(at)(ts)


def _state(t: Time, x: Array) -> Array:
    del t
    return x
