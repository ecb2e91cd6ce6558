"""Base class of spaces: projection, tangent vectors, defect, random points."""

import abc
from typing import Any

import equinox as eqx

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
