"""Compute stationary distributions of irreducible generators by GTH elimination, sparse LU or inverse iteration."""

from fractions import Fraction

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from dynsim.errors import IntegrationError, Outcome
from dynsim.systems.master_equation.checks import exit_rates, num_states

EPSILON = float(np.finfo(float).eps)
EXTENDED = float(np.finfo(np.longdouble).eps)
# Ratio of probabilities above which fixing the less likely state would make the solution inaccurate.
UNLIKELY = 1e3
# Shift relative to the largest exit rate: far below the gap of all but metastable chains, far above rounding.
SHIFT = 1e-10
# Largest number of inverse iterations; two or three usually suffice.
MAX_ITERATIONS = 100
# Mass that a factorisation may lose, or gain, before elimination replaces it.
LOST = 1e-9
# Largest number of transient states that are eliminated, in minutes.
LARGEST = 5000
# Larger numbers are rescaled, so that products of them do not overflow.
LARGE = 1e100


def by_elimination(Q: np.ndarray) -> tuple[np.ndarray, float]:
    r"""Compute the stationary distribution, (k,), by Grassmann-Taksar-Heyman elimination, with its relative error.

    Without subtractions every probability, however small, has high relative accuracy in floats; it is exact in
    Fractions. The error is estimated from a second elimination in the opposite order, at least $k\,\varepsilon$.

    Source: Grassmann, Taksar, Heyman, Operations Research 33 (1985), here for columns.
    """
    p = _eliminated(Q)
    if Q.dtype == object or len(p) == 1:
        return p, 0.0
    other = _eliminated(Q[::-1, ::-1])[::-1]
    seen = np.maximum(p, np.finfo(float).tiny)
    return p, max(float(np.max(abs(p - other) / seen)), len(p) * EPSILON)


def _eliminated(Q: np.ndarray) -> np.ndarray:
    """Eliminate states from the last to the first, then substitute back."""
    R, k = Q.copy(), len(Q)
    exit_rate = [R[0, 0]] * k
    for n in range(k - 1, 0, -1):
        exit_rate[n] = R[:n, n].sum()
        share, inflow = R[:n, n] / exit_rate[n], R[n, :n]
        sources = np.flatnonzero(inflow != 0)
        R[:n, sources] += share[:, None] * inflow[None, sources]
    p = R[:, 0] * 0
    p[0] = Fraction(1) if R.dtype == object else 1.0
    for n in range(1, k):
        p[n] = (R[n, :n] * p[:n]).sum() / exit_rate[n]
        if R.dtype != object and p[n] > LARGE:
            p[: n + 1] /= p[n]
    return p / p.sum()


def absorbed(
    rates: np.ndarray, to: np.ndarray, out_of: np.ndarray, masses: np.ndarray, closed: int, dense: int
) -> np.ndarray:
    """Distribute masses on t transient states over the closed classes that they reach, shape (closed,).

    Elimination has no subtractions, and so keeps the accuracy of rates that are small beside others. It is used for
    Fractions, up to `dense` transient states, and where a factorisation loses mass.

    Args:
        rates: of the transitions out of transient states.
        to: where each leads, from 0 to t - 1 for a transient state, from t on for a closed class.
        out_of: the transient state that each leaves.
        masses: mass on each transient state, (t,).
        closed: number of closed classes.
        dense: number of transient states up to which elimination is always used.

    Raises:
        IntegrationError: if a factorisation loses mass and there are too many states for elimination.
    """
    t = len(masses)
    if rates.dtype != object and t > dense:
        found = _absorbed_by_lu(rates, to, out_of, masses, closed)
        if abs(found.sum() - masses.sum()) <= LOST:
            return found
        if t > LARGEST:
            raise IntegrationError(
                f"The rates of {t} transient states are too different for a sparse factorisation, and these are too "
                f"many for elimination (at most {LARGEST}).",
                outcome=Outcome.MAX_STEPS,
            )
    R = np.zeros((t + closed, t), rates.dtype) + 0 * masses[0]
    np.add.at(R, (to, out_of), rates)
    inside = np.concatenate([masses, 0 * R[:closed, 0]])
    for n in range(t):
        R[n, n] *= 0
        share, inflow = R[:, n] / R[:, n].sum(), R[n]
        sources = np.flatnonzero(inflow != 0)
        R[:, sources] += share[:, None] * inflow[None, sources]
        inside, R[n] = inside + share * inside[n], 0 * inflow
        inside[n] *= 0
    return inside[t:]


def _absorbed_by_lu(
    rates: np.ndarray, to: np.ndarray, out_of: np.ndarray, masses: np.ndarray, closed: int
) -> np.ndarray:
    """Do the same from the expected time in each transient state, with a sparse LU factorisation."""
    t = len(masses)
    R = scipy.sparse.csc_array((rates, (to, out_of)), shape=(t + closed, t))
    T = scipy.sparse.csc_array(scipy.sparse.diags_array(np.asarray(R.sum(axis=0))) - R[:t])
    try:
        return R[t:] @ lu_factors(T).solve(masses)
    except IntegrationError:
        return np.full(closed, np.inf)


