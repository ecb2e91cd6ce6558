"""Positive flows: no component leaves the nonnegative states where it is zero."""

from typing import Any

import jax.numpy as jnp

from analysis.theorems.algebra import rational
from analysis.theorems.conditions import HOLDS, Conditions, Hypothesis, decided, theorem
from analysis.theorems.fields import Field, field_of, smooth
from analysis.theorems.regions import as_region
from analysis.theorems.subdivision import BUDGET, positive
from dynsim._core.types import BoxLike
from dynsim.errors import ArgumentError
from dynsim.systems.base import AbstractFlow


@theorem
def positivity(flow: AbstractFlow, sides: BoxLike, *, budget: int = BUDGET) -> Conditions:
    """Check whether solutions that begin nonnegative stay so: each component does not fall where it is zero.

    A polynomial without negative coefficients on its face decides for all nonnegative states; otherwise the faces of
    the box are covered by intervals. For a linear flow the condition says that the matrix is Metzler: no entry off the
    diagonal is negative.

    Args:
        flow: an autonomous flow on Euclidean space, of concentrations or populations.
        sides: (low, high) for each component, with low = 0, (n, 2).
        budget: largest number of boxes for each component.

    Raises:
        ValueError: for bad input, a box that does not begin at zero, or a field that intervals cannot enclose.

    Source: H. Smith and P. Waltman, The Theory of the Chemostat, Cambridge 1995, appendix B.

    Example:
        >>> import dynsim as ds
        >>> from analysis.theorems import positivity
        >>> predators = ds.system("x' = x*(1 - x) - x*y/(1 + x); y' = x*y/(1 + x) - 0.3*y")
        >>> positivity(predators, [(0.0, 2.0), (0.0, 2.0)]).applies
        True
    """
    where = as_region(sides)
    n = where.dimension
    if where.inside or any(where.sides[:, 0] != 0):
        raise ArgumentError("sides", "be a box that begins at 0 in each component", f"is {where}")
    field = field_of(flow, n, "the theorem on positive flows")
    rows = [_not_falling(field, k, n) for k in range(n)]
    for k, row in enumerate(rows):
        if row.status != HOLDS:
            found = positive(lambda x, k=k: field(x)[k], where, strictly=False, faces=[(k, 0)], budget=budget)
            rows[k] = decided(row.words, row.inequality, found)
    everywhere = all(row.decided == "algebra" for row in rows)
    return Conditions(
        "Positive flow",
        (smooth(field, n), *rows),
        "solutions that begin nonnegative stay nonnegative" + ("" if everywhere else " as long as they are in the box"),
        "a component may become negative",
        where, flow,
    )  # fmt: skip


def _not_falling(field: Field, k: int, n: int) -> Hypothesis:
    """Decide by signs of coefficients whether a component does not fall where it is zero; undecided if one is wrong."""
    on_face: Any = lambda x: jnp.reshape(field(x.at[k].set(0.0))[k], (1,))
    entries = rational(on_face, n)
    above = lambda one: all(value >= 0 for value in one.values())
    fine = entries is not None and above(entries[0].numer) and above(entries[0].denom) and entries[0].denom.coeff(1) > 0
    words, sense = f"component {k} does not fall where it is zero", f"f_{k} >= 0 where x_{k} = 0"
    return Hypothesis(words, sense, HOLDS if fine else "undecided", decided="algebra")
