"""Rational arithmetic for geometry: elimination, membership in convex hulls, facets; equality means equality."""

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from dynsim.errors import argument_error
from dynsim.exact import Exact, integers, rationals


def is_exact(values: np.ndarray) -> bool:
    """Return whether an array holds fractions or ints, which are taken exactly, and not floats."""
    return values.dtype == object or np.issubdtype(values.dtype, np.integer)


class Echelon(NamedTuple):
    """Rows in reduced echelon form: `rows` (rank, d), with the identity in the columns `pivots`."""

    rows: Exact
    pivots: list[int]


def row_echelon(matrix: Exact) -> Echelon:
    """Return a basis of the row space, shape (rank, d), in reduced echelon form."""
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
    """Return the first rows that span the row space, by number."""
    return row_echelon(matrix.T).pivots


def solved(matrix: Exact, right: Exact) -> Exact:
    """Return the solution x of `matrix` x = `right`, for a square matrix and a vector or several columns.

    Raises:
        ValueError: if the matrix is singular.
    """
    n = len(matrix)
    whole = np.concatenate([matrix, right.reshape(n, -1)], axis=1)
    echelon = row_echelon(whole)
    if echelon.pivots[:n] != list(range(n)):
        raise argument_error("matrix", "be invertible", "is singular")
    return echelon.rows[:n, n:].reshape(right.shape)


def determinant(matrix: Exact) -> Fraction:
    """Return the determinant."""
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
    """Return whether `x` is a convex combination of `points`, shape (n, d), by the first phase of the simplex method.

    Bland's rule, which cannot cycle, on a tableau of ints: a pivot divides by the last one without a remainder.
    """
    whole, denominator = integers(np.concatenate([points, x[None]]))
    rows = np.concatenate([whole, np.full((len(whole), 1), denominator, object)], axis=1).T
    signs = np.array([-1 if row[-1] < 0 else 1 for row in rows], object)
    table = rows * signs[:, None]
    table = np.concatenate([table, np.sum(table, axis=0)[None]])  # last row: what is missing, to be brought to zero
    basis = [len(points) + k for k in range(len(rows))]  # artificial variables, which never enter again
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
    """Return the row of the least ratio, and among equal ones that of the first variable."""
    rows = [i for i in range(len(basis)) if table[i, column] > 0]
    return min(rows, key=lambda i: (Fraction(table[i, -1], table[i, column]), basis[i]))


class Facets(NamedTuple):
    """Facets of a polytope with interior: `normals` . x + `offsets` >= 0, with zero at the points in `incident`."""

    normals: Exact
    offsets: Exact
    incident: list[int]  # a bit for each point


def facets(points: Exact) -> Facets:
    """Return the facets of the hull of `points`, shape (n, d), which must span d dimensions.

    The double description method on ints: points are added one at a time, and a facet that a point cuts off meets each
    of its neighbours in a new one. Flat position does no harm; the work grows with the number of facets squared.
    """
    whole, denominator = integers(points)
    rows = np.concatenate([np.full((len(whole), 1), denominator, object), whole], axis=1)
    first = independent_rows(rationals("points", rows))
    if len(first) <= points.shape[1]:
        raise argument_error("points", f"span {points.shape[1]} dimensions", f"span {len(first) - 1}")
    rays = _simplex(rows, first)
    for k in sorted(set(range(len(rows))) - set(first)):
        rays = _cut(rays, rows[k], 1 << k, points.shape[1])
    found = rationals("normals", np.stack([ray for ray, _ in rays]))
    return Facets(found[:, 1:], found[:, 0], [zeros for _, zeros in rays])


Ray = tuple[np.ndarray, int]  # an inequality as ints, and a bit for each point at which it is an equality


def _simplex(rows: np.ndarray, first: list[int]) -> list[Ray]:
    """Return the facets of a simplex, each opposite to one of its corners."""
    corners = rationals("points", rows[first])
    unit = rationals("points", np.eye(len(first), dtype=int))
    dual = solved(corners, unit)
    bits = [1 << k for k in first]
    return [(_primitive(integers(dual[:, [j]])[0][:, 0]), sum(bits) - bits[j]) for j in range(len(first))]


def _cut(rays: list[Ray], row: np.ndarray, bit: int, d: int) -> list[Ray]:
    """Return the facets after one more point."""
    values = [row @ ray for ray, _ in rays]
    kept = [(ray, zeros | bit if v == 0 else zeros) for (ray, zeros), v in zip(rays, values, strict=True) if v >= 0]
    above = [(k, v) for k, v in enumerate(values) if v > 0]
    below = [(k, v) for k, v in enumerate(values) if v < 0]
    for p, up in above:
        for q, down in below:
            common = rays[p][1] & rays[q][1]
            if common.bit_count() >= d - 1 and _neighbours(rays, p, q, common):
                kept.append((_primitive(up * rays[q][0] - down * rays[p][0]), common | bit))
    return kept


def _neighbours(rays: list[Ray], p: int, q: int, common: int) -> bool:
    """Return whether no third facet holds all points that two facets share."""
    return not any(zeros & common == common for k, (_, zeros) in enumerate(rays) if k not in (p, q))


def _primitive(ray: np.ndarray) -> np.ndarray:
    """Return the shortest vector of ints in the direction of one."""
    return ray // math.gcd(*ray)
