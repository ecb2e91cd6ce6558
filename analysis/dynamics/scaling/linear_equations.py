"""Solve linear equations whose unknowns and rows have units that are far apart."""

import numpy as np
from jaxtyping import Float

# Rounds in which rows and columns are divided by the geometric means of their entries in turn.
ROUNDS = 20


def least_squares(
    matrix: Float[np.ndarray, "m n"], right: Float[np.ndarray, " m"], rcond: float
) -> Float[np.ndarray, " n"]:
    """Solve linear equations in least squares, without singular values below a share `rcond` of the largest.

    Equations that seem singular are solved with rows and columns in units in which their entries are near one, if they
    are regular, or less singular, in these.
    """
    found, _, rank, _ = np.linalg.lstsq(matrix, right, rcond=rcond)
    if rank == min(matrix.shape):
        return found
    rows, columns = equilibration(matrix)
    scaled, _, better, _ = np.linalg.lstsq(rows[:, None] * matrix * columns, rows * right, rcond=rcond)
    return columns * scaled if better > rank else found


def inverse(matrix: Float[np.ndarray, "n n"], limit: float) -> Float[np.ndarray, "n n"] | None:
    """Invert a matrix, in units of `equilibration` if needed; None if its condition number exceeds a limit in both."""
    one = np.ones(len(matrix))
    for rows, columns in ((one, one), equilibration(matrix)):
        scaled = rows[:, None] * matrix * columns
        if np.linalg.cond(scaled) <= limit:
            return columns[:, None] * np.linalg.inv(scaled) * rows
    return None


def equilibration(matrix: Float[np.ndarray, "m n"]) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, " n"]]:
    """Choose powers of two for rows and columns whose products with the entries have logarithms near zero.

    Other units of rows and columns give the same products.

    Source: A. R. Curtis and J. K. Reid, On the automatic scaling of matrices for Gaussian elimination (1972).
    """
    known = matrix != 0
    sizes = np.log2(np.abs(np.where(known, matrix, 1.0)))
    rows, columns = np.zeros(len(sizes)), np.zeros(sizes.shape[1])
    mean = lambda left, axis: np.sum(np.where(known, left, 0.0), axis) / np.maximum(np.sum(known, axis), 1)
    for _ in range(ROUNDS):
        rows = -mean(sizes + columns, 1)
        columns = -mean(sizes + rows[:, None], 0)
    return 2.0 ** np.round(rows), 2.0 ** np.round(columns)
