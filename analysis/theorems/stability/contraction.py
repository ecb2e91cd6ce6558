"""Contraction: a matrix measure of the Jacobian that is negative in a convex region brings all solutions together."""

from collections.abc import Callable
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from analysis.theorems.boundary import pointing_inwards
from analysis.theorems.conditions import Conditions, known, theorem, together
from analysis.theorems.fields import field_of, smooth
from analysis.theorems.linear import leading_minors
from analysis.theorems.regions import Region, as_region, positive_weights
from analysis.theorems.subdivision import BUDGET, positive
from dynsim._core.types import ArrayLike, BoxLike
from dynsim._core.validation import number, reals
from dynsim.errors import ArgumentError
from dynsim.systems.base import AbstractFlow

Norm = Literal["1", "2", "inf"]


@theorem
def contraction(
    flow: AbstractFlow,
    region: Region | BoxLike,
    *,
    norm: Norm = "2",
    rate: float = 0.0,
    weights: ArrayLike | None = None,
    metric: ArrayLike | None = None,
    budget: int = BUDGET,
) -> Conditions:
    """Check whether a flow contracts in a convex invariant region: all solutions approach each other at a known rate.

    The matrix measure of the Jacobian J must be less than -rate everywhere. In the weighted maximum norm, max |x_i| /
    w_i, it is the largest J_ii + sum |J_ij| w_j / w_i; in the weighted sum norm, sum w_i |x_i|, the largest J_jj +
    sum |J_ij| w_i / w_j; in the norm of a metric P, P J + J' P + 2 rate P must be negative definite.

    Args:
        flow: an autonomous flow on Euclidean space.
        region: a convex region, or a box.
        norm: "1", "2" or "inf".
        rate: the rate at which distances shall shrink, per unit of time.
        weights: positive weights of the norms "1" and "inf", (n,); 1 by default.
        metric: a symmetric positive definite matrix of the norm "2", (n, n); the identity by default.
        budget: largest number of boxes for each condition.

    Raises:
        ValueError: for bad input, or a field that intervals cannot enclose.

    Source: W. Lohmiller and J.-J. Slotine, Automatica 34 (1998) 683; Z. Aminzare and E. Sontag, IEEE CDC 2014.

    Example:
        >>> import dynsim as ds
        >>> from analysis.theorems import contraction
        >>> flow = ds.system("x' = -2*x + 0.5*sin(y); y' = -y + 0.3*cos(x)")
        >>> contraction(flow, [(-2.0, 2.0), (-2.0, 2.0)], norm="inf", rate=0.5).applies
        True
    """
    where = as_region(region)
    n = where.dimension
    field, least = field_of(flow, n, "contraction"), number("rate", rate, must="be at least 0") if rate else 0.0
    J = jax.jacfwd(field)
    if norm == "2":
        if weights is not None:
            raise ArgumentError("weights", 'be left out for the norm "2", which has a metric', "are given")
        P = _metric(metric, n)
        S = lambda x: -(P @ J(x) + J(x).T @ P) - 2 * least * P
        conditions, sense = leading_minors(S, n), "minors of -(P J + J' P) - 2 rate P > 0"
    else:
        if metric is not None:
            raise ArgumentError("metric", 'be left out unless the norm is "2"', "is given")
        w = positive_weights(weights, n)
        ratio = w[None, :] / w[:, None] if norm == "inf" else w[:, None] / w[None, :]
        conditions = [_row(J, ratio, k, norm == "inf", least) for k in range(n)]
        sums = "J_ii + sum |J_ij| w_j / w_i" if norm == "inf" else "J_jj + sum |J_ij| w_i / w_j"
        sense = f"{sums} < -{least:g}"
    found = [positive(one, where, budget=budget) for one in conditions]
    return Conditions(
        f"Contraction in the norm {norm}",
        (
            smooth(field, n),
            known("the region is convex", "convex", where.is_convex or None),
            pointing_inwards(field, where, strictly=False, budget=budget),
            together("the matrix measure of the Jacobian is negative", sense, found),
        ),
        f"distances of solutions in the region shrink at least as exp(-{least:g} t), and all tend to one equilibrium",
        "solutions need not approach each other in this norm",
        where, flow,
    )  # fmt: skip


def _metric(metric: ArrayLike | None, n: int) -> np.ndarray:
    P = np.eye(n) if metric is None else np.asarray(reals("metric", metric), float)
    if P.shape != (n, n) or not np.array_equal(P, P.T) or not np.all(np.linalg.eigvalsh(P) > 0):
        raise ArgumentError("metric", f"be a symmetric positive definite matrix, ({n}, {n})", f"is {P.tolist()}")
    return P


def _row(J: Callable[[Any], Any], ratio: np.ndarray, k: int, by_rows: bool, rate: float) -> Callable[[Any], Any]:
    """Minus the sum of a row, or a column, of which the entries off the diagonal are taken absolutely."""

    def value(x: Any) -> Any:
        matrix = J(x)
        line, factors = (matrix[k], ratio[k]) if by_rows else (matrix[:, k], ratio[:, k])
        others = [jnp.abs(line[j]) * factors[j] for j in range(len(ratio)) if j != k]
        return -line[k] - sum(others, jnp.zeros(())) - rate

    return value
