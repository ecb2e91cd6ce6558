"""Branches: a curve of solutions followed by pseudo-arclength, with stability along it and its bifurcations."""

import math
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Complex, Float

from analysis.dynamics.between import JUMP, hidden_turn, located
from analysis.dynamics.curves import REAL, AbstractCurve, CurvePoint, direction_to, turned
from analysis.dynamics.linearisation import index
from analysis.dynamics.normal_forms import UNKNOWN, Coefficient
from dynsim._types import State
from dynsim.conversion import integer, number
from dynsim.errors import argument_error, shown

SHRINK, GROW, EASY = 0.5, 1.3, 4  # the step shrinks when a correction fails, grows after at most `EASY` Newton steps
LEAST = 1e-6  # of the first step: a branch that needs smaller ones ends
FAR = 1.5  # steps: a correction that leads further away has found another branch
ANGLE = 0.8  # least cosine between the tangents of successive points
CRITICAL = {"Hopf point": -1, "Neimark-Sacker point": -1, "period doubling": 1}
"""The sign of the coefficient at which what begins there is stable on the centre manifold, by kind."""
DEGENERATE = 1e-8  # of its natural size: with a smaller coefficient the cubic terms decide nothing
RESONANT = 1e-6  # relative: an angle that is nearer to that of a strong resonance has it
HALVINGS = 6  # of a step with several bifurcations


