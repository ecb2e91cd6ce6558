"""Attention masks: full, causal, and causal with a window."""

import abc
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from dynsim._core.validation import integer

Indices = Int[Array, "..."]


class AbstractMask(eqx.Module):
    """A relation between tokens: `mask(n)[i, j]` says whether token i attends to token j."""

    reflexive: ClassVar[bool] = False  # True: every token attends to itself

    @abc.abstractmethod
    def __call__(self, n: int) -> Bool[Array, "n n"]:
        """Return the relation among `n` tokens."""

    def hide(self, scores: Float[Array, "heads n n"]) -> Float[Array, "heads n n"]:
        """Return the scores with minus infinity where a token does not attend."""
        return jnp.where(self(scores.shape[-1])[None], scores, -jnp.inf)

    def sees(self, i: Indices, j: Indices, n: int) -> Bool[Array, "rows columns"]:
        """Return whether the tokens `i` attend to the tokens `j`, of `n` tokens, indices beyond counting as the last.

        A mask that knows the answer without its table of n^2 entries overrides this, and `span`.
        """
        return self(n)[jnp.minimum(i, n - 1)][:, jnp.minimum(j, n - 1)]

    def span(self, i: Indices, n: int) -> tuple[Indices, Indices]:
        """Return for each of the tokens `i` a first and a last token, outside of which it attends to none."""
        return jnp.zeros_like(i), jnp.full_like(i, n - 1)


class Full(AbstractMask):
    """Every token attends to every token."""

    reflexive: ClassVar[bool] = True

    def __call__(self, n: int) -> Bool[Array, "n n"]:
        """Return a matrix of ones."""
        return jnp.ones((n, n), bool)

    def hide(self, scores: Float[Array, "heads n n"]) -> Float[Array, "heads n n"]:
        """Return the scores as they are."""
        return scores

    def sees(self, i: Indices, j: Indices, n: int) -> Bool[Array, "rows columns"]:
        """Return ones."""
        del n
        return jnp.ones((i.shape[0], j.shape[0]), bool)


class Causal(AbstractMask):
    """A token attends to itself and the tokens before it.

    Source: CONSENSUS, Section 5.
    """

    reflexive: ClassVar[bool] = True

    def __call__(self, n: int) -> Bool[Array, "n n"]:
        """Return a lower triangular matrix of ones."""
        return jnp.tril(jnp.ones((n, n), bool))

    def sees(self, i: Indices, j: Indices, n: int) -> Bool[Array, "rows columns"]:
        """Return whether j <= i."""
        del n
        return j[None] <= i[:, None]

    def span(self, i: Indices, n: int) -> tuple[Indices, Indices]:
        """Return the tokens 0 to i."""
        del n
        return jnp.zeros_like(i), i


class Window(AbstractMask):
    """A token attends to itself and the `width - 1` tokens before it."""

    reflexive: ClassVar[bool] = True
    width: int = eqx.field(static=True)

    def __init__(self, width: int):
        """Store the width, at least one."""
        self.width = integer("width", width, least=1)

    def __call__(self, n: int) -> Bool[Array, "n n"]:
        """Return a band below the diagonal."""
        return jnp.tril(jnp.ones((n, n), bool)) & jnp.triu(jnp.ones((n, n), bool), 1 - self.width)

    def sees(self, i: Indices, j: Indices, n: int) -> Bool[Array, "rows columns"]:
        """Return whether i - width < j <= i."""
        del n
        return (j[None] <= i[:, None]) & (j[None] > i[:, None] - self.width)

    def span(self, i: Indices, n: int) -> tuple[Indices, Indices]:
        """Return the tokens i - width + 1 to i."""
        del n
        return i - self.width + 1, i
