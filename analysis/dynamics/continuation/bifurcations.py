"""Bifurcations on a branch: their search between its points, their normal forms, and their change of units."""

import itertools
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Complex, Float

from analysis.dynamics.continuation.curve import CROSSING, SINGULAR, AbstractCurve, CurvePoint, Moving, turned
from analysis.dynamics.continuation.hidden import Eigenpaths, SpectrumAt, certain, intervals
from analysis.dynamics.continuation.locating import (
    JUMP,
    between,
    changes_of_sign,
    crossed,
    least_between,
    located,
    tangent_between,
    turns_back,
    vanishes_at,
)
from analysis.dynamics.continuation.orbit_curve import Cycle, flat_sizes, moved_states, unit_of_eigenvalues
from analysis.dynamics.continuation.switching import departures, ways_out
from analysis.dynamics.normal_forms.flows import UNKNOWN, Coefficient
from analysis.dynamics.scaling.flat import flat_state
from analysis.dynamics.scaling.units import Units
from dynsim._core.printing import one_line, printed
from dynsim._core.types import State

CRITICAL = {"Hopf point": -1, "Neimark-Sacker point": -1, "period doubling": 1, "pitchfork": -1}
"""Sign of the coefficient for which the new solutions are stable on the centre manifold, by kind; -1 for cycles."""
# Coefficients below this share of their natural size count as zero, so that criticality stays undecided.
DEGENERATE = 1e-8
# Largest relative distance of an angle from that of a strong resonance that counts as resonant.
RESONANT = 1e-6
# Extrapolated minimum of a test function, relative to its neighbours, below which it may touch zero.
TOUCHED = 0.05
# Relative singular value at its minimum that counts as zero, given the error of its location.
ZERO = 1e-8
# Growth of a critical eigenvalue at its zero, relative to its growth at the ends of the step, that counts as zero.
ZEROED = 1e-6
# Number of its errors up to which the growth of a critical eigenvalue counts as zero.
ERRORS = 100
# Distance, relative to the longest step, up to which bifurcations of one kind and frequency are the same.
SAME = 1e-8
# Distance, relative to that of two points, up to which folds and branch points that are found between them are known.
APART = 1e-4
# Width of an interval of the parameter, relative to its range, up to which doubt is not reported.
NARROW = 1e-7
# Largest number of bisections of a step that contains several bifurcations.
HALVINGS = 6


class Bifurcation(NamedTuple):
    """A bifurcation on a branch: its kind, and where.

    At a `fold` the branch turns back in the parameter. At a `branch point` other branches cross it; see `switch`. At a
    `Hopf point` a pair of eigenvalues crosses the imaginary axis at +-i `frequency`. Of maps and periodic orbits, a
    multiplier passes -1 at a `period doubling`, a pair leaves the unit circle at the angles +-`frequency` at a
    `Neimark-Sacker point`. At a `corner` the derivative of the field jumps: it is not smooth there. `multiplicity` is
    the number of eigenvalues that cross, 0 at a branch point where one touches zero. `arclength` is where it lies,
    `direction` that of the branch there, in the ambient coordinates of the state and the parameter.

    `coefficient` is that of the normal form: at a fold c, near which the parameter is that of the fold and c s^2 at the
    distance s; at a Hopf point the first Lyapunov coefficient; of maps also the coefficients of `normal_forms.maps`. Of
    periodic orbits s is the root mean square of the distance over the period; at period doublings and Neimark-Sacker
    points the coefficient is that of u' = c u^3, where u is the same mean of the critical Floquet vector, as in
    MatCont: see `OrbitCurve.coefficient`. It is NaN elsewhere, and where further eigenvalues are critical.
    At a branch point `form` is `pitchfork`, `transcritical` or `degenerate`, or "" where it is not known, and the
    coefficient is that of s^3 or of s^2 in the reduced equation; see `normal_forms.branch_points`.
    `natural_size` is the size of the terms whose sum it is, there or as they change towards where the critical
    eigenvalues grow as fast as they turn; it has the units of the coefficient. `unknown` says why it is NaN where the
    kind of the bifurcation has one, or why the form is degenerate or not known.
    """

    kind: str
    state: State
    parameter: float
    eigenvalues: Complex[np.ndarray, " d"]
    frequency: float
    arclength: float
    direction: Float[np.ndarray, " n"]
    multiplicity: int = 1
    coefficient: float = math.nan
    natural_size: float = math.nan
    unknown: str = ""
    form: str = ""

    __repr__ = one_line

    @property
    def criticality(self) -> str:
        """`supercritical`, `subcritical` or `degenerate` by the sign of the coefficient; "" where it does not decide.

        It decides at Hopf points, period doublings, pitchforks, and Neimark-Sacker points without a strong resonance.
        """
        sign = CRITICAL.get(self.form or self.kind, 0)
        sign = -abs(sign) if isinstance(self.state, Cycle) else sign
        if not sign or not math.isfinite(self.coefficient) or self.resonance:
            return ""
        if abs(self.coefficient) <= DEGENERATE * self.natural_size:
            return "degenerate"
        return "supercritical" if sign * self.coefficient > 0 else "subcritical"

    @property
    def resonance(self) -> int:
        """Order of a strong resonance, 3 or 4, at a Neimark-Sacker point with angle 2 pi / 3 or pi / 2; 0 otherwise."""
        if self.kind != "Neimark-Sacker point":
            return 0
        return next((k for k in (3, 4) if abs(k * self.frequency / (2 * math.pi) - 1) <= RESONANT), 0)

    @property
    def title(self) -> str:
        """Kind in full, such as `supercritical Hopf point`, `subcritical pitchfork` or `transcritical bifurcation`."""
        name = {"pitchfork": "pitchfork", "transcritical": "transcritical bifurcation"}.get(self.form, self.kind)
        return f"{self.form if self.form == 'degenerate' else self.criticality} {name}".strip()

    def __str__(self) -> str:
        """Describe the kind, the parameter value, and the criticality or the resonance."""
        return self.sized(1.0)

    def sized(self, size: float) -> str:
        """Describe the bifurcation in one line; a value that is tiny for a parameter of this size prints as 0."""
        said = f"strong resonance 1:{self.resonance}" if self.resonance else self.criticality or self.unknown
        if self.form:
            said = f"{self.form}: {self.unknown}" if self.unknown else f"{self.criticality} {self.form}".strip()
        return f"{self.kind} at {printed(self.parameter, size)}" + (f" ({said})" if said else "")


