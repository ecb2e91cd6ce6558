"""Attention masks: full, causal, and causal with a window."""

import abc
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from dynsim._core.validation import integer

Indices = Int[Array, "..."]


class AbstractMask(eqx.Module):
    """Which tokens attend to which: `mask(n)[i, j]` is true if token i attends to token j."""

    reflexive: ClassVar[bool] = False  # whether every token attends to itself

    @abc.abstractmethod
    def __call__(self, n: int) -> Bool[Array, "n n"]:
        """Boolean matrix of the mask for `n` tokens."""

    def hide(self, scores: Float[Array, "heads n n"]) -> Float[Array, "heads n n"]:
        """Scores with minus infinity where a token does not attend."""
        return jnp.where(self(scores.shape[-1])[None], scores, -jnp.inf)

    def sees(self, i: Indices, j: Indices, n: int) -> Bool[Array, "rows columns"]:
        """Whether each token of `i` attends to each token of `j`, among `n` tokens.

        Indices beyond `n - 1` count as the last token. A mask that can answer without the full n x n table overrides
        this method and `span`.
        """
        return self(n)[jnp.minimum(i, n - 1)][:, jnp.minimum(j, n - 1)]

    def span(self, i: Indices, n: int) -> tuple[Indices, Indices]:
        """First and last token that each token of `i` may attend to; it attends to none outside this range."""
        return jnp.zeros_like(i), jnp.full_like(i, n - 1)


class Full(AbstractMask):
    """Every token attends to every token."""

    reflexive: ClassVar[bool] = True

    def __call__(self, n: int) -> Bool[Array, "n n"]:
        """A matrix of ones."""
        return jnp.ones((n, n), bool)

    def hide(self, scores: Float[Array, "heads n n"]) -> Float[Array, "heads n n"]:
        """The scores unchanged, because no token is hidden."""
        return scores


class Causal(AbstractMask):
    """A token attends to itself and to the tokens before it.

    Source: CONSENSUS, Section 5.
    """

    reflexive: ClassVar[bool] = True

    def __call__(self, n: int) -> Bool[Array, "n n"]:
        """A lower triangular matrix of ones."""
        return jnp.tril(jnp.ones((n, n), bool))

    def sees(self, i: Indices, j: Indices, n: int) -> Bool[Array, "rows columns"]:
        """Whether j <= i."""
        return j[None] <= i[:, None]

    def span(self, i: Indices, n: int) -> tuple[Indices, Indices]:
        """The range of tokens 0 to i."""
        return jnp.zeros_like(i), i


class Window(AbstractMask):
    """A token attends to itself and to the `width - 1` tokens before it."""

    reflexive: ClassVar[bool] = True
    width: int = eqx.field(static=True)

    def __init__(self, width: int):
        """Store the width, at least one token."""
        self.width = integer("width", width, least=1)

    def __call__(self, n: int) -> Bool[Array, "n n"]:
        """A band of ones on and below the diagonal."""
        return jnp.tril(jnp.ones((n, n), bool)) & jnp.triu(jnp.ones((n, n), bool), 1 - self.width)

    def sees(self, i: Indices, j: Indices, n: int) -> Bool[Array, "rows columns"]:
        """Whether i - width < j <= i."""
        return (j[None] <= i[:, None]) & (j[None] > i[:, None] - self.width)

    def span(self, i: Indices, n: int) -> tuple[Indices, Indices]:
        """The range of tokens i - width + 1 to i."""
        return i - self.width + 1, i
