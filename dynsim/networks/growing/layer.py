"""The growing prototype layer: heads with prototypes and temperatures, padded to a capacity."""

import math
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.typing import DTypeLike
from jaxtyping import Array, Bool, Float

from dynsim._core.types import Key
from dynsim._core.validation import integer, random_key
from dynsim.networks.prototypes.layer import HeadWeights, pairwise_distances
from dynsim.systems.prototypes.assignments import separation
from dynsim.systems.prototypes.losses import PrototypeLoss

PerHead = Float[Array, " heads"]


class Growth(eqx.Module):
    """Which heads of a layer exist and when they were added; no optimiser changes it.

    All numbers are floats, because checkpoints store nothing else.

    Attributes:
        active: 1 for existing heads, 0 for empty slots.
        frames: the captured directions of each head, orthonormal rows, or rows of zeros.
        births: the number of steps after which each head was added.
        values: the dominant value of the residual at that growth; 0 for a random first head.
        last: the dominant value at the previous growth; infinite before the first.
        event: the number of steps at the last growth or pruning.
    """

    active: PerHead
    frames: Float[Array, "heads 2 d"]
    births: PerHead
    values: PerHead
    last: Float[Array, ""]
    event: Float[Array, ""]


class Competition(NamedTuple):
    """Losses of each head: the mean of L_q over tokens, and the anti-collapse barrier; 0 for empty slots."""

    competitive: PerHead
    barrier: PerHead


class GrowingLayer(eqx.Module):
    r"""Prototype heads in place of the feed-forward part of a transformer layer.

    $$
        \sum_{h\ \mathrm{active}} O_h \mu_n^{(h)}, \qquad \mu_n^{(h)} = \sum_k q_{nk}^{(h)} p_k^{(h)}
    $$

    All heads read the same tokens, each at its own temperature, which stays at T_min once it has reached it. Arrays are
    padded to the capacity, so growth changes no shape. As in the Algorithm, prototypes and temperatures learn only from
    L_q; the output is differentiated only by the tokens and by O. The paper does not say how heads form the output.

    Source: GROWING, Sections 3.1, 3.4 and 7.5.

    Attributes:
        prototypes: the prototypes of each head.
        temperatures: the temperature of each head; values below T_min, which gradient steps may reach, count as T_min.
        output: O of each head.
        growth: which heads exist.
        least_temperature: T_min.
    """

    prototypes: Float[Array, "heads k d"]
    temperatures: PerHead
    output: Float[Array, "heads d d"]
    growth: Growth
    least_temperature: float = eqx.field(static=True)

    @property
    def clipped(self) -> PerHead:
        """The effective temperatures, at least T_min."""
        return jnp.maximum(self.temperatures, self.least_temperature)

    def distances(self, z: Float[Array, "n d"]) -> HeadWeights:
        """Squared distances of tokens from the prototypes in each slot, by one matrix product."""
        heads, k, d = self.prototypes.shape
        found = pairwise_distances(z, self.prototypes.reshape(heads * k, d))
        return jnp.moveaxis(found.reshape(-1, heads, k), 1, 0)

    def assignments(self, z: Float[Array, "n d"]) -> HeadWeights:
        """Soft assignments of tokens in each slot, including empty ones; rows sum to one."""
        return jax.nn.softmax(-self.distances(z) / self.clipped[:, None, None], axis=-1)

    def __call__(self, z: Float[Array, "n d"]) -> Float[Array, "n d"]:
        """The contribution of the active heads to the tokens."""
        fixed = eqx.tree_at(
            lambda layer: (layer.prototypes, layer.temperatures, layer.growth), self, replace_fn=jax.lax.stop_gradient
        )
        shown = fixed.prototypes * fixed.growth.active[:, None, None]
        columns = jnp.einsum("hkd,hed->hke", shown, self.output)
        return jnp.einsum("hnk,hke->ne", fixed.assignments(z), columns)

    def losses(self, z: Float[Array, "n d"], counted: Bool[Array, " n"], loss: PrototypeLoss) -> Competition:
        """Losses of each head over the tokens that are not padding.

        Args:
            z: the tokens, shape (n, d).
            counted: which of them are not padding.
            loss: supplies the gradient mode, barrier and ridge; its reduction is ignored.
        """
        d, active = self.distances(z), jax.lax.stop_gradient(self.growth.active)
        q = jax.nn.softmax(-d / self.clipped[:, None, None], axis=-1)
        q = jax.lax.stop_gradient(q) if loss.gradient == "frozen" else q
        share = counted.astype(z.dtype) / jnp.maximum(jnp.sum(counted), 1).astype(z.dtype)
        competitive = jnp.einsum("n,hnk,hnk->h", share, q, d)
        return Competition(active * competitive, active * jax.vmap(loss.penalty)(self.prototypes))

    def separation(self) -> PerHead:
        """Smallest squared distance between two prototypes in each slot, S(P_h)."""
        return jax.vmap(separation)(self.prototypes)


def draw_layer(
    key: Key,
    d: int,
    *,
    prototypes: int,
    capacity: int,
    temperature: float = 1.0,
    least_temperature: float = 0.1,
    dtype: DTypeLike = jnp.float32,
) -> GrowingLayer:
    """Initialise a layer without active heads, with normal prototypes of variance 1 and O of variance 1 / d.

    Raises:
        ValueError: unless dimension and capacity are positive, and there are at least two prototypes.
    """
    d, capacity = integer("d", d, least=1), integer("capacity", capacity, least=1)
    prototypes, key = integer("prototypes", prototypes, least=2), random_key("key", key)
    bank, out = jax.random.split(key)
    zeros = lambda *shape: jnp.zeros(shape, dtype)
    growth = Growth(
        zeros(capacity), zeros(capacity, 2, d), zeros(capacity), zeros(capacity), jnp.array(jnp.inf, dtype), zeros()
    )
    return GrowingLayer(
        jax.random.normal(bank, (capacity, prototypes, d), dtype),
        jnp.full(capacity, temperature, dtype),
        jax.random.normal(out, (capacity, d, d), dtype) / math.sqrt(d),
        growth,
        least_temperature,
    )
