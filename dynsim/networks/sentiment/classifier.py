"""The sentiment classifier of HARDMAX, Section 6: word embedding, hardmax layers, and a linear decoder."""

from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike
from jaxtyping import Array, Float, Int

from dynsim._core.types import Key, Scalar
from dynsim.errors import ArgumentError
from dynsim.networks.decoder.pretrained import read_tensors
from dynsim.networks.decoder.transformer import check_ids
from dynsim.networks.sentiment.forward_pass import ForwardPass, apply_layers, grouped
from dynsim.networks.sentiment.reviews import Encoded
from dynsim.networks.sentiment.words import PADDING, Vocabulary
from dynsim.networks.training import Callback, Trained, train
from dynsim.systems.hardmax.maps import HardmaxMap, SoftmaxMap

SOFT_BLOCK = 50  # number of reviews in a block of the softmax forward pass, in JAX
HARD_BLOCK = 2000  # number of reviews in a block of the hardmax forward pass, in NumPy; limits its memory

Logits = Float[np.ndarray, " reviews"]


class ReviewClassifier(eqx.Module):
    r"""An encoder E, K layers of the clustering map with A = I, and a linear decoder of the mean token.

    $$
        \hat y = \sigma(\bar z^\top w + v), \quad \bar z = \frac{1}{n} \sum_i z_i^K, \quad Z^0 = X E
    $$

    Padding is treated as a word: it has a row of E (row 0) and counts in the mean. The logarithm of the step size is
    trained, so that the step size stays positive. Training uses the softmax layer (2.6); evaluation uses either layer
    (`softmax_logits`, `hardmax_logits`).

    Source: HARDMAX, Section 6.2.

    Attributes:
        embedding: E, one row for each word.
        log_alpha: the logarithm of the step size alpha.
        weight: w of the decoder.
        bias: v of the decoder.
        depth: K, the number of layers.
        temperature: the temperature of the softmax layer, in the unit of the scores.
    """

    embedding: Float[Array, "words d"]
    log_alpha: Float[Array, ""]
    weight: Float[Array, " d"]
    bias: Float[Array, ""]
    depth: int = eqx.field(static=True, default=8)
    temperature: float = eqx.field(static=True, default=1e-3)

    @property
    def alpha(self) -> Scalar:
        """The step size alpha, dimensionless."""
        return jnp.exp(self.log_alpha)

    @property
    def layer(self) -> HardmaxMap:
        """The hardmax layer (NumPy: not for `jit`)."""
        return HardmaxMap(np.exp(np.float64(self.log_alpha)))

    def soft_logits(self, ids: Int[Array, "reviews n"]) -> Float[Array, " reviews"]:
        """Logits with the softmax layer, in JAX and in the precision of the weights."""
        soft = SoftmaxMap(self.alpha, self.temperature)
        # Recomputing the scores in the backward pass is 1.4 times faster than storing those of all layers.
        layer = jax.checkpoint(lambda x, k: (jax.vmap(lambda tokens: soft.step(k, tokens))(x), None))
        x, _ = jax.lax.scan(layer, self.embedding[ids], jnp.arange(self.depth))
        return jnp.mean(x, axis=1) @ self.weight + self.bias


def draw_classifier(
    key: Key, *, words: int, d: int, depth: int = 8, temperature: float = 1e-3, dtype: DTypeLike = jnp.float32
) -> ReviewClassifier:
    """Initialise a classifier: E standard normal, w, v uniform in $[-1/\\sqrt d, 1/\\sqrt d]$, alpha = 1.

    The paper does not specify the initialisation; E, w and v use PyTorch's default.

    Raises:
        ValueError: if `words`, `d` or `depth` is less than 1, or the temperature is not positive.
    """
    for name, number in (("words", words), ("d", d), ("depth", depth)):
        if number < 1:
            raise ArgumentError(name, "be at least 1", f"is {number}")
    if not temperature > 0:
        raise ArgumentError("temperature", "be positive", f"is {temperature}")
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
    """Load a classifier and its vocabulary from an `.npz` file, in float64.

    The file contains `embedding`, `alpha` (not its logarithm), `decoder_w`, `decoder_b`, `depth`, `temperature`, and
    the known words `word` (byte strings) with their indices `word_id`: the layout of the authors' weights for d = 2.

    Raises:
        ValueError: if the file is missing, damaged or of another layout, or a parameter that must be positive is not.
    """
    tensors = read_tensors(path)
    embedding = tensors.take("embedding", None, None)
    words, d = embedding.shape
    alpha, bias = (float(tensors.take(name, 1)[0]) for name in ("alpha", "decoder_b"))
    depth, temperature = (float(tensors.take(name)) for name in ("depth", "temperature"))
    if min(alpha, depth, temperature) <= 0:
        must = "be a file with positive numbers `alpha`, `depth` and `temperature`"
        raise ArgumentError("path", must, f"in `{tensors.file}` one is {min(alpha, depth, temperature)}")
    named = tensors.raw("word", None)
    numbers = tensors.raw("word_id", len(named))
    check_ids("word_id", numbers, words)
    listed = [PADDING] + [""] * (words - 1)
    for number, word in zip(numbers.tolist(), named.tolist(), strict=True):
        listed[number] = word.decode()
    weight = tensors.take("decoder_w", d)
    model = ReviewClassifier(embedding, jnp.log(alpha), weight, jnp.asarray(bias), round(depth), temperature)
    return model, Vocabulary(tuple(listed))


