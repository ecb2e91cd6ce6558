"""Step along curves by pseudo-arclength continuation: step-size control, bounds, closed curves and other ends."""

from collections.abc import Callable
from typing import Any

import numpy as np

from analysis.dynamics.continuation.branches import Branch, branch
from analysis.dynamics.continuation.curve import UNDEFINED, AbstractCurve, CurvePoint, turned
from analysis.dynamics.continuation.locating import between, cubic_between, has_kink, hidden_turn, located, passes_by
from analysis.dynamics.continuation.marks import STOP, stopped
from analysis.dynamics.continuation.steps import LEAST, Limits
from analysis.dynamics.continuation.switching import departures
from dynsim._runtime.blas import in_one_thread
from dynsim.errors import ArgumentError

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
# Distances, in steps, at which derivatives beyond a corner are looked at, and their relative change there.
NEAR, KINKED = (1.0, 4.0, 16.0), 1e-3
# Largest distance of a corrected point, in steps; further away it lies on another branch.
FAR = 1.5
# Largest change, relative to the width of the bounds, of a parameter that a correction keeps fixed.
ROUNDING = 1e-12
# Distance, in chords, within which both ends of a step must lie of the first point for a closed curve.
CLOSED = 1.05
# Distance of the curve from its first point, in chords, that closes it; parallel branches pass at larger ones.
BACK = 0.01
# Smallest cosine between successive tangents that counts as the same branch.
ANGLE = 0.8
# Largest sine of the angle between the chord of a step and the mean of the tangents at its ends; a parallel branch lies
# aside, and ordinary diagrams have 0.1 at most.
ASIDE = 0.15

# Steps, relative to the first, that are short, and how many of them in a row end a curve that another method goes on
# with: shooting needs thousands where the parameter hardly changes, as in a canard explosion.
SHORT, PATIENCE = 1 / 16, 40


def can_go_on(end: str, parameter: float, bounds: tuple[float, float]) -> bool:
    """Test whether a curve that ended at some parameter value can be continued within new bounds.

    It can if it ended at bounds and the new ones are wider, at the limit on points, or at a stop.
    """
    near = LEAST * (bounds[1] - bounds[0])
    is_open = end in ("bounds", "outside", "steps") or end.startswith(STOP)
    return is_open and bounds[0] + near < parameter < bounds[1] - near


@in_one_thread
def both_ways(curve: AbstractCurve, first: CurvePoint, within: Limits) -> Branch:
    """Continue a curve from a point in both directions."""
    first = begun_inside(first, within)
    forward, end = follow(curve, first, first.tangent, within)
    if end == "closed":
        return branch(curve, [first, *forward], ("closed", "closed"), within.marks)
    backward, begin = follow(curve, first, -first.tangent, within)
    reversed_points = [point._replace(tangent=-point.tangent) for point in backward[::-1]]
    return branch(curve, [*reversed_points, first, *forward], (begin, end), within.marks)


def begun_inside(first: CurvePoint, within: Limits) -> CurvePoint:
    """Move the first point of a curve into the range of the parameter by rounding; raise `ValueError` for more."""
    low, high = within.bounds
    inside = min(max(first.parameter, low), high)
    if abs(first.parameter - inside) > ROUNDING * (high - low):
        unit = within.unit
        must = f"have the system's own value, {first.parameter * unit:g}, in its range"
        raise ArgumentError("parameter", must, f"goes from {low * unit:g} to {high * unit:g}")
    return first._replace(parameter=inside)


@in_one_thread
def follow(
    curve: AbstractCurve,
    first: CurvePoint,
    direction: np.ndarray,
    within: Limits,
    *,
    size: float | None = None,
    home: CurvePoint | None = None,
) -> tuple[list[CurvePoint], str]:
    """Continue a curve from a point in one direction; give the points after it, and why the curve ends.

    Args:
        curve: the equations.
        first: the point.
        direction: the direction, along its tangent.
        within: limits of the continuation.
        size: the first step, by default that of the limits.
        home: the point at which a closed curve ends, by default the first one.
    """
    points: list[CurvePoint] = []
    step = within.step
    _check_steps(curve, first, within)
    here, along = turned(first, direction, first)
    home = first._replace(tangent=direction) if home is None else home
    before, size, length, short = here, min(step, within.largest) if size is None else size, 0.0, 0
    still = 0  # points in a row at which the parameter does not change
    while len(points) < within.points:
        found = curve.stepped(here, direction, size)
        if found is not None:
            found, cosine = turned(here, direction, found)
            cosine = 0.0 if float(np.linalg.norm(found.flat - here.flat)) > FAR * size else cosine
        known = before is not here or along > PARALLEL  # whether the tangent at the first point is known
        far = size > SURE * step
        oriented = here._replace(tangent=direction)
        unsure = found is not None and size > CERTAIN * step and _unsure(curve, (before, oriented, found), known, far)
        if found is None or unsure or (cosine < ANGLE and size > LEAST * step):
            size *= SHRINK
            if size < LEAST * step:
                return points, curve.stuck_at(here, kink=found is not None or _turns(curve, here, direction, size))
            continue
        if cosine < ANGLE and points:
            return points, curve.stuck_at(here, kink=True)
        last, ended = _ended(curve, here, found, within)
        if ended:
            return [*points, *_other(here, direction, last, LEAST * step)], ended
        end = curve.ends_at(here, found) or curve.unresolved(found)
        if end.startswith(UNDEFINED) and size > SURE * step and not curve.changes:  # others nearby may miss the state
            size *= SHRINK
            continue
        if end:
            return [*points, *_other(here, direction, curve.end_between(here, found), LEAST * step)], end
        curve.passed(found)
        points += [*hidden_turn(curve, here, found), found]
        length, short = length + size, short + 1 if size < SHORT * step else 0
        if curve.changes and short >= PATIENCE:
            return points, "short steps"
        if length > 3 * size and len(points) > 3 and _returned(curve, home, here, found):
            return points, "closed"
        still = 0 if curve.slope(found) else still + 1
        if still >= curve.longest_family:
            return points, "family"
        before, here, direction = here, found, found.tangent
        if found.corrections <= EASY:
            size = min(GROW * size, curve.largest_step(found, within, first))
    return points, "steps"


