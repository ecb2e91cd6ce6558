"""The probability simplex."""

import jax
import jax.numpy as jnp

from dynsim._core.types import Key, Scalar, State
from dynsim._core.validation import random_key, sizes
from dynsim.spaces.base import AbstractSpace


class Simplex(AbstractSpace):
    r"""The simplex $\{p \ge 0 : \sum_k p_k = 1\}$ on the last axis.

    The retraction $p / \sum_k p_k$ restores the sum and leaves signs alone, because clipping would hide a flow that
    leaves the simplex. A negative entry shows in `defect`.
    """

    def project(self, y: State) -> State:
        """Divide by the sum: y / sum(y)."""
        return y / jnp.sum(y, axis=-1, keepdims=True)

    def tangent(self, x: State, v: State) -> State:
        """Tangent component of a vector: v - sum(v) x."""
        return v - jnp.sum(v, axis=-1, keepdims=True) * x

    def defect(self, y: State) -> Scalar:
        """Larger of | sum(y) - 1 | and the size of the most negative entry."""
        return jnp.maximum(jnp.max(jnp.abs(jnp.sum(y, axis=-1) - 1)), jnp.max(-y).clip(0))

    def sample(self, key: Key, shape: tuple[int, ...]) -> State:
        """Uniformly distributed points of the simplex."""
        e = jax.random.exponential(random_key("key", key), sizes("shape", shape))
        return self.project(e)
