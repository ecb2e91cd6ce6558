"""Lyapunov's second method: a function that falls along solutions shows stability, with a region of attraction."""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from analysis.theorems.boundary import kept_in_box
from analysis.theorems.conditions import Conditions, Hypothesis, known, together
from analysis.theorems.exactly import vanishes
from analysis.theorems.fields import field_of, smooth
from analysis.theorems.matrices import leading_minors
from analysis.theorems.regions import Region, as_region, box, point
from analysis.theorems.subdivision import BUDGET, Decision, least_value, positive
from dynsim._core.checked import checked
from dynsim._core.types import ArrayLike, BoxLike
from dynsim._core.validation import function, number
from dynsim.errors import ArgumentError
from dynsim.systems.base import AbstractFlow

BESIDE = 20_000
"""Largest number of boxes in which a failure is looked for where Hessians do not decide."""
SOURCE = "H. Khalil, Nonlinear Systems, Prentice Hall 2002, theorem 4.1"


@checked
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
    size = 0.05 * float(np.min(where.sides[:, 1] - where.sides[:, 0])) if cut is None else number("cut", cut)
    near = box(np.stack([at - size, at + size], axis=1))
    if not all(float(g(jnp.asarray(at))) > 0 for g in where.inside) or np.any(
        (where.sides[:, 0] >= at) | (where.sides[:, 1] <= at)
    ):
        raise ArgumentError("equilibrium", "be inside the region", f"is {at.tolist()}")
    given = function("V", V, "a state")
    base = jnp.reshape(given(jnp.asarray(at)), ())
    height = lambda x: jnp.reshape(given(x), ()) - base
    fall = lambda x: -jnp.dot(jax.grad(lambda y: jnp.reshape(given(y), ()))(x), field(x))
    outside = _without_box(where, at, size)
    grows = _definite(height, outside, near, budget)
    falls = (
        [positive(fall, where, strictly=False, budget=budget)]
        if semidefinite
        else _definite(fall, outside, near, budget)
    )
    hypotheses = (
        _smooth_both(field, given, n),
        *kept_in_box(where, budget),
        vanishes("the point is an equilibrium", "f(x*) = 0", field, at),
        vanishes("V is stationary there", "grad V(x*) = 0", jax.grad(lambda x: jnp.reshape(given(x), ())), at),
        together("V is larger elsewhere", "V(x) > V(x*)", grows),
        together(f"V {'does not grow' if semidefinite else 'falls'} along solutions",
                 f"grad V . f {'<=' if semidefinite else '<'} 0 off x*", falls),
    )  # fmt: skip
    numbers = largest_level(height, where, budget) if all(one.status == "holds" for one in hypotheses) else {}
    follows = "the equilibrium is stable" if semidefinite else (
        "the equilibrium is asymptotically stable, and {V - V(x*) < c} is in its basin"
    )  # fmt: skip
    return Conditions(
        "Lyapunov's theorem", SOURCE, hypotheses, follows, "V shows nothing about stability in the region",
        where, flow, numbers,
    )  # fmt: skip


def _smooth_both(field: Any, V: Any, n: int) -> Hypothesis:
    one = smooth(field, n)
    other = smooth(lambda x: jnp.reshape(V(x), (1,)), n)
    holds = True if one.status == other.status == "holds" else None
    return known("the field and V are smooth", "each operation has all derivatives", holds)


def _definite(value: Callable[[Any], Any], outside: list[Region], near: Region, budget: int) -> list[Decision]:
    """Decide whether a function that vanishes to first order at a point is positive elsewhere.

    A Hessian that is not definite near the point decides nothing; the function may still be seen to fail beside it.
    """
    minors = leading_minors(jax.hessian(value), near.dimension)
    inner = [positive(minor, near, budget=budget) for minor in minors]
    if all(one.status == "holds" for one in inner):
        return [*(positive(value, part, budget=budget) for part in outside), *inner]
    middle, half = near.sides.mean(axis=1), (near.sides[:, 1] - near.sides[:, 0]) / 2
    beside = _without_box(near, middle, float(np.min(half)) / 16)
    seen = [positive(value, part, budget=BESIDE) for part in [*outside, *beside]]
    if any(one.status == "fails" for one in seen):
        return seen
    return [*seen, *(one._replace(status="undecided", witness=None) for one in inner if one.status != "holds")]


def _without_box(region: Region, at: np.ndarray, size: float) -> list[Region]:
    """Cover the region outside of a box about a point by boxes beside it: two for each component."""
    parts, sides = [], np.array(region.sides)
    for k in range(len(at)):
        for low, high in ((sides[k, 0], at[k] - size), (at[k] + size, sides[k, 1])):
            if low < high:
                part = sides.copy()
                part[k] = low, high
                parts.append(dataclasses.replace(region, sides=part))
        sides[k] = max(sides[k, 0], at[k] - size), min(sides[k, 1], at[k] + size)
    return parts


def largest_level(height: Callable[[Any], Any], region: Region, budget: int) -> dict[str, float]:
    """The largest value of V - V(x*) whose sublevel set is known to stay away from the boundary of the region."""
    lows = [least_value(height, region, on=k, budget=budget)[0] for k in range(len(region.inside))]
    if region.has_faces:
        for k in range(region.dimension):
            for end in (0, 1):
                lows.append(least_value(height, region, faces=((k, end),), budget=budget)[0])
    return {"c": float(min(lows))}
