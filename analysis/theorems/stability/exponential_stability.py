"""Exponential stability with constants: a function between two squares of distances that falls at least as a third."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from analysis.theorems.boundary import kept_in_box
from analysis.theorems.conditions import HOLDS, Conditions, Hypothesis, known, theorem, together
from analysis.theorems.definite import above, core_of, definite, largest_level, stationary, without_box
from analysis.theorems.exactly import vanishes
from analysis.theorems.fields import Field, field_of, smooth_both
from analysis.theorems.regions import Region, as_region, point
from analysis.theorems.subdivision import BUDGET, least_value
from dynsim._core.types import ArrayLike, BoxLike
from dynsim._core.validation import function
from dynsim.systems.base import AbstractFlow

SHARES = (0.02, 0.1, 0.4)
"""How far a constant is moved away from its estimate until it is proved."""


@theorem
def exponential_stability(
    flow: AbstractFlow,
    V: Callable[[Any], Any],
    region: Region | BoxLike,
    equilibrium: ArrayLike,
    *,
    cut: float | None = None,
    budget: int = BUDGET,
) -> Conditions:
    """Find constants with which a Lyapunov function shows exponential stability: a rate and a gain.

    With c1 |x - x*|^2 <= V <= c2 |x - x*|^2 and V' <= -c3 |x - x*|^2 (for V(x*) = 0), solutions from {V < c} satisfy
    |x(t) - x*| <= gain |x(0) - x*| exp(-rate t) with gain = sqrt(c2 / c1) and rate = c3 / (2 c2).

    Args:
        flow: an autonomous flow on Euclidean space.
        V: the function, a scalar function of a state in JAX, with its minimum at the equilibrium.
        region: the region; the equilibrium lies inside it.
        equilibrium: the equilibrium, (n,), at which the field and the gradient of V are exactly zero.
        cut: half the side of the box about the equilibrium in which Hessians are used; by default a twentieth of the
            region's least side.
        budget: largest number of boxes for each condition.

    Returns:
        The conditions; `numbers` holds c1, c2, c3, the gain, the rate and the level c.

    Raises:
        ValueError: for bad input, an equilibrium outside the region, or functions that intervals cannot enclose.

    Source: H. Khalil, Nonlinear Systems, Prentice Hall 2002, theorem 4.10.

    Example:
        >>> import dynsim as ds
        >>> from analysis.theorems import exponential_stability
        >>> found = exponential_stability(ds.system("x' = -x - x^3"), lambda x: x[0] ** 2, [(-1.0, 1.0)], [0.0])
        >>> found.applies, 0.9 < found.numbers["rate"] <= 1.0
        (True, True)
    """
    where = as_region(region)
    n = where.dimension
    field, at = field_of(flow, n, "the theorem on exponential stability"), point("equilibrium", equilibrium, n)
    near, height = core_of(where, at, cut), above(function("V", V, "a state"), at)
    fall = lambda x: -jnp.dot(jax.grad(height)(x), field(x))
    bounds = [
        _bound("V grows at least as the square of the distance", "V >= {} |x - x*|^2", height, where, near, budget),
        _bound("V grows at most as the square", "V <= {} |x - x*|^2", lambda x: -height(x), where, near, budget),
        _bound("V falls at least as the square", "V' <= -{} |x - x*|^2", fall, where, near, budget),
    ]
    rows = (
        smooth_both(field, height, n),
        *kept_in_box(where, budget),
        vanishes("the point is an equilibrium", "f(x*) = 0", field, at),
        stationary(height, at),
        *(row for row, _ in bounds),
    )
    numbers = {}
    if all(row.status == HOLDS for row in rows):
        (_, c1), (_, c2), (_, c3) = bounds
        numbers = {"c1": c1, "c2": -c2, "c3": c3, "gain": (-c2 / c1) ** 0.5, "rate": c3 / (-2 * c2)}
        numbers |= largest_level(height, where, budget)
    return Conditions(
        "Exponential stability", rows,
        "solutions from {V - V(x*) < c} satisfy |x - x*| <= gain |x(0) - x*| exp(-rate t)",
        "V does not show exponential stability in the region", where, flow, numbers,
    )  # fmt: skip


def _bound(words: str, sense: str, value: Field, where: Region, near: Region, budget: int) -> tuple[Hypothesis, float]:
    """Prove value >= c |x - x*|^2 with a constant c near the largest, which is positive unless the value is not."""
    at = near.sides.mean(axis=1)
    squares = lambda x: jnp.sum((x - at) ** 2)
    ratio = lambda x: value(x) / squares(x)
    inner = float(np.linalg.eigvalsh(np.asarray(jax.hessian(value)(jnp.asarray(at))))[0]) / 2
    best = min([inner, *(least_value(ratio, part, budget=budget)[0] for part in without_box(where, near))])
    negative = best < 0 and sense.startswith("V <=")
    if not np.isfinite(best) or (best <= 0 and not negative):
        row = together(words, sense.format("c"), definite(value, where, near, budget))
        return (row._replace(status="undecided") if row.status == HOLDS else row), np.nan
    row, c = known(words, sense, None), np.nan
    for share in SHARES:
        c = best * (1 + share if negative else 1 - share)
        above_it = lambda x, c=c: value(x) - c * squares(x)
        row = together(words, sense.format(f"{abs(c):.4g}"), definite(above_it, where, near, budget))
        if row.status == HOLDS:
            break
    return row, c
