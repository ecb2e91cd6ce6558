"""Three ways to the law of an irreducible generator: elimination without subtraction, sparse LU, inverse iteration."""

from fractions import Fraction

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from dynsim.errors import IntegrationError
from dynsim.outcome import Outcome
from dynsim.systems.master_equation.checks import exit_rates, num_states

EPSILON = float(np.finfo(float).eps)
FEW = 1e3  # a state this much less likely than another is a bad one to pin
SHIFT = 1e-10  # of the largest exit rate: far below the gap of all but metastable chains, far above rounding
ROUNDS = 100  # of inverse iteration; two or three are the rule
LARGE = 1e100  # what a float of which products are taken may not exceed


def by_elimination(Q: np.ndarray) -> tuple[np.ndarray, float]:
    r"""Return the law of a dense generator by Grassmann-Taksar-Heyman elimination, and its relative error.

    Nothing is subtracted, so that every probability, however small, is found to relative rounding in floats, and
    exactly in Fractions. The error is estimated from a second elimination in the opposite order, $k\,\varepsilon$ at
    least.

    Source: Grassmann, Taksar, Heyman, Operations Research 33 (1985), here for columns.
    """
    p = _eliminated(Q)
    if Q.dtype == object or len(p) == 1:
        return p, 0.0
    other = _eliminated(Q[::-1, ::-1])[::-1]
    seen = np.maximum(p, np.finfo(float).tiny)
    return p, max(float(np.max(abs(p - other) / seen)), len(p) * EPSILON)


def _eliminated(Q: np.ndarray) -> np.ndarray:
    """Remove states from the last to the first, redirecting their rates, and put them back."""
    R, k = Q.copy(), len(Q)
    leaving = [R[0, 0]] * k
    for n in range(k - 1, 0, -1):
        leaving[n] = R[:n, n].sum()
        share, inflow = R[:n, n] / leaving[n], R[n, :n]
        sources = np.flatnonzero(inflow != 0)
        R[:n, sources] += share[:, None] * inflow[None, sources]
    p = R[:, 0] * 0
    p[0] = Fraction(1) if R.dtype == object else 1.0
    for n in range(1, k):
        p[n] = (R[n, :n] * p[:n]).sum() / leaving[n]
        if R.dtype != object and p[n] > LARGE:
            p[: n + 1] /= p[n]
    return p / p.sum()


def by_pinned_lu(Q: scipy.sparse.csc_array) -> tuple[np.ndarray, float]:
    """Return the law by a sparse LU of Q without one state, refined once with residuals in extended precision.

    The error is the relative size of a second correction.

    Raises:
        RuntimeError: from SuperLU, if a pivot vanishes.
    """
    pin, found = int(np.argmin(exit_rates(Q))), np.empty(0)
    for _ in range(3):
        found, error = _pinned(Q, pin)
        likely = int(np.argmax(found))
        if not found[likely] > FEW * found[pin]:
            break
        pin = likely
    return found / found.sum(), error


def _pinned(Q: scipy.sparse.csc_array, pin: int) -> tuple[np.ndarray, float]:
    """Return the law up to a factor, one at the state `pin`, and the relative size of the last correction."""
    free = np.flatnonzero(np.arange(num_states(Q)) != pin)
    if not free.size:
        return np.ones(1), 0.0
    solve = factors(scipy.sparse.csc_array(-Q[free][:, free])).solve
    exact, x = _extended(Q), np.ones(num_states(Q))
    x[free] = solve(Q[free][:, [pin]].toarray()[:, 0])
    for _ in range(2):
        correction = solve((exact @ x.astype(np.longdouble))[free].astype(float))
        x[free] += correction
    size = np.maximum(abs(x[free]), np.finfo(float).tiny)
    if not np.all(np.isfinite(x)):
        raise RuntimeError("the law overflows when this state is pinned")
    return x, max(float(np.max(abs(correction) / size)), EPSILON)


def by_inverse_iteration(Q: scipy.sparse.csc_array) -> tuple[np.ndarray, float]:
    r"""Return the law by $x \leftarrow -\sigma (Q - \sigma)^{-1} x$ with a small shift, as corrections of x.

    The error is the relative size of the last correction, the residual being taken in extended precision.

    Raises:
        IntegrationError: if it does not settle: the gap is far below the shift.
    """
    k = num_states(Q)
    shift = SHIFT * float(np.max(exit_rates(Q), initial=0)) or 1.0
    shifted = scipy.sparse.csc_array(scipy.sparse.diags_array(np.full(k, shift)) - Q)
    solve, exact, x, error = factors(shifted).solve, _extended(Q), np.full(k, 1.0 / k), np.inf
    for _ in range(ROUNDS):
        moved = x + solve((exact @ x.astype(np.longdouble)).astype(float))
        moved, before = moved / moved.sum(), error
        error = float(np.max(abs(moved - x) / np.maximum(abs(moved), np.finfo(float).tiny)))
        x = moved
        if error <= 8 * EPSILON or error < 1e-10 and error >= before / 2:
            return x, max(error, EPSILON)
    raise IntegrationError(
        f"Inverse iteration changed the stationary law by {error:.3g} still after {ROUNDS} rounds: the gap is far "
        f"below {shift:.3g}; take `elimination`.",
        outcome=Outcome.MAX_STEPS,
    )


def factors(A: scipy.sparse.csc_array) -> scipy.sparse.linalg.SuperLU:
    """Return the LU factors of a column-dominant M-matrix, which needs no pivoting."""
    return scipy.sparse.linalg.splu(
        A, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
    )


def _extended(Q: scipy.sparse.csc_array) -> scipy.sparse.csc_array:
    """Return Q in extended precision, its columns summing to zero in it."""
    rates = scipy.sparse.csc_array(Q - scipy.sparse.diags_array(Q.diagonal()), dtype=np.longdouble)
    out = np.asarray(rates.sum(axis=0))
    return scipy.sparse.csc_array(rates - scipy.sparse.diags_array(out))
