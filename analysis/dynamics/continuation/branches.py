"""Branches of solutions with their stability, the bifurcations on them, and their conversion to other units."""

import math
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Complex, Float

from analysis.dynamics.continuation.curve import SINGULAR, AbstractCurve, CurvePoint, turned
from analysis.dynamics.continuation.locating import JUMP, crossed, hidden_sign, least_between, located
from analysis.dynamics.continuation.orbit_curve import REACH, Cycle, OrbitCurve
from analysis.dynamics.continuation.switching import departures, ways_out
from analysis.dynamics.linearisation import index
from analysis.dynamics.normal_forms.flows import UNKNOWN, Coefficient
from analysis.dynamics.scaling.units import Units
from dynsim._core.printing import one_line, printed, size_of
from dynsim._core.types import State

CRITICAL = {"Hopf point": -1, "Neimark-Sacker point": -1, "period doubling": 1}
"""Sign of the coefficient for which the new solutions are stable on the centre manifold, by kind."""
BEGINNINGS = ("branch point", "Hopf point", "period doubling")
"""Kinds of bifurcations at which branches begin."""
# Coefficients below this share of their natural size count as zero, so that criticality stays undecided.
DEGENERATE = 1e-8
# Largest relative distance of an angle from that of a strong resonance that counts as resonant.
RESONANT = 1e-6
# A branch counts as vertical if the parameter changes by less than this many times the error of its slope.
VERTICAL = 10
# Extrapolated minimum of a test function, relative to its neighbours, below which it may touch zero.
TOUCHED = 0.05
# Relative singular value at its minimum that counts as zero, given the error of its location.
ZERO = 1e-8
# Largest number of bisections of a step that contains several bifurcations.
HALVINGS = 6


