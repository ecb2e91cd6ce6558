"""Locate the bifurcations in a step of a branch: folds and branch points, and crossings of eigenvalues between them."""

import itertools
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from analysis.dynamics.continuation.bifurcations import CRITICAL, Bifurcation
from analysis.dynamics.continuation.curve import CROSSING, SINGULAR, AbstractCurve, CurvePoint, turned
from analysis.dynamics.continuation.locating import (
    JUMP,
    between,
    changes_of_sign,
    crossed,
    least_between,
    located,
    turns_back,
    vanishes_at,
)
from analysis.dynamics.continuation.switching import departures, ways_out
from analysis.dynamics.normal_forms.flows import UNKNOWN, Coefficient, unknown
from dynsim._core.printing import one_line

# Extrapolated minimum of a test function, relative to its neighbours, below which it may touch zero.
TOUCHED = 0.05
# Relative singular value at its minimum that counts as zero, given the error of its location.
ZERO = 1e-8
# Growth of a critical eigenvalue at its zero, relative to its growth at the ends of the step, that counts as zero.
ZEROED = 1e-6
# Number of its errors up to which the growth of a critical eigenvalue counts as zero.
ERRORS = 100
# Largest number of bisections of a step that contains several bifurcations.
HALVINGS = 6


class Meeting(NamedTuple):
    """A fold or a branch point, its point of the curve, and whether an odd number of eigenvalues crosses there."""

    at: Bifurcation
    point: CurvePoint
    is_odd: bool

    __repr__ = one_line


def meetings(curve: AbstractCurve, points: list[CurvePoint], lengths: np.ndarray, least: list[float]) -> list[Meeting]:
    """Locate folds and simple branch points, at which test functions of the curve itself change their sign.

    The branch that leaves a pitchfork turns back at the branch point. This is no fold, and no eigenvalue crosses there.
    """
    ends = lambda pair: (points[pair[0]], points[pair[1]], float(lengths[pair[0]]))
    crossed = [_meeting(curve, *ends(pair), "branch point") for pair in changes_of_sign(least, SINGULAR)]
    found = [one for one in crossed if one is not None]
    sure = [k for k, value in enumerate(least) if abs(value) > CROSSING]  # where the tangent is unique
    for low, high in changes_of_sign([curve.slope(points[k]) for k in sure], 0.0):
        begin, end, length = ends((sure[low], sure[high]))
        size = float(np.linalg.norm(end.flat - begin.flat))
        same = [
            k
            for k, one in enumerate(found)
            if 0 <= one.at.arclength - length <= size
            and vanishes_at(curve, begin, end, (one.at.arclength - length) / size, lambda p: float(p.tangent[-1]))
        ]
        if same:
            found[same[0]] = found[same[0]]._replace(is_odd=False)
        elif fold := _meeting(curve, begin, end, length, "fold"):
            found.append(fold)
    return sorted(found, key=lambda one: one.at.arclength)


def _meeting(curve: AbstractCurve, begin: CurvePoint, end: CurvePoint, length: float, name: str) -> Meeting | None:
    """Locate the fold or the simple branch point between two points."""
    test = (lambda p: float(p.tangent[-1])) if name == "fold" else curve.least_singular
    begin, end = (turned(p, p.tangent, curve.polished(p, p.tangent))[0] for p in (begin, end))
    if test(begin) * test(end) > 0:  # the sign at one of the points was only its error
        return None
    size = float(np.linalg.norm(end.flat - begin.flat))
    point, share = (located if name == "fold" else crossed)(curve, begin, end, test)
    if point is None:
        return None
    if abs(test(point)) > JUMP * (abs(test(begin)) + abs(test(end))):
        if curve.may_have_corners(point):
            name = "corner"
        elif name == "fold" and not turns_back(curve, begin, point, end):  # the tangents have errors
            return None
    if name == "branch point" and not curve.meets(point):
        return None
    away = (end.flat - begin.flat) / size
    where, count = length + share * size, len(curve.crossing(point, away)[1]) if name == "branch point" else 1
    made = Bifurcation(name, point.state, point.parameter, point.values, 0.0, where, away, count)
    return Meeting(with_form(curve, point, made), point, count % 2 == 1)


def with_form(curve: AbstractCurve, point: CurvePoint, at: Bifurcation) -> Bifurcation:
    """Add the coefficient of a bifurcation, and the form of a branch point unless several eigenvalues vanish there."""
    if at.kind != "branch point":
        c = curve.coefficient(at.kind, point, at.frequency)
        return at._replace(coefficient=c.value, natural_size=c.size, unknown=c.why)
    if at.multiplicity > 1:
        return at._replace(form="degenerate", unknown=f"{at.multiplicity} eigenvalues are 0")
    found = curve.branch_form(point)
    c = found.coefficient
    return at._replace(form=found.kind, coefficient=c.value, natural_size=c.size, unknown=found.why)


