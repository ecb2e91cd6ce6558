"""Barbalat's lemma: a function that does not grow, with a bounded second derivative, comes to rest along solutions."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from analysis.theorems.boundary import bounded, pointing_inwards
from analysis.theorems.conditions import HOLDS, UNDECIDED, Conditions, Hypothesis, decided, known, theorem
from analysis.theorems.fields import Field, field_of, lengthened, smooth
from analysis.theorems.regions import Region, as_region
from analysis.theorems.subdivision import BUDGET, least_value, positive
from dynsim._core.types import BoxLike
from dynsim._core.validation import function, number
from dynsim.systems.base import AbstractFlow


@theorem
def barbalat(
    flow: AbstractFlow,
    V: Callable[[Any], Any],
    region: Region | BoxLike,
    *,
    period: float | None = None,
    budget: int = BUDGET,
) -> Conditions:
    """Check whether the derivative of a function along solutions tends to zero, by Barbalat's lemma.

    The flow may depend on time, where LaSalle's theorem does not apply. V does not grow in a region that solutions do
    not leave, and V'' is bounded there, so that V' is uniformly continuous in time.

    Args:
        flow: a flow on Euclidean space, which may depend on time.
        V: the function, a scalar function of a state in JAX.
        region: a region that solutions do not leave, such as a sublevel set of V.
        period: the time after which the field repeats itself; left out for a field that does not depend on time.
        budget: largest number of boxes for each condition.

    Returns:
        The conditions; `numbers` holds a bound of |V''|.

    Raises:
        ValueError: for bad input, or functions that intervals cannot enclose.

    Source: H. Khalil, Nonlinear Systems, Prentice Hall 2002, lemma 8.2 and theorem 8.4.

    Example:
        >>> import dynsim as ds
        >>> from analysis.theorems import ball, barbalat
        >>> flow = ds.system("x' = -x + a*sin(t); a' = -x*sin(t)")  # adaptation of a parameter a
        >>> barbalat(flow, lambda s: s[0] ** 2 + s[1] ** 2, ball([0.0, 0.0], 2.0), period=6.283185307179586).applies
        True
    """
    where = as_region(region)
    n, given = where.dimension, function("V", V, "a state")
    height = lambda z: jnp.reshape(given(z[:n]), ())
    if period is None:
        plain = field_of(flow, n, "Barbalat's lemma without a `period`")
        field: Field = lambda z: plain(z[:n])
        length, repeats = 0.0, known("the field repeats itself", "it does not depend on time", True)
    else:
        field = lambda z: jnp.reshape(flow.vector_field(z[n], z[:n]), (n,))
        length = number("period", period)
        repeats = known("the field repeats itself", f"f(t + {length:.6g}, x) = f(t, x)", True, "told")
    moved = lambda z: jnp.append(field(z), 1.0)
    along = lambda fn: lambda z: jax.jvp(fn, (z,), (moved(z),))[1]
    rate = along(height)
    joint = lengthened(where, 0.0, length)
    return Conditions(
        "Barbalat's lemma", (
            smooth(lambda z: jnp.append(field(z), height(z)), n + 1, "the field with V"),
            repeats,
            *bounded(where, budget),
            pointing_inwards(moved, joint, strictly=False, budget=budget),
            decided("V does not grow along solutions", "V' <= 0",
                    positive(lambda z: -rate(z), joint, strictly=False, budget=budget)),
            row := _is_bounded(along(rate), joint, budget),
        ),
        "V' tends to 0 along every solution from the region", "V' need not tend to 0",
        where, flow, {"bound": row.margin} if row.status == HOLDS else {},
    )  # fmt: skip


def _is_bounded(value: Field, region: Region, budget: int) -> Hypothesis:
    """Bound the size of a function in a region; the margin is the bound."""
    low, _ = least_value(lambda z: -jnp.abs(value(z)), region, rtol=0.1, budget=budget)
    status = HOLDS if np.isfinite(low) else UNDECIDED
    return Hypothesis("V'' is bounded, so that V' is uniformly continuous", "|V''| <= bound", status, abs(low) + 0.0)
