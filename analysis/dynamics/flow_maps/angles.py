"""Treat entries of states as angles: features on circles, whole turns and principal values."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from analysis.dynamics.flow_maps.time_map import NEARLY, Features
from dynsim._core.types import State


class Wrapped(eqx.Module):
    """Features of a state with angles: the cosine and sine of each angle replace its entry."""

    periods: tuple[tuple[int, float], ...] = eqx.field(static=True)

    def __call__(self, x: State) -> Array:
        """Compute the features of a state."""
        flat = ravel_pytree(x)[0]
        turns = [(k, 2 * np.pi / period) for k, period in self.periods]
        rest = [k for k in range(flat.shape[0]) if k not in dict(self.periods)]
        circles = [fn(flat[k] * rate) / rate for k, rate in turns for fn in (jnp.cos, jnp.sin)]
        return jnp.stack([*(flat[k] for k in rest), *circles])


def periods_of(features: Features) -> tuple[tuple[int, float], ...]:
    """List the angles among the entries of a flattened state as pairs of index and period; empty if none is wrapped."""
    return features.periods if isinstance(features, Wrapped) else ()


def whole_turns(features: Features, moved: np.ndarray) -> np.ndarray:
    """Compute the whole turns nearest to a displacement of a flattened state; 0 for entries that are no angles."""
    found = np.zeros_like(moved)
    for k, period in periods_of(features):
        found[k] = period * np.round(moved[k] / period)
    return found


def principal(features: Features, states: Float[np.ndarray, "states n"]) -> Float[np.ndarray, "states n"]:
    """Shift flattened states by whole turns, the same for all, so that the first has principal angles.

    The principal interval of an angle with period P is from -P / 2, excluded up to rounding, to P / 2.
    """
    moved = np.array(states)
    for k, period in periods_of(features):
        moved[:, k] -= period * np.ceil(moved[0, k] / period - 0.5 - NEARLY)
    return moved