def find_bifurcations(
    curve: AbstractCurve, points: list[CurvePoint], lengths: np.ndarray, least: list[float]
) -> tuple[list[Bifurcation], list[tuple[float, float]]]:
    """Locate all bifurcations between successive points and at points, given their least singular values.

    The second result lists intervals of the parameter in which further ones may hide.
    """
    meetings = _meetings(curve, points, lengths, least)
    curve.prepare(points)
    neutral = [curve.neutral(point) for point in points]
    growths = [curve.growth(point.values) for point in points]
    zeros = [int(np.sum(np.abs(growth) <= least)) for growth, least in zip(growths, neutral, strict=True)]
    growing = [int(np.sum(growth > least)) for growth, least in zip(growths, neutral, strict=True)]
    counts = _known_at_ends(growing, zeros)
    at = [0 < k < len(points) - 1 and zeros[k] > max(zeros[k - 1], zeros[k + 1]) for k in range(len(points))]
    steps: list[_PartOfBranch] = []
    spans: list[tuple[int, int]] = []
    for k in range(1, len(points)):
        if at[k] or not len(points[k].values):  # solutions of boundary value problems have none
            continue
        begin = k - 2 if at[k - 1] else k - 1  # a crossing at a point is searched between its neighbours
        low, high = float(lengths[begin]), float(lengths[k])
        known = [one for one in meetings if low <= one.at.arclength < high]
        first, last = (_Place(points[j], float(lengths[j]), *[counts[j]] * 2) for j in (begin, k))
        steps.append(_PartOfBranch(first, last, known, bool(zeros[begin] or zeros[k]), bool(known)))
        spans.append((begin, k))
    found = [_in_step(curve, step) for step in steps]
    all_found = [one.at for one in meetings] + [b for one in found for b in one]
    touching: list[Bifurcation] = []
    for k in range(1, len(points) - 1):
        if not _within(all_found, float(lengths[k - 1]), float(lengths[k + 1] - lengths[k - 1])):
            touching += _touching(curve, points[k - 1 : k + 2], least[k - 1 : k + 2], float(lengths[k - 1]))
    sizes = np.diff(lengths).tolist()
    near_points = zip(points, lengths.tolist(), [*sizes, *sizes[-1:]], neutral, strict=False)  # none without steps
    beside = _samples(curve, list(near_points))
    clear = certain(curve, beside, np.array([point.flat for point in points]))
    completed: list[tuple[list[Bifurcation], list[tuple[float, float]]]] = []
    for step, (begin, k), one in zip(steps, spans, found, strict=True):
        inside = one or step.known or _within(touching, step.begin.length, step.end.length - step.begin.length)
        sure = not inside and k == begin + 1 and clear[begin]
        completed.append(([], []) if sure else _completed(curve, step, one, beside, touching))
    all_found = [one.at for one in meetings] + touching + [b for one, _ in completed for b in one]
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


class _Meeting(NamedTuple):
    """A fold or a branch point, its point of the curve, and whether an odd number of eigenvalues crosses there."""

    at: Bifurcation
    point: CurvePoint
    is_odd: bool


