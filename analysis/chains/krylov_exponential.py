r"""$e^{Qt} p$ of a sparse stiff chain in a rational Krylov space: one sparse LU, a few dozen solves."""

import numpy as np
import scipy.linalg
import scipy.sparse

from analysis.chains.elimination import factors

EPSILON = float(np.finfo(float).eps)
MOST = 120  # vectors of the space
EACH = 4  # vectors between two looks at the answer
WIDE = 1e4  # a start this large against the law: its symmetric variables lose four digits, more than others would
SETTLED = 1e-9  # a change above it says nothing of the error: the answer is not one
DECADE = 10.0  # times within this factor share a shift


def by_shift_and_invert(
    Q: scipy.sparse.csc_array,
    p: np.ndarray,
    limit: np.ndarray,
    ts: np.ndarray,
    *,
    reversible: bool,
    tolerance: float = 1e-13,
) -> tuple[np.ndarray, np.ndarray]:
    r"""Return $e^{Qt} p$ at positive times, (times, k), and an error for each: how much the last vectors changed it.

    Arnoldi's process for $(1 - \gamma Q)^{-1}$ with $\gamma$ a tenth of the longest time of a decade, on $p$ without
    its limit: its entries sum to zero, and those of every vector of the space are made to. A reversible chain is taken
    in the variables $p / \sqrt{\pi}$, in which Q is symmetric and the process is Lanczos'. The error is infinite if it
    has not settled.
    """
    found, errors = np.empty((len(ts), len(p))), np.empty(len(ts))
    scale = np.sqrt(limit) if reversible else np.ones(len(p))
    if np.linalg.norm((p - limit) / scale) * np.max(scale) > WIDE:
        reversible, scale = False, np.ones(len(p))
    S = scipy.sparse.csc_array(scipy.sparse.diags_array(1 / scale) @ Q @ scipy.sparse.diags_array(scale))
    for chosen in _decades(ts):
        space = _Space(S, scale, (p - limit) / scale, float(np.max(ts[chosen])) / 10, symmetric=reversible)
        moved, change = space.settled(ts[chosen], tolerance)
        found[chosen] = moved * scale
        errors[chosen] = change * np.max(scale)
    return found + limit, errors


def _decades(ts: np.ndarray) -> list[np.ndarray]:
    """Return groups of indices, longest times first, each within a decade."""
    groups, left = [], np.arange(len(ts))
    while left.size:
        near = ts[left] > np.max(ts[left]) / DECADE
        groups.append(left[near])
        left = left[~near]
    return groups


class _Space:
    """An orthonormal basis V of the Krylov space of (1 - shift S)^-1, and the projection H of that matrix."""

    def __init__(
        self,
        S: scipy.sparse.csc_array,
        left: np.ndarray,
        start: np.ndarray,
        shift: float,
        *,
        symmetric: bool,
    ):
        """Store S, its left null vector, a start orthogonal to it, and the shift in the unit of time."""
        self.solve = factors(scipy.sparse.csc_array(scipy.sparse.eye_array(len(start)) - shift * S)).solve
        self.left, self.shift, self.symmetric = left / np.linalg.norm(left), shift, symmetric
        self.size = float(np.linalg.norm(start))
        self.stiffness = shift * float(np.max(abs(S.diagonal())))  # by which a sum with 1 loses digits of slow rates
        self.V, self.H = np.zeros((MOST + 1, len(start))), np.zeros((MOST + 1, MOST))
        self.V[0] = start / (self.size or 1.0)

    def extend(self, m: int) -> bool:
        """Add vector number m; return whether the space is exhausted."""
        w = self.solve(self.V[m - 1])
        before = float(np.linalg.norm(w))
        for _ in range(2):  # orthogonal to working precision takes two passes
            w = w - np.dot(self.left, w) * self.left  # mass, which rounding would let grow from vector to vector
            projections = self.V[:m] @ w
            self.H[:m, m - 1] += projections
            w = w - projections @ self.V[:m]
        self.H[m, m - 1] = np.linalg.norm(w)
        self.V[m] = w / (self.H[m, m - 1] or 1.0)
        return bool(self.H[m, m - 1] <= EPSILON * before)

    def settled(self, ts: np.ndarray, tolerance: float) -> tuple[np.ndarray, np.ndarray]:
        """Return what the start has become at `ts`, and how much the last vectors changed it."""
        before, change = np.zeros((len(ts), self.V.shape[1])), np.full(len(ts), np.inf)
        if self.size == 0:
            return before, np.full(len(ts), EPSILON)
        most = min(MOST, self.V.shape[1])
        for m in range(1, most + 1):
            exhausted = self.extend(m)
            if m % EACH == 0 or exhausted or m == most:
                small = self._small(m, ts)
                if not np.all(np.isfinite(small)):  # a value of H near zero, on its wrong side: not settled
                    change = np.full(len(ts), np.inf)
                    continue
                answer = self.size * small @ self.V[:m]
                change, before = np.max(abs(answer - before), axis=1), answer
                if exhausted or np.all(change <= tolerance + 4 * EPSILON * self.size):
                    break
        unsettled = change > SETTLED * max(1.0, self.size)
        rounding = 32 * EPSILON * (self.size + self.stiffness * np.max(abs(before), axis=1))
        return before, np.where(unsettled, np.inf, 2 * change + rounding)

    def _small(self, m: int, ts: np.ndarray) -> np.ndarray:
        """Return e^{(1 - H^-1) t / shift} e_1 for each of `ts`."""
        H, times = self.H[:m, :m], ts / self.shift
        if self.symmetric:
            values, vectors = np.linalg.eigh((H + H.T) / 2)
            rates = 1 - 1 / np.clip(values, 1e-200, 1.0)
            return np.stack([vectors @ (np.exp(t * rates) * vectors[0]) for t in times])
        with np.errstate(over="ignore", invalid="ignore"):
            G = np.eye(m) - np.linalg.inv(H)
            if not np.all(np.isfinite(np.max(times) * G)):
                return np.full((len(times), m), np.inf)
            return np.stack([scipy.linalg.expm(t * G)[:, 0] for t in times])
