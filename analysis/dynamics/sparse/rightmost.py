"""Find the rightmost eigenvalues of a large sparse matrix, and whether all of those with positive real part are known.

The eigenvalues near a shift come from Arnoldi's method for the inverse of the shifted matrix (ARPACK). Eigenvalues of a
real matrix J lie in a rectangle (Bendixson): their real parts are bounded by those of the symmetric part of J, their
imaginary parts by those of the skew part, and both by the sums of the rows. Shifts are added in the middle of the part
of the rectangle in the right half-plane, until the disks in which all eigenvalues are known cover it. In each disk the
search is repeated across the eigenvectors that were found, because Arnoldi's method may miss copies of a multiple one;
one that is missed beside many others at nearly the same distance from the shift may escape this test, too.

Source: I. Bendixson, Sur les racines d'une equation fondamentale, Acta Math. 25 (1902); R. B. Lehoucq, D. C. Sorensen
and C. Yang, ARPACK Users' Guide (1998); W. Govaerts, Numerical Methods for Bifurcations of Dynamical Equilibria (2000).
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Complex

from analysis.dynamics.sparse.matrices import SparseMatrix

# The first shift: an unusual number, so that it is no eigenvalue.
SHIFT = 0.3137
# Largest number of shifts.
SHIFTS = 4
# Number of eigenvalues near a shift beyond those that are wanted.
MORE = 8
# Least number of vectors of Arnoldi's method; with fewer ones few eigenvalues in a cluster did not converge.
BASIS = 48
# Largest number of restarts of Arnoldi's method.
RESTARTS = 20
# Number of steps of Arnoldi's method by which missed eigenvalues are looked for, and of searches for them.
STEPS, SEARCHES = 24, 3
# Ratio of distances from a shift above which an eigenvalue lies inside a disk.
INSIDE = 1 - 1e-6
# Relative distance of eigenvalues of two disks that are the same.
SAME = 1e-7


class Bounds(NamedTuple):
    """Upper bounds of the real parts and of the imaginary parts of all eigenvalues."""

    real: float
    imaginary: float


def bounds(J: SparseMatrix) -> Bounds:
    """Bound the eigenvalues of a real matrix by the rows of its symmetric and its skew part."""
    symmetric, skew = (J.matrix + J.matrix.T) / 2, (J.matrix - J.matrix.T) / 2
    diagonal = symmetric.diagonal()
    radii = np.asarray(abs(symmetric).sum(axis=1)).ravel() - np.abs(diagonal)
    return Bounds(float(np.max(diagonal + radii)), float(np.max(np.asarray(abs(skew).sum(axis=1)))))


class Rightmost(NamedTuple):
    """Eigenvalues by descending real part, and whether all of those with positive real part are among those found."""

    values: Complex[np.ndarray, " count"]
    is_complete: bool


def rightmost(J: SparseMatrix, count: int, shifts: int = SHIFTS) -> Rightmost:
    """Compute the eigenvalues with the largest real parts.

    Args:
        J: a real matrix with more than twice as many rows as eigenvalues are wanted.
        count: number of eigenvalues.
        shifts: largest number of shifts; with a few of them an eigenvalue with a large imaginary part may be missed.
    """
    within = bounds(J)
    middle = max(within.real / 2, SHIFT)
    found, shift, top, complete = np.empty(0, complex), complex(SHIFT), 0.0, False
    for k in range(shifts):
        near, radius = _near(J, shift, count + MORE)
        found = _united(found, near if shift.imag == 0 else _with_conjugates(near))
        half = max(radius**2 - max(within.real - shift.real, shift.real) ** 2, 0.0) ** 0.5
        top = max(top, shift.imag + half) if shift.imag - half <= top else top
        complete = top >= within.imaginary or within.real < 0
        if complete or (k and not half):
            break
        shift = complex(middle, min(top + 0.9 * half, within.imaginary) if k else 0.0)
    order = np.lexsort((-found.imag, -found.real))
    values = np.pad(found[order], (0, max(count - len(found), 0)), "edge" if len(found) else "constant")[:count]
    return Rightmost(values, complete)


def _with_conjugates(values: np.ndarray) -> np.ndarray:
    """Complete the eigenvalues near a shift above the real axis by their conjugates."""
    is_real = np.abs(values.imag) <= SAME * (1 + np.abs(values))
    above = values[~is_real & (values.imag > 0)]
    return np.concatenate([values[is_real].real, above, above.conj()])


def _united(known: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Add the eigenvalues of another disk, each as often as the disk that has more copies of it."""
    left, added = list(known), []
    for value in new:
        same = next((k for k, one in enumerate(left) if abs(one - value) <= SAME * (1 + abs(value))), None)
        if same is None:
            added.append(value)
        else:
            left.pop(same)
    return np.concatenate([known, np.array(added, complex)])


