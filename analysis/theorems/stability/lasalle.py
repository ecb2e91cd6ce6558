"""LaSalle's theorem: a function that does not grow leads all solutions to the largest invariant set where it rests."""

import dataclasses
import functools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from analysis.theorems.algebra import is_zero
from analysis.theorems.boundary import bounded, pointing_inwards
from analysis.theorems.conditions import UNDECIDED, Conditions, Hypothesis, decided, known, theorem, together
from analysis.theorems.definite import BESIDE
from analysis.theorems.exactly import vanishes
from analysis.theorems.fields import Field, field_of, smooth
from analysis.theorems.linear import leading_minors
from analysis.theorems.quadratic import lyapunov_matrix
from analysis.theorems.regions import Condition, Region, as_region, box, point, written
from analysis.theorems.stability.rest_lines import RestLine
from analysis.theorems.subdivision import BUDGET, Decision, positive
from dynsim._core.types import ArrayLike, BoxLike
from dynsim._core.validation import function, integer, number
from dynsim.errors import ArgumentError
from dynsim.systems.base import AbstractFlow

FOLLOWS = "every solution from the region tends to one of the equilibria given"
OTHERWISE = "solutions from the region need not tend to the equilibria given"


@theorem
def lasalle(
    flow: AbstractFlow,
    V: Callable[[Any], Any],
    region: Region | BoxLike,
    equilibria: ArrayLike,
    *,
    derivatives: int = 2,
    cut: float | None = None,
    rests_along: ArrayLike | None = None,
    budget: int = BUDGET,
) -> Conditions:
    """Check whether all solutions from a region tend to given equilibria, by LaSalle's theorem.

    A solution that stays where V rests has V' = V'' = ... = 0, which is excluded away from the equilibria. Near each of
    them no other solution stays, because a quadratic function falls along all of them; it solves Lyapunov's equation.

    Args:
        flow: an autonomous flow on Euclidean space.
        V: a function that does not grow along solutions, a scalar function of a state in JAX.
        region: the region, which solutions must not leave; such as a sublevel set of V.
        equilibria: all equilibria in the region, (m, n) or (n,), at which the field is exactly zero.
        derivatives: number of further derivatives of V' along solutions that are used.
        cut: radius of the balls about the equilibria in which the quadratic function is used; by default an
            eightieth of the region's least side.
        rests_along: the direction of a line through the only equilibrium on which V' is zero, (n,), if there is one.
            Then V' is shown to be negative beside the line, and solutions to leave it.
        budget: largest number of boxes for each condition.

    Raises:
        ValueError: for bad input, balls that meet, or functions that intervals cannot enclose.

    Source: H. Khalil, Nonlinear Systems, Prentice Hall 2002, theorem 4.4.

    Example:
        >>> import dynsim as ds
        >>> from analysis.theorems import lasalle, where
        >>> flow = ds.system("x' = y; y' = -x - x^3 - 0.5*y")
        >>> V = lambda s: s[0] ** 2 / 2 + s[0] ** 4 / 4 + s[1] ** 2 / 2
        >>> below = where([(-1.5, 1.5), (-1.5, 1.5)], lambda s: 1 - V(s), label="{V <= 1}", bounds=False)
        >>> lasalle(flow, V, below, [0.0, 0.0]).applies
        True
    """
    where = as_region(region)
    n = where.dimension
    field, given = field_of(flow, n, "LaSalle's theorem"), function("V", V, "a state")
    rest = [point("equilibria", one, n) for one in np.atleast_2d(np.asarray(equilibria, float))]
    size = 0.0125 * float(np.min(where.sides[:, 1] - where.sides[:, 0])) if cut is None else number("cut", cut)
    closest = min((float(np.linalg.norm(a - b)) for k, a in enumerate(rest) for b in rest[:k]), default=np.inf)
    if not 2 * size < closest:
        raise ArgumentError(
            "cut", f"be less than half the least distance of two equilibria, {closest:g}", f"is {size:g}"
        )
    height = lambda x: jnp.reshape(given(x), ())
    rates = [_along(height, field)]
    for _ in range(integer("derivatives", derivatives, least=0)):
        rates.append(_along(rates[-1], field))
    if rests_along is not None:
        return _with_line(flow, field, height, where, rest, rests_along, budget)
    away = functools.reduce(lambda part, at: part.without(at, size), rest, where)
    moves = positive(lambda x: jnp.stack([s * rate(x) for rate in rates for s in (1.0, -1.0)]), away, budget=budget)
    return Conditions(
        "LaSalle's theorem",
        (
            smooth(lambda x: jnp.append(field(x), height(x)), n, "the field with V"),
            *bounded(where, budget),
            pointing_inwards(field, where, strictly=False, budget=budget),
            decided("V does not grow along solutions", "grad V . f <= 0", _not_growing(rates[0], where, rest, budget)),
            decided("no solution stays where V rests, away from the equilibria", "V', V'', ... are not all 0", moves),
            *(row for at in rest for row in _alone(field, at, size, budget)),
        ),
        FOLLOWS, OTHERWISE, where, flow,
    )  # fmt: skip


