"""Reproducible random keys from a seed, a name and an index."""

import zlib

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
    key = jax.random.fold_in(jax.random.key(seed), zlib.crc32(name.encode()))
    return jax.random.fold_in(key, index)


def numpy_rng(key: Key, purpose: str = "") -> np.random.Generator:
    """NumPy generator seeded by a key and a word, so that draws for different purposes are independent."""
    return np.random.default_rng([*np.asarray(jax.random.key_data(key)), *purpose.encode()])
