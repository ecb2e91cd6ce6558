"""Named streams of random keys."""

import zlib

import jax

from dynsim._types import Key


def stream(seed: int, name: str, index: int = 0) -> Key:
    """Return the key number `index` of the stream `name`: another name, or one more name, changes no other key."""
    if seed < 0 or index < 0:
        raise ValueError(f"Arguments `seed` and `index` must not be negative, but are {seed} and {index}.")
    key = jax.random.fold_in(jax.random.key(seed), zlib.crc32(name.encode()))
    return jax.random.fold_in(key, index)
