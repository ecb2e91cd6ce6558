"""The theorem of Picard and Lindeloef: a Lipschitz constant on a box, and how long solutions exist in it."""

import numpy as np

from analysis.dynamics.validated.intervals import IntervalFunction
from analysis.theorems.conditions import Conditions, Hypothesis, theorem
from analysis.theorems.fields import continuous, field_of
from analysis.theorems.regions import as_region, point
from analysis.theorems.subdivision import equal_parts
from dynsim._core.types import ArrayLike, BoxLike
from dynsim._core.validation import integer
from dynsim.errors import ArgumentError
from dynsim.systems.base import AbstractFlow


@theorem
def picard_lindelof(flow: AbstractFlow, sides: BoxLike, start: ArrayLike, *, parts: int = 4096) -> Conditions:
    """Check the conditions of Picard and Lindeloef on a box: a unique solution through a start exists for a known time.

    The Lipschitz constant is in the maximum norm; it and the largest speed are bounded by intervals on a cover.

    Args:
        flow: an autonomous flow on Euclidean space.
        sides: (low, high) for each component, (n, 2).
        start: a point inside the box, (n,).
        parts: number of boxes of the cover, about.

    Raises:
        ValueError: for bad input, a start outside the box, or a field that intervals cannot enclose.

    Source: G. Teschl, Ordinary Differential Equations and Dynamical Systems, AMS 2012, theorem 2.2.

    Example:
        >>> import dynsim as ds
        >>> from analysis.theorems import picard_lindelof
        >>> found = picard_lindelof(ds.system("x' = x^2"), [(0.0, 2.0)], [1.0])
        >>> found.applies, round(found.numbers["L"], 6), round(found.numbers["T"], 6)
        (True, 4.0, 0.25)
    """
    where = as_region(sides)
    n = where.dimension
    at = point("start", start, n)
    gap = float(np.min(np.minimum(at - where.sides[:, 0], where.sides[:, 1] - at)))
    if not gap > 0:
        raise ArgumentError("start", "be inside the box", f"is {at.tolist()}")
    given = field_of(flow, n, "the theorem of Picard and Lindeloef")
    field = IntervalFunction(given, n)
    boxes = equal_parts(where.sides, integer("parts", parts, least=1))
    speeds, slopes = field.enclosed(boxes), field.slopes(boxes)
    speed = float(np.max(np.abs(speeds)))
    rows = np.nextafter(np.sum(np.max(np.abs(slopes), axis=3), axis=2) * (1 + 4 * n * np.finfo(float).eps), np.inf)
    constant, least = float(np.max(rows)), float(np.max(np.abs(np.asarray(field.values(np.stack([at, at], 1)[None])))))
    time = np.inf if speed == 0 else gap / speed
    bounded = lambda value: "holds" if np.isfinite(value) else "undecided"
    numbers = {"L": constant, "M": speed, "T": time, "f(start)": least}
    return Conditions(
        "Theorem of Picard and Lindeloef",
        (
            continuous(given, n),
            Hypothesis("the field is bounded on the box", "|f| <= M", bounded(speed), speed, boxes=len(boxes)),
            Hypothesis("the field is Lipschitz on the box", "|f(x) - f(y)| <= L |x - y|", bounded(constant), constant,
                       boxes=len(boxes)),
        ),
        "a unique solution through the start exists in the box for |t| <= T",
        "existence and uniqueness are not implied",
        where, flow, numbers,
    )  # fmt: skip
