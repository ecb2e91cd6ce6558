"""Prove zeros of equations with Krawczyk's operator in ball arithmetic.

Source: W. Tucker, Validated Numerics, Princeton 2011, section 5.2.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from analysis.dynamics.scaling.linear_equations import equilibration, inverse, least_squares
from analysis.dynamics.validated.balls import Balls, balls
from analysis.dynamics.validated.enclosures import ball_box, ends_of, is_inside
from dynsim._core.printing import one_line
from dynsim.errors import ArgumentError

# Half sides of the boxes on which uniqueness is tried, relative to one plus the size of each component.
INFLATIONS = (1e-10, 1e-7, 1e-4, 1e-3, 1e-2, 3e-2, 0.1, 0.3)
# Half sides that are tried in other units, relative to those of a box that barely holds its image.
GROWTH = tuple(10.0**k for k in range(17))
# Rounds in which a box grows to hold its image, by which factor it exceeds this, and the least and largest half side.
ROUNDS, WIDER, LEAST, HUGE = 12, 2.0, 1e-290, 1e290
# Largest condition number of a Jacobian that is inverted.
REGULAR = 1e12
# Binary digits after the point to which a point is rounded to test whether it is a zero exactly.
DIGITS = 40
# Largest number of Newton steps in floating-point arithmetic.
NEWTON = 30


@runtime_checkable
class BallEquations(Protocol):
    """As many equations as unknowns that can be enclosed with their Jacobian, such as a `BallFunction`."""

    def __call__(self, x: Balls, /) -> Balls:
        """Enclose the values on a box."""
        ...

    def jacobian(self, x: Balls, /) -> Balls:
        """Enclose the derivatives on a box."""
        ...

    def may_jump(self, x: Balls, /) -> bool:
        """Test whether the equations may be discontinuous in a box."""
        ...


class Zero(NamedTuple):
    """Proof that a box contains exactly one zero: a small box with the zero, and the widest box in which it is alone.

    Attributes:
        low: lower bounds of the zero.
        high: upper bounds of the zero.
        alone: ends of the box in which it is unique.
    """

    low: Float[np.ndarray, " d"]
    high: Float[np.ndarray, " d"]
    alone: Float[np.ndarray, "2 d"]

    __repr__ = one_line


def newton(equations: BallEquations, x: np.ndarray) -> np.ndarray:
    """Find a zero near a point by Newton's method in floating-point arithmetic."""
    before = np.inf
    for _ in range(NEWTON):
        values, J = (_middles(part) for part in (equations(balls(x)), equations.jacobian(balls(x))))
        if not np.all(np.isfinite(J)) or not np.all(np.isfinite(values)):
            return x
        change = least_squares(J, -values, 1e-12)
        x, size = x + change, float(np.max(np.abs(change) / (1 + np.max(np.abs(x)))))
        if np.all(np.abs(change) <= 1e-15 * np.abs(x)) or (size < 1e-9 and size >= before):
            break
        before = size
    return x


def krawczyk(equations: BallEquations, low: np.ndarray, high: np.ndarray) -> tuple[Balls, Balls] | None:
    """Apply Krawczyk's operator to a box; None if the equations may jump, are unbounded, or have a singular Jacobian.

    Returns:
        The box, and its image: a zero in the box lies in the image, too, and an image inside the box holds one zero.
    """
    X, middle = ball_box(low, high), (low + high) / 2
    if equations.may_jump(X):
        return None
    point, J = balls(middle), equations.jacobian(X)
    values = equations(point)
    middles = _middles(J)
    if not np.all(np.isfinite(middles)) or not all(entry.is_finite() for entry in J.ravel()):
        return None
    inverted = inverse(middles, REGULAR)
    if inverted is None:
        return None
    C, one = balls(inverted), balls(np.eye(len(X)))
    return X, point - C.dot(values) + (one - C.dot(J)).dot(X - point)


