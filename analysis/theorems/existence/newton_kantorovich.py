"""The theorem of Newton and Kantorovich: Newton's method from a start converges to an equilibrium nearby."""

import functools
from typing import Any

import jax
import numpy as np

from analysis.dynamics.validated.balls import BallFunction, balls
from analysis.dynamics.validated.enclosures import ball_box
from analysis.dynamics.validated.taylor import arithmetic
from analysis.theorems.conditions import FAILS, HOLDS, UNDECIDED, Conditions, Hypothesis, theorem
from analysis.theorems.exactly import different_from_zero
from analysis.theorems.fields import field_of, smooth
from analysis.theorems.regions import box, point
from dynsim._core.types import ArrayLike
from dynsim._core.validation import number
from dynsim.systems.base import AbstractFlow

BITS = 256
"""Precision of the balls, so that equality in the condition is told from a failure below rounding."""


@theorem
def newton_kantorovich(flow: AbstractFlow, start: ArrayLike, *, reach: float = 0.1) -> Conditions:
    """Check the conditions of Newton and Kantorovich: an equilibrium lies within a known distance of a start.

    Distances are in the maximum norm. With A the inverse of the Jacobian at the start x0, eta = |A f(x0)|, and K a
    bound of the second derivative of A f in a box around x0, the condition is K eta <= 1/2.

    Args:
        flow: an autonomous flow on Euclidean space.
        start: the start of Newton's method, (n,).
        reach: half the side of the box around the start, in which the second derivative is bounded.

    Raises:
        ValueError: for bad input, or a field that balls cannot enclose.
        UnavailableError: without python-flint.

    Source: J. Ortega and W. Rheinboldt, Iterative Solution of Nonlinear Equations in Several Variables, Academic Press
    1970, theorem 12.6.2.

    Example:
        >>> import dynsim as ds
        >>> from analysis.theorems import newton_kantorovich
        >>> found = newton_kantorovich(ds.system("x' = 2 - x^2"), [1.4])
        >>> found.applies, round(found.numbers["radius"], 6)
        (True, 0.014359)
    """
    at, half = point("start", start), number("reach", reach)
    n = len(at)
    where = box(np.stack([at - half, at + half], axis=1))
    field = field_of(flow, n, "the theorem of Newton and Kantorovich")
    with arithmetic(BITS, 1):
        rows, numbers = _decided(field, at, where.sides, half)
    return Conditions(
        "Theorem of Newton and Kantorovich",
        (smooth(field, n), *rows),
        "Newton's method from the start converges to an equilibrium within the radius, in the maximum norm, and no "
        "other is within the smaller of the reach and the distance `alone`",
        "an equilibrium nearby is not implied",
        where, flow, numbers,
    )  # fmt: skip


def _decided(field: Any, at: np.ndarray, sides: np.ndarray, half: float) -> tuple[list[Hypothesis], dict[str, float]]:
    import flint

    n, x = len(at), balls(at)
    first, second = BallFunction(field, n), BallFunction(jax.jacfwd(field), n)
    J = flint.arb_mat(first.jacobian(x).tolist())
    regular = different_from_zero("the Jacobian at the start is regular", "det Df(x0) != 0", J.det())
    if regular.status != HOLDS:
        return [regular], {}
    A = np.array(J.inv().tolist(), dtype=object)
    largest = lambda values: functools.reduce(lambda a, b: a.max(b), values)
    eta = largest([abs(v) for v in A @ first(x)])
    bends = second.jacobian(ball_box(sides[:, 0], sides[:, 1])).reshape(n, n * n)
    bound = largest([sum((abs(v) for v in row), flint.arb(0)) for row in A @ bends]).upper()
    h = bound * eta
    words, sense = "the first step is short against the curvature", "K eta <= 1/2"
    status = HOLDS if bool(h <= 0.5) else FAILS if bool(h > 0.5) else UNDECIDED
    rows = [regular, Hypothesis(words, sense, status, float((0.5 - h).mid()), "balls")]
    numbers = {"eta": float(eta.upper()), "K": float(bound), "h": float(h.upper())}
    if status != HOLDS:
        return rows, numbers
    root = (1 - 2 * h).sqrt()
    radius = 2 * eta / (1 + root)
    inside = HOLDS if bool(radius <= half) else FAILS if bool(radius > half) else UNDECIDED
    rows.append(Hypothesis("the box reaches far enough", "2 eta / (1 + sqrt(1 - 2 K eta)) <= reach", inside,
                           float((half - radius).mid()), "balls"))  # fmt: skip
    alone = float(((1 + root) / bound).lower()) if bool(bound > 0) else np.inf
    return rows, numbers | {"radius": float(np.nextafter(float(radius.upper()), np.inf)), "alone": alone}
