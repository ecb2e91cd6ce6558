"""Twist maps of a cylinder: conditions under which there are periodic orbits of all rotation numbers (Birkhoff)."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from analysis.dynamics.validated.intervals import IntervalFunction
from analysis.theorems.algebra import is_zero
from analysis.theorems.conditions import FAILS, HOLDS, UNDECIDED, Conditions, Hypothesis, decided, known, theorem
from analysis.theorems.exactly import identically_zero
from analysis.theorems.fields import Field, smooth, step_of
from analysis.theorems.linear import determinant
from analysis.theorems.periodicity import repeats, values_at
from analysis.theorems.regions import as_region
from analysis.theorems.subdivision import BUDGET, positive
from dynsim._core.types import BoxLike
from dynsim._core.validation import number
from dynsim.systems.base import AbstractMap

PARTS = 4096
"""Number of parts of the circle over which the flux is summed."""


@theorem
def twist(system: AbstractMap, action: BoxLike, *, period: float = 2 * np.pi, budget: int = BUDGET) -> Conditions:
    """Check whether a map of an angle x and an action y is an exact area-preserving twist map of the cylinder.

    The cylinder is either bounded by two circles that the map keeps, or the map repeats in y, so that the ends of the
    given range are those of one repetition. Exactness, that no net area crosses a circle, follows from circles that are
    kept or from a map that is odd; a flux that is enclosed away from zero refutes it.

    Args:
        system: a map of the two components (x, y), written for all real x.
        action: the range of y, ((low, high),).
        period: the period of x.
        budget: largest number of boxes for each condition.

    Raises:
        ValueError: for bad input, or a map that intervals cannot enclose.

    Source: J. Meiss, Symplectic maps, variational principles, and transport, Rev. Mod. Phys. 64 (1992) 795; A. Katok
    and B. Hasselblatt, Introduction to the Modern Theory of Dynamical Systems, Cambridge 1995, section 9.3.

    Example:
        >>> import numpy as np
        >>> import dynsim as ds
        >>> from analysis.theorems import twist
        >>> standard = ds.system("p = y + 0.5*sin(x); x[n+1] = x + p; y[n+1] = p")
        >>> twist(standard, [(-np.pi, np.pi)]).applies
        True
    """
    circle = number("period", period)
    ((low, high),) = as_region(action, 1, name="action").sides
    step = step_of(system, 2, "a twist map")
    where = as_region([(0.0, circle), (low, high)])
    J = jax.jacfwd(step)
    slope = lambda x: J(x)[0, 1:]
    way = 1.0 if values_at(slope, where.sides.mean(axis=1)[None], "system")[0, 0] > 0 else -1.0
    twists = positive(lambda x: way * slope(x), where, budget=budget, name="system")
    ends = [is_zero(lambda x, y=y: step(jnp.stack([x[0], jnp.asarray(y)]))[1] - y, 1) is True for y in (low, high)]
    kept, height = all(ends), high - low
    repeated = lambda d: np.stack([d[:, 0] - circle * np.round(d[:, 0] / circle), d[:, 1] - height], axis=1)
    bounded = known("circles bound the cylinder", f"y stays {low:.6g} and {high:.6g}", True) if kept else repeats(
        "the map repeats in y", f"f(x, y + {height:.6g}) = f(x, y) + (k {circle:.6g}, {height:.6g})", step,
        np.array([0.0, height]), repeated, where.sides, "system",
    )  # fmt: skip
    around = repeats(
        "x is an angle", f"f(x + {circle:.6g}, y) = f(x, y) + ({circle:.6g}, 0)", step, np.array([circle, 0.0]),
        lambda d: d - [circle, 0.0], where.sides, "system",
    )  # fmt: skip
    return Conditions(
        "Birkhoff's theorem on twist maps",
        (
            smooth(step, 2, "the map"),
            around,
            bounded,
            decided("the map twists", f"dx'/dy {'>' if way > 0 else '<'} 0", twists),
            identically_zero("the map keeps areas", "det Df = 1", lambda x: determinant(J(x)) - 1, where),
            _exact(step, circle, (low, high), ends),
        ),
        "for each fraction p/q " + ("between the rotation numbers of the two circles " if kept else "")
        + "there are at least two orbits that go p times around in q steps",
        "periodic orbits of all rotation numbers are not implied",
        where, system, {"twist": float(twists.least)} if twists.status == HOLDS else {},
    )  # fmt: skip


def _exact(step: Field, circle: float, action: tuple[float, float], ends: list[bool]) -> Hypothesis:
    """Decide whether no net area crosses circles around the cylinder, which one circle shows if areas are kept."""
    words, sense = "no net area crosses a circle", "the integrals of y' dx' and y dx around it are equal"
    low, high = action
    if any(ends):
        return Hypothesis(words, f"{sense}: the map keeps one", HOLDS, decided="algebra")
    if low <= 0 <= high and is_zero(lambda x: step(-x) + step(x), 2):
        return Hypothesis(words, f"{sense}: the map is odd", HOLDS, decided="algebra")

    def form(x: Any) -> Any:
        image, slope = jax.jvp(lambda s: step(jnp.stack([s, jnp.asarray(low)])), (x[0],), (jnp.ones(()),))
        return jnp.reshape(image[1] * slope[0] - low, (1,))

    cuts = np.linspace(0.0, circle, PARTS + 1)
    found = IntervalFunction(form, 1, "system").enclosed(np.stack([cuts[:-1], cuts[1:]], axis=1)[:, None])[:, 0]
    least, most = (float(np.sum(found[:, k])) * circle / PARTS for k in (0, 1))
    slack = 1e-12 * float(np.sum(np.abs(found))) * circle / PARTS  # more than the rounding of the sums
    apart = max(least, -most) - slack
    status, margin = (FAILS, -apart) if apart > 0 else (UNDECIDED, float("nan"))
    return Hypothesis(words, sense, status, margin, "intervals", boxes=PARTS)
