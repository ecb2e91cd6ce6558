"""Points of a curve between two others: where a test function changes its sign, and where the parameter runs back."""

import math
from typing import Any

import numpy as np
import scipy.optimize

from analysis.dynamics.curves import AbstractCurve, CurvePoint, direction_to, turned

LOCATED = 1e-10  # of the distance of two points: to which bifurcations are located between them
JUMP = 1e-3  # of its values at both points: a test function that is larger at its zero jumps there
DIP = 0.25  # of the slope of the parameter at both ends of a step: with less in between, folds may hide there
BACK = 1e-8  # the slope at which the parameter runs back; at a cusp it vanishes up to rounding


def located(curve: AbstractCurve, begin: CurvePoint, end: CurvePoint, test: Any) -> tuple[CurvePoint | None, float]:
    """Return the point between two others at which a test function changes its sign, and its share of the way."""
    points: dict[float, CurvePoint] = {0.0: begin, 1.0: end}

    def value(share: float) -> float:
        if share not in points:
            found = between(curve, begin, end, share)
            if found is None:
                raise ArithmeticError
            points[share] = found
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
    """Return the point of the curve at a share of the way between two others, in the plane across their chord.

    The prediction is the cubic through both with their tangents: from the chord itself the correction may lead to
    another branch that crosses this one.
    """
    chord, away = direction_to(begin, end), end.flat - begin.flat
    size = float(np.linalg.norm(away))
    tangents = [size * np.append(p.basis @ p.tangent[:-1], p.tangent[-1]) for p in (begin, end)]
    s, rest = share, 1 - share
    step = s**2 * (3 - 2 * s) * away + s * rest**2 * tangents[0] - s**2 * rest * tangents[1]
    state = curve.displaced(begin.state, step[:-1])
    across = np.append(curve.basis(state).T @ (begin.basis @ chord[:-1]), chord[-1])
    found = curve.corrected(state, begin.parameter + float(step[-1]), across)
    return None if found is None else turned(begin, chord, found)[0]


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
