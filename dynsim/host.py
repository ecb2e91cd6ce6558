"""Rows of arrays that are picked and joined on the host, where no program is compiled for each new shape."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree


def on_host(function: Callable[..., Any], *trees: PyTree) -> PyTree:
    """Return JAX arrays, `function(np, *leaves)` of NumPy arrays for each leaf of the trees.

    Arrays that several devices share stay there: their function is `function(jnp, *leaves)`.
    """

    def of(*leaves: Any) -> Any:
        if any(isinstance(leaf, jax.Array) and len(leaf.devices()) > 1 for leaf in leaves):
            return function(jnp, *leaves)
        return jnp.asarray(function(np, *(np.asarray(leaf) for leaf in leaves)))

    return jax.tree.map(of, *trees)
