"""Find all bifurcations on a branch, and the intervals of the parameter in which further ones may hide."""

from collections.abc import Callable

import numpy as np

from analysis.dynamics.continuation.bifurcations import Bifurcation
from analysis.dynamics.continuation.crossings import (
    Meeting,
    PartOfBranch,
    StepPlace,
    in_step,
    meetings,
    touching_points,
)
from analysis.dynamics.continuation.curve import AbstractCurve, CurvePoint, Moving
from analysis.dynamics.continuation.hidden import Eigenpaths, SpectrumAt, certain, intervals
from analysis.dynamics.continuation.locating import between, tangent_between
from analysis.dynamics.scaling.flat import flat_state

# Distance, relative to the longest step, up to which bifurcations of one kind and frequency are the same.
SAME = 1e-8
# Distance, relative to that of two points, up to which folds and branch points that are found between them are known.
APART = 1e-4
# Width of an interval of the parameter, relative to its range, up to which doubt is not reported.
NARROW = 1e-7


def find_bifurcations(
    curve: AbstractCurve, points: list[CurvePoint], lengths: np.ndarray, least: list[float]
) -> tuple[list[Bifurcation], list[tuple[float, float]]]:
    """Locate all bifurcations between successive points and at points, given their least singular values.

    The second result lists intervals of the parameter in which further ones may hide.
    """
    met = meetings(curve, points, lengths, least)
    curve.prepare(points)
    neutral = [curve.neutral(point) for point in points]
    found_at = [curve.counts(point.values, least) for point, least in zip(points, neutral, strict=True)]
    zeros = [count for count, _ in found_at]
    counts = _known_at_ends([count for _, count in found_at], zeros)
    at = [0 < k < len(points) - 1 and zeros[k] > max(zeros[k - 1], zeros[k + 1]) for k in range(len(points))]
    steps: list[PartOfBranch] = []
    spans: list[tuple[int, int]] = []
    for k in range(1, len(points)):
        if at[k] or not len(points[k].values):  # solutions of boundary value problems have none
            continue
        begin = k - 2 if at[k - 1] else k - 1  # a crossing at a point is searched between its neighbours
        low, high = float(lengths[begin]), float(lengths[k])
        known = [one for one in met if low <= one.at.arclength < high]
        first, last = (StepPlace(points[j], float(lengths[j]), *[counts[j]] * 2) for j in (begin, k))
        steps.append(PartOfBranch(first, last, known, bool(zeros[begin] or zeros[k]), bool(known)))
        spans.append((begin, k))
    found = [in_step(curve, step) for step in steps]
    all_found = [one.at for one in met] + [b for one in found for b in one]
    touching: list[Bifurcation] = []
    for k in range(1, len(points) - 1):
        if not _within(all_found, float(lengths[k - 1]), float(lengths[k + 1] - lengths[k - 1])):
            touching += touching_points(curve, points[k - 1 : k + 2], least[k - 1 : k + 2], float(lengths[k - 1]))
    sizes = np.diff(lengths).tolist()
    near_points = zip(points, lengths.tolist(), [*sizes, *sizes[-1:]], neutral, strict=False)  # none without steps
    beside = _samples(curve, list(near_points))
    clear = certain(curve, beside, np.array([point.flat for point in points]))
    completed: list[tuple[list[Bifurcation], list[tuple[float, float]]]] = []
    for step, (begin, k), one in zip(steps, spans, found, strict=True):
        inside = one or step.known or _within(touching, step.begin.length, step.end.length - step.begin.length)
        sure = not inside and k == begin + 1 and clear[begin]
        completed.append(([], []) if sure else _completed(curve, step, one, beside, touching))
    all_found = [one.at for one in met] + touching + [b for one, _ in completed for b in one]
    all_found.sort(key=lambda b: b.arclength)
    near = SAME * float(np.max(np.diff(lengths), initial=0.0))
    different = [b for k, b in enumerate(all_found) if not any(_is_same(b, other, near) for other in all_found[:k])]
    return different, [gap for _, gaps in completed for gap in gaps]


def _known_at_ends(counts: list[int], zeros: list[int]) -> list[int]:
    """Replace the numbers of growing eigenvalues of the points at both ends where further ones are neutral.

    Whether these cross is not known, since no point lies beyond: the multiplier of an orbit that shrinks to a Hopf
    point tends to 1, and the curve turns back there.
    """
    sure = [k for k, count in enumerate(zeros) if count == min(zeros)]
    return [counts[min(max(k, sure[0]), sure[-1])] for k in range(len(counts))]


