"""Li and Yorke's theorem: a continuous map of an interval with a point of period three is chaotic."""

from analysis.theorems.boundary import keeps
from analysis.theorems.conditions import Conditions, theorem
from analysis.theorems.fields import continuous
from analysis.theorems.maps.intervals import interval_map
from analysis.theorems.maps.periods import point_of_period
from analysis.theorems.subdivision import BUDGET
from dynsim._core.types import BoxLike
from dynsim.systems.base import AbstractMap


@theorem
def li_yorke(system: AbstractMap, interval: BoxLike, *, budget: int = BUDGET) -> Conditions:
    """Check whether a map of an interval has a point of least period three, and so points of all periods and chaos.

    Args:
        system: a map of one component.
        interval: the interval, ((low, high),).
        budget: largest number of boxes for each condition.

    Raises:
        ValueError: for bad input, or a map that intervals cannot enclose.

    Source: T.-Y. Li and J. Yorke, Period three implies chaos, Amer. Math. Monthly 82 (1975) 985.

    Example:
        >>> import dynsim as ds
        >>> from analysis.theorems import li_yorke
        >>> li_yorke(ds.system("x[n+1] = 3.9*x*(1 - x)"), [(0.0, 1.0)]).applies
        True
    """
    where, step = interval_map(system, interval, "Li and Yorke's theorem")
    return Conditions(
        "Li and Yorke's theorem",
        (
            continuous(step, 1, "the map"),
            keeps(step, where, "interval", budget),
            point_of_period(step, where, 3, budget),
        ),
        "there are points of every period, and an uncountable scrambled set",
        "chaos is not implied",
        where, system,
    )  # fmt: skip
