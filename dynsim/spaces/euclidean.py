"""Euclidean space."""

import jax
import jax.numpy as jnp

from dynsim._core.types import Key, Scalar, State
from dynsim._core.validation import random_key, sizes
from dynsim.spaces.base import AbstractSpace


class Euclidean(AbstractSpace):
    """All of R^d: nothing to project."""

    def project(self, y: State) -> State:
        """Return `y`."""
        return y

    def tangent(self, x: State, v: State) -> State:
        """Return `v`."""
        del x
        return v

    def defect(self, y: State) -> Scalar:
        """Return zero."""
        return jnp.zeros((), jax.tree.leaves(y)[0].dtype)

    def sample(self, key: Key, shape: tuple[int, ...]) -> State:
        """Return standard normal entries."""
        return jax.random.normal(random_key("key", key), sizes("shape", shape, axes=0))
