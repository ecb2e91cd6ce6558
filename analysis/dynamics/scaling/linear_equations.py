"""Solve linear equations whose unknowns and rows have units that are far apart."""

import numpy as np
from jaxtyping import Float

# Rounds in which rows and columns are divided by the geometric means of their entries in turn.
ROUNDS = 20
# Logarithm of an entry below which it is noise beside larger ones of its row and its column.
NOISE = -40.0
# Largest power of two of a row or a column, so that no product overflows: entries may be as small as 1e-318.
MOST = 250


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
    if np.linalg.cond(matrix) <= limit:
        return np.linalg.inv(matrix)
    rows, columns = equilibration(matrix)
    scaled = rows[:, None] * matrix * columns
    return columns[:, None] * np.linalg.inv(scaled) * rows if np.linalg.cond(scaled) <= limit else None


def equilibration(matrix: Float[np.ndarray, "m n"]) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, " n"]]:
    """Choose powers of two for rows and columns whose products with the entries have logarithms near zero.

    Entries that are rounding errors beside the largest ones of both their row and their column have no weight. Other
    units of rows and columns give the same products.

    Source: A. R. Curtis and J. K. Reid, On the automatic scaling of matrices for Gaussian elimination (1972).
    """
    known = matrix != 0
    sizes = np.log2(np.abs(np.where(known, matrix, 1.0)))
    while True:
        rows, columns = _logarithms(sizes, known)
        scaled = np.where(known, sizes + rows[:, None] + columns, -np.inf)
        largest = np.minimum(np.max(scaled, 1, initial=-np.inf)[:, None], np.max(scaled, 0, initial=-np.inf))
        small = known & (scaled < largest + NOISE)
        if not np.any(small):
            break
        known = known & ~small
    rows, columns = (2.0 ** np.clip(np.round(part), -MOST, MOST) for part in (rows, columns))
    return rows, columns


def _logarithms(sizes: np.ndarray, known: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute logarithms of the factors that bring known entries near one in the mean, by alternating projections."""
    rows, columns = np.zeros(len(sizes)), np.zeros(sizes.shape[1])
    mean = lambda left, axis: np.sum(np.where(known, left, 0.0), axis) / np.maximum(np.sum(known, axis), 1)
    for _ in range(ROUNDS):
        rows = -mean(sizes + columns, 1)
        columns = -mean(sizes + rows[:, None], 0)
    return rows, columns
