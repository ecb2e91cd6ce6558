"""Equilibria followed in a parameter by pseudo-arclength, on any space, with their bifurcations located."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
import scipy.optimize
from jaxtyping import Complex, Float

from analysis.dynamics.equilibrium_curve import CurvePoint, EquilibriumCurve, critical_pair, direction_to, turned
from analysis.dynamics.linearisation import NEAR_ZERO, SymmetryGenerator, eigenvalues, index, kind
from dynsim._types import State
from dynsim.arguments import check_start
from dynsim.conversion import integer, number
from dynsim.errors import argument_error, shown
from dynsim.systems.base import AbstractFlow

SHRINK, GROW, EASY = 0.5, 1.3, 4  # the step shrinks when a correction fails, grows after at most `EASY` Newton steps
LEAST = 1e-6  # of the first step: a branch that needs smaller ones ends
ANGLE = 0.8  # least cosine between the tangents of successive points
LOCATED = 1e-10  # of the first step: to which bifurcations are located on the branch


class Bifurcation(NamedTuple):
    """A bifurcation on a branch: `fold`, `branch point` or `hopf`, and where.

    At a fold the branch turns back in the parameter. At a branch point another branch crosses it; see `switch`. At a
    Hopf point a pair of eigenvalues crosses the imaginary axis at +-i `frequency`. `arclength` is where it lies.
    """

    kind: str
    state: State
    parameter: float
    eigenvalues: Complex[np.ndarray, " d"]
    frequency: float
    arclength: float


class EquilibriumBranch(NamedTuple):
    """Equilibria on a curve: states with the points on the first axis, parameters, arclengths and eigenvalues.

    `kinds` are `stable`, `saddle`, `unstable` or `undecided`, `bifurcations` lie in between. `ends` says at both ends
    why the branch ends: `bounds` of the parameter, `closed` curve, `steps` (the cap on points), or `lost`.
    """

    states: State
    parameters: Float[np.ndarray, " points"]
    arclengths: Float[np.ndarray, " points"]
    eigenvalues: Complex[np.ndarray, "points d"]
    kinds: tuple[str, ...]
    bifurcations: tuple[Bifurcation, ...]
    ends: tuple[str, str]

    def __repr__(self) -> str:
        """Return the branch in a line: how many points, which parameters, which bifurcations."""
        low, high = float(np.min(self.parameters)), float(np.max(self.parameters))
        found = ", ".join(f"{b.kind} at {b.parameter:.6g}" for b in self.bifurcations) or "no bifurcation"
        return (
            f"{len(self.kinds)} equilibria, parameter {low:.6g} to {high:.6g}: {found}; ends: {' and '.join(self.ends)}"
        )


class _Limits(NamedTuple):
    """How far a curve is followed: bounds of the parameter, the first and the largest step, and the cap on points."""

    bounds: tuple[float, float]
    step: float
    largest: float
    points: int


def continue_equilibria(
    flow: AbstractFlow,
    where: Callable[[Any], Any],
    start: State,
    bounds: tuple[float, float],
    *,
    step: float = 0.05,
    max_step: float | None = None,
    max_points: int = 1000,
    symmetries: Sequence[SymmetryGenerator] = (),
) -> EquilibriumBranch:
    """Return the branch of equilibria through one of them, in both directions of the curve, within bounds.

    The curve is followed in the tangent space of the flow's space and the parameter, so that it passes folds. Length is
    measured there, in the norm of the state and the parameter together: scale either if they differ by much.

    Args:
        flow: the system, autonomous (its field is taken at t = 0).
        where: which leaf of the flow is the parameter, such as `lambda flow: flow.rho`; a real number.
        start: a state near an equilibrium at the flow's own value of the parameter.
        bounds: the least and the largest value of the parameter.
        step: the first step along the curve.
        max_step: the largest one, four times the first by default.
        max_points: the cap on points in each direction; a branch that reaches it says so.
        symmetries: generators of continuous symmetries, along whose orbits equilibria are not isolated.

    Raises:
        ValueError: for bad input, or if no equilibrium is found near the start.
    """
    curve, limits = EquilibriumCurve(flow, where, symmetries), _limits(bounds, step, max_step, max_points)
    first = curve.at(check_start(flow, start), curve.value)
    if first is None:
        raise argument_error("start", "be near an equilibrium", "leads to none at the flow's own parameter")
    low, high = limits.bounds
    if not low <= first.parameter <= high:
        raise argument_error(
            "bounds", f"hold the flow's own parameter, {first.parameter:g}", f"are {low:g} to {high:g}"
        )
    forward, end = _follow(curve, first, first.tangent, limits)
    if end == "closed":
        return _branch(curve, [first, *forward], ("closed", "closed"))
    backward, begin = _follow(curve, first, -first.tangent, limits)
    reversed_points = [point._replace(tangent=-point.tangent) for point in backward[::-1]]
    return _branch(curve, [*reversed_points, first, *forward], (begin, end))


def switch(
    flow: AbstractFlow,
    where: Callable[[Any], Any],
    at: Bifurcation,
    bounds: tuple[float, float],
    *,
    step: float = 0.05,
    max_step: float | None = None,
    max_points: int = 1000,
    symmetries: Sequence[SymmetryGenerator] = (),
) -> tuple[EquilibriumBranch, ...]:
    """Return the branches that leave a branch point across the branch on which it was found, one in each direction.

    They begin at the branch point. A direction in which no other equilibrium is found, or only that of the first
    branch, is left out.

    Raises:
        ValueError: for bad input, or a bifurcation that is no branch point.
    """
    if at.kind != "branch point":
        raise argument_error("at", "be a branch point", f"is a {at.kind}")
    curve, limits = EquilibriumCurve(flow, where, symmetries), _limits(bounds, step, max_step, max_points)
    here = curve.measured(at.state, at.parameter)
    along, across = curve.crossing(here)
    found = []
    for direction in (across, -across):
        begin = here._replace(tangent=direction)
        points, end = _follow(curve, begin, direction, limits)
        if points and abs(float(direction_to(here, points[0]) @ along)) < ANGLE:
            found.append(_branch(curve, [begin, *points], ("branch point", end)))
    return tuple(found)


def _follow(
    curve: EquilibriumCurve,
    first: CurvePoint,
    direction: np.ndarray,
    limits: _Limits,
) -> tuple[list[CurvePoint], str]:
    """Return the points of the curve from a first one in a direction, without it, and why the curve ends."""
    points: list[CurvePoint] = []
    bounds, step = limits.bounds, limits.step
    here, size, length = first, step, 0.0
    while len(points) < limits.points:
        found = curve.stepped(here, direction, size)
        if found is not None:
            found, cosine = turned(here, direction, found)
        if found is None or (cosine < ANGLE and size > LEAST * step):
            size *= SHRINK
            if size < LEAST * step:
                return points, "lost"
            continue
        if not bounds[0] <= found.parameter <= bounds[1]:
            edge = bounds[0] if found.parameter < bounds[0] else bounds[1]
            last = curve.at(found.state, edge)
            if last is not None:
                points.append(turned(here, direction, last)[0])
            return points, "bounds"
        points.append(found)
        length += size
        if length > 3 * step and len(points) > 3 and _returned(first, here, found):
            return points, "closed"
        here, direction = found, found.tangent
        if found.corrections <= EASY:
            size = min(GROW * size, limits.largest)
    return points, "steps"


def _returned(first: CurvePoint, here: CurvePoint, found: CurvePoint) -> bool:
    """Whether a curve has come back to its first point between two successive ones."""
    flat = [point.flat for point in (first, here, found)]
    chord = float(np.linalg.norm(flat[2] - flat[1]))
    near = max(float(np.linalg.norm(flat[0] - flat[k])) for k in (1, 2))
    return near <= 1.05 * chord and float(here.tangent[-1] * first.tangent[-1]) >= 0


def _branch(curve: EquilibriumCurve, points: list[CurvePoint], ends: tuple[str, str]) -> EquilibriumBranch:
    """Return a branch of points, with the bifurcations between them."""
    lengths = np.append(0.0, np.cumsum(np.linalg.norm(np.diff([p.flat for p in points], axis=0), axis=1)))
    values = [eigenvalues(p.J) for p in points]
    left = len(curve.symmetries)
    kinds = tuple(_kind(v, left) for v in values)
    found: list[Bifurcation] = []
    for k, (begin, end) in enumerate(zip(points[:-1], points[1:], strict=True)):
        if k == 0 and ends[0] == "branch point":
            continue
        found += [b._replace(arclength=float(lengths[k]) + b.arclength) for b in _between(curve, begin, end)]
    states = jax.tree.map(lambda *parts: np.stack([np.asarray(part) for part in parts]), *[p.state for p in points])
    parameters = np.array([p.parameter for p in points])
    return EquilibriumBranch(states, parameters, lengths, np.array(values), kinds, tuple(found), ends)


def _kind(values: np.ndarray, symmetries: int) -> str:
    """Return the type of an equilibrium without the eigenvalues nearest to zero, one for each symmetry."""
    across = np.delete(values, np.argsort(np.abs(values))[:symmetries])
    return kind(across, NEAR_ZERO * max(1.0, float(np.max(np.abs(values), initial=0.0))))


def _between(curve: EquilibriumCurve, begin: CurvePoint, end: CurvePoint) -> list[Bifurcation]:
    """Return the bifurcations between two successive points, located by the sign of their test functions."""
    size = float(np.linalg.norm(end.flat - begin.flat))
    tests = (curve.test(begin), curve.test(end))
    found = []
    for which, name in enumerate(("fold", "branch point", "hopf")):
        if tests[0][which] * tests[1][which] >= 0 or (which == 1 and curve.symmetries):
            continue
        if name == "hopf" and abs(index(eigenvalues(end.J)) - index(eigenvalues(begin.J))) < 2:
            continue  # the pair that is nearest to the axis is another one, or has become real
        point, share = _located(curve, begin, end, which)
        if point is not None:
            values = eigenvalues(point.J)
            frequency = abs(critical_pair(values).imag) if name == "hopf" else 0.0
            found.append(Bifurcation(name, point.state, point.parameter, values, frequency, share * size))
    return sorted(found, key=lambda b: b.arclength)


def _located(
    curve: EquilibriumCurve, begin: CurvePoint, end: CurvePoint, which: int
) -> tuple[CurvePoint | None, float]:
    """Return the point between two others at which a test function vanishes, and its share of the way."""
    chord = direction_to(begin, end)
    size = float(np.linalg.norm(end.flat - begin.flat))
    points: dict[float, CurvePoint] = {0.0: begin, 1.0: end}

    def value(share: float) -> float:
        if share not in points:
            found = curve.stepped(begin, chord, share * size)
            if found is None:
                raise ArithmeticError
            points[share] = turned(begin, chord, found)[0]
        return curve.test(points[share])[which]

    try:
        share = float(np.asarray(scipy.optimize.brentq(value, 0.0, 1.0, xtol=LOCATED)))
        value(share)
    except ArithmeticError:
        return None, 0.0
    return points[share], share


def _limits(bounds: Any, step: Any, max_step: Any, max_points: Any) -> _Limits:
    """Return the limits; raise `ValueError` for bad input."""
    try:
        low, high = (float(value) for value in bounds)
    except (TypeError, ValueError):
        raise argument_error("bounds", "be two numbers", f"is {shown(bounds)}") from None
    if not low < high:
        raise argument_error("bounds", "be the least and the largest value", f"are {low:g} and {high:g}")
    size = number("step", step)
    largest = 4 * size if max_step is None else number("max_step", max_step)
    return _Limits((low, high), size, largest, integer("max_points", max_points, least=2))
