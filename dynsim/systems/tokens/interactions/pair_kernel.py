"""Means of tokens under attention weights by a CUDA kernel that visits all pairs."""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from dynsim._core.types import Tokens
from dynsim.kernels import Kernel
from dynsim.systems.tokens.interactions.kernels import text_of
from dynsim.systems.tokens.interactions.pairs import LARGEST_EXPONENT, Queries

MOST_DIMENSIONS = {"float32": 24, "float64": 24}  # a thread's queries and sums fit in its registers
LANES = {"float32": 4, "float64": 2}  # numbers in one load
MOST_REGISTERS = 104  # of a thread for its queries and sums, so that enough threads run on a multiprocessor
FILLED = 2**18  # threads that fill a large GPU about twice
FEWEST_TOKENS = 64  # of a part, so that preparing a thread's queries takes less time than its pairs
CHUNK = 2048  # tokens that are summed before a total grows, which keeps the rounding errors of long sums small


class Launch(NamedTuple):
    """How the pairs of a field are divided among threads."""

    rows: int
    threads: int
    parts: int
    grid: tuple[int, int, int]


def kernel_fits(x: Tokens) -> bool:
    """Test whether the kernel serves tokens of this type and dimension."""
    return 0 < x.shape[1] <= MOST_DIMENSIONS.get(x.dtype.name, 0) and x.shape[0] > 0


def launch_for(n: int, d: int, heads: int, dtype: str, rows: int = 0) -> Launch:
    """Choose how to divide the pairs among threads; `rows` is the number of queries of a thread, 0 for the best."""
    registers = (d + 1) * (8 // LANES[dtype])  # of one query and its sums
    rows = rows or max((r for r in (2, 4, 8) if r * registers <= MOST_REGISTERS), default=1)
    threads = 128 if n > 2**15 else 64
    blocks = math.ceil(n / (rows * threads))
    parts = min(math.ceil(FILLED / (blocks * threads * heads)), math.ceil(n / FEWEST_TOKENS))
    return Launch(rows, threads, parts, (blocks, parts, heads))


def text_for(n: int, d: int, heads: int, dtype: str, launch: Launch) -> str:
    """Write the text of the kernel for the sizes of a field."""
    sizes = {"N": n, "D": d, "HEADS": heads, "PARTS": launch.parts, "ROWS": launch.rows, "THREADS": launch.threads}
    return text_of("pairs.cu", dtype, sizes | {"CHUNK": CHUNK, "LIMIT": LARGEST_EXPONENT})


def means_by_kernel(q: Queries, x: Tokens, *, make: Any = Kernel, launch: Launch | None = None) -> Queries:
    r"""Compute the means of all tokens under the weights of each head, on a CUDA device.

    Each weight is $e^{s_{ij} - s_{ii}}$, or relative to the largest score where that may overflow, as in `Blocked`.

    Args:
        q: the queries P^T x_i of each head, shape (heads, n, d).
        x: the tokens, shape (n, d), for which `kernel_fits`.
        make: the class that makes a callable kernel from its text and the name of its function.
        launch: how to divide the pairs among threads; None for the best known way.
    """
    (n, d), heads, dtype = x.shape, q.shape[0], x.dtype.name
    launch = launch or launch_for(n, d, heads, dtype)
    longest = jnp.sqrt(jnp.max(jnp.sum(x * x, axis=1)))[None]
    tokens = jnp.pad(x, ((0, 0), (0, -d % LANES[dtype])))
    kernel = make(text_for(n, d, heads, dtype, launch), "sums_over_pairs", options=("ftz",))
    shapes = (launch.parts, heads, d + 1, n), (launch.parts, heads, n)
    results = [jax.ShapeDtypeStruct(shape, x.dtype) for shape in shapes]
    totals, shifts = kernel(q, tokens, longest, results=results, grid=launch.grid, block=(launch.threads,))
    factors = jnp.exp2(shifts - jnp.max(shifts, axis=0, keepdims=True))
    sums = jnp.sum(totals * factors[:, :, None], axis=0)
    return jnp.swapaxes(sums[:, :d] / sums[:, d:], 1, 2)
