r"""Solve sparse linear equations with dense borders by block elimination, also where the sparse part is singular.

A bordered matrix has one more row and column than a matrix A that has sparse factors. It is regular at a fold, where A
is not. Elimination of A, from the right and from the left, gives a backward stable solution there as well (the mixed
block elimination of Govaerts and Pryce); one step of refinement removes what the factors lose. Borders are nested, so
that matrices with a null space of several dimensions are treated in the same way.

Singular values are absolute: curves have units in which the rates that decide about stability are of order one.

Source: W. Govaerts and J. D. Pryce, Mixed block elimination for linear systems with wider borders, IMA J. Numer. Anal.
13 (1993); W. Govaerts, Numerical Methods for Bifurcations of Dynamical Equilibria (2000), chapter 3.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Inexact

# Change of the diagonal, relative to the largest entry, with which an exactly singular matrix has factors.
PERTURBED = 8 * float(np.finfo(float).eps)
# Singular value, relative to the size of the equations, below which a solution has no part along its direction.
NEGLIGIBLE = 1e-11
# Error of a singular value, relative to the largest entry.
ROUNDING = 32 * float(np.finfo(float).eps)
# Singular value below which the null vector of a matrix with one more column than rows is not unique.
CROSSING = 1e-8
# Number of steps of the power method by which the least singular value is found, and of those for null vectors.
POWERS, INVERSE = 4, 3
# Numbers of small singular values that are looked for, until one of them is not small.
WIDTHS = (2, 4, 8)


class SparseMatrix:
    """Square sparse matrix of SciPy's with its factors, which are computed once when they are first needed."""

    def __init__(self, matrix: Any):
        """Store a matrix in compressed columns."""
        self.matrix = matrix

    def __len__(self) -> int:
        return self.matrix.shape[0]

    def __matmul__(self, other: np.ndarray) -> np.ndarray:
        return self.matrix @ other

    def __abs__(self) -> "SparseMatrix":
        return SparseMatrix(abs(self.matrix))

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        return self.matrix.shape

    @property
    def T(self) -> "SparseMatrix":
        """The transposed matrix."""
        return SparseMatrix(self.matrix.T.tocsc())

    @functools.cached_property
    def _factors(self) -> Any:
        from scipy.sparse import eye_array
        from scipy.sparse.linalg import splu

        size = float(np.max(np.abs(self.matrix.data), initial=0.0)) or 1.0
        for change in (0.0, PERTURBED, 1e3 * PERTURBED):
            try:
                moved = self.matrix + change * size * eye_array(len(self)) if change else self.matrix
                return splu(moved.tocsc(), permc_spec="MMD_AT_PLUS_A")
            except RuntimeError:  # a zero pivot
                continue
        raise ArithmeticError

    @functools.cached_property
    def rounding(self) -> float:
        """Singular value that is explained by rounding errors of the entries."""
        return ROUNDING * float(np.max(np.abs(self.matrix.data), initial=0.0))

    def shifted(self, value: complex) -> "SparseMatrix":
        """Subtract a multiple of the identity."""
        from scipy.sparse import eye_array

        return SparseMatrix((self.matrix - value * eye_array(len(self))).tocsc())

    def solved(self, left: np.ndarray, *, transposed: bool = False) -> np.ndarray:
        """Solve the equations, or those of the conjugate transposed matrix."""
        return self._factors.solve(left, "H" if transposed else "N")

    def product(self, x: np.ndarray, *, transposed: bool = False) -> np.ndarray:
        """Multiply by the matrix, or by its conjugate transpose."""
        return self.matrix.conj().T @ x if transposed else self.matrix @ x

    @functools.cached_property
    def log_determinant(self) -> complex:
        """A logarithm of the determinant."""
        pivots = self._factors.U.diagonal()
        sign = sign_of_permutation(self._factors.perm_r) * sign_of_permutation(self._factors.perm_c)
        with np.errstate(divide="ignore"):
            return complex(np.sum(np.log(np.abs(pivots))), np.sum(np.angle(pivots)) + np.pi * (sign < 0))

    @property
    def phase(self) -> complex:
        """The determinant divided by its modulus."""
        found = complex(np.exp(1j * self.log_determinant.imag))
        return found if np.iscomplexobj(self.matrix.data) else complex(np.sign(found.real))

    def row_sizes(self) -> Float[np.ndarray, " n"]:
        """Compute the largest modulus in each row; NaN where an entry is."""
        found = np.zeros(len(self))
        np.maximum.at(found, self.matrix.indices, np.abs(self.matrix.data))
        return found

    def largest_in(self, starts: list[int]) -> Float[np.ndarray, "groups groups"]:
        """Compute the largest modulus in each block, given where groups of successive rows and columns start."""
        found, each = np.zeros((len(starts), len(starts))), self.matrix.tocoo()
        groups = [np.searchsorted(starts, places, side="right") - 1 for places in each.coords]
        np.maximum.at(found, tuple(groups), np.abs(each.data))
        return found

    def null_vectors(self) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        """Compute the unit right and left singular vectors of the least singular value."""
        right, left, _ = _least(self, 1)
        return right[:, 0], left[:, 0]

    def eigenvectors_near(self, value: complex) -> tuple[np.ndarray, np.ndarray]:
        """Compute unit right and left eigenvectors of the eigenvalue near a value by inverse iteration."""
        size = float(np.max(np.abs(self.matrix.data), initial=1.0))
        away = self.shifted(value + PERTURBED * size)  # a shift by the eigenvalue itself may leave no factors
        x = y = np.random.default_rng(len(self)).normal(size=len(self)) + 0j
        for _ in range(INVERSE):
            x, y = away.solved(x), away.solved(y, transposed=True)
            x, y = x / np.linalg.norm(x), y / np.linalg.norm(y)
        return x, y


