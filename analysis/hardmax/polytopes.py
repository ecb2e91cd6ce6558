"""Compute convex hulls of finite point sets: vertices, faces, volume and membership; exact for fractions and ints."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.optimize
import scipy.spatial
from jaxtyping import Bool, Int

from analysis.hardmax.exact_geometry import determinant, facets, in_hull, is_exact, row_echelon
from dynsim._core.checked import checked
from dynsim._core.orientation import basis_of_range
from dynsim._core.printing import one_line, report
from dynsim._core.validation import real_or_exact
from dynsim.errors import ArgumentError
from dynsim.exact import rationals

# Largest dimension for Qhull; above it, floats are decided by linear programs and no faces are available.
MAX_HULL = 7
# Distance to a face, relative to the extent of the points, below which a float counts as on the face.
TOLERANCE = 1e-9
# Least tolerance that the solver of linear programs takes.
SOLVER = 1e-10
# Indices of the face's vertices among the points, in increasing order.
Face = tuple[int, ...]


@dataclass(frozen=True)
class Polytope:
    """Convex hull of `points`, shape (n, d), by vertices and by inequalities; it may have lower dimension than d.

    It is the set of x with `normals` @ x + `offsets` >= 0 and `equations` @ (x - points[0]) = 0. The latter describes
    the affine hull, which has the given `dimension`. `vertices` are indices of points, the first of equal ones. Each of
    `facets` lists the vertices on it, in the order of `normals`. For fractions and ints everything is exact and
    `tolerance` is 0. For floats it is an absolute length, and the normals are unit vectors.
    """

    points: np.ndarray
    vertices: Face
    facets: tuple[Face, ...]
    dimension: int
    normals: np.ndarray
    offsets: np.ndarray
    equations: np.ndarray
    tolerance: Any

    __repr__ = one_line
    __str__ = report

    @property
    def vertex_points(self) -> np.ndarray:
        """Coordinates of the vertices, shape (m, d)."""
        return self.points[list(self.vertices)]

    def slacks(self, x: np.ndarray) -> np.ndarray:
        """Compute the slack of each facet inequality at `x`, shape (facets,); for floats it is the signed distance."""
        return self.normals @ x + self.offsets

    def affine_hull_contains(self, x: np.ndarray) -> bool:
        """Test whether `x`, shape (d,), lies in the affine hull."""
        return all(abs(entry) <= self.tolerance for entry in self.equations @ (x - self.points[0]))


def polytope(points: Any) -> Polytope:
    """Compute the convex hull of `points`, shape (n, d): exactly for ints and fractions, by Qhull for floats.

    Raises:
        ValueError: for no points, for floats that are not finite or span more than 7 dimensions.

    Example:
        >>> from analysis.hardmax import polytope
        >>> square = polytope([[0, 0], [2, 0], [0, 2], [2, 2], [1, 1]])
        >>> square.vertices, len(square.facets), square.dimension
        ((0, 1, 2, 3), 4, 2)
    """
    x = checked_points("points", points)
    return _exact_polytope(x) if is_exact(x) else _float_polytope(x)


def checked_points(name: str, points: Any) -> np.ndarray:
    """Check points of shape (n, d), n and d at least one; convert exact ones to fractions, others to float64.

    Raises:
        ValueError: for another shape, or floats that are not finite; `name` is that of the argument.
    """
    found = np.asarray(real_or_exact(name, points))
    if found.ndim != 2 or 0 in found.shape:
        raise ArgumentError(name, "have shape (n, d), with at least one point", f"has shape {found.shape}")
    if is_exact(found):
        return rationals(name, found)
    if not np.all(np.isfinite(found)):
        raise ArgumentError(name, "be finite", "has an entry that is not")
    return found.astype(float)


@checked
def contains(body: Polytope, x: Any) -> bool:
    """Test whether a point, shape (d,), lies in a closed polytope, for floats up to its tolerance.

    Args:
        body: the polytope.
        x: the point, (d,).

    Raises:
        ValueError: for a point of another dimension.

    Example:
        >>> from analysis.hardmax import contains, polytope
        >>> triangle = polytope([[0, 0], [2, 0], [0, 2]])
        >>> contains(triangle, [1, 1]), contains(triangle, [2, 1])
        (True, False)
    """
    point = checked_point(body.points, x)
    return body.affine_hull_contains(point) and all(slack >= -body.tolerance for slack in body.slacks(point))


@checked
def faces(body: Polytope) -> tuple[tuple[Face, ...], ...]:
    """Compute the face lattice by dimension, from the vertices to the polytope itself; a face lists its vertices.

    Faces are intersections of facets; their number may grow exponentially with the dimension.

    Example:
        >>> from analysis.hardmax import faces, polytope
        >>> faces(polytope([[0, 0], [1, 0], [0, 1]]))
        (((0,), (1,), (2,)), ((0, 1), (0, 2), (1, 2)), ((0, 1, 2),))
    """
    whole = frozenset(body.vertices)
    found, new = {whole}, {whole}
    while new:
        new = {face & set(facet) for face in new for facet in body.facets} - found - {frozenset()}
        found |= new
    graded: list[list[Face]] = [[] for _ in range(body.dimension + 1)]
    rank: dict[frozenset[int], int] = {}
    # the lattice is graded, so that the rank is one more than that of the best proper face
    for face in sorted(found, key=len):
        rank[face] = 1 + max((rank[part] for part in rank if part < face), default=-1)
        graded[rank[face]].append(tuple(sorted(face)))
    return tuple(tuple(sorted(group)) for group in graded)


@checked
def volume(body: Polytope) -> Any:
    """Compute the volume in R^d, a fraction for exact points; it is zero for a polytope of lower dimension.

    A triangulation joins a vertex of every face to the facets without it, which is cheap up to a few hundred faces.

    Example:
        >>> from analysis.hardmax import polytope, volume
        >>> volume(polytope([[0, 0], [1, 0], [0, 1]]))
        Fraction(1, 2)
    """
    if body.dimension < body.points.shape[1]:
        return 0 * body.tolerance
    lattice = faces(body)
    det = determinant if is_exact(body.points) else np.linalg.det
    parts = (body.points[list(s[1:])] - body.points[s[0]] for s in _simplices(lattice, lattice[-1][0]))
    return sum(abs(det(edges)) for edges in parts) / math.factorial(body.dimension)


def vertices(points: Any) -> Face:
    """Find the vertices of the convex hull of `points`, shape (n, d), by index, the first of equal points.

    They are found from the facets in up to 3 dimensions (7 for floats), and by linear programs in more.

    Raises:
        ValueError: for no points, or floats that are not finite.

    Example:
        >>> from analysis.hardmax import vertices
        >>> vertices([[0, 0], [2, 0], [0, 2], [1, 1]])  # the last point lies on an edge
        (0, 1, 2)
    """
    x = checked_points("points", points)
    if x.shape[1] <= 3 or not is_exact(x) and len(_affine_coordinates(x)[1]) <= MAX_HULL:
        return polytope(x).vertices
    kept = list({tuple(row): i for i, row in reversed(list(enumerate(x.tolist())))}.values())
    for i in sorted(kept):
        others = [j for j in kept if j != i]
        if others and not outside(x[[i]], x[others])[0]:
            kept = others
    return tuple(sorted(kept))


def outside(points: Any, hull_of: Any) -> Bool[np.ndarray, " n"]:
    """Test which of `points`, shape (n, d), lie outside the convex hull of `hull_of`, shape (m, d).

    The result is exact in any dimension if both are exact. Floats count as inside up to 1e-9 of the extent of
    `hull_of`.

    Raises:
        ValueError: if the dimensions differ.
    """
    x, others = checked_points("points", points), checked_points("hull_of", hull_of)
    if x.shape[1] != others.shape[1]:
        raise ArgumentError("points", f"have dimension {others.shape[1]} to match `hull_of`", f"have {x.shape[1]}")
    if is_exact(x) and is_exact(others):
        known = {tuple(row) for row in others}
        return np.array([tuple(row) not in known and not in_hull(row, others) for row in x])
    x, others = x.astype(float), others.astype(float)
    if _affine_coordinates(others)[1].shape[0] > MAX_HULL:
        return np.array([_distance(row, others) > TOLERANCE * _length_scale(others) for row in x])
    body = _float_polytope(others)
    away = np.max(np.abs((x - others[0]) @ body.equations.T), axis=1) > body.tolerance
    return away | np.any(x @ body.normals.T + body.offsets < -body.tolerance, axis=1)


def nested(inner: Any, outer: Any) -> bool:
    """Test whether the convex hull of `inner`, shape (n, d), lies in that of `outer`, shape (m, d).

    Args:
        inner: points, (n, d).
        outer: points, (m, d).

    Raises:
        ValueError: for points that are not finite, or of different dimensions.

    Source: HARDMAX, Lemma 3.3.

    Example:
        >>> from analysis.hardmax import nested
        >>> triangle, edge = [[0, 0], [2, 0], [0, 2]], [[1, 0], [0, 1]]
        >>> nested(edge, triangle), nested(triangle, edge)
        (True, False)
    """
    return not np.any(outside(inner, outer))


def distinct_limits(limits: Any) -> tuple[np.ndarray, Int[np.ndarray, " n"]]:
    """Find the distinct values among exact limits, shape (s, d), and for each token the index of its value.

    Raises:
        ValueError: for floats, for which equality is not meaningful: see `analysis.tokens.clusters.clusters`.

    Example:
        >>> from analysis.hardmax import distinct_limits
        >>> values, which = distinct_limits([[1], [2], [1]])
        >>> values.tolist() == [[1], [2]], which.tolist()
        (True, [0, 1, 0])
    """
    x = checked_points("limits", limits)
    if not is_exact(x):
        raise ArgumentError("limits", "be exact (fractions or ints)", "are floats")
    seen: dict[tuple, int] = {}
    numbers = np.array([seen.setdefault(tuple(row), len(seen)) for row in x], int)
    return rationals("limits", [list(row) for row in seen]), numbers


def checked_point(points: np.ndarray, x: Any) -> np.ndarray:
    """Check a point of the dimension of a polytope's points; it is exact if they are."""
    point = np.asarray(real_or_exact("x", x))
    if point.shape != points.shape[1:]:
        raise ArgumentError("x", f"have shape {points.shape[1:]}", f"has shape {point.shape}")
    return rationals("x", point) if is_exact(points) else point.astype(float)


