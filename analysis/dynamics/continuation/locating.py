"""Points of a curve between two others: where a test function changes its sign, and where the parameter runs back."""

import itertools
import math
from typing import Any

import numpy as np

from analysis.dynamics.continuation.curve import AbstractCurve, CurvePoint, direction_to, turned

LOCATED = 1e-10  # of the distance of two points: to which bifurcations are located between them
JUMP = 1e-3  # of its values at both points: a test function that is larger at its zero jumps there
SIDE = 4  # points on each side of a point where curves meet, through which polynomials are laid
BESIDE = 5e-3  # of the distance of two points: the spacing of these points where curves cross
AROUND = 0.1  # the same where an eigenvalue touches zero, which it does to the second order
NEARLY = 1e-8  # the value of a test function at a zero that polynomials have
FLAT = 0.05  # of the mean slope of a test function between two points: with less at its zero this is not simple
NULL = 1e-6  # of the derivatives beside a crossing: smaller singular values are those of its null space
KINK = 0.1  # of the distance of a point from the tangent at another one: what a cubic through both misses if smooth
STEEP = 0.1  # the least cosine between a tangent and the chord with which a cubic is measured along the chord
DIP = 0.25  # of the slope of the parameter at both ends of a step: with less in between, folds may hide there
NARROW = 1e-3  # of the distance of two points: to which the extreme value of a test function between them is found
NARROWEST = 1e-3  # the least sine of the angle, at the first points, between branches that are told apart
BACK = 1e-8  # the slope at which the parameter runs back; at a cusp it vanishes up to rounding


