"""Test detailed balance of a chain, and compute the stationary distribution from a spanning tree."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.csgraph
from jaxtyping import Float

from analysis.chains.classes import Classes, classes_of_pattern
from dynsim._core.printing import one_line, report
from dynsim.systems.master_equation.checks import Matrix, check_generator, entries, num_states

# Largest violation explained by rounding in the product of rate ratios around a cycle of a thousand edges.
BALANCED = 1e-11


@dataclass(frozen=True)
class Reversibility:
    r"""Violations of detailed balance $Q_{ij} \pi_j = Q_{ji} \pi_i$, with $\pi$ from a spanning tree.

    `violation` is the largest $|\log (Q_{ij} \pi_j / Q_{ji} \pi_i)|$ over all pairs (Kolmogorov's criterion for the
    cycle that the pair closes in the tree), infinite if a transition has no reverse transition; it is attained at the
    pair `edge` = (i, j). `accumulated` is the sum over states of the largest violation at each. `log_weights`, shape
    (k,), is $\log \pi$ up to a constant in each class, in extended precision; NaN if a transition has no reverse.
    """

    violation: float
    edge: tuple[int, int]
    accumulated: float
    log_weights: np.ndarray

    __repr__ = one_line
    __str__ = report

    @property
    def stationary(self) -> Float[np.ndarray, " k"]:
        """Stationary distribution of a reversible chain with one class, to rounding even for large logarithms."""
        weights = self.log_weights - np.max(self.log_weights)
        rounded = weights.astype(float)
        p = np.exp(rounded) * (1 + (weights - rounded).astype(float))
        return p / np.sum(p)

    @property
    def reversible(self) -> bool:
        """Whether detailed balance holds up to rounding."""
        return self.violation <= BALANCED


def reversibility(generator: Any) -> Reversibility:
    """Compute the violations of detailed balance of a generator, shape (k, k), in each communicating class.

    A one-way transition between classes counts as a violation, although it is balanced under a distribution that
    vanishes on transient states; restrict the generator to a closed class to leave such transitions out.

    Raises:
        ValueError: unless the matrix is a generator.

    Example:
        >>> import numpy as np
        >>> from analysis.chains import reversibility
        >>> cycle = np.array([[-3.0, 1.0, 2.0], [2.0, -3.0, 1.0], [1.0, 2.0, -3.0]])  # rates 2 one way, 1 the other
        >>> round(reversibility(cycle).violation, 4)  # log(2 * 2 * 2)
        2.0794
    """
    return tree_balance(check_generator(generator))


def tree_balance(Q: Matrix, classes: Classes | None = None) -> Reversibility:
    """Compute `reversibility` of a checked generator; `classes` are computed if they are not given."""
    R = off_diagonal(Q)
    back = scipy.sparse.csc_array(R.T)
    back.sort_indices()
    k = num_states(R)
    if not (np.array_equal(R.indptr, back.indptr) and np.array_equal(R.indices, back.indices)):
        one_way = (R.astype(bool).astype(int) - back.astype(bool).astype(int)).tocoo()
        first = int(np.argmax(one_way.data > 0))
        i, j = int(one_way.row[first]), int(one_way.col[first])
        return Reversibility(np.inf, (i, j), np.inf, np.full(k, np.nan))
    if R.nnz == 0:
        return Reversibility(0.0, (0, 0), 0.0, np.zeros(k))
    rows, columns, values = entries(R)
    ratio = _log_ratio(values, back.data)
    weights = _potential(R, rows, columns, ratio, classes_of_pattern(R) if classes is None else classes)
    once = np.flatnonzero(rows < columns)  # each pair once, since extended precision is slow
    i, j = rows[once], columns[once]
    defects = abs(ratio[once] - (weights[i] - weights[j]))
    worst = int(np.argmax(defects))
    at_state = np.zeros(k)
    for ends in (i, j):
        np.maximum.at(at_state, ends, defects.astype(float))
    return Reversibility(float(defects[worst]), (int(i[worst]), int(j[worst])), float(np.sum(at_state)), weights)


def off_diagonal(Q: Matrix) -> scipy.sparse.csc_array:
    """Extract the off-diagonal rates of a generator as a sparse matrix with sorted indices."""
    rows, columns, values = entries(Q)
    away = rows != columns
    starts = np.concatenate([[0], np.cumsum(np.bincount(columns[away], minlength=num_states(Q)))])
    return scipy.sparse.csc_array((values[away].astype(float), rows[away], starts), shape=Q.shape)


def _log_ratio(values: np.ndarray, back: np.ndarray) -> np.ndarray:
    """Compute log(values / back), from the quotient if it neither overflows nor underflows."""
    with np.errstate(over="ignore", under="ignore"):
        quotient = values / back
    if np.all(np.isfinite(quotient) & (quotient > np.finfo(float).tiny)):
        return np.log(quotient)
    return np.log(values) - np.log(back)


def _potential(
    R: scipy.sparse.csc_array, rows: np.ndarray, columns: np.ndarray, ratio: np.ndarray, classes: Classes
) -> np.ndarray:
    """Sum log ratios along a breadth-first tree of each class to log pi, by pointer doubling.

    The sums are in extended precision where the platform has it: the rounding of the rates themselves remains.
    """
    k = num_states(R)
    roots = np.unique(classes.labels, return_index=True)[1]
    # An extra node, joined to one state of each class, makes one search reach all classes.
    edges = (np.concatenate([R.data, np.ones(len(roots))]), np.concatenate([R.indices, roots]))
    graph = scipy.sparse.csc_array((*edges, np.append(R.indptr, R.nnz + len(roots))), shape=(k + 1, k + 1)).T
    _, parent = scipy.sparse.csgraph.breadth_first_order(graph, k)
    parent = np.where(parent[:k] == k, np.arange(k), parent[:k])
    weight = np.zeros(k, dtype=np.longdouble)
    tree = parent[rows] == columns
    weight[rows[tree]] = ratio[tree]
    while np.any(parent != parent[parent]):
        weight, parent = weight + weight[parent], parent[parent]
    return weight
