"""One flow on many devices: its tokens are distributed over a mesh, and its sums are computed by all of them."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from dynsim._core.types import Time, Tokens
from dynsim._core.validation import instance
from dynsim.errors import ArgumentError
from dynsim.systems.tokens.interactions.base import AbstractInteraction, Heads
from dynsim.systems.tokens.interactions.blocked import Blocked
from dynsim.systems.tokens.interactions.harmonic import Harmonic
from dynsim.systems.tokens.interactions.shards import Shard
from dynsim.systems.tokens.interactions.traffic import Traffic


class Sharded(AbstractInteraction):
    r"""An interaction of tokens that are distributed over the devices of a mesh, n / D consecutive ones on each.

    With `Blocked()`, the tokens go around a ring: in each of D - 1 turns a device adds the sums over the n / D tokens
    that it holds and passes them on, so that no device ever holds all of them (a reverse pass keeps those of every
    turn). With `Harmonic()`, every device sums the moments of its own tokens, and these are added up; under a causal
    mask, those of the devices before it. Elsewhere a state keeps its distribution: `placed` gives the start one, and
    every step of a solver is taken where the tokens are. With a causal mask the last device has the most pairs.
    """

    inner: Blocked | Harmonic
    mesh: Mesh = eqx.field(static=True)

    def __init__(self, inner: Any, mesh: Any):  # checked here, in one sentence
        """Store an interaction that is computed in parts, and a mesh with one axis, as `jax.make_mesh` gives it."""
        if not isinstance(inner, Blocked | Harmonic):
            raise ArgumentError("inner", "be `Blocked()` or a `Harmonic()`", f"is a `{type(inner).__name__}`")
        self.inner = inner
        mesh = instance("mesh", mesh, Mesh, "a `jax.sharding.Mesh`")
        if len(mesh.axis_names) != 1:
            raise ArgumentError("mesh", "have one axis", f"has {len(mesh.axis_names)}")
        self.mesh = Mesh(mesh.devices, mesh.axis_names, axis_types=(AxisType.Auto,))

    @property
    def shard(self) -> Shard:
        """What a device knows of the others."""
        return Shard(self.mesh.size, self.mesh.axis_names[0])

    def prepared(self, heads: Heads) -> "Sharded":
        """Return the same with what the interaction of the devices needs to know of the heads."""
        return Sharded(self.inner.prepared(heads), self.mesh)

    def placed(self, x: Tokens) -> Tokens:
        """Return tokens distributed over the devices of the mesh.

        Raises:
            ValueError: if the devices do not divide the number of tokens.
        """
        self._check(x.shape[0])
        return jax.device_put(jnp.asarray(x), NamedSharding(self.mesh, PartitionSpec(self.shard.axis)))

    def output(self, heads: Heads, t: Time, x: Tokens) -> Tokens:
        """Return the output of all heads, each token's on its device."""
        self._check(x.shape[0])
        arrays, rest = eqx.partition((self.inner, heads), eqx.is_array)
        everywhere, split = PartitionSpec(), PartitionSpec(self.shard.axis)

        def here(arrays: Any, t: Time, x: Tokens) -> Tokens:
            inner, heads = eqx.combine(arrays, rest)
            return inner.output_here(heads, t, x, self.shard)

        specs = (everywhere, everywhere, split)
        parts = jax.shard_map(here, mesh=self.mesh, in_specs=specs, out_specs=split, check_vma=False)
        return parts(arrays, jnp.asarray(t, x.dtype), x)

    def traffic(self, heads: Heads, x: Tokens) -> Traffic:
        """Return what each device receives for one field of tokens like `x`, in bytes: computed, not measured."""
        self._check(x.shape[0])
        return self.inner.traffic(heads, x, self.shard)

    def _check(self, n: int) -> None:
        if n % self.mesh.size:
            raise ArgumentError("mesh", f"have a number of devices that divides {n} tokens", f"has {self.mesh.size}")
