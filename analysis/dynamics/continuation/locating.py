"""Locate zeros of test functions and folds between two points of a curve."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from analysis.dynamics.continuation.curve import AbstractCurve, CurvePoint, direction_to, turned

# Relative distance to which bifurcations are located between two points.
LOCATED = 1e-10
# Size of a test function at its zero, relative to its values at both points, above which it jumps there.
JUMP = 1e-3
# Number of points on each side of a branch point used for the polynomial fit.
SIDE = 4
# Spacing of these points where curves cross, relative to the distance of the two points.
BESIDE = 5e-3
# Spacing of these points where an eigenvalue touches zero, which it does to second order.
AROUND = 0.1
# Largest value of a test function at a zero found from polynomials.
NEARLY = 1e-8
# Slope of a test function at its zero, relative to its mean slope, below which the zero is not simple.
FLAT = 0.05
# Singular values of the derivatives below this share belong to the null space beside a crossing.
NULL = 1e-6
# Largest deviation of a smooth curve from a cubic, relative to its deviation from the tangent.
KINK = 0.1
# Smallest cosine between a tangent and a chord with which a cubic is parametrised along the chord.
STEEP = 0.1
# Slope of the parameter within a step, relative to the ends, below which folds may hide there.
DIP = 0.25
# Relative distance to which the extreme value of a test function is located between two points.
NARROW = 1e-3
# Relative distance of two zeros between two points, found from polynomials, below which they are one.
SAME = 1e-4
# Slope below which the parameter runs back; at a cusp the slope vanishes up to rounding.
BACK = 1e-8


class _Chord:
    """Points of a curve in planes across a chord, each predicted from its neighbours."""

    def __init__(self, curve: AbstractCurve, begin: CurvePoint, end: CurvePoint):
        self.curve, self.begin, self.direction = curve, begin, direction_to(begin, end)
        self.points: dict[float, CurvePoint] = {0.0: begin, 1.0: end}

    def at(self, share: float) -> CurvePoint:
        """Compute the point at a share of the way; raise `ArithmeticError` if there is none."""
        if share not in self.points:
            low, high = max(s for s in self.points if s < share), min(s for s in self.points if s > share)
            pair = (self.points[low], self.points[high])
            found = _predicted(self.curve, pair, (low, high), share, (self.begin, self.direction))
            if found is None:
                raise ArithmeticError
            across = np.append(found.basis.T @ (self.begin.basis @ self.direction[:-1]), self.direction[-1])
            self.points[share] = turned(self.begin, self.direction, self.curve.polished(found, across))[0]
        return self.points[share]

    def smooth(self, share: float, spacing: float, test: Any, order: int) -> tuple[CurvePoint, float] | None:
        """Find the point near a share of the way at which a test function, or its derivative, vanishes.

        It is interpolated by polynomials through points on both sides, because corrections beside a branch point have
        large errors. The result is None if these points are not found.
        """
        spacing = min(spacing, 0.9 / SIDE * min(share, 1 - share))
        if spacing <= LOCATED:
            return None
        shares = share + spacing * np.array([*range(-SIDE, 0), *range(1, SIDE + 1)])
        self.points = {s: point for s, point in self.points.items() if abs(s - share) >= spacing}
        try:
            found = [self.at(float(s)) for s in sorted(shares, key=lambda s: -abs(s - share))]
        except ArithmeticError:
            return None
        found.sort(key=lambda point: float((point.flat - self.begin.flat) @ (self.points[1.0].flat - self.begin.flat)))
        places = (shares - share) / spacing
        tests = np.polynomial.Polynomial.fit(places, [float(test(point)) for point in found], len(places) - 1)
        roots = (tests.deriv(order) if order else tests).roots()
        near = roots[np.argmin(np.abs(roots))] if len(roots) else math.inf
        if not abs(near) < 1:
            return None
        flat = _interpolated(places, np.array([point.flat for point in found]), float(np.real(near)))
        away = flat - found[0].flat
        made = self.curve.measured(self.curve.displaced(found[0].state, away[:-1]), float(flat[-1]))
        return turned(self.begin, self.direction, made)[0], share + spacing * float(np.real(near))


def _interpolated(places: np.ndarray, rows: np.ndarray, at: float) -> np.ndarray:
    """Interpolate rows by polynomials at a place."""
    weights = [np.prod((at - np.delete(places, k)) / (places[k] - np.delete(places, k))) for k in range(len(places))]
    return np.asarray(weights) @ rows


def located(curve: AbstractCurve, begin: CurvePoint, end: CurvePoint, test: Any) -> tuple[CurvePoint | None, float]:
    """Locate the point between two others at which a test function changes sign, and its share of the way."""
    return _located(_Chord(curve, begin, end), test)


def crossed(curve: AbstractCurve, begin: CurvePoint, end: CurvePoint, test: Any) -> tuple[CurvePoint | None, float]:
    """Do the same as `located` where another curve crosses and the test function is smooth."""
    chord = _Chord(curve, begin, end)
    point, share = _located(chord, test)
    if point is None:  # corrections fail so close to the crossing
        sizes = abs(float(test(begin))), abs(float(test(end)))
        share = sizes[0] / max(sum(sizes), np.finfo(float).tiny)
    found = chord.smooth(share, BESIDE, test, 0)
    if found is None or not abs(test(found[0])) <= NEARLY:
        return point, share
    flat = chord.smooth(share, AROUND, test, 2) if _is_flat(chord, found[1], test) else None
    return found if flat is None or not abs(test(flat[0])) <= NEARLY else flat


def met(curve: AbstractCurve, begin: CurvePoint, end: CurvePoint, test: Any) -> CurvePoint | None:
    """Locate the point between two others where a curve meets one on which a test function vanishes everywhere."""
    sizes = abs(float(test(begin))), abs(float(test(end)))
    found = _Chord(curve, begin, end).smooth(sizes[0] / sum(sizes), BESIDE, test, 0)
    return None if found is None else found[0]


def vanishes_at(curve: AbstractCurve, begin: CurvePoint, end: CurvePoint, share: float, test: Any) -> bool:
    """Test whether a test function vanishes at a branch point, at a share of the way between two points."""
    found = _Chord(curve, begin, end).smooth(share, BESIDE, test, 0)
    return found is not None and abs(found[1] - share) <= SAME


def _is_flat(chord: _Chord, share: float, test: Any) -> bool:
    """Test whether a test function changes sign much more slowly than on average, as a cubic zero does."""
    near = sorted((s for s in chord.points if 0 < s < 1), key=lambda s: abs(s - share))[: 2 * SIDE]
    low, high = min(near), max(near)
    change, whole = (abs(float(test(chord.points[b]) - test(chord.points[a]))) for a, b in ((low, high), (0.0, 1.0)))
    return change <= FLAT * (high - low) * whole


def passes_by(curve: AbstractCurve, begin: CurvePoint, end: CurvePoint) -> bool:
    """Test whether a step jumps to another branch that passes the first one without crossing it.

    The test function of branch points changes sign as at a crossing. At the zero of its interpolation, however, there
    is no solution within the tolerance of the curve.
    """
    test, signs = curve.least_singular, (curve.singular(begin), curve.singular(end))
    sizes = abs(signs[0]), abs(signs[1])
    if 0 in sizes or signs[0] * signs[1] > 0:
        return False
    chord = _Chord(curve, begin, end)
    point, share = _located(chord, test)
    found = chord.smooth(share if point is not None else sizes[0] / sum(sizes), BESIDE, test, 0)
    if found is None or abs(test(found[0])) > JUMP * sum(sizes):  # the test function jumps
        return False
    state, parameter, basis = found[0].state, found[0].parameter, found[0].basis
    at = curve.equations(state, parameter, basis)
    change = curve.correction(at, (begin, end), NULL)  # not along the null space
    state, parameter = curve.displaced(state, basis @ change[:-1]), parameter + float(change[-1])
    after = curve.equations(state, parameter, curve.basis(state))
    return curve.residual(after) > curve.tolerances[0] * max(curve.residual(at), 1.0)


def _located(chord: _Chord, test: Any) -> tuple[CurvePoint | None, float]:
    def value(share: float) -> float:
        at = float(test(chord.at(share)))
        if math.isnan(at):
            raise ArithmeticError
        return at

    try:
        import scipy.optimize

        share = float(np.asarray(scipy.optimize.brentq(value, 0.0, 1.0, xtol=LOCATED)))
        value(share)
    except ArithmeticError:  # the correction is not unique at a branch point, and there is no value at a pole
        sizes = {share: abs(float(test(point))) for share, point in chord.points.items()}
        inner = [share for share, size in sizes.items() if 0 < share < 1 and math.isfinite(size)]
        share = min(inner, key=lambda share: sizes[share], default=0.0)
        if not inner or sizes[share] > JUMP * (sizes[0.0] + sizes[1.0]):
            return None, 0.0
    return chord.points[share], share


def between(curve: AbstractCurve, begin: CurvePoint, end: CurvePoint, share: float) -> CurvePoint | None:
    """Compute the point at a share of the way between two points, in the plane across their chord."""
    return _predicted(curve, (begin, end), (0.0, 1.0), share, (begin, direction_to(begin, end)))


def _predicted(
    curve: AbstractCurve,
    pair: tuple[CurvePoint, CurvePoint],
    shares: tuple[float, float],
    share: float,
    chord: tuple[CurvePoint, np.ndarray],
) -> CurvePoint | None:
    """Compute the point at a share of the way along a chord, in the plane across it.

    It is predicted by the cubic through the pair of points with their tangents. A prediction on the chord itself, or
    from points further away, may lead to a branch that crosses this one.
    """
    (begin, end), (first, direction) = pair, chord
    away = end.flat - begin.flat
    ahead = np.append(first.basis @ direction[:-1], direction[-1])
    size = float(away @ ahead)
    tangents = [size * _along(p.flat_tangent, ahead) for p in pair]
    step = _cubic(away, tangents, (share - shares[0]) / (shares[1] - shares[0]))
    state = curve.displaced(begin.state, step[:-1])
    across = np.append(curve.basis(state).T @ (first.basis @ direction[:-1]), direction[-1])
    found = curve.corrected(state, begin.parameter + float(step[-1]), across)
    return None if found is None else turned(first, direction, found)[0]


def _along(tangent: np.ndarray, chord: np.ndarray) -> np.ndarray:
    """Scale a tangent to move by one along a unit vector, unless it is nearly perpendicular."""
    return tangent / float(np.copysign(max(abs(tangent @ chord), STEEP), tangent @ chord))


def cubic_between(begin: CurvePoint, end: CurvePoint, share: float) -> np.ndarray:
    """Compute the place, in ambient coordinates, at a share of the way along the cubic between two points."""
    away = end.flat - begin.flat
    size = float(np.linalg.norm(away))
    slopes = [size * _along(p.flat_tangent, away / size) for p in (begin, end)]
    return begin.flat + _cubic(away, slopes, share)


def _cubic(away: np.ndarray, slopes: list[np.ndarray], s: float) -> np.ndarray:
    """Evaluate the cubic from 0 to a vector that has given slopes at both ends."""
    rest = 1 - s
    return s**2 * (3 - 2 * s) * away + s * rest**2 * slopes[0] - s**2 * rest * slopes[1]


def tangent_between(begin: CurvePoint, end: CurvePoint, share: float) -> np.ndarray:
    """Compute the unit tangent, in ambient coordinates, at a share of the way along the cubic between two points."""
    away = end.flat - begin.flat
    size = float(np.linalg.norm(away))
    first, last = (size * _along(p.flat_tangent, away / size) for p in (begin, end))
    s, rest = share, 1 - share
    found = 6 * s * rest * away + rest * (1 - 3 * s) * first - s * (2 - 3 * s) * last
    return found / np.linalg.norm(found)


def least_between(curve: AbstractCurve, pair: tuple[CurvePoint, CurvePoint], test: Any) -> tuple[CurvePoint, float]:
    """Locate the point between two others at which a test function is nearest to zero, and its share of the way."""
    begin, end = pair

    def size(share: float) -> float:
        point = between(curve, begin, end, share)
        return math.inf if point is None else abs(test(point))

    share = _smallest(size, 1e-9)[0]
    found = _Chord(curve, begin, end).smooth(share, AROUND, test, 1)
    point = between(curve, begin, end, share)
    if found is not None and abs(test(found[0])) <= NEARLY:
        return found
    return (begin, 0.0) if point is None else (point, share)


def _smallest(value: Callable[[float], float], error: float) -> tuple[float, float]:
    """Locate the least value between 0 and 1 of a function that is infinite where there is no point, and the value."""
    import scipy.optimize

    with np.errstate(invalid="ignore"):  # differences of infinities
        found: Any = scipy.optimize.minimize_scalar(
            value, bounds=(0.0, 1.0), method="bounded", options={"xatol": error}
        )
    return float(found.x), float(found.fun)


def hidden_sign(
    curve: AbstractCurve, points: list[CurvePoint], values: list[float], k: int, test: Any
) -> list[CurvePoint]:
    """Find a point between two successive ones at which a test function has the opposite sign.

    It is searched where a parabola through both values and a neighbouring one comes much closer to zero in between.
    """
    sign, least = float(np.sign(values[k])), DIP * min(abs(values[k]), abs(values[k + 1]))
    if not any(_dips(points[j : j + 3], values[j : j + 3], k - j, sign, least) for j in (k - 1, k) if j >= 0):
        return []

    def value(share: float) -> float:
        point = between(curve, points[k], points[k + 1], share)
        return math.inf if point is None else sign * float(test(point))

    share, lowest = _smallest(value, NARROW)
    point = between(curve, points[k], points[k + 1], share) if lowest < 0 else None
    return [] if point is None else [point]


def _dips(points: list[CurvePoint], values: list[float], k: int, sign: float, least: float) -> bool:
    """Test whether a parabola through three values has its extreme after the k-th one, near zero or beyond."""
    if len(points) < 3 or sign == 0 or not np.all(np.isfinite(values)):
        return False
    sizes = [float(np.linalg.norm(b.flat - a.flat)) for a, b in itertools.pairwise(points)]
    if 0 in sizes:
        return False
    places = np.array([-sizes[0], 0.0, sizes[1]])
    bend, slope, middle = sign * np.linalg.solve(np.vander(places), values)
    at = -slope / (2 * bend) if bend > 0 else math.inf
    return bool(places[k] < at < places[k + 1] and middle + slope * at / 2 < least)


def has_kink(curve: AbstractCurve, before: CurvePoint, begin: CurvePoint, end: CurvePoint) -> bool:
    """Test whether a step jumps between branches: the cubic through both ends misses the curve half-way.

    The test is made on a first step, where the test function of branch points changes sign, and where it does not
    although the last step made this likely, as after a jump between two crossing branches.
    """
    tests = [curve.singular(point) for point in (before, begin, end)]
    old, new = (float(np.linalg.norm(b.flat - a.flat)) for a, b in ((before, begin), (begin, end)))
    expected = tests[1] + (tests[1] - tests[0]) * new / max(old, np.finfo(float).tiny)
    if before is not begin and tests[1] * tests[2] >= 0 and expected * tests[1] > 0:
        return False
    inside = between(curve, begin, end, 0.5)
    if inside is None:
        return True
    slopes = [p.flat_tangent for p in (begin, end)]
    bend = float(np.linalg.norm(end.flat - begin.flat - new * slopes[0]))
    middle = (begin.flat + end.flat) / 2 + new * (slopes[0] - slopes[1]) / 8
    return bool(np.linalg.norm(inside.flat - middle) > KINK * bend + curve.tolerances[1] * (1 + abs(end.parameter)))


def hidden_turn(curve: AbstractCurve, begin: CurvePoint, end: CurvePoint, depth: int = 3) -> list[CurvePoint]:
    """Find a point between two others at which the parameter runs back, as between two folds in one step.

    It is searched where the cubic through both points with their tangents has its smallest slope, if this is much
    smaller than at both ends.
    """
    r0, r1 = float(begin.tangent[-1]), float(end.tangent[-1])
    if max(abs(r0), abs(r1)) <= BACK:  # on a vertical curve the slopes are errors
        return []
    away = end.flat - begin.flat
    mean = float(away[-1]) / max(float(np.linalg.norm(away)), np.finfo(float).tiny)
    # coefficients of the derivative r0 + slope s + bend s^2
    bend, slope = 3 * (r0 + r1 - 2 * mean), 6 * mean - 4 * r0 - 2 * r1
    if r0 * r1 <= 0 or bend * r0 <= 0 or not 0 < -slope / (2 * bend) < 1:
        return []
    least = (r0 - slope**2 / (4 * bend)) * np.sign(r0)
    inside = between(curve, begin, end, -slope / (2 * bend)) if least < DIP * min(abs(r0), abs(r1)) else None
    if inside is None or float(inside.tangent[-1]) * np.sign(r0) < -BACK:
        return [] if inside is None else [inside]
    if not depth:
        return []
    return hidden_turn(curve, begin, inside, depth - 1) or hidden_turn(curve, inside, end, depth - 1)


def changes_of_sign(values: list[float], least: float) -> list[tuple[int, int]]:
    """List the neighbours, at most one point apart, between which a test function with an error changes its sign."""
    found: list[tuple[int, int]] = []
    before: int | None = None
    for k, value in enumerate(values):
        if not abs(value) > least:
            continue
        if before is not None and k - before <= 2 and values[before] * value < 0:
            found.append((before, k))
        before = k
    return found


def turns_back(curve: AbstractCurve, begin: CurvePoint, point: CurvePoint, end: CurvePoint) -> bool:
    """Test whether the parameter at a point lies beyond both ends of a step by more than its error."""
    before, after = point.parameter - begin.parameter, point.parameter - end.parameter
    error = curve.tolerances[0] * (1 + abs(point.parameter))
    return bool(before * after > 0 and min(abs(before), abs(after)) > error)
