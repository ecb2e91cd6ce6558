"""Detailed balance: a chain is reversible if rates multiply to the same both ways round every cycle (Kolmogorov)."""

from fractions import Fraction
from typing import Any

import numpy as np

from analysis.theorems.chains.perron_frobenius import irreducible, not_negative
from analysis.theorems.conditions import FAILS, HOLDS, Conditions, Hypothesis, known, theorem
from analysis.theorems.linear import matrix_of
from dynsim.exact import Exact


@theorem
def detailed_balance(system: Any) -> Conditions:
    """Check whether a Markov chain in continuous time satisfies detailed balance, by Kolmogorov's criterion on cycles.

    All rates are compared exactly: a floating-point number counts as the binary fraction that it is. The rate from
    state j to state i is the entry (i, j) of the matrix of p' = Q p.

    Args:
        system: a master equation: a `MasterEquationFlow`, a linear flow with named components, or a matrix, (k, k).

    Returns:
        The conditions; `numbers` holds the stationary probability of each state.

    Raises:
        ValueError: for bad input.

    Source: F. Kelly, Reversibility and Stochastic Networks, Wiley 1979, theorem 1.7.

    Example:
        >>> import dynsim as ds
        >>> from analysis.theorems import detailed_balance
        >>> detailed_balance(ds.system("p' = q - 2*p; q' = 2*p - q")).numbers
        {'p1': 0.3333333333333333, 'p2': 0.6666666666666666}
    """
    Q = matrix_of(system, "Kolmogorov's criterion")
    rows = [known("the system is linear", "p' = Q p", Q is not None)]
    numbers: dict[str, float] = {}
    if Q is not None:
        rows += [not_negative(Q, True), _columns(Q), irreducible(Q), _reversed(Q)]
        if all(row.status == HOLDS for row in rows):
            row, weights = _cycles(Q)
            rows.append(row)
            total = sum(weights, Fraction(0))
            if row.status == HOLDS:
                numbers = {f"p{k}": float(w / total) for k, w in enumerate(weights, 1)}
    return Conditions(
        "Detailed balance", tuple(rows),
        "the chain is reversible: in its stationary distribution as many transitions go from i to j as from j to i, "
        "and all eigenvalues are real",
        "currents flow round some cycle in the stationary distribution", None,
        None if isinstance(system, np.ndarray | list) else system, numbers,
    )  # fmt: skip


def _columns(Q: Exact) -> Hypothesis:
    """Decide whether probability is kept: whether all columns sum to zero."""
    sums = [sum(column, Fraction(0)) for column in Q.T]
    worst = max(sums, key=abs)
    words = "probability is kept"
    if worst == 0:
        return known(words, "all columns sum to 0", True)
    return Hypothesis(words, f"column {sums.index(worst) + 1} sums to 0", FAILS, -abs(float(worst)), "algebra")


def _reversed(Q: Exact) -> Hypothesis:
    """Decide whether each transition has a reverse."""
    words, sense = "each transition has a reverse", "Q_ij > 0 where Q_ji > 0"
    one_way = np.argwhere((Q != 0) & (Q.T == 0))
    if not len(one_way):
        return known(words, sense, True)
    i, j = one_way[0] + 1
    return known(words, f"{sense}; from {j} to {i} there is only one way", False)


def _cycles(Q: Exact) -> tuple[Hypothesis, list[Fraction]]:
    """Compare rates both ways round the cycles that each transition closes in a spanning tree."""
    weights = {0: Fraction(1)}
    waiting = [0]
    while waiting:
        j = waiting.pop()
        for i in np.flatnonzero(Q[:, j] != 0):
            if i not in weights:
                weights[int(i)] = weights[j] * Q[i, j] / Q[j, i]
                waiting.append(int(i))
    words, sense = "rates agree both ways round every cycle", "products of rates"
    for i, j in np.argwhere(Q != 0):
        flow, back = Q[i, j] * weights[j], Q[j, i] * weights[i]
        if i < j and flow != back:
            gap = float(abs(flow - back) / max(flow, back))
            text = f"{sense} round the cycle of states {i + 1} and {j + 1}"
            return Hypothesis(words, text, FAILS, -gap, "algebra"), []
    return known(words, f"{sense} are equal", True), [weights[k] for k in range(len(Q))]
