r"""Compute transient distributions $p(t) = e^{Qt} p_0$ of a chain by a method that fits its structure, with errors."""

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse
from jaxtyping import Float

from analysis.chains.classes import classes_of_pattern
from analysis.chains.dense_exponential import transition_matrix
from analysis.chains.krylov_exponential import by_shift_and_invert
from analysis.chains.polynomial_exponential import (
    MOST,
    Solutions,
    by_chebyshev,
    by_uniformisation,
    chebyshev_terms,
    uniformisation_terms,
)
from analysis.chains.rational_exponential import birth_and_death, by_partial_fractions
from analysis.chains.reversibility import off_diagonal, tree_balance
from analysis.chains.stationary import stationary_distributions
from dynsim._core.checked import checked
from dynsim._core.printing import one_line, report
from dynsim._core.types import ArrayLike
from dynsim.errors import ArgumentError, IntegrationError, Outcome
from dynsim.systems.master_equation.checks import Matrix, check_distribution, check_generator, exit_rates, num_states

# Largest number of states for which e^{Qt} is formed.
DENSE = 200
# Number of states from which on rational approximation is faster for a tridiagonal chain.
MIN_TRIDIAGONAL = 32
# Number of sparse products that cost about as much as one sparse LU and its solves, measured for 1e4 states.
MAX_PRODUCTS = 1200


@dataclass(frozen=True)
class Relaxation:
    """Distributions at `ts`, shape (times, k), and for each time an estimate of the largest error of an entry.

    Nothing is clipped. An error is at least the deviation of the sum from one and the size of the most negative entry.
    """

    ts: Float[np.ndarray, " times"]
    probabilities: Float[np.ndarray, "times k"]
    errors: Float[np.ndarray, " times"]
    method: str

    __repr__ = one_line
    __str__ = report

    @property
    def final(self) -> Float[np.ndarray, " k"]:
        """Distribution at the last of `ts`."""
        return self.probabilities[-1]

    @property
    def mass_defect(self) -> float:
        """Largest deviation of the sum of a distribution from one."""
        return float(np.max(abs(np.sum(self.probabilities, axis=1) - 1)))

    @property
    def most_negative(self) -> float:
        """Size of the most negative entry, zero if there is none."""
        return float(max(0.0, -np.min(self.probabilities)))


@checked
def relaxation(generator: Any, p0: ArrayLike, ts: ArrayLike, *, method: str = "auto") -> Relaxation:
    r"""Compute $e^{Qt} p_0$ at the times `ts`, each from $p_0$ and not from the previous time.

    The default method depends on the chain. Tridiagonal chains use rational approximation, and small ones scaling and
    squaring. Reversible ones use Chebyshev polynomials, or a shift-and-invert Krylov space if these need too many
    products. Others use that space, or uniformisation where this is cheaper or the space does not converge. The
    diagonal of the generator is computed from its rates.

    Args:
        generator: shape (k, k), dense or sparse (Fractions are rounded).
        p0: initial distribution, shape (k,).
        ts: finite nonnegative times, in the inverse unit of the rates.
        method: `auto`, or one of `dense`, `rational`, `chebyshev`, `shift-invert` and `uniformisation`.

    Raises:
        ValueError: for an invalid generator, distribution, time or method, or a method that does not apply.
        IntegrationError: if `shift-invert` is requested and does not converge.

    Example:
        >>> import numpy as np
        >>> from analysis.chains import relaxation
        >>> Q = np.array([[-1.0, 1.0], [1.0, -1.0]])
        >>> relaxation(Q, [1.0, 0.0], [1.0]).final.round(4).tolist()  # (1 + exp(-2)) / 2
        [0.5677, 0.4323]
    """
    Q = check_generator(generator)
    p = check_distribution(p0, num_states(Q)).astype(float)
    times = np.atleast_1d(np.asarray(ts, float))
    if times.ndim != 1 or times.size == 0 or not np.all(np.isfinite(times) & (times >= 0)):
        raise ArgumentError("ts", "be finite and not negative", f"is {ts}")
    if method not in ("auto", *_METHODS):
        raise ArgumentError("method", f"be one of auto, {', '.join(_METHODS)}", f"is `{method}`")
    chain = _Chain(Q)
    if not math.isfinite(chain.fastest * float(np.max(times))):
        raise ArgumentError("ts", f"be at most {sys.float_info.max / chain.fastest:.3g} for these rates", f"is {ts}")
    found, errors = np.tile(p, (len(times), 1)), np.zeros(len(times))
    name = _chosen(chain, float(np.max(times))) if method == "auto" else method
    moving = (times > 0) & (chain.fastest > 0)
    if np.any(moving):
        try:
            found[moving], errors[moving] = _METHODS[name](chain, p, times[moving])
        except IntegrationError:
            needed = uniformisation_terms(chain.fastest * float(np.max(times)))
            if method != "auto" or needed * len(times) > MOST:
                raise
            name = "uniformisation"
            found[moving], errors[moving] = _by_uniformisation(chain, p, times[moving])
    visible = np.maximum(abs(np.sum(found, axis=1) - 1), np.max(-found, axis=1, initial=0.0))
    return Relaxation(times, found, np.maximum(errors, visible), name)


