"""The interface of interactions, and the dense one: a matrix of weights for each head."""

import abc
from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from dynsim._core.types import Time, Tokens
from dynsim.spaces import AbstractSpace
from dynsim.systems.schedules import AbstractSchedule
from dynsim.systems.tokens.interactions.masks import AbstractMask


@runtime_checkable
class Heads(Protocol):
    """The attention heads that an interaction evaluates: P, U, the mask and the space of the tokens."""

    @property
    def query_key(self) -> AbstractSchedule:
        """The matrices P."""
        ...

    @property
    def value(self) -> AbstractSchedule:
        """The matrices U, one for each head or one for all."""
        ...

    @property
    def mask(self) -> AbstractMask:
        """Which tokens attend to which."""
        ...

    @property
    def space(self) -> AbstractSpace:
        """The space of the tokens."""
        ...

    def weights(self, t: Time, x: Tokens) -> Float[Array, "heads n n"]:
        """Return the attention weights."""
        ...


class AbstractInteraction(eqx.Module):
    """A way to compute the sum over heads and tokens of w_ij U x_j; all ways have the same answer."""

    @abc.abstractmethod
    def output(self, heads: Heads, t: Time, x: Tokens) -> Tokens:
        """Return for each token i the sum over h and j of w^h_ij U_h x_j, shape (n, d)."""

    def prepared(self, heads: Any) -> "AbstractInteraction":
        """Return the interaction for these heads, with what depends on their matrices alone computed once.

        Raises:
            ValueError: if it cannot compute the output of these heads.
        """
        del heads
        return self


class Dense(AbstractInteraction):
    """All weights at once: n^2 numbers for each head, the least work for few tokens."""

    def output(self, heads: Heads, t: Time, x: Tokens) -> Tokens:
        """Return the product of the weights with the values; values that heads share are computed once."""
        weights = heads.weights(t, x)
        if heads.value.shape[0] < weights.shape[0]:
            weights = jnp.sum(weights, axis=0, keepdims=True)
        return heads.value.mix(t, weights, x)
