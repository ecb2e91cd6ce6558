"""Attention in blocks of queries and keys, for any mask and dimension, with memory linear in the number of tokens."""

import functools
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from dynsim._core.types import Time, Tokens
from dynsim._core.validation import integer
from dynsim.kernels import kernels_on
from dynsim.systems.tokens.interactions.base import AbstractInteraction, Heads
from dynsim.systems.tokens.interactions.masks import AbstractMask, Full
from dynsim.systems.tokens.interactions.pair_kernel import kernel_fits, means_by_kernel
from dynsim.systems.tokens.interactions.pairs import (
    LARGEST_EXPONENT,
    Queries,
    equal_size,
    means_by_pairs,
    own_scores,
    padded,
    pairs_suffice,
)
from dynsim.systems.tokens.interactions.powers import LOG2_E, power_of_two
from dynsim.systems.tokens.interactions.product_kernel import means_by_products, products_fit
from dynsim.systems.tokens.interactions.reduced import means_by_reduction
from dynsim.systems.tokens.interactions.shards import Shard
from dynsim.systems.tokens.interactions.tiles import block_size, on_gpu
from dynsim.systems.tokens.interactions.traffic import Traffic

FEWEST_BLOCKS = 4  # with fewer blocks of queries, exploiting symmetry saves less time than its program takes to compile

KERNELS = ((means_by_products, products_fit), (means_by_kernel, kernel_fits))
"""Kernels with what they serve; the first that fits is used."""


class Place(NamedTuple):
    """Position of a block of queries and a block of keys: total number of tokens, first query, first key."""

    tokens: int
    row: int | Array
    column: int | Array


class Sums(NamedTuple):
    """Running sums of weighted tokens and of weights, the shifts of the scores, and whether these stay fixed."""

    total: Float[Array, "heads n sums"]
    shift: Float[Array, "heads n"]
    fixed: Bool[Array, " heads"]


class Blocked(AbstractInteraction):
    r"""Attention by blocks of the sums of $e^{s_{ij}}$ and $e^{s_{ij}} x_j$, without running maxima.

    The shift of the softmax is known in advance, because $s_{ij} - s_{ii}$ is at most
    $|P^\top x_i| \max_j |x_j| - s_{ii}$. Where this bound is too large for the exponential, a separate pass finds the
    row maxima. A reverse pass recomputes the blocks, so its memory is linear in n too. If all tokens attend to all and
    every P is symmetric, each pair of blocks is evaluated only once (`means_by_pairs`).

    Without sizes the machine decides. Blocks have 512 tokens on a processor and 4,096 on a GPU. If all tokens attend to
    all, a CUDA device sums over all pairs at once, by a kernel where there is one for the dimension.
    """

    rows: int | None = eqx.field(static=True)
    columns: int | None = eqx.field(static=True)

    def __init__(self, rows: int | None = None, columns: int | None = None):
        """Store the numbers of queries and of keys in a block; None chooses them for the machine."""
        self.rows = None if rows is None else integer("rows", rows, least=1)
        self.columns = None if columns is None else integer("columns", columns, least=1)

    def output(self, heads: Heads, t: Time, x: Tokens) -> Tokens:
        """Attention output of all heads, computed one head after another."""
        return self.output_here(heads, t, x, Shard())

    def output_here(self, heads: Heads, t: Time, x: Tokens, shard: Shard) -> Tokens:
        """Attention output for the tokens of this device; tokens of other devices arrive around the ring."""
        x = jnp.asarray(x)
        n = x.shape[0]
        blocks = BlockSizes(equal_size(n, self.rows or block_size()), equal_size(n, self.columns or block_size()))
        q = heads.query_key.queries(t, x)
        if shard.devices > 1 or not isinstance(heads.mask, Full):
            return heads.value.applied(t, _means(blocks, q, x, heads.mask, shard))
        by_machine = self.rows is None and self.columns is None
        return heads.value.applied(t, _means_of_all(blocks, by_machine, heads.query_key(t), q, x))

    def traffic(self, heads: Heads, x: Tokens, shard: Shard) -> Traffic:
        """Bytes received by each device for one vector field: the other devices' tokens and one norm of a token."""
        others = shard.devices - 1
        count = x.shape[0] // shard.devices * x.shape[1]
        norm = int(heads.mask.reflexive and others > 0)
        return Traffic(passed=others * count * x.dtype.itemsize, reduced=norm * x.dtype.itemsize)