def _is_same(one: Bifurcation, other: Bifurcation, near: float) -> bool:
    """Test whether two bifurcations are one that was found from both sides."""
    frequencies = abs(one.frequency - other.frequency) <= SAME * abs(one.frequency)
    return one.kind == other.kind and abs(one.arclength - other.arclength) <= near and frequencies


def _completed(
    curve: AbstractCurve,
    step: PartOfBranch,
    found: list[Bifurcation],
    beside: list[SpectrumAt],
    touching: list[Bifurcation],
) -> tuple[list[Bifurcation], list[tuple[float, float]]]:
    """Search a step for bifurcations that the eigenvalues at its ends do not show, until there is no doubt.

    Points are added where the growth of an eigenvalue may vanish unnoticed (see `hidden.doubtful`). The second result
    lists intervals of the parameter where doubt remains.

    Args:
        curve: the equations.
        step: the step.
        found: bifurcations that are known in it, beside folds and branch points.
        beside: eigenvalues at all points of the branch.
        touching: branch points on the branch at which an eigenvalue touches zero.
    """
    if any(one.at.kind == "corner" for one in step.known):  # the eigenvalues jump
        return found, []
    paths, low, high = Eigenpaths(curve), step.begin.length, step.end.length
    outside = [one for one in beside if not low < one.length < high]
    outside = [*[one for one in outside if one.length <= low][-3:], *[one for one in outside if one.length >= high][:3]]
    parts, left = [(step, found)], curve.most_added
    touching = [b for b in touching if low <= b.arclength <= high]
    chord = step.end.point.flat - step.begin.point.flat
    double = {b.arclength for b in (*touching, *(one.at for one in step.known if not one.is_odd))}
    placed = lambda flat: low + (high - low) * float((flat - step.begin.point.flat) @ chord) / float(chord @ chord)
    made: dict[float, SpectrumAt] = {}
    full: set[float] = set()  # beginnings of parts in which no point can be added
    while True:
        known = [b for one, inner in parts for b in (*inner, *(other.at for other in one.known))]
        for place in (one.end for one, _ in parts[:-1]):
            if place.length not in made:
                given = place.point, place.length, high - low, curve.neutral(place.point)
                made[place.length] = _samples(curve, [given])[0]
        for b in (*known, *touching):
            if b.arclength not in made:
                made[b.arclength] = _sample_at(curve, b, step, touches=b.arclength in double)
        inner = {*(one.end.length for one, _ in parts[:-1]), *(b.arclength for b in (*known, *touching))}
        samples = sorted([*outside, *(made[length] for length in inner)], key=lambda one: one.length)
        inside = [k for k, one in enumerate(samples[:-1]) if low <= one.length < high]
        places = [(k, paths.doubtful(samples, k, chord)) for k in inside]
        doubts = [(samples[k], samples[k + 1], share) for k, share in places if share is not None]
        pending = [doubt for doubt in doubts if doubt[0].length not in full]
        if not pending or not left:
            least = NARROW * (curve.parameter.high - curve.parameter.low)
            gaps = intervals(samples, [k for k, share in places if share is not None])
            new = [other.at for one, _ in parts for other in one.known if all(other is not own for own in step.known)]
            inner = [b for _, inner in parts for b in inner]
            return [*new, *inner], [gap for gap in gaps if gap[1] - gap[0] > least]
        begin, end, share = max(pending, key=lambda doubt: doubt[1].length - doubt[0].length)
        before, left = parts, left - 1
        parts = _split(curve, parts, begin.length + share * (end.length - begin.length), placed)
        full |= {begin.length} if parts is before else set()


def _samples(
    curve: AbstractCurve, near_points: list[tuple[CurvePoint, float, float, np.ndarray | float]]
) -> list[SpectrumAt]:
    """Collect the eigenvalues at points with their arclengths, and their derivatives.

    Each point comes with the length of a step beside it, and the growth below which its eigenvalues are neutral.
    """
    tangents: list[np.ndarray] = [point.flat_tangent for point, *_ in near_points]
    rates: list[np.ndarray | None] = [None] * len(near_points)
    if curve.differentiated:
        moving = [
            Moving(point.state, point.parameter, point.values, tangent, size)
            for (point, _, size, _), tangent in zip(near_points, tangents, strict=True)
        ]
        rates = curve.rates(moving)
    return [
        SpectrumAt(length, point.values, point.parameter, neutral, tangent, rate, curve.apart * size)
        for (point, length, size, neutral), tangent, rate in zip(near_points, tangents, rates, strict=True)
    ]


