"""The sentiment classifier of HARDMAX, Section 6: words as tokens, hardmax layers, a linear decoder of their mean."""

from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike
from jaxtyping import Array, Float, Int

from dynsim._types import Key, Scalar
from dynsim.errors import argument_error
from dynsim.networks.decoder.pretrained import read_tensors
from dynsim.networks.decoder.transformer import check_ids
from dynsim.networks.sentiment.passage import Passage, grouped, passed
from dynsim.networks.sentiment.reviews import Encoded
from dynsim.networks.sentiment.words import PADDING, Vocabulary
from dynsim.networks.training import Batches, Trained, Watcher, train
from dynsim.systems.hardmax.maps import HardmaxMap, SoftmaxMap

SOFT_BLOCK = 50  # reviews at a time in JAX
HARD_SLAB = 2000  # reviews at a time on the host: their tokens fit into memory at any d

Logits = Float[np.ndarray, " reviews"]


class ReviewClassifier(eqx.Module):
    r"""An encoder E, K layers of the clustering map with A = I, and a decoder of the mean token.

    $$
        \hat y = \sigma(\bar z^\top w + v), \quad \bar z = \frac{1}{n} \sum_i z_i^K, \quad Z^0 = X E
    $$

    The padding is a word like others: it has a row of E (row 0) and counts in the mean. The step size stays positive
    since its logarithm is trained. Training uses the softmax layer (2.6), evaluation either (`softmax_logits`,
    `passage`).

    Source: HARDMAX, Section 6.2.

    Attributes:
        embedding: E.
        log_alpha: the logarithm of the step size alpha.
        weight: w of the decoder.
        bias: v of the decoder.
        depth: K.
        temperature: that of the softmax layer.
    """

    embedding: Float[Array, "words d"]
    log_alpha: Float[Array, ""]
    weight: Float[Array, " d"]
    bias: Float[Array, ""]
    depth: int = eqx.field(static=True, default=8)
    temperature: float = eqx.field(static=True, default=1e-3)

    @property
    def alpha(self) -> Scalar:
        """The step size, dimensionless."""
        return jnp.exp(self.log_alpha)

    @property
    def layer(self) -> HardmaxMap:
        """The layer of evaluation; on the host, not under `jit`."""
        return HardmaxMap(np.exp(np.float64(self.log_alpha)))

    def soft_logits(self, ids: Int[Array, "reviews n"]) -> Float[Array, " reviews"]:
        """Return the logits with the softmax layer, in JAX and in the precision of the weights."""
        soft = SoftmaxMap(self.alpha, self.temperature)
        # Scores made again in the backward pass cost less than to write all layers' scores and read them: 1.4x.
        layer = jax.checkpoint(lambda x, k: (jax.vmap(lambda tokens: soft.step(k, tokens))(x), None))
        x, _ = jax.lax.scan(layer, self.embedding[ids], jnp.arange(self.depth))
        return jnp.mean(x, axis=1) @ self.weight + self.bias


def draw_classifier(
    key: Key, *, words: int, d: int, depth: int = 8, temperature: float = 1e-3, dtype: DTypeLike = jnp.float32
) -> ReviewClassifier:
    """Return a classifier before training: E standard normal, w and v uniform within $1/\\sqrt d$, alpha = 1.

    The paper does not say how training starts; E, w and v are drawn as PyTorch's layers do by default.
    """
    for name, number in (("words", words), ("d", d), ("depth", depth)):
        if number < 1:
            raise argument_error(name, "be at least 1", f"is {number}")
    if not temperature > 0:
        raise argument_error("temperature", "be positive", f"is {temperature}")
    first, second, third = jax.random.split(key, 3)
    bound = d**-0.5
    return ReviewClassifier(
        jax.random.normal(first, (words, d), dtype),
        jnp.zeros((), dtype),
        jax.random.uniform(second, (d,), dtype, -bound, bound),
        jax.random.uniform(third, (), dtype, -bound, bound),
        depth,
        temperature,
    )


def load_classifier(path: str | Path) -> tuple[ReviewClassifier, Vocabulary]:
    """Return the classifier and the vocabulary in an `.npz` file, in float64, such as the authors' of d = 2.

    The file holds `embedding`, `alpha` (a plain number, here its logarithm), `decoder_w`, `decoder_b`, `depth`,
    `temperature`, and `word` (bytes) with `word_id`, the numbers of those words that are known.

    Raises:
        ValueError: the file is missing, broken or of another layout, or alpha, depth or temperature is not positive.
    """
    tensors = read_tensors(path)
    embedding = tensors.take("embedding", None, None)
    words, d = embedding.shape
    alpha, bias = (float(tensors.take(name, 1)[0]) for name in ("alpha", "decoder_b"))
    depth, temperature = (float(tensors.take(name)) for name in ("depth", "temperature"))
    if min(alpha, depth, temperature) <= 0:
        must = "be a file with positive numbers `alpha`, `depth` and `temperature`"
        raise argument_error("path", must, f"in `{tensors.file}` one is {min(alpha, depth, temperature)}")
    named = tensors.raw("word", None)
    numbers = tensors.raw("word_id", len(named))
    check_ids("word_id", numbers, words)
    listed = [PADDING] + [""] * (words - 1)
    for number, word in zip(numbers.tolist(), named.tolist(), strict=True):
        listed[number] = word.decode()
    weight = tensors.take("decoder_w", d)
    model = ReviewClassifier(embedding, jnp.log(alpha), weight, jnp.asarray(bias), round(depth), temperature)
    return model, Vocabulary(tuple(listed))