def _simplices(lattice: Sequence[Sequence[Face]], face: Face) -> list[Face]:
    """Triangulate a face without new vertices."""
    dimension = next(k for k, group in enumerate(lattice) if face in group)
    if dimension == 0:
        return [face]
    apex = face[0]
    opposite = [part for part in lattice[dimension - 1] if apex not in part and set(part) < set(face)]
    return [(apex, *rest) for part in opposite for rest in _simplices(lattice, part)]


def _exact_polytope(x: np.ndarray) -> Polytope:
    """Compute the hull of fractions; facets are computed in pivot coordinates, which determine the others."""
    d = x.shape[1]
    echelon = row_echelon(x - x[0])
    unit = rationals("equations", np.eye(d, dtype=int))
    equations = (unit - unit[:, echelon.pivots] @ echelon.rows).T if echelon.pivots else unit
    if not echelon.pivots:
        none = np.empty((0, d), object)
        return Polytope(x, (0,), (), 0, none, none[:, 0], equations, Fraction(0))
    found = facets(x[:, echelon.pivots])
    normals = rationals("normals", np.zeros((len(found.offsets), d), int))
    normals[:, echelon.pivots] = found.normals
    on = np.array([[bool(zeros >> k & 1) for k in range(len(x))] for zeros in found.incident])
    return Polytope(x, *_incidences(on), len(echelon.pivots), normals, found.offsets, equations, Fraction(0))


