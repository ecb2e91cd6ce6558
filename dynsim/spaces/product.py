"""Products of spaces, for states with named parts."""

from typing import Any

import jax
import jax.numpy as jnp

from dynsim._core.types import Key, Scalar, State
from dynsim._core.validation import random_key
from dynsim.errors import ArgumentError, shown
from dynsim.spaces.angles import AbstractAngles
from dynsim.spaces.base import AbstractSpace


class Product(AbstractSpace):
    """A product of spaces: a named tuple of spaces for a named tuple of arrays, part by part."""

    parts: Any

    def __init__(self, parts: Any):
        """Store a (named) tuple of spaces."""
        if not isinstance(parts, tuple) or not all(isinstance(part, AbstractSpace) for part in parts):
            raise ArgumentError("parts", "be a (named) tuple of spaces", f"is {type(parts).__name__}")
        self.parts = parts

    def _build(self, values: list) -> State:
        make = getattr(type(self.parts), "_make", tuple)
        return make(values)

    def project(self, y: State) -> State:
        """Project each part to its space."""
        return self._build([space.project(part) for space, part in zip(self.parts, y, strict=True)])

    def tangent(self, x: State, v: State) -> State:
        """Project each part of `v` to the tangent space of its part of `x`."""
        return self._build([space.tangent(*pair) for space, *pair in zip(self.parts, x, v, strict=True)])

    def defect(self, y: State) -> Scalar:
        """Largest defect of a part."""
        return jnp.max(jnp.stack([space.defect(part) for space, part in zip(self.parts, y, strict=True)]))

    def periods(self, x: State) -> State:
        """The periods of the entries of each part."""
        return self._build([space.periods(part) for space, part in zip(self.parts, x, strict=True)])

    def in_units(self, scale: Any) -> "Product":
        """The product of the spaces of the parts divided by their units."""
        units = scale if isinstance(scale, tuple) else [scale] * len(self.parts)
        return Product(self._build([in_units(space, one) for space, one in zip(self.parts, units, strict=True)]))

    def sample(self, key: Key, shape: Any) -> State:
        """Sample a random point of each part; `shape` is a tuple of shapes."""
        if not isinstance(shape, tuple | list) or len(shape) != len(self.parts):
            must = f"have one shape for each of {len(self.parts)} parts"
            raise ArgumentError("shape", must, f"is {shown(shape)}")
        keys = jax.random.split(random_key("key", key), len(self.parts))
        return self._build([s.sample(k, n) for s, k, n in zip(self.parts, keys, shape, strict=True)])


def in_units(space: AbstractSpace, scale: Any) -> AbstractSpace:
    """The space of states divided by units: other periods, if it has angles."""
    return space.in_units(scale) if isinstance(space, AbstractAngles | Product) else space
