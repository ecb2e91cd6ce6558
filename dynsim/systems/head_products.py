"""Products of the matrices of attention heads with tokens, one head at a time."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array

from dynsim._core.types import Tokens


def transposed(P: Array, x: Tokens) -> Array:
    """Product P^T x_i for one head, shape (n, d)."""
    return jnp.asarray(x) @ P


def scaled_transposed(head: tuple[Array, Array], x: Tokens) -> Array:
    """Product P^T D x_i for one head with the diagonal D and the matrix P, shape (n, d)."""
    diagonal, base = head
    return (jnp.asarray(x) * diagonal[None]) @ base


def mixed(head: tuple[Array, Array], x: Tokens) -> Array:
    """Weighted sum over j of `weights[i, j]` U x_j for one head, shape (n, d)."""
    weights, U = head
    return weights @ (jnp.asarray(x) @ U.T)


def form(P: Array, x: Tokens, y: Array | np.ndarray) -> Array:
    """Bilinear form x_i^T P y_j for one head, shape (n, m)."""
    return (jnp.asarray(x) @ P) @ y.T


def scaled_form(head: tuple[Array, Array], x: Tokens, y: Array | np.ndarray) -> Array:
    """Bilinear form x_i^T D P y_j for one head with the diagonal D and the matrix P, shape (n, m)."""
    diagonal, base = head
    return ((jnp.asarray(x) * diagonal[None]) @ base) @ y.T


def per_head(fn: Callable[..., Array], heads: Any, *others: Any) -> Array:
    """Evaluate `fn(head, *others)` for every head and stack the results.

    Outside `jit`, a named function compiles only once. The heads are evaluated one after another, because XLA's batched
    products were 1.3 times slower on CPUs.
    """
    if jax.tree.leaves(heads)[0].shape[0] == 1:
        return fn(jax.tree.map(lambda a: a[0], heads), *others)[None]
    traced = any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves((heads, others)))
    return (_mapped if traced else _compiled)(fn, heads, others)


def _mapped(fn: Callable[..., Array], heads: Any, others: tuple[Any, ...]) -> Array:
    return jax.lax.map(lambda head: fn(head, *others), heads)


_compiled = jax.jit(_mapped, static_argnums=0)  # an eager `map` of a fresh closure would recompile at every call
