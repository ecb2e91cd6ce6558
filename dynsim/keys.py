"""Reproducible random keys from a seed, a name and an index.

JAX's generator, Threefry-2x32, is also here in NumPy, with the same bits, because JAX compiles it in every process.
Source: J. K. Salmon, M. A. Moraes, R. O. Dror and D. E. Shaw, Parallel random numbers: as easy as 1, 2, 3 (2011).
"""

import zlib
from typing import Any

import jax
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
    if str(jax.random.key_impl(key)) != THREEFRY or not _OPTIONS.jax_threefry_partitionable:
        return np.asarray(jax.random.uniform(jax.random.fold_in(key, index), (count,), float))
    folded = _hashed(np.asarray(jax.random.key_data(key)), np.array([index]))[:, 0]
    high, low = _hashed(folded, np.arange(count)).astype(np.uint64)
    return ((high << 32 | low) >> 12 | np.float64(1).view(np.uint64)).view(np.float64) - 1


_OPTIONS: Any = jax.config
THREEFRY = "threefry2x32"
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


def _hashed(key: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Two words of 32 random bits for each of the counts below 2**32, (2, counts), from the two words of a key."""
    a, b = key
    words = (a, b, a ^ b ^ np.uint32(0x1BD11BDA))
    x, y = np.full(len(counts), a), counts.astype(np.uint32) + b
    for k in range(5):
        for turn in _ROTATIONS[k % 2]:
            x = x + y
            y = (y << turn | y >> (32 - turn)) ^ x
        x, y = x + words[(k + 1) % 3], y + words[(k + 2) % 3] + np.uint32(k + 1)
    return np.stack([x, y])


def numpy_rng(key: Key, purpose: str = "") -> np.random.Generator:
    """NumPy generator seeded by a key and a word, so that draws for different purposes are independent."""
    return np.random.default_rng([*np.asarray(jax.random.key_data(key)), *purpose.encode()])
