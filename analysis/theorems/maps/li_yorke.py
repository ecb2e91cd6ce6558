"""Li and Yorke's theorem: a continuous map of an interval with a point of period three is chaotic."""

import numpy as np

from analysis.dynamics.validated.equilibria import certified_count
from analysis.theorems.boundary import keeps
from analysis.theorems.conditions import FAILS, HOLDS, UNDECIDED, Conditions, Hypothesis
from analysis.theorems.fields import smooth
from analysis.theorems.maps.intervals import interval_map
from analysis.theorems.regions import written
from analysis.theorems.subdivision import BUDGET
from dynsim._core.checked import checked
from dynsim._core.types import BoxLike
from dynsim.systems.base import AbstractMap


@checked
def li_yorke(system: AbstractMap, interval: BoxLike, *, budget: int = BUDGET) -> Conditions:
    """Check whether a map of an interval has a point of least period three, and so points of all periods and chaos.

    Args:
        system: a map of one component.
        interval: the interval, ((low, high),).
        budget: largest number of boxes for each condition.

    Raises:
        ValueError: for bad input, or a map that balls cannot enclose.
        UnavailableError: without python-flint.

    Source: T.-Y. Li and J. Yorke, Period three implies chaos, Amer. Math. Monthly 82 (1975) 985.

    Example:
        >>> import dynsim as ds
        >>> from analysis.theorems import li_yorke
        >>> li_yorke(ds.system("x[n+1] = 3.9*x*(1 - x)"), [(0.0, 1.0)]).applies
        True
    """
    where, step = interval_map(system, interval, "Li and Yorke's theorem")
    count = certified_count(system, where.sides, period=3)
    three = [one for one in count.found if _least_is_three(system, one)]
    fixed = [one for one in count.found if one not in three]
    status = HOLDS if three else FAILS if count.exact and not three else UNDECIDED
    words = f"x = f(f(f(x))) but x is no fixed point, at {written(three[0].state)}" if three else (
        f"only {len(fixed)} fixed points solve f(f(f(x))) = x"
    )  # fmt: skip
    return Conditions(
        "Li and Yorke's theorem",
        "T.-Y. Li and J. Yorke, Period three implies chaos, Amer. Math. Monthly 82 (1975) 985",
        (
            smooth(step, 1, "the map"),
            keeps(step, where, "interval", budget),
            Hypothesis("there is a point of least period three", words, status, decided="balls"),
        ),
        "there are points of every period, and an uncountable scrambled set",
        "chaos is not implied",
        where, system,
    )  # fmt: skip


def _least_is_three(system: AbstractMap, one: object) -> bool:
    """Whether no fixed point lies within the uniqueness box of a solution of f^3(x) = x."""
    state = np.asarray(one.state)  # pyright: ignore[reportAttributeAccessIssue]
    radius = one.radius  # pyright: ignore[reportAttributeAccessIssue]
    around = np.stack([state - 2 * radius - 1e-9, state + 2 * radius + 1e-9], axis=1)
    near = certified_count(system, around, period=1)
    return near.exact and not near.found
