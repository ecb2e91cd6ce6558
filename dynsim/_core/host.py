"""Arrays on the host: whether they have values, and rows that are picked and joined without a compiled program."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import PyTree


def has_values(*trees: PyTree) -> bool:
    """Return whether all leaves are arrays with values: none is traced, or stands for an array by its shape."""
    leaves = jax.tree.leaves(trees)
    return all(isinstance(leaf, jax.Array | np.ndarray) and not isinstance(leaf, Tracer) for leaf in leaves)


def on_host(function: Callable[..., Any], *trees: PyTree) -> PyTree:
    """Return JAX arrays, `function(np, *leaves)` of NumPy arrays for each leaf of the trees, on the first one's device.

    Arrays that are traced, or that several devices share, stay there: their function is `function(jnp, *leaves)`.
    """

    def of(*leaves: Any) -> Any:
        if any(isinstance(leaf, Tracer) for leaf in leaves):
            return function(jnp, *leaves)
        placed = [leaf for leaf in leaves if isinstance(leaf, jax.Array) and leaf.committed]
        if any(len(leaf.devices()) > 1 for leaf in placed):
            return function(jnp, *leaves)
        made = function(np, *(np.asarray(leaf) for leaf in leaves))
        return jax.device_put(made, placed[0].sharding if placed else None)

    return jax.tree.map(of, *trees)


def room_for(count: int, *, least: int = 1) -> int:
    """Return the next power of two that is not below `count` and `least`, itself a power of two."""
    return max(least, 1 << max(0, count - 1).bit_length())


def filled(values: np.ndarray, size: int) -> np.ndarray:
    """Return an array that is not empty, with its last row repeated up to `size` rows."""
    return np.concatenate([values, np.repeat(values[-1:], size - len(values), axis=0)])
