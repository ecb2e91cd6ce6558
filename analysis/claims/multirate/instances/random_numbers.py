"""NumPy's random generators, seeded by JAX keys: NumPy draws many shapes without compiling a program for each."""

import jax
import numpy as np

from dynsim._core.types import Key


def numpy_rng(key: Key, purpose: str = "") -> np.random.Generator:
    """Return NumPy's generator seeded by a key and a word, so that draws for different purposes are independent."""
    return np.random.default_rng([*np.asarray(jax.random.key_data(key)), *purpose.encode()])
