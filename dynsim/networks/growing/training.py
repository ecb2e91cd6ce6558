"""Training of the growing classifier: its loss, AdamW with gradient descent for temperatures, and its logits."""

import functools
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from dynsim._core.types import Key, Scalar
from dynsim.errors import ArgumentError, check_at_least
from dynsim.networks.growing.classifier import SentenceClassifier
from dynsim.networks.sentiment.reviews import Encoded
from dynsim.networks.training import Loss, module_of_optimisers
from dynsim.systems.prototypes.losses import PrototypeLoss

if TYPE_CHECKING:
    import optax

EVALUATED = 100  # number of sentences evaluated at a time


@functools.cache
def sentence_loss(barrier: float = 0.05, weight: float = 1.0, gradient: str = "full", task: float = 1.0) -> Loss:
    r"""Loss of a batch of sentences: cross entropy in nats, L_q, and the anti-collapse barrier of all heads.

    L_q is a mean over the tokens of a sentence and over sentences. The function is cached, so that training runs with
    the same numbers share a compiled program.

    Args:
        barrier: the coefficient lambda of the anti-collapse barrier of each head.
        weight: the weight of L_q.
        gradient: the gradient mode of L_q, `full` or `frozen`.
        task: the weight of the cross entropy.

    Source: GROWING, Algorithm, Step 2, Table 3.

    Raises:
        ValueError: for a negative number or an unknown mode.
    """
    check_at_least(0, weight=weight, task=task)
    rule = PrototypeLoss(gradient, barrier=barrier)

    def loss(model: SentenceClassifier, batch: Encoded, key: Key) -> Scalar:
        ids, labels = (jnp.asarray(part) for part in batch)
        read = jax.vmap(model)(ids, jax.random.split(key, len(ids)))
        found = jax.vmap(lambda z, counted: model.layer.losses(z, counted, rule))(read.embeddings, read.counted)
        heads = weight * jnp.sum(jnp.mean(found.competitive, axis=0)) + jnp.sum(jnp.mean(found.barrier, axis=0))
        return task * jnp.mean(jax.nn.softplus(read.logit) - labels.astype(read.logit.dtype) * read.logit) + heads

    return loss


@functools.cache
def growing_optimiser(
    num_steps: int,
    learning_rate: float = 3e-4,
    weight_decay: float = 1e-3,
    temperature_rate: float = 0.01,
    encoder: bool = True,
) -> "optax.GradientTransformation":
    r"""AdamW with a cosine schedule that ends at 0, and gradient descent for the temperatures.

    The growth state of the layer is not trained; without `encoder`, only prototypes and temperatures are.

    Source: GROWING, Algorithm, Step 2, Table 3.

    Raises:
        ValueError: if a number is not positive, or optax is not installed.
    """
    for name, rate in (("learning_rate", learning_rate), ("temperature_rate", temperature_rate)):
        if not rate > 0:
            raise ArgumentError(name, "be positive", f"is {rate}")
    check_at_least(1, num_steps=num_steps)
    check_at_least(0, weight_decay=weight_decay)
    optax = module_of_optimisers()
    adamw = optax.adamw(optax.cosine_decay_schedule(learning_rate, num_steps), weight_decay=weight_decay)
    rules: dict[Hashable, Any] = {
        "temperatures": optax.sgd(temperature_rate),
        "prototypes": adamw,
        "growth": optax.set_to_zero(),
        "rest": adamw if encoder else optax.set_to_zero(),
    }
    return optax.multi_transform(rules, _labels)


def _labels(model: Any) -> Any:
    """How each leaf is trained, by the names on its path."""

    def label(path: tuple, _: Any) -> str:
        names = [getattr(part, "name", "") for part in path]
        return next((kind for kind in ("growth", "temperatures", "prototypes") if kind in names), "rest")

    return jax.tree_util.tree_map_with_path(label, model)


def logits(model: SentenceClassifier, ids: Int[np.ndarray, "sentences length"]) -> Float[np.ndarray, " sentences"]:
    """Logits of sentences, without dropout, as float64."""
    if len(ids) == 0:
        raise ArgumentError("ids", "hold at least one sentence", "is empty")
    short = -len(ids) % EVALUATED
    blocks = np.pad(np.asarray(ids), ((0, short), (0, 0))).reshape(-1, EVALUATED, ids.shape[1])
    return np.asarray(_logits(model, jnp.asarray(blocks)), float).reshape(-1)[: len(ids)]


@eqx.filter_jit
def _logits(model: SentenceClassifier, blocks: Int[Array, "blocks block n"]) -> Float[Array, "blocks block"]:
    return jax.lax.map(lambda block: jax.vmap(lambda ids: model(ids).logit)(block), blocks)