def touching_points(
    curve: AbstractCurve, three: list[CurvePoint], values: list[float], length: float
) -> list[Bifurcation]:
    """Locate a branch point between successive points at which an eigenvalue touches zero without crossing it.

    It counts only if other solutions leave it. The given test function is smallest at the middle point.
    """
    before, here, after = values
    if not (abs(here) <= min(abs(before), abs(after)) and before * after > 0):
        return []
    places = [float(np.linalg.norm(point.flat - three[1].flat)) for point in three]
    if places[0] * places[2] == 0:
        return []
    a, b, _ = np.linalg.solve(np.vander([-places[0], 0.0, places[2]], 3), [before, here, after])
    if not a * before > 0 or abs(here - b**2 / (4 * a)) > TOUCHED * min(abs(before), abs(after)):
        return []
    point, share = least_between(curve, (three[0], three[2]), curve.least_singular)
    if abs(curve.least_singular(point)) > ZERO or not curve.meets(point):
        return []
    away = three[2].flat - three[0].flat
    size = float(np.linalg.norm(away))
    along, across = curve.crossing(point, away / size)
    ways = [way for row in across for sign in (1, -1) for way in ways_out(along, sign * row, touches=True)]
    if all(next(departures(curve, point, along, way, size), None) is None for way in ways):
        return []
    where = length + share * (places[0] + places[2])
    made = Bifurcation("branch point", point.state, point.parameter, point.values, 0.0, where, away / size, 0)
    return [with_form(curve, point, made)]


class StepPlace(NamedTuple):
    """A point in a step, how many eigenvalues grow before and after it, and the parity of the larger ones after it.

    Larger real eigenvalues are those above the one at which solutions meet: 0 for a flow, 1 for a map.
    """

    point: CurvePoint
    length: float
    before: int
    after: int
    parity: int = 0


class PartOfBranch(NamedTuple):
    """A part of a branch between two places, with the folds and branch points that are known in it.

    `neutral` says that eigenvalues at its ends neither grow nor decay, and `sure` that no further folds and branch
    points are looked for.
    """

    begin: StepPlace
    end: StepPlace
    known: list[Meeting]
    neutral: bool
    sure: bool


def in_step(curve: AbstractCurve, step: PartOfBranch) -> list[Bifurcation]:
    """Locate the further bifurcations in a step, on both sides of each fold and branch point that is known in it."""
    last = step.end.before
    places = [step.begin._replace(parity=_parity(curve, step.begin.point.values))]
    for one in step.known:
        places.append(_passed(curve, one, places[-1], last, step.neutral))
    pairs = itertools.pairwise([*places, step.end])
    return [b for pair in pairs for b in _crossings(curve, *pair, HALVINGS, known=step.sure)]


def _passed(curve: AbstractCurve, one: Meeting, before: StepPlace, last: int, neutral: bool) -> StepPlace:
    """Count the growing eigenvalues on both sides of a fold or a branch point.

    Where one real eigenvalue crosses, the parity of the larger ones before the point is that after the previous place,
    since all points at which it changes are known. Where several cross, or some are `neutral` along the curve, as many
    are assumed to grow as in the neighbourhood.
    """
    if one.at.kind == "corner":  # the eigenvalues jump
        return StepPlace(one.point, one.at.arclength, before.after, last)
    others = one.point.values[np.argsort(np.abs(one.point.values - curve.meeting))[one.at.multiplicity :]]
    rest, parity = int(np.sum(curve.growth(others) > 0)), _parity(curve, others)
    if neutral or one.at.multiplicity != 1:
        counts = [int(np.clip(count - rest, 0, one.at.multiplicity)) for count in (before.after, last)]
    else:
        counts = [(before.parity - parity) % 2, (before.parity - parity + one.is_odd) % 2]
    after = (parity + counts[1]) % 2
    return StepPlace(one.point, one.at.arclength, rest + counts[0], rest + counts[1], after)


def _parity(curve: AbstractCurve, values: np.ndarray) -> int:
    """Compute whether the number of real eigenvalues above the one at which solutions meet is odd."""
    return int(np.sum(np.real(values) > curve.meeting)) % 2  # complex ones come in pairs


