"""Units in which the states and the times of a flow are of order one, for tolerances that suppose this."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array

from analysis.dynamics.linearisation import SymmetryGenerator
from dynsim._types import State, Time
from dynsim.spaces import AbstractSpace
from dynsim.systems.base import AbstractFlow
from dynsim.systems.noisy import NoisyFlow
from dynsim.systems.rescaled import RescaledFlow, is_flat

STEP = 10  # units are powers of two to this, so that most flows keep their own, and few programs are compiled


class Units(NamedTuple):
    """A given flow, the same in other units of its states and of time, and the unit of time."""

    given: AbstractFlow
    flow: AbstractFlow
    unit: float

    @property
    def is_own(self) -> bool:
        """Whether they are the units of the given flow."""
        return self.flow is self.given

    def restored(self, z: State) -> State:
        """Return states, or velocities of symmetries, with any leading axes, in the units of the given flow."""
        return self.flow.restored(z) if isinstance(self.flow, RescaledFlow) else z

    def rescaled(self, x: State) -> State:
        """Return states with any leading axes in these units."""
        return self.flow.rescaled(x) if isinstance(self.flow, RescaledFlow) else x

    def acting(self, maps: Sequence[SymmetryGenerator]) -> list[SymmetryGenerator]:
        """Return generators, or maps from states to states, of the given flow as functions of states in these units."""
        return [lambda z, move=move: self.rescaled(move(self.restored(z))) for move in maps]


def typical_units(flow: AbstractFlow, states: State, t: Time = 0.0) -> Units:
    """Return a flow in units near the ranges of some states, and near one over the median norm of its Jacobian there.

    Args:
        flow: the flow.
        states: on the first axis of every array.
        t: the time at which the Jacobian is evaluated, in the unit of the flow.
    """
    return _units(flow, ranges(states), np.median, states, t)


def largest_units(flow: AbstractFlow, states: State, t: Time = 0.0) -> Units:
    """Return a flow in units near the largest entries of some states and one over the largest norm of its Jacobian.

    Args:
        flow: the flow.
        states: on the first axis of every array.
        t: the time at which the Jacobian is evaluated, in the unit of the flow.
    """
    return _units(flow, largest(states), np.max, states, t)


def _units(flow: AbstractFlow, sizes: State, typical: Callable, states: State, t: Time) -> Units:
    if isinstance(flow, NoisyFlow):
        return Units(flow, flow, 1.0)
    sizes = sizes if is_flat(flow.space) else 1.0
    sized = in_units(flow, sizes, 1.0)
    rates = norms(sized.flow, sized.rescaled(states), t)
    rate = float(typical(rates)) if rates.size else 0.0
    return in_units(flow, sizes, 1 / rate if rate > 0 else 1.0)


def units_near(space: AbstractSpace, states: State) -> State:
    """Return the units near, and not far above, the ranges of states (see `ranges`): 1 on a curved space."""
    if not is_flat(space):
        return jax.tree.map(lambda part: np.ones(()), states)
    return jax.tree.map(lambda size: power_near(size / 4), ranges(states))


def in_units(flow: AbstractFlow, sizes: State, time: float) -> Units:
    """Return a flow in units near, and not far above, given sizes of its states (see `RescaledFlow`), and near a time.

    On a curved space states have no unit, and `sizes` is 1. A flow with noise keeps its units.
    """
    state, unit = jax.tree.map(lambda size: power_near(size / 4), sizes), float(power_near(time))
    if isinstance(flow, NoisyFlow) or (unit == 1 and all(np.all(part == 1) for part in jax.tree.leaves(state))):
        return Units(flow, flow, 1.0)
    return Units(flow, RescaledFlow(flow, state=state, time=unit), unit)


def power_near(sizes: Any) -> np.ndarray:
    """Return the power of 1024 nearest to each size; 1 for those that are zero or not finite."""
    given = np.abs(np.asarray(sizes, float))
    sound = np.isfinite(given) & (given > 0)
    return np.asarray(2.0 ** (STEP * np.round(np.log2(np.where(sound, given, 1.0)) / STEP)))


def norms(flow: AbstractFlow, states: State, t: Time = 0.0) -> np.ndarray:
    """Return the root mean squares of the singular values of the Jacobian at states, without those not finite.

    `states` are on the first axis of every array.
    """
    found = np.asarray(_norms(flow, states, jnp.asarray(t, float)))
    return found[np.isfinite(found)]


@eqx.filter_jit
def _norms(flow: AbstractFlow, states: State, t: Array) -> Array:
    def norm(x: State) -> Array:
        flat, restored = ravel_pytree(x)
        J = jax.jacfwd(lambda y: ravel_pytree(flow.vector_field(t, restored(y)))[0])(flat)
        return jnp.linalg.norm(J) / np.sqrt(flat.shape[0])

    return jax.vmap(norm)(states)


def ranges(states: State) -> State:
    """Return the ranges of the entries of vectors among states, and the largest range of other arrays.

    An entry that does not vary has the range of its size, and one that is always zero that of the other entries.
    """

    def of(part: Any) -> np.ndarray:
        rows = _finite_rows(part)
        spread, sizes = np.ptp(rows, axis=0), np.max(np.abs(rows), axis=0)
        return _filled(np.where(spread > 1e-12 * sizes, spread, sizes))

    return jax.tree.map(of, states)


def largest(states: State) -> State:
    """Return the largest absolute values of the entries of vectors among states, and those of other arrays.

    An entry that is always zero has the value of the other entries.
    """
    return jax.tree.map(lambda part: _filled(np.max(np.abs(_finite_rows(part)), axis=0)), states)


def _finite_rows(part: Any) -> np.ndarray:
    rows = np.asarray(part, float)
    return np.where(np.isfinite(rows), rows, 0.0)


def _filled(sizes: Any) -> np.ndarray:
    """Return the sizes of the entries of a vector, the largest one for zeros; of other arrays the largest one."""
    most = np.max(sizes, initial=0.0)
    return np.where(sizes > 0, sizes, most) if np.ndim(sizes) == 1 else np.asarray(most)
