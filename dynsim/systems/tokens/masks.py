"""Attention masks: full, causal, and causal with a window."""

import abc

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from dynsim.conversion import integer


class AbstractMask(eqx.Module):
    """A relation between tokens: `mask(n)[i, j]` says whether token i attends to token j."""

    @abc.abstractmethod
    def __call__(self, n: int) -> Bool[Array, "n n"]:
        """Return the relation among `n` tokens."""

    def hide(self, scores: Float[Array, "heads n n"]) -> Float[Array, "heads n n"]:
        """Return the scores with minus infinity where a token does not attend."""
        return jnp.where(self(scores.shape[-1])[None], scores, -jnp.inf)


class Full(AbstractMask):
    """Every token attends to every token."""

    def __call__(self, n: int) -> Bool[Array, "n n"]:
        """Return a matrix of ones."""
        return jnp.ones((n, n), bool)

    def hide(self, scores: Float[Array, "heads n n"]) -> Float[Array, "heads n n"]:
        """Return the scores as they are."""
        return scores


class Causal(AbstractMask):
    """A token attends to itself and the tokens before it.

    Source: CONSENSUS, Section 5.
    """

    def __call__(self, n: int) -> Bool[Array, "n n"]:
        """Return a lower triangular matrix of ones."""
        return jnp.tril(jnp.ones((n, n), bool))


class Window(AbstractMask):
    """A token attends to itself and the `width - 1` tokens before it."""

    width: int = eqx.field(static=True)

    def __init__(self, width: int):
        """Store the width, at least one."""
        self.width = integer("width", width, least=1)

    def __call__(self, n: int) -> Bool[Array, "n n"]:
        """Return a band below the diagonal."""
        return jnp.tril(jnp.ones((n, n), bool)) & jnp.triu(jnp.ones((n, n), bool), 1 - self.width)