class _Chord:
    """The points of a curve in planes across the chord of two of them, each predicted from its neighbours."""

    def __init__(self, curve: AbstractCurve, begin: CurvePoint, end: CurvePoint):
        self.curve, self.begin, self.direction = curve, begin, direction_to(begin, end)
        self.points: dict[float, CurvePoint] = {0.0: begin, 1.0: end}

    def at(self, share: float) -> CurvePoint:
        """Return the point at a share of the way; raise `ArithmeticError` if there is none."""
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
        """Return the point at which a test function, or its first derivative, vanishes near a share of the way.

        It is that of polynomials through points on both sides: beside a point where curves meet, corrections have
        large errors. None if these points are not found.
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
    """Return the value at a place of the polynomials through rows at some places."""
    weights = [np.prod((at - np.delete(places, k)) / (places[k] - np.delete(places, k))) for k in range(len(places))]
    return np.asarray(weights) @ rows


def located(curve: AbstractCurve, begin: CurvePoint, end: CurvePoint, test: Any) -> tuple[CurvePoint | None, float]:
    """Return the point between two others at which a test function changes its sign, and its share of the way."""
    return _located(_Chord(curve, begin, end), test)


def crossed(curve: AbstractCurve, begin: CurvePoint, end: CurvePoint, test: Any) -> tuple[CurvePoint | None, float]:
    """Return the same where another curve crosses, for a test function that is smooth there."""
    chord = _Chord(curve, begin, end)
    point, share = _located(chord, test)
    if point is None:  # no correction leads to a point so near to the crossing
        sizes = abs(float(test(begin))), abs(float(test(end)))
        share = sizes[0] / max(sum(sizes), np.finfo(float).tiny)
    found = chord.smooth(share, BESIDE, test, 0)
    if found is None or not abs(test(found[0])) <= NEARLY:
        return point, share
    flat = chord.smooth(share, AROUND, test, 2) if _is_flat(chord, found[1], test) else None
    return found if flat is None or not abs(test(flat[0])) <= NEARLY else flat


def _is_flat(chord: _Chord, share: float, test: Any) -> bool:
    """Return whether a test function changes its sign at a share much slower than on a chord, as a cube does."""
    near = sorted((s for s in chord.points if 0 < s < 1), key=lambda s: abs(s - share))[: 2 * SIDE]
    low, high = min(near), max(near)
    change, whole = (abs(float(test(chord.points[b]) - test(chord.points[a]))) for a, b in ((low, high), (0.0, 1.0)))
    return change <= FLAT * (high - low) * whole


def passes_by(curve: AbstractCurve, begin: CurvePoint, end: CurvePoint) -> bool:
    """Return whether a step leads to another branch that does not cross the first one, but passes it beside a crossing.

    The test function of branch points changes its sign between both points as where curves cross, but where polynomials
    through points on both sides have its zero there is no solution, to the tolerance of the curve.
    """
    test = curve.least_singular
    sizes = abs(curve.singular(begin)), abs(curve.singular(end))
    if 0 in sizes or test(begin) * test(end) > 0:
        return False
    chord = _Chord(curve, begin, end)
    point, share = _located(chord, test)
    found = chord.smooth(share if point is not None else sizes[0] / sum(sizes), BESIDE, test, 0)
    if found is None or abs(test(found[0])) > JUMP * sum(sizes):  # it jumps
        return False
    state, parameter, basis = found[0].state, found[0].parameter, found[0].basis
    at = curve.equations(state, parameter, basis)
    left, stretches, right = np.linalg.svd(np.column_stack([at.J, at.slope]), full_matrices=False)
    kept = stretches > NULL * max(np.linalg.norm(np.column_stack([p.J, p.slope])) for p in (begin, end))
    change = right[kept].T @ (left[:, kept].T @ -at.values / stretches[kept])  # but along the null space
    state, parameter = curve.displaced(state, basis @ change[:-1]), parameter + float(change[-1])
    return curve.equations(state, parameter, curve.basis(state)).size > curve.tolerances[0] * max(at.size, 1.0)


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
    except ArithmeticError:  # at a branch point itself the correction has no one solution, at a pole there is no value
        sizes = {share: abs(float(test(point))) for share, point in chord.points.items()}
        inner = [share for share, size in sizes.items() if 0 < share < 1 and math.isfinite(size)]
        share = min(inner, key=lambda share: sizes[share], default=0.0)
        if not inner or sizes[share] > JUMP * (sizes[0.0] + sizes[1.0]):
            return None, 0.0
    return chord.points[share], share


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

    import scipy.optimize

    least: Any = scipy.optimize.minimize_scalar(size, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-9})
    share = float(least.x)
    found = _Chord(curve, begin, end).smooth(share, AROUND, test, 1)
    point = between(curve, begin, end, share)
    if found is not None and abs(test(found[0])) <= NEARLY:
        return found
    return (begin, 0.0) if point is None else (point, share)


def hidden_sign(
    curve: AbstractCurve, points: list[CurvePoint], values: list[float], k: int, test: Any
) -> list[CurvePoint]:
    """Return a point between the k-th and the next one at which a test function has not the sign that it has at both.

    It is looked for where a parabola through both values and a neighbour's is much nearer to zero in between.
    """
    sign, least = float(np.sign(values[k])), DIP * min(abs(values[k]), abs(values[k + 1]))
    if not any(_dips(points[j : j + 3], values[j : j + 3], k - j, sign, least) for j in (k - 1, k) if j >= 0):
        return []

    def value(share: float) -> float:
        point = between(curve, points[k], points[k + 1], share)
        return math.inf if point is None else sign * float(test(point))

    import scipy.optimize

    lowest: Any = scipy.optimize.minimize_scalar(value, bounds=(0.0, 1.0), method="bounded", options={"xatol": NARROW})
    point = between(curve, points[k], points[k + 1], float(lowest.x)) if lowest.fun < 0 else None
    return [] if point is None else [point]


def _dips(points: list[CurvePoint], values: list[float], k: int, sign: float, least: float) -> bool:
    """Return whether a parabola through three values has its extreme value after the k-th one, near zero or beyond."""
    if len(points) < 3 or sign == 0 or not np.all(np.isfinite(values)):
        return False
    sizes = [float(np.linalg.norm(b.flat - a.flat)) for a, b in itertools.pairwise(points)]
    places = np.array([-sizes[0], 0.0, sizes[1]])
    bend, slope, middle = sign * np.linalg.solve(np.vander(places), values)
    at = -slope / (2 * bend) if bend > 0 else math.inf
    return bool(places[k] < at < places[k + 1] and middle + slope * at / 2 < least)


def _is_beside(curve: AbstractCurve, here: CurvePoint, along: np.ndarray, near: CurvePoint) -> bool:
    """Return whether a point is not on the curve with a tangent at another point, to which it may be nearly parallel.

    That of the curve which lies in the same plane across the tangent is then further from it than errors are.
    """
    away = here.basis.T @ (near.flat - here.flat)[:-1]
    reach = float(np.append(away, near.parameter - here.parameter) @ along)
    same = curve.stepped(here, np.sign(reach) * along, abs(reach)) if reach else None
    return same is not None and float(np.linalg.norm(same.flat - near.flat)) > NARROWEST * abs(reach)


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