def _meetings(
    curve: AbstractCurve, points: list[CurvePoint], lengths: np.ndarray, least: list[float]
) -> list[_Meeting]:
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


def _meeting(curve: AbstractCurve, begin: CurvePoint, end: CurvePoint, length: float, name: str) -> _Meeting | None:
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
    if name == "branch point":
        at = _with_form(curve, point, made)
    else:
        c = curve.coefficient(name, point, 0.0)
        at = made._replace(coefficient=c.value, natural_size=c.size, unknown=curve.unknown(name, point))
    return _Meeting(at, point, count % 2 == 1)


def _with_form(curve: AbstractCurve, point: CurvePoint, at: Bifurcation) -> Bifurcation:
    """Add the normal form of a branch point, unless several eigenvalues vanish there."""
    if at.multiplicity > 1:
        return at._replace(form="degenerate", unknown=f"{at.multiplicity} eigenvalues are 0")
    found = curve.branch_form(point)
    c = found.coefficient
    return at._replace(form=found.kind, coefficient=c.value, natural_size=c.size, unknown=found.why)


def _touching(curve: AbstractCurve, three: list[CurvePoint], values: list[float], length: float) -> list[Bifurcation]:
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
    return [_with_form(curve, point, made)]


class _Place(NamedTuple):
    """A point in a step, how many eigenvalues grow before and after it, and the parity of the larger ones after it.

    Larger real eigenvalues are those above the one at which solutions meet: 0 for a flow, 1 for a map.
    """

    point: CurvePoint
    length: float
    before: int
    after: int
    parity: int = 0


class _PartOfBranch(NamedTuple):
    """A part of a branch between two places, with the folds and branch points that are known in it.

    `neutral` says that eigenvalues at its ends neither grow nor decay, and `sure` that no further folds and branch
    points are looked for.
    """

    begin: _Place
    end: _Place
    known: list[_Meeting]
    neutral: bool
    sure: bool


def _in_step(curve: AbstractCurve, step: _PartOfBranch) -> list[Bifurcation]:
    """Locate the further bifurcations in a step, on both sides of each fold and branch point that is known in it."""
    last = step.end.before
    places = [step.begin._replace(parity=_parity(curve, step.begin.point.values))]
    for one in step.known:
        places.append(_passed(curve, one, places[-1], last, step.neutral))
    pairs = itertools.pairwise([*places, step.end])
    return [b for pair in pairs for b in _crossings(curve, *pair, HALVINGS, known=step.sure)]


def _completed(
    curve: AbstractCurve,
    step: _PartOfBranch,
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


def _sample_at(curve: AbstractCurve, at: Bifurcation, step: _PartOfBranch, *, touches: bool) -> SpectrumAt:
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
    parts: list[tuple[_PartOfBranch, list[Bifurcation]]],
    where: float,
    placed: Callable[[np.ndarray], float],
) -> list[tuple[_PartOfBranch, list[Bifurcation]]]:
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
    middle = _Place(point, placed(point.flat), *[curve.growing(point)] * 2)
    where = middle.length
    before, after = ([b for b in found if (b.arclength < where) == side] for side in (True, False))
    inside = [[one for one in known if (one.at.arclength < where) == side] for side in (True, False)]
    pairs = ((begin, middle), (middle, end))
    all_known = [other for one, _ in parts for other in one.known]
    new = [[] if one else _further(curve, pair, all_known) for one, pair in zip(inside, pairs, strict=True)]
    inside = [
        one or [m._replace(at=_moved_to(m.at, placed)) for m in more] for one, more in zip(inside, new, strict=True)
    ]
    halves = [_PartOfBranch(*pair, one, neutral, sure or bool(one)) for one, pair in zip(inside, pairs, strict=True)]
    expected = [
        *([] if before or halves[0].known else [begin.after]),
        *([] if after or halves[1].known else [end.before]),
    ]
    if expected and all(count == middle.before for count in expected):
        made = [(halves[0], before), (halves[1], after)]
    else:
        made = [(half, [_moved_to(b, placed) for b in _in_step(curve, half)]) for half in halves]
    return [*parts[:which], *made, *parts[which + 1 :]]


def _moved_to(at: Bifurcation, placed: Callable[[np.ndarray], float]) -> Bifurcation:
    return at._replace(arclength=placed(np.append(flat_state(at.state), at.parameter)))


def _further(curve: AbstractCurve, ends: tuple[_Place, _Place], known: list[_Meeting]) -> list[_Meeting]:
    """Locate folds and simple branch points between two places in a step, apart from those that are known in it."""
    points, lengths = [one.point for one in ends], np.array([one.length for one in ends])
    found = _meetings(curve, points, lengths, [curve.least_singular(point) for point in points])
    near = APART * float(np.linalg.norm(points[1].flat - points[0].flat))
    return [one for one in found if all(np.linalg.norm(one.point.flat - other.point.flat) > near for other in known)]