class Extended(NamedTuple):
    """A sparse matrix with a further column, such as derivatives by the state and by the parameter."""

    inner: SparseMatrix
    column: Float[np.ndarray, " n"]

    def with_row(self, row: Float[np.ndarray, " n"]) -> "Bordered":
        """Add a row below, which makes the matrix square."""
        return Bordered(self.inner, self.column, row[:-1], float(row[-1]))

    @property
    def plain(self) -> Any:
        """The matrix in SciPy's compressed columns."""
        from scipy.sparse import csc_array, hstack

        return hstack([self.inner.matrix, csc_array(self.column[:, None])], format="csc")

    def least(self, share: float, most: int) -> tuple[np.ndarray, np.ndarray]:
        """Find the right and the left singular vectors, as columns, with singular values up to a share.

        There is one more of the right ones, the null vector, and at least `most` of them.
        """
        for width in WIDTHS:
            right, left, sizes = _least(self, width)
            count = int(np.sum(sizes[1:] <= share))
            if count < width:
                break
        kept = max(count + 1, most)
        return right[:, :kept], left[:, : kept - 1]

    def shortest(self, left: Float[np.ndarray, " n"], share: float) -> Float[np.ndarray, " m"]:
        """Find the shortest solution, without a part along directions with singular values up to a share."""
        right, other = self.least(share, 1)
        whole: Any = self.with_row(right[:, 0])
        for k in range(other.shape[1]):
            whole = Bordered(whole, *_padded((other[:, k], right[:, k + 1]), len(whole)))
        return whole.solution(np.append(left, np.zeros(right.shape[1])))[: len(left) + 1]


