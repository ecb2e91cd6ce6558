"""Train by epochs at an annealed temperature, with measures after each epoch; resumed runs agree bit for bit."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PyTree

from dynsim._core.types import Key, Scalar
from dynsim.errors import check_at_least
from dynsim.io.checkpoints import Checkpoints
from dynsim.networks.training import Loss, Model, train
from dynsim.systems.prototypes.temperatures import AbstractTemperature

if TYPE_CHECKING:
    import optax

Measures = Callable[[Model, Scalar], Mapping[str, Array]]
"""Function of the model and the temperature that computes named numbers and arrays."""


class Batch(NamedTuple):
    """Rows of the data, and the temperature of their epoch."""

    rows: PyTree
    temperature: Scalar


class ShuffledRows(eqx.Module):
    """Batches of all rows of the data, in a new order in every epoch; a rest that fills no batch is left out.

    Attributes:
        data: arrays whose first axis are rows.
        key: determines the orders.
        temperature: as a function of the epoch, counted from 0.
        size: rows of a batch.
    """

    data: PyTree
    key: Key
    temperature: AbstractTemperature
    size: int = eqx.field(static=True)

    @property
    def steps(self) -> int:
        """Number of batches in an epoch."""
        return jax.tree.leaves(self.data)[0].shape[0] // self.size

    def __call__(self, step: Int[Array, ""], key: Key) -> Batch:
        """Select the batch of a step."""
        del key  # all batches of an epoch are parts of one order
        epoch = step // self.steps
        order = jax.random.permutation(jax.random.fold_in(self.key, epoch), jax.tree.leaves(self.data)[0].shape[0])
        rows = jax.lax.dynamic_slice(order, (step % self.steps * self.size,), (self.size,))
        return Batch(jax.tree.map(lambda leaf: leaf[rows], self.data), self.at(epoch))

    def at(self, epoch: int | Int[Array, ""]) -> Scalar:
        """Compute the temperature of an epoch in float32."""
        return self.temperature(jnp.asarray(epoch, float)).astype(jnp.float32)


class Epochs(NamedTuple):
    """A training: the measures after 0, 1, ... epochs, stacked, the losses of its batches, and the trained model."""

    measures: dict[str, np.ndarray]
    losses: Float[np.ndarray, " steps"]
    model: Model


def train_epochs(
    start: Model,
    loss: Loss,
    batches: ShuffledRows,
    measures: Measures,
    key: Key,
    *,
    epochs: int,
    optimiser: "optax.GradientTransformation",
    folder: Path,
    digest: str,
    advance: Callable[[int], Any],
) -> Epochs:
    """Train a model, and measure it before the first and after every epoch, at the temperature of the epoch done.

    Args:
        start: the model before training.
        loss: a function of model, `Batch` and key; the same object for several trainings shares a compiled program.
        batches: the data.
        measures: what is measured.
        key: of the training; `batches` has its own.
        epochs: their number.
        optimiser: from optax.
        folder: of the checkpoints.
        digest: what identifies the run.
        advance: called with the number of epochs done since its last call.
    """
    check_at_least(1, epochs=epochs)
    shape = eqx.filter_eval_shape(measures, start, batches.at(0))
    rows = Checkpoints(folder / "measures", digest, jax.tree.structure(shape))
    seen = 0

    def save(done: int, model: Model) -> None:
        nonlocal seen
        epoch = done // batches.steps
        if not rows.has(epoch):
            rows.save(epoch, measures(model, batches.at(max(epoch - 1, 0))))
        advance(epoch - seen)
        seen = epoch

    found = train(
        start,
        loss,
        batches,
        key,
        num_steps=epochs * batches.steps,
        optimiser=optimiser,
        every=batches.steps,
        folder=folder,
        callback=save,
        shown=False,
    )
    parts = [rows.load(epoch) for epoch in range(epochs + 1)]
    stacked = jax.tree.map(lambda *values: np.stack([np.asarray(value) for value in values]), *parts)
    return Epochs(dict(stacked), found.losses, found.model)