def passage(model: ReviewClassifier, ids: Int[np.ndarray, "reviews n"]) -> Passage:
    """Return the reviews before and after the hardmax layers, with their leaders, in float64 (NumPy: not for `jit`)."""
    check_ids("ids", ids, len(model.embedding))
    return passed(grouped(ids, np.asarray(model.embedding)), model.layer, model.depth)


def passage_logits(model: ReviewClassifier, found: Passage) -> Logits:
    """Return the logits of the reviews of a passage of this model, in float64."""
    return heights(model, found.means)


def heights(model: ReviewClassifier, z: Float[np.ndarray, "*batch d"]) -> Float[np.ndarray, "*batch"]:
    r"""Return $\mathcal H(z) = z^\top w + v$ in float64, how high points are above the separating hyperplane."""
    return z @ np.asarray(model.weight, np.float64) + float(model.bias)


def hardmax_logits(model: ReviewClassifier, ids: Int[np.ndarray, "reviews n"]) -> Logits:
    """Return the logits with the hardmax layer, in float64 (NumPy: not for `jit`)."""
    slabs = (ids[first : first + HARD_SLAB] for first in range(0, len(ids), HARD_SLAB))
    return np.concatenate([passage_logits(model, passage(model, slab)) for slab in slabs])


def softmax_logits(model: ReviewClassifier, ids: Int[np.ndarray, "reviews n"]) -> Logits:
    """Return the logits with the softmax layer, computed in the precision of the weights."""
    check_ids("ids", ids, len(model.embedding))
    short = -len(ids) % SOFT_BLOCK
    blocks = np.pad(ids, ((0, short), (0, 0))).reshape(-1, SOFT_BLOCK, ids.shape[1])
    return np.asarray(_soft_blocks(model, jnp.asarray(blocks)), np.float64).reshape(-1)[: len(ids)]


@eqx.filter_jit
def _soft_blocks(model: ReviewClassifier, blocks: Int[Array, "blocks block n"]) -> Float[Array, "blocks block"]:
    return jax.lax.map(model.soft_logits, blocks)


def cross_entropies(logits: Float[Array, " reviews"], labels: Float[Array, " reviews"]) -> Float[Array, " reviews"]:
    """Return the terms of (6.1) from logits and labels 0 or 1, in nats; no logarithm of a rounded 0 is taken."""
    return jax.nn.softplus(logits) - labels * logits


def mean_loss(logits: Logits, labels: Int[np.ndarray, " reviews"]) -> float:
    """Return (6.1), in nats."""
    return float(jnp.mean(cross_entropies(jnp.asarray(logits), jnp.asarray(labels, jnp.float64))))


def accuracy(logits: Logits, labels: Int[np.ndarray, " reviews"]) -> float:
    """Return the share of reviews whose prediction, one where $\\hat y > 1/2$, is their label."""
    return float(np.mean((logits > 0) == (labels == 1)))


def epoch_batches(data: Encoded, key: Key, size: int) -> tuple[Batches, int]:
    """Return batches that visit each review once in an epoch, in an order drawn for each epoch, and their number.

    A batch holds numbers of words, labels, and weights: the last one of an epoch is filled up with reviews of weight 0.
    """
    count = len(data.labels)
    steps = -(-count // size)
    ids, labels = jnp.asarray(data.ids), jnp.asarray(data.labels)

    def batches(step: Int[Array, ""], unused: Key) -> tuple[Array, Array, Array]:
        del unused  # an epoch has one order, whichever of its steps asks for it
        order = jax.random.permutation(jax.random.fold_in(key, step // steps), count)
        places = (step % steps) * size + jnp.arange(size)
        rows = order[places % count]
        return ids[rows], labels[rows], places < count

    return batches, steps


def batch_loss(model: ReviewClassifier, batch: tuple[Array, Array, Array], key: Key) -> Scalar:
    """Return (6.1) over the reviews of a batch, with the softmax layer."""
    del key
    ids, labels, counted = batch
    kind = model.embedding.dtype
    terms = cross_entropies(model.soft_logits(ids), labels.astype(kind))
    weights = counted.astype(kind)
    return jnp.sum(weights * terms) / jnp.sum(weights)


def train_classifier(
    model: ReviewClassifier,
    data: Encoded,
    key: Key,
    *,
    epochs: int,
    batch: int = 64,
    folder: str | Path | None = None,
    watcher: Watcher | None = None,
    shown: bool | None = None,
) -> Trained:
    """Minimise (6.1) by Adam with rate 1e-3 as the paper does, with a checkpoint after each epoch.

    `watcher` is called with the number of epochs done and the model; see `train` for it, `folder` and `shown`.
    """
    for name, number in (("epochs", epochs), ("batch", batch)):
        if number < 1:
            raise argument_error(name, "be at least 1", f"is {number}")
    order, steps = jax.random.split(key)
    batches, each = epoch_batches(data, order, batch)
    seen = None if watcher is None else lambda done, model: watcher(done // each, model)
    count = epochs * each
    return train(
        model, batch_loss, batches, steps, num_steps=count, every=each, folder=folder, watcher=seen, shown=shown
    )