def _incidences(on: Bool[np.ndarray, "facets points"]) -> tuple[Face, tuple[Face, ...]]:
    """Find the vertices, and the vertices of each facet: a vertex is a point with a maximal set of facets."""
    boundary = np.flatnonzero(np.any(on, axis=0))
    sets, first = np.unique(on[:, boundary], axis=1, return_index=True)
    maximal = [k for k in range(len(first)) if np.sum(np.all(sets[sets[:, k]], axis=0)) == 1]
    found = sorted(int(boundary[first[k]]) for k in maximal)
    return tuple(found), tuple(tuple(i for i in found if row[i]) for row in on)


def _length_scale(x: np.ndarray) -> float:
    """Compute the length to which tolerances are relative: the extent of the points, or 1e-3 of their coordinates."""
    return float(np.max(np.linalg.norm(x - x[0], axis=1), initial=np.max(np.abs(x)) * 1e-3))


def _affine_coordinates(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute the coordinates of floats in their affine hull, (n, k), and its orthonormal basis, (k, d)."""
    _, sizes, right = np.linalg.svd(x - x[0], full_matrices=False)
    span = right[sizes > TOLERANCE * max(_length_scale(x), np.finfo(float).tiny) * math.sqrt(len(x))]
    basis = basis_of_range(span.T @ span).T
    return (x - x[0]) @ basis.T, basis


def _float_polytope(x: np.ndarray) -> Polytope:
    """Compute the hull of floats; facets of Qhull whose points agree up to the tolerance are merged."""
    y, basis = _affine_coordinates(x)
    k, tolerance = len(basis), TOLERANCE * _length_scale(x)
    equations = np.eye(x.shape[1]) - basis.T @ basis
    if k > MAX_HULL:
        raise ArgumentError("points", f"span at most {MAX_HULL} dimensions, or be exact", f"span {k}")
    if k == 0:
        return Polytope(x, (0,), (), 0, np.empty((0, x.shape[1])), np.empty(0), equations, tolerance)
    normals, offsets = _inequalities(y)
    away = np.abs(y @ normals.T + offsets)
    on = (away <= tolerance).T
    first = np.sort(np.unique(on, axis=0, return_index=True)[1])
    normals, offsets = normals[first] @ basis, offsets[first]
    return Polytope(x, *_incidences(on[first]), k, normals, offsets - normals @ x[0], equations, tolerance)


def _inequalities(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute the inward unit normals and the offsets of the facets of full-dimensional floats."""
    if y.shape[1] == 1:
        return np.array([[1.0], [-1.0]]), np.array([-np.min(y), np.max(y)])
    equations = -scipy.spatial.ConvexHull(y).equations
    return equations[:, :-1], equations[:, -1]


def _distance(x: np.ndarray, points: np.ndarray) -> float:
    """Compute the distance of `x` from the hull of floats in the maximum norm, by a linear program.

    The solver's tolerances are absolute, so lengths are those relative to the extent.
    """
    size, origin = _length_scale(points) or 1.0, points[0]
    x, points = (x - origin) / size, (points - origin) / size
    n, d = points.shape
    slack = np.full((d, 1), -1.0)
    upper = np.block([[points.T, slack], [-points.T, slack]])
    found = scipy.optimize.linprog(
        np.append(np.zeros(n), 1.0),
        A_ub=upper,
        b_ub=np.concatenate([x, -x]),
        A_eq=np.append(np.ones(n), 0.0)[None],
        b_eq=[1.0],
        method="highs",
        options={"primal_feasibility_tolerance": SOLVER},
    )
    return size * float(found.fun)
