"""Convex hulls of tokens and of their limits: vertices, faces, volume, what lies inside; exact for exact points."""

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
from dynsim.errors import argument_error
from dynsim.exact import rationals

MAX_HULL = 7  # dimensions in which Qhull is fast; in more, floats are decided by linear programs and have no faces
TOLERANCE = 1e-9  # of the size of a cloud of floats: what is nearer counts as on the face
Face = tuple[int, ...]  # numbers of vertices among the points, increasing


@dataclass(frozen=True)
class Polytope:
    """The hull of `points`, shape (n, d), flat or not: x is inside if `normals` . x + `offsets` >= 0 and it is in the
    affine hull, `equations` (x - points[0]) = 0.

    `vertices` are numbers of points, the first of equal ones; each of `facets` holds the vertices on it, in the order
    of `normals`. `dimension` is that of the affine hull. Fractions and ints are decided exactly, `tolerance` is then 0;
    for floats it is an absolute length, the normals being of length one.
    """

    points: np.ndarray
    vertices: Face
    facets: tuple[Face, ...]
    dimension: int
    normals: np.ndarray
    offsets: np.ndarray
    equations: np.ndarray
    tolerance: Any

    @property
    def corners(self) -> np.ndarray:
        """The values of the vertices, shape (m, d)."""
        return self.points[list(self.vertices)]

    def slacks(self, x: np.ndarray) -> np.ndarray:
        """Return how far inside each facet `x` is, shape (facets,); the distance for floats."""
        return self.normals @ x + self.offsets

    def spans(self, x: np.ndarray) -> bool:
        """Return whether `x` lies in the affine hull."""
        return all(abs(entry) <= self.tolerance for entry in self.equations @ (x - self.points[0]))


def polytope(points: Any) -> Polytope:
    """Return the hull of `points`, shape (n, d): exactly for ints and fractions, by Qhull for floats.

    Raises:
        ValueError: for no points, for floats that are not finite or span more than 7 dimensions.
    """
    x = cloud("points", points)
    return _exact_polytope(x) if is_exact(x) else _float_polytope(x)


def cloud(name: str, points: Any) -> np.ndarray:
    """Return points of shape (n, d), n and d at least one: fractions if they are exact, else float64."""
    found = np.asarray(points)
    if found.ndim != 2 or 0 in found.shape:
        raise argument_error(name, "have shape (n, d), with at least one point", f"has shape {found.shape}")
    if is_exact(found):
        return rationals(name, found)
    if not np.all(np.isfinite(found)):
        raise argument_error(name, "be finite", "has an entry that is not")
    return found.astype(float)


def contains(body: Polytope, x: Any) -> bool:
    """Return whether a point, shape (d,), lies in a polytope; its boundary belongs to it."""
    point = _like(body.points, x)
    return body.spans(point) and all(slack >= -body.tolerance for slack in body.slacks(point))


def faces(body: Polytope) -> tuple[tuple[Face, ...], ...]:
    """Return the faces by dimension, from the vertices to the polytope itself: each as its vertices, in order.

    All intersections of facets; their number may grow exponentially with the dimension.
    """
    whole = frozenset(body.vertices)
    found, new = {whole}, {whole}
    while new:
        new = {face & set(facet) for face in new for facet in body.facets} - found - {frozenset()}
        found |= new
    graded: list[list[Face]] = [[] for _ in range(body.dimension + 1)]
    rank: dict[frozenset[int], int] = {}
    for face in sorted(found, key=len):  # the lattice is graded: a face is one above its largest proper face
        rank[face] = 1 + max((rank[part] for part in rank if part < face), default=-1)
        graded[rank[face]].append(tuple(sorted(face)))
    return tuple(tuple(sorted(group)) for group in graded)


def volume(body: Polytope) -> Any:
    """Return the volume in R^d, zero for a flat polytope; a fraction for exact points.

    By simplices from a corner of every face to its facets that do not hold it: cheap up to a few hundred faces.
    """
    if body.dimension < body.points.shape[1]:
        return 0 * body.tolerance
    lattice = faces(body)
    det = determinant if is_exact(body.points) else np.linalg.det
    parts = (body.points[list(s[1:])] - body.points[s[0]] for s in _simplices(lattice, lattice[-1][0]))
    return sum(abs(det(edges)) for edges in parts) / math.factorial(body.dimension)


def vertices(points: Any) -> Face:
    """Return which points are vertices of the hull, the first of equal ones; works in any dimension.

    By facets where there are few, in up to 3 dimensions (7 for floats), and by linear programs above.
    """
    x = cloud("points", points)
    if x.shape[1] <= 3 or not is_exact(x) and len(_frame(x)[1]) <= MAX_HULL:
        return polytope(x).vertices
    kept = list({tuple(row): i for i, row in reversed(list(enumerate(x.tolist())))}.values())
    for i in sorted(kept):
        others = [j for j in kept if j != i]
        if others and not outside(x[[i]], x[others])[0]:
            kept = others
    return tuple(sorted(kept))


