"""Layers of the multirate network: grouped-query attention with normalised queries and keys, and projectors."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.typing import DTypeLike
from jaxtyping import Array, Float

from dynsim._core.types import Key
from dynsim.errors import ArgumentError
from dynsim.networks.decoder.transformer import GeluMLP, Heads, RMSNorm, projected, rotated
from dynsim.systems.tokens.interactions.masks import AbstractMask, Causal


class GroupedAttention(eqx.Module):
    """Grouped-query attention: query head h shares the keys and values of key head h // (heads / key_heads).

    Queries and keys are divided by their root mean square and multiplied by a gain that all heads share, before the
    rotary embedding (see `Attention`). Queries, keys, values and outputs have biases.
    """

    query: Float[Array, "heads head_dim d"]
    key: Float[Array, "key_heads head_dim d"]
    value: Float[Array, "key_heads head_dim d"]
    output: Float[Array, "heads d head_dim"]
    query_bias: Float[Array, "heads head_dim"]
    key_bias: Float[Array, "key_heads head_dim"]
    value_bias: Float[Array, "key_heads head_dim"]
    output_bias: Float[Array, " d"]
    query_norm: RMSNorm
    key_norm: RMSNorm
    mask: AbstractMask = Causal()
    rotary_base: float = eqx.field(static=True, default=10000.0)

    def __check_init__(self):
        """Raise `ValueError` if key heads do not divide query heads, or heads have odd size."""
        heads, width = self.query.shape[:2]
        if heads % self.key.shape[0]:
            must = f"have a number of heads that divides {heads}"
            raise ArgumentError("key", must, f"has {self.key.shape[0]}")
        if width % 2:
            raise ArgumentError(
                "query", "have heads of even size for the rotary embedding", f"has heads of size {width}"
            )

    def weights(self, x: Float[Array, "n d"]) -> Float[Array, "heads n n"]:
        """Attention weights, `weights[h, i, j]` from token i to token j in head h; rows sum to one."""
        q, k = (
            rotated(jax.vmap(norm)(projected(W, b, x)), self.rotary_base)
            for norm, W, b in (
                (self.query_norm, self.query, self.query_bias),
                (self.key_norm, self.key, self.key_bias),
            )
        )
        scores = jnp.einsum("ksim,kjm->ksij", self._grouped(q / math.sqrt(q.shape[-1])), k)
        n = x.shape[0]
        return jax.nn.softmax(self.mask.hide(scores.reshape(-1, n, n)), axis=-1)

    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, "n d"]:
        """Output of attention, which the layer adds to the tokens."""
        v = projected(self.value, self.value_bias, x)
        mixed = jnp.einsum("ksij,kjm->ksim", self._grouped(self.weights(x)), v)
        out = jnp.einsum("him,hdm->id", mixed.reshape(-1, *mixed.shape[2:]), self.output)
        return out + self.output_bias[None]

    def _grouped(self, x: Heads) -> Float[Array, "key_heads share n head_dim"]:
        return x.reshape(self.key.shape[0], -1, *x.shape[1:])


class GroupedLayer(eqx.Module):
    """One pre-norm layer: x + attention(norm(x)), then x + feedforward(norm(x))."""

    attention_norm: RMSNorm
    attention: GroupedAttention
    feedforward_norm: RMSNorm
    feedforward: GeluMLP

    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, "n d"]:
        """Tokens after the layer."""
        x = x + self.attention(self.attention_norm(x))
        return x + self.feedforward(self.feedforward_norm(x))


class LinearProjector(eqx.Module):
    """A linear map of the slow context, without a bias, so that a zero context is mapped to zero."""

    matrix: Float[Array, "d d"]

    def __call__(self, c: Float[Array, "n d"]) -> Float[Array, "n d"]:
        """The projected context, which the gate scales."""
        return c @ self.matrix.T


class LearnedProjector(eqx.Module):
    """Two linear maps with an exact GELU between them, without biases, so that a zero context is mapped to zero.

    Source: MULTIRATE, (33).
    """

    inner: Float[Array, "hidden d"]
    outer: Float[Array, "d hidden"]

    def __call__(self, c: Float[Array, "n d"]) -> Float[Array, "n d"]:
        """The projected context, which the gate scales."""
        return jax.nn.gelu(c @ self.inner.T, approximate=False) @ self.outer.T


def unit_norm(d: int, dtype: DTypeLike) -> RMSNorm:
    """RMS normalisation with gain one."""
    return RMSNorm(jnp.ones(d, dtype))


def draw_matrix(key: Key, shape: tuple[int, ...], *, inputs: int, dtype: DTypeLike) -> Array:
    """Draw independent normal entries of variance 1 / `inputs`, the number of terms in each output."""
    return jax.random.normal(key, shape, dtype) / math.sqrt(inputs)


def draw_layer(
    key: Key,
    d: int,
    *,
    heads: int,
    key_heads: int,
    hidden: int,
    mask: AbstractMask,
    depth: int,
    rotary_base: float,
    dtype: DTypeLike,
) -> GroupedLayer:
    """Initialise a layer, with output matrices scaled by $1/\\sqrt{2 \\mathrm{depth}}$."""
    q, k, v, o, inner, outer = jax.random.split(key, 6)
    m, additions = d // heads, 2 * depth  # each layer adds to the tokens twice
    zeros = lambda *shape: jnp.zeros(shape, dtype)
    attention = GroupedAttention(
        draw_matrix(q, (heads, m, d), inputs=d, dtype=dtype),
        draw_matrix(k, (key_heads, m, d), inputs=d, dtype=dtype),
        draw_matrix(v, (key_heads, m, d), inputs=d, dtype=dtype),
        draw_matrix(o, (heads, d, m), inputs=heads * m * additions, dtype=dtype),
        zeros(heads, m),
        zeros(key_heads, m),
        zeros(key_heads, m),
        zeros(d),
        unit_norm(m, dtype),
        unit_norm(m, dtype),
        mask,
        rotary_base,
    )
    feedforward = GeluMLP(
        draw_matrix(inner, (hidden, d), inputs=d, dtype=dtype),
        zeros(hidden),
        draw_matrix(outer, (d, hidden), inputs=hidden * additions, dtype=dtype),
        zeros(d),
        exact=True,
    )
    return GroupedLayer(unit_norm(d, dtype), attention, unit_norm(d, dtype), feedforward)
