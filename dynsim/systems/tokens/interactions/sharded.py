"""Attention on several devices: the tokens are distributed over a mesh, and all devices share the sums."""

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
    r"""An interaction of n tokens distributed over the D devices of a mesh, n / D consecutive tokens on each.

    With `Blocked()`, blocks of tokens travel around a ring of devices. In each of D - 1 turns a device adds the sums
    over the n / D tokens that it holds and passes them on, so no device ever holds all tokens. A reverse pass does
    keep the tokens of every turn. With `Harmonic()`, every device sums the moments of its own tokens, and these are
    added up over all devices, or over the preceding devices under a causal mask. Place the initial tokens with
    `placed`; every step of a solver keeps this distribution. Under a causal mask the last device has the most pairs.
    """

    inner: Blocked | Harmonic
    mesh: Mesh = eqx.field(static=True)

    def __init__(self, inner: Any, mesh: Any):  # the types are checked here, with one sentence for each
        """Store a `Blocked()` or `Harmonic()` interaction and a mesh with one axis, as from `jax.make_mesh`."""
        if not isinstance(inner, Blocked | Harmonic):
            raise ArgumentError("inner", "be `Blocked()` or a `Harmonic()`", f"is a `{type(inner).__name__}`")
        self.inner = inner
        mesh = instance("mesh", mesh, Mesh, "a `jax.sharding.Mesh`")
        if len(mesh.axis_names) != 1:
            raise ArgumentError("mesh", "have one axis", f"has {len(mesh.axis_names)}")
        self.mesh = Mesh(mesh.devices, mesh.axis_names, axis_types=(AxisType.Auto,))

    @property
    def shard(self) -> Shard:
        """The position of a device among the devices of the mesh."""
        return Shard(self.mesh.size, self.mesh.axis_names[0])

    def prepared(self, heads: Heads) -> "Sharded":
        """The same with the inner interaction prepared for these heads."""
        return Sharded(self.inner.prepared(heads), self.mesh)

    def placed(self, x: Tokens) -> Tokens:
        """Distribute tokens over the devices of the mesh.

        Raises:
            ValueError: if the number of tokens is not divisible by the number of devices.
        """
        self._check(x.shape[0])
        return jax.device_put(jnp.asarray(x), NamedSharding(self.mesh, PartitionSpec(self.shard.axis)))

    def output(self, heads: Heads, t: Time, x: Tokens) -> Tokens:
        """Attention output of all heads; each token's output stays on its device."""
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
        """Predicted bytes that each device receives for one vector field of tokens like `x`."""
        self._check(x.shape[0])
        return self.inner.traffic(heads, x, self.shard)

    def _check(self, n: int) -> None:
        if n % self.mesh.size:
            raise ArgumentError("mesh", f"have a number of devices that divides {n} tokens", f"has {self.mesh.size}")
