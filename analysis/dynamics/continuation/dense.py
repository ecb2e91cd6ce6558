"""Linear algebra of continuation: Newton steps, tangents, and the signed least singular value of a matrix.

Small matrices have a singular value decomposition. From `LARGE` rows on, one LU factorisation serves instead, which
takes a tenth of the time; matrices that are nearly singular are decomposed, whatever their size. Sparse matrices with
a dense border have their own algebra, `sparse.matrices`.
"""

import contextlib
import functools
from typing import Any

import numpy as np
from jaxtyping import Float

from analysis.dynamics.sparse.matrices import Bordered, Extended, SparseMatrix, sign_of_permutation, without_least

# Number of rows from which matrices are factorised; a decomposition of smaller ones is as fast.
LARGE = 40
# Number of rows from which matrices are factorised as sparse ones, and the largest share of entries that are not zero.
SPARSE, FEW = 120, 0.1
# Relative singular value of sparse matrices that is due to rounding; stretching from node to node makes others small.
ROUNDING = 1e-13
# Relative singular value below which a Newton step has no part along its direction.
NEGLIGIBLE = 1e-11
# Pivot, relative to the largest, below which the least singular value is zero up to rounding.
NO_PIVOT = 1e-50
# Number of times that the least singular value exceeds its rounding error, by an estimate from a single vector.
SURE = 1e3
# Reciprocal condition above which a matrix is far from singular, in the norm of columns.
REGULAR = 1e-6
# Number of steps of the power method. Singular values are compared with bounds that need a single digit, and beside a
# branch point, where the least one is compared with zero, one step is exact.
POWERS = 4


@functools.cache
def identity(rows: int, columns: int, *, sparse: bool = False) -> Any:
    """The identity, or the first columns of it, as a basis."""
    if sparse:
        from scipy.sparse import eye_array

        return eye_array(rows, columns, format="csr")
    found = np.eye(rows)[:, :columns]
    found.flags.writeable = False
    return found


@functools.cache
def _lapack(name: str) -> Any:
    """A function of LAPACK for real numbers, whose call takes a fifth of the time of SciPy's own functions."""
    import scipy.linalg

    return scipy.linalg.get_lapack_funcs((name,), dtype=float)[0]


class _Factors:
    """LU factorisation of a square matrix, with estimates of its extreme singular values.

    Matrices with few entries, such as those of periodic orbits on many nodes, are factorised as sparse ones.
    """

    def __init__(self, matrix: Float[np.ndarray, "n n"]):
        self.sparse: Any = None
        if _has_few(matrix):
            import scipy.sparse.linalg

            self.matrix = scipy.sparse.csc_array(matrix)
            with contextlib.suppress(RuntimeError):  # a zero pivot
                self.sparse = scipy.sparse.linalg.splu(self.matrix)
                self.diagonal = self.sparse.U.diagonal()
                return
        self.lu, self.pivots, _ = _lapack("getrf")(matrix)  # without a warning for a zero pivot
        self.matrix, self.diagonal = matrix, np.diagonal(self.lu)

    def solved(self, left: Float[np.ndarray, " n"], *, transposed: bool = False) -> Float[np.ndarray, " n"]:
        if self.sparse is not None:
            return self.sparse.solve(left, "T" if transposed else "N")
        return _lapack("getrs")(self.lu, self.pivots, left, trans=int(transposed))[0]

    @property
    def is_regular(self) -> bool:
        """Test by an estimate of the condition whether the matrix is far from singular.

        Solutions of dense equations then have at least six digits. Least singular values of sparse matrices are small
        for other reasons, and are compared with rounding errors.
        """
        size = float(abs(self.matrix).sum(axis=0).max())
        if self.sparse is None:
            return bool(_lapack("gecon")(self.lu, size)[0] > REGULAR)
        probe = np.random.default_rng(len(self.diagonal)).normal(size=len(self.diagonal))
        with np.errstate(all="ignore"):
            return bool(np.linalg.norm(self.solved(probe)) * size * SURE * ROUNDING < 1)

    @property
    def sign(self) -> float:
        """Compute the sign of the determinant."""
        if self.sparse is not None:
            signs = sign_of_permutation(self.sparse.perm_r) * sign_of_permutation(self.sparse.perm_c)
            return float(np.prod(np.sign(self.diagonal))) * signs
        swaps = int(np.sum(self.pivots != np.arange(len(self.pivots))))
        return float(np.prod(np.sign(self.diagonal))) * (-1.0) ** swaps

    @property
    def singular_values(self) -> tuple[float, float]:
        """Estimate the largest and the least singular value by the power method from a fixed vector."""
        large = small = np.random.default_rng(len(self.diagonal)).normal(size=len(self.diagonal))
        most = least = 0.0
        for _ in range(POWERS):
            large = self.matrix.T @ (self.matrix @ (large / np.linalg.norm(large)))
            most = float(np.linalg.norm(large)) ** 0.5
        if np.min(np.abs(self.diagonal)) > NO_PIVOT * np.max(np.abs(self.diagonal)):
            for _ in range(POWERS):
                with np.errstate(over="ignore", invalid="ignore"):
                    small = self.solved(self.solved(small / np.linalg.norm(small), transposed=True))
                    size = float(np.linalg.norm(small))
                if not np.isfinite(size):  # its square is no number: the value is zero up to rounding
                    return most, 0.0
                least = 1 / size**0.5
        return most, least