def _near(J: SparseMatrix, shift: complex, count: int) -> tuple[Complex[np.ndarray, " found"], float]:
    """Compute the eigenvalues nearest to a shift, and the radius of the disk around it in which all are known."""
    away = J.shifted(shift if shift.imag else shift.real)
    values, Q = _largest(away, np.empty((len(J), 0)), count)
    if not len(values):
        return values, 0.0
    radius = 1 / float(np.min(np.abs(values))) if len(values) >= count else 0.0  # 0 if some have not converged
    for _ in range(SEARCHES):
        if _stretch(away, Q) * radius * INSIDE < 1:
            break
        missed, more = _largest(away, Q, MORE)
        inside = np.abs(missed) * radius * INSIDE > 1
        if not np.any(inside):
            break
        values, Q = np.concatenate([values, missed[inside]]), np.linalg.qr(np.column_stack([Q, more]))[0]
    return shift + 1 / values, radius


def _largest(away: SparseMatrix, Q: np.ndarray, count: int) -> tuple[Any, np.ndarray]:
    """Compute the largest eigenvalues of the inverse across given vectors, and an orthonormal basis of all vectors."""
    from scipy.sparse.linalg import ArpackError, LinearOperator, eigs

    n, dtype = len(away), away.matrix.dtype
    across = lambda x: x - Q @ (Q.conj().T @ x)
    inverse = LinearOperator((n, n), matvec=lambda x: across(away.solved(across(x.ravel().astype(dtype)))), dtype=dtype)
    size = min(n - 1, max(2 * count + 1, BASIS))
    start = np.random.default_rng(n).normal(size=n).astype(dtype)
    try:
        values, vectors = eigs(inverse, k=count, which="LM", v0=start, ncv=size, maxiter=RESTARTS)
    except ArpackError as error:  # those that have converged, if there are any
        none = np.empty(0, complex), np.empty((n, 0), complex)
        values, vectors = getattr(error, "eigenvalues", none[0]), getattr(error, "eigenvectors", none[1])
    parts = (
        vectors if dtype.kind == "c" else np.column_stack([np.real(vectors), np.imag(vectors)[:, np.imag(values) > 0]])
    )
    return values, _basis(np.column_stack([Q, parts]))


def _basis(vectors: np.ndarray) -> np.ndarray:
    """Compute an orthonormal basis of the span of columns."""
    left, sizes, _ = np.linalg.svd(vectors / np.linalg.norm(vectors, axis=0), full_matrices=False)
    return left[:, sizes > 1e-10]


def _stretch(away: SparseMatrix, Q: np.ndarray) -> float:
    """Estimate the largest eigenvalue of the inverse across given vectors, by a few steps of Arnoldi's method."""
    across = lambda x: x - Q @ (Q.conj().T @ x)
    x = across(np.random.default_rng(Q.shape[1]).normal(size=len(away)).astype(away.matrix.dtype))
    basis, H = [x / np.linalg.norm(x)], np.zeros((STEPS + 1, STEPS), away.matrix.dtype)
    for k in range(STEPS):
        x = across(away.solved(basis[-1]))
        for _ in range(2):
            for j, one in enumerate(basis):
                share = np.vdot(one, x)
                H[j, k], x = H[j, k] + share, x - share * one
        H[k + 1, k] = np.linalg.norm(x)
        if not abs(H[k + 1, k]) > 0:
            break
        basis.append(x / H[k + 1, k])
    size = len(basis) - 1
    return float(np.max(np.abs(np.linalg.eigvals(H[:size, :size])), initial=0.0))
