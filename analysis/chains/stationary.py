"""Compute stationary distributions of a generator, one for each closed class, by a method that fits its structure."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from jaxtyping import Int

from analysis.chains.classes import Classes, classes_of_pattern, shown
from analysis.chains.elimination import absorbed, by_elimination, by_inverse_iteration, by_lu
from analysis.chains.reversibility import Reversibility, tree_balance
from dynsim._core.checked import checked
from dynsim._core.printing import one_line, report
from dynsim.errors import ArgumentError, IntegrationError
from dynsim.systems.master_equation.checks import (
    Matrix,
    check_distribution,
    check_generator,
    entries,
    exit_rates,
    num_states,
)

METHODS = ("auto", "elimination", "tree", "lu", "inverse-iteration")
# Largest number of states for which elimination is always used; it makes every entry relatively accurate.
DENSE = 200
# Relative error of a factorisation from which on another method is tried.
UNKNOWN = 1e-3


@dataclass(frozen=True)
class StationaryDistribution:
    r"""Stationary distribution of one closed class, with the `states` of the class.

    `probabilities`, shape (k,), are over all states of the chain, zero outside `states`. `residual` is the largest
    $|(Q \pi)_i|$ relative to the flux through state i. `error` is the largest relative error of a probability: zero for
    Fractions, a bound for `tree` (from the Markov chain tree theorem, usually far too large), else an estimate from a
    second solve.
    """

    states: Int[np.ndarray, " states"]
    probabilities: np.ndarray
    method: str
    residual: float
    error: float

    __repr__ = one_line
    __str__ = report


@dataclass(frozen=True)
class StationaryDistributions:
    """Stationary `distributions` of a chain, one for each closed class; all others are mixtures of them."""

    generator: Matrix
    classes: Classes
    distributions: tuple[StationaryDistribution, ...]

    __repr__ = one_line

    @property
    def unique(self) -> bool:
        """Whether the stationary distribution is unique: there is one closed class."""
        return len(self.distributions) == 1

    @property
    def only(self) -> StationaryDistribution:
        """Unique stationary distribution; raises `ValueError` naming the closed classes if there are several."""
        if not self.unique:
            closed = ", ".join(shown(one.states) for one in self.distributions[:8])
            raise ArgumentError("generator", "have one closed class", f"has {len(self.distributions)}: {closed}")
        return self.distributions[0]

    def __str__(self) -> str:
        """Describe the classes, the number of stationary distributions, the methods and the error in sentences."""
        worst = max(one.error for one in self.distributions)
        methods = ", ".join(sorted({one.method for one in self.distributions}))
        how = f"by {methods}, relative error at most {worst:.2g}"
        if self.unique:
            return f"{self.classes} The stationary distribution is unique ({how})."
        many = f"There are {len(self.distributions)} stationary distributions, one for each closed class ({how})"
        return f"{self.classes} {many}; the limit is a mixture of them that depends on the initial distribution."

    def limit(self, p0: Any) -> np.ndarray:
        r"""Compute $\lim_{t \to \infty} e^{Qt} p_0$, shape (k,): the mixture by the absorption probabilities of `p0`.

        Raises:
            ValueError: unless `p0`, shape (k,), is a distribution.
            IntegrationError: if rounding hides where the mass of many transient states goes.
        """
        p = check_distribution(p0, num_states(self.generator))
        absorbed = _absorbed(self.generator, self.classes, p)
        pairs = zip(absorbed, self.distributions, strict=True)
        return sum((weight * one.probabilities for weight, one in pairs), start=0 * p)


@checked
def stationary_distributions(generator: Any, *, method: str = "auto") -> StationaryDistributions:
    """Compute the stationary distributions p of a generator, shape (k, k), with Q p = 0, one for each closed class.

    Args:
        generator: dense, sparse, or an object array of Fractions, for which the result is exact.
        method: one of `METHODS`. By default chosen for each class: elimination up to 200 states or for Fractions, a
            spanning tree if detailed balance holds, else a sparse LU factorisation with the probability of one state
            fixed, and inverse iteration if that is singular.

    Raises:
        ValueError: if the generator is none, for an unknown method, or for `tree` if the chain is not reversible.
        IntegrationError: if inverse iteration does not converge.

    Example:
        >>> import numpy as np
        >>> from analysis.chains import stationary_distributions
        >>> Q = np.array([[0.0, 1.0, 0.0], [0.0, -2.0, 0.0], [0.0, 1.0, 0.0]])  # state 1 leaves for 0 and 2
        >>> found = stationary_distributions(Q)
        >>> len(found.distributions), found.limit([0.0, 1.0, 0.0]).tolist()
        (2, [0.5, 0.0, 0.5])
    """
    if method not in METHODS:
        raise ArgumentError("method", f"be one of {', '.join(METHODS)}", f"is `{method}`")
    Q = check_generator(generator)
    classes = classes_of_pattern(Q)
    found = []
    for number in range(classes.num_closed):
        states = classes.states(number)
        part = Q if len(states) == num_states(Q) else Q[states][:, states]
        name, inner, error = _solved(part, method, classes if classes.irreducible else None)
        p = 0 * Q.diagonal()
        p[states] = inner
        found.append(StationaryDistribution(states, p, name, _residual(Q, p), float(error)))
    return StationaryDistributions(Q, classes, tuple(found))


@checked
def stationary_distribution(generator: Any, *, method: str = "auto") -> StationaryDistribution:
    """Compute the unique stationary distribution of a generator, shape (k, k), by one of `METHODS`.

    Args:
        generator: Q, (k, k): dense, sparse, or an object array of Fractions.
        method: as in `stationary_distributions`.

    Raises:
        ValueError: if it has several closed classes, naming them; `stationary_distributions` returns one for each.

    Example:
        >>> import numpy as np
        >>> from analysis.chains import stationary_distribution
        >>> Q = np.array([[-1.0, 2.0], [1.0, -2.0]])
        >>> stationary_distribution(Q).probabilities.round(4).tolist()
        [0.6667, 0.3333]
    """
    return stationary_distributions(generator, method=method).only


def _solved(Q: Matrix, method: str, classes: Classes | None) -> tuple[str, np.ndarray, float]:
    """Compute the stationary distribution of an irreducible generator: method, result and relative error."""
    if Q.dtype == object or method == "elimination" or method == "auto" and num_states(Q) <= DENSE:
        dense = Q if isinstance(Q, np.ndarray) else Q.toarray()
        return ("exact elimination" if Q.dtype == object else "elimination", *by_elimination(dense))
    if method in ("auto", "tree"):
        found = tree_balance(Q, classes)
        if found.reversible:
            return "tree", *_from_tree(found)
        if method == "tree":
            i, j = found.edge
            must = "be reversible for the tree method"
            raise ArgumentError("generator", must, f"violates detailed balance by {found.violation:.3g} at ({i}, {j})")
    sparse = scipy.sparse.csc_array(Q)
    solvers: dict[str, Callable[[Any], Any]] = {"lu": by_lu, "inverse-iteration": by_inverse_iteration}
    if method in solvers:
        return method, *solvers[method](sparse)
    with contextlib.suppress(IntegrationError):  # a pivot underflows in SuperLU: nearly decoupled parts
        found, error = by_lu(sparse)
        if error < UNKNOWN:
            return "lu", found, error
    return "inverse-iteration", *by_inverse_iteration(sparse)


def _from_tree(found: Reversibility) -> tuple[np.ndarray, float]:
    """Compute the stationary distribution with a bound of its relative error.

    It is exact for rates changed by a factor of at most e^(v/2) at a violation v of detailed balance. By the Markov
    chain tree theorem a probability is a quotient of sums of products of rates, one out of each other state: it changes
    by a factor of at most e^(sum of v).
    """
    rounding = 2 * (len(found.log_weights) + 2) * np.finfo(float).eps  # two for exponential, sum and quotient
    return found.stationary, float(np.expm1(found.accumulated + rounding))


def _residual(Q: Matrix, p: np.ndarray) -> float:
    """Compute the largest |(Q p)_i| relative to the probability flux out of state i."""
    flux = exit_rates(Q) * p
    through = flux > 0
    if not np.any(through):
        return 0.0
    return float(np.max(abs(Q @ p)[through] / flux[through]))


def _absorbed(Q: Matrix, classes: Classes, p: np.ndarray) -> list[Any]:
    """Compute the probability of absorption in each closed class from the initial distribution `p`."""
    closed, transient = classes.num_closed, classes.transient
    inside = [p[classes.states(c)].sum() for c in range(closed)]
    if not transient.size:
        return inside
    place = np.where(classes.labels < closed, len(transient) + classes.labels, 0)
    place[transient] = np.arange(len(transient))
    rows, columns, values = entries(Q)
    leaves = (classes.labels[columns] >= closed) & (rows != columns)
    out = (values[leaves], place[rows[leaves]], place[columns[leaves]])
    return [mass + more for mass, more in zip(inside, absorbed(*out, p[transient], closed, DENSE), strict=True)]