class Bordered:
    """Square matrix [[A, b], [c, d]] with a matrix A that has factors, or is bordered itself, and vectors b and c."""

    def __init__(self, inner: Any, column: np.ndarray, row: np.ndarray, corner: float = 0.0):
        """Store A, b, c and d."""
        self.inner, self.column, self.row, self.corner = inner, column, row, corner

    def __len__(self) -> int:
        return len(self.inner) + 1

    @property
    def rounding(self) -> float:
        """Singular value that is explained by rounding errors."""
        return self.inner.rounding

    @functools.cached_property
    def _eliminated(self) -> tuple[np.ndarray, np.ndarray, complex, complex]:
        """Solve for the border from the right and from the left; the third and fourth are d minus what remains."""
        right, left = self.inner.solved(self.column), self.inner.solved(self.row, transposed=True)
        return right, left, self.corner - self.row @ right, self.corner - left @ self.column

    def solved(self, left: np.ndarray, *, transposed: bool = False) -> np.ndarray:
        """Solve the equations by one block elimination."""
        v, w, after, before = self._eliminated
        b, c, eps = self.column, self.row, float(np.finfo(float).tiny)
        if transposed:
            v, w, after, before, b, c = w, v, before, after, c, b
        first = (left[-1] - w @ left[:-1]) / (before or eps)
        x = self.inner.solved(left[:-1] - b * first, transposed=transposed)
        second = (left[-1] - self.corner * first - c @ x) / (after or eps)
        return np.append(x - v * second, first + second)

    def product(self, x: np.ndarray, *, transposed: bool = False) -> np.ndarray:
        """Multiply by the matrix, or by its transpose."""
        b, c = (self.row, self.column) if transposed else (self.column, self.row)
        return np.append(
            self.inner.product(x[:-1], transposed=transposed) + b * x[-1], c @ x[:-1] + self.corner * x[-1]
        )

    def refined(self, left: np.ndarray, *, transposed: bool = False) -> np.ndarray:
        """Solve the equations with one step of refinement."""
        x = self.solved(left, transposed=transposed)
        return x + self.solved(left - self.product(x, transposed=transposed), transposed=transposed)

    def solution(self, left: np.ndarray) -> np.ndarray:
        """Solve the equations; the shortest solution of least squares if the matrix is nearly singular."""
        with np.errstate(all="ignore"):
            x, probe = self.refined(left), self.solved(np.random.default_rng(len(self)).normal(size=len(self)))
            size = float(np.linalg.norm(probe))
        if size * max(NEGLIGIBLE, self.rounding) < 1 and np.all(np.isfinite(x)):
            return x
        return without_least(self, left)

    @property
    def phase(self) -> complex:
        """The determinant divided by its modulus; 0 if it vanishes."""
        with np.errstate(all="ignore"):
            rest = self._eliminated[2]
            return self.inner.phase * (complex(rest / abs(rest)) if np.isfinite(rest) and rest else 0.0)

    def null_vector(self) -> Float[np.ndarray, " n"] | None:
        """Solve for the unit vector on which all rows but the last one vanish; None if it is not unique."""
        with np.errstate(all="ignore"):
            found = self.refined(np.append(np.zeros(len(self) - 1), 1.0))
            sure = self.signed_least
        size = float(np.linalg.norm(found))
        return found / size if np.isfinite(size) and abs(sure) > CROSSING else None

    @functools.cached_property
    def signed_least(self) -> float:
        """The least singular value with the sign of the determinant, by the power method; 0 if it is rounding."""
        with np.errstate(all="ignore"):
            x, least = np.random.default_rng(len(self)).normal(size=len(self)), 0.0
            for _ in range(POWERS):
                x = self.solved(self.solved(x / np.linalg.norm(x), transposed=True))
                least = 1 / float(np.linalg.norm(x)) ** 0.5
        return float(np.real(self.phase)) * (least if np.isfinite(least) and least > self.rounding else 0.0)


def without_least(matrix: SparseMatrix | Bordered, left: np.ndarray) -> np.ndarray:
    """Find the shortest solution of least squares of a square matrix whose least singular value counts as zero."""
    right, other, _ = _least(matrix, 1)
    return Bordered(matrix, other[:, 0], right[:, 0]).refined(np.append(left, 0.0))[:-1]


def _padded(pair: tuple[np.ndarray, np.ndarray], size: int) -> tuple[np.ndarray, np.ndarray]:
    """Append zeros to vectors."""
    first, second = (np.append(one, np.zeros(size - len(one))) for one in pair)
    return first, second


