"""Step along curves by pseudo-arclength continuation: step-size control, bounds, closed curves and other ends."""

from typing import Any, NamedTuple

import jax
import numpy as np

from analysis.dynamics.continuation.branches import Branch, branch
from analysis.dynamics.continuation.curve import AbstractCurve, CurvePoint, direction_to, turned
from analysis.dynamics.continuation.locating import has_kink, hidden_turn, located, passes_by
from analysis.dynamics.continuation.switching import departures
from dynsim._core.types import State
from dynsim._core.validation import integer, number
from dynsim.errors import ArgumentError, shown

# The step shrinks if a correction fails, and grows after a correction with at most `EASY` Newton steps.
SHRINK, GROW, EASY = 0.5, 1.3, 4
# Largest ratio of successive Newton steps; slower contraction may lead to another branch nearby.
CONTRACTION = 0.25
# Step, relative to the first, below which slow Newton contraction indicates a corner instead.
SURE = 1e-3
# Step, relative to the first, below which crossing branches and branches that pass each other look alike.
CERTAIN = 1e-5
# Smallest cosine between a direction and a tangent that counts as parallel.
PARALLEL = 1 - 1e-9
# Smallest step, relative to the first; a branch that needs smaller ones ends.
LEAST = 1e-6
# Default of the largest step, relative to the width of the bounds, if that exceeds four times the first step.
WIDE = 0.01
# Largest distance of a corrected point, in steps; further away it lies on another branch.
FAR = 1.5
# Largest change, relative to the width of the bounds, of a parameter that a correction keeps fixed.
ROUNDING = 1e-12
# Distance, in chords, within which both ends of a step must lie of the first point for a closed curve.
CLOSED = 1.05
# Smallest cosine between successive tangents that counts as the same branch.
ANGLE = 0.8


class Limits(NamedTuple):
    """Limits of a continuation: bounds of the parameter, first and largest step, and number of points.

    The bounds are divided by the unit of the parameter.
    """

    bounds: tuple[float, float]
    step: float
    largest: float
    points: int
    unit: float = 1.0


def limits(bounds: Any, step: Any, max_step: Any, max_points: Any, unit: float = 1.0) -> Limits:
    """Check the limits of a continuation, and rescale the bounds by the unit of the parameter."""
    low, high = two_bounds(bounds)
    size = number("step", step)
    if high - low < LEAST * size * unit:
        must = f"be wider than {LEAST:g} of `step`" + (f", whose unit is {unit:g} here" if unit != 1 else "")
        raise ArgumentError("bounds", must, f"are {low:g} to {high:g} with a step of {size:g}")
    largest = max(4 * size, WIDE * (high - low) / unit) if max_step is None else number("max_step", max_step)
    return Limits((low / unit, high / unit), size, largest, integer("max_points", max_points, least=2), unit)


def two_bounds(bounds: Any) -> tuple[float, float]:
    """Check that bounds are two numbers, the lower one first; raise `ValueError` otherwise."""
    try:
        low, high = (float(value) for value in bounds)
    except (TypeError, ValueError):
        raise ArgumentError("bounds", "be two numbers", f"is {shown(bounds)}") from None
    if not low < high:
        raise ArgumentError("bounds", "be a lower and an upper bound", f"are {low:g} and {high:g}")
    return low, high


def can_go_on(end: str, parameter: float, bounds: tuple[float, float]) -> bool:
    """Test whether a curve that ended at some parameter value can be continued within new bounds.

    It can if it ended at bounds and the new ones are wider, or if it ended at the limit on points.
    """
    near = LEAST * (bounds[1] - bounds[0])
    return end in ("bounds", "outside", "steps") and bounds[0] + near < parameter < bounds[1] - near


