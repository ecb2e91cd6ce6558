"""Attention of all tokens to all with symmetric P: each pair of blocks of tokens is evaluated once."""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from dynsim._core.types import Tokens
from dynsim.systems.tokens.interactions.powers import LOG2_E, power_of_two

LARGEST_EXPONENT = 60.0  # of a score over a token's score with itself: sums n e^60 stay finite in float32 for n < 1e12

Queries = Float[Array, "heads n d"]


def pairs_suffice(P: Float[Array, "heads d d"], q: Queries, x: Tokens) -> Bool[Array, ""]:
    """Whether all P are symmetric and one shift per head keeps its weights from overflowing or all vanishing.

    Args:
        P: the matrices.
        q: the queries P^T x_i of each head.
        x: the tokens.
    """
    own = own_scores(q, x)
    longest = jnp.sqrt(jnp.max(jnp.sum(q * q, axis=-1), axis=1) * jnp.max(jnp.sum(x * x, axis=-1)))
    bounded = longest - jnp.min(own, axis=1) <= LARGEST_EXPONENT
    return jnp.all(P.mT == P) & jnp.all(bounded)


def means_by_pairs(q: Queries, x: Tokens, size: int) -> Queries:
    r"""Means of all tokens under the weights of each head, for symmetric matrices P.

    Since $e^{s_{ij}} = e^{s_{ji}}$, the weights between two blocks of tokens serve the queries of both blocks.

    Args:
        q: the queries P^T x_i of each head.
        x: the tokens.
        size: the largest number of tokens in a block.
    """
    (n, d), B = x.shape, equal_size(x.shape[0], size)
    blocks = math.ceil(n / B)
    rows = lambda a, i: jax.lax.dynamic_slice_in_dim(a, i * B, B)
    columns = lambda a, i: jax.lax.dynamic_slice_in_dim(a, i * B, B, axis=1)
    keys = padded(jnp.concatenate([x, jnp.ones_like(x[:, :1])], axis=1), B)
    transposed = keys.T

    def head(given: tuple[Array, Array]) -> Array:
        queries, shift = padded(LOG2_E * given[0], B), LOG2_E * given[1]
        kernel = lambda i, j: power_of_two(rows(queries, i) @ columns(transposed, j)[:d] - shift)

        def row(i: Array, sums: tuple[Array, Array]) -> tuple[Array, Array]:
            def pair(j: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
                own, below = carry
                E = kernel(i, j)
                more = columns(below, j) + columns(transposed, i) @ E
                return own + E @ rows(keys, j), jax.lax.dynamic_update_slice_in_dim(below, more, j * B, axis=1)

            above, below = sums
            own, below = jax.lax.fori_loop(i + 1, blocks, pair, (kernel(i, i) @ rows(keys, i), below))
            return jax.lax.dynamic_update_slice_in_dim(above, own, i * B, axis=0), below

        above, below = jax.lax.fori_loop(0, blocks, row, (jnp.zeros_like(keys), jnp.zeros_like(transposed)))
        total = (above + below.T)[:n]
        return total[:, :d] / total[:, d:]

    return jax.lax.map(head, (q, jnp.min(own_scores(q, x), axis=1)))


def own_scores(q: Queries, x: Tokens) -> Float[Array, "heads n"]:
    """Scores of the tokens with themselves."""
    return jnp.einsum("hnd,nd->hn", q, x)


def equal_size(n: int, size: int) -> int:
    """Block size that splits n tokens into equal blocks of at most `size`, so that little padding is needed."""
    return math.ceil(n / math.ceil(n / size))


def padded(a: Array, size: int) -> Array:
    """An array padded with zero rows up to a multiple of `size` rows."""
    return jnp.pad(a, [(0, -a.shape[0] % size)] + [(0, 0)] * (a.ndim - 1))