def _with_line(
    flow: AbstractFlow, field: Field, height: Condition, where: Region, rest: list[np.ndarray], given: Any, budget: int
) -> Conditions:
    """The conditions if V rests on a line through the only equilibrium."""
    n, direction = where.dimension, point("rests_along", given, where.dimension)
    if len(rest) != 1 or not np.any(direction):
        raise ArgumentError("rests_along", "be a direction through the only equilibrium", f"is {direction.tolist()}")
    line = RestLine(rest[0], direction, where)
    levels = [is_zero(lambda x, g=g: jax.grad(lambda y: jnp.reshape(g(y), ()) + height(y))(x), n) for g in where.inside]
    if all(levels) and levels and not where.has_faces:
        inwards = known("the field points into the region on its boundary", "the region is a sublevel set of V", True)
    else:
        inwards = pointing_inwards(field, where, strictly=False, budget=budget)
    rows = (
        smooth(lambda x: jnp.append(field(x), height(x)), n, "the field with V"), *bounded(where, budget), inwards,
        vanishes("the point is an equilibrium", "f(x*) = 0", field, rest[0]),
        *line.falls(_along(height, field), budget), line.is_left(field, budget),
    )  # fmt: skip
    return Conditions("LaSalle's theorem", rows, FOLLOWS, OTHERWISE, where, flow)


def _not_growing(rate: Condition, where: Region, rest: list[np.ndarray], budget: int) -> Decision:
    """Decide whether V does not grow, also in coordinates about each equilibrium, in which squares cancel exactly."""
    found = positive(lambda x: -rate(x), where, strictly=False, budget=min(budget, BESIDE))
    for at in rest:
        if found.status == "undecided":
            inside = tuple(lambda u, g=g, at=at: g(at + u) for g in where.inside)
            moved = dataclasses.replace(where, sides=_moved(where.sides, at), inside=inside)
            other = positive(lambda u, at=at: -rate(at + u), moved, strictly=False, budget=budget)
            if other.status != "undecided":
                witness = None if other.witness is None else other.witness + at
                found = other._replace(witness=witness, sign_of=(lambda x: -rate(x), where))
    return found


def _moved(sides: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Sides of a box relative to a point, rounded outwards unless they are exact."""
    found = sides - at[:, None]
    for (k, end), value in np.ndenumerate(found):
        if Fraction(float(sides[k, end])) - Fraction(float(at[k])) != Fraction(float(value)):
            found[k, end] = np.nextafter(value, np.inf if end else -np.inf)
    return found


def _along(value: Callable[[Any], Any], field: Field) -> Callable[[Any], Any]:
    """The derivative of a function along solutions."""
    return lambda x: jax.jvp(value, (x,), (field(x),))[1]


def _alone(field: Field, at: np.ndarray, size: float, budget: int) -> list[Hypothesis]:
    """Decide whether only the equilibrium stays near it: a quadratic function, definite or not, falls elsewhere."""
    words, sense = "no other solution stays near it", "(x - x*)' P (x - x*) falls"
    still = vanishes("the point is an equilibrium", "f(x*) = 0", field, at)
    A = np.asarray(jax.jacfwd(field)(jnp.asarray(at)))
    n, P = len(at), lyapunov_matrix(A)
    if P is None:
        row = known(words, f"{sense}: Lyapunov's equation has no solution at {written(at)}", None, "floats")
        return [still, row]
    fall = lambda x: -2 * jnp.dot(P @ (x - at), field(x))
    near = box(np.stack([at - size, at + size], axis=1))
    minors = [positive(minor, near, budget=budget) for minor in leading_minors(jax.hessian(fall), n)]
    row = together(words, f"{sense} near {written(at)}", minors)
    return [still, row._replace(status=UNDECIDED, witness=None) if row.status == "fails" else row]
