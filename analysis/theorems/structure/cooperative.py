"""Cooperative and competitive systems: the signs of the interactions, and what Kamke's and Hirsch's theorems say."""

import jax
import numpy as np

from analysis.theorems.conditions import Conditions, Hypothesis, known, theorem, together
from analysis.theorems.fields import field_of, smooth
from analysis.theorems.regions import Region, as_region, point
from analysis.theorems.subdivision import BUDGET, positive
from dynsim._core.types import ArrayLike, BoxLike
from dynsim.errors import ArgumentError
from dynsim.systems.base import AbstractFlow


@theorem
def cooperative(
    flow: AbstractFlow,
    region: Region | BoxLike,
    *,
    competitive: bool = False,
    signs: ArrayLike | None = None,
    budget: int = BUDGET,
) -> Conditions:
    """Check whether a flow is cooperative, or competitive, in a convex region: Kamke's condition on its Jacobian.

    A cooperative flow is monotone: it keeps the order of states, component by component. A competitive flow does so
    backwards in time. With `signs`, components of the sign -1 are compared the other way round: the order is that of
    an orthant. `monotone` finds such signs.

    Args:
        flow: an autonomous flow on Euclidean space.
        region: a convex region, or a box.
        competitive: ask for competition, interactions that are not positive, instead.
        signs: 1 or -1 for each component, (n,); 1 by default.
        budget: largest number of boxes for each pair of components.

    Raises:
        ValueError: for bad input, or a field that intervals cannot enclose.

    Source: H. Smith, Monotone Dynamical Systems, AMS 1995, chapter 3, theorem 1.1 and remark 1.1.

    Example:
        >>> import dynsim as ds
        >>> from analysis.theorems import cooperative
        >>> switch = ds.system("x' = y - x; y' = x^2/(1 + x^2) - y")
        >>> cooperative(switch, [(0.0, 3.0), (0.0, 3.0)]).applies
        True
    """
    where = as_region(region)
    n = where.dimension
    field = field_of(flow, n, "Kamke's theorem")
    sign = -1.0 if competitive else 1.0
    way = np.ones(n) if signs is None else point("signs", signs, n)
    if not np.all(np.abs(way) == 1):
        raise ArgumentError("signs", "be 1 or -1", f"are {way.tolist()}")
    pairs = [(i, j) for i in range(n) for j in range(n) if i != j]
    entry = lambda i, j: lambda x: sign * way[i] * way[j] * jax.jacfwd(field)(x)[i, j]
    parts = {(i, j): positive(entry(i, j), where, strictly=False, budget=budget) for i, j in pairs}
    rows = list(parts.values())
    sense, word = ("<=", "competitive") if competitive else (">=", "cooperative")
    turned = "" if np.all(way > 0) else f" in the order of signs {', '.join(f'{s:+.0f}' for s in way)}"
    factor = "s_i s_j " if turned else ""
    wrong = f"no interaction is {'positive' if competitive else 'negative'}{turned}"
    interactions = (
        together(wrong, f"{factor}df_i/dx_j {sense} 0 for i != j", rows)
        if rows
        else Hypothesis("no interaction has the wrong sign", "there is one component", "holds", decided="algebra")
    )
    follows = (
        "solutions keep their order backwards in time" if competitive else "solutions keep the order of their starts"
    )
    return Conditions(
        f"Kamke's theorem ({word} flow)",
        (smooth(field, n), known("the region is convex", "convex", where.is_convex or None), interactions),
        f"the flow is {word}{turned}: {follows} as long as they stay in the region",
        f"the flow is not {word} there in this order",
        where, flow,
    )  # fmt: skip
