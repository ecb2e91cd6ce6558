"""Pooling of tokens to block means, and upsampling of blocks to tokens."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dynsim.errors import ArgumentError


def num_blocks(n: int, block: int) -> int:
    """Number of blocks of `block` tokens in a sequence of `n` tokens; the last block may be shorter."""
    if n < 1:
        raise ArgumentError("n", "be at least 1", f"is {n}")
    if block < 1:
        raise ArgumentError("block", "be at least 1", f"is {block}")
    return -(-n // block)


def causal_pool(x: Float[Array, "n d"], *, block: int) -> Float[Array, "blocks d"]:
    r"""Mean of the tokens of every block, including a shorter last block.

    $$ y_k = \frac{1}{|B_k|} \sum_{i \in B_k} x_i, \quad B_k = \{i < n : \lfloor i / P \rfloor = k\} $$

    A sequence shorter than a block is one block.

    Source: MULTIRATE, Definition 3, (4), and the remark on the tail under Definition 6.

    Raises:
        ValueError: if there is no token, or `block` is less than 1.
    """
    n, d = x.shape
    blocks = num_blocks(n, block)
    whole = jnp.pad(x, ((0, blocks * block - n), (0, 0)))
    sums = jnp.sum(whole.reshape(blocks, block, d), axis=1)
    counts = np.minimum(block, n - block * np.arange(blocks))
    return sums / jnp.asarray(counts, x.dtype)[:, None]


def causal_upsample(y: Float[Array, "blocks d"], n: int, *, block: int) -> Float[Array, "n d"]:
    r"""Row of the previous block for each token, $c_i = y_{\lfloor i/P \rfloor - 1}$, zero in the first block.

    The last row of `y` is not used.

    Source: MULTIRATE, Definition 6, (7).

    Raises:
        ValueError: if `y` does not have one row for each block of `n` tokens, or `n` or `block` is less than 1.
    """
    _check_rows(y, n, block)
    before = jnp.concatenate([jnp.zeros_like(y[:1]), y[:-1]])
    return jnp.repeat(before, block, axis=0)[:n]


def leaking_upsample(y: Float[Array, "blocks d"], n: int, *, block: int) -> Float[Array, "n d"]:
    r"""Row of its own block for each token, $c_i = y_{\lfloor i/P \rfloor}$, which violates causality.

    Source: MULTIRATE, Definition 6 and Section 4.1.

    Raises:
        ValueError: if `y` does not have one row for each block of `n` tokens, or `n` or `block` is less than 1.
    """
    _check_rows(y, n, block)
    return jnp.repeat(y, block, axis=0)[:n]


def _check_rows(y: Float[Array, "blocks d"], n: int, block: int) -> None:
    blocks = num_blocks(n, block)
    if y.shape[0] != blocks:
        must = f"have {blocks} rows, one for each block of {block} among {n} tokens"
        raise ArgumentError("y", must, f"has {y.shape[0]}")
