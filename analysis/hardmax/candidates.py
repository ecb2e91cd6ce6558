"""Compute the set S of (4.1), the only possible limits of tokens, from the limit polytope K."""

from typing import Any, NamedTuple

import numpy as np

from analysis.hardmax.exact_geometry import independent_rows, is_exact, solved
from analysis.hardmax.polytopes import Face, Polytope, checked_point, checked_points, faces
from dynsim._core.checked import checked
from dynsim._core.validation import real_or_exact
from dynsim.errors import ArgumentError
from dynsim.exact import rationals


class Candidates(NamedTuple):
    """Set S of (4.1): its `points`, shape (s, d), and for each the face in whose relative interior it lies."""

    points: np.ndarray
    faces: tuple[Face, ...]


def projection_of_origin(points: Any, attention: Any = None) -> np.ndarray:
    r"""Project the origin A-orthogonally onto the affine hull of `points`, shape (n, d); the result has shape (d,).

    It minimises $|x|_A^2 = x^\top A x$. The result is exact for fractions and ints (with A taken exactly), and rounded
    for floats. A is the identity by default.

    Raises:
        ValueError: if A is singular on the direction space of the affine hull.
    """
    x = checked_points("points", points)
    A = _metric(attention, x)
    edges = x[1:] - x[0]
    if is_exact(x):
        edges = edges[independent_rows(edges)] if len(edges) else edges
        return x[0] - solved(edges @ A @ edges.T, edges @ (A @ x[0])) @ edges if len(edges) else x[0]
    factor = np.linalg.cholesky(A)
    return x[0] - np.linalg.lstsq(factor.T @ edges.T, factor.T @ x[0])[0] @ edges


@checked
def candidate_set(body: Polytope, attention: Any = None) -> Candidates:
    r"""Compute $\mathcal{S} = \{x \in \mathcal{K} : \max_\ell \langle A(v_\ell - x), x\rangle = 0\}$ of a polytope K.

    Every element lies in the relative interior of exactly one face, and is the projection of the origin onto the affine
    hull of that face. Such a projection belongs to S if it lies in the relative interior and if K lies in the
    half-space $\langle Ax, \cdot - x \rangle \le 0$. The origin belongs to S whenever it lies in K. The result is exact
    for exact points, and holds up to the tolerance of the polytope for floats.

    Args:
        body: the polytope K.
        attention: A, symmetric and positive definite, (d, d); the identity by default.

    Raises:
        ValueError: for an A of another shape.

    Source: HARDMAX, (4.1), with A in place of the identity.

    Example:
        >>> from analysis.hardmax import candidate_set, polytope
        >>> candidate_set(polytope([[-1], [3]])).points.tolist() == [[-1], [3], [0]]
        True
    """
    A = _metric(attention, body.points)
    found: list[tuple[np.ndarray, Face]] = []
    for face in (face for group in faces(body) for face in group):
        x = projection_of_origin(body.points[list(face)], attention)
        if _inside(body, face, x) and support_gap(body, x, A) <= body.tolerance * _scale(body, A):
            found.append((x, face))
    return Candidates(np.stack([x for x, _ in found]), tuple(face for _, face in found))


@checked
def support_gap(body: Polytope, x: Any, attention: Any = None) -> Any:
    r"""Compute $\max_\ell \langle A(v_\ell - x), x \rangle = h_K(Ax) - \langle Ax, x \rangle$, whose zeros in K form S.

    Here $h_K$ is the support function of K.

    Args:
        body: the polytope K.
        x: a point, (d,).
        attention: A, (d, d); the identity by default.

    Raises:
        ValueError: for a point or an A of another shape.

    Source: HARDMAX, (4.9), with A in place of the identity.

    Example:
        >>> import numpy as np
        >>> from analysis.hardmax import polytope, support_gap
        >>> segment = polytope([[1], [3]])
        >>> int(support_gap(segment, np.array([1]))), int(support_gap(segment, np.array([3])))
        (2, 0)
    """
    A = _metric(attention, body.points)
    point = checked_point(body.points, x)
    return max((body.vertex_points - point) @ (A @ point))


def _inside(body: Polytope, face: Face, x: np.ndarray) -> bool:
    """Test whether a point of a face's affine hull is in its relative interior, off all facets without the face."""
    others = [not set(face) <= set(facet) for facet in body.facets]
    return all(slack > body.tolerance for slack, other in zip(body.slacks(x), others, strict=True) if other)


def _scale(body: Polytope, A: np.ndarray) -> Any:
    """Bound by how much an error of length one changes inner products; one for exact points."""
    return 1 if is_exact(body.points) else float(np.max(np.linalg.norm(body.vertex_points @ A, axis=1)))


def _metric(attention: Any, points: np.ndarray) -> np.ndarray:
    d = points.shape[1]
    given = np.eye(d, dtype=int) if attention is None else np.asarray(real_or_exact("attention", attention))
    if given.shape != (d, d):
        raise ArgumentError("attention", f"have shape ({d}, {d})", f"has shape {given.shape}")
    return rationals("attention", given) if is_exact(points) else given.astype(float)
