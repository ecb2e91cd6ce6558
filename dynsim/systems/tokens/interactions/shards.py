"""The share of one device in the tokens of a flow, and what devices exchange."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


class Shard(NamedTuple):
    """One of several devices along an axis of a mesh, each with as many consecutive tokens; by default the only one."""

    devices: int = 1
    axis: str = ""

    @property
    def index(self) -> int | Array:
        """The number of this device."""
        return jax.lax.axis_index(self.axis).astype(int) if self.devices > 1 else 0

    def first(self, count: int) -> int | Array:
        """Return the number of the first token of this device, if each has `count`."""
        return self.index * count

    def passed_on(self, part: Array) -> Array:
        """Return the array of the device before this one in the ring, while the next one gets this one's."""
        ring = [(i, (i + 1) % self.devices) for i in range(self.devices)]
        return jax.lax.ppermute(part, self.axis, ring)

    def largest(self, a: Array) -> Array:
        """Return the largest of an array on all devices; it has no derivative."""
        return jax.lax.pmax(a, self.axis) if self.devices > 1 else a

    def total(self, a: Array) -> Array:
        """Return the sum of an array over all devices."""
        return jax.lax.psum(a, self.axis) if self.devices > 1 else a

    def total_before(self, a: Float[Array, "..."]) -> Array:
        """Return the sum of an array over the devices before this one."""
        every = jax.lax.all_gather(a, self.axis)
        before = (jnp.arange(self.devices) < self.index).astype(a.dtype)
        return jnp.tensordot(before, every, 1)