def both_ways(curve: AbstractCurve, first: CurvePoint, within: Limits) -> Branch:
    """Continue a curve from a point in both directions."""
    low, high = within.bounds
    inside = min(max(first.parameter, low), high)
    if abs(first.parameter - inside) > ROUNDING * (high - low):
        must, unit = f"hold the flow's own parameter, {first.parameter * within.unit:g}", within.unit
        raise ArgumentError("bounds", must, f"are {low * unit:g} to {high * unit:g}")
    first = first._replace(parameter=inside)
    forward, end = follow(curve, first, first.tangent, within)
    if end == "closed":
        return branch(curve, [first, *forward], ("closed", "closed"))
    backward, begin = follow(curve, first, -first.tangent, within)
    reversed_points = [point._replace(tangent=-point.tangent) for point in backward[::-1]]
    return branch(curve, [*reversed_points, first, *forward], (begin, end))


def follow(
    curve: AbstractCurve, first: CurvePoint, direction: np.ndarray, within: Limits
) -> tuple[list[CurvePoint], str]:
    """Continue a curve from a point in one direction; give the points after it, and why the curve ends."""
    points: list[CurvePoint] = []
    bounds, step = within.bounds, within.step
    _check_steps(curve, first, within)
    here, along = turned(first, direction, first)
    before, size, length = here, min(step, within.largest), 0.0
    while len(points) < within.points:
        found = curve.stepped(here, direction, size)
        if found is not None:
            found, cosine = turned(here, direction, found)
            cosine = 0.0 if float(np.linalg.norm(found.flat - here.flat)) > FAR * size else cosine
        known = before is not here or along > PARALLEL  # whether the tangent at the first point is known
        far = size > SURE * step
        unsure = found is not None and size > CERTAIN * step and _unsure(curve, (before, here, found), known, far)
        if found is None or unsure or (cosine < ANGLE and size > LEAST * step):
            size *= SHRINK
            if size < LEAST * step:
                return points, "lost" if found is None else "corner"
            continue
        if cosine < ANGLE and points:
            return points, "corner"
        if not bounds[0] <= found.parameter <= bounds[1]:
            edge = bounds[0] if found.parameter < bounds[0] else bounds[1]
            last, _ = located(curve, here, found, lambda point, edge=edge: point.parameter - edge)
            return [*points, *_other(here, direction, last, LEAST * step)], "bounds"
        if end := curve.ends_at(here, found) or curve.unresolved(found):
            return [*points, *_other(here, direction, curve.end_between(here, found), LEAST * step)], end
        points += [*hidden_turn(curve, here, found), found]
        length += size
        if length > 3 * size and len(points) > 3 and _returned(curve, first, here, found):
            return points, "closed"
        before, here, direction = here, found, found.tangent
        if found.corrections <= EASY:
            size = min(GROW * size, within.largest)
    return points, "steps"


def _other(here: CurvePoint, direction: np.ndarray, last: CurvePoint | None, least: float) -> list[CurvePoint]:
    """Give the last point of a curve with its tangent, unless it coincides with the point before."""
    if last is None or not float(np.linalg.norm(last.flat - here.flat)) > least:
        return []
    return [turned(here, direction, last)[0]]


def _check_steps(curve: AbstractCurve, first: CurvePoint, within: Limits) -> None:
    """Raise `ValueError` if the steps do not exceed the error of the points of the curve."""
    error = curve.tolerances[1] * (1 + abs(first.parameter))
    for name, size in (("step", within.step), ("max_step", within.largest)):
        if size <= error:
            raise ArgumentError(name, f"exceed {error:.2g}, the error of the points of the curve", f"is {size:g}")


def departing(curve: AbstractCurve, here: CurvePoint, along: np.ndarray, across: np.ndarray, within: Limits) -> Any:
    """Continue another curve through a point where two curves meet; None if only the first curve is found.

    Args:
        curve: the equations.
        here: the point where both curves meet.
        along: tangent of the first curve there.
        across: direction in the null space towards which the other curve is searched.
        within: limits of the continuation.
    """
    for towards in departures(curve, here, along, across, min(within.step, within.largest)):
        points, end = follow(curve, here, towards, within)
        if points:
            return [here._replace(tangent=towards), *points], end
    return None


