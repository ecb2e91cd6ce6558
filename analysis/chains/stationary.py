"""Stationary laws, one for each closed class: exact or GTH when small, by a tree when reversible, else by sparse LU."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse
from jaxtyping import Int

from analysis.chains.classes import Classes, classes_of_pattern, shown
from analysis.chains.elimination import by_elimination, by_inverse_iteration, by_pinned_lu, factors
from analysis.chains.reversibility import Reversibility, tree_balance
from dynsim.errors import argument_error
from dynsim.systems.master_equation.checks import (
    Matrix,
    check_distribution,
    check_generator,
    entries,
    exit_rates,
    num_states,
)

METHODS = ("auto", "elimination", "tree", "lu", "inverse-iteration")
DENSE = 200  # states up to which elimination is used whatever the structure: every entry to relative precision


@dataclass(frozen=True)
class StationaryDistribution:
    r"""The stationary law of one closed class.

    `probabilities` is over all states of the chain, zero outside `states`. `residual` is the largest $|(Q \pi)_i|$ over
    the flux through state i; `error` is the relative error of the probabilities: zero for Fractions, a bound for `tree`
    (from the tree theorem, far above the usual error), an estimate from a second solve for the others.
    """

    states: Int[np.ndarray, " states"]
    probabilities: np.ndarray
    method: str
    residual: float
    error: float


@dataclass(frozen=True)
class StationaryDistributions:
    """All stationary laws of a chain are mixtures of `laws`, one for each closed class."""

    generator: Matrix
    classes: Classes
    laws: tuple[StationaryDistribution, ...]

    @property
    def unique(self) -> bool:
        """Whether there is one law."""
        return len(self.laws) == 1

    @property
    def only(self) -> StationaryDistribution:
        """The one law; `ValueError` naming the closed classes if there are several."""
        if not self.unique:
            closed = ", ".join(shown(law.states) for law in self.laws[:8])
            raise argument_error("generator", "have one closed class", f"has {len(self.laws)}: {closed}")
        return self.laws[0]

    def explain(self) -> str:
        """Return what the answer is: unique, or one for each closed class."""
        worst = max(law.error for law in self.laws)
        methods = ", ".join(sorted({law.method for law in self.laws}))
        how = f"by {methods}, relative error at most {worst:.2g}"
        if self.unique:
            return f"{self.classes.explain()} The stationary law is unique ({how})."
        many = f"There are {len(self.laws)} stationary laws, one for each closed class ({how})"
        return f"{self.classes.explain()} {many}; which mixture of them is reached depends on the start."

    def limit(self, p0: Any) -> np.ndarray:
        r"""Return $\lim_{t \to \infty} e^{Qt} p_0$, shape (k,): the laws, weighted by where the start is absorbed.

        Raises:
            ValueError: unless `p0`, shape (k,), is a distribution.
        """
        p = check_distribution(p0, num_states(self.generator))
        absorbed = _absorbed(self.generator, self.classes, p)
        return sum((w * law.probabilities for w, law in zip(absorbed, self.laws, strict=True)), start=0 * p)


def stationary_distributions(generator: Any, *, method: str = "auto") -> StationaryDistributions:
    """Return the stationary laws of a generator, shape (k, k): p with Q p = 0, one for each closed class.

    Args:
        generator: dense, sparse, or an object array, which is solved exactly in Fractions.
        method: by default chosen for each class: elimination up to 200 states or when exact, a spanning tree if
            detailed balance holds, else a sparse LU with one state pinned, and inverse iteration should that be
            singular.

    Raises:
        ValueError: for what is no generator, an unknown method, or `tree` for a chain that is not reversible.
    """
    if method not in METHODS:
        raise argument_error("method", f"be one of {', '.join(METHODS)}", f"is `{method}`")
    Q = check_generator(generator)
    classes = classes_of_pattern(Q)
    laws = []
    for number in range(classes.num_closed):
        states = classes.states(number)
        part = Q if len(states) == num_states(Q) else Q[states][:, states]
        name, inner, error = _solved(part, method, classes if classes.irreducible else None)
        p = 0 * Q.diagonal()
        p[states] = inner
        laws.append(StationaryDistribution(states, p, name, _residual(Q, p), float(error)))
    return StationaryDistributions(Q, classes, tuple(laws))


def stationary_distribution(generator: Any, *, method: str = "auto") -> StationaryDistribution:
    """Return the one stationary law of a generator.

    Raises:
        ValueError: if it has several closed classes, naming them; `stationary_distributions` answers for each.
    """
    return stationary_distributions(generator, method=method).only


def _solved(Q: Matrix, method: str, classes: Classes | None) -> tuple[str, np.ndarray, float]:
    """Return the method used on an irreducible generator, its law, and the relative error."""
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
            raise argument_error("generator", must, f"is off detailed balance by {found.violation:.3g} at ({i}, {j})")
    sparse = scipy.sparse.csc_array(Q)
    ways: dict[str, Callable[[Any], Any]] = {"lu": by_pinned_lu, "inverse-iteration": by_inverse_iteration}
    if method in ways:
        return method, *ways[method](sparse)
    try:
        return "lu", *by_pinned_lu(sparse)
    except RuntimeError:  # SuperLU's word for a pivot that underflows: nearly decoupled parts
        return "inverse-iteration", *by_inverse_iteration(sparse)


def _from_tree(found: Reversibility) -> tuple[np.ndarray, float]:
    """Return the law and a bound of its relative error.

    The law is that of rates changed by at most e^(v/2) at a violation v. By the tree theorem a probability is a sum of
    products of one rate out of each other state, over such a sum: it changes by at most the factor e^(sum of v).
    """
    rounding = 2 * len(found.log_weights) * np.finfo(float).eps
    return found.law, float(np.expm1(found.accumulated + rounding))


def _residual(Q: Matrix, p: np.ndarray) -> float:
    """Return the largest imbalance of a state, relative to the flux out of it."""
    flux = exit_rates(Q) * p
    through = flux > 0
    if not np.any(through):
        return 0.0
    return float(np.max(abs(Q @ p)[through] / flux[through]))


def _absorbed(Q: Matrix, classes: Classes, p: np.ndarray) -> list[Any]:
    """Return the probability of ending in each closed class."""
    transient = classes.transient
    inside = [p[classes.states(c)].sum() for c in range(classes.num_closed)]
    if not transient.size:
        return inside
    T, b = -Q[transient][:, transient], p[transient]
    visits = _exact_solution(T, b) if Q.dtype == object else factors(scipy.sparse.csc_array(T)).solve(b.astype(float))
    rows, columns, values = entries(Q)
    time = 0 * p
    time[transient] = visits
    flux = values * time[columns]
    leaves = (classes.labels[columns] >= classes.num_closed) & (rows != columns)
    into = classes.labels[rows]
    return [mass + flux[leaves & (into == c)].sum() for c, mass in enumerate(inside)]


def _exact_solution(T: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the solution of T x = b in Fractions; the pivots of a column-dominant T are not zero."""
    A = np.concatenate([T, b[:, None]], axis=1)
    for j in range(len(T)):
        A[j] = A[j] / A[j, j]
        for i in range(len(T)):
            if i != j and A[i, j] != Fraction(0):
                A[i] = A[i] - A[i, j] * A[j]
    return A[:, -1]
