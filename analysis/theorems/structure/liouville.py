"""Liouville's theorem: the divergence of a field says whether its flow shrinks volumes or keeps them."""

import jax.numpy as jnp

from analysis.theorems.conditions import Conditions, decided, theorem
from analysis.theorems.exactly import identically_zero
from analysis.theorems.fields import divergence, field_of, smooth
from analysis.theorems.regions import Region, as_region
from analysis.theorems.subdivision import BUDGET, positive
from dynsim._core.types import BoxLike
from dynsim.systems.base import AbstractFlow


@theorem
def liouville(
    flow: AbstractFlow, region: Region | BoxLike, *, conservative: bool = False, budget: int = BUDGET
) -> Conditions:
    """Check whether a flow shrinks volumes in a region, at a known rate, or keeps them, by Liouville's theorem.

    Args:
        flow: an autonomous flow on Euclidean space.
        region: the region, or a box.
        conservative: ask that volumes are kept, rather than that they shrink.
        budget: largest number of boxes.

    Raises:
        ValueError: for bad input, or a field that intervals cannot enclose.

    Source: V. Arnold, Mathematical Methods of Classical Mechanics, Springer 1989, section 16, theorem of Liouville and
    lemmas 1 and 2.

    Example:
        >>> import dynsim as ds
        >>> from analysis.theorems import liouville
        >>> found = liouville(ds.catalogue.Lorenz(), [(-30.0, 30.0), (-30.0, 30.0), (0.0, 60.0)])
        >>> found.applies, round(found.numbers["rate"], 6)
        (True, 13.666667)
    """
    where = as_region(region)
    field = field_of(flow, where.dimension, "Liouville's theorem")
    spread, numbers = divergence(field), {}
    if conservative:
        row = identically_zero("the divergence is zero", "div f = 0", lambda x: jnp.reshape(spread(x), (1,)), where)
        follows = "the flow keeps volumes: no equilibrium and no periodic orbit inside attracts a neighbourhood"
    else:
        found = positive(lambda x: -spread(x), where, budget=budget)
        row = decided("the divergence is negative", "div f < 0", found)
        numbers = {"rate": found.least} if row.status == "holds" else {}
        follows = (
            "volumes in the region shrink at least as exp(-rate t), and each set in it that the flow maps onto itself "
            "has volume zero"
        )
    return Conditions(
        "Liouville's theorem",
        (smooth(field, where.dimension), row),
        follows,
        f"volumes need not {'be kept' if conservative else 'shrink'}",
        where, flow, numbers,
    )  # fmt: skip
