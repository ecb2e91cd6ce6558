"""Directions in which branches leave a point where several eigenvalues vanish: all that a search on a sphere finds."""

import math
from collections.abc import Iterator

import numpy as np

from analysis.dynamics.continuation.curve import AbstractCurve, CurvePoint, direction_to
from analysis.dynamics.continuation.locating import NARROWEST, _is_beside

SAME = 0.05  # radians: directions that are nearer are one
LOCAL = 0.5  # radians: by more the direction of a branch that begins at the point does not turn from a third of the way
SEARCH = (16, 4)  # starts that must lead to nothing new before a search ends, and further ones for each direction known
MOST = 400  # directions
STEPS = 40  # of Newton's method from a start
BOUND = 0.3  # of the distance: the longest of these steps
SETTLED = 1e-6  # of the distance: a step after which the method has converged


def rays(
    curve: AbstractCurve, here: CurvePoint, along: np.ndarray, across: np.ndarray, size: float
) -> list[np.ndarray]:
    r"""Return the directions of the solutions at a distance from a point where curves meet, but those of the first one.

    With a null space of dimension m the directions of branches are the zeros of m - 1 polynomials on its unit sphere
    (the algebraic bifurcation equations), homogeneous quadratic ones if these are not degenerate, else of higher order.
    The equations themselves are solved from many directions, half of them across the first curve, until further starts
    lead to nothing new: a direction that few starts lead to may be missed. Where solutions are not isolated, only the
    directions to which a basis leads are taken.

    Args:
        curve: the equations.
        here: the point.
        along: the tangent of the first curve there.
        across: an orthonormal basis of the null space across it, as rows.
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
    """Yield unit vectors: a basis across the first curve, both ways, then any, every other one across it."""
    yield from (sign * row for row in across for sign in (1, -1))
    random = np.random.default_rng(len(across))
    while True:
        for span in (across, np.vstack([along, across])):
            start = random.normal(size=len(span)) @ span
            yield start / np.linalg.norm(start)


def _ray(curve: AbstractCurve, here: CurvePoint, way: np.ndarray, size: float) -> np.ndarray | None:
    """Return the direction of the solution at a distance to which a direction leads; None if none is found.

    Newton steps are bounded: beside directions along which the equations are nearly solved they are long.
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
    """Return whether there is a solution in nearly the same direction at a third of the distance."""
    inside = _ray(curve, here, way, size / 3)
    return inside is not None and bool(inside @ way > np.cos(LOCAL))


def _isolated(curve: AbstractCurve, here: CurvePoint, way: np.ndarray, size: float) -> bool:
    near = curve.stepped(here, way, size)
    return near is not None and curve.singular(near) != 0


def ways_out(along: np.ndarray, across: np.ndarray, *, touches: bool) -> list[np.ndarray]:
    """Return the directions in which another curve may leave: that across, or two between it and the first curve.

    Where an eigenvalue touches zero, other solutions lie on both sides of the direction across, and none in it.
    """
    return [(across + sign * along) / math.sqrt(2) for sign in (1, -1)] if touches else [across]


def departures(
    curve: AbstractCurve, here: CurvePoint, along: np.ndarray, across: np.ndarray, size: float
) -> Iterator[np.ndarray]:
    """Yield directions from a point to others that are not on the curve through it, at ever smaller distances.

    Args:
        curve: the equations.
        here: a point where two curves may meet.
        along: the tangent of the first curve there.
        across: a direction out of it in the null space, towards which the other one is looked for.
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


def departs(along: np.ndarray, towards: np.ndarray) -> bool:
    """Return whether a direction leads away from a curve with a tangent."""
    return abs(float(towards @ along)) <= 1 - 0.01