class Bifurcation(NamedTuple):
    """Bifurcation on a branch: its kind and its location.

    Kinds: at a `fold` the branch turns back in the parameter. At a `branch point` other branches cross it; see
    `switch`. At a `Hopf point` a pair of eigenvalues crosses the imaginary axis at +-i `frequency`. For maps and
    periodic orbits, a multiplier passes -1 at a `period doubling`, and a pair leaves the unit circle at the angles
    +-`frequency` at a `Neimark-Sacker point`. At a `corner` the derivative of the field jumps.

    Attributes:
        kind: the kind.
        state: the solution there.
        parameter: the parameter value.
        eigenvalues: eigenvalues or multipliers there.
        frequency: in radians per time unit, or the angle of a pair of multipliers; 0 at other kinds.
        arclength: position along the branch.
        direction: tangent of the branch, in ambient coordinates of state and parameter.
        multiplicity: number of eigenvalues that cross; 0 at a branch point where one only touches zero.
        coefficient: normal form coefficient. At a fold it is c, with the parameter c s^2 away at the distance s; at a
            Hopf point the first Lyapunov coefficient; for maps and return maps of periodic orbits see
            `normal_forms.maps`. It is NaN for other kinds, and if further eigenvalues are critical.
        natural_size: size of the terms whose sum is the coefficient, in the same unit. It is measured there, or from
            their change towards where the critical eigenvalues grow as fast as they rotate.
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

    __repr__ = one_line

    @property
    def criticality(self) -> str:
        """`supercritical`, `subcritical` or `degenerate` by the sign of the coefficient; "" where it does not decide.

        It decides at Hopf points, period doublings, and Neimark-Sacker points without a strong resonance.
        """
        sign = CRITICAL.get(self.kind, 0)
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
    def _unknown(self) -> str:
        """Why a bifurcation of periodic orbits has no coefficient: a run over the period would multiply errors."""
        largest = float(np.max(np.abs(self.eigenvalues), initial=0.0))
        has = self.kind in ("fold", "period doubling", "Neimark-Sacker point") and isinstance(self.state, Cycle)
        if not has or math.isfinite(self.coefficient) or largest <= REACH:
            return ""
        return f"coefficient unknown: a multiplier of {largest:.2g} exceeds {REACH:g}"

    def __str__(self) -> str:
        """Return the kind, the parameter, and the criticality or the resonance."""
        return self.sized(1.0)

    def sized(self, size: float) -> str:
        """Say the same of a parameter with this size, below a share of which its value is printed as 0."""
        said = f"strong resonance 1:{self.resonance}" if self.resonance else self.criticality or self._unknown
        return f"{self.kind} at {printed(self.parameter, size)}" + (f" ({said})" if said else "")


class Branch(NamedTuple):
    """Branch of solutions with parameters, eigenvalues, stability and bifurcations.

    Attributes:
        states: the solutions, on the first axis of every array.
        parameters: parameter value of each point.
        arclengths: arclength of each point, in the unit of the parameter.
        eigenvalues: eigenvalues or multipliers of each point.
        kinds: `stable`, `saddle`, `unstable` or `undecided` for each point.
        bifurcations: bifurcations between the points.
        ends: why the branch ends at either side: `bounds` of the parameter, `closed` curve, `steps` (the limit on
            points), `corner` (the field is not smooth), `lost` (no step succeeds, however small), or the kind of
            bifurcation where it begins. Branches of periodic orbits also end at an `equilibrium`, at the longest
            `period`, close to a `homoclinic` orbit, or where a stricter solver does not confirm the orbits
            (`accuracy`).
        isolated: false if the derivative is singular along the whole branch, so that solutions are not isolated.
    """

    states: State
    parameters: Float[np.ndarray, " points"]
    arclengths: Float[np.ndarray, " points"]
    eigenvalues: Complex[np.ndarray, "points d"]
    kinds: tuple[str, ...]
    bifurcations: tuple[Bifurcation, ...]
    ends: tuple[str, str]
    isolated: bool = True

    __repr__ = one_line

    @property
    def beside(self) -> tuple[str, ...]:
        """Stability at the points, except at bifurcations where the branch begins or ends."""
        begin, end = (side in BEGINNINGS for side in self.ends)
        return self.kinds[int(begin) : len(self.kinds) - int(end)]

    @property
    def vertical(self) -> bool:
        """Whether the parameter is constant along the branch, up to errors, as for a family at one parameter value."""
        share = VERTICAL * (OrbitCurve if isinstance(self.states, Cycle) else AbstractCurve).vertical
        return len(self.kinds) > 2 and bool(np.ptp(self.parameters) <= share * np.ptp(self.arclengths))

    def __str__(self) -> str:
        """Describe the number of points, the parameters, the bifurcations and the ends in one line."""
        values = [*self.parameters.tolist(), *(b.parameter for b in self.bifurcations)]
        low, high = min(values), max(values)
        size = size_of((low, high))
        found = ", ".join(b.sized(size) for b in self.bifurcations) or "no bifurcation"
        said = " and ".join(dict.fromkeys(self.ends)) + (
            "" if self.isolated else "; not isolated (a symmetry, or zero modes)"
        )
        said += "; vertical (a family at one value of the parameter)" if self.vertical else ""
        return (
            f"{len(self.kinds)} points, parameter {printed(low, size)} to {printed(high, size)}: {found}; ends: {said}"
        )


def branch(curve: AbstractCurve, points: list[CurvePoint], ends: tuple[str, str]) -> Branch:
    """Build a branch from points, with the bifurcations between them."""
    lengths = np.append(0.0, np.cumsum(np.linalg.norm(np.diff([p.flat for p in points], axis=0), axis=1)))
    first = int(ends[0] in BEGINNINGS)
    least = [curve.least_singular(point) for point in points[first:]]
    found = _bifurcations(curve, points[first:], lengths[first:], least)
    states = jax.tree.map(lambda *parts: np.stack([np.asarray(part) for part in parts]), *[p.state for p in points])
    singular = [abs(value) <= SINGULAR for value in least]
    kinds = tuple(curve.stable_kind(p.values) for p in points)
    made = Branch(
        states, np.array([p.parameter for p in points]), lengths, np.array([p.values for p in points]), kinds,
        tuple(found), ends, isolated=not (len(singular) > 2 and all(singular)),
    )  # fmt: skip
    # on a vertical branch the parameter turns back by rounding errors
    real = tuple(b for b in found if b.kind not in ("fold", "corner"))
    return made._replace(bifurcations=real) if made.vertical else made


def _bifurcations(
    curve: AbstractCurve, points: list[CurvePoint], lengths: np.ndarray, least: list[float]
) -> list[Bifurcation]:
    """Locate all bifurcations between successive points and at points, given their least singular values."""
    found: list[Bifurcation] = []
    # last points at which the test functions of fold and branch point had a definite sign
    last: list[int | None] = [None, None]
    slopes = [float(p.tangent[-1]) for p in points]
    signed = [(slopes, curve.vertical), (least, SINGULAR)]
    values = [[value if abs(value) > bound else 0.0 for value in numbers] for numbers, bound in signed]
    zeros = [curve.zeros(point.values) for point in points]
    growths = [np.sort(curve.growth(point.values))[::-1] for point in points]
    at = [0 < k < len(points) - 1 and zeros[k] > max(zeros[k - 1], zeros[k + 1]) for k in range(len(points))]
    for k in range(len(points)):
        here: list[Bifurcation] = []
        for which, name in enumerate(("fold", "branch point")):
            if values[which][k] == 0:
                continue
            before, last[which] = last[which], k
            if before is None or k - before > 2 or values[which][before] * values[which][k] > 0:
                continue
            here += _simple(curve, points[before], points[k], float(lengths[before]), which, name)
        if k and not at[k]:
            begin = k - 2 if at[k - 1] else k - 1  # a crossing at a point is searched between its neighbours
            length = float(lengths[begin])
            known = here + (_within(found, length, float(lengths[k]) - length) if at[k - 1] else [])
            beside = _crossings(curve, points[begin], points[k], length, known, HALVINGS)
            here += beside or _twice(curve, points, growths, k - 1, float(lengths[k - 1]))
        found += here
    for k in range(1, len(points) - 1):
        if not _within(found, float(lengths[k - 1]), float(lengths[k + 1] - lengths[k - 1])):
            found += _touching(curve, points[k - 1 : k + 2], least[k - 1 : k + 2], float(lengths[k - 1]))
    crossed = [b.arclength for b in found if b.kind == "branch point"]
    near = 1e-4 * max(1e-3, float(np.max(np.diff(lengths), initial=0.0)))
    found = [b for b in found if b.kind != "fold" or all(abs(b.arclength - at) > near for at in crossed)]
    # the crossing branch of a pitchfork turns back at the branch point, which is no fold
    return sorted(found, key=lambda b: b.arclength)


def _simple(
    curve: AbstractCurve, begin: CurvePoint, end: CurvePoint, length: float, which: int, name: str
) -> list[Bifurcation]:
    """Locate the fold or the simple branch point between two points."""
    test = (lambda p: float(p.tangent[-1])) if which == 0 else curve.least_singular
    begin, end = (turned(p, p.tangent, curve.polished(p, p.tangent))[0] for p in (begin, end))
    if test(begin) * test(end) > 0:  # the sign at one of the points was only its error
        return []
    size = float(np.linalg.norm(end.flat - begin.flat))
    point, share = (crossed if which else located)(curve, begin, end, test)
    if point is None:
        return []
    if abs(test(point)) > JUMP * (abs(test(begin)) + abs(test(end))):
        name = "corner"
    away = (end.flat - begin.flat) / size
    where, c = length + share * size, curve.coefficient(name, point, 0.0)
    count = len(curve.crossing(point, away)[1]) if name == "branch point" else 1
    return [Bifurcation(name, point.state, point.parameter, point.values, 0.0, where, away, count, *c)]


def _touching(curve: AbstractCurve, three: list[CurvePoint], values: list[float], length: float) -> list[Bifurcation]:
    """Locate a branch point between successive points at which an eigenvalue touches zero without crossing it.

    It counts only if other solutions leave it. The given test function is smallest at the middle point.
    """
    before, here, after = values
    lowest = abs(here) <= min(abs(before), abs(after)) and before * after > 0
    places = [float(np.linalg.norm(point.flat - three[1].flat)) for point in three]
    if not lowest or places[0] * places[2] == 0:
        return []
    a, b, _ = np.linalg.solve(np.vander([-places[0], 0.0, places[2]], 3), [before, here, after])
    if not a * before > 0 or abs(here - b**2 / (4 * a)) > TOUCHED * min(abs(before), abs(after)):
        return []
    point, share = least_between(curve, (three[0], three[2]), curve.least_singular)
    if abs(curve.least_singular(point)) > ZERO:
        return []
    away = three[2].flat - three[0].flat
    size = float(np.linalg.norm(away))
    along, across = curve.crossing(point, away / size)
    ways = [way for row in across for sign in (1, -1) for way in ways_out(along, sign * row, touches=True)]
    if all(next(departures(curve, point, along, way, size), None) is None for way in ways):
        return []
    where = length + share * (places[0] + places[2])
    return [
        Bifurcation("branch point", point.state, point.parameter, point.values, 0.0, where, away / size, 0, *UNKNOWN)
    ]


def _crossings(
    curve: AbstractCurve, begin: CurvePoint, end: CurvePoint, length: float, known: list[Bifurcation], halvings: int
) -> list[Bifurcation]:
    """Locate bifurcations where the number of growing eigenvalues changes between two points, except known ones."""
    growth = [np.sort(curve.growth(point.values))[::-1] for point in (begin, end)]
    counts = [index(g, tolerance=curve.neutral(p.values)) for g, p in zip(growth, (begin, end), strict=True)]
    low, high = sorted(counts)
    if low == high or (high - low == len(known) and high - low == 1):
        return []
    test = lambda point: float(np.mean(np.sort(curve.growth(point.values))[::-1][low:high]))
    if test(begin) * test(end) >= 0:
        return []
    point, share = located(curve, begin, end, test)
    if point is None:
        return []
    size = float(np.linalg.norm(end.flat - begin.flat))
    critical = point.values[np.argsort(-curve.growth(point.values), kind="stable")[low:high]]
    near = 1e-4 * max(1.0, float(np.max(np.abs(point.values))))
    if float(np.max(np.abs(curve.growth(critical)))) > near:  # several bifurcations in one step
        if abs(test(point)) > near or not halvings or not 0.01 < share < 0.99:
            return []  # the eigenvalues jump, or one hides another
        left = _crossings(curve, begin, point, length, _within(known, length, share * size), halvings - 1)
        rest = _within(known, length + share * size, size)
        return left + _crossings(curve, point, end, length + share * size, rest, halvings - 1)
    real = curve.double * max(float(np.max(np.abs(p.values), initial=0.0)) for p in (begin, point, end))
    # a neutral eigenvalue may take the place of one that crosses
    if min(curve.zeros(begin.values), curve.zeros(end.values)):
        neutral = point.values[np.abs(curve.growth(point.values)) <= near]
        critical = np.append([value for value in neutral if curve.name(_cleaned(value, real))], critical)
    first = _cleaned(critical[0], real)
    name, frequency = curve.name(first), _frequency(first, float(np.abs(first)), curve)
    if not name and known:
        return []
    where, away = length + share * size, (end.flat - begin.flat) / size
    c, alone = UNKNOWN, high - low == (2 if frequency else 1)
    if not name:  # where one eigenvalue crosses zero but no curves cross, the parameter turns back, if only slightly
        crossed = not alone or curve.singular(begin) * curve.singular(end) <= 0
        name = "branch point" if crossed else "fold"
    if name == "fold":
        c = curve.coefficient(name, point, 0.0)
    elif alone:
        side = max(begin, end, key=lambda point: abs(test(point)))
        c = _in_natural_size(curve, name, (point, side), frequency, abs(test(side)))
    return [Bifurcation(name, point.state, point.parameter, point.values, frequency, where, away, high - low, *c)]


def _twice(
    curve: AbstractCurve, points: list[CurvePoint], growths: list[np.ndarray], k: int, length: float
) -> list[Bifurcation]:
    """Locate two bifurcations in one step after which as many eigenvalues grow as before it."""
    begin, end = points[k : k + 2]
    counts = [index(growths[j], tolerance=curve.neutral(points[j].values)) for j in (k, k + 1)]
    if counts[0] != counts[1] or curve.zeros(begin.values) or curve.zeros(end.values):
        return []
    first = max(0, k - 1)  # only the neighbours of both points matter
    near, shown = points[first : k + 3], growths[first : k + 3]
    for which in (counts[0] - 1, counts[0]):
        if not 0 <= which < len(growths[k]):
            continue
        test = lambda point, which=which: float(np.sort(curve.growth(point.values))[::-1][which])
        for inside in hidden_sign(curve, near, [float(g[which]) for g in shown], k - first, test):
            middle = length + float(np.linalg.norm(inside.flat - begin.flat))
            before = _crossings(curve, begin, inside, length, [], HALVINGS)
            return before + _crossings(curve, inside, end, middle, [], HALVINGS)
    return []


def _cleaned(value: complex, real: float) -> complex:
    """Remove an imaginary part that is rounding error from an eigenvalue."""
    return complex(value) if abs(value.imag) > real else complex(value.real)


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


def branch_in_given(units: Units, found: Branch) -> Branch:
    """Convert a branch to the units of the given system, with arclengths in the unit of the parameter.

    Normal form coefficients already are in these units.
    """
    return found if units.are_given else _branch(units, found, 1)


def branch_in_own(units: Units, given: Branch) -> Branch:
    """Convert a branch of the given system to rescaled units."""
    return given if units.are_given else _branch(units, given, -1)


def bifurcation_in_own(units: Units, at: Bifurcation) -> Bifurcation:
    """Convert a bifurcation of the given system, except its coefficient, to rescaled units."""
    return at if units.are_given else _bifurcation(units, at, -1)


def _branch(units: Units, branch: Branch, power: int) -> Branch:
    size = units.parameters[0] ** power
    return branch._replace(
        states=moved_states(units, branch.states, power),
        parameters=branch.parameters * size,
        arclengths=branch.arclengths * size,
        eigenvalues=branch.eigenvalues / _rate(units, branch.states, power),
        bifurcations=tuple(_bifurcation(units, at, power) for at in branch.bifurcations),
    )


def _bifurcation(units: Units, at: Bifurcation, power: int) -> Bifurcation:
    size, rate = units.parameters[0] ** power, _rate(units, at.state, power)
    away = at.direction * np.append(flat_sizes(units, at.state), units.parameters[0]) ** power
    return at._replace(
        state=moved_states(units, at.state, power),
        parameter=at.parameter * size,
        arclength=at.arclength * size,
        eigenvalues=at.eigenvalues / rate,
        frequency=at.frequency / (rate if at.kind == "Hopf point" else 1.0),
        direction=away / max(float(np.linalg.norm(away)), np.finfo(float).tiny),
    )


def _rate(units: Units, state: State, power: int) -> float:
    """Compute the unit of time by which eigenvalues are divided; 1 for multipliers."""
    return 1.0 if isinstance(state, Cycle) else units.time**power


def cycle_in_own(units: Units, cycle: Cycle) -> Any:
    """Convert an orbit of the given system, or several on the first axis, to rescaled units."""
    return cycle if units.are_given else moved_states(units, cycle, -1)


def moved_states(units: Units, state: Any, power: int) -> Any:
    """Convert states or orbits, with any leading axes, to other units."""
    if isinstance(state, Cycle):
        nodes = units.moved(state.nodes, power)
        return Cycle(nodes, np.asarray(state.period * units.time**power))
    return units.moved(state, power)


def flat_sizes(units: Units, state: Any) -> np.ndarray:
    """Compute the unit of each entry of a flattened state, or of a flattened orbit with its period."""
    if isinstance(state, Cycle):
        return np.append(units.flat(state.nodes), units.time)
    return units.flat(state)