class BlockSizes(NamedTuple):
    """Numbers of queries and of keys in a block, and sums over such blocks."""

    rows: int
    columns: int

    def add_part(self, sums: Sums, q: Queries, x: Tokens, mask: AbstractMask, place: Place) -> Sums:
        """Add the sums over the tokens `x` to `sums`, for the queries `q` of all heads."""
        keys = jnp.concatenate([x, jnp.ones_like(x[:, :1])], axis=1)
        add = lambda total, s, part: total + power_of_two(s) @ part

        def head(parts: tuple[Array, Array, Array, Array]) -> tuple[Array, Array]:
            q, total, shift, fixed = parts
            still = jax.lax.stop_gradient((q, keys))
            larger = lambda: jnp.maximum(shift, self._row_maxima(*still, mask, place))
            wanted = jax.lax.cond(fixed, lambda: shift, larger)
            known = jnp.where(jnp.isfinite(wanted), wanted, 0.0)  # no token has been visible yet
            none = jnp.zeros((self.rows, keys.shape[1]), x.dtype)
            new = self._over_blocks(LOG2_E * q, LOG2_E * known, keys, mask, add, none, place)
            return total * jnp.exp(shift - known)[:, None] + new, wanted

        total, shift = jax.lax.map(head, (q, sums.total, sums.shift, sums.fixed))
        return Sums(total, shift, sums.fixed)

    def no_sums(self, q: Queries, x: Tokens, mask: AbstractMask, shard: Shard) -> Sums:
        """Empty sums with the initial shift of the scores, fixed where overflow is excluded in advance.

        Under a reflexive mask the shift is the score of a token with itself. If the bound on the scores allows it, the
        weights relative to this shift neither overflow nor all underflow, and the shift stays fixed. Otherwise the
        shift follows the maximum so far.
        """
        q, x = jax.lax.stop_gradient((q, x))
        total = jnp.zeros((*q.shape[:2], x.shape[1] + 1), x.dtype)
        if not mask.reflexive:
            return Sums(total, jnp.full(q.shape[:2], -jnp.inf, x.dtype), jnp.zeros(q.shape[0], bool))
        longest = jnp.sqrt(shard.largest(jnp.max(jnp.sum(x * x, axis=1))))
        own = own_scores(q, x)
        above = jnp.sqrt(jnp.sum(q * q, axis=-1)) * longest - own
        return Sums(total, own, jnp.max(above, axis=1) <= LARGEST_EXPONENT)

    def _row_maxima(self, q: Array, keys: Array, mask: AbstractMask, place: Place) -> Float[Array, " n"]:
        larger = lambda total, s, part: jnp.maximum(total, jnp.max(s, axis=1, keepdims=True))
        none = jnp.full((self.rows, 1), -jnp.inf, keys.dtype)
        return self._over_blocks(q, jnp.zeros_like(q[:, 0]), keys, mask, larger, none, place)[:, 0]

    def _over_blocks(
        self, q: Array, shift: Array, keys: Array, mask: AbstractMask, add, start: Array, place: Place
    ) -> Array:
        """Fold `add(total, scores minus shift, keys)` over blocks of keys, for each block of queries."""
        count, n, B, K = keys.shape[0], place.tokens, self.rows, self.columns
        blocks = lambda a, size: padded(a, size).reshape(-1, size, *a.shape[1:])
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
                    s = s if count % K == 0 else s + jnp.where(j < count, 0.0, -jnp.inf).astype(s.dtype)[None]
                else:
                    s = jnp.where(mask.sees(i, place.column + j, n) & (j < count)[None], s, -jnp.inf)
                return add(total, s, part)

            def column_block(total: Array, column: tuple[Array, Array]) -> tuple[Array, None]:
                part, begin = column
                if isinstance(mask, Full):
                    return visible(total, part, begin), None
                at = place.column + begin
                outside = (at > highest) | (at + K - 1 < lowest)
                return jax.lax.cond(outside, lambda: total, lambda: visible(total, part, begin)), None

            return jax.lax.scan(jax.checkpoint(column_block), start, (columns, first_columns))[0]

        rows = blocks(q, B)
        sums = jax.lax.map(row_block, (rows, blocks(shift, B), place.row + jnp.arange(rows.shape[0]) * B))
        return sums.reshape(-1, sums.shape[-1])[: q.shape[0]]


