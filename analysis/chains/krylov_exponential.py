r"""Compute $e^{Qt} p$ of a stiff sparse generator in a shift-and-invert Krylov space, with one sparse LU."""

import numpy as np
import scipy.linalg
import scipy.sparse

from analysis.chains.elimination import lu_factors
from dynsim.errors import IntegrationError

EPSILON = float(np.finfo(float).eps)
# Largest dimension of the Krylov space.
MAX_DIMENSION = 120
# Number of new basis vectors between two evaluations of the solution.
CHECK_EVERY = 4
# Largest norm of the initial vector in symmetric variables; above it they lose more than four digits.
MAX_SCALED_NORM = 1e4
# Largest change that is an error estimate; above it the solution has not converged.
MAX_CHANGE = 1e-9
# Times within this factor share a shift.
DECADE = 10.0


def by_shift_and_invert(
    Q: scipy.sparse.csc_array,
    p: np.ndarray,
    limit: np.ndarray,
    ts: np.ndarray,
    *,
    reversible: bool,
    tolerance: float = 1e-13,
) -> tuple[np.ndarray, np.ndarray]:
    r"""Compute $e^{Qt} p$ at positive times, (times, k), with an error estimate for each from the last basis vectors.

    Arnoldi iteration for $(1 - \gamma Q)^{-1}$, with $\gamma$ a tenth of the longest time of a decade, from $p$ minus
    its `limit`; every basis vector is kept orthogonal to the left null vector of Q. A reversible chain is transformed
    to the variables $p / \sqrt{\pi}$, in which Q is symmetric. The error is infinite if it has not converged.
    """
    found, errors = np.empty((len(ts), len(p))), np.empty(len(ts))
    scale = np.sqrt(limit) if reversible else np.ones(len(p))
    if np.linalg.norm((p - limit) / scale) * np.max(scale) > MAX_SCALED_NORM:
        reversible, scale = False, np.ones(len(p))
    S = scipy.sparse.csc_array(scipy.sparse.diags_array(1 / scale) @ Q @ scipy.sparse.diags_array(scale))
    for chosen in _decades(ts):
        try:
            space = _KrylovSpace(S, scale, (p - limit) / scale, float(np.max(ts[chosen])) / 10, symmetric=reversible)
        except IntegrationError:  # beside rates times the shift of 1e16 the identity vanishes, and Q is singular
            found[chosen], errors[chosen] = 0.0, np.inf
            continue
        difference, change = space.evolved(ts[chosen], tolerance)
        found[chosen] = difference * scale
        errors[chosen] = change * np.max(scale)
    return found + limit, errors


def _decades(ts: np.ndarray) -> list[np.ndarray]:
    """Group the indices of times, longest times first, so that each group lies within a factor of ten."""
    groups, left = [], np.arange(len(ts))
    while left.size:
        near = ts[left] > np.max(ts[left]) / DECADE
        groups.append(left[near])
        left = left[~near]
    return groups


class _KrylovSpace:
    """Orthonormal basis V of the Krylov space of (1 - shift S)^-1, and the projection H of that matrix."""

    def __init__(
        self, S: scipy.sparse.csc_array, left: np.ndarray, start: np.ndarray, shift: float, *, symmetric: bool
    ):
        """Factorise 1 - shift S; `left` is the left null vector of S, `start` is orthogonal to it."""
        self.solve = lu_factors(scipy.sparse.csc_array(scipy.sparse.eye_array(len(start)) - shift * S)).solve
        self.left, self.shift, self.symmetric = left / np.linalg.norm(left), shift, symmetric
        self.size = float(np.linalg.norm(start))
        self.stiffness = shift * float(np.max(abs(S.diagonal())))  # slow rates lose relative accuracy by this factor
        self.V, self.H = np.zeros((MAX_DIMENSION + 1, len(start))), np.zeros((MAX_DIMENSION + 1, MAX_DIMENSION))
        self.V[0] = start / (self.size or 1.0)

    def extend(self, m: int) -> bool:
        """Add basis vector m, and test whether the space is invariant."""
        w = self.solve(self.V[m - 1])
        before = float(np.linalg.norm(w))
        for _ in range(2):  # a second pass makes it orthogonal to working precision
            w = w - np.dot(self.left, w) * self.left  # rounding errors in the conserved sum would grow
            projections = self.V[:m] @ w
            self.H[:m, m - 1] += projections
            w = w - projections @ self.V[:m]
        self.H[m, m - 1] = np.linalg.norm(w)
        self.V[m] = w / (self.H[m, m - 1] or 1.0)
        return bool(self.H[m, m - 1] <= EPSILON * before)

    def evolved(self, ts: np.ndarray, tolerance: float) -> tuple[np.ndarray, np.ndarray]:
        """Compute e^{S t} start for each of `ts`, with an error estimate that is infinite without convergence."""
        before, change = np.zeros((len(ts), self.V.shape[1])), np.full(len(ts), np.inf)
        if self.size == 0:
            return before, np.full(len(ts), EPSILON)
        most = min(MAX_DIMENSION, self.V.shape[1])
        for m in range(1, most + 1):
            whole = self.extend(m) or m == len(self.V[0])  # the space holds the solution
            if m % CHECK_EVERY == 0 or whole or m == most:
                small = self._small(m, ts)
                if not np.all(np.isfinite(small)):  # an eigenvalue of H near zero with the wrong sign: not converged
                    change = np.full(len(ts), np.inf)
                    continue
                solution = self.size * small @ self.V[:m]
                change, before = np.zeros(len(ts)) if whole else np.max(abs(solution - before), axis=1), solution
                if whole or np.all(change <= tolerance + 4 * EPSILON * self.size):
                    break
        failed = change > MAX_CHANGE * max(1.0, self.size)
        rounding = 32 * EPSILON * (self.size + self.stiffness * np.max(abs(before), axis=1))
        return before, np.where(failed, np.inf, 2 * change + rounding)

    def _small(self, m: int, ts: np.ndarray) -> np.ndarray:
        """Compute e^{(1 - H^-1) t / shift} e_1 for each of `ts`."""
        H, times = self.H[:m, :m], ts / self.shift
        if self.symmetric:
            values, vectors = np.linalg.eigh((H + H.T) / 2)
            rates = 1 - 1 / np.clip(values, 1e-200, 1.0)
            return np.stack([vectors @ (np.exp(t * rates) * vectors[0]) for t in times])
        with np.errstate(over="ignore", invalid="ignore"):
            try:
                G = np.eye(m) - np.linalg.inv(H)
            except np.linalg.LinAlgError:
                return np.full((len(times), m), np.inf)
            if not np.all(np.isfinite(np.max(times) * G)):
                return np.full((len(times), m), np.inf)
            return np.stack([scipy.linalg.expm(t * G)[:, 0] for t in times])