def _sample_at(curve: AbstractCurve, at: Bifurcation, step: PartOfBranch, *, touches: bool) -> SpectrumAt:
    """Collect the eigenvalues at a bifurcation in a step, and their derivatives along the branch.

    At a branch point the equations do not decide on the tangent, so that it is interpolated. Where an eigenvalue only
    touches zero, derivatives by an inexact tangent would let it cross, and are left out.
    """
    rates, size = None, step.end.length - step.begin.length
    tangent = tangent_between(step.begin.point, step.end.point, (at.arclength - step.begin.length) / size)
    if curve.differentiated and not touches:
        (rates,) = curve.rates([Moving(at.state, at.parameter, at.eigenvalues, tangent, size)])
    neutral = curve.vanishing(at.eigenvalues)
    return SpectrumAt(at.arclength, at.eigenvalues, at.parameter, neutral, tangent, rates, curve.apart * size, touches)


def _split(
    curve: AbstractCurve,
    parts: list[tuple[PartOfBranch, list[Bifurcation]]],
    where: float,
    placed: Callable[[np.ndarray], float],
) -> list[tuple[PartOfBranch, list[Bifurcation]]]:
    """Add a point near an arclength to a step, and search both sides of it if that shows more crossings.

    It does if the number of growing eigenvalues is not that expected from the ends of the step, or if test functions of
    folds and branch points change their sign. `placed` gives the arclength of a place in the step.
    """
    which = next(k for k, (one, _) in enumerate(parts) if one.begin.length <= where <= one.end.length)
    step, found = parts[which]
    begin, end, known, neutral, sure = step
    point = between(curve, begin.point, end.point, (where - begin.length) / (end.length - begin.length))
    if point is None or curve.zeros(point) > min(curve.zeros(begin.point), curve.zeros(end.point)):
        return parts  # the signs of eigenvalues are unknown there
    middle = StepPlace(point, placed(point.flat), *[curve.growing(point)] * 2)
    where = middle.length
    before, after = ([b for b in found if (b.arclength < where) == side] for side in (True, False))
    inside = [[one for one in known if (one.at.arclength < where) == side] for side in (True, False)]
    pairs = ((begin, middle), (middle, end))
    all_known = [other for one, _ in parts for other in one.known]
    new = [[] if one else _further(curve, pair, all_known) for one, pair in zip(inside, pairs, strict=True)]
    inside = [
        one or [m._replace(at=_moved_to(m.at, placed)) for m in more] for one, more in zip(inside, new, strict=True)
    ]
    halves = [PartOfBranch(*pair, one, neutral, sure or bool(one)) for one, pair in zip(inside, pairs, strict=True)]
    expected = [
        *([] if before or halves[0].known else [begin.after]),
        *([] if after or halves[1].known else [end.before]),
    ]
    if expected and all(count == middle.before for count in expected):
        made = [(halves[0], before), (halves[1], after)]
    else:
        made = [(half, [_moved_to(b, placed) for b in in_step(curve, half)]) for half in halves]
    return [*parts[:which], *made, *parts[which + 1 :]]


def _moved_to(at: Bifurcation, placed: Callable[[np.ndarray], float]) -> Bifurcation:
    return at._replace(arclength=placed(np.append(flat_state(at.state), at.parameter)))


def _further(curve: AbstractCurve, ends: tuple[StepPlace, StepPlace], known: list[Meeting]) -> list[Meeting]:
    """Locate folds and simple branch points between two places in a step, apart from those that are known in it."""
    points, lengths = [one.point for one in ends], np.array([one.length for one in ends])
    found = meetings(curve, points, lengths, [curve.least_singular(point) for point in points])
    near = APART * float(np.linalg.norm(points[1].flat - points[0].flat))
    return [one for one in found if all(np.linalg.norm(one.point.flat - other.point.flat) > near for other in known)]


def _within(known: list[Bifurcation], begin: float, size: float) -> list[Bifurcation]:
    return [b for b in known if begin <= b.arclength <= begin + size]
