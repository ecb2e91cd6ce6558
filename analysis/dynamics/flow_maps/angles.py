"""Angles: states modulo periods, whole turns of a trajectory, and principal values."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from analysis.dynamics.flow_maps.time_map import NEARLY, Features
from dynsim._core.types import State


class Wrapped(eqx.Module):
    """Features of a vector some of whose entries are periodic: cosine and sine of these, in place of the entry."""

    periods: tuple[tuple[int, float], ...] = eqx.field(static=True)

    def __call__(self, x: State) -> Array:
        """Return the features of a state."""
        flat = ravel_pytree(x)[0]
        turns = [(k, 2 * np.pi / period) for k, period in self.periods]
        rest = [k for k in range(flat.shape[0]) if k not in dict(self.periods)]
        circles = [fn(flat[k] * rate) / rate for k, rate in turns for fn in (jnp.cos, jnp.sin)]
        return jnp.stack([*(flat[k] for k in rest), *circles])


def periods_of(features: Features) -> tuple[tuple[int, float], ...]:
    """Return the indices of angles among the entries of a flat state, and their periods; none if none is wrapped."""
    return features.periods if isinstance(features, Wrapped) else ()


def whole_turns(features: Features, moved: np.ndarray) -> np.ndarray:
    """Return the multiples of the periods of angles nearest to a motion of a flat state, 0 in its other entries."""
    found = np.zeros_like(moved)
    for k, period in periods_of(features):
        found[k] = period * np.round(moved[k] / period)
    return found


def principal(features: Features, states: Float[np.ndarray, "states n"]) -> Float[np.ndarray, "states n"]:
    """Return flat states moved by whole turns of angles, all by the same, so that the first has principal angles.

    An angle of the period P is so in the interval from -P / 2, which is left out up to rounding, to P / 2.
    """
    moved = np.array(states)
    for k, period in periods_of(features):
        moved[:, k] -= period * np.ceil(moved[0, k] / period - 0.5 - NEARLY)
    return moved