def _turns(curve: AbstractCurve, here: CurvePoint, direction: np.ndarray, size: float) -> bool:
    """Test whether the derivatives jump within a few steps, as where a curve turns back at a corner."""
    for share in NEAR:
        move = share * size * direction
        state = curve.displaced(here.state, here.basis @ move[:-1])
        J = curve.equations(state, here.parameter + float(move[-1]), here.basis).J
        change = np.abs(J - here.J) if isinstance(J, np.ndarray) else np.zeros(1)
        if np.max(change, initial=0.0) > KINKED * np.max(np.abs(here.J), initial=0.0):
            return True
    return False


def _ended(curve: AbstractCurve, here: CurvePoint, found: CurvePoint, within: Limits) -> tuple[CurvePoint | None, str]:
    """Find the last point before a bound of the parameter or a stop in a step, and which of them it is; "" if none.

    There is no such point in a step from a point at the bound, which rounding may have put beyond it.
    """
    (low, high), last = within.bounds, found
    outside = not low <= found.parameter <= high
    if outside:
        edge = low if found.parameter < low else high
        inside = (here.parameter - edge) * (found.parameter - edge) < 0
        last = located(curve, here, found, lambda point: point.parameter - edge)[0] if inside else None
    stop = stopped(curve, here, last, within.stops) if within.stops and last is not None else None
    return stop or (last, "bounds" if outside else "")


def _other(here: CurvePoint, direction: np.ndarray, last: CurvePoint | None, least: float) -> list[CurvePoint]:
    """Give the last point of a curve with its tangent, unless it coincides with the point before."""
    if last is None or not float(np.linalg.norm(last.flat - here.flat)) > least:
        return []
    return [turned(here, direction, last)[0]]


def _check_steps(curve: AbstractCurve, first: CurvePoint, within: Limits) -> None:
    """Raise `ValueError` if the steps do not exceed the error of the points of the curve."""
    error = curve.tolerances[1] * (1 + abs(first.parameter))
    for name, size in (("first", within.step), ("largest", within.largest)):
        if size <= error:
            raise ArgumentError(name, f"exceed {error:.2g}, the error of the points of the curve", f"is {size:g}")


def departing(
    curve: AbstractCurve,
    here: CurvePoint,
    along: np.ndarray,
    across: np.ndarray,
    within: Limits,
    followed: Callable[..., Any] | None = None,
) -> Any:
    """Continue another curve through a point where two curves meet; None if only the first curve is found.

    Args:
        curve: the equations.
        here: the point where both curves meet.
        along: tangent of the first curve there.
        across: direction in the null space towards which the other curve is searched.
        within: limits of the continuation.
        followed: what follows the other curve in place of `follow`; it includes the point itself.
    """
    for towards in departures(curve, here, along, across, min(within.step, within.largest)):
        points, end = (follow if followed is None else followed)(curve, here, towards, within)
        if points and followed is not None:
            return points, end
        if points:
            return [here._replace(tangent=towards), *points], end
    return None


def _unsure(curve: AbstractCurve, three: tuple[CurvePoint, CurvePoint, CurvePoint], known: bool, far: bool) -> bool:
    """Test whether the last of three points may lie on another branch.

    `known` says whether the tangents are those of the curve, and `far` whether slow Newton contraction is a sign.
    """
    if far and (three[2].contraction > CONTRACTION or known and _is_aside(*three[1:])):
        return True
    return known and has_kink(curve, *three) or passes_by(curve, *three[1:])


def _is_aside(here: CurvePoint, found: CurvePoint) -> bool:
    """Test whether a point lies aside of the curve: the chord does not lead along the mean of the tangents."""
    along = here.flat_tangent + found.flat_tangent
    chord = found.flat - here.flat
    along = along / np.linalg.norm(along)
    return bool(np.linalg.norm(chord - (chord @ along) * along) > ASIDE * np.linalg.norm(chord))


def _returned(curve: AbstractCurve, first: CurvePoint, here: CurvePoint, found: CurvePoint) -> bool:
    """Test whether a curve has returned to its first point, in its first direction, between two successive points."""
    low, high = sorted((here.parameter, found.parameter))
    room = CLOSED * float(np.linalg.norm(found.flat - here.flat))
    back = max(float(point.tangent[-1] * first.tangent[-1]) for point in (here, found)) < 0
    if back or not low - room <= first.parameter <= high + room:
        return False
    ends = curve.place(here, here), curve.place(found, found)
    chord = float(np.linalg.norm(ends[1] - ends[0]))
    apart = [np.linalg.norm(curve.out_of_phase(first) - curve.out_of_phase(point)) for point in (here, found)]
    if not chord or max(apart) > CLOSED * chord:  # far apart in any phase
        return False
    flat = [curve.place(first, here), *ends]
    if max(float(np.linalg.norm(flat[0] - flat[k])) for k in (1, 2)) > CLOSED * chord:
        return False
    share = min(max(float((flat[0] - flat[1]) @ (flat[2] - flat[1])) / chord**2, 0.0), 1.0)
    inside = between(curve, here, found, share)  # none at a branch point
    place = cubic_between(here, found, share) if inside is None else curve.place(inside, here)
    return float(np.linalg.norm(place - flat[0])) <= BACK * chord
