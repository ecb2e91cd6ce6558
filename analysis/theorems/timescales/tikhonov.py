"""Tikhonov's theorem: solutions of a system with two time scales tend to those of the reduced problem."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from analysis.theorems.conditions import HOLDS, Conditions, Hypothesis, decided, theorem, together
from analysis.theorems.fields import Field, field_of, smooth
from analysis.theorems.linear import leading_minors
from analysis.theorems.regions import Region, as_region, point
from analysis.theorems.subdivision import BUDGET, positive
from analysis.theorems.timescales.critical_manifolds import at_rest, critical_curve, fast_components
from dynsim._core.types import ArrayLike, BoxLike
from dynsim._core.validation import number
from dynsim.errors import ArgumentError
from dynsim.systems.base import AbstractFlow

NAME = "Tikhonov's theorem"


@theorem
def tikhonov(
    flow: AbstractFlow,
    sides: BoxLike,
    start: ArrayLike,
    fast: Sequence[int] = (0,),
    *,
    time: float | None = None,
    budget: int = BUDGET,
) -> Conditions:
    """Check whether solutions from a start tend to those of the reduced problem as the time-scale ratio tends to zero.

    In the box, for each value of the slow components, the layer problem must enter through the ends of the fast
    components and have one equilibrium, which attracts: for one fast component because its derivative by itself is
    negative wherever it rests, for two because the symmetric part of the derivative is negative definite in the box.

    Args:
        flow: an autonomous flow on Euclidean space, the small parameter at any positive value.
        sides: (low, high) for each component, a box about the critical manifold.
        start: the start, (n,); its slow components lie inside the box. One fast component may start outside.
        fast: the indices of one or two fast components.
        time: final time of the reduced problem; without one its solutions must never leave the box.
        budget: largest number of boxes for each condition.

    Raises:
        ValueError: for bad input, or a field that intervals cannot enclose.

    Source: H. Khalil, Nonlinear Systems, Prentice Hall 2002, theorem 11.1 (A. Tikhonov 1952).

    Example:
        >>> import dynsim as ds
        >>> from analysis.theorems import tikhonov
        >>> flow = ds.system("x' = (y - x - x^3)/0.01; y' = -x")
        >>> tikhonov(flow, [(-2.0, 2.0), (-1.0, 1.0)], [1.5, 0.5]).applies
        True
    """
    where = as_region(sides, name="sides")
    n = where.dimension
    quick = fast_components(fast, n, 2)
    slow = [k for k in range(n) if k not in quick]
    at, field = point("start", start, n), field_of(flow, n, NAME)
    inside = (where.sides[:, 0] < at) & (at < where.sides[:, 1])
    for k in range(n):
        if not inside[k] and (k in slow or len(quick) > 1):
            raise ArgumentError("start", "be inside the box", f"is {at.tolist()}")
    rows = (
        smooth(field, n),
        together("the layer problem enters the box", "f . n > 0 on the faces of the fast components",
                 [positive(_inwards(field, k, end), where, faces=[(k, end)], budget=budget) for k in quick
                  for end in (0, 1)]),
        _attracting(field, where, quick, budget),
        _basin(field, where, at, quick, budget),
        _staying(field, where, at, quick, time, budget),
    )  # fmt: skip
    until = "every time T" if time is None else f"T = {float(time):g}"
    return Conditions(
        NAME,
        rows,
        "as the time-scale ratio tends to 0, the solution from the start tends to that of the reduced problem, "
        f"uniformly on [t, T] for each t > 0 and {until}",
        "that the reduced problem describes the solution is not implied",
        where, flow, {}, critical_curve(where, field, quick),
    )  # fmt: skip


def _inwards(field: Field, k: int, end: int) -> Callable[[Any], Any]:
    sign = -1.0 if end else 1.0
    return lambda x: sign * field(x)[k]


def _attracting(field: Field, where: Region, quick: list[int], budget: int) -> Hypothesis:
    """Decide whether the root of the layer problem is alone and attracts."""
    some = jnp.asarray(quick)
    J = lambda x: jax.jacfwd(field)(x)[some][:, some]
    words = "the root of the layer problem is alone and attracts"
    if len(quick) == 1:
        resting, on = at_rest(where, field, quick)
        return decided(words, "df/dx < 0 where f = 0", positive(lambda x: -J(x)[0, 0], resting, on=on, budget=budget))
    minors = leading_minors(lambda x: -(J(x) + J(x).T), len(quick))
    parts = [positive(minor, where, budget=budget) for minor in minors]
    return together(words, "df/dx + its transpose is negative definite", parts)


def _basin(field: Field, where: Region, at: np.ndarray, quick: list[int], budget: int) -> Hypothesis:
    """Decide whether the layer problem leads from the start into the box."""
    words, k = "the start is in the basin of the root", quick[0]
    low, high = where.sides[k]
    if low <= at[k] <= high:
        return Hypothesis(words, "it lies in the box, all of which is", HOLDS, decided="algebra")
    below = bool(at[k] < low)
    ends = np.stack([at, at], axis=1)
    ends[k] = (at[k], low) if below else (high, at[k])
    found = positive(_inwards(field, k, int(not below)), Region(ends), budget=budget)
    row = decided(words, f"f {'>' if below else '<'} 0 between it and the box", found)
    return row._replace(signs=())


def _staying(
    field: Field, where: Region, at: np.ndarray, quick: list[int], time: float | None, budget: int
) -> Hypothesis:
    """Decide whether the solution of the reduced problem stays in the box."""
    resting, on = at_rest(where, field, quick)
    slow = [k for k in range(where.dimension) if k not in quick]
    words = "the solution of the reduced problem stays in the box"
    if time is None:
        parts = [
            positive(_inwards(field, k, end), resting, strictly=False, on=on, faces=[(k, end)], budget=budget)
            for k in slow
            for end in (0, 1)
        ]
        return together(words, "g . n >= 0 where f = 0 on the faces of the slow components", parts)
    last = number("time", time)

    def gap(k: int) -> Callable[[Any], Any]:
        room = float(min(at[k] - where.sides[k, 0], where.sides[k, 1] - at[k]))
        return lambda x: room - last * jnp.abs(field(x)[k])

    parts = [positive(gap(k), resting, on=on, budget=budget) for k in slow]
    return together(words, "T |g| is less than the distance of the start from the faces, where f = 0", parts)
