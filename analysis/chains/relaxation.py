r"""Relaxation of a chain, $p(t) = e^{Qt} p_0$, by the method that its structure allows, with an error for each time."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse
from jaxtyping import Float
from numpy.typing import ArrayLike

from analysis.chains.classes import classes_of_pattern
from analysis.chains.dense_exponential import transition_matrix
from analysis.chains.krylov_exponential import by_shift_and_invert
from analysis.chains.polynomial_exponential import by_chebyshev, by_uniformisation, chebyshev_terms
from analysis.chains.rational_exponential import birth_and_death, by_partial_fractions
from analysis.chains.reversibility import off_diagonal, tree_balance
from analysis.chains.stationary import stationary_distributions
from dynsim.errors import IntegrationError, argument_error
from dynsim.outcome import Outcome
from dynsim.systems.master_equation.checks import (
    Matrix,
    check_distribution,
    check_generator,
    exit_rates,
    num_states,
)

DENSE = 200  # states up to which e^{Qt} is formed
NARROW = 32  # states from which a tridiagonal chain is faster by its poles
PRODUCTS = 1200  # sparse products that cost about as much as one sparse LU and its solves: measured on a grid of 1e4


@dataclass(frozen=True)
class Relaxation:
    """Distributions at `ts`, shape (times, k), and an error for each time: an estimate of the largest of an entry.

    Nothing is clipped. The error is at least what the sum is off one and the size of the most negative entry.
    """

    ts: Float[np.ndarray, " times"]
    probabilities: Float[np.ndarray, "times k"]
    errors: Float[np.ndarray, " times"]
    method: str

    @property
    def final(self) -> Float[np.ndarray, " k"]:
        """The distribution at the last time."""
        return self.probabilities[-1]

    @property
    def mass_defect(self) -> float:
        """How far the sum of a distribution is from one, at most."""
        return float(np.max(abs(np.sum(self.probabilities, axis=1) - 1)))

    @property
    def most_negative(self) -> float:
        """The size of the most negative entry, zero if there is none."""
        return float(max(0.0, -np.min(self.probabilities)))


def relaxation(generator: Any, p0: ArrayLike, ts: ArrayLike, *, method: str = "auto") -> Relaxation:
    r"""Return $e^{Qt} p_0$ at the times `ts`, each from the start and not from the time before.

    By default: tridiagonal chains by the best rational approximation, small ones by squaring a dense matrix,
    reversible ones by Chebyshev polynomials or, where these are too many, in a shift-and-invert Krylov space; others in
    that space or, where it is cheaper or does not settle, by uniformisation. Only the rates enter: the diagonal of the
    generator is computed from them.

    Args:
        generator: shape (k, k), dense or sparse (Fractions are rounded).
        p0: a distribution, shape (k,).
        ts: times, finite and not negative, in the inverse unit of the rates.
        method: a method by name, whether it is a good one or not.

    Raises:
        ValueError: for what is no generator, distribution, time or method, or for a method that does not apply.
        IntegrationError: if `shift-invert` is asked for and does not settle.
    """
    Q = check_generator(generator)
    p = check_distribution(p0, num_states(Q)).astype(float)
    times = np.atleast_1d(np.asarray(ts, float))
    if times.ndim != 1 or times.size == 0 or not np.all(np.isfinite(times) & (times >= 0)):
        raise argument_error("ts", "be finite and not negative", f"is {ts}")
    if method not in ("auto", *_WAYS):
        raise argument_error("method", f"be one of auto, {', '.join(_WAYS)}", f"is `{method}`")
    chain = _Chain(Q)
    found, errors = np.tile(p, (len(times), 1)), np.zeros(len(times))
    name = _chosen(chain, float(np.max(times))) if method == "auto" else method
    moving = (times > 0) & (chain.fastest > 0)
    if np.any(moving):
        way = _WAYS[name]
        try:
            found[moving], errors[moving] = way(chain, p, times[moving])
        except IntegrationError:
            if method != "auto":
                raise
            name = "uniformisation"
            found[moving], errors[moving] = _by_uniformisation(chain, p, times[moving])
    seen = np.maximum(abs(np.sum(found, axis=1) - 1), np.max(-found, axis=1, initial=0.0))
    return Relaxation(times, found, np.maximum(errors, seen), name)


class _Chain:
    """A generator whose diagonal is computed from its rates, and what of its structure has been asked for."""

    def __init__(self, Q: Matrix):
        rates = off_diagonal(Q)
        out = exit_rates(rates)
        self.Q = scipy.sparse.csc_array(rates - scipy.sparse.diags_array(out))
        self.fastest = float(np.max(out))
        self.size = len(out)

    @property
    def tridiagonal(self) -> bool:
        """Whether the states are a line, in their order."""
        columns = np.repeat(np.arange(self.size), np.diff(self.Q.indptr))
        return bool(np.all(abs(self.Q.indices - columns) <= 1))

    @cached_property
    def law(self) -> np.ndarray | None:
        """The stationary law, if the chain is irreducible and reversible and no probability underflows; else None."""
        classes = classes_of_pattern(self.Q)
        balance = tree_balance(self.Q, classes)
        if not (classes.irreducible and balance.reversible):
            return None
        return balance.law if np.min(balance.law) > 0 else None


def _chosen(chain: _Chain, end: float) -> str:
    """Return the method for a chain and the longest time."""
    reach = chain.fastest * end
    if chain.size >= NARROW and chain.tridiagonal:
        return "rational"
    if chain.size <= DENSE:
        return "dense"
    if chain.law is not None:
        return "chebyshev" if chebyshev_terms(min(reach, 1e9), 1e8) <= PRODUCTS else "shift-invert"
    return "uniformisation" if reach <= PRODUCTS else "shift-invert"


Answer = tuple[np.ndarray, np.ndarray]


def _by_poles(chain: _Chain, p: np.ndarray, ts: np.ndarray) -> Answer:
    if not chain.tridiagonal:
        raise argument_error("method", "suit the generator", "is `rational` for one that is not tridiagonal")
    birth, death = birth_and_death(chain.Q)
    pairs = [by_partial_fractions(birth, death, p, float(t)) for t in ts]
    return np.stack([q for q, _ in pairs]), np.array([error for _, error in pairs])


def _by_squaring(chain: _Chain, p: np.ndarray, ts: np.ndarray) -> Answer:
    pairs = [transition_matrix(chain.Q.toarray(), float(t)) for t in ts]
    return np.stack([P @ p for P, _ in pairs]), np.array([error for _, error in pairs])


def _by_chebyshev(chain: _Chain, p: np.ndarray, ts: np.ndarray) -> Answer:
    if chain.law is None:
        must = "suit the generator"
        raise argument_error("method", must, "is `chebyshev` for one that is not reversible, or not irreducible")
    return by_chebyshev(scipy.sparse.csr_array(chain.Q), p, chain.law, ts, chain.fastest)


def _by_uniformisation(chain: _Chain, p: np.ndarray, ts: np.ndarray) -> Answer:
    return by_uniformisation(scipy.sparse.csr_array(chain.Q), p, ts, chain.fastest)


def _by_shift_and_invert(chain: _Chain, p: np.ndarray, ts: np.ndarray) -> Answer:
    limit = stationary_distributions(chain.Q).limit(p) if chain.law is None else chain.law
    found, errors = by_shift_and_invert(chain.Q, p, limit, ts, reversible=chain.law is not None)
    if np.all(np.isfinite(errors)):
        return found, errors
    t = float(ts[np.argmax(errors)])
    raise IntegrationError(
        f"The space of `shift-invert` has not settled at t = {t:.6g}: take `uniformisation`, or leave the choice.",
        outcome=Outcome.MAX_STEPS,
    )


_WAYS: dict[str, Callable[[_Chain, np.ndarray, np.ndarray], Answer]] = {
    "dense": _by_squaring,
    "rational": _by_poles,
    "chebyshev": _by_chebyshev,
    "shift-invert": _by_shift_and_invert,
    "uniformisation": _by_uniformisation,
}
