"""Branches of solutions with their stability and bifurcations, and their conversion to other units."""

import itertools
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Complex, Float

from analysis.dynamics.continuation.bifurcations import Bifurcation, moved_bifurcation
from analysis.dynamics.continuation.curve import CROSSING, SINGULAR, AbstractCurve, CurvePoint, turned
from analysis.dynamics.continuation.finding import find_bifurcations
from analysis.dynamics.continuation.marks import Mark, Watched, marks_between
from analysis.dynamics.continuation.orbit_curve import moved_states, unit_of_eigenvalues
from analysis.dynamics.scaling.flat import flat_state
from analysis.dynamics.scaling.units import Units
from dynsim._core.printing import one_line, printed, size_of
from dynsim._core.types import State
from dynsim._runtime.blas import in_one_thread
from dynsim.errors import counted
from dynsim.notebook import picture, plot

if TYPE_CHECKING:
    from figures.artists import Artists

BEGINNINGS = ("branch point", "Hopf point", "period doubling")
"""Kinds of bifurcations at which branches begin."""
# Ends of branches that go on beyond them: at bounds, and where a known branch is extended.
OPEN = ("bounds", "")
# Distance of a point beyond the end of a branch, relative to the range of the parameter.
BEYOND = 1e-2
# Distance of a bifurcation from the end of a branch, relative to the longest step, that is its error.
AT_END = 1e-7
# Error of a located bifurcation, relative to the largest parameter, in units of rounding errors: smaller ones are 0.
LOCATED = 100
# Number of errors of a point within which a bifurcation lies at the end of a branch.
CLOSE = 10
# Smallest cosine between the tangents at the end of a branch and beyond it.
STRAIGHT = 0.8
# A branch counts as vertical if the parameter changes by less than this many times the error of its slope.
VERTICAL = 10


class Branch(NamedTuple):
    """Solutions on a curve: states with the points on the first axis, parameters, arclengths and eigenvalues.

    `kinds` are `stable`, `saddle`, `unstable` or `undecided`, `bifurcations` lie in between. `ends` says at both ends
    why the branch ends: `bounds` of the parameter, `closed` curve, `steps` (the cap on points), `corner` (the field is
    not smooth), `lost` (no step however small leads on), `family` (equilibria at one value of the parameter, which may
    go on without end), or the bifurcation at which it begins; a branch of periodic orbits also at an `equilibrium`, at
    the longest `period`, beside a `homoclinic` orbit, or where a stricter solver does not confirm the orbits
    (`accuracy`), or where the field or its derivative is not finite at a state, such as `undefined at (-55, 0.1)`, or
    `stop:` with the name of a function of yours. `isolated` is false if the solutions are not: the derivative is
    singular along the branch. `vertical` says that the parameter does not change along it, up to errors: a family at
    one value.
    `undetermined` lists intervals of the parameter in which eigenvalues change so fast that bifurcations may be missed.
    `notes` say why eigenvalues may be missed there, and where dense matrices are used although the system is large.
    `name` is that of the parameter, `marks` are the zeros of your functions (see `Steps`).

    A bifurcation that lies, up to its error, at an end at the bounds is one of the branch; its arclength is that of the
    end.
    """

    states: State
    parameters: Float[np.ndarray, " points"]
    arclengths: Float[np.ndarray, " points"]
    eigenvalues: Complex[np.ndarray, "points d"]
    kinds: tuple[str, ...]
    bifurcations: tuple[Bifurcation, ...]
    ends: tuple[str, str]
    isolated: bool = True
    vertical: bool = False
    undetermined: tuple[tuple[float, float], ...] = ()
    name: str = "parameter"
    marks: tuple[Mark, ...] = ()
    notes: tuple[str, ...] = ()

    __repr__ = one_line
    _repr_png_ = picture

    def plot(self, ax: Any = None, **options: Any) -> "Artists":
        """Draw a component on the branch against the parameter, or the period of periodic orbits, into axes.

        In given axes your style sheet holds, and a legend is drawn only on request. Without axes, a figure is made in
        the style of `figures`.

        Args:
            ax: axes of matplotlib; without any, a figure is made.
            options: the parts `branches`, `orbits` (periodic orbits, with `parameter`) and `bifurcations`.
                A part is left out by False, and styled by properties of
                matplotlib, `bifurcations={"markersize": 8}`. Also `colour`, `legend`, `labels`, `limits` and `title`,
                which may all be switched off; `component`, a name or an index; `parameter`, with its system, by which
                names, units and the minimum and maximum of periodic orbits are known; `window`, limits of the
                component; properties of the lines, `linewidth=2`.

        Returns:
            The artists of each part by name, such as `drawn.bifurcations`.

        Raises:
            ValueError: for axes of another projection, an unknown option, or a result that holds nothing to draw.
        """
        return plot(self, ax, **options)

    @property
    def places(self) -> tuple[Bifurcation | Mark, ...]:
        """The bifurcations, followed by the marks."""
        return (*self.bifurcations, *self.marks)

    @property
    def beside(self) -> tuple[str, ...]:
        """Stability at the points, except at bifurcations where the branch begins or ends."""
        begin, end = (side in BEGINNINGS for side in self.ends)
        return self.kinds[int(begin) : len(self.kinds) - int(end)]

    def __str__(self) -> str:
        """Describe the number of points, the parameters, the bifurcations and the ends in one line."""
        values = [*self.parameters.tolist(), *(b.parameter for b in self.places)]
        low, high = min(values), max(values)
        size = LOCATED * size_of((low, high))
        last = (0.0, float(self.arclengths[-1]))
        found = [b.sized(size) + ", at the end" * (b.arclength in last) for b in self.bifurcations]
        said = " and ".join(dict.fromkeys(self.ends)) + (
            "" if self.isolated else "; not isolated (a symmetry, or zero modes)"
        )
        said += "; vertical (a family at one value of the parameter)" if self.vertical else ""
        gaps = ", ".join(f"{printed(a, size)} and {printed(b, size)}" for a, b in self.undetermined)
        said += f"; undetermined between {gaps}" if gaps else ""
        said += "".join(f"; {note}" for note in self.notes)
        marks = "".join(f", {mark.sized(size)}" for mark in self.marks)
        points = f"{counted(len(self.kinds), 'point')}, parameter {printed(low, size)} to {printed(high, size)}"
        return f"{points}: {', '.join(found) or 'no bifurcation'}{marks}; ends: {said}"