def _passed(curve: AbstractCurve, one: _Meeting, before: _Place, last: int, neutral: bool) -> _Place:
    """Count the growing eigenvalues on both sides of a fold or a branch point.

    Where one real eigenvalue crosses, the parity of the larger ones before the point is that after the previous place,
    since all points at which it changes are known. Where several cross, or some are `neutral` along the curve, as many
    are assumed to grow as in the neighbourhood.
    """
    if one.at.kind == "corner":  # the eigenvalues jump
        return _Place(one.point, one.at.arclength, before.after, last)
    others = one.point.values[np.argsort(np.abs(one.point.values - curve.meeting))[one.at.multiplicity :]]
    rest, parity = int(np.sum(curve.growth(others) > 0)), _parity(curve, others)
    if neutral or one.at.multiplicity != 1:
        counts = [int(np.clip(count - rest, 0, one.at.multiplicity)) for count in (before.after, last)]
    else:
        counts = [(before.parity - parity) % 2, (before.parity - parity + one.is_odd) % 2]
    after = (parity + counts[1]) % 2
    return _Place(one.point, one.at.arclength, rest + counts[0], rest + counts[1], after)


def _parity(curve: AbstractCurve, values: np.ndarray) -> int:
    """Compute whether the number of real eigenvalues above the one at which solutions meet is odd."""
    return int(np.sum(np.real(values) > curve.meeting)) % 2  # complex ones come in pairs


def _crossings(curve: AbstractCurve, one: _Place, other: _Place, halvings: int, *, known: bool) -> list[Bifurcation]:
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
        place = _Place(point, length + share * size, *[curve.growing(point)] * 2)
        pairs = ((one, place), (place, other))
        return [b for pair in pairs for b in _crossings(curve, *pair, halvings - 1, known=known)]
    first = complex(critical[0])
    # a neutral eigenvalue may take the place of one that crosses
    if min(curve.zeros(begin), curve.zeros(end)):
        small = point.values[np.abs(curve.growth(point.values)) <= np.fmax(bound, curve.neutral(point))]
        named = (complex(v) for v in small if curve.name(_cleaned(curve, point, (begin, end), complex(v))))
        first = next(named, first)
    first = _cleaned(curve, point, (begin, end), first)
    name, frequency = curve.name(first), _frequency(first, float(np.abs(first)), curve)
    if not name and known:
        return []
    where, away = length + share * size, (end.flat - begin.flat) / size
    alone = high - low == (2 if frequency else 1)
    if not name:  # where one eigenvalue crosses zero but no curves cross, the parameter turns back, if only slightly
        crossed = not alone or curve.singular(begin) * curve.singular(end) <= 0
        if not crossed and min(abs(curve.least_singular(p)) for p in (begin, end)) <= CROSSING:
            return []  # beside a branch point, where the error of the points moves the eigenvalue
        name = "branch point" if crossed else "fold"
    c = _coefficient(curve, name, (begin, point, end), frequency, mean) if alone or name == "fold" else UNKNOWN
    why = curve.unknown(name, point)
    made = Bifurcation(name, point.state, point.parameter, point.values, frequency, where, away, high - low, *c, why)
    return [_with_form(curve, point, made) if name == "branch point" else made]


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
    return _in_natural_size(curve, name, (point, side), frequency, abs(test(side)))


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


def _frequency(critical: complex, modulus: float, curve: AbstractCurve) -> float:
    """Compute the frequency of a Hopf point, or the angle of a pair of multipliers; 0 for real eigenvalues."""
    if not critical.imag:
        return 0.0
    return abs(critical.imag) if curve.name(1j) == "Hopf point" else float(abs(np.angle(critical / modulus)))


def _within(known: list[Bifurcation], begin: float, size: float) -> list[Bifurcation]:
    return [b for b in known if begin <= b.arclength <= begin + size]


def moved_bifurcation(units: Units, at: Bifurcation, power: int = -1) -> Bifurcation:
    """Convert a bifurcation, except its coefficient, to rescaled units, or back with power 1."""
    unit, rate = units.parameters[0] ** power, unit_of_eigenvalues(units, at.state) ** power
    away = at.direction * np.append(flat_sizes(units, at.state), units.parameters[0]) ** power
    return at._replace(
        state=moved_states(units, at.state, power),
        parameter=at.parameter * unit,
        arclength=at.arclength * unit,
        eigenvalues=at.eigenvalues / rate,
        frequency=at.frequency / (rate if at.kind == "Hopf point" else 1.0),
        direction=away / max(float(np.linalg.norm(away)), np.finfo(float).tiny),
    )