def _least(matrix: Any, width: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Compute singular vectors of the least singular values, which ascend: right and left ones as columns, and values.

    Random borders make the matrix regular; the next borders are the vectors found with them. A matrix with one more
    column than rows has one more right vector, whose singular value is 0.
    """
    random = np.random.default_rng(width)
    wide = int(isinstance(matrix, Extended))
    n = len(matrix.inner) if wide else len(matrix)
    m = n + wide
    right, left = (np.linalg.qr(random.normal(size=size))[0] for size in ((m, width + wide), (n, width)))
    for _ in range(INVERSE):
        whole: Any = matrix.with_row(right[:, 0]) if wide else matrix
        for k in range(width):
            whole = Bordered(whole, *_padded((left[:, k], right[:, k + wide]), len(whole)))
        units = np.eye(width + wide, n + width + wide, n)
        with np.errstate(all="ignore"):
            moved = [whole.refined(unit)[:m] for unit in units]
            others = [whole.refined(unit, transposed=True)[:n] for unit in units[wide:]]
        if not np.all(np.isfinite([*moved, *(np.pad(one, (0, m - n)) for one in others)])):
            break
        right, left = np.linalg.qr(np.array(moved).T)[0], np.linalg.qr(np.array(others).T)[0]
    image = np.array(
        [(matrix.inner @ x[:-1] + matrix.column * x[-1]) if wide else matrix.product(x) for x in right.T]
    ).T
    turns, sizes, order = np.linalg.svd(left.T @ image)
    sizes = np.append(sizes, np.zeros(wide))[::-1]
    return right @ order[::-1].T, left @ turns[:, ::-1], sizes


def sign_of_permutation(order: np.ndarray) -> float:
    """Compute the sign of a permutation from the number of its cycles."""
    import scipy.sparse.csgraph

    n = len(order)
    moves = scipy.sparse.coo_array((np.ones(n), (np.arange(n), order)), shape=(n, n))
    cycles = int(scipy.sparse.csgraph.connected_components(moves, directed=False)[0])
    return (-1.0) ** (n - cycles)


def conditioning(A: Inexact[np.ndarray, "n n"] | SparseMatrix) -> float:
    """Compute the least singular value of a matrix; of a dense one relative to the largest."""
    if isinstance(A, SparseMatrix):
        least = float(_least(A, 1)[2][0])
        return least if least > A.rounding else 0.0
    sizes = np.linalg.svd(A, compute_uv=False)
    return float(sizes[-1] / sizes[0]) if sizes[0] else 0.0


def pseudo_inverse(
    J: Float[np.ndarray, "n n"] | SparseMatrix, v: Float[np.ndarray, " n"], w: Float[np.ndarray, " n"]
) -> Callable[[np.ndarray], np.ndarray]:
    """Build the inverse of a matrix without its least singular value, whose right and left vectors are v and w."""
    if isinstance(J, SparseMatrix):
        whole = Bordered(J, w / np.linalg.norm(w), v)
        return lambda b: whole.refined(np.append(b, 0.0))[:-1]
    left, sizes, right = np.linalg.svd(J)
    return lambda b: right[:-1].T @ ((left[:, :-1].T @ b) / sizes[:-1])


def solved_beside(A: Float[np.ndarray, "n n"] | SparseMatrix, shift: complex, left: np.ndarray) -> np.ndarray:
    """Solve the equations of a matrix from which a multiple of the identity is subtracted."""
    if isinstance(A, SparseMatrix):
        return A.shifted(complex(shift)).solved(left.astype(complex))
    return np.linalg.solve(A - shift * np.eye(len(A)), left)


def row_sizes(matrix: Inexact[np.ndarray, "m n"] | SparseMatrix) -> Float[np.ndarray, " m"]:
    """Compute the largest modulus in each row of a dense or a sparse matrix."""
    if isinstance(matrix, SparseMatrix):
        return matrix.row_sizes()
    return np.abs(matrix).max(axis=1, initial=0.0)
