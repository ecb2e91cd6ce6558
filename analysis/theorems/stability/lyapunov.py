"""Lyapunov's second method: a function that falls along solutions shows stability, with a region of attraction."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from analysis.theorems.boundary import kept_in_box
from analysis.theorems.conditions import Conditions, theorem, together
from analysis.theorems.definite import above, core_of, definite, largest_level, stationary
from analysis.theorems.exactly import vanishes
from analysis.theorems.fields import field_of, smooth_both
from analysis.theorems.regions import Region, as_region, point
from analysis.theorems.subdivision import BUDGET, positive
from dynsim._core.types import ArrayLike, BoxLike
from dynsim._core.validation import function
from dynsim.systems.base import AbstractFlow


@theorem
def lyapunov(
    flow: AbstractFlow,
    V: Callable[[Any], Any],
    region: Region | BoxLike,
    equilibrium: ArrayLike,
    *,
    semidefinite: bool = False,
    cut: float | None = None,
    budget: int = BUDGET,
) -> Conditions:
    """Check whether a function is a Lyapunov function of an equilibrium in a region.

    Near the equilibrium, where function and derivative vanish, their Hessians are shown to be positive definite on a
    box; elsewhere values are bounded directly.

    Args:
        flow: an autonomous flow on Euclidean space.
        V: the function, a scalar function of a state in JAX, with its minimum at the equilibrium.
        region: the region; the equilibrium lies inside it.
        equilibrium: the equilibrium, (n,), at which the field and the gradient of V are exactly zero.
        semidefinite: ask only that V does not grow, for stability without attraction.
        cut: half the side of the box about the equilibrium in which Hessians are used; by default a twentieth of the
            region's least side.
        budget: largest number of boxes for each condition.

    Raises:
        ValueError: for bad input, an equilibrium outside the region, or functions that intervals cannot enclose.

    Source: H. Khalil, Nonlinear Systems, Prentice Hall 2002, theorem 4.1.

    Example:
        >>> import dynsim as ds
        >>> from analysis.theorems import ball, lyapunov
        >>> flow = ds.system("x' = -x + y^2; y' = -y")
        >>> found = lyapunov(flow, lambda x: x[0] ** 2 + x[1] ** 2, ball([0.0, 0.0], 0.9), [0.0, 0.0])
        >>> found.applies, found.numbers["c"] > 0.8
        (True, True)
    """
    where = as_region(region)
    n = where.dimension
    field = field_of(flow, n, "Lyapunov's theorem")
    at = point("equilibrium", equilibrium, n)
    near = core_of(where, at, cut)
    given = function("V", V, "a state")
    height = above(given, at)
    fall = lambda x: -jnp.dot(jax.grad(height)(x), field(x))
    grows = definite(height, where, near, budget)
    falls = (
        [positive(fall, where, strictly=False, budget=budget)] if semidefinite else definite(fall, where, near, budget)
    )
    hypotheses = (
        smooth_both(field, height, n),
        *kept_in_box(where, budget),
        vanishes("the point is an equilibrium", "f(x*) = 0", field, at),
        stationary(height, at),
        together("V is larger elsewhere", "V(x) > V(x*)", grows),
        together(f"V {'does not grow' if semidefinite else 'falls'} along solutions",
                 f"grad V . f {'<=' if semidefinite else '<'} 0 off x*", falls),
    )  # fmt: skip
    numbers = largest_level(height, where, budget) if all(one.status == "holds" for one in hypotheses) else {}
    follows = "the equilibrium is stable" if semidefinite else (
        "the equilibrium is asymptotically stable, and {V - V(x*) < c} is in its basin"
    )  # fmt: skip
    return Conditions(
        "Lyapunov's theorem", hypotheses, follows, "V shows nothing about stability in the region",
        where, flow, numbers,
    )  # fmt: skip
