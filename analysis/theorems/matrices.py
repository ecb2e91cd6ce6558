"""Determinants and definiteness of small matrices of functions, without factorisations."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp


def determinant(matrix: Any) -> Any:
    """Compute the determinant of a small matrix by expansion along its first row."""
    n = matrix.shape[0]
    if n == 1:
        return matrix[0, 0]
    if n == 2:
        return matrix[0, 0] * matrix[1, 1] - matrix[0, 1] * matrix[1, 0]
    total: Any = jnp.zeros(())
    for k in range(n):
        rest = jnp.concatenate([matrix[1:, :k], matrix[1:, k + 1 :]], axis=1)
        total = total + (-1.0) ** k * matrix[0, k] * determinant(rest)
    return total


def leading_minors(matrix: Callable[[Any], Any], size: int) -> list[Callable[[Any], Any]]:
    """The leading principal minors of a symmetric matrix of functions: all are positive exactly if it is definite."""
    return [lambda x, k=k: determinant(matrix(x)[:k, :k]) for k in range(1, size + 1)]
