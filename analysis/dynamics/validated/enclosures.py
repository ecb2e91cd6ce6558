"""Enclosures in balls: boxes, their ends, and the eigenvalues of every matrix in a matrix of balls."""

from typing import Any

import numpy as np

from analysis.dynamics.validated.ball_operations import ball
from analysis.dynamics.validated.balls import Balls


def enclosed_eigenvalues(J: Balls) -> tuple[Any, ...]:
    """Enclose the eigenvalues of all matrices in balls, by Rump's method or Gershgorin discs.

    The discs are those of the matrix in coordinates of approximate eigenvectors. None are returned where both fail.
    """
    import flint

    matrix = flint.acb_mat([list(row) for row in J])
    try:
        values = tuple(matrix.eig(multiple=True, algorithm="rump"))
        if all(v.is_finite() for v in values):
            return values
    except ValueError:
        pass
    try:
        vectors = np.linalg.eig(np.array([[float(entry.mid()) for entry in row] for row in J]))[1]
        V = flint.acb_mat([[flint.acb(v.real, v.imag) for v in row] for row in vectors.tolist()])
        D = V.inv() * matrix * V
    except (ZeroDivisionError, ValueError):
        return ()
    count = range(len(J))
    rest = [sum((abs(D[i, j]) for j in count if j != i), flint.arb(0)).upper() for i in count]
    found = [D[i, i] + flint.acb(flint.arb(0, 1), flint.arb(0, 1)) * rest[i] for i in count]
    return tuple(found) if all(v.is_finite() for v in found) else ()


def certified_kind(values: tuple[Any, ...], *, is_map: bool = False, normals: int = 0) -> tuple[tuple[Any, ...], str]:
    """Enclosed eigenvalues, and the kind of an equilibrium that they prove: stable, saddle, unstable or undecided.

    `normals` is the number of directions across a curved space, in which the equations attract.
    """
    growth = [abs(v) - 1 if is_map else v.real for v in values]
    grow, decay = (sum(bool(g > 0) for g in growth), sum(bool(g < 0) for g in growth))
    if not values or grow + decay < len(growth):
        return values, "undecided"
    if not grow:
        return values, "stable"
    return values, "unstable" if grow == len(growth) - normals else "saddle"


def ball_box(low: np.ndarray, high: np.ndarray) -> Balls:
    """Convert a box to balls that contain it, with radii rounded outwards."""
    middle = (low + high) / 2
    radius = np.nextafter(np.maximum(high - middle, middle - low) * (1 + 1e-15), np.inf)
    return np.array([ball(float(m), float(r)) for m, r in zip(middle, radius, strict=True)], dtype=object)


def ends_of(X: Balls) -> tuple[np.ndarray, np.ndarray]:
    """Compute floating-point lower and upper bounds of balls, rounded outwards."""
    low = np.array([np.nextafter(float(entry.lower()), -np.inf) for entry in X])
    high = np.array([np.nextafter(float(entry.upper()), np.inf) for entry in X])
    return low, high


def is_inside(inner: Balls, outer: Balls) -> bool:
    """Test whether balls lie in the interiors of others."""
    return all(bool(o.contains_interior(i)) for i, o in zip(inner, outer, strict=True))
