"""Exact sums over all pairs of tokens in plain JAX for a GPU: one reduction, or products with all tokens at once."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from dynsim._core.types import Tokens
from dynsim.systems.tokens.interactions.pairs import LARGEST_EXPONENT, Queries, equal_size, own_scores, padded
from dynsim.systems.tokens.interactions.powers import LOG2_E
from dynsim.systems.tokens.interactions.tiles import tile_size

FEW = 8  # largest dimension for one reduction, whose numbers stay in registers
SPLIT = jax.lax.DotAlgorithmPreset.BF16_BF16_F32_X6  # products of float32 by tensor cores, accurate to 2^-22

SHORTEST = 8  # axis of such a product; smaller ones take no time


def means_by_reduction(q: Queries, x: Tokens) -> Queries:
    r"""Compute the means of all tokens under the weights of each head, without blocks of keys.

    Each weight is $e^{s_{ij} - s_{ii}}$, or relative to the largest score of a query where that may overflow, as in
    `Blocked`. Some queries at a time, so that their scores fit in memory where XLA keeps them.

    Args:
        q: the queries P^T x_i of each head, shape (heads, n, d).
        x: the tokens, shape (n, d).
    """
    sums = _by_columns if x.shape[1] <= FEW else _by_tiles
    head = lambda given: sums(LOG2_E * given[0], LOG2_E * given[1], x)
    return jax.lax.map(head, (q, shifts(q, x)))


def shifts(q: Queries, x: Tokens) -> Float[Array, "heads n"]:
    """Compute the scores that are subtracted: of tokens with themselves, or the largest where weights may overflow."""
    own = own_scores(q, x)
    longest = jnp.sqrt(jnp.max(jnp.sum(x * x, axis=1)))
    far = ~(jnp.sqrt(jnp.sum(q * q, axis=-1)) * longest - own <= LARGEST_EXPONENT)
    largest = _largest_by_columns if x.shape[1] <= FEW else _largest_by_tiles
    every = lambda: jnp.where(far, jax.lax.map(lambda q: largest(q, x), q), own)
    return jax.lax.cond(jnp.any(far), every, lambda: own)


def _scores_by_columns(q: Array, shift: Array, x: Tokens) -> Array:
    scores = -shift[:, None]
    for c in range(x.shape[1]):
        scores = scores + q[:, c, None] * x[None, :, c]
    return scores


def _by_columns(q: Array, shift: Array, x: Tokens) -> Array:
    """Sum weights and weighted tokens in one reduction, by multiply-adds of columns."""
    d = x.shape[1]
    added = lambda a, b: tuple(u + v for u, v in zip(a, b, strict=True))

    def tile(part: tuple[Array, Array]) -> Array:
        w = jnp.exp2(_scores_by_columns(*part, x))
        terms = (*(w * x[None, :, c] for c in range(d)), w)
        sums = jax.lax.reduce(terms, (jnp.zeros((), x.dtype),) * (d + 1), added, (1,))
        return jnp.stack([total / sums[d] for total in sums[:d]], axis=1)

    return _over_tiles(tile, (q, shift), x.shape[0])


def _largest_by_columns(q: Array, x: Tokens) -> Array:
    tile = lambda part: jnp.max(_scores_by_columns(part[0], jnp.zeros_like(part[0][:, 0]), x), axis=1)
    return _over_tiles(tile, (q,), x.shape[0])


def _by_tiles(q: Array, shift: Array, x: Tokens) -> Array:
    """Sum weights and weighted tokens for some queries at a time, by products with all tokens."""
    ones = jnp.concatenate([x, jnp.ones_like(x[:, :1])], axis=1)

    def tile(part: tuple[Array, Array]) -> Array:
        sums = _product(jnp.exp2(_product(part[0], x.T) - part[1][:, None]), ones)
        return sums[:, :-1] / sums[:, -1:]

    return _over_tiles(tile, (q, shift), x.shape[0])


def _largest_by_tiles(q: Array, x: Tokens) -> Array:
    return _over_tiles(lambda part: jnp.max(_product(part[0], x.T), axis=1), (q,), x.shape[0])


def _over_tiles(work, parts: tuple[Array, ...], n: int) -> Array:
    size = equal_size(n, min(n, tile_size(n, parts[0].dtype.itemsize)))
    tiles = tuple(padded(a, size).reshape(-1, size, *a.shape[1:]) for a in parts)
    found = jax.lax.map(work, tiles)
    return found.reshape(-1, *found.shape[2:])[:n]


def _product(a: Array, b: Float[Array, "m d"] | Tokens) -> Array:
    """Multiply matrices with the accuracy of float32, by several products of shorter numbers.

    Where an axis has length one XLA makes one product of short numbers of it, which is wrong by a thousandth.
    """
    split = a.dtype == jnp.float32 and min(*a.shape, *b.shape) >= SHORTEST
    return jnp.dot(a, b, precision=SPLIT if split else "highest")
