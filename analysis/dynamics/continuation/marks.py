"""Locate the points of a branch at which functions of the user vanish, and where such a function ends the branch."""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Complex, Float

from analysis.dynamics.continuation.curve import AbstractCurve, CurvePoint
from analysis.dynamics.continuation.locating import hidden_sign, located
from dynsim._core.printing import one_line, printed
from dynsim._core.types import State
from dynsim.errors import ArgumentError, shown

Watched = Mapping[str, Callable[[State, float], Any]]
"""Functions of a state, or of a periodic orbit, and the parameter, by their names."""

STOP = "stop: "
"""Beginning of the reason why a branch ends at a function of yours, whose name follows."""


class Mark(NamedTuple):
    """A point of a branch at which a function of yours vanishes; `name` is that of the function.

    `state` is a state or a periodic orbit, `arclength` says where it lies on the branch, and `kind` is its stability.
    """

    name: str
    state: State
    parameter: float
    arclength: float
    eigenvalues: Complex[np.ndarray, " d"]
    kind: str

    __repr__ = one_line

    def sized(self, size: float) -> str:
        """Describe the mark; the parameter is printed as 0 if it is negligible beside `size`."""
        return f"`{self.name}` at {printed(self.parameter, size)}"

    def __str__(self) -> str:
        """Describe the mark in one phrase."""
        return self.sized(0.0)


def marks_between(
    curve: AbstractCurve, points: list[CurvePoint], lengths: Float[np.ndarray, " points"], marks: Watched
) -> list[Mark]:
    """Locate the zeros of functions along a curve, where they change sign between successive points.

    Two zeros between two points are found where a parabola through both values and a neighbouring one shows them.
    """
    found: list[Mark] = []
    for name, function in marks.items():
        test = _test(curve, name, function)
        values = [test(point) for point in points]
        for k, value in enumerate(values):
            if value == 0:
                found.append(_mark(curve, name, points[k], float(lengths[k])))
            if k + 1 == len(values):
                break
            here = [points[k], points[k + 1]]
            if value * values[k + 1] > 0:
                here[1:1] = hidden_sign(curve, points, values, k, test)
            found += _between(curve, name, here, float(lengths[k]), test)
    return sorted(found, key=lambda mark: mark.arclength)


def _between(
    curve: AbstractCurve, name: str, points: list[CurvePoint], length: float, test: Callable[[CurvePoint], float]
) -> list[Mark]:
    """Locate the zeros of a function in a step, whose points lie in order; `length` is where it begins."""
    found = []
    for begin, end in zip(points, points[1:], strict=False):
        if test(begin) * test(end) < 0:
            point, share = located(curve, begin, end, test)
            if point is not None:
                size = float(np.linalg.norm(end.flat - begin.flat))
                found.append(_mark(curve, name, point, length + share * size))
        length += float(np.linalg.norm(end.flat - begin.flat))
    return found


def stopped(
    curve: AbstractCurve, before: CurvePoint, point: CurvePoint, stops: Watched
) -> tuple[CurvePoint | None, str] | None:
    """Find the first point between two others at which a function becomes positive, and its name; None without one."""
    found = []
    for name, function in stops.items():
        test = _test(curve, name, function)
        if test(before) < 0 and test(point) >= 0:
            last, share = (point, 1.0) if test(point) == 0 else located(curve, before, point, test)
            found.append((share, last, f"{STOP}{name}"))
    return min(found, key=lambda one: one[0])[1:] if found else None


def _test(curve: AbstractCurve, name: str, function: Callable[[State, float], Any]) -> Callable[[CurvePoint], float]:
    """Build the function of a point of the curve, which is called with a state in the units of the given system."""

    def value(point: CurvePoint) -> float:
        given = np.asarray(function(curve.given(point), point.parameter * curve.unit))
        if given.size != 1 or not np.isrealobj(given):
            raise ArgumentError(
                "steps", f"have a function `{name}` that gives one real number", f"gives {shown(given)}"
            )
        found = float(given.reshape(()))
        return found if math.isfinite(found) else math.nan

    return value


def _mark(curve: AbstractCurve, name: str, point: CurvePoint, length: float) -> Mark:
    return Mark(name, point.state, point.parameter, length, point.values, curve.stable_kind(point))
