"""The exact matrix of a linear system, for theorems."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import jax.numpy as jnp
import numpy as np

from analysis.theorems.fields import field_of, step_of
from analysis.theorems.squares import Polynomial, polynomials
from dynsim._core.validation import reals
from dynsim.errors import ArgumentError, shown
from dynsim.exact import Exact, rationals
from dynsim.systems.base import AbstractFlow, AbstractMap
from dynsim.systems.master_equation.flow import MasterEquationFlow
from dynsim.systems.schedules import Constant


def linear_part(field: Sequence[Polynomial]) -> Exact:
    """The coefficients of the linear terms of a polynomial field, (n, n)."""
    n = len(field)
    powers = [tuple(int(j == k) for j in range(n)) for k in range(n)]
    return np.array([[one.get(a, Fraction(0)) for a in powers] for one in field], dtype=object).reshape(n, n)


def matrix_of(system: Any, theorem: str, name: str = "system") -> Exact | None:
    """The exact matrix of a linear flow or map, or of a matrix; None for a system that is not linear.

    Floating-point numbers are taken as the binary fractions that they are.

    Raises:
        ValueError: for what is neither, or a system of which the number of components is not known.
    """
    if not isinstance(system, AbstractFlow | AbstractMap):
        try:
            given = np.asarray(system)
            A = rationals(name, given if given.dtype == object else np.asarray(reals(name, given), float))
        except (TypeError, ValueError):
            must = "be a linear system with named components, or a square matrix"
            raise ArgumentError(name, must, f"is {shown(system)}") from None
        if A.ndim != 2 or A.shape[0] != A.shape[1] or not len(A):
            raise ArgumentError(name, "be a square matrix", f"has the shape {A.shape}")
        return A
    if isinstance(system, MasterEquationFlow):
        if not isinstance(system.generator, Constant):
            raise ArgumentError(name, "have a constant dense generator", f"has {shown(system.generator)}")
        return rationals(name, np.asarray(system.generator(0.0)[0], float))
    size = len(getattr(system, "names", ()))
    if not size:
        raise ArgumentError(name, f"have named components for {theorem}, or be a matrix", "has none")
    made = field_of if isinstance(system, AbstractFlow) else step_of
    field = polynomials(made(system, size, theorem), size)
    return linear_part(field) if field is not None and all(sum(a) == 1 for one in field for a in one) else None


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
