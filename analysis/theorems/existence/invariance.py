"""Nagumo's theorem: a region is positively invariant if the field does not point out of it on the boundary."""

from analysis.theorems.boundary import bounded, pointing_inwards
from analysis.theorems.conditions import Conditions, theorem
from analysis.theorems.fields import field_of, smooth
from analysis.theorems.regions import Region, as_region
from analysis.theorems.subdivision import BUDGET
from dynsim._core.types import BoxLike
from dynsim.systems.base import AbstractFlow


@theorem
def nagumo(flow: AbstractFlow, region: Region | BoxLike, *, strictly: bool = False, budget: int = BUDGET) -> Conditions:
    """Check whether a region is positively invariant by Nagumo's theorem: no solution leaves it.

    Args:
        flow: an autonomous flow on Euclidean space.
        region: the region; the functions that bound it must have no zero gradient on the boundary, and pieces of the
            boundary may meet only in corners with an inside.
        strictly: ask that the field points inwards, so that the region is trapping; otherwise it may be tangent.
        budget: largest number of boxes for each piece of the boundary.

    Raises:
        ValueError: for bad input, or a field that intervals cannot enclose.

    Source: M. Nagumo, Proc. Phys.-Math. Soc. Japan 24 (1942) 551; F. Blanchini, Automatica 35 (1999) 1747, theorem 3.1.

    Example:
        >>> import dynsim as ds
        >>> from analysis.theorems import nagumo
        >>> nagumo(ds.system("x' = x*(1 - x - y); y' = y*(0.5 - y)"), [(0.0, 2.0), (0.0, 2.0)]).applies
        True
    """
    where = as_region(region)
    field = field_of(flow, where.dimension, "Nagumo's theorem")
    return Conditions(
        "Nagumo's theorem",
        (
            smooth(field, where.dimension),
            *bounded(where, budget, corners=not strictly),
            pointing_inwards(field, where, strictly=strictly, budget=budget),
        ),
        "every solution from the region stays in it, and " + ("enters its interior" if strictly else "exists for ever"),
        "solutions may leave the region",
        where, flow,
    )  # fmt: skip
