"""Attention in blocks of queries and keys: any mask, any dimension, memory that is linear in the number of tokens."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from dynsim._types import Time, Tokens
from dynsim.conversion import integer
from dynsim.systems.tokens.interactions.base import AbstractInteraction, Heads
from dynsim.systems.tokens.masks import AbstractMask, Full

LARGEST_EXPONENT = 60.0  # of a weight relative to that of the token itself: n e^60 is finite in float32 for n < 1e12


class Blocked(AbstractInteraction):
    r"""The sums of $e^{s_{ij}}$ and $e^{s_{ij}} x_j$ in blocks, without running maxima.

    The shift of the softmax is known before any block, since $s_{ij} - s_{ii}$ is at most
    $|P^\top x_i| \max_j |x_j| - s_{ii}$. Where that bound is too large for the exponential, the maxima of the rows are
    found in a pass of their own. A reverse pass computes the blocks anew, so that its memory is linear in n as well.
    """

    rows: int = eqx.field(static=True)
    columns: int = eqx.field(static=True)

    def __init__(self, rows: int = 1024, columns: int = 1024):
        """Store the numbers of queries and of keys in a block."""
        self.rows, self.columns = integer("rows", rows, least=1), integer("columns", columns, least=1)

    def output(self, heads: Heads, t: Time, x: Tokens) -> Tokens:
        """Return the output of all heads, one head after another."""
        x = jnp.asarray(x)
        n = x.shape[0]
        equal = lambda size: math.ceil(n / math.ceil(n / size))  # blocks of nearly equal size, to pad few tokens
        fitted = Blocked(equal(self.rows), equal(self.columns))
        return heads.value.applied(t, _every_head(fitted, heads.query_key.queries(t, x), x, heads.mask))

    def means(self, q: Float[Array, "n d"], x: Tokens, mask: AbstractMask) -> Tokens:
        """Return the means of the tokens under the weights of one head, whose queries are `q`."""
        shift = jax.lax.stop_gradient(self._shifts(q, x, mask))
        count = x.shape[1] + 1
        keys = jnp.concatenate([x, jnp.ones_like(x[:, :1])], axis=1)

        def add(total: Array, s: Array, part: Array) -> Array:
            return total + jnp.exp(s) @ part

        sums = self._over_blocks(q, shift, keys, mask, add, jnp.zeros((self.rows, count), x.dtype))
        return sums[:, :-1] / sums[:, -1:]

    def _shifts(self, q: Array, x: Tokens, mask: AbstractMask) -> Float[Array, " n"]:
        """Return for each row a shift with which no weight overflows, and the largest does not underflow."""
        longest = jnp.sqrt(jnp.max(jnp.sum(x * x, axis=1)))
        own = jnp.sum(q * x, axis=1)
        above = jnp.sqrt(jnp.sum(q * q, axis=1)) * longest - own
        if not mask.reflexive:
            return self._row_maxima(q, x, mask)
        within = jnp.max(above) <= LARGEST_EXPONENT
        return jax.lax.cond(within, lambda: own, lambda: self._row_maxima(q, x, mask))

    def _row_maxima(self, q: Array, x: Tokens, mask: AbstractMask) -> Float[Array, " n"]:
        keys = jnp.concatenate([x, jnp.ones_like(x[:, :1])], axis=1)
        larger = lambda total, s, part: jnp.maximum(total, jnp.max(s, axis=1, keepdims=True))
        none = jnp.full((self.rows, 1), -jnp.inf, x.dtype)
        return self._over_blocks(q, jnp.zeros_like(q[:, 0]), keys, mask, larger, none)[:, 0]

    def _over_blocks(self, q: Array, shift: Array, keys: Array, mask: AbstractMask, add, start: Array) -> Array:
        """Return the fold of `add(total, scores minus shift, keys)` over blocks of keys, for each block of queries."""
        n, B, K = q.shape[0], self.rows, self.columns
        blocks = lambda a, size: _padded(a, size).reshape(-1, size, *a.shape[1:])
        columns = blocks(keys, K)
        first_columns = jnp.arange(columns.shape[0]) * K

        @jax.checkpoint
        def row_block(block: tuple[Array, Array, Array]) -> Array:
            q, shift, first = block
            i = first + jnp.arange(B)
            low, high = mask.span(i, n)
            lowest, highest = jnp.min(low), jnp.max(jnp.minimum(high, n - 1))

            def visible(total: Array, part: Array, begin: Array) -> Array:
                j = begin + jnp.arange(K)
                s = q @ part[:, :-1].T - shift[:, None]
                if isinstance(mask, Full):
                    s = s if n % K == 0 else s + jnp.where(j < n, 0.0, -jnp.inf).astype(s.dtype)[None]
                else:
                    s = jnp.where(mask.sees(i, j, n) & (j < n)[None], s, -jnp.inf)
                return add(total, s, part)

            def column_block(total: Array, column: tuple[Array, Array]) -> tuple[Array, None]:
                part, begin = column
                if isinstance(mask, Full):
                    return visible(total, part, begin), None
                outside = (begin > highest) | (begin + K - 1 < lowest)
                return jax.lax.cond(outside, lambda: total, lambda: visible(total, part, begin)), None

            return jax.lax.scan(jax.checkpoint(column_block), start, (columns, first_columns))[0]

        rows = blocks(q, B)
        sums = jax.lax.map(row_block, (rows, blocks(shift, B), jnp.arange(rows.shape[0]) * B))
        return sums.reshape(-1, sums.shape[-1])[:n]


@eqx.filter_jit
def _every_head(blocked: Blocked, queries: Float[Array, "heads n d"], x: Tokens, mask: AbstractMask) -> Array:
    return jax.lax.map(lambda q: blocked.means(q, x, mask), queries)


def _padded(a: Array, size: int) -> Array:
    """Return an array with zeros appended up to a multiple of `size` rows."""
    return jnp.pad(a, [(0, -a.shape[0] % size)] + [(0, 0)] * (a.ndim - 1))