def _unsure(curve: AbstractCurve, three: tuple[CurvePoint, CurvePoint, CurvePoint], known: bool, far: bool) -> bool:
    """Test whether the last of three points may lie on another branch.

    `known` says whether the tangents are those of the curve, and `far` whether slow Newton contraction is a sign.
    """
    if far and three[2].contraction > CONTRACTION:
        return True
    return (known and has_kink(curve, *three)) or passes_by(curve, *three[1:])


def _returned(curve: AbstractCurve, first: CurvePoint, here: CurvePoint, found: CurvePoint) -> bool:
    """Test whether a curve has returned to its first point between two successive points."""
    low, high = sorted((here.parameter, found.parameter))
    room = CLOSED * float(np.linalg.norm(found.flat - here.flat))
    if not low - room <= first.parameter <= high + room or float(here.tangent[-1] * first.tangent[-1]) < 0:
        return False
    flat = [curve.place(first, here), curve.place(here, here), curve.place(found, found)]
    chord = float(np.linalg.norm(flat[2] - flat[1]))
    return max(float(np.linalg.norm(flat[0] - flat[k])) for k in (1, 2)) <= CLOSED * chord


def prolonged(curve: AbstractCurve, known: Branch, within: Limits) -> Branch:
    """Continue a branch beyond those of its ends that can be continued.

    Raises:
        ValueError: if the states at these ends do not lie on the curve.
    """
    ends, parts = list(known.ends), [known]
    for side in (1, 0):
        last, before = (0, 1) if side == 0 else (-1, -2)
        if len(known.parameters) < 2 or not can_go_on(ends[side], float(known.parameters[last]), within.bounds):
            continue
        pair = [(jax.tree.map(lambda a, k=k: a[k], known.states), float(known.parameters[k])) for k in (last, before)]
        begin = curve.at(*pair[0])
        if begin is None or not _beside(begin, *pair[0]):
            raise ArgumentError("known", "be a branch of this flow", "ends at a state that is no solution of it")
        towards = begin._replace(tangent=-direction_to(begin, begin._replace(state=pair[1][0], parameter=pair[1][1])))
        begin, _ = turned(begin, towards.tangent, begin)
        points, ends[side] = follow(curve, begin, begin.tangent, within)
        if points and side:
            parts.append(branch(curve, [begin, *points], ("", ends[1])))
        elif points:
            back = [p._replace(tangent=-p.tangent) for p in points[::-1]]
            parts.insert(0, branch(curve, [*back, begin._replace(tangent=-begin.tangent)], (ends[0], "")))
    return _joined(parts, (ends[0], ends[1]))


def _joined(parts: list[Branch], ends: tuple[str, str]) -> Branch:
    """Join branches, each of which begins where the one before ends."""
    found = parts[0]
    for part in parts[1:]:
        length = float(found.arclengths[-1])
        moved = tuple(b._replace(arclength=b.arclength + length) for b in part.bifurcations)
        join = lambda a, b: np.concatenate([a, b[1:]])
        found = Branch(
            jax.tree.map(join, found.states, part.states), join(found.parameters, part.parameters),
            join(found.arclengths, part.arclengths + length), join(found.eigenvalues, part.eigenvalues),
            found.kinds + part.kinds[1:], found.bifurcations + moved, ends, found.isolated and part.isolated,
        )  # fmt: skip
    return found._replace(ends=ends)


def _beside(found: CurvePoint, state: State, parameter: float) -> bool:
    """Test whether Newton's method left a state in place, up to the error of data from a file."""
    known = found._replace(state=state, parameter=parameter).flat
    return bool(np.linalg.norm(found.flat - known) <= 1e-6 * (1 + np.linalg.norm(known)))
