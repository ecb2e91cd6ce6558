"""Further points of a curve of bifurcations, so that chords in the plane of both parameters look like the curve."""

import itertools

import numpy as np
from jaxtyping import Float

from analysis.dynamics.continuation.curve import AbstractCurve, CurvePoint
from analysis.dynamics.continuation.locating import between

SEEN = 1e-3  # of the bounds of a parameter: how far a chord may be from the curve, less than a figure of 3.4 in shows
HALVINGS = 4  # of a step


def refined(curve: AbstractCurve, points: list[CurvePoint], widths: Float[np.ndarray, "2"]) -> list[CurvePoint]:
    """Return points that follow each other with those between them where chords are far from the curve in the plane.

    The first parameter is the last entry of a state, the second that of the curve. How far the curve is from a chord is
    told from its tangents at both ends; what is added are solutions.

    Args:
        curve: the equations.
        points: of the curve, with tangents of one sense.
        widths: of the bounds of both parameters.
    """
    found = points[:1]
    for begin, end in itertools.pairwise(points):
        found += [*_between(curve, begin, end, widths, HALVINGS), end]
    return found


def _between(
    curve: AbstractCurve, begin: CurvePoint, end: CurvePoint, widths: np.ndarray, halvings: int
) -> list[CurvePoint]:
    """Return points between two others; a cubic with their tangents is away from the chord by an eighth of these."""
    size = float(np.linalg.norm(end.flat - begin.flat))
    turn = _in_plane(begin) - _in_plane(end)
    if not halvings or float(np.linalg.norm(size * turn / 8 / widths)) <= SEEN:
        return []
    middle = between(curve, begin, end, 0.5)
    if middle is None:
        return []
    before, after = ((begin, middle), (middle, end))
    return [*_between(curve, *before, widths, halvings - 1), middle, *_between(curve, *after, widths, halvings - 1)]


def _in_plane(point: CurvePoint) -> np.ndarray:
    """Return the part of the tangent along both parameters."""
    return np.append(point.basis @ point.tangent[:-1], point.tangent[-1])[-2:]