def outside(points: Any, hull_of: Any) -> Bool[np.ndarray, " n"]:
    """Return which of `points`, shape (n, d), lie outside the hull of the others, shape (m, d).

    Exact if both are, whatever the dimension; floats count as inside up to 1e-9 of the size of the cloud.
    """
    x, others = cloud("points", points), cloud("hull_of", hull_of)
    if x.shape[1] != others.shape[1]:
        raise argument_error("points", f"have dimension {others.shape[1]}, as `hull_of`", f"have {x.shape[1]}")
    if is_exact(x) and is_exact(others):
        known = {tuple(row) for row in others}
        return np.array([tuple(row) not in known and not in_hull(row, others) for row in x])
    x, others = x.astype(float), others.astype(float)
    if _frame(others)[1].shape[0] > MAX_HULL:
        return np.array([_distance(row, others) > TOLERANCE * _size(others) for row in x])
    body = _float_polytope(others)
    away = np.max(np.abs((x - others[0]) @ body.equations.T), axis=1) > body.tolerance
    return away | np.any(x @ body.normals.T + body.offsets < -body.tolerance, axis=1)


def nested(inner: Any, outer: Any) -> bool:
    """Return whether the hull of one cloud lies in that of another, as `outside` decides it.

    Source: HARDMAX, Lemma 3.3.
    """
    return not np.any(outside(inner, outer))


def attained(limits: Any) -> tuple[np.ndarray, Int[np.ndarray, " n"]]:
    """Return the distinct values among exact limits, shape (s, d), and for each token the number of its own.

    Raises:
        ValueError: for floats, of which equality says nothing: see `analysis.tokens.clusters.clusters`.
    """
    x = cloud("limits", limits)
    if not is_exact(x):
        raise argument_error("limits", "be exact (fractions or ints)", "are floats")
    seen: dict[tuple, int] = {}
    numbers = np.array([seen.setdefault(tuple(row), len(seen)) for row in x], int)
    return rationals("limits", [list(row) for row in seen]), numbers


def _like(points: np.ndarray, x: Any) -> np.ndarray:
    point = np.asarray(x)
    if point.shape != points.shape[1:]:
        raise argument_error("x", f"have shape {points.shape[1:]}", f"has shape {point.shape}")
    return rationals("x", point) if is_exact(points) else point.astype(float)


def _simplices(lattice: Sequence[Sequence[Face]], face: Face) -> list[Face]:
    """Return a triangulation of a face, without new points."""
    dimension = next(k for k, group in enumerate(lattice) if face in group)
    if dimension == 0:
        return [face]
    apex = face[0]
    opposite = [part for part in lattice[dimension - 1] if apex not in part and set(part) < set(face)]
    return [(apex, *rest) for part in opposite for rest in _simplices(lattice, part)]


def _exact_polytope(x: np.ndarray) -> Polytope:
    """Return the hull of fractions: facets in coordinates that determine all the others."""
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
    return Polytope(x, *_corners(on), len(echelon.pivots), normals, found.offsets, equations, Fraction(0))


def _corners(on: Bool[np.ndarray, "facets points"]) -> tuple[Face, tuple[Face, ...]]:
    """Return vertices and facets from incidences: no other point lies on all facets of a vertex and on one more."""
    boundary = np.flatnonzero(np.any(on, axis=0))
    sets, first = np.unique(on[:, boundary], axis=1, return_index=True)
    maximal = [k for k in range(len(first)) if np.sum(np.all(sets[sets[:, k]], axis=0)) == 1]
    corners = sorted(int(boundary[first[k]]) for k in maximal)
    return tuple(corners), tuple(tuple(i for i in corners if row[i]) for row in on)


def _size(x: np.ndarray) -> float:
    """Return the length to which tolerances refer: the extent of a cloud, or its distance from the origin."""
    return float(np.max(np.linalg.norm(x - x[0], axis=1), initial=np.max(np.abs(x)) * 1e-3))


def _frame(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return coordinates of floats in their affine hull, shape (n, k), and its orthonormal basis, shape (k, d)."""
    _, sizes, right = np.linalg.svd(x - x[0], full_matrices=False)
    basis = right[sizes > TOLERANCE * max(_size(x), np.finfo(float).tiny) * math.sqrt(len(x))]
    return (x - x[0]) @ basis.T, basis


def _float_polytope(x: np.ndarray) -> Polytope:
    """Return the hull of floats: facets of Qhull that agree up to the tolerance are one."""
    y, basis = _frame(x)
    k, tolerance = len(basis), TOLERANCE * _size(x)
    equations = np.eye(x.shape[1]) - basis.T @ basis
    if k > MAX_HULL:
        raise argument_error("points", f"span at most {MAX_HULL} dimensions, or be exact", f"span {k}")
    if k == 0:
        return Polytope(x, (0,), (), 0, np.empty((0, x.shape[1])), np.empty(0), equations, tolerance)
    normals, offsets = _inequalities(y)
    away = np.abs(y @ normals.T + offsets)
    on = (away <= tolerance).T
    first = np.sort(np.unique(on, axis=0, return_index=True)[1])
    normals, offsets = normals[first] @ basis, offsets[first]
    return Polytope(x, *_corners(on[first]), k, normals, offsets - normals @ x[0], equations, tolerance)


def _inequalities(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return inward unit normals and offsets of the facets of floats that span all their dimensions."""
    if y.shape[1] == 1:
        return np.array([[1.0], [-1.0]]), np.array([-np.min(y), np.max(y)])
    equations = -scipy.spatial.ConvexHull(y).equations
    return equations[:, :-1], equations[:, -1]


def _distance(x: np.ndarray, points: np.ndarray) -> float:
    """Return how far `x` is from the hull of floats, in the largest coordinate, by a linear program."""
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
    )
    return float(found.fun)