@in_one_thread
def branch(
    curve: AbstractCurve, points: list[CurvePoint], ends: tuple[str, str], marks: Watched | None = None
) -> Branch:
    """Build a branch from points, and locate bifurcations and marks between them, in the units of the given system.

    Arclengths are in the unit of the parameter.
    """
    lengths = np.append(0.0, np.cumsum(np.linalg.norm(np.diff([p.flat for p in points], axis=0), axis=1)))
    first = int(ends[0] in BEGINNINGS)
    least = [curve.least_singular(point) for point in points]
    after = len(points) - (ends[1] == "period doubling")  # the point at which another branch begins
    found, gaps = _found(curve, points[first:after], lengths[first:after], least[first:after], ends)
    states = jax.tree.map(lambda *parts: np.stack([np.asarray(part) for part in parts]), *[p.state for p in points])
    singular = [abs(value) <= SINGULAR for value in least[first:]]
    parameters = np.array([p.parameter for p in points])
    missed, uncounted, doubts = _uncounted(curve, points, lengths, found)
    kinds = [curve.stable_kind(p) for p in points]
    kinds = tuple("undecided" if k in missed and kind == "stable" else kind for k, kind in enumerate(kinds))
    gaps = [*gaps, *uncounted]
    vertical = is_vertical(curve, parameters, lengths)
    if vertical:  # the parameter turns back by its error
        found = [b for b in found if b.kind not in ("fold", "corner")]
    made = Branch(
        states, parameters, lengths, np.array([p.values for p in points]), kinds, tuple(found), ends,
        isolated=not (len(singular) > 2 and all(singular)), vertical=vertical, undetermined=tuple(gaps),
        name=curve.parameter.name, marks=tuple(marks_between(curve, points, lengths, marks or {})),
        notes=tuple(dict.fromkeys(filter(None, [*doubts, curve.note]))),
    )  # fmt: skip
    return made if curve.units is None else _in_given_units(curve.units, made)


