"""Singer's theorem: a map of an interval with negative Schwarzian derivative has few attracting cycles."""

from collections.abc import Callable
from typing import Any

import jax

from analysis.theorems.boundary import keeps
from analysis.theorems.conditions import Conditions, decided, theorem
from analysis.theorems.fields import smooth
from analysis.theorems.maps.intervals import interval_map
from analysis.theorems.subdivision import BUDGET, positive
from dynsim._core.types import BoxLike
from dynsim.systems.base import AbstractMap


@theorem
def singer(system: AbstractMap, interval: BoxLike, *, budget: int = BUDGET) -> Conditions:
    """Check whether a map of an interval has a negative Schwarzian derivative, as Singer's theorem asks.

    The condition f''' / f' < (3/2) (f'' / f')^2 is multiplied by f'^2, so that it also covers critical points.

    Args:
        system: a map of one component.
        interval: the interval, ((low, high),).
        budget: largest number of boxes for each condition.

    Raises:
        ValueError: for bad input, or a map that intervals cannot enclose.

    Source: D. Singer, Stable orbits and bifurcation of maps of the interval, SIAM J. Appl. Math. 35 (1978) 260.

    Example:
        >>> import dynsim as ds
        >>> from analysis.theorems import singer
        >>> singer(ds.system("x[n+1] = 3.5*x*(1 - x)"), [(0.0, 1.0)]).applies
        True
    """
    where, step = interval_map(system, interval, "Singer's theorem")
    f: list[Callable[[Any], Any]] = [lambda x: step(x)[0]]
    for _ in range(3):
        f.append(lambda x, g=f[-1]: jax.grad(g)(x)[0])
    bent = lambda x: 1.5 * f[2](x) ** 2 - f[1](x) * f[3](x)
    return Conditions(
        "Singer's theorem",
        (
            smooth(step, 1, "the map"),
            keeps(step, where, "interval", budget),
            decided("the Schwarzian derivative is negative", "f' f''' < (3/2) f''^2",
                    positive(bent, where, budget=budget, name="system")),
        ),
        "each attracting cycle attracts a critical point or an end of the interval",
        "there may be more attracting cycles than critical points",
        where, system,
    )  # fmt: skip