def forward_pass(model: ReviewClassifier, ids: Int[np.ndarray, "reviews n"]) -> ForwardPass:
    """Apply the hardmax layers to reviews, in float64 (NumPy: not for `jit`)."""
    check_ids("ids", ids, len(model.embedding))
    return apply_layers(grouped(ids, np.asarray(model.embedding)), model.layer, model.depth)


def forward_pass_logits(model: ReviewClassifier, found: ForwardPass) -> Logits:
    """Logits of the reviews of a forward pass of this model, in float64."""
    return decision_values(model, found.means)


def decision_values(model: ReviewClassifier, z: Float[np.ndarray, "*batch d"]) -> Float[np.ndarray, "*batch"]:
    r"""Decision function $\mathcal H(z) = z^\top w + v$ in float64, whose zero set is the separating hyperplane."""
    return z @ np.asarray(model.weight, np.float64) + float(model.bias)


def hardmax_logits(model: ReviewClassifier, ids: Int[np.ndarray, "reviews n"]) -> Logits:
    """Logits with the hardmax layer, in float64 (NumPy: not for `jit`)."""
    blocks = (ids[first : first + HARD_BLOCK] for first in range(0, len(ids), HARD_BLOCK))
    return np.concatenate([forward_pass_logits(model, forward_pass(model, block)) for block in blocks])


def softmax_logits(model: ReviewClassifier, ids: Int[np.ndarray, "reviews n"]) -> Logits:
    """Logits with the softmax layer, computed in the precision of the weights, as float64."""
    check_ids("ids", ids, len(model.embedding))
    short = -len(ids) % SOFT_BLOCK
    blocks = np.pad(ids, ((0, short), (0, 0))).reshape(-1, SOFT_BLOCK, ids.shape[1])
    return np.asarray(_soft_blocks(model, jnp.asarray(blocks)), np.float64).reshape(-1)[: len(ids)]


@eqx.filter_jit
def _soft_blocks(model: ReviewClassifier, blocks: Int[Array, "blocks block n"]) -> Float[Array, "blocks block"]:
    return jax.lax.map(model.soft_logits, blocks)


def cross_entropies(logits: Float[Array, " reviews"], labels: Float[Array, " reviews"]) -> Float[Array, " reviews"]:
    """Cross entropy of each review, the terms of (6.1), in nats, from logits and labels 0 or 1."""
    return jax.nn.softplus(logits) - labels * logits


def mean_loss(logits: Logits, labels: Int[np.ndarray, " reviews"]) -> float:
    """Mean cross entropy (6.1), in nats."""
    return float(jnp.mean(cross_entropies(jnp.asarray(logits), jnp.asarray(labels, jnp.float64))))


def accuracy(logits: Logits, labels: Int[np.ndarray, " reviews"]) -> float:
    """Fraction of reviews with the right prediction, which is 1 where $\\hat y > 1/2$ and 0 elsewhere."""
    return float(np.mean((logits > 0) == (labels == 1)))


class EpochBatches(eqx.Module):
    """Batches for `train` that contain each review once per epoch, in random order.

    A batch contains the word indices, the labels, and the weights of its reviews. The last batch of an epoch is padded
    with reviews of weight 0. The order depends only on the epoch and on `key`.
    """

    ids: Int[Array, "reviews n"]
    labels: Int[Array, " reviews"]
    key: Key
    size: int = eqx.field(static=True)

    @property
    def steps(self) -> int:
        """Number of batches in an epoch."""
        return -(-self.labels.shape[0] // self.size)

    def __call__(self, step: Int[Array, ""], key: Key) -> tuple[Array, Array, Array]:
        """Batch of a step: arrays of shape (size, n), (size,) and (size,)."""
        count = self.labels.shape[0]
        order = jax.random.permutation(jax.random.fold_in(self.key, step // self.steps), count)
        places = (step % self.steps) * self.size + jnp.arange(self.size)
        rows = order[places % count]
        return self.ids[rows], self.labels[rows], places < count


def batch_loss(model: ReviewClassifier, batch: tuple[Array, Array, Array], key: Key) -> Scalar:
    """Mean cross entropy (6.1) of the reviews of a batch, with the softmax layer."""
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
    callback: Callback | None = None,
    shown: bool | None = None,
) -> Trained:
    """Minimise (6.1) by Adam with learning rate 1e-3, as in the paper, with a checkpoint after each epoch.

    `callback` is called with the number of epochs done and the model. See `train` for `folder` and `shown`.
    """
    for name, number in (("epochs", epochs), ("batch", batch)):
        if number < 1:
            raise ArgumentError(name, "be at least 1", f"is {number}")
    order, steps = jax.random.split(key)
    batches = EpochBatches(jnp.asarray(data.ids), jnp.asarray(data.labels), order, batch)
    each = batches.steps
    seen = None if callback is None else lambda done, model: callback(done // each, model)
    count = epochs * each
    return train(
        model, batch_loss, batches, steps, num_steps=count, every=each, folder=folder, callback=seen, shown=shown
    )
