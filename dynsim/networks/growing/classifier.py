"""A small sentence classifier: embedding, one attention layer, growing prototypes, and a mean over the words."""

import math
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.typing import DTypeLike
from jaxtyping import Array, Bool, Float, Int

from dynsim._core.types import Key
from dynsim._core.validation import integer, random_key
from dynsim.errors import ArgumentError
from dynsim.networks.decoder.transformer import LayerNorm, projected
from dynsim.networks.growing.layer import GrowingLayer
from dynsim.networks.multirate.layers import draw_matrix

HIDDEN = -1e9  # score of padding; finite, so that a sentence without words has a derivative


class SentenceAttention(eqx.Module):
    """Bidirectional attention between all words of a sentence, without biases; padding has no weight."""

    query: Float[Array, "heads head_dim d"]
    key: Float[Array, "heads head_dim d"]
    value: Float[Array, "heads head_dim d"]
    output: Float[Array, "heads d head_dim"]

    @property
    def interaction(self) -> Float[Array, "d d"]:
        """The attention product M = W_Q W_K^T, summed over the heads."""
        return jnp.einsum("hmi,hmj->ij", self.query, self.key)

    def weights(self, x: Float[Array, "n d"], counted: Bool[Array, " n"]) -> Float[Array, "heads n n"]:
        """Attention weights, `weights[h, i, j]` from token i to token j in head h; rows sum to one."""
        q, k = projected(self.query, None, x), projected(self.key, None, x)
        scores = jnp.einsum("him,hjm->hij", q, k) / math.sqrt(q.shape[-1])
        return jax.nn.softmax(jnp.where(counted[None, None], scores, HIDDEN), axis=-1)

    def __call__(self, x: Float[Array, "n d"], counted: Bool[Array, " n"]) -> Float[Array, "n d"]:
        """The contribution of attention to the tokens."""
        mixed = jnp.einsum("hij,hjm->him", self.weights(x, counted), projected(self.value, None, x))
        return jnp.einsum("him,hdm->id", mixed, self.output)


class SentenceReading(NamedTuple):
    """Result of the classifier for a sentence.

    Attributes:
        logit: of the label 1.
        inputs: the tokens X that attention reads.
        embeddings: the tokens z that the prototypes read.
        counted: which of them are no padding.
    """

    logit: Float[Array, ""]
    inputs: Float[Array, "n d"]
    embeddings: Float[Array, "n d"]
    counted: Bool[Array, " n"]


class SentenceClassifier(eqx.Module):
    r"""A one-layer transformer in which growing prototypes replace the feed-forward part.

    $$
        x \leftarrow x + \mathrm{Attention}(\mathrm{LN}_1(x)), \qquad z = \mathrm{LN}_2(x), \qquad
        x \leftarrow x + \sum_h O_h \mu^{(h)}(z)
    $$

    The logit is linear in the mean over the words of a sentence. Dropout acts on embedded words, on both additions and
    on the mean. Methods take one sentence; use `jax.vmap` for batches.

    Source: GROWING, Section 7.5, Table 3.

    Attributes:
        embedding: one row for each word; row 0 is padding.
        positions: one row for each position in a sentence.
        attention_norm: LN_1.
        attention: attention with several heads, which are not the heads that grow.
        layer_norm: LN_2.
        layer: the growing prototypes.
        weight: the weight of the linear read-out.
        bias: the bias of the linear read-out.
        dropout: the fraction of coordinates that are dropped in training.
    """

    embedding: Float[Array, "words d"]
    positions: Float[Array, "length d"]
    attention_norm: LayerNorm
    attention: SentenceAttention
    layer_norm: LayerNorm
    layer: GrowingLayer
    weight: Float[Array, " d"]
    bias: Float[Array, ""]
    dropout: float = eqx.field(static=True)

    def encode(self, ids: Int[Array, " n"], key: Key | None = None) -> tuple[Array, Array, Array]:
        """Tokens X that attention reads, tokens x after attention, and embeddings z of a sentence."""
        first, second = (None, None) if key is None else jax.random.split(key)
        x = self._dropped(self.embedding[ids] + self.positions, first)
        inputs = self.attention_norm(x)
        x = x + self._dropped(self.attention(inputs, ids > 0), second)
        return inputs, x, self.layer_norm(x)

    def __call__(self, ids: Int[Array, " n"], key: Key | None = None) -> SentenceReading:
        """Classify a sentence; with a key, dropout is applied as in training."""
        below, added, read = (None, None, None) if key is None else jax.random.split(key, 3)
        inputs, x, z = self.encode(ids, below)
        x = x + self._dropped(self.layer(z), added)
        counted = ids > 0
        share = counted.astype(x.dtype) / jnp.maximum(jnp.sum(counted), 1).astype(x.dtype)
        return SentenceReading(self._dropped(share @ x, read) @ self.weight + self.bias, inputs, z, counted)

    def _dropped(self, x: Array, key: Key | None) -> Array:
        if key is None or self.dropout == 0:
            return x
        kept = jax.random.bernoulli(key, 1 - self.dropout, x.shape)
        return jnp.where(kept, x / (1 - self.dropout), 0)


def draw_classifier(
    key: Key,
    layer: GrowingLayer,
    *,
    words: int,
    length: int,
    heads: int = 2,
    dropout: float = 0.4,
    scale: float = 0.1,
    dtype: DTypeLike = jnp.float32,
) -> SentenceClassifier:
    """Initialise a classifier: normal matrices of variance 1 / inputs, embeddings of standard deviation `scale`.

    The paper does not specify its initialisation.

    Raises:
        ValueError: if a number is not positive, `heads` does not divide the dimension, or dropout is not in [0, 1).
    """
    d, key = layer.prototypes.shape[2], random_key("key", key)
    heads, words, length = (
        integer(*pair, least=1) for pair in (("heads", heads), ("words", words), ("length", length))
    )
    if d % heads:
        raise ArgumentError("heads", f"divide {d}, the dimension of the tokens", f"is {heads}")
    if not 0 <= dropout < 1:
        raise ArgumentError("dropout", "be in [0, 1)", f"is {dropout}")
    table, places, q, k, v, out, read = jax.random.split(key, 7)
    m = d // heads
    norm = lambda: LayerNorm(jnp.ones(d, dtype), jnp.zeros(d, dtype))
    square = lambda one: draw_matrix(one, (heads, m, d), inputs=d, dtype=dtype)
    attention = SentenceAttention(
        square(q), square(k), square(v), draw_matrix(out, (heads, d, m), inputs=d, dtype=dtype)
    )
    return SentenceClassifier(
        scale * jax.random.normal(table, (words, d), dtype),
        scale * jax.random.normal(places, (length, d), dtype),
        norm(),
        attention,
        norm(),
        layer,
        draw_matrix(read, (d,), inputs=d, dtype=dtype),
        jnp.zeros((), dtype),
        dropout,
    )
