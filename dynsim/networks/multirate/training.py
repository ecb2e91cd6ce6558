"""Training of the multirate network: next-byte cross entropy, AdamW, and the loss on held-out text."""

import functools
from pathlib import Path
from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from dynsim._core.types import Key, Scalar
from dynsim.errors import ArgumentError, check_at_least
from dynsim.networks.multirate.network import MultirateNetwork
from dynsim.networks.training import Batches, Callback, Loss, Trained, module_of_optimisers, train

if TYPE_CHECKING:
    import optax

Windows = Int[Array, "windows length_and_next"]
EVALUATED = 8  # number of windows evaluated at a time in `text_loss`


def byte_loss(model: MultirateNetwork, batch: Windows, key: Key) -> Scalar:
    """Mean cross entropy of the next symbol, in nats per symbol."""
    del key
    return _cross_entropy(jax.vmap(model)(batch[:, :-1]), batch[:, 1:])


@functools.cache
def loss_with_residual(weight: float) -> Loss:
    """Make the loss `byte_loss` plus `weight` times the mean squared fixed-point residual of the rounds.

    The function is cached, so that training runs with the same weight share a compiled program.

    Source: MULTIRATE, Section 11.4.

    Raises:
        ValueError: if the weight is not positive.
    """
    if not weight > 0:
        raise ArgumentError("weight", "be positive", f"is {weight}")

    def loss(model: MultirateNetwork, batch: Windows, key: Key) -> Scalar:
        del key
        found = jax.vmap(model.logits_and_residual)(batch[:, :-1])
        return _cross_entropy(found.logits, batch[:, 1:]) + weight * jnp.mean(found.residual)

    return loss


@functools.cache
def adamw(learning_rate: float = 1e-3, weight_decay: float = 1e-2) -> "optax.GradientTransformation":
    """AdamW with PyTorch's default constants; the paper's constants are missing from its text.

    Raises:
        ValueError: if the learning rate is not positive, the weight decay negative, or optax is not installed.
    """
    if not learning_rate > 0:
        raise ArgumentError("learning_rate", "be positive", f"is {learning_rate}")
    check_at_least(0, weight_decay=weight_decay)
    optax = module_of_optimisers()
    return optax.adamw(learning_rate, weight_decay=weight_decay)


def train_multirate(
    model: MultirateNetwork,
    batches: Batches,
    key: Key,
    *,
    num_steps: int = 650,
    residual_weight: float = 0.0,
    learning_rate: float = 1e-3,
    weight_decay: float = 1e-2,
    every: int = 50,
    folder: str | Path | None = None,
    callback: Callback | None = None,
    shown: bool | None = None,
) -> Trained:
    """Minimise the next-byte cross entropy by AdamW; see `train` for `every`, `folder`, `callback` and `shown`.

    Runs with the same `batches`, numbers and configuration share a compiled program, even with frozen gates.
    """
    loss = loss_with_residual(residual_weight) if residual_weight else byte_loss
    rule = adamw(learning_rate, weight_decay)
    return train(
        model,
        loss,
        batches,
        key,
        num_steps=num_steps,
        optimiser=rule,
        every=every,
        folder=folder,
        callback=callback,
        shown=shown,
    )


def text_loss(model: MultirateNetwork, found: Int[np.ndarray, "windows length_and_next"]) -> float:
    """Mean cross entropy over windows of text, (windows, length + 1), in nats per symbol."""
    if len(found) == 0:
        raise ArgumentError("found", "hold at least one window", "is empty")
    short = -len(found) % EVALUATED
    parts = np.pad(found, ((0, short), (0, 0))).reshape(-1, EVALUATED, found.shape[1])
    losses = np.asarray(_window_losses(model, jnp.asarray(parts)), np.float64)
    return float(np.mean(losses.reshape(-1)[: len(found)]))


@eqx.filter_jit
def _window_losses(
    model: MultirateNetwork, parts: Int[Array, "parts part length_and_next"]
) -> Float[Array, "parts part"]:
    one = lambda window: _cross_entropy(model(window[:-1]), window[1:])
    return jax.lax.map(jax.vmap(one), parts)


def _cross_entropy(logits: Float[Array, "*batch vocabulary"], ids: Int[Array, "*batch"]) -> Scalar:
    chosen = jnp.take_along_axis(logits, ids[..., None], axis=-1)[..., 0]
    return jnp.mean(jax.nn.logsumexp(logits, axis=-1) - chosen)
