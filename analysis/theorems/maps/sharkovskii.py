"""Sharkovskii's theorem: a point of one period of a map of an interval implies points of other periods."""

from analysis.theorems.boundary import keeps
from analysis.theorems.conditions import Conditions, theorem
from analysis.theorems.fields import continuous
from analysis.theorems.maps.intervals import interval_map
from analysis.theorems.maps.periods import point_of_period
from analysis.theorems.subdivision import BUDGET
from dynsim._core.types import BoxLike
from dynsim._core.validation import integer
from dynsim.systems.base import AbstractMap


@theorem
def sharkovskii(system: AbstractMap, interval: BoxLike, *, period: int = 3, budget: int = BUDGET) -> Conditions:
    """Check whether a map of an interval has a point of a least period, and so points of all later ones in the order.

    Sharkovskii's order is 3, 5, 7, ..., 2*3, 2*5, ..., 4*3, 4*5, ..., 16, 8, 4, 2, 1.

    Args:
        system: a map of one component.
        interval: the interval, ((low, high),).
        period: the least period of the point.
        budget: largest number of boxes for each condition.

    Raises:
        ValueError: for bad input, or a map that intervals cannot enclose.

    Source: S. Elaydi, Discrete Chaos, Chapman and Hall 2008, theorem 2.1 (A. Sharkovskii 1964).

    Example:
        >>> import dynsim as ds
        >>> from analysis.theorems import sharkovskii
        >>> found = sharkovskii(ds.system("x[n+1] = 3.74*x*(1 - x)"), [(0.0, 1.0)], period=5)
        >>> found.applies, found.conclusion
        (True, 'there are points of every odd period above 5, of every even period, and of period 1')
    """
    where, step = interval_map(system, interval, "Sharkovskii's theorem")
    p = integer("period", period, least=1)
    return Conditions(
        "Sharkovskii's theorem",
        (
            continuous(step, 1, "the map"),
            keeps(step, where, "interval", budget),
            point_of_period(step, where, p, budget),
        ),
        f"there are points of {implied_periods(p)}",
        "no other period is implied",
        where, system,
    )  # fmt: skip


def implied_periods(period: int) -> str:
    """Describe the periods after one in Sharkovskii's order."""
    power = period & -period
    odd = period // power
    if period == 3:
        return "every period"
    if odd == 1:
        if period == 1:
            return "period 1"
        lower = [str(2**k) for k in range(period.bit_length() - 2, -1, -1)]
        return f"period {', '.join(lower)}" if len(lower) == 1 else f"periods {', '.join(lower[:-1])} and {lower[-1]}"
    if power == 1:
        return f"every odd period above {period}, of every even period, and of period 1"
    rest = [str(2**k) for k in range(power.bit_length() - 1, -1, -1)]
    return (
        f"every period {power}*m with m odd and above {odd}, of every multiple of {2 * power}, "
        f"and of periods {', '.join(rest[:-1])} and {rest[-1]}"
    )
