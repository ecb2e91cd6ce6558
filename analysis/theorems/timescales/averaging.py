"""Averaging: a hyperbolic equilibrium of the averaged field gives a periodic orbit."""

import numpy as np

from analysis.dynamics.validated.enclosures import ball_box, certified_kind, enclosed_eigenvalues
from analysis.dynamics.validated.intervals import IntervalFunction
from analysis.dynamics.validated.krawczyk import certified_zero, newton
from analysis.dynamics.validated.taylor import arithmetic
from analysis.theorems.conditions import FAILS, HOLDS, UNDECIDED, Conditions, Hypothesis, theorem
from analysis.theorems.fields import smooth, timed_field_of
from analysis.theorems.periodicity import repeats
from analysis.theorems.regions import as_region, point, written
from analysis.theorems.subdivision import equal_parts
from analysis.theorems.timescales.quadrature import ORDER, AveragedField
from dynsim._core.types import ArrayLike, BoxLike
from dynsim._core.validation import number
from dynsim.errors import ArgumentError
from dynsim.systems.base import AbstractFlow

BITS = 128
"""Precision of the balls."""
NAME = "averaging"


@theorem
def averaging(flow: AbstractFlow, period: float, sides: BoxLike, near: ArrayLike, *, parts: int = 4096) -> Conditions:
    """Check whether a small field that is periodic in time has a periodic orbit, by its average over a period.

    The average and its Jacobian are enclosed by Taylor series in balls, and an equilibrium of the averaged field is
    certified by Krawczyk's operator.

    Args:
        flow: x' = e f(x, t) on Euclidean space, with e at any positive value.
        period: the period of f in time, to within one unit in its last place.
        sides: (low, high) for each component, a box in which f is Lipschitz.
        near: a point near an equilibrium of the averaged field, (n,), inside the box.
        parts: number of boxes for the Lipschitz constant.

    Raises:
        ValueError: for bad input, or a field that balls or intervals cannot enclose.
        UnavailableError: without python-flint.

    Source: J. Guckenheimer and P. Holmes, Nonlinear Oscillations, Dynamical Systems, and Bifurcations of Vector Fields,
    Springer 1983, theorem 4.1.1.

    Example:
        >>> import numpy as np
        >>> import dynsim as ds
        >>> from analysis.theorems import averaging
        >>> flow = ds.system("x' = 0.1*(x*sin(t)^2 - x^2/2)")
        >>> averaging(flow, 2 * np.pi, [(0.5, 2.0)], [0.9]).applies
        True
    """
    where = as_region(sides, name="sides")
    n, circle = where.dimension, number("period", period)
    at = point("near", near, n)
    if np.any((at <= where.sides[:, 0]) | (at >= where.sides[:, 1])):
        raise ArgumentError("near", "be inside the box", f"is {at.tolist()}")
    field = timed_field_of(flow, n, NAME)
    timed = np.concatenate([where.sides, [[0.0, circle]]])
    boxes = equal_parts(timed, parts)
    slopes = IntervalFunction(field, n + 1).slopes(boxes)[:, :, :n]
    rows = np.sum(np.max(np.abs(slopes), axis=3), axis=2) * (1 + 4 * n * np.finfo(float).eps)
    constant = float(np.max(rows))
    average = AveragedField(field, n, circle)
    with arithmetic(BITS, ORDER + 1):
        zero = certified_zero(average, newton(average, at), widest=False)
        inside = zero is not None and bool(np.all((zero.low > where.sides[:, 0]) & (zero.high < where.sides[:, 1])))
        found = ball_box(zero.low, zero.high) if zero is not None and inside else None
        no_zero = found is None and _excludes_zero(average, where.sides)
        kinds = ((), "undecided") if found is None else certified_kind(enclosed_eigenvalues(average.jacobian(found)))
    middle = at if found is None else np.array([float(v.mid()) for v in found])
    place = f"average of f = 0 at {written(middle)}" if found is not None else "average of f = 0 has a regular zero"
    off = min((float(abs(v.real).lower()) for v in kinds[0]), default=float("nan"))
    status = UNDECIDED if kinds[1] == "undecided" else HOLDS
    hyperbolic = [Hypothesis("it is hyperbolic", "Re lambda != 0", status, off, "balls")] if found is not None else []
    return Conditions(
        "Averaging of a periodic field",
        (
            smooth(field, n + 1),
            repeats("the field is periodic in time", f"f(x, t + {circle:.6g}) = f(x, t)", field,
                    np.append(np.zeros(n), circle), lambda d: d, timed),
            Hypothesis("the field is Lipschitz on the box", "|f(x, t) - f(y, t)| <= L |x - y|",
                       HOLDS if np.isfinite(constant) else UNDECIDED, constant, boxes=len(boxes)),
            Hypothesis("the averaged field has an equilibrium in the box", place,
                       HOLDS if found is not None else FAILS if no_zero else UNDECIDED, decided="balls"),
            *hyperbolic,
        ),
        "for each small enough amplitude of the field there is one periodic orbit of this period near the equilibrium, "
        f"{ {'saddle': 'of saddle type'}.get(kinds[1], kinds[1]) }",
        "a periodic orbit is not implied",
        where, flow, {"L": constant} if np.isfinite(constant) else {},
    )  # fmt: skip


def _excludes_zero(average: AveragedField, sides: np.ndarray) -> bool:
    """Whether the averaged field is certainly not zero on each of some boxes that cover a box."""
    boxes = equal_parts(sides, 64)
    values = (average(ball_box(box[:, 0], box[:, 1])) for box in boxes)
    return all(any(v.is_finite() and not v.contains(0) for v in value) for value in values)
