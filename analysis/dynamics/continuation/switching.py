"""Find the directions in which other branches leave a branch point, also if several eigenvalues vanish there."""

import math
from collections.abc import Iterator

import numpy as np

from analysis.dynamics.continuation.curve import AbstractCurve, CurvePoint, direction_to

# Largest angle in radians between directions that count as the same.
SAME = 0.05
# Largest angle in radians by which a branch may turn within two thirds of the distance; larger ones are not local.
LOCAL = 0.5
# Number of starts without a new direction that end the search, and additional ones for each known direction.
SEARCH = (16, 4)
# Largest number of directions.
MOST = 400
# Largest number of Newton steps from a start.
STEPS = 40
# Largest Newton step, relative to the distance.
BOUND = 0.3
# Smallest sine of the angle between two branches that can be told apart.
NARROWEST = 1e-3
# Newton step, relative to the distance, below which the iteration has converged.
SETTLED = 1e-6


def rays(
    curve: AbstractCurve, here: CurvePoint, along: np.ndarray, across: np.ndarray, size: float
) -> list[np.ndarray]:
    r"""Find the directions from a branch point to solutions at a distance, except along the first curve.

    With a null space of dimension m, directions of branches are the zeros of m - 1 polynomials on its unit sphere, the
    algebraic bifurcation equations. These are homogeneous and quadratic unless they degenerate. The full equations are
    solved from many starts, half of them across the first curve, until further starts find nothing new. Directions that
    few starts reach may be missed. If solutions are not isolated, only those found from a basis are kept.

    Args:
        curve: the equations.
        here: the branch point.
        along: tangent of the first curve there.
        across: orthonormal basis of the null space across that tangent, as rows.
        size: the distance.
    """
    known = [way for sign in (1, -1) if (way := _ray(curve, here, sign * along, size)) is not None]
    found, missed = len(known), 0
    for count, start in enumerate(_starts(along, across)):
        basis = count < 2 * len(across)
        way = _ray(curve, here, start, size)
        new = (
            way is not None
            and departs(along, way)
            and all(float(way @ other) < np.cos(SAME) for other in known)
            and _local(curve, here, way, size)
            and (basis or _isolated(curve, here, way, size))
        )
        missed = 0 if new else missed + 1
        if way is not None and new:
            known.append(way)
        if not basis and missed > SEARCH[0] + SEARCH[1] * len(known) or len(known) > MOST:
            break
    return known[found:]


def _starts(along: np.ndarray, across: np.ndarray) -> Iterator[np.ndarray]:
    """Yield unit vectors: a basis across the first curve with both signs, then random ones, half of them across it."""
    yield from (sign * row for row in across for sign in (1, -1))
    random = np.random.default_rng(len(across))
    while True:
        for span in (across, np.vstack([along, across])):
            start = random.normal(size=len(span)) @ span
            yield start / np.linalg.norm(start)


def _ray(curve: AbstractCurve, here: CurvePoint, way: np.ndarray, size: float) -> np.ndarray | None:
    """Find the direction of a solution at a distance by Newton's method from a start direction; None if there is none.

    Newton steps are bounded, since they become long near directions along which the equations are nearly solved.
    """
    move, orbit = size * way, here.basis @ here.orbit
    state, parameter = curve.displaced(here.state, here.basis @ move[:-1]), here.parameter + float(move[-1])
    for _ in range(STEPS):
        basis = curve.basis(state)
        at = curve.equations(state, parameter, basis)
        away = here._replace(state=state, parameter=parameter).flat - here.flat
        out, length = np.append(basis.T @ away[:-1], away[-1]), float(np.linalg.norm(away))
        moves = basis.T @ orbit
        matrix = np.vstack([np.column_stack([at.J, at.slope]), out / length, np.pad(moves.T, ((0, 0), (0, 1)))])
        if not np.all(np.isfinite(matrix)):
            return None
        left = np.concatenate([at.values, [length - size], moves.T @ out[:-1]])
        change = np.linalg.lstsq(matrix, -left, rcond=1e-11)[0]
        change = change * min(1.0, BOUND * size / max(float(np.linalg.norm(change)), np.finfo(float).tiny))
        state, parameter = curve.displaced(state, basis @ change[:-1]), parameter + float(change[-1])
        if np.linalg.norm(change) <= SETTLED * size:
            break
    found = direction_to(here, here._replace(state=state, parameter=parameter))
    near = curve.stepped(here, found, size)
    if near is None or float(direction_to(here, near) @ found) < np.cos(SAME):
        return None
    return direction_to(here, near)


def _local(curve: AbstractCurve, here: CurvePoint, way: np.ndarray, size: float) -> bool:
    """Test whether a solution exists in nearly the same direction at a third of the distance."""
    inside = _ray(curve, here, way, size / 3)
    return inside is not None and bool(inside @ way > np.cos(LOCAL))


def _isolated(curve: AbstractCurve, here: CurvePoint, way: np.ndarray, size: float) -> bool:
    near = curve.stepped(here, way, size)
    return near is not None and curve.singular(near) != 0


def ways_out(along: np.ndarray, across: np.ndarray, *, touches: bool) -> list[np.ndarray]:
    """List the directions in which another curve may leave: `across`, or two between it and the first curve.

    Where an eigenvalue touches zero, other solutions lie on both sides of the direction across, and none in it.
    """
    return [(across + sign * along) / math.sqrt(2) for sign in (1, -1)] if touches else [across]


def departures(
    curve: AbstractCurve, here: CurvePoint, along: np.ndarray, across: np.ndarray, size: float
) -> Iterator[np.ndarray]:
    """Yield directions from a branch point to solutions off the first curve, at ever smaller distances.

    Args:
        curve: the equations.
        here: a point where two curves may meet.
        along: tangent of the first curve there.
        across: direction in the null space towards which the other curve is searched.
        size: the first distance.
    """
    for k in range(6):
        near = curve.stepped(here, across, size * 0.3**k)
        if near is None:
            continue
        towards = direction_to(here, near)
        share = float(towards @ across)
        clearly = departs(along, towards) and share >= 0.1
        if clearly or (share >= NARROWEST and _is_beside(curve, here, along, near)):
            yield towards


def _is_beside(curve: AbstractCurve, here: CurvePoint, along: np.ndarray, near: CurvePoint) -> bool:
    """Test whether a point lies off the curve with the given tangent, even if it is nearly parallel to it.

    The point of the curve in the same plane across the tangent must then be further away than errors explain.
    """
    away = here.basis.T @ (near.flat - here.flat)[:-1]
    reach = float(np.append(away, near.parameter - here.parameter) @ along)
    same = curve.stepped(here, np.sign(reach) * along, abs(reach)) if reach else None
    return same is not None and float(np.linalg.norm(same.flat - near.flat)) > NARROWEST * abs(reach)


def departs(along: np.ndarray, towards: np.ndarray) -> bool:
    """Test whether a direction leads away from a curve with the given tangent."""
    return abs(float(towards @ along)) <= 1 - 0.01
