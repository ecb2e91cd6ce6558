"""Arrays on the host: whether they have values, and rows that are selected and joined without compilation."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import PyTree


def has_values(*trees: PyTree) -> bool:
    """Whether all leaves are arrays with values, neither traced nor mere shapes."""
    leaves = jax.tree.leaves(trees)
    return all(isinstance(leaf, jax.Array | np.ndarray) and not isinstance(leaf, Tracer) for leaf in leaves)


def on_host(function: Callable[..., Any], *trees: PyTree) -> PyTree:
    """Apply `function(np, *leaves)` to the leaves of trees in NumPy, and put the results on the first leaf's device.

    Arrays that are traced, or shared by several devices, stay in JAX: there `function(jnp, *leaves)` is applied.
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


def as_array(values: Any) -> jax.Array:
    """Convert an array as `jnp.asarray` does, which without a type compiles a program for each new shape of NumPy's."""
    found = values if hasattr(values, "dtype") else np.asarray(values)
    return jnp.asarray(found, found.dtype)


def room_for(count: int, *, least: int = 1) -> int:
    """Smallest power of two that is at least `count` and `least`; `least` must be a power of two."""
    return max(least, 1 << max(0, count - 1).bit_length())


def filled(values: np.ndarray, size: int) -> np.ndarray:
    """A nonempty array with its last row repeated up to `size` rows."""
    return np.concatenate([values, np.repeat(values[-1:], size - len(values), axis=0)])
