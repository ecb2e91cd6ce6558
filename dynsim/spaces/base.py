"""Base class of spaces: projection, tangent vectors, defect, random points."""

import abc
from typing import Any

import equinox as eqx

from dynsim._core.types import Key, Scalar, State


class AbstractSpace(eqx.Module):
    """A subset of an ambient vector space with a retraction onto it; acts on the last axis of an array."""

    @abc.abstractmethod
    def project(self, y: State) -> State:
        """Return the point of the space to which the retraction takes the ambient point `y`."""

    @abc.abstractmethod
    def tangent(self, x: State, v: State) -> State:
        """Return the derivative of `project` at the point `x` of the space, applied to the ambient vector `v`."""

    @abc.abstractmethod
    def defect(self, y: State) -> Scalar:
        """Return how far `y` is off the space: zero exactly on it, dimensionless."""

    @abc.abstractmethod
    def sample(self, key: Key, shape: Any) -> State:
        """Return a random point; `shape` is the shape of the state, a tuple of shapes for a product.

        Raises:
            ValueError: for what is no random key, or no shape of a point of the space.
        """
