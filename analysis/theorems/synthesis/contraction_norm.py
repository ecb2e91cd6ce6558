"""Find a norm in which a flow contracts: weights of the norms 1 and infinity, or a metric of the norm 2."""

from typing import Any

import jax
import numpy as np
import scipy.linalg
from scipy.optimize import linprog

from analysis.theorems.conditions import HOLDS, UNDECIDED, Conditions, Hypothesis, theorem
from analysis.theorems.fields import field_of, smooth
from analysis.theorems.quadratic import is_definite, lyapunov_matrix
from analysis.theorems.regions import Region, as_region
from analysis.theorems.samples import Values, points_of
from analysis.theorems.stability.contraction import contraction
from analysis.theorems.subdivision import BUDGET
from dynsim._core.types import BoxLike
from dynsim._core.validation import number
from dynsim.systems.base import AbstractFlow

LARGEST = 1e6
"""Largest quotient of two weights."""
HALVINGS = 20
"""Number of times that the interval of possible rates is halved; each takes a linear programme."""
SHARES = (0.9, 0.5, 0.1)
"""Parts of the rate that was seen at points that are certified one after the other."""
WORDS = "a norm was found"


@theorem
def contraction_norm(
    flow: AbstractFlow, region: Region | BoxLike, *, rate: float = 0.0, budget: int = BUDGET
) -> Conditions:
    """Find a norm in which a flow contracts in a convex invariant region, and a rate that is certified.

    The norms are max |x_i| / w_i, sum w_i |x_i|, and that of a metric P. For the first two, the weights that allow the
    largest rate at points of the region are found by linear programmes (at one point: a Perron vector of the Jacobian
    with absolute values off the diagonal); P solves Lyapunov's equation for the mean Jacobian or that in the middle.
    The norm with the largest rate is certified as `contraction` does it.

    Args:
        flow: an autonomous flow on Euclidean space.
        region: a convex region, or a box.
        rate: the rate that is asked for; by default a large part of what was seen at points.
        budget: largest number of boxes for each condition.

    Returns:
        The conditions of contraction in the norm that was found; `numbers` are the rate, and the weights or the
        entries of P. They are undecided if no norm was found, which does not say that there is none.

    Raises:
        ValueError: for bad input, or a field that intervals cannot enclose.

    Source: W. Lohmiller and J.-J. Slotine, Automatica 34 (1998) 683; Z. Aminzare and E. Sontag, IEEE CDC 2014, section
    II; S. Coogan, IEEE Trans. Automat. Control 64 (2019) 4024.

    Example:
        >>> import dynsim as ds
        >>> from analysis.theorems import contraction_norm
        >>> flow = ds.system("x' = -x + 5*tanh(y); y' = -y + 0.1*sin(x)")
        >>> contraction_norm(flow, [(-6.0, 6.0), (-1.0, 1.0)]).applies
        True
    """
    where = as_region(region)
    n = where.dimension
    field, least = field_of(flow, n, "contraction"), number("rate", rate, must="be at least 0") if rate else 0.0
    rows = Values(jax.jacfwd(field), n)(points_of(where)).reshape(-1, n, n)
    J = rows[np.all(np.isfinite(rows), axis=(1, 2))]
    options = sorted(_norms(J), key=lambda one: -one[0]) if len(J) else []
    best = options[0][0] if options else -np.inf
    found = None
    for seen, norm, given in options[:2]:
        for asked in [least] if rate else [_short(share * seen) for share in SHARES]:
            if not seen > max(asked, 0.0):
                break
            found = _named(contraction(flow, where, norm=norm, rate=asked, budget=budget, **given), asked, given)
            if found.hypotheses[-1].status == HOLDS:
                return found
    if found is not None:
        return found
    sense = f"a rate > {least:g} in a weighted norm 1 or infinity, or that of a metric, at {len(J)} points"
    row = Hypothesis(WORDS, sense, UNDECIDED, float(best - least), "floats")
    return Conditions(
        "Contraction", (row, smooth(field, n)),
        "solutions in the region approach each other", "solutions need not approach each other", where, flow,
    )  # fmt: skip


def _norms(J: np.ndarray) -> list[tuple[float, Any, dict[str, np.ndarray]]]:
    """Norms with the rate at which all Jacobians contract in them: the rate, the norm, and its weights or metric."""
    n = J.shape[1]
    found: list[tuple[float, Any, dict[str, np.ndarray]]] = []
    bounds = np.abs(J)
    bounds[:, range(n), range(n)] = J[:, range(n), range(n)]  # with absolute values off the diagonal
    columns = np.swapaxes(bounds, 1, 2)
    for norm, rows in (("inf", bounds), ("1", columns)):
        w = _weights(rows)
        found.append((-float(np.max(rows @ w / w)), norm, {"weights": w}))
    for A in (J.mean(axis=0), J[0], J[len(J) // 2]):
        largest = float(np.max(np.linalg.eigvals(A).real))
        for shift in (0.0, 0.5 * largest, 0.9 * largest):
            P = lyapunov_matrix(A - shift * np.eye(n)) if largest < 0 else np.eye(n)
            if P is None or not is_definite(P):
                continue
            P = P / 2.0 ** np.floor(np.log2(np.max(P)))
            turned = P @ J + np.swapaxes(J, 1, 2) @ P
            root = np.linalg.inv(scipy.linalg.cholesky(P, lower=True))
            found.append((-float(np.max(np.linalg.eigvalsh(root @ turned @ root.T))) / 2, "2", {"metric": P}))
    return found


def _weights(rows: np.ndarray) -> np.ndarray:
    """Weights w with which rows @ w <= -c w for a rate c that is about the largest one, rounded to short numbers."""
    n = rows.shape[1]
    high = float(np.max(np.abs(rows).sum(axis=2)))
    low, best = -high, np.ones(n)
    for _ in range(HALVINGS):
        rate = (low + high) / 2
        A = (rows + rate * np.eye(n)).reshape(-1, n)
        found = linprog(np.ones(n), A_ub=A, b_ub=np.zeros(len(A)), bounds=[(1.0, LARGEST)] * n)
        if found.x is None:
            high = rate
        else:
            low, best = rate, found.x
    exponent = np.floor(np.log2(best)) - 6
    return np.round(best / 2.0**exponent) * 2.0**exponent


def _short(rate: float) -> float:
    """Round a rate down to two digits."""
    if not rate > 0:
        return 0.0
    unit = 10.0 ** (np.floor(np.log10(rate)) - 1)
    return float(f"{np.floor(rate / unit) * unit:.2g}")


def _named(found: Conditions, rate: float, given: dict[str, np.ndarray]) -> Conditions:
    numbers = {"rate": rate}
    if "weights" in given:
        numbers |= {f"w{k + 1}": float(w) for k, w in enumerate(given["weights"])}
        said = "weights " + ", ".join(f"{w:g}" for w in given["weights"])
    else:
        P = given["metric"]
        numbers |= {f"P{i + 1}{j + 1}": float(P[i, j]) for i in range(len(P)) for j in range(i, len(P))}
        said = "a metric P"
    row = Hypothesis(WORDS, said, HOLDS, decided="algebra")
    return found._replace(hypotheses=(row, *found.hypotheses), numbers=numbers)
