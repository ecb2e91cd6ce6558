"""Null vectors of both sides of a complex matrix in balls, and equations with it that are solvable beside them."""

import functools
from collections.abc import Iterable
from typing import Any

import numpy as np

from analysis.dynamics.validated.ball_operations import flint
from analysis.dynamics.validated.balls import Balls


def complexes(values: Iterable[Any]) -> Balls:
    """Convert a vector or a matrix of numbers or balls to complex balls."""
    array = np.asarray(values, dtype=object)
    found = np.empty(array.shape, dtype=object)
    for place, value in np.ndenumerate(array):
        found[place] = flint().acb(value)
    return found


def imaginary_unit() -> Any:
    """The imaginary unit as a ball."""
    return flint().acb(0, 1)


def real_parts(values: Balls) -> Balls:
    """The real parts of complex balls."""
    return np.array([v.real for v in values], dtype=object)


def shifted(A: Balls, value: Any) -> Balls:
    """Compute A - value I."""
    return complexes(A) - complexes(np.eye(len(A))) * flint().acb(value)


def conjugate(values: Balls) -> Balls:
    """Compute the complex conjugates."""
    return np.array([v.conjugate() for v in np.ravel(values)], dtype=object).reshape(np.shape(values))


def inner(p: Balls, v: Balls) -> Any:
    """Compute <p, v>, the sum of conj(p_i) v_i."""
    return conjugate(p) @ v


def solved(M: Balls, right: Balls) -> Balls:
    """Solve M h = right.

    Raises:
        ZeroDivisionError: if the matrix may be singular.
    """
    found = flint().acb_mat(M.tolist()).solve(flint().acb_mat([[v] for v in complexes(right)]))
    return np.array([found[k, 0] for k in range(len(right))], dtype=object)


class NullSpace:
    """The null vectors q and p of a complex matrix and of its adjoint, with <p, q> = 1.

    The matrix, bordered by q, is regular exactly if zero is a simple eigenvalue.
    """

    def __init__(self, M: Balls, q: Balls):
        """Take over a matrix, (n, n), and a vector with M q = 0."""
        self.M, self.q = complexes(M), complexes(q)

    @functools.cached_property
    def _turned(self) -> Balls:
        return bordered(conjugate(self.M.T), self.q, conjugate(self.q))

    @property
    def determinant(self) -> Any:
        """The determinant of the adjoint matrix that is bordered by q; zero if the eigenvalue is not simple."""
        return flint().acb_mat(self._turned.tolist()).det()

    @functools.cached_property
    def p(self) -> Balls:
        """The null vector of the adjoint.

        Raises:
            ZeroDivisionError: if the eigenvalue may not be simple.
        """
        return solved(self._turned, complexes([0] * len(self.q) + [1]))[:-1]

    def solve(self, right: Balls) -> Balls:
        """Solve M h = right - <p, right> q with <p, h> = 0."""
        return solved(bordered(self.M, self.q, conjugate(self.p)), np.append(right, flint().acb(0)))[:-1]

    @property
    def size(self) -> Any:
        """The squared length of q."""
        return inner(self.q, self.q).real


def bordered(M: Balls, column: Balls, row: Balls) -> Balls:
    """Border a matrix by a column, a row, and zero in the corner."""
    return np.block([[M, column[:, None]], [row[None, :], complexes([[0]])]])