def _uncounted(
    curve: AbstractCurve, points: list[CurvePoint], lengths: np.ndarray, found: list[Bifurcation]
) -> tuple[set[int], list[tuple[float, float]], list[str]]:
    """List the points between successive bifurcations where eigenvalues may be missed, intervals of them, and why.

    The number of growing eigenvalues is the same between bifurcations, so that it is tested at one point of each part.
    """
    ends = [(float(lengths[k]), points[k].parameter) for k in (0, -1)]
    places = sorted([*ends, *((b.arclength, b.parameter) for b in found)])
    missed, gaps, doubts = set(), [], []
    for (low, first), (high, last) in itertools.pairwise(places):
        part = np.flatnonzero((lengths >= low) & (lengths <= high)).tolist()
        if part and (why := curve.doubt(points[part[len(part) // 2]])):
            values = [first, last, *(points[k].parameter for k in part)]
            missed |= {*part}
            gaps.append((min(values), max(values)))
            doubts.append(why)
    return missed, gaps, doubts


def _found(
    curve: AbstractCurve, points: list[CurvePoint], lengths: np.ndarray, least: list[float], ends: tuple[str, str]
) -> tuple[list[Bifurcation], list[tuple[float, float]]]:
    """Locate the bifurcations of a branch, also those at its ends, which are found from a point beyond the end."""
    last = [(float(lengths[k]), points[k]) for k in (0, -1)]
    points, places, least = [*points], lengths.tolist(), [*least]
    for side, sign in ((0, -1), (-1, 1)):
        end, beyond = points[side], None
        if ends[side] in OPEN and (curve.zeros(end) or abs(least[side]) <= CROSSING):
            near = [abs(places[side] - places[side - sign])] if len(points) > 1 else []
            beyond = point_beyond(curve, end, sign, min([*near, BEYOND * (curve.parameter.high - curve.parameter.low)]))
        if beyond is not None:
            index = len(points) if side else 0
            away = float(np.linalg.norm(beyond.flat - end.flat))
            points.insert(index, beyond)
            places.insert(index, places[side] + sign * away)
            least.insert(index, curve.least_singular(beyond))
    found, gaps = find_bifurcations(curve, points, np.array(places), least)
    longest = float(np.max(np.diff(places), initial=0.0))
    kept = []
    for b in found:
        away = [np.append(flat_state(b.state), b.parameter) - point.flat for _, point in last]
        errors = [max(AT_END * longest, CLOSE * curve.tolerances[1] * (1 + abs(point.parameter))) for _, point in last]
        at = [k for k in (0, 1) if float(np.linalg.norm(away[k])) <= errors[k]]
        if at:
            length, point = last[at[0]]
            kept.append(b._replace(arclength=length, parameter=point.parameter))
        elif last[0][0] < b.arclength < last[1][0]:
            kept.append(b)
    low, high = curve.parameter.bounds
    return kept, [(max(a, low), min(b, high)) for a, b in gaps if a < high and b > low]


def point_beyond(curve: AbstractCurve, last: CurvePoint, sign: int, size: float) -> CurvePoint | None:
    """Find a point of a curve beyond its last one, in the direction of a sign along the tangent; None if it fails."""
    along = sign * last.tangent
    found = curve.stepped(last, along, size)
    if found is None:
        return None
    found, cosine = turned(last, last.tangent, found)
    near = float(np.linalg.norm(found.flat - last.flat)) <= 2 * size
    return found if near and cosine > STRAIGHT else None


def cut_at(found: Branch, at: Bifurcation, end: str) -> Branch:
    """Cut a branch at one of its bifurcations, which becomes its last point; `end` says why it ends there."""
    inner = found.arclengths < at.arclength
    ended = lambda rows, last: np.concatenate([rows[inner], np.asarray(last)[None]])
    return found._replace(
        states=jax.tree.map(ended, found.states, at.state),
        parameters=ended(found.parameters, at.parameter),
        arclengths=ended(found.arclengths, at.arclength),
        eigenvalues=ended(found.eigenvalues, at.eigenvalues),
        kinds=(*found.kinds[: int(np.sum(inner))], "undecided"),
        bifurcations=tuple(b for b in found.bifurcations if b.arclength < at.arclength),
        marks=tuple(mark for mark in found.marks if mark.arclength < at.arclength),
        ends=(found.ends[0], end),
    )


def joined(parts: list[Branch], ends: tuple[str, str]) -> Branch:
    """Return branches, each of which begins where the one before ends, as one."""
    found = parts[0]
    for part in parts[1:]:
        length = float(found.arclengths[-1])
        known = {b.kind for b in found.bifurcations if b.arclength == length}  # at the point where both parts meet
        new = (b for b in part.bifurcations if b.arclength > 0 or b.kind not in known)
        moved = tuple(b._replace(arclength=b.arclength + length) for b in new)
        marks = {mark.name for mark in found.marks if mark.arclength == length}
        more = (mark for mark in part.marks if mark.arclength > 0 or mark.name not in marks)
        marked = tuple(mark._replace(arclength=mark.arclength + length) for mark in more)
        join = lambda a, b: np.concatenate([a, b[1:]])
        found = Branch(
            jax.tree.map(join, found.states, part.states), join(found.parameters, part.parameters),
            join(found.arclengths, part.arclengths + length), join(found.eigenvalues, part.eigenvalues),
            found.kinds + part.kinds[1:], found.bifurcations + moved, ends, found.isolated and part.isolated,
            undetermined=found.undetermined + part.undetermined, name=found.name, marks=found.marks + marked,
            notes=tuple(dict.fromkeys(found.notes + part.notes)),
        )  # fmt: skip
    return found._replace(ends=ends)


def is_vertical(curve: AbstractCurve, parameters: np.ndarray, lengths: np.ndarray) -> bool:
    """Test whether the parameter is constant along a branch, up to its errors."""
    return len(lengths) > 2 and bool(np.ptp(parameters) <= VERTICAL * curve.vertical * np.ptp(lengths))


def _in_given_units(units: Units, found: Branch) -> Branch:
    """Convert a branch to the units of the given system, which normal form coefficients already have."""
    unit = units.parameters[0]
    return found._replace(
        states=moved_states(units, found.states, 1),
        parameters=found.parameters * unit,
        arclengths=found.arclengths * unit,
        eigenvalues=found.eigenvalues / unit_of_eigenvalues(units, found.states),
        bifurcations=tuple(moved_bifurcation(units, at, 1) for at in found.bifurcations),
        undetermined=tuple((low * unit, high * unit) for low, high in found.undetermined),
        marks=tuple(
            mark._replace(
                state=moved_states(units, mark.state, 1),
                parameter=mark.parameter * unit,
                arclength=mark.arclength * unit,
                eigenvalues=mark.eigenvalues / unit_of_eigenvalues(units, mark.state),
            )
            for mark in found.marks
        ),  # fmt: skip
    )
