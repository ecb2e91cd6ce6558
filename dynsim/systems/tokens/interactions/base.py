"""The interface of interactions, and `Dense`, which forms the full matrix of attention weights."""

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
        """The query-key matrices P."""
        ...

    @property
    def value(self) -> AbstractSchedule:
        """The value matrices U, one for each head or one for all heads."""
        ...

    @property
    def mask(self) -> AbstractMask:
        """Which tokens attend to which."""
        ...

    @property
    def space(self) -> AbstractSpace:
        """The space that the tokens lie on."""
        ...

    def weights(self, t: Time, x: Tokens) -> Float[Array, "heads n n"]:
        """Attention weights of every head."""
        ...


class AbstractInteraction(eqx.Module):
    """A method for the sum over heads h and tokens j of w^h_ij U_h x_j; all methods agree up to their tolerance."""

    @abc.abstractmethod
    def output(self, heads: Heads, t: Time, x: Tokens) -> Tokens:
        """Attention output of each token i, the sum over h and j of w^h_ij U_h x_j, shape (n, d)."""

    def prepared(self, heads: Any) -> "AbstractInteraction":
        """The interaction with everything precomputed that depends only on the matrices of these heads.

        Raises:
            ValueError: if it cannot compute the output of these heads.
        """
        return self


class Dense(AbstractInteraction):
    """All attention weights at once, n^2 numbers for each head: the fastest method for few tokens."""

    def output(self, heads: Heads, t: Time, x: Tokens) -> Tokens:
        """Attention output as weights times values; a value matrix shared by all heads is applied once."""
        weights = heads.weights(t, x)
        if heads.value.shape[0] < weights.shape[0]:
            weights = jnp.sum(weights, axis=0, keepdims=True)
        return heads.value.mix(t, weights, x)
