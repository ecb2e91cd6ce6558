"""Means of tokens in many dimensions under attention weights, by a CUDA kernel for tensor cores."""

import math
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from dynsim._core.types import Tokens
from dynsim.kernels import Kernel
from dynsim.kernels.cuda import cuda_devices
from dynsim.systems.tokens.interactions.kernels import text_of
from dynsim.systems.tokens.interactions.pairs import Queries
from dynsim.systems.tokens.interactions.powers import LOG2_E
from dynsim.systems.tokens.interactions.reduced import shifts

FEWEST_DIMENSIONS = 13  # with fewer, multiply-adds take about the same time and are more accurate
MOST_DIMENSIONS = 64  # the queries and sums of 16 tokens fit in the registers of a warp
OLDEST = 8.0  # first generation of GPUs whose tensor cores multiply numbers of 19 bits
WARPS = 4  # of a block
WIDE = 56  # dimensions above which fewer parts of the tokens take less time
FILLED = 2**15, 2**13  # warps that fill a large GPU some times, up to so many dimensions and above
FEWEST_GROUPS = 16  # groups of 8 tokens in a part
CHUNK = 32  # groups that are summed before a total grows, because tensor cores round sums down


def products_fit(x: Tokens) -> bool:
    """Test whether the kernel serves tokens of this type and dimension, and the GPU has the tensor cores."""
    able = all(float(device.compute_capability) >= OLDEST for device in cuda_devices())
    return able and x.dtype.name == "float32" and FEWEST_DIMENSIONS <= x.shape[1] <= MOST_DIMENSIONS and x.shape[0] > 0


def means_by_products(q: Queries, x: Tokens, *, make: Any = Kernel) -> Queries:
    r"""Compute the means of all tokens under the weights of each head, on a CUDA device with tensor cores.

    Each weight is $e^{s_{ij} - s_{ii}}$, or relative to the largest score of a query where that may overflow, as in
    `Blocked`. A product of two numbers leaves out $2^{-22}$ of it.

    Args:
        q: the queries P^T x_i of each head, shape (heads, n, d).
        x: the tokens, shape (n, d), for which `products_fit`.
        make: the class that makes a callable kernel from its text and the name of its function.
    """
    (n, d), heads = x.shape, q.shape[0]
    steps, blocks, groups = math.ceil(d / 8), math.ceil(n / (16 * WARPS)), math.ceil(n / 8)
    rows, width = 16 * WARPS * blocks, 8 * steps
    parts = min(math.ceil(FILLED[d > WIDE] / (blocks * WARPS * heads)), math.ceil(groups / FEWEST_GROUPS))
    sizes = {"N": n, "STEPS": steps, "HEADS": heads, "PARTS": parts, "WARPS": WARPS, "CHUNK": CHUNK}
    kernel = make(text_of("products.cu", "float32", sizes), "sums_by_products", options=("ftz",))
    queries = jnp.pad(LOG2_E * q, ((0, 0), (0, rows - n), (0, width - d)))
    shift = jnp.pad(LOG2_E * shifts(q, x), ((0, 0), (0, rows - n)))
    keys, values = _by_lanes(jnp.pad(x, ((0, 8 * groups - n), (0, width - d))))
    shapes = (parts, heads, rows, width), (parts, heads, rows, 4)
    results = [jax.ShapeDtypeStruct(shape, x.dtype) for shape in shapes]
    grid = (blocks, parts, heads)
    totals, weights = kernel(queries, shift, keys, values, results=results, grid=grid, block=(32 * WARPS,))
    sums = jnp.sum(totals, axis=0)[:, :n, :d]
    return sums / jnp.sum(weights, axis=(0, 3))[:, :n, None]


def _by_lanes(x: Float[Array, "n d"]) -> tuple[Array, Array]:
    """Order groups of 8 tokens as the lanes of a warp read them, for the scores and for the sums."""
    n, d = x.shape
    keys = x.reshape(n // 8, 8, d // 8, 4, 2).transpose(0, 2, 1, 3, 4)
    values = x.reshape(n // 8, 4, 2, d // 8, 8).transpose(0, 3, 4, 1, 2)
    return keys, values
