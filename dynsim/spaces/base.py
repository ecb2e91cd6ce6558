"""Base class of spaces: projection, tangent vectors, defect, random points, differences."""

import abc
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from dynsim._core.types import Key, Scalar, State


class AbstractSpace(eqx.Module):
    """A subset of an ambient vector space with a retraction onto it, which acts on the last axis of an array."""

    @abc.abstractmethod
    def project(self, y: State) -> State:
        """Retract the ambient point `y` to the space."""

    @abc.abstractmethod
    def tangent(self, x: State, v: State) -> State:
        """Derivative of `project` at the point `x` of the space, applied to the ambient vector `v`."""

    @abc.abstractmethod
    def defect(self, y: State) -> Scalar:
        """Dimensionless distance of `y` from the space; zero on the space."""

    @abc.abstractmethod
    def sample(self, key: Key, shape: Any) -> State:
        """Sample a random point; `shape` is the shape of the state, a tuple of shapes for a product.

        Raises:
            ValueError: if `key` is not a random key, or `shape` is not the shape of a point of the space.
        """

    def periods(self, x: State) -> State:
        """The period of every entry of a state `x`, in arrays of its shape; infinite for an entry that is no angle."""
        return jax.tree.map(lambda y: np.full(np.shape(y), np.inf), x, is_leaf=_is_list)

    def difference(self, x: State, y: State) -> State:
        """The difference x - y of two states, in which angles are taken along the shorter way."""
        return jax.tree.map(lambda a, b, p: nearest(_array(a) - _array(b), p), x, y, self.periods(x), is_leaf=_is_list)

    def distance(self, x: State, y: State) -> Any:
        """Euclidean norm of `difference`, a number: on a curved space the length of the chord."""
        squares = [(d**2).sum() for d in jax.tree.leaves(self.difference(x, y))]
        return sum(squares[1:], squares[0]) ** 0.5

    def reduced(self, x: State) -> State:
        """The state with every angle between minus half a period (excluded) and half a period."""
        return jax.tree.map(lambda a, p: nearest(_array(a), p), x, self.periods(x), is_leaf=_is_list)


NEARLY = 1e-9
"""Distance, in turns, at which an angle close to minus half a turn counts as half a turn."""


def _is_list(x: Any) -> bool:
    return isinstance(x, list)


def _array(x: Any) -> Any:
    found = x if isinstance(x, jax.Array) else np.asarray(x)
    return found if np.issubdtype(found.dtype, np.floating) else found.astype(float)


def nearest(x: Any, periods: np.ndarray) -> Any:
    """Numbers that differ from `x` by whole turns, between minus half a period, excluded up to rounding, and half."""
    angles = np.isfinite(periods)
    if not np.any(angles):
        return x
    xp: Any = jnp if isinstance(x, jax.Array) else np
    turn = np.where(angles, periods, 1.0).astype(x.dtype)
    return x - angles.astype(x.dtype) * turn * xp.ceil(x / turn - x.dtype.type(0.5 + NEARLY))