def _has_few(matrix: np.ndarray) -> bool:
    """Test whether a matrix is so large, and has so few entries, that it is treated as a sparse one."""
    return len(matrix) >= SPARSE and bool(np.count_nonzero(matrix) <= FEW * matrix.size)


def solution(matrix: Float[np.ndarray, "n n"] | Bordered, left: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """Solve linear equations; the shortest solution of least squares if the matrix is nearly singular."""
    if isinstance(matrix, Bordered):
        return matrix.solution(left)
    factors = _Factors(matrix)
    if factors.is_regular:
        return factors.solved(left)
    if len(matrix) >= LARGE:
        most, least = factors.singular_values
        if least > (ROUNDING if factors.sparse is not None else 10 * NEGLIGIBLE) * most:
            return factors.solved(left)
        if factors.sparse is not None:
            return without_least(SparseMatrix(factors.matrix), left)
    return np.linalg.lstsq(matrix, left, rcond=NEGLIGIBLE)[0]


def null_space(matrix: Float[np.ndarray, "m n"] | Extended, share: float, *, least: int) -> Float[np.ndarray, "k n"]:
    """Find right singular vectors with small singular values, relative to the largest, and at least `least` of them."""
    if isinstance(matrix, Extended):
        return matrix.least(share, least)[0].T[::-1]
    if matrix.shape[1] == len(matrix) + 1 and _has_few(matrix):
        from scipy.sparse import csc_array

        largest = float(np.max(np.linalg.norm(matrix, axis=1)))
        extended = Extended(SparseMatrix(csc_array(matrix[:, :-1])), matrix[:, -1])
        return extended.least(share * max(1.0, largest), least)[0].T[::-1]
    _, sizes, right = np.linalg.svd(matrix)
    full = np.append(sizes, np.zeros(right.shape[0] - len(sizes)))
    return right[-max(least, int(np.sum(full <= share * max(1.0, full[0])))) :]


def null_vector(
    matrix: Float[np.ndarray, "m n"] | Extended, share: float, direction: Float[np.ndarray, " n"] | None
) -> Float[np.ndarray, " n"]:
    """Compute the unit null vector of a matrix, nearest to a direction if several singular values are small.

    Args:
        matrix: derivatives of the equations of a curve.
        share: singular values below this share of the largest one count as zero.
        direction: a unit vector, near the null vector that is wanted.
    """
    if isinstance(matrix, Extended):
        towards = np.append(np.zeros(len(matrix.inner)), 1.0) if direction is None else direction
        found = matrix.with_row(towards).null_vector()
        return _of_several(null_space(matrix, share, least=1), direction) if found is None else found
    m, n = matrix.shape
    if direction is not None and n == m + 1:
        factors = _Factors(np.vstack([matrix, direction]))
        regular = factors.is_regular
        if not regular and n >= LARGE:
            most, smallest = factors.singular_values
            bound = ROUNDING if factors.sparse is not None else 2 * share
            regular = smallest > bound * max(1.0, most)
        if regular:  # so is the matrix without this row
            found = factors.solved(np.append(np.zeros(m), 1.0))
            return found / np.linalg.norm(found)
    return _of_several(null_space(matrix, share, least=1), direction)


def _of_several(rows: Float[np.ndarray, "k n"], direction: Float[np.ndarray, " n"] | None) -> Float[np.ndarray, " n"]:
    """Choose the null vector nearest to a direction: where curves cross, the tangent of the curve being continued."""
    if len(rows) > 1 and direction is not None:
        along = rows.T @ (rows @ direction)
        return along / np.linalg.norm(along) if np.any(along) else rows[-1]
    return rows[-1]


def signed_least(matrix: Float[np.ndarray, "n n"]) -> float:
    """Compute the least singular value of a matrix relative to the largest one, with the sign of the determinant."""
    if len(matrix) >= LARGE:
        factors = _Factors(matrix)
        sign, (most, least) = factors.sign, factors.singular_values
    else:
        sizes = np.linalg.svd(matrix, compute_uv=False)
        sign, most, least = _Factors(matrix).sign, float(sizes[0]), float(sizes[-1])
    return sign * least / max(most, float(np.finfo(float).tiny))