def certified_zero(equations: BallEquations, x: np.ndarray, *, widest: bool = True) -> Zero | None:
    """Prove that exactly one zero lies near a point.

    Args:
        equations: the equations.
        x: the point.
        widest: whether to look for the widest box in which the zero is unique, not for any.
    """
    found = _alone(equations, x, 1 + np.abs(x), widest)
    if found is None and (half := _settled_sides(equations, x)) is not None:
        found = _alone(equations, x, half, widest, GROWTH)
    if found is None:
        return None
    tight, alone = found
    for _ in range(3):  # the operator contracts, so that the enclosure becomes tighter
        again = krawczyk(equations, *ends_of(tight))
        if again is None or not is_inside(again[1], again[0]):
            break
        tight = again[1]
    return Zero(*ends_of(tight), alone)


def _settled_sides(equations: BallEquations, x: np.ndarray) -> np.ndarray | None:
    """Find half sides of a box that the operator maps into itself, in any units, from rounding errors up.

    The first box is the point up to rounding. Each image, which the errors of the values and the coupling of the
    components widen, gives the next box, until one holds its image.

    Source: S. M. Rump, Verification methods, Acta Numerica 19 (2010), section 10, on inflation.
    """
    half = np.maximum(4 * np.spacing(np.abs(x)), LEAST)
    for _ in range(ROUNDS):
        found = krawczyk(equations, x - half, x + half)
        if found is None:
            return None
        if is_inside(found[1], found[0]):
            return half
        low, high = ends_of(found[1])
        half = np.maximum(half, WIDER * np.maximum(high - x, x - low))
        if not np.all(half < HUGE):
            return None
    return None


def _alone(
    equations: BallEquations, x: np.ndarray, sizes: np.ndarray, widest: bool, shares: Sequence[float] = INFLATIONS
) -> tuple[Balls, np.ndarray] | None:
    """Find a small box that holds the only zero near a point, and the widest one, or any, in which it is alone."""
    tight, alone = None, None
    for share in shares:
        half = share * sizes
        found = krawczyk(equations, x - half, x + half)
        if found is None or not is_inside(found[1], found[0]):
            if tight is not None:
                break
            continue
        tight, alone = found[1] if tight is None else tight, np.stack([x - half, x + half])
        if not widest:
            break
    return None if tight is None or alone is None else (tight, alone)


def zero_near(equations: BallEquations, near: np.ndarray) -> Balls | None:
    """Balls that hold a zero near a point: a regular one and no other, or the point itself, exactly.

    Unknowns and equations are taken in units, powers of two, in which the derivatives at the point are near one.
    None if there is neither, as near a degenerate point that is no sum of few powers of two.
    """
    try:
        scaled = _ScaledEquations(equations, near)
        start = near / scaled.units
        if (exact := _exactly(scaled, start)) is not None:
            return exact * balls(scaled.units)
        found = newton(scaled, start)
        if not np.all(np.isfinite(found)):
            return None
        if (exact := _exactly(scaled, found)) is not None:
            return exact * balls(scaled.units)
        zero = certified_zero(scaled, found, widest=False)
    except (ArgumentError, ZeroDivisionError):  # of series, where the field is not smooth nearby
        return None
    return None if zero is None else ball_box(zero.low, zero.high) * balls(scaled.units)


class _ScaledEquations:
    """Equations whose unknowns and values are in units, so that their derivatives at a point are near one."""

    def __init__(self, equations: BallEquations, near: np.ndarray):
        J = _middles(equations.jacobian(balls(near)))
        rows, self.units = equilibration(np.where(np.isfinite(J), J, 0.0))
        self._equations, self._rows, self._units = equations, balls(rows), balls(self.units)

    def __call__(self, x: Balls) -> Balls:
        return self._rows * self._equations(self._units * x)

    def jacobian(self, x: Balls) -> Balls:
        return self._rows[:, None] * self._equations.jacobian(self._units * x) * self._units

    def may_jump(self, x: Balls) -> bool:
        return self._equations.may_jump(self._units * x)


def _exactly(equations: BallEquations, near: np.ndarray) -> Balls | None:
    """Round to few binary digits, which are the same in all units, and test whether this is a zero."""
    place = balls(np.round(near * 2.0**DIGITS) / 2.0**DIGITS + 0.0)
    return place if all(bool(value == 0) for value in equations(place)) else None


def _middles(values: Balls) -> np.ndarray:
    return np.array([float(entry.mid()) for entry in values.ravel()]).reshape(values.shape)
