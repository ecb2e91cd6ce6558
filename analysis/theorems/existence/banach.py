"""Banach's theorem: a map that contracts a box into itself has one fixed point there, which attracts."""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from analysis.theorems.boundary import keeps
from analysis.theorems.conditions import Conditions, theorem, together
from analysis.theorems.fields import smooth, step_of
from analysis.theorems.regions import as_region, positive_weights
from analysis.theorems.subdivision import BUDGET, positive
from dynsim._core.types import ArrayLike, BoxLike
from dynsim.systems.base import AbstractMap


@theorem
def banach(
    system: AbstractMap, sides: BoxLike, *, weights: ArrayLike | None = None, budget: int = BUDGET
) -> Conditions:
    """Check whether a map contracts a box into itself, so that all orbits from it tend to one fixed point.

    Distances are measured by the weighted maximum norm, max |x_i| / w_i, in which the Lipschitz constant is the largest
    sum of |J_ij| w_j / w_i over a row of the Jacobian J.

    Args:
        system: a map on Euclidean space.
        sides: (low, high) for each component, (n, 2).
        weights: positive weights w of the components, (n,); 1 by default.
        budget: largest number of boxes for each condition.

    Raises:
        ValueError: for bad input, or a map that intervals cannot enclose.

    Source: G. Teschl, Ordinary Differential Equations and Dynamical Systems, AMS 2012, theorem 2.1.

    Example:
        >>> import dynsim as ds
        >>> from analysis.theorems import banach
        >>> found = banach(ds.system("x[n+1] = cos(x)"), [(0.5, 1.0)])
        >>> found.applies, found.numbers["L"] < 0.85
        (True, True)
    """
    where = as_region(sides, name="sides")
    n = where.dimension
    step = step_of(system, n, "Banach's theorem")
    w = positive_weights(weights, n)
    J = jax.jacfwd(step)

    def gap(k: int) -> Callable[[Any], Any]:
        return lambda x: (w[k] - jnp.sum(jnp.abs(J(x)[k]) * w)) / w[k]

    gaps = [positive(gap(k), where, budget=budget, name="system") for k in range(n)]
    contracts = together("the map contracts", "sum of |J_ij| w_j / w_i < 1", gaps)
    constant = math.nextafter(1.0 - min(one.least for one in gaps), math.inf)
    return Conditions(
        "Banach's theorem",
        (smooth(step, n, "the map"), keeps(step, where, "box", budget), contracts),
        "the box has exactly one fixed point, and the distance of every orbit from it falls at least as L^n",
        "a fixed point that attracts the whole box is not implied in this norm",
        where, system, {"L": constant} if contracts.status == "holds" else {},
    )  # fmt: skip
