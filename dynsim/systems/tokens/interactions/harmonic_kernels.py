"""Moments of tokens and sums of harmonics on the sphere by CUDA kernels."""

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dynsim._core.types import Tokens
from dynsim.kernels import Kernel
from dynsim.systems.tokens.interactions.expansions import tables
from dynsim.systems.tokens.interactions.kernels import REAL, text_of

MOST_DEGREES = 64  # a thread keeps one number for each degree and query in its local memory
DEGREES = {"float32": 8, "float64": 4}  # degrees whose sums a thread keeps in registers
THREADS = 128
FILLED = 2**17  # threads that fill a large GPU
FEWEST_TOKENS = 8  # of a thread, so that writing its sums takes less time than adding them


def kernel_fits(degree: int, x: Float[Array, "... d"]) -> bool:
    """Test whether the kernels serve this degree and tokens of this type and dimension."""
    return x.shape[-1] == 3 and x.dtype.name in REAL and degree <= MOST_DEGREES


@functools.cache
def groups_of(degree: int, dtype: str) -> np.ndarray:
    """List the orders, each with the first degree of every group of degrees that one thread sums."""
    size = DEGREES[dtype]
    return np.asarray([(m, l) for m in range(degree + 1) for l in range(m, degree + 1, size)], np.int32)


@functools.cache
def _coefficients(degree: int) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients of the recurrences: in the degree, by order and degree, and in the order."""
    table = tables(degree)
    steps = np.stack([table.forward.T, table.backward.T], axis=-1)
    return np.pad(steps, ((0, 0), (1, 0), (0, 0))), np.append(1.0, table.raising)


def moments_by_kernel(degree: int, u: Tokens, *, make: Any = Kernel) -> Float[Array, "degrees parts 4"]:
    """Sum the harmonics of unit tokens, times the tokens and one, times the coefficients of the expansion.

    Args:
        degree: the largest degree.
        u: the tokens, shape (n, 3).
        make: the class that makes a callable kernel from its text and the name of its function.
    """
    n, dtype, groups = u.shape[0], u.dtype.name, groups_of(degree, u.dtype.name)
    total = math.ceil(min(FILLED / len(groups), n / FEWEST_TOKENS))
    sizes = {"DEGREE": degree, "N": n, "THREADS": THREADS, "TOTAL": total, "DEGREES": DEGREES[dtype]}
    result = jax.ShapeDtypeStruct((len(groups), DEGREES[dtype], 2, 4, total), u.dtype)
    steps, raising = (jnp.asarray(a, u.dtype) for a in _coefficients(degree))
    grid = (math.ceil(total / THREADS), len(groups))
    kernel = make(text_of("harmonics.cu", dtype, sizes), "harmonic_moments", options=("ftz",))
    (parts,) = kernel(u, steps, raising, jnp.asarray(groups), results=[result], grid=grid, block=(THREADS,))
    sums = jnp.sum(parts, axis=-1)
    m = np.repeat(groups[:, :1], DEGREES[dtype], axis=1)
    l = groups[:, 1:] + np.arange(DEGREES[dtype])
    kept = l <= degree
    l, m = l[kept], m[kept]
    weighted = sums[kept] * jnp.asarray(2 * l + 1, u.dtype)[:, None, None]
    none = jnp.zeros((degree + 1, degree + 1, 2, 4), u.dtype)
    return jnp.swapaxes(none.at[l, m].set(weighted), 1, 2).reshape(degree + 1, -1, 4)


def values_by_kernel(degree: int, v: Float[Array, "queries 3"], moments: Array, *, make: Any = Kernel) -> Array:
    """Sum the scaled harmonics of queries times moments, shape (queries, 4).

    Args:
        degree: the largest degree.
        v: the queries.
        moments: the result of `moments_by_kernel`.
        make: the class that makes a callable kernel from its text and the name of its function.
    """
    n, dtype = v.shape[0], v.dtype.name
    rows = 4 if n > 2**18 else 1
    sizes = {"DEGREE": degree, "N": n, "THREADS": THREADS, "ROWS": rows}
    steps, raising = (jnp.asarray(a, v.dtype) for a in _coefficients(degree))
    kernel = make(text_of("harmonics.cu", dtype, sizes), "harmonic_values", options=("ftz",))
    result = jax.ShapeDtypeStruct((n, 4), v.dtype)
    grid = (math.ceil(n / (rows * THREADS)),)
    return kernel(v, moments, steps, raising, results=[result], grid=grid, block=(THREADS,))[0]
