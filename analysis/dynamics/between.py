"""Points of a curve between two others: where a test function changes its sign, and where the parameter runs back."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.optimize

from analysis.dynamics.curves import AbstractCurve, CurvePoint, direction_to, turned

LOCATED = 1e-10  # of the distance of two points: to which bifurcations are located between them
JUMP = 1e-3  # of its values at both points: a test function that is larger at its zero jumps there
KINK = 0.1  # of the distance of a point from the tangent at another one: what a cubic through both misses if smooth
STEEP = 0.1  # the least cosine between a tangent and the chord with which a cubic is measured along the chord
DIP = 0.25  # of the slope of the parameter at both ends of a step: with less in between, folds may hide there
BACK = 1e-8  # the slope at which the parameter runs back; at a cusp it vanishes up to rounding


def located(curve: AbstractCurve, begin: CurvePoint, end: CurvePoint, test: Any) -> tuple[CurvePoint | None, float]:
    """Return the point between two others at which a test function changes its sign, and its share of the way."""
    points: dict[float, CurvePoint] = {0.0: begin, 1.0: end}
    direction = direction_to(begin, end)

    def value(share: float) -> float:
        if share not in points:
            low, high = max(s for s in points if s < share), min(s for s in points if s > share)
            found = _predicted(curve, (points[low], points[high]), (low, high), share, (begin, direction))
            if found is None:
                raise ArithmeticError
            across = np.append(found.basis.T @ (begin.basis @ direction[:-1]), direction[-1])
            points[share] = turned(begin, direction, curve.polished(found, across))[0]
        at = float(test(points[share]))
        if math.isnan(at):
            raise ArithmeticError
        return at

    try:
        share = float(np.asarray(scipy.optimize.brentq(value, 0.0, 1.0, xtol=LOCATED)))
        value(share)
    except ArithmeticError:  # at a branch point itself the correction has no one solution, at a pole there is no value
        sizes = {share: abs(float(test(point))) for share, point in points.items() if 0 < share < 1}
        inner = [share for share, size in sizes.items() if math.isfinite(size)]
        share = min(inner, key=lambda share: sizes[share], default=0.0)
        if not inner or sizes[share] > JUMP * (abs(test(begin)) + abs(test(end))):
            return None, 0.0
    return points[share], share


def between(curve: AbstractCurve, begin: CurvePoint, end: CurvePoint, share: float) -> CurvePoint | None:
    """Return the point of the curve at a share of the way between two others, in the plane across their chord."""
    return _predicted(curve, (begin, end), (0.0, 1.0), share, (begin, direction_to(begin, end)))


def _predicted(
    curve: AbstractCurve,
    pair: tuple[CurvePoint, CurvePoint],
    shares: tuple[float, float],
    share: float,
    chord: tuple[CurvePoint, np.ndarray],
) -> CurvePoint | None:
    """Return the point of the curve at a share of the way along a chord, in the plane across it.

    The prediction is the cubic through the pair, which lies at two shares of the way, with their tangents: from the
    chord itself, or from a pair further away, the correction may lead to another branch that crosses this one.
    """
    (begin, end), (first, direction) = pair, chord
    away = end.flat - begin.flat
    ahead = np.append(first.basis @ direction[:-1], direction[-1])
    size = float(away @ ahead)
    tangents = [np.append(p.basis @ p.tangent[:-1], p.tangent[-1]) for p in pair]
    tangents = [size * t / float(np.copysign(max(abs(t @ ahead), STEEP), t @ ahead)) for t in tangents]
    s = (share - shares[0]) / (shares[1] - shares[0])
    rest = 1 - s
    step = s**2 * (3 - 2 * s) * away + s * rest**2 * tangents[0] - s**2 * rest * tangents[1]
    state = curve.displaced(begin.state, step[:-1])
    across = np.append(curve.basis(state).T @ (first.basis @ direction[:-1]), direction[-1])
    found = curve.corrected(state, begin.parameter + float(step[-1]), across)
    return None if found is None else turned(first, direction, found)[0]


def least_between(curve: AbstractCurve, pair: tuple[CurvePoint, CurvePoint], test: Any) -> tuple[CurvePoint, float]:
    """Return the point between two others at which a test function is nearest to zero, and its share of the way."""
    begin, end = pair

    def size(share: float) -> float:
        point = between(curve, begin, end, share)
        return math.inf if point is None else abs(test(point))

    least: Any = scipy.optimize.minimize_scalar(size, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-9})
    share = float(least.x)
    point = between(curve, begin, end, share)
    return (begin, 0.0) if point is None else (point, share)


def ways_out(along: np.ndarray, across: np.ndarray, *, touches: bool) -> list[np.ndarray]:
    """Return the directions in which another curve may leave: that across, or two between it and the first curve.

    Where an eigenvalue touches zero, other solutions lie on both sides of the direction across, and none in it.
    """
    return [(across + sign * along) / math.sqrt(2) for sign in (1, -1)] if touches else [across]


def departures(
    curve: AbstractCurve, here: CurvePoint, along: np.ndarray, across: np.ndarray, size: float
) -> Iterator[np.ndarray]:
    """Yield directions from a point to others that are not on the curve through it, at ever smaller distances.

    Args:
        curve: the equations.
        here: a point where two curves may meet.
        along: the tangent of the first curve there.
        across: a direction out of it in the null space, towards which the other one is looked for.
        size: the first distance.
    """
    for k in range(6):
        near = curve.stepped(here, across, size * 0.3**k)
        if near is None:
            continue
        towards = direction_to(here, near)
        if abs(float(towards @ along)) <= 1 - 0.01 and float(towards @ across) >= 0.1:
            yield towards


def has_kink(curve: AbstractCurve, before: CurvePoint, begin: CurvePoint, end: CurvePoint) -> bool:
    """Return whether a step leads from one branch to another: the cubic through both ends misses the curve half-way.

    It is looked at where that may be: on a first step, where the test function of branch points changes its sign, and
    where it does not although the step before lets expect it, as from one of two branches that cross to the other one.
    """
    tests = [curve.singular(point) for point in (before, begin, end)]
    old, new = (float(np.linalg.norm(b.flat - a.flat)) for a, b in ((before, begin), (begin, end)))
    expected = tests[1] + (tests[1] - tests[0]) * new / max(old, np.finfo(float).tiny)
    if before is not begin and tests[1] * tests[2] >= 0 and expected * tests[1] > 0:
        return False
    inside = between(curve, begin, end, 0.5)
    if inside is None:
        return True
    slopes = [np.append(p.basis @ p.tangent[:-1], p.tangent[-1]) for p in (begin, end)]
    bend = float(np.linalg.norm(end.flat - begin.flat - new * slopes[0]))
    middle = (begin.flat + end.flat) / 2 + new * (slopes[0] - slopes[1]) / 8
    return bool(np.linalg.norm(inside.flat - middle) > KINK * bend + curve.tolerances[1] * (1 + abs(end.parameter)))


def hidden_turn(curve: AbstractCurve, begin: CurvePoint, end: CurvePoint, depth: int = 3) -> list[CurvePoint]:
    """Return a point between two others at which the parameter runs back, as between two folds in one step.

    It is looked for where the cubic through both points with their tangents has its least slope, if that is much less
    than at both ends.
    """
    r0, r1 = float(begin.tangent[-1]), float(end.tangent[-1])
    away = end.flat - begin.flat
    mean = float(away[-1]) / max(float(np.linalg.norm(away)), np.finfo(float).tiny)
    bend, slope = 3 * (r0 + r1 - 2 * mean), 6 * mean - 4 * r0 - 2 * r1  # of the derivative r0 + slope s + bend s^2
    if r0 * r1 <= 0 or bend * r0 <= 0 or not 0 < -slope / (2 * bend) < 1:
        return []
    least = (r0 - slope**2 / (4 * bend)) * np.sign(r0)
    inside = between(curve, begin, end, -slope / (2 * bend)) if least < DIP * min(abs(r0), abs(r1)) else None
    if inside is None or float(inside.tangent[-1]) * np.sign(r0) < -BACK:
        return [] if inside is None else [inside]
    if not depth:
        return []
    return hidden_turn(curve, begin, inside, depth - 1) or hidden_turn(curve, inside, end, depth - 1)
