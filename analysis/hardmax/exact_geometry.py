"""Linear algebra and convex geometry in exact rational arithmetic: elimination, hull membership and facets."""

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from dynsim.errors import ArgumentError
from dynsim.exact import Exact, integers, rationals


def is_exact(values: np.ndarray) -> bool:
    """Test whether an array holds fractions or ints, which are computed with exactly, and not floats."""
    return values.dtype == object or np.issubdtype(values.dtype, np.integer)


class Echelon(NamedTuple):
    """Matrix in reduced row echelon form: `rows` (rank, d), with the identity in the columns `pivots`."""

    rows: Exact
    pivots: list[int]


def row_echelon(matrix: Exact) -> Echelon:
    """Compute the reduced row echelon form of a matrix, shape (n, d), without zero rows."""
    rows = matrix.copy()
    pivots: list[int] = []
    for column in range(matrix.shape[1]):
        k = len(pivots)
        found = [i for i in range(k, len(rows)) if rows[i, column] != 0]
        if not found:
            continue
        rows[[k, found[0]]] = rows[[found[0], k]]
        rows[k] = rows[k] / rows[k, column]
        for i in range(len(rows)):
            if i != k and rows[i, column] != 0:
                rows[i] = rows[i] - rows[i, column] * rows[k]
        pivots.append(column)
    return Echelon(rows[: len(pivots)], pivots)


def independent_rows(matrix: Exact) -> list[int]:
    """Find the lexicographically first rows that form a basis of the row space, by index."""
    return row_echelon(matrix.T).pivots


def solved(matrix: Exact, right: Exact) -> Exact:
    """Solve `matrix` x = `right` exactly: matrix (n, n), right-hand side and solution (n,) or (n, m).

    Raises:
        ValueError: if the matrix is singular.
    """
    n = len(matrix)
    whole = np.concatenate([matrix, right.reshape(n, -1)], axis=1)
    echelon = row_echelon(whole)
    if echelon.pivots[:n] != list(range(n)):
        raise ArgumentError("matrix", "be invertible", "is singular")
    return echelon.rows[:n, n:].reshape(right.shape)


def determinant(matrix: Exact) -> Fraction:
    """Compute the determinant of a square matrix."""
    rows, found = matrix.copy(), Fraction(1)
    for k in range(len(rows)):
        pivot = next((i for i in range(k, len(rows)) if rows[i, k] != 0), k)
        if pivot != k:
            rows[[k, pivot]] = rows[[pivot, k]]
            found = -found
        if rows[k, k] == 0:
            return Fraction(0)
        found *= rows[k, k]
        for i in range(k + 1, len(rows)):
            rows[i, k:] = rows[i, k:] - rows[i, k] / rows[k, k] * rows[k, k:]
    return found


def in_hull(x: Exact, points: Exact) -> bool:
    """Test whether `x`, shape (d,), is in the convex hull of `points`, (n, d), by phase one of the simplex method.

    Bland's rule, which cannot cycle, is applied to a tableau of ints. Pivoting is fraction-free: division by the
    previous pivot leaves no remainder.
    """
    whole, denominator = integers(np.concatenate([points, x[None]]))
    rows = np.concatenate([whole, np.full((len(whole), 1), denominator, object)], axis=1).T
    signs = np.array([-1 if row[-1] < 0 else 1 for row in rows], object)
    table = rows * signs[:, None]
    table = np.concatenate([table, np.sum(table, axis=0)[None]])  # last row: the objective, the sum of infeasibilities
    basis = [len(points) + k for k in range(len(rows))]  # artificial variables, which never re-enter the basis
    last = 1
    while table[-1, -1] != 0:
        column = next((j for j in range(len(points)) if table[-1, j] > 0), -1)
        if column < 0:
            return False
        row = _leaving(table, column, basis)
        pivot, held = table[row, column], table[row].copy()
        table = (pivot * table - table[:, [column]] * held[None]) // last
        table[row], basis[row], last = held, column, pivot
    return True


def _leaving(table: np.ndarray, column: int, basis: list[int]) -> int:
    """Find the row of the minimum ratio test; ties are broken by the smallest index of the basic variable."""
    rows = [i for i in range(len(basis)) if table[i, column] > 0]
    return min(rows, key=lambda i: (Fraction(table[i, -1], table[i, column]), basis[i]))


class Facets(NamedTuple):
    """Facets of a full-dimensional polytope: `normals` @ x + `offsets` >= 0, with equality at `incident` points."""

    normals: Exact
    offsets: Exact
    incident: list[int]  # a bit mask over the points for each facet


def facets(points: Exact) -> Facets:
    """Compute the facets of the convex hull of `points`, shape (n, d), which must span d dimensions.

    The double description method on ints adds the points one at a time. Each pair of adjacent facets with the new point
    inside one and outside the other gives a new facet. Points need not be in general position. The cost grows with the
    square of the number of facets.

    Raises:
        ValueError: if the points span fewer dimensions.
    """
    whole, denominator = integers(points)
    rows = np.concatenate([np.full((len(whole), 1), denominator, object), whole], axis=1)
    first = independent_rows(rationals("points", rows))
    if len(first) <= points.shape[1]:
        raise ArgumentError("points", f"span {points.shape[1]} dimensions", f"span {len(first) - 1}")
    rays = _simplex(rows, first)
    for k in sorted(set(range(len(rows))) - set(first)):
        rays = _with_point(rays, rows[k], 1 << k, points.shape[1])
    found = rationals("normals", np.stack([ray for ray, _ in rays]))
    return Facets(found[:, 1:], found[:, 0], [zeros for _, zeros in rays])


# Integer coefficients of an inequality, and a bit mask of the points with equality.
Ray = tuple[np.ndarray, int]


def _simplex(rows: np.ndarray, first: list[int]) -> list[Ray]:
    """Compute the facets of a simplex, each opposite to one of its vertices."""
    vertices = rationals("points", rows[first])
    unit = rationals("points", np.eye(len(first), dtype=int))
    dual = solved(vertices, unit)
    bits = [1 << k for k in first]
    return [(_primitive(integers(dual[:, [j]])[0][:, 0]), sum(bits) - bits[j]) for j in range(len(first))]


def _with_point(rays: list[Ray], row: np.ndarray, bit: int, d: int) -> list[Ray]:
    """Update the facets for one more point, given as a row (1, coordinates)."""
    values = [row @ ray for ray, _ in rays]
    kept = [(ray, zeros | bit if v == 0 else zeros) for (ray, zeros), v in zip(rays, values, strict=True) if v >= 0]
    above = [(k, v) for k, v in enumerate(values) if v > 0]
    below = [(k, v) for k, v in enumerate(values) if v < 0]
    for p, up in above:
        for q, down in below:
            common = rays[p][1] & rays[q][1]
            if common.bit_count() >= d - 1 and _adjacent(rays, p, q, common):
                kept.append((_primitive(up * rays[q][0] - down * rays[p][0]), common | bit))
    return kept


def _adjacent(rays: list[Ray], p: int, q: int, common: int) -> bool:
    """Test whether two facets are adjacent: no third facet contains all of their common points."""
    return not any(zeros & common == common for k, (_, zeros) in enumerate(rays) if k not in (p, q))


def _primitive(ray: np.ndarray) -> np.ndarray:
    """Divide an integer vector by the greatest common divisor of its entries."""
    return ray // math.gcd(*ray)
