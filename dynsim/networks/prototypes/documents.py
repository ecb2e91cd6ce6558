"""Read-outs of documents: projected tokens, prototypes on one or two levels, and a linear classifier."""

import math
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from dynsim._core.types import Key, Scalar
from dynsim._core.validation import real
from dynsim.errors import ArgumentError
from dynsim.networks.prototypes.layer import PrototypeReadout, draw_readout, pairwise_distances
from dynsim.systems.prototypes.losses import PrototypeLoss

Tokens = Float[Array, "documents length d"]
Shares = Float[Array, "documents length"]


class DocumentReading(NamedTuple):
    """Result of a read-out for documents; losses are means over documents of weighted sums over tokens.

    Attributes:
        assignments: the weighted mean of the assignments of the tokens of each document.
        centroids: that of their soft centroids.
        output: that of the outputs of the layer.
        loss: $L_q$ in the mode of the layer, without a barrier.
        variance: $V$.
        entropy: the mean entropy of the assignments of tokens, in nats.
    """

    assignments: Float[Array, "documents k"]
    centroids: Float[Array, "documents m"]
    output: Float[Array, "documents m"]
    loss: Scalar
    variance: Scalar
    entropy: Scalar


class ProjectedReadout(eqx.Module):
    """A one-head read-out layer on projected tokens, z = W x + b, pooled by weighted means over each document.

    The weights of the tokens of a document sum to one; the weights of padding are zero.

    Source: PROTOTYPES, Section 7.3, Section 7.5.
    """

    matrix: Float[Array, "m d"]
    bias: Float[Array, " m"]
    layer: PrototypeReadout

    def __check_init__(self):
        """Raise `ValueError` for a layer with several heads."""
        if self.layer.prototypes.shape[0] != 1:
            raise ArgumentError("layer", "have one head", f"has {self.layer.prototypes.shape[0]}")

    @property
    def bank(self) -> Float[Array, "k m"]:
        """The prototypes."""
        return self.layer.prototypes[0]

    def embed(self, x: Float[Array, "n d"]) -> Float[Array, "n m"]:
        """Project tokens: W x + b."""
        return x @ self.matrix.T + self.bias[None]

    def __call__(self, tokens: Tokens, shares: Shares, temperature: Any) -> DocumentReading:
        """Read documents, given their tokens and the weight of each token.

        Raises:
            ValueError: unless the temperature is positive.
        """
        z, p, w = self.embed(tokens.reshape(-1, tokens.shape[2])), self.bank, shares.reshape(-1, 1)
        count = tokens.shape[0]
        q = self.layer.assignments(z, temperature)[0]
        held = jax.lax.stop_gradient(q) if self.layer.gradient == "frozen" else q
        mu = q @ p
        pooled = lambda values: jnp.sum((w * values).reshape(count, -1, values.shape[1]), axis=1)
        mean = lambda values: jnp.sum(w[:, 0] * values) / count
        variance = q @ jnp.sum((p - jnp.mean(p, axis=0)[None]) ** 2, axis=1)
        variance = variance - jnp.sum((mu - jnp.mean(p, axis=0)[None]) ** 2, axis=1)
        return DocumentReading(
            pooled(q),
            pooled(mu),
            pooled(self.layer(z, temperature)),
            mean(jnp.sum(held * pairwise_distances(z, p), axis=1)),
            mean(variance),
            mean(jnp.sum(jax.scipy.special.entr(q), axis=1)),
        )


class DocumentClassifier(eqx.Module):
    """A read-out with an affine map from its pooled centroids, or outputs, to the logits of classes.

    Source: PROTOTYPES, Algorithm 1, Section 7.3.
    """

    readout: ProjectedReadout
    head: Float[Array, "classes m"]
    head_bias: Float[Array, " classes"]
    from_centroids: bool = eqx.field(static=True, default=True)

    def logits(self, reading: DocumentReading) -> Float[Array, "documents classes"]:
        """Logits of the classes for a reading."""
        read = reading.centroids if self.from_centroids else reading.output
        return read @ self.head.T + self.head_bias[None]


class TwoLevelReadout(eqx.Module):
    """Two read-outs, where the second reads the pooled soft centroids of the first, one for each document.

    If `detached`, these centroids are held constant when the loss of the second level is differentiated.

    Source: PROTOTYPES, Section 5.2, Section 7.5.
    """

    first: ProjectedReadout
    second: ProjectedReadout
    detached: bool = eqx.field(static=True)

    def __call__(self, tokens: Tokens, shares: Shares, temperature: Any) -> tuple[DocumentReading, DocumentReading]:
        """Readings of both levels."""
        below = self.first(tokens, shares, temperature)
        read = jax.lax.stop_gradient(below.centroids) if self.detached else below.centroids
        return below, self.second(read[:, None], jnp.ones((read.shape[0], 1), read.dtype), temperature)


def classification_loss(
    model: DocumentClassifier,
    tokens: Tokens,
    shares: Shares,
    labels: Int[Array, " documents"],
    temperature: Any,
    weight: float = 0.1,
) -> Scalar:
    """Mean cross entropy of the labels in nats, plus `weight` times the loss of the prototypes.

    Source: PROTOTYPES, Algorithm 1, lines 13-14.
    """
    reading = model.readout(tokens, shares, temperature)
    logits = model.logits(reading)
    chosen = jnp.take_along_axis(logits, labels[:, None], axis=1)[:, 0]
    return jnp.mean(jax.nn.logsumexp(logits, axis=1) - chosen) + weight * reading.loss


def two_level_loss(
    model: TwoLevelReadout, tokens: Tokens, shares: Shares, temperature: Any, barrier: Any = 0.0
) -> Scalar:
    """Sum of the losses of both levels, each with a barrier of the given coefficient.

    Source: PROTOTYPES, eq. (17), Section 7.5.
    """
    penalty = PrototypeLoss(barrier=real("barrier", barrier)).penalty
    levels = zip(model(tokens, shares, temperature), (model.first, model.second), strict=True)
    losses = [reading.loss + penalty(level.bank) for reading, level in levels]
    return losses[0] + losses[1]


def draw_projected(key: Key, inputs: int, m: int, k: int, *, gradient: str = "full") -> ProjectedReadout:
    """Initialise a read-out in float32: a normal projection of variance 1 / inputs, with zero bias."""
    project, layer = jax.random.split(key)
    matrix = jax.random.normal(project, (m, inputs), jnp.float32) / math.sqrt(inputs)
    drawn = draw_readout(layer, m, k, gradient=gradient, dtype=jnp.float32)
    return ProjectedReadout(matrix, jnp.zeros(m, jnp.float32), drawn)


def with_bank(readout: ProjectedReadout, p: Float[Array, "k m"]) -> ProjectedReadout:
    """The same read-out with other prototypes."""
    return eqx.tree_at(lambda one: one.layer.prototypes, readout, p[None])