@eqx.filter_jit
def _means(blocks: BlockSizes, q: Queries, x: Tokens, mask: AbstractMask, shard: Shard) -> Queries:
    """Means of all tokens under the weights of each head, for the queries of this device."""
    count = x.shape[0]
    place = lambda owner: Place(count * shard.devices, shard.first(count), owner * count)
    sums = blocks.add_part(blocks.no_sums(q, x, mask, shard), q, x, mask, place(shard.index))

    def hop(carry: tuple[Array, Sums], hops: Array) -> tuple[tuple[Array, Sums], None]:
        part, sums = carry
        part = shard.passed_on(part)
        return (part, blocks.add_part(sums, q, part, mask, place((shard.index - hops) % shard.devices))), None

    if shard.devices > 1:
        (_, sums), _ = jax.lax.scan(jax.checkpoint(hop), (x, sums), jnp.arange(1, shard.devices))
    return sums.total[..., :-1] / sums.total[..., -1:]


@functools.partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def _means_of_all(blocks: BlockSizes, by_machine: bool, P: Float[Array, "heads d d"], q: Queries, x: Tokens) -> Queries:
    """Means of all tokens under the weights of each head, by the fastest way of the device that runs the program.

    Derivatives use blocks of queries and keys, whose memory is linear in n.
    """
    if not (by_machine and on_gpu()):
        return _means_on_host(blocks, P, q, x)
    fitting = [work for work, fits in KERNELS if kernels_on() and fits(x)]
    at_once = [*fitting, means_by_reduction][0]
    one = jax.custom_batching.sequential_vmap(lambda P, q, x: at_once(q, x))
    return jax.lax.platform_dependent(P, q, x, cuda=one, default=functools.partial(_means_on_host, blocks))


def _means_on_host(blocks: BlockSizes, P: Float[Array, "heads d d"], q: Queries, x: Tokens) -> Queries:
    """Means by pairs of blocks where symmetry allows it.

    A batch is evaluated sequentially, because under `vmap` the condition would evaluate both branches.
    """
    if x.shape[0] <= (FEWEST_BLOCKS - 1) * blocks.rows:
        return _means(blocks, q, x, Full(), Shard())

    @jax.custom_batching.sequential_vmap
    def means(P: Array, q: Array, x: Array) -> Array:
        in_pairs = lambda: means_by_pairs(q, x, blocks.rows)
        return jax.lax.cond(pairs_suffice(P, q, x), in_pairs, lambda: _means(blocks, q, x, Full(), Shard()))

    return means(P, q, x)


@_means_of_all.defjvp
def _derivative_of_means(
    blocks: BlockSizes, by_machine: bool, at: tuple[Array, ...], along: tuple[Array, ...]
) -> tuple[Array, Array]:
    """The means and their derivative; the matrices P enter only through the queries."""
    del by_machine
    return jax.jvp(lambda q, x: _means(blocks, q, x, Full(), Shard()), at[1:], along[1:])