def by_lu(Q: scipy.sparse.csc_array) -> tuple[np.ndarray, float]:
    """Compute the stationary distribution by a sparse LU factorisation of Q without one state, with its relative error.

    The probability of that state is fixed to one before normalisation. The solution is refined with residuals in
    extended precision; the error is the relative size of the last correction, or of what rounding of the exit rates to
    that precision can do, where that is larger: for weakly coupled parts.

    Raises:
        IntegrationError: if a pivot vanishes, or probabilities overflow.
    """
    fixed, found = int(np.argmin(exit_rates(Q))), np.empty(0)
    for _ in range(3):
        found, error = _fixing(Q, fixed)
        likely = int(np.argmax(found))
        if not found[likely] > UNLIKELY * found[fixed]:
            break
        fixed = likely
    return found / found.sum(), error


def _fixing(Q: scipy.sparse.csc_array, fixed: int) -> tuple[np.ndarray, float]:
    """Solve Q x = 0 with x = 1 at the state `fixed`; the relative error is estimated as in `by_lu`."""
    free = np.flatnonzero(np.arange(num_states(Q)) != fixed)
    if not free.size:
        return np.ones(1), 0.0
    solve = lu_factors(scipy.sparse.csc_array(-Q[free][:, free])).solve
    exact, x = _extended(Q), np.ones(num_states(Q))
    x[free] = solve(Q[free][:, [fixed]].toarray()[:, 0])
    for _ in range(2):
        correction = solve((exact @ x.astype(np.longdouble))[free].astype(float))
        x[free] += correction
    size = np.maximum(abs(x[free]), np.finfo(float).tiny)
    rounded = solve(
        EXTENDED * (exit_rates(Q) * x)[free]
    )  # the inverse has no negative entry, so that signs do not matter
    if not np.all(np.isfinite(x)):
        raise _failed("probabilities overflow beside the one that is fixed")
    return x, max(float(np.max(np.maximum(abs(correction), abs(rounded)) / size)), EPSILON)


def by_inverse_iteration(Q: scipy.sparse.csc_array) -> tuple[np.ndarray, float]:
    r"""Compute the stationary distribution by $x \leftarrow -\sigma (Q - \sigma)^{-1} x$, with its relative error.

    The shift $\sigma$ is small; steps are computed as corrections of x from residuals in extended precision. The error
    is the relative size of the last correction.

    Raises:
        IntegrationError: if it does not converge, because the spectral gap is far below the shift.
    """
    k = num_states(Q)
    shift = SHIFT * float(np.max(exit_rates(Q), initial=0)) or 1.0
    shifted = scipy.sparse.csc_array(scipy.sparse.diags_array(np.full(k, shift)) - Q)
    solve, exact, x, error = lu_factors(shifted).solve, _extended(Q), np.full(k, 1.0 / k), np.inf
    for _ in range(MAX_ITERATIONS):
        moved = x + solve((exact @ x.astype(np.longdouble)).astype(float))
        moved, before = moved / moved.sum(), error
        error = float(np.max(abs(moved - x) / np.maximum(abs(moved), np.finfo(float).tiny)))
        x = moved
        if error <= 8 * EPSILON or error < 1e-10 and error >= before / 2:
            return x, max(error, EPSILON)
    raise IntegrationError(
        f"Inverse iteration still changes the stationary distribution by {error:.3g} after {MAX_ITERATIONS} steps: the "
        f"spectral gap is far below {shift:.3g}; take `elimination`.",
        outcome=Outcome.MAX_STEPS,
    )


def lu_factors(A: scipy.sparse.csc_array) -> scipy.sparse.linalg.SuperLU:
    """Factorise a column diagonally dominant M-matrix by sparse LU, which needs no pivoting.

    Raises:
        IntegrationError: if a pivot vanishes.
    """
    try:
        return scipy.sparse.linalg.splu(
            A, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
        )
    except RuntimeError as error:
        raise _failed("its factorisation ends at a vanishing pivot") from error


def _failed(why: str) -> IntegrationError:
    sentence = f"The rates of the generator are too different for sparse elimination: {why}; take `elimination`."
    return IntegrationError(sentence, outcome=Outcome.NON_FINITE)


def _extended(Q: scipy.sparse.csc_array) -> scipy.sparse.csc_array:
    """Convert Q to extended precision, with columns that sum to zero at that precision."""
    rates = scipy.sparse.csc_array(Q - scipy.sparse.diags_array(Q.diagonal()), dtype=np.longdouble)
    out = np.asarray(rates.sum(axis=0))
    return scipy.sparse.csc_array(rates - scipy.sparse.diags_array(out))