def _crossings(
    curve: AbstractCurve, one: StepPlace, other: StepPlace, halvings: int, *, known: bool
) -> list[Bifurcation]:
    """Locate bifurcations where the number of growing eigenvalues changes between two places.

    `known` says that all folds and branch points nearby are known.
    """
    begin, end, length = one.point, other.point, one.length
    low, high = sorted((one.after, other.before))
    if low == high:
        return []
    rise = 1 if other.before == high else -1
    growth = lambda point: np.sort(curve.growth(point.values))[::-1][low:high]
    mean = lambda point: float(np.mean(growth(point)))
    size = float(np.linalg.norm(end.flat - begin.flat))
    signs = {id(begin): -rise, id(end): rise}
    # at a known bifurcation these eigenvalues may be zero up to their error
    zeros = [p for p in (begin, end) if signs[id(p)] * mean(p) <= float(np.max(curve.neutral(p)))]
    largest = max([abs(mean(p)) for p in (begin, end) if not any(p is zero for zero in zeros)], default=1.0)

    def test(point: CurvePoint) -> float:
        """Average the growth of the eigenvalues that cross, divided by the distances from known zeros at the ends."""
        if id(point) in signs:
            return signs[id(point)] * largest
        shares = [float(np.linalg.norm(point.flat - zero.flat)) / size for zero in zeros]
        return mean(point) / max(math.prod(shares), float(np.finfo(float).tiny))

    point, share = located(curve, begin, end, test)
    if point is None:
        return []
    order = np.argsort(-curve.growth(point.values), kind="stable")
    critical = point.values[order[low:high]]
    error = float(np.max(np.broadcast_to(curve.neutral(point), len(order))[order[low:high]]))
    bound = ZEROED * max(float(np.max(np.abs(growth(p)))) for p in (begin, end)) + ERRORS * error
    apart = float(np.max(np.abs(curve.growth(critical)))) > bound  # several bifurcations in one step
    if apart and (abs(mean(point)) > bound or not halvings):
        return []  # the eigenvalues jump, or one hides another
    if apart:
        if not 0.01 < share < 0.99:
            share, middle = 0.5, between(curve, begin, end, 0.5)
            if middle is None:
                return []
            point = middle
        place = StepPlace(point, length + share * size, *[curve.growing(point)] * 2)
        pairs = ((one, place), (place, other))
        return [b for pair in pairs for b in _crossings(curve, *pair, halvings - 1, known=known)]
    first = complex(critical[0])
    # a neutral eigenvalue may take the place of one that crosses
    if min(curve.zeros(begin), curve.zeros(end)):
        small = point.values[np.abs(curve.growth(point.values)) <= np.fmax(bound, curve.neutral(point))]
        named = (complex(v) for v in small if curve.name(_cleaned(curve, point, (begin, end), complex(v))))
        first = next(named, first)
    first = _cleaned(curve, point, (begin, end), first)
    name, frequency = curve.name(first), abs(float(np.angle(first) if curve.meeting and first.imag else first.imag))
    if not name and known:
        return []
    where, away = length + share * size, (end.flat - begin.flat) / size
    alone = high - low == (2 if frequency else 1)
    if not name:  # where one eigenvalue crosses zero but no curves cross, the parameter turns back, if only slightly
        crossed = not alone or curve.singular(begin) * curve.singular(end) <= 0
        if not crossed and min(abs(curve.least_singular(p)) for p in (begin, end)) <= CROSSING:
            return []  # beside a branch point, where the error of the points moves the eigenvalue
        name = "branch point" if crossed else "fold"
    if alone or name == "fold":
        c = _coefficient(curve, name, (begin, point, end), frequency, mean)
    else:
        c = UNKNOWN if name == "branch point" else unknown(f"{high - low} eigenvalues cross together")
    made = Bifurcation(name, point.state, point.parameter, point.values, frequency, where, away, high - low, *c)
    return [with_form(curve, point, made) if name == "branch point" else made]


def _cleaned(curve: AbstractCurve, point: CurvePoint, beside: tuple[CurvePoint, ...], value: complex) -> complex:
    """Remove an imaginary part that is rounding error from an eigenvalue of a point between others."""
    return complex(value.real) if curve.is_real((point, *beside), value) else complex(value)


def _coefficient(
    curve: AbstractCurve,
    name: str,
    three: tuple[CurvePoint, CurvePoint, CurvePoint],
    frequency: float,
    test: Callable[[CurvePoint], float],
) -> Coefficient:
    """Compute the normal form coefficient at the middle one of three points, where a test function vanishes."""
    begin, point, end = three
    if name == "fold":
        return curve.coefficient(name, point, 0.0)
    side = max(begin, end, key=lambda point: abs(test(point)))
    found = _in_natural_size(curve, name, (point, side), frequency, abs(test(side)))
    if name in CRITICAL and not math.isfinite(found.value) and not found.why:
        return unknown("a derivative of the field is not finite there")
    return found


def _in_natural_size(
    curve: AbstractCurve, name: str, points: tuple[CurvePoint, CurvePoint], frequency: float, growth: float
) -> Coefficient:
    """Compute the coefficient at the first of two points, with the larger of two estimates of its natural size.

    One is the size of its terms at the point. The other is their change towards the second point, extrapolated to where
    the growth equals the frequency of a Hopf point, or one for multipliers. It is needed for coefficients that vanish
    together with all of their terms.
    """
    here, beside = (curve.coefficient(name, point, frequency) for point in points)
    change = abs(beside.size - here.size) * (frequency if name == "Hopf point" else 1.0) / growth
    return here._replace(size=float(np.fmax(here.size, change)))