class Bifurcation(NamedTuple):
    """A bifurcation on a branch: its kind, and where.

    At a `fold` the branch turns back in the parameter. At a `branch point` other branches cross it; see `switch`. At a
    `Hopf point` a pair of eigenvalues crosses the imaginary axis at +-i `frequency`. Of maps and periodic orbits, a
    multiplier passes -1 at a `period doubling`, a pair leaves the unit circle at the angles +-`frequency` at a
    `Neimark-Sacker point`. At a `corner` the derivative of the field jumps: it is not smooth there. `multiplicity` is
    the number of eigenvalues that cross. `arclength` is where it lies, `direction` that of the branch there, in the
    ambient coordinates of the state and the parameter.

    `coefficient` is that of the normal form: at a fold c, near which the parameter is that of the fold and c s^2 at the
    distance s; at a Hopf point the first Lyapunov coefficient; of maps, and of the return maps of periodic orbits, also
    the coefficients of `map_normal_forms`. It is NaN elsewhere, and where further eigenvalues are critical.
    `natural_size` is the size of the terms whose sum it is, there or as they change towards where the critical
    eigenvalues grow as fast as they turn; it has the units of the coefficient.
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

    @property
    def criticality(self) -> str:
        """`supercritical`, `subcritical` or `degenerate`, by the coefficient where it decides; "" elsewhere.

        It decides at a Hopf point, at a period doubling, and at a Neimark-Sacker point without a strong resonance.
        """
        sign = CRITICAL.get(self.kind, 0)
        if not sign or not math.isfinite(self.coefficient) or self.resonance:
            return ""
        if abs(self.coefficient) <= DEGENERATE * self.natural_size:
            return "degenerate"
        return "supercritical" if sign * self.coefficient > 0 else "subcritical"

    @property
    def resonance(self) -> int:
        """3 or 4 at a Neimark-Sacker point with the angle 2 pi / 3 or pi / 2, a strong resonance; 0 elsewhere."""
        if self.kind != "Neimark-Sacker point":
            return 0
        return next((k for k in (3, 4) if abs(k * self.frequency / (2 * math.pi) - 1) <= RESONANT), 0)

    def __str__(self) -> str:
        """Return the kind, the parameter, and the criticality or the resonance."""
        said = f"strong resonance 1:{self.resonance}" if self.resonance else self.criticality
        return f"{self.kind} at {self.parameter:.6g}" + (f" ({said})" if said else "")


class Branch(NamedTuple):
    """Solutions on a curve: states with the points on the first axis, parameters, arclengths and eigenvalues.

    `kinds` are `stable`, `saddle`, `unstable` or `undecided`, `bifurcations` lie in between. `ends` says at both ends
    why the branch ends: `bounds` of the parameter, `closed` curve, `steps` (the cap on points), `corner` (the field is
    not smooth), `lost`, or the bifurcation at which it begins; a branch of periodic orbits also at an `equilibrium` or
    at the longest `period`. `isolated` is false if the solutions are not: the derivative is singular along the branch.
    """

    states: State
    parameters: Float[np.ndarray, " points"]
    arclengths: Float[np.ndarray, " points"]
    eigenvalues: Complex[np.ndarray, "points d"]
    kinds: tuple[str, ...]
    bifurcations: tuple[Bifurcation, ...]
    ends: tuple[str, str]
    isolated: bool = True

    def __repr__(self) -> str:
        """Return the branch in a line: how many points, which parameters, which bifurcations."""
        low, high = float(np.min(self.parameters)), float(np.max(self.parameters))
        found = ", ".join(str(b) for b in self.bifurcations) or "no bifurcation"
        said = " and ".join(self.ends) + ("" if self.isolated else "; not isolated (a symmetry, or zero modes)")
        return f"{len(self.kinds)} points, parameter {low:.6g} to {high:.6g}: {found}; ends: {said}"


class Limits(NamedTuple):
    """How far a curve is followed: bounds of the parameter, the first and the largest step, and the cap on points."""

    bounds: tuple[float, float]
    step: float
    largest: float
    points: int


def limits(bounds: Any, step: Any, max_step: Any, max_points: Any) -> Limits:
    """Return the limits; raise `ValueError` for bad input."""
    try:
        low, high = (float(value) for value in bounds)
    except (TypeError, ValueError):
        raise argument_error("bounds", "be two numbers", f"is {shown(bounds)}") from None
    if not low < high:
        raise argument_error("bounds", "be the least and the largest value", f"are {low:g} and {high:g}")
    size = number("step", step)
    if high - low < LEAST * size:
        must = f"be wider than {LEAST:g} of `step` (`RescaledFlow` has other units)"
        raise argument_error("bounds", must, f"are {low:g} to {high:g} with a step of {size:g}")
    largest = 4 * size if max_step is None else number("max_step", max_step)
    return Limits((low, high), size, largest, integer("max_points", max_points, least=2))


def can_go_on(end: str, parameter: float, bounds: tuple[float, float]) -> bool:
    """Return whether a curve that ended at a value of its parameter goes on within bounds.

    It does from bounds, if the new ones lie further out, and from the cap on points.
    """
    near = LEAST * (bounds[1] - bounds[0])
    return end in ("bounds", "outside", "steps") and bounds[0] + near < parameter < bounds[1] - near


def both_ways(curve: AbstractCurve, first: CurvePoint, within: Limits) -> Branch:
    """Return the branch through a point, in both directions."""
    low, high = within.bounds
    if not low <= first.parameter <= high:
        must = f"hold the flow's own parameter, {first.parameter:g}"
        raise argument_error("bounds", must, f"are {low:g} to {high:g}")
    forward, end = follow(curve, first, first.tangent, within)
    if end == "closed":
        return branch(curve, [first, *forward], ("closed", "closed"))
    backward, begin = follow(curve, first, -first.tangent, within)
    reversed_points = [point._replace(tangent=-point.tangent) for point in backward[::-1]]
    return branch(curve, [*reversed_points, first, *forward], (begin, end))


def follow(
    curve: AbstractCurve, first: CurvePoint, direction: np.ndarray, within: Limits
) -> tuple[list[CurvePoint], str]:
    """Return the points of a curve from a first one in a direction, without it, and why the curve ends."""
    points: list[CurvePoint] = []
    bounds, step = within.bounds, within.step
    here, size, length = first, min(step, within.largest), 0.0
    while len(points) < within.points:
        found = curve.stepped(here, direction, size)
        if found is not None:
            found, cosine = turned(here, direction, found)
            far = float(np.linalg.norm(found.flat - here.flat)) > FAR * size
            cosine = 0.0 if far else cosine
        if found is None or (cosine < ANGLE and size > LEAST * step):
            size *= SHRINK
            if size < LEAST * step:
                return points, "lost" if found is None else "corner"
            continue
        if cosine < ANGLE and points:
            return points, "corner"
        if not bounds[0] <= found.parameter <= bounds[1]:
            edge = bounds[0] if found.parameter < bounds[0] else bounds[1]
            last, _ = located(curve, here, found, lambda point, edge=edge: point.parameter - edge)
            if last is not None and float(np.linalg.norm(last.flat - here.flat)) > LEAST * step:
                points.append(turned(here, direction, last)[0])  # a point on the bound itself is not repeated
            return points, "bounds"
        if end := curve.ends_at(here, found):
            return points, end
        points += [*hidden_turn(curve, here, found), found]
        length += size
        if length > 3 * step and len(points) > 3 and _returned(first, here, found):
            return points, "closed"
        here, direction = found, found.tangent
        if found.corrections <= EASY:
            size = min(GROW * size, within.largest)
    return points, "steps"


def departing(curve: AbstractCurve, here: CurvePoint, along: np.ndarray, across: np.ndarray, within: Limits) -> Any:
    """Return the points of another curve through a point, and its end, or None if only the first curve is found.

    Args:
        curve: the equations.
        here: the point where both meet.
        along: the tangent of the first curve there.
        across: a direction out of it in the null space, towards which the other one is looked for.
        within: the limits.
    """
    for k in range(6):
        near = curve.stepped(here, across, min(within.step, within.largest) * 0.3**k)
        if near is None:
            continue
        towards = direction_to(here, near)
        if abs(float(towards @ along)) > 1 - 0.01 or float(towards @ across) < 0.1:
            continue
        points, end = follow(curve, here, towards, within)
        if points:
            return [here._replace(tangent=towards), *points], end
    return None


def _returned(first: CurvePoint, here: CurvePoint, found: CurvePoint) -> bool:
    """Whether a curve has come back to its first point between two successive ones."""
    flat = [point.flat for point in (first, here, found)]
    chord = float(np.linalg.norm(flat[2] - flat[1]))
    near = max(float(np.linalg.norm(flat[0] - flat[k])) for k in (1, 2))
    return near <= 1.05 * chord and float(here.tangent[-1] * first.tangent[-1]) >= 0


def branch(curve: AbstractCurve, points: list[CurvePoint], ends: tuple[str, str]) -> Branch:
    """Return a branch of points, with the bifurcations between them."""
    lengths = np.append(0.0, np.cumsum(np.linalg.norm(np.diff([p.flat for p in points], axis=0), axis=1)))
    first = 1 if ends[0] in ("branch point", "Hopf point", "period doubling") else 0
    found = _bifurcations(curve, points[first:], lengths[first:])
    states = jax.tree.map(lambda *parts: np.stack([np.asarray(part) for part in parts]), *[p.state for p in points])
    singular = [curve.singular(point) == 0 for point in points[first:]]
    kinds = tuple(curve.stable_kind(p.values) for p in points)
    return Branch(
        states, np.array([p.parameter for p in points]), lengths, np.array([p.values for p in points]), kinds,
        tuple(found), ends, isolated=not (len(singular) > 2 and all(singular)),
    )  # fmt: skip


def _bifurcations(curve: AbstractCurve, points: list[CurvePoint], lengths: np.ndarray) -> list[Bifurcation]:
    """Return the bifurcations between successive points, and at points that lie on one."""
    found: list[Bifurcation] = []
    last: list[int | None] = [None, None]  # the last points at which the test functions of fold and crossing had a sign
    values = [(float(p.tangent[-1]), curve.singular(p)) for p in points]
    zeros = [curve.zeros(point.values) for point in points]
    at = [0 < k < len(points) - 1 and zeros[k] > max(zeros[k - 1], zeros[k + 1]) for k in range(len(points))]
    for k in range(len(points)):
        here: list[Bifurcation] = []
        for which, name in enumerate(("fold", "branch point")):
            if values[k][which] == 0:
                continue
            before, last[which] = last[which], k
            if before is None or k - before > 2 or values[before][which] * values[k][which] > 0:
                continue
            here += _simple(curve, points[before], points[k], float(lengths[before]), which, name)
        if k and not at[k]:
            begin = k - 2 if at[k - 1] else k - 1  # what crosses at a point is looked for between its neighbours
            length = float(lengths[begin])
            known = here + (_within(found, length, float(lengths[k]) - length) if at[k - 1] else [])
            here += _crossings(curve, points[begin], points[k], length, known, HALVINGS)
        found += here
    crossed = [b.arclength for b in found if b.kind == "branch point"]
    near = 1e-4 * max(1e-3, float(np.max(np.diff(lengths), initial=0.0)))
    found = [b for b in found if b.kind != "fold" or all(abs(b.arclength - at) > near for at in crossed)]
    return sorted(found, key=lambda b: b.arclength)  # at a pitchfork the branch across turns too, which is no fold


def _simple(
    curve: AbstractCurve, begin: CurvePoint, end: CurvePoint, length: float, which: int, name: str
) -> list[Bifurcation]:
    """Return the fold or the simple branch point between two points."""
    test = (lambda p: float(p.tangent[-1])) if which == 0 else curve.singular
    size = float(np.linalg.norm(end.flat - begin.flat))
    point, share = located(curve, begin, end, test)
    if point is None:
        return []
    if abs(test(point)) > JUMP * (abs(test(begin)) + abs(test(end))):
        name = "corner"
    away = (end.flat - begin.flat) / size
    where, c = length + share * size, curve.coefficient(name, point, 0.0)
    return [Bifurcation(name, point.state, point.parameter, point.values, 0.0, where, away, 1, *c)]


def _crossings(
    curve: AbstractCurve, begin: CurvePoint, end: CurvePoint, length: float, known: list[Bifurcation], halvings: int
) -> list[Bifurcation]:
    """Return the bifurcations between two points at which the number of growing eigenvalues changes, but the known."""
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
    if float(np.max(np.abs(curve.growth(critical)))) > near:  # several in one step
        if abs(test(point)) > near or not halvings or not 0.01 < share < 0.99:
            return []  # they jump, or one hides behind another
        left = _crossings(curve, begin, point, length, _within(known, length, share * size), halvings - 1)
        rest = _within(known, length + share * size, size)
        return left + _crossings(curve, point, end, length + share * size, rest, halvings - 1)
    if min(curve.zeros(begin.values), curve.zeros(end.values)):  # one of these may take the place of one that crosses
        neutral = point.values[np.abs(curve.growth(point.values)) <= near]
        critical = np.append([value for value in neutral if curve.name(_cleaned(value))], critical)
    first = _cleaned(critical[0])
    name, frequency = curve.name(first), _frequency(first, float(np.abs(first)), curve)
    if not name and known:
        return []
    where, away = length + share * size, (end.flat - begin.flat) / size
    name = name or "branch point"
    c = UNKNOWN
    if high - low == (2 if frequency else 1):
        side = max(begin, end, key=lambda point: abs(test(point)))
        c = _in_natural_size(curve, name, (point, side), frequency, abs(test(side)))
    return [Bifurcation(name, point.state, point.parameter, point.values, frequency, where, away, high - low, *c)]


def _cleaned(value: complex) -> complex:
    """Return an eigenvalue, without an imaginary part that is rounding."""
    return complex(value) if abs(value.imag) > REAL * max(1.0, abs(value)) else complex(value.real)


def _in_natural_size(
    curve: AbstractCurve, name: str, points: tuple[CurvePoint, CurvePoint], frequency: float, growth: float
) -> Coefficient:
    """Return the coefficient at the first of two points, in the larger of two sizes of its terms.

    One is that at the point; the other is their change towards the second point, where the growth is given, carried on
    to where it is the frequency of a Hopf point, or one of multipliers. A coefficient that vanishes with all of its
    terms is as large as the error of the point, and small by this size only.
    """
    here, beside = (curve.coefficient(name, point, frequency) for point in points)
    change = abs(beside.size - here.size) * (frequency if name == "Hopf point" else 1.0) / growth
    return here._replace(size=float(np.fmax(here.size, change)))


def _frequency(critical: complex, modulus: float, curve: AbstractCurve) -> float:
    """Return the frequency of a Hopf point, or the angle of a pair of multipliers; 0 for real eigenvalues."""
    if not critical.imag:
        return 0.0
    return abs(critical.imag) if curve.name(1j) == "Hopf point" else float(abs(np.angle(critical / modulus)))


def _within(known: list[Bifurcation], begin: float, size: float) -> list[Bifurcation]:
    return [b for b in known if begin <= b.arclength <= begin + size]