class _Chain:
    """Generator with its diagonal computed from its rates, its largest exit rate, and its structure."""

    def __init__(self, Q: Matrix):
        rates = off_diagonal(Q)
        out = exit_rates(rates)
        self.Q = scipy.sparse.csc_array(rates - scipy.sparse.diags_array(out))
        self.fastest = float(np.max(out))
        self.size = len(out)

    @property
    def tridiagonal(self) -> bool:
        """Whether transitions occur between consecutive states only: a birth-death chain."""
        columns = np.repeat(np.arange(self.size), np.diff(self.Q.indptr))
        return bool(np.all(abs(self.Q.indices - columns) <= 1))

    @cached_property
    def stationary(self) -> np.ndarray | None:
        """Stationary distribution of an irreducible and reversible chain if no entry underflows; else None."""
        classes = classes_of_pattern(self.Q)
        balance = tree_balance(self.Q, classes)
        if not (classes.irreducible and balance.reversible):
            return None
        return balance.stationary if np.min(balance.stationary) > 0 else None


def _chosen(chain: _Chain, end: float) -> str:
    """Choose the method for a chain and the last time."""
    scaled_time = chain.fastest * end
    if chain.size >= MIN_TRIDIAGONAL and chain.tridiagonal:
        return "rational"
    if chain.size <= DENSE:
        return "dense"
    if chain.stationary is not None:
        return "chebyshev" if chebyshev_terms(min(scaled_time, 1e9), 1e8) <= MAX_PRODUCTS else "shift-invert"
    return "uniformisation" if scaled_time <= MAX_PRODUCTS else "shift-invert"


def _by_poles(chain: _Chain, p: np.ndarray, ts: np.ndarray) -> Solutions:
    if not chain.tridiagonal:
        raise ArgumentError("method", "suit the generator", "is `rational`, which needs a tridiagonal generator")
    birth, death = birth_and_death(chain.Q)
    pairs = [by_partial_fractions(birth, death, p, float(t)) for t in ts]
    return np.stack([q for q, _ in pairs]), np.array([error for _, error in pairs])


def _by_squaring(chain: _Chain, p: np.ndarray, ts: np.ndarray) -> Solutions:
    pairs = [transition_matrix(chain.Q.toarray(), float(t)) for t in ts]
    return np.stack([P @ p for P, _ in pairs]), np.array([error for _, error in pairs])


def _by_chebyshev(chain: _Chain, p: np.ndarray, ts: np.ndarray) -> Solutions:
    if chain.stationary is None:
        must = "suit the generator"
        raise ArgumentError("method", must, "is `chebyshev`, which needs a reversible and irreducible generator")
    return by_chebyshev(scipy.sparse.csr_array(chain.Q), p, chain.stationary, ts, chain.fastest)


def _by_uniformisation(chain: _Chain, p: np.ndarray, ts: np.ndarray) -> Solutions:
    return by_uniformisation(scipy.sparse.csr_array(chain.Q), p, ts, chain.fastest)


def _by_shift_and_invert(chain: _Chain, p: np.ndarray, ts: np.ndarray) -> Solutions:
    limit = stationary_distributions(chain.Q).limit(p) if chain.stationary is None else chain.stationary
    found, errors = by_shift_and_invert(chain.Q, p, limit, ts, reversible=chain.stationary is not None)
    if np.all(np.isfinite(errors)):
        return found, errors
    t = float(ts[np.argmax(errors)])
    raise IntegrationError(
        f"The Krylov space of `shift-invert` has not converged at t = {t:.6g}: take `uniformisation` for short times, "
        "or `dense`.",
        outcome=Outcome.MAX_STEPS,
    )


_METHODS: dict[str, Callable[[_Chain, np.ndarray, np.ndarray], Solutions]] = {
    "dense": _by_squaring,
    "rational": _by_poles,
    "chebyshev": _by_chebyshev,
    "shift-invert": _by_shift_and_invert,
    "uniformisation": _by_uniformisation,
}
