"""Gradient descent of prototypes and encoder as a discrete map, with mini-batches and gradient clipping."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from dynsim._core.types import ArrayLike, Key, State, Step
from dynsim._core.validation import LONGEST, instance, integer, random_key, real, reals
from dynsim.errors import ArgumentError
from dynsim.spaces import AbstractSpace
from dynsim.systems.base import AbstractMap, in_precision_of
from dynsim.systems.prototypes.flow import Coupled, CoupledFlow, PrototypeFlow


class DescentMap(AbstractMap):
    r"""Gradient descent of encoder and prototypes, each with its own learning rate and with clipped gradients.

    $$
        \theta \leftarrow \theta - \eta_\theta\, c(\partial_\theta L), \qquad P \leftarrow P - \eta_P\, c(\partial_P L)
    $$

    The learning rates are the rates of the flow. The function c clips every entry to $\pm$ `clip_value`, and then
    scales the gradient of all variables together down to the norm `clip_norm`. With `batches`, a step uses the loss
    over the rows of one batch. The temperature is evaluated at the number of finished epochs, so its time constant is
    in epochs.

    Source: PROTOTYPES, Algorithm 1, lines 15-17, Section 7.2 (clipping).
    """

    flow: PrototypeFlow | CoupledFlow
    batches: Int[Array, "epochs batches size"] | None
    clip_value: Float[Array, ""]
    clip_norm: Float[Array, ""]

    def __init__(
        self,
        flow: PrototypeFlow | CoupledFlow,
        *,
        batches: ArrayLike | None = None,
        clip_value: Any = None,
        clip_norm: Any = None,
    ):
        """Store the flow, the row indices of each batch, and the clipping limits; None means no clipping.

        Batches have shape (epochs, batches, size), as from `random_batches`. After the last epoch they repeat from the
        first. Without batches every step uses all data and counts as an epoch.

        Raises:
            ValueError: for another type of flow, rows that the data do not have, or a limit that is not positive.
        """
        self.flow = instance("flow", flow, PrototypeFlow | CoupledFlow, "a flow of prototypes")
        self.batches = None if batches is None else _rows(batches, _count(flow))
        limit = lambda name, value: jnp.asarray(jnp.inf) if value is None else real(name, value, positive=True)
        self.clip_value, self.clip_norm = limit("clip_value", clip_value), limit("clip_norm", clip_norm)

    @property
    def space(self) -> AbstractSpace:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The space of the flow."""
        return self.flow.space

    def step(self, k: Step, x: State) -> State:
        """State after one step of gradient descent."""
        gradient = self._clipped(self.gradient(k, x))
        if isinstance(self.flow, PrototypeFlow):
            return x - self.flow.rate.astype(x.dtype) * gradient
        slow = lambda a, g: a - self.flow.encoder_rate.astype(a.dtype) * g  # pyright: ignore[reportAttributeAccessIssue]
        moved = x.prototypes - self.flow.prototype_rate.astype(x.prototypes.dtype) * gradient.prototypes
        return Coupled(jax.tree.map(slow, x.encoder, gradient.encoder), moved)

    def gradient(self, k: Step, x: State) -> State:
        """Gradient of step `k` before clipping, in the shape of the state."""
        return self.flow.gradient(in_precision_of(x, self.epoch(k)), x, self._rows_of(k))

    def epoch(self, k: Step) -> Float[Array, ""]:
        """Number of epochs (passes through the data) that are finished before step `k`."""
        count = 1 if self.batches is None else self.batches.shape[1]
        return (jnp.asarray(k) // count).astype(float)

    def _rows_of(self, k: Step) -> Int[Array, " size"] | None:
        if self.batches is None:
            return None
        epochs, count, _ = self.batches.shape
        k = jnp.asarray(k)
        return self.batches[k // count % epochs, k % count]

    def _clipped(self, gradient: State) -> State:
        limited = jax.tree.map(lambda g: jnp.clip(g, *_limits(self.clip_value, g)), gradient)
        norm = jnp.sqrt(sum(jnp.sum(g**2) for g in jax.tree.leaves(limited)))
        factor = jnp.where(norm > self.clip_norm, self.clip_norm / jnp.where(norm > 0, norm, 1.0), 1.0)
        return jax.tree.map(lambda g: g * factor.astype(g.dtype), limited)


def _limits(limit: Float[Array, ""], g: Array) -> tuple[Array, Array]:
    return -limit.astype(g.dtype), limit.astype(g.dtype)


def _count(flow: PrototypeFlow | CoupledFlow) -> int:
    return (flow.embeddings if isinstance(flow, PrototypeFlow) else flow.data).shape[0]


def _rows(batches: Any, count: int) -> Int[Array, "epochs batches size"]:
    found = np.asarray(reals("batches", batches))
    if found.ndim != 3 or found.dtype.kind not in "iu" or 0 in found.shape:
        raise ArgumentError("batches", "hold row numbers in shape (epochs, batches, size)", f"has shape {found.shape}")
    if np.min(found) < 0 or np.max(found) >= count:
        wrong = np.min(found) if np.min(found) < 0 else np.max(found)
        raise ArgumentError("batches", f"hold row numbers from 0 to {count - 1}", f"has {wrong}")
    return jnp.asarray(found)


def random_batches(key: Key, count: int, size: int, *, epochs: int) -> Int[np.ndarray, "epochs batches size"]:
    """Draw mini-batches: the rows in random order in each epoch, without an incomplete last batch.

    Raises:
        ValueError: unless all numbers are positive integers and `size` is at most `count`, the number of rows.
    """
    key, count = random_key("key", key), integer("count", count, least=1, most=LONGEST)
    size, epochs = integer("size", size, least=1), integer("epochs", epochs, least=1, most=LONGEST)
    if size > count:
        raise ArgumentError("size", f"be at most the number of rows, {count}", f"is {size}")
    whole = count - count % size
    orders = [np.asarray(jax.random.permutation(k, count)[:whole]) for k in jax.random.split(key, epochs)]
    return np.stack(orders).reshape(epochs, -1, size)
