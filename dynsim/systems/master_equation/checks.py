"""Checks of generators, transition matrices and probability vectors; errors name the first invalid entry."""

from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse

from dynsim._core.validation import floats_or_rationals, real
from dynsim.errors import ArgumentError

COLUMN_SUM = 1e-9  # largest column sum relative to the exit rate: far above rounding, far below a missing rate

Matrix = np.ndarray | scipy.sparse.csc_array
"""A square matrix: dense float64, dense of `Fraction` (exact), or sparse with sorted indices and no stored zeros."""


def check_generator(generator: Any, *, name: str = "generator", tolerance: float = COLUMN_SUM) -> Matrix:
    r"""Check that a matrix of shape (k, k) is the generator Q of a master equation $\dot p = Q p$, and return it.

    Its columns must sum to zero, and its off-diagonal entries must be nonnegative: `Q[i, j]` is the rate from state j
    to state i, in inverse time units. Dense input is returned as float64, sparse input as `csc_array`. An object array
    is converted to Fractions, and its columns must sum to zero exactly.

    Args:
        generator: an array, a nested sequence, or a SciPy sparse array.
        name: name of the argument in the error message.
        tolerance: largest absolute column sum of a float matrix, relative to the exit rate.

    Raises:
        ValueError: if Q is not square, finite, or a generator; the first invalid entry or column is named.

    Source: MULTIRATE, (26).
    """
    Q, tolerance = square(name, generator), float(real("tolerance", tolerance))
    rows, columns, values = entries(Q)
    bad = np.flatnonzero((rows != columns) & (values < 0))
    if bad.size:
        i, j, value = rows[bad[0]], columns[bad[0]], values[bad[0]]
        raise ArgumentError(name, "have no negative rate off its diagonal", f"entry ({i}, {j}) is {_shown(value)}")
    sums, sizes = np.asarray(Q.sum(axis=0)), exit_rates(Q)
    allowed = 0 if Q.dtype == object else tolerance * np.maximum(sizes, abs(Q.diagonal()))
    bad = np.flatnonzero(abs(sums) > allowed)
    if bad.size:
        j = bad[0]
        but = f"column {j} sums to {_shown(sums[j])}, with an exit rate of {_shown(sizes[j])}"
        raise ArgumentError(name, "have columns that sum to zero", but)
    return Q


def check_transition(weights: Any) -> Matrix:
    """Check that a matrix of shape (k, k) is row-stochastic, and return it.

    `A[i, j]` is the transition probability from state i to state j, or the attention weight that token i places on
    token j. Types are as in `check_generator`.

    Raises:
        ValueError: if A is not square and finite, has a negative entry, or a row does not sum to one; the first is
            named.
    """
    A = square("weights", weights)
    rows, columns, values = entries(A)
    bad = np.flatnonzero(values < 0)
    if bad.size:
        i, j, value = rows[bad[0]], columns[bad[0]], values[bad[0]]
        raise ArgumentError("weights", "have no negative entry", f"entry ({i}, {j}) is {_shown(value)}")
    sums = np.asarray(A.sum(axis=1))
    bad = np.flatnonzero(abs(sums - 1) > (0 if A.dtype == object else COLUMN_SUM))
    if bad.size:
        raise ArgumentError("weights", "have rows that sum to one", f"row {bad[0]} sums to {_shown(sums[bad[0]])}")
    return A


def check_distribution(probabilities: Any, size: int, *, name: str = "p0") -> np.ndarray:
    """Check that a vector of shape (size,) is a probability distribution, and return it; Fractions stay exact.

    Raises:
        ValueError: if it has another shape, has a negative entry, or does not sum to one.
    """
    p = floats_or_rationals(name, probabilities)
    if p.shape != (size,):
        raise ArgumentError(name, f"have shape ({size},)", f"has shape {p.shape}")
    bad = np.flatnonzero(~(p >= 0) | (p == np.inf))
    if bad.size:
        raise ArgumentError(name, "be a distribution", f"entry {bad[0]} is {_shown(p[bad[0]])}")
    if abs(p.sum() - 1) > (0 if p.dtype == object else COLUMN_SUM):
        raise ArgumentError(name, "be a distribution", f"sums to {_shown(p.sum())}")
    return p


def exit_rates(generator: Matrix) -> np.ndarray:
    """Exit rate of each state, shape (k,): the sum of the off-diagonal entries of its column."""
    rows, columns, values = entries(generator)
    away = rows != columns
    if generator.dtype == object:
        sums = np.array([Fraction(0)] * num_states(generator) + [None], dtype=object)[:-1]
        np.add.at(sums, columns[away], values[away])
        return sums
    sums = np.bincount(columns[away], weights=values[away], minlength=num_states(generator))
    return sums.astype(float)  # `bincount` returns integers if there are no entries


def num_states(matrix: Matrix) -> int:
    """The number of states k of a matrix of shape (k, k)."""
    return matrix.shape[0]  # pyright: ignore[reportOptionalSubscript]


def entries(matrix: Matrix) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, columns and values of the nonzero entries, column by column."""
    if isinstance(matrix, np.ndarray):
        columns, rows = np.nonzero(matrix.T)
        return rows, columns, matrix[rows, columns]
    columns = np.repeat(np.arange(num_states(matrix)), np.diff(matrix.indptr))
    return matrix.indices, columns, matrix.data


def square(name: str, matrix: Any) -> Matrix:
    """Convert a matrix to one of the types of `Matrix`; raise `ValueError` unless it is square and finite."""
    if scipy.sparse.issparse(matrix):
        found: Matrix = scipy.sparse.csc_array(matrix, dtype=float)
        found.sum_duplicates()
        found.eliminate_zeros()
        found.sort_indices()
    else:
        found = floats_or_rationals(name, matrix)
    shape = tuple(found.shape)  # pyright: ignore[reportArgumentType]
    if len(shape) != 2 or shape[0] != shape[1] or shape[0] == 0:
        raise ArgumentError(name, "have shape (k, k)", f"has shape {shape}")
    if found.dtype != object:
        rows, columns, values = entries(found)
        bad = np.flatnonzero(~np.isfinite(values))
        if bad.size:
            i, j, value = rows[bad[0]], columns[bad[0]], values[bad[0]]
            raise ArgumentError(name, "be finite", f"entry ({i}, {j}) is {value}")
    return found


def _shown(value: Any) -> str:
    return str(value) if isinstance(value, Fraction) else f"{value:.6g}"
