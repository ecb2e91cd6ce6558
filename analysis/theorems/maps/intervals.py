"""Maps of an interval, and the step as a function of a vector."""

from analysis.theorems.fields import Field, step_of
from analysis.theorems.regions import Region, as_region
from dynsim._core.types import BoxLike
from dynsim.errors import ArgumentError
from dynsim.systems.base import AbstractMap


def interval_map(system: AbstractMap, interval: BoxLike, theorem: str) -> tuple[Region, Field]:
    """The interval as a region, and the step of a map of it.

    Raises:
        ValueError: for a flow or a curved space, naming the theorem, or more than one interval.
    """
    where = as_region(interval, name="interval")
    if where.dimension != 1:
        raise ArgumentError("interval", "be one pair, ((low, high),)", f"has {where.dimension} components")
    return where, step_of(system, 1, theorem)
