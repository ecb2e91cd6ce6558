"""Derivatives by central differences, against which others are compared."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array


def central_differences(f: Callable[[Any], Array], x: Any, h: float = 1e-5) -> Array:
    """Return the derivatives of an array f(x) by the entries of x, which come first; their error is of order h^2."""
    flat, restored = ravel_pytree(x)
    steps = h * jnp.eye(len(flat), dtype=flat.dtype)
    return jax.vmap(lambda s: (f(restored(flat + s)) - f(restored(flat - s))) / (2 * h))(steps)
