"""Points of a least period of a map of an interval: found between changes of sign, or excluded, by intervals."""

import math
from typing import Any

import numpy as np
import sympy

from analysis.dynamics.validated.intervals import IntervalFunction
from analysis.theorems.conditions import FAILS, HOLDS, UNDECIDED, Hypothesis
from analysis.theorems.fields import Field, continuous
from analysis.theorems.regions import Region, written
from analysis.theorems.subdivision import SMALLEST

FIRST = 64
"""Number of equal parts with which the search begins."""
ROOM = 0.1
"""Part of a box by which it is widened on each side, so that a periodic point at its end counts."""


def point_of_period(step: Field, where: Region, period: int, budget: int) -> Hypothesis:
    """Decide whether a continuous map of an interval has a point of a least period.

    Between two points at which f^p(x) - x has different signs lies a zero; its least period is p if f^d(x) - x is not
    zero there for the largest divisors d of p. Where the derivative shows that there is at most one zero, and one of
    f^d(x) - x lies there, a box holds no point of least period p.
    """
    shift = IntervalFunction(_displacement(step, period), 1, "system")
    divisors = [period // q for q in sympy.primefactors(period)]
    lower = [IntervalFunction(_displacement(step, d), 1, "system") for d in divisors]
    has_slope = continuous(step, 1).status == HOLDS
    (first, last), count = where.sides[0], 0
    cuts = np.linspace(first, last, FIRST + 1)
    waiting, left = np.stack([cuts[:-1], cuts[1:]], axis=1)[:, None], []
    while len(waiting):
        if count + len(waiting) > budget:
            left.append(waiting)
            break
        count += len(waiting)
        zero = _holds_zero(shift.enclosed(waiting))
        waiting = waiting[zero]
        room = ROOM * (waiting[..., 1] - waiting[..., 0])
        wide = np.stack([waiting[..., 0] - room, waiting[..., 1] + room], axis=2)
        inner = np.clip(wide, first, last)
        apart = np.ones(len(waiting), bool)
        for one in lower:
            apart &= ~_holds_zero(one.enclosed(inner))
        found = np.flatnonzero(apart & _changes_sign(shift, inner))
        if len(found):
            place = _narrowed(shift, inner[found[:1]])[0].mean(axis=1)
            said = f"f^{period}(x) = x{_no_divisor(divisors)} at {written(place)}"
            return _row(period, HOLDS, said, count)
        if has_slope and lower and len(waiting):
            slopes = shift.slopes(wide)[:, 0, 0]
            single = (slopes[:, 0] > 0) | (slopes[:, 1] < 0)
            known = np.any([_changes_sign(one, wide) for one in lower], axis=0)
            waiting = waiting[~(single & known)]
        widths = waiting[:, 0, 1] - waiting[:, 0, 0]
        small = widths < SMALLEST * (last - first)
        if np.any(small):
            left.append(waiting[small])
        waiting = _halves(waiting[~small])
    rest = np.concatenate([np.empty((0, 1, 2)), *left])
    said = f"f^{period}(x) = x{_no_divisor(divisors)}"
    return _row(period, UNDECIDED if left else FAILS, said if left else f"{said} for no x", count, rest)


def _row(period: int, status: str, said: str, boxes: int, left: np.ndarray = np.empty((0, 1, 2))) -> Hypothesis:
    words = f"there is a point of least period {_NUMBERS.get(period, period)}"
    return Hypothesis(words, said, status, math.nan, "intervals", boxes=boxes, left=left)


_NUMBERS = {1: "one", 2: "two", 3: "three", 4: "four", 5: "five", 6: "six"}


def _no_divisor(divisors: list[int]) -> str:
    return "".join(f", f{'' if d == 1 else f'^{d}'}(x) != x" for d in divisors)


def _displacement(step: Field, period: int) -> Field:
    def displacement(x: Any) -> Any:
        y = x
        for _ in range(period):
            y = step(y)
        return y - x

    return displacement


def _holds_zero(found: np.ndarray) -> np.ndarray:
    """Tell which enclosures may hold zero; those that are not known may."""
    return ~((found[:, 0, 0] > 0) | (found[:, 0, 1] < 0))


def _changes_sign(fn: IntervalFunction, boxes: np.ndarray) -> np.ndarray:
    """Tell on which boxes a function has certainly different signs at both ends."""
    ends = [fn.values(np.repeat(boxes[:, :, k : k + 1], 2, axis=2))[:, 0] for k in (0, 1)]
    above, below = ([end[:, 0] > 0 for end in ends], [end[:, 1] < 0 for end in ends])
    return (above[0] & below[1]) | (below[0] & above[1])


def _narrowed(fn: IntervalFunction, box: np.ndarray) -> np.ndarray:
    """Halve a box while a function has certainly different signs at the ends of one half."""
    while True:
        halves = _halves(box)
        found = np.flatnonzero(_changes_sign(fn, halves))
        if not len(found):
            return box
        box = halves[found[:1]]


def _halves(boxes: np.ndarray) -> np.ndarray:
    middle = boxes.mean(axis=2)
    return np.concatenate([
        np.stack([boxes[..., 0], middle], axis=2), np.stack([middle, boxes[..., 1]], axis=2)
    ])  # fmt: skip
