"""Reproducible random keys from a seed, a name and an index.

JAX's generator, Threefry-2x32, is also here in NumPy, with the same bits, because JAX compiles it in every process.
Source: J. K. Salmon, M. A. Moraes, R. O. Dror and D. E. Shaw, Parallel random numbers: as easy as 1, 2, 3 (2011).
"""

import math
import zlib
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dynsim._core.types import Key
from dynsim._core.validation import integer
from dynsim.errors import ArgumentError, shown


def random_key(seed: int, name: str, index: int = 0) -> Key:
    """Derive a random key from a seed, a name and an index.

    A key depends only on its own seed, name and index, so drawing further keys never changes existing ones.

    Args:
        seed: the seed of the whole computation.
        name: what the key is for.
        index: the number of the key among those of the same name.

    Raises:
        ValueError: if `seed` or `index` is negative.

    Example:
        >>> import dynsim as ds
        >>> import jax.numpy as jnp
        >>> key = ds.random_key(0, "start")
        >>> bool(jnp.all(key == ds.random_key(0, "start"))), bool(jnp.all(key == ds.random_key(0, "start", 1)))
        (True, False)
    """
    if not isinstance(name, str):
        raise ArgumentError("name", "be a word", f"is {shown(name)}")
    seed, index = integer("seed", seed, least=0), integer("index", index, least=0, most=2**32 - 1)
    named = zlib.crc32(name.encode())
    if _OPTIONS.jax_default_prng_impl != THREEFRY or seed >= 2**31:
        return jax.random.fold_in(jax.random.fold_in(jax.random.key(seed), named), index)
    data: Any = np.array([0, seed], np.uint32)  # not an array of JAX, which would be compiled
    for number in (named, index):
        data = _hashed(data, np.array([number]))[:, 0]
    return jax.random.wrap_key_data(data, impl=THREEFRY)


def uniform_numbers(key: Key, index: int, count: int) -> np.ndarray:
    """Draw as many numbers between zero and one, those of `jax.random.uniform(jax.random.fold_in(key, index))`."""
    if not counts_by_threefry(key):
        return np.asarray(jax.random.uniform(jax.random.fold_in(key, index), (count,), float))
    folded = _hashed(np.asarray(jax.random.key_data(key)), np.array([index]))[:, 0]
    high, low = _hashed(folded, np.arange(count)).astype(np.uint64)
    return ((high << 32 | low) >> 12 | np.float64(1).view(np.uint64)).view(np.float64) - 1


_OPTIONS: Any = jax.config
THREEFRY = "threefry2x32"
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


def _hashed(key: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Two words of 32 random bits for each of the counts below 2**32, (2, counts), from the two words of a key."""
    return np.stack(hashed(key, np.zeros(len(counts), np.uint32), counts.astype(np.uint32)))


def hashed(key: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """Two words of 32 random bits from the two words of a key and those of a count, in NumPy or JAX."""
    a, b = key
    words = (a, b, a ^ b ^ np.uint32(0x1BD11BDA))
    x, y = x + a, y + b
    for k in range(5):
        for turn in _ROTATIONS[k % 2]:
            x = x + y
            y = (y << np.uint32(turn) | y >> np.uint32(32 - turn)) ^ x
        x, y = x + words[(k + 1) % 3], y + words[(k + 2) % 3] + np.uint32(k + 1)
    return x, y


def normals(key: Any, shape: tuple[int, ...], dtype: np.dtype) -> Any:
    """The numbers of `jax.random.normal` for the two words of a key of Threefry, by operations that kernels have.

    They are those of JAX up to rounding, if its option `jax_threefry_partitionable` is on.
    """
    counts = np.arange(math.prod(shape), dtype=np.uint32).reshape(shape)
    high, low = hashed(key, np.zeros(shape, np.uint32), counts)
    kind = dtype.type
    if dtype == np.float32:
        share = ((high ^ low) >> np.uint32(9)).astype(dtype) * kind(2.0**-23)
    else:
        share = (high.astype(dtype) * kind(2.0**20) + (low >> np.uint32(12)).astype(dtype)) * kind(2.0**-52)
    least = np.nextafter(kind(-1), kind(0))
    return kind(np.sqrt(2)) * jax.lax.erf_inv(jnp.maximum(share * (kind(1) - least) + least, least))


def counts_by_threefry(key: Any) -> bool:
    """Whether the numbers of a random key are those of `normals`: JAX has other generators, and another order."""
    return str(jax.random.key_impl(key)) == THREEFRY and _OPTIONS.jax_threefry_partitionable


def numpy_rng(key: Key, purpose: str = "") -> np.random.Generator:
    """NumPy generator seeded by a key and a word, so that draws for different purposes are independent."""
    return np.random.default_rng([*np.asarray(jax.random.key_data(key)), *purpose.encode()])
