"""Flat spaces, and Euclidean space."""

import jax
import jax.numpy as jnp

from dynsim._core.types import Key, Scalar, State
from dynsim._core.validation import random_key, sizes
from dynsim.spaces.base import AbstractSpace


class Flat(AbstractSpace):
    """Base class of spaces whose points are all real arrays, so that projections are the identity."""

    def project(self, y: State) -> State:
        """The point itself."""
        return y

    def tangent(self, x: State, v: State) -> State:
        """The vector itself."""
        return v

    def defect(self, y: State) -> Scalar:
        """Zero, because every point is on the space."""
        return jnp.zeros((), jax.tree.leaves(y)[0].dtype)


class Euclidean(Flat):
    """Euclidean space R^d, where projections are the identity."""

    def sample(self, key: Key, shape: tuple[int, ...]) -> State:
        """Standard normal entries."""
        return jax.random.normal(random_key("key", key), sizes("shape", shape, axes=0))
