"""The position of a device in a ring of devices, and the exchanges between them."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


class Shard(NamedTuple):
    """One of several devices along a mesh axis, each with equally many consecutive tokens; by default the only one."""

    devices: int = 1
    axis: str = ""

    @property
    def index(self) -> int | Array:
        """Index of this device."""
        return jax.lax.axis_index(self.axis).astype(int) if self.devices > 1 else 0

    def first(self, count: int) -> int | Array:
        """Index of the first token on this device, if each device holds `count` tokens."""
        return self.index * count

    def passed_on(self, part: Array) -> Array:
        """Pass an array to the next device in the ring, and receive the array of the previous one."""
        ring = [(i, (i + 1) % self.devices) for i in range(self.devices)]
        return jax.lax.ppermute(part, self.axis, ring)

    def largest(self, a: Array) -> Array:
        """Maximum of an array over all devices; it has no derivative."""
        return jax.lax.pmax(a, self.axis) if self.devices > 1 else a

    def total(self, a: Array) -> Array:
        """Sum of an array over all devices."""
        return jax.lax.psum(a, self.axis) if self.devices > 1 else a

    def total_before(self, a: Float[Array, "..."]) -> Array:
        """Sum of an array over the devices before this one."""
        every = jax.lax.all_gather(a, self.axis)
        before = (jnp.arange(self.devices) < self.index).astype(a.dtype)
        return jnp.tensordot(before, every, 1)
