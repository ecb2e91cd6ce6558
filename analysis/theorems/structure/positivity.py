"""Positive systems: no component that is zero falls, so that solutions stay where all components are not negative."""

import numpy as np

from analysis.theorems.chains.perron_frobenius import not_negative
from analysis.theorems.conditions import Conditions, known, together
from analysis.theorems.fields import field_of, smooth
from analysis.theorems.linear import is_linear, linear_part
from analysis.theorems.regions import as_region
from analysis.theorems.squares import polynomials
from analysis.theorems.subdivision import BUDGET, positive
from dynsim._core.checked import checked
from dynsim._core.types import BoxLike
from dynsim.errors import ArgumentError
from dynsim.systems.base import AbstractFlow

SOURCE = "L. Farina and S. Rinaldi, Positive Linear Systems, Wiley 2000, theorem 2; W. Haddad et al., 2010, chapter 2"


@checked
def positivity(flow: AbstractFlow, sides: BoxLike, *, budget: int = BUDGET) -> Conditions:
    """Check whether a flow is positive: components that are not negative stay so.

    On each face x_i = 0 of the box, f_i must not be negative. A linear flow x' = A x is positive exactly if A has no
    negative entry off its diagonal (a Metzler matrix); then the size of the box does not matter.

    Args:
        flow: an autonomous flow on Euclidean space.
        sides: (0, high) for each component, (n, 2): up to which values the faces are examined.
        budget: largest number of boxes for each face.

    Raises:
        ValueError: for bad input, sides that do not begin at 0, or a field that intervals cannot enclose.

    Source: L. Farina and S. Rinaldi, Positive Linear Systems, Wiley 2000, theorem 2.

    Example:
        >>> import dynsim as ds
        >>> from analysis.theorems import positivity
        >>> epidemic = ds.system("s' = -2*s*i; i' = 2*s*i - i; r' = i")
        >>> positivity(epidemic, [(0.0, 1.0)] * 3).applies
        True
    """
    where = as_region(sides, name="sides")
    n = where.dimension
    if np.any(where.sides[:, 0] != 0):
        raise ArgumentError("sides", "begin at 0", f"begin at {where.sides[:, 0].tolist()}")
    field = field_of(flow, n, "the theorem on positive systems")
    exact = polynomials(field, n)
    if exact is not None and is_linear(exact):
        row, follows = not_negative(linear_part(exact), True), "components that are not negative stay so for ever"
    else:
        parts = [
            positive(lambda x, k=k: field(x)[k], where, strictly=False, faces=[(k, 0)], budget=budget) for k in range(n)
        ]
        row = together("no component that is zero falls", "f_i >= 0 where x_i = 0", parts)
        follows = "components that are not negative stay so as long as the solution stays below the upper bounds"
    return Conditions(
        "Positive system", SOURCE,
        (smooth(field, n), known("the box begins at zero", "low = 0", True), row),
        follows, "a component may become negative", where, flow,
    )  # fmt: skip
