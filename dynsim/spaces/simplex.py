"""The probability simplex."""

import jax
import jax.numpy as jnp

from dynsim._core.types import Key, Scalar, State
from dynsim._core.validation import random_key, sizes
from dynsim.spaces.base import AbstractSpace


class Simplex(AbstractSpace):
    r"""The simplex $\{p \ge 0 : \sum_k p_k = 1\}$ on the last axis.

    The retraction $p / \sum_k p_k$ restores the sum and leaves signs to the flow: clipping would hide a flow that
    leaves the simplex. A negative entry shows in `defect`.
    """

    def project(self, y: State) -> State:
        """Return y / sum(y)."""
        return y / jnp.sum(y, axis=-1, keepdims=True)

    def tangent(self, x: State, v: State) -> State:
        """Return v - sum(v) x."""
        return v - jnp.sum(v, axis=-1, keepdims=True) * x

    def defect(self, y: State) -> Scalar:
        """Return the larger of | sum(y) - 1 | and the most negative entry's size."""
        return jnp.maximum(jnp.max(jnp.abs(jnp.sum(y, axis=-1) - 1)), jnp.max(-y).clip(0))

    def sample(self, key: Key, shape: tuple[int, ...]) -> State:
        """Return uniformly distributed points."""
        e = jax.random.exponential(random_key("key", key), sizes("shape", shape))
        return self.project(e)
