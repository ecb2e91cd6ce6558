"""Find the rightmost eigenvalues of a large sparse matrix, and test that none of the growing ones is missed.

The eigenvalues near a shift come from Arnoldi's method for the inverse of the shifted matrix (ARPACK), those of a
symmetric one from Lanczos' method. In each disk the search is repeated across the eigenvectors that were found, because
these methods may miss copies of a multiple one.

The eigenvalues of a real matrix lie in a rectangle. It follows from Gershgorin's disks of rotations of the matrix, and
of their Hermitian parts (Bendixson). Further shifts lie in the part of it with positive real parts. The test does not
use eigenvectors: the determinant of J - z, divided by the differences of the eigenvalues found and z, winds around zero
once for each eigenvalue that is missed, as z runs around that part. Its logarithm comes from sparse factors. Samples
are added until the trapezoidal rule for its derivative agrees with it.

Source: I. Bendixson, Sur les racines d'une equation fondamentale, Acta Math. 25 (1902); R. B. Lehoucq, D. C. Sorensen
and C. Yang, ARPACK Users' Guide (1998); W. Govaerts, Numerical Methods for Bifurcations of Dynamical Equilibria (2000).
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Complex, Inexact

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
# Difference of opposite entries, relative to the largest, up to which a matrix is symmetric.
EVEN = 8 * float(np.finfo(float).eps)
# Number of steps of Arnoldi's method by which missed eigenvalues are looked for, and of searches for them.
STEPS, SEARCHES = 24, 3
# Ratio of distances from a shift above which an eigenvalue lies inside a disk.
INSIDE = 1 - 1e-6
# Relative distance of eigenvalues of two disks that are the same.
SAME = 1e-7
# Share of a new unit vector across known ones below which it is rounding.
ACROSS = 1e-8
# Share of the identity that makes the equations of scales regular, and the largest logarithm of a scale.
WEAK, WIDEST = 1e-9, 300.0
# Angles of half-planes that bound the eigenvalues. Small ones bound those of advection.
ANGLES = np.append(0.0, np.pi / 2 ** np.arange(1.0, 13.0))
# Real part of the left side of the rectangle around which the determinant is followed; no eigenvalue is neutral there.
LEFT = -1.618e-4
# Largest error of the trapezoidal rule for the logarithm of the determinant between samples, and their largest number.
CHANGE, SAMPLES = 0.25, 96
# Largest change of its derivative between samples, times their distance.
BEND = 1.0
# Distance over which its derivative is a difference.
APART = 1e-5


class Bounds(NamedTuple):
    """Upper bounds of the real parts of eigenvalues, and of the imaginary parts where the real part is positive."""

    real: float
    imaginary: float


def bounds(J: SparseMatrix) -> Bounds:
    """Bound the eigenvalues of a real matrix by half-planes at several angles."""
    diagonal = J.matrix.diagonal()
    rest = (J.matrix - _diagonal(diagonal)).tocsc()
    even, odd = abs(rest + rest.T) / 2, abs(rest - rest.T) / 2
    plain = [np.asarray(abs(rest).sum(axis=axis)).ravel() for axis in (0, 1)]
    most = []
    for angle in ANGLES:
        c, s = float(np.cos(angle)), float(np.sin(angle))
        turned = (even.power(2) * c**2 + odd.power(2) * s**2).sqrt()
        radii = [*plain, np.asarray(turned.sum(axis=1)).ravel()]
        most.append(min(float(np.max(c * diagonal + radius)) for radius in radii))
    return Bounds(most[0], min(a / float(np.sin(angle)) for a, angle in zip(most[1:], ANGLES[1:], strict=True)))


def _diagonal(values: np.ndarray) -> Any:
    """Build a sparse diagonal matrix."""
    from scipy.sparse import diags_array

    return diags_array(values, format="csc")


def balanced(J: SparseMatrix) -> SparseMatrix:
    """Scale the unknowns so that opposite entries have similar sizes, which leaves the eigenvalues.

    Advection beside diffusion has nearly dependent eigenvectors, and is symmetric after scaling. Logarithms of the
    scales solve a problem of least squares on the graph of the matrix.
    """
    from scipy.sparse import coo_array, eye_array

    n, there = len(J), J.matrix.tocoo()
    size = coo_array((np.abs(there.data), there.coords), shape=(n, n)).tocsr()
    both: Any = size.multiply(size.T).tocsr().sign().tocoo()
    i, j = both.coords
    ratio = (np.log(size[i, j]) - np.log(size[j, i])) / 2 if len(i) else np.empty(0)
    graph = _diagonal(np.bincount(i, minlength=n) * 1.0) - both + WEAK * eye_array(n)
    scale = SparseMatrix(graph.tocsc()).solved(np.bincount(i, weights=ratio, minlength=n))
    scale -= (np.max(scale) + np.min(scale)) / 2
    if not np.max(np.abs(scale)) < WIDEST:
        return J
    scaled = (_diagonal(np.exp(-scale)) @ J.matrix @ _diagonal(np.exp(scale))).tocsc()
    return SparseMatrix(scaled) if np.linalg.norm(scaled.data) <= np.linalg.norm(J.matrix.data) else J


class Rightmost(NamedTuple):
    """The wanted eigenvalues by descending real part, and all that are known."""

    values: Complex[np.ndarray, " count"]
    known: Complex[np.ndarray, " known"]


def rightmost(J: SparseMatrix, count: int, shifts: int = SHIFTS) -> Rightmost:
    """Compute the eigenvalues with the largest real parts.

    Args:
        J: a real matrix with more than twice as many rows as eigenvalues are wanted.
        count: number of eigenvalues.
        shifts: largest number of shifts; with a few of them an eigenvalue with a large imaginary part may be missed.
    """
    J = balanced(J)
    within = bounds(J)
    middle = max(within.real / 2, SHIFT)
    found, shift, top = np.empty(0, complex), complex(SHIFT), 0.0
    for k in range(shifts):
        near, radius = _near(J, shift, count + MORE)
        found = _united(found, near if shift.imag == 0 else _with_conjugates(near))
        half = max(radius**2 - max(within.real - shift.real, shift.real) ** 2, 0.0) ** 0.5
        top = max(top, shift.imag + half) if shift.imag - half <= top else top
        if top >= within.imaginary or within.real < 0 or (k and not half):
            break
        shift = complex(middle, min(top + 0.9 * half, within.imaginary) if k else 0.0)
    known = found[np.lexsort((-np.imag(found), -np.real(found)))]
    values = np.pad(known, (0, max(count - len(found), 0)), "edge" if len(found) else "constant")[:count]
    return Rightmost(values, known)


def uncounted(J: SparseMatrix, known: Inexact[np.ndarray, " known"]) -> str:
    """Test whether all eigenvalues with positive real part are known, and say why that is uncertain.

    Returns:
        An empty text if all of them are known, each as often as it occurs.
    """
    J = balanced(J)
    within = bounds(J)
    if within.real < 0:
        return "" if not np.any(np.real(known) > 0) else "eigenvalues lie outside their bounds"
    high, right = 1.05 * max(within.imaginary, 0.0) + 2 * SHIFT, 1.05 * within.real + SHIFT
    count = int(np.ceil(np.log2(high / SHIFT))) + 1
    sides = [
        LEFT + 1j * np.append(0.0, np.geomspace(SHIFT, high, count)),
        np.linspace(LEFT, right, 3) + 1j * high,
        right + 1j * np.append(np.geomspace(high, SHIFT, count), 0.0),
    ]
    turned, left = 0.0, SAMPLES
    for side in sides:
        changes = _followed(J, known, side, left)
        if changes is None:
            return f"eigenvalues with frequencies up to {high:.2g} are too many to count"
        turned, left = turned - float(np.sum(np.imag(changes))), left - len(changes)
    missed = round(turned / np.pi)
    if missed > 0:
        return f"{missed} growing eigenvalue{'s' * (missed > 1)} not found"
    return "growing eigenvalues found too often" if missed else ""


def _followed(J: SparseMatrix, known: Any, ends: np.ndarray, most: int) -> np.ndarray | None:
    """Compute the changes of the logarithm of the determinant along a line, divided by the known eigenvalues.

    The trapezoidal rule for its derivative tells the branch of the logarithm. Beside a piece of length h an eigenvalue
    that is missed changes the derivative by at least 4 / h, and copies of it by a multiple of this; such pieces are
    halved. None if more samples are needed than allowed.
    """
    ahead = APART * (ends[-1] - ends[0]) / abs(ends[-1] - ends[0])
    value = lambda z: J.shifted(z).log_determinant - np.sum(np.log(known - complex(z)))
    slope = lambda z, at: _principal(value(z + ahead) - at) / APART
    places, values = ends.tolist(), [value(z) for z in ends]
    slopes = [slope(z, at) for z, at in zip(places, values, strict=True)]
    while True:
        lengths = np.abs(np.diff(places))
        bend = lengths * np.abs(np.diff(slopes))
        ruled = lengths * (np.array(slopes[1:]) + np.array(slopes[:-1])) / 2
        error = _principal(np.diff(values) - ruled)
        wide = np.flatnonzero((np.abs(error) > CHANGE) | (bend > BEND))
        if not len(wide):
            return ruled + error
        if not np.all(np.isfinite(error)) or len(places) + len(wide) > most:
            return None
        for k in wide[::-1]:
            middle = (places[k] + places[k + 1]) / 2
            at = value(middle)
            places.insert(k + 1, middle)
            values.insert(k + 1, at)
            slopes.insert(k + 1, slope(middle, at))


def _principal(values: Any) -> Any:
    """Take imaginary parts between -pi and pi."""
    return np.real(values) + 1j * (np.mod(np.imag(values) + np.pi, 2 * np.pi) - np.pi)


def _with_conjugates(values: np.ndarray) -> np.ndarray:
    """Complete the eigenvalues near a shift above the real axis by their conjugates."""
    is_real = np.abs(np.imag(values)) <= SAME * (1 + np.abs(values))
    above = values[~is_real & (np.imag(values) > 0)]
    return np.concatenate([np.real(values[is_real]), above, np.conj(above)])


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
    values = values[values != 0]  # an inverse has none; solutions have underflowed
    if not len(values):
        return values, 0.0
    radius = 1 / float(np.min(np.abs(values))) if len(values) >= count else 0.0  # 0 if some have not converged
    for _ in range(SEARCHES):
        if _stretch(away, Q) * radius * INSIDE < 1:
            break
        missed, more = _largest(away, Q, MORE)
        if not np.all(np.isfinite(more)):
            return shift + 1 / values, 0.0
        inside = np.abs(missed) * radius * INSIDE > 1
        if not np.any(inside):
            break
        values, Q = np.concatenate([values, missed[inside]]), more
    return shift + 1 / values, radius


def _largest(away: SparseMatrix, Q: np.ndarray, count: int) -> tuple[Any, np.ndarray]:
    """Compute the largest eigenvalues of the inverse across given vectors, and an orthonormal basis of all vectors."""
    from scipy.sparse import linalg

    library: Any = linalg

    n, dtype = len(away), away.matrix.dtype
    across = lambda x: x - Q @ (Q.conj().T @ x)
    inverse = library.LinearOperator(
        (n, n), matvec=lambda x: across(away.solved(across(x.ravel().astype(dtype)))), dtype=dtype
    )
    size = min(n - 1, max(2 * count + 1, BASIS))
    start = np.random.default_rng(n).normal(size=n).astype(dtype)
    find = library.eigsh if _is_symmetric(away) else library.eigs
    try:
        values, vectors = find(inverse, k=count, which="LM", v0=start, ncv=size, maxiter=RESTARTS)
    except library.ArpackError as error:  # those that have converged, if there are any
        none = np.empty(0, complex), np.empty((n, 0), complex)
        values, vectors = getattr(error, "eigenvalues", none[0]), getattr(error, "eigenvectors", none[1])
    parts = (
        vectors if dtype.kind == "c" else np.column_stack([np.real(vectors), np.imag(vectors)[:, np.imag(values) > 0]])
    )
    return values.astype(complex), _joined(Q, parts)


def _is_symmetric(A: SparseMatrix) -> bool:
    """Test whether a matrix is real and symmetric up to rounding; Lanczos' method then finds its eigenvalues."""
    size = float(np.max(np.abs(A.matrix.data), initial=0.0))
    odd = (A.matrix - A.matrix.T).data
    return A.matrix.dtype.kind == "f" and bool(np.max(np.abs(odd), initial=0.0) <= EVEN * size)


def _joined(Q: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Add to an orthonormal basis the parts across it of unit vectors; those of known ones are rounding."""
    left, sizes, _ = np.linalg.svd(vectors - Q @ (Q.conj().T @ vectors), full_matrices=False)
    return np.linalg.qr(np.column_stack([Q, left[:, sizes > ACROSS]]))[0]


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
        with np.errstate(over="ignore"):
            H[k + 1, k] = np.linalg.norm(x)
        if not np.isfinite(H[k + 1, k]):  # no solution without overflow: all may be missed
            return np.inf
        if not abs(H[k + 1, k]) > ACROSS * np.max(np.abs(H[: k + 1, k])):
            break
        basis.append(x / H[k + 1, k])
    size = min(len(basis), STEPS)  # all of them span an invariant space if the loop has ended early
    return float(np.max(np.abs(np.linalg.eigvals(H[:size, :size])), initial=0.0))
