"""Locate special points along curves of homoclinic orbits by test functions of eigenvalues, orbit and adjoint."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Complex, Float

from analysis.dynamics.continuation.curve import CurvePoint
from analysis.dynamics.continuation.locating import JUMP, located
from analysis.dynamics.continuation.on_mesh import CurveOnMesh

# Imaginary part, relative to the modulus, up to which an eigenvalue counts as real.
REAL = 1e-9
# Cosine of an angle below which its sign means nothing, relative to the largest error of a curve's states; in systems
# that decouple directions are perpendicular all along a curve.
NOISE = 100.0


class Ends(NamedTuple):
    """A homoclinic orbit beside its saddle: eigenvalues, leading directions, and directions of orbit and adjoint.

    Attributes:
        stable: eigenvalues in the left half-plane, those nearest to the imaginary axis first.
        unstable: the others, in the same order.
        left: left eigenvectors of the leading stable and unstable eigenvalue, (2, n); NaN for a complex one.
        right: right eigenvectors, (2, n).
        orbit: directions from the saddle to the last and to the first state, (2, n).
        adjoint: the bounded solution of the adjoint variational equation at the first state, at the last one, and at
            places along the orbit, each of length one, (2 + places, n).
    """

    stable: Complex[np.ndarray, " s"]
    unstable: Complex[np.ndarray, " u"]
    left: Float[np.ndarray, "2 n"]
    right: Float[np.ndarray, "2 n"]
    orbit: Float[np.ndarray, "2 n"]
    adjoint: Float[np.ndarray, "k n"]

    def beside(self, other: "Ends") -> "Ends":
        """Choose the signs of eigenvectors and of the adjoint like those beside another orbit."""
        turned = lambda rows, near: rows * np.where(np.sum(rows * near, axis=1, keepdims=True) < 0, -1.0, 1.0)
        sign = -1.0 if np.sum(self.adjoint[2:] * other.adjoint[2:]) < 0 else 1.0
        return self._replace(
            left=turned(self.left, other.left), right=turned(self.right, other.right), adjoint=sign * self.adjoint
        )

    @property
    def leading_are_real(self) -> tuple[bool, bool]:
        """Whether the leading stable and the leading unstable eigenvalue are real."""
        first, second = (abs(values[0].imag) <= REAL * abs(values[0]) for values in (self.stable, self.unstable))
        return bool(first), bool(second)


def ends_of(linear: Float[np.ndarray, "n n"], orbit: np.ndarray, adjoint: np.ndarray) -> Ends:
    """Collect what test functions need; lengths of directions do not matter.

    Args:
        linear: the derivative of the field at the saddle.
        orbit: directions from the saddle to the last and to the first state, (2, n).
        adjoint: the solution of the adjoint variational equation at three states, (3, n).
    """
    values: Any = np.linalg.eigvals(linear).astype(complex)
    stable, unstable = values[values.real < 0], values[values.real > 0]
    stable, unstable = stable[np.argsort(-stable.real)], unstable[np.argsort(unstable.real)]
    vectors = [[_real_vector(matrix, one[0]) for one in (stable, unstable)] for matrix in (linear.T, linear)]
    unit = lambda rows: rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return Ends(stable, unstable, np.array(vectors[0]), np.array(vectors[1]), unit(orbit), unit(adjoint))


def _real_vector(matrix: np.ndarray, value: complex) -> np.ndarray:
    """Compute the eigenvector of a real eigenvalue; NaN for a complex one."""
    if abs(value.imag) > REAL * abs(value):
        return np.full(len(matrix), np.nan)
    found: Any = np.linalg.eig(matrix)
    return np.real(found[1][:, np.argmin(np.abs(found[0] - value))])


def _gap(values: np.ndarray) -> float:
    """Compute the squared difference of the first two eigenvalues, negative for a pair; NaN if there is one."""
    return float(np.real((values[0] - values[1]) ** 2)) if len(values) > 1 else np.nan


def _divergence(pair: np.ndarray, other: np.ndarray) -> float:
    """Add the first two eigenvalues of one side and the first one of the other; NaN if there is one."""
    return float(np.sum(np.real(pair[:2])) + other[0].real) if len(pair) > 1 else np.nan


TESTS: dict[str, Sequence[Callable[[Ends], float]]] = {
    "neutral saddle": (lambda at: float(at.stable[0].real + at.unstable[0].real),),
    "Belyakov point": (lambda at: _gap(at.stable), lambda at: _gap(at.unstable)),
    "neutrally divergent saddle-focus": (
        lambda at: _divergence(at.stable, at.unstable),
        lambda at: _divergence(at.unstable, at.stable),
    ),
    "orbit flip": (lambda at: float(at.left[0] @ at.orbit[0]), lambda at: float(at.left[1] @ at.orbit[1])),
    "inclination flip": (
        lambda at: float(at.right[0] @ at.adjoint[0]),
        lambda at: float(at.right[1] @ at.adjoint[1]),
    ),
}
"""Test functions of special points, for the stable and the unstable side.

Source: A. R. Champneys and Y. A. Kuznetsov, Numerical detection and continuation of codimension-two homoclinic
bifurcations, Int. J. Bifurcation Chaos 4 (1994).
"""
ANGLES = ("orbit flip", "inclination flip")
NEUTRAL = ("neutral bifocus", "neutral saddle-focus", "neutral saddle")
"""Names of points with a vanishing saddle quantity, by the number of real leading eigenvalues."""


def special_points(
    curve: CurveOnMesh, points: list[CurvePoint], ends: Callable[[CurvePoint], Ends]
) -> list[tuple[str, CurvePoint]]:
    """Locate the special points between successive points of a curve, with their names, in the order of the curve."""
    known = [ends(point) for point in points[:1]]
    for point in points[1:]:
        known.append(ends(point).beside(known[-1]))
    found: list[tuple[tuple[int, float], str, CurvePoint]] = []
    for name, tests in TESTS.items():
        least = NOISE * curve.accuracy if name in ANGLES else 0.0
        for side, test in enumerate(tests):
            sizes = [test(one) for one in known]
            for k, m in _changes(sizes, least):
                value = lambda point, test=test, before=known[k]: test(ends(point).beside(before))
                place, _ = located(curve, points[k], points[m], value)
                if place is None or not abs(value(place)) <= JUMP * (abs(sizes[k]) + abs(sizes[m])):
                    continue
                real = ends(place).leading_are_real
                if name == "neutrally divergent saddle-focus" and real[side]:
                    continue
                here = NEUTRAL[sum(real)] if name == "neutral saddle" else name
                found.append(((k, float(np.linalg.norm(place.flat - points[k].flat))), here, place))
    return [(name, place) for _, name, place in sorted(found, key=lambda one: one[0])]


def _changes(sizes: Sequence[float], least: float) -> list[tuple[int, int]]:
    """Find the pairs of points between which a test function changes sign; zero counts as positive.

    A point at which it is within its noise is left out, and its neighbours are a pair.
    """
    found = []
    for k, size in enumerate(sizes[:-1]):
        m = k + 2 if least and abs(sizes[k + 1]) <= least and k + 2 < len(sizes) else k + 1
        finite = bool(np.isfinite(size) and np.isfinite(sizes[m]))
        if finite and min(abs(size), abs(sizes[m])) >= least and (size >= 0) != (sizes[m] >= 0):
            found.append((k, m))
    return found


def bounded_adjoint(
    maps: Float[np.ndarray, "N n n"], unstable: Float[np.ndarray, "u n"], stable: Float[np.ndarray, "s n"], far: int
) -> Float[np.ndarray, "N+1 n"]:
    """Compute the solution of the adjoint variational equation that is bounded for all times, up to a factor.

    It decays towards both ends, where it must be accurate relative to its size.

    Args:
        maps: derivatives of the ends of successive intervals by their beginnings.
        unstable: a basis of the unstable subspace, to which it is perpendicular at the first state.
        stable: a basis of the stable subspace, to which it is perpendicular at the last state.
        far: the interval that is farthest from the saddle, which takes up what errors leave over.
    """
    import scipy.sparse.linalg

    N, n = maps.shape[:2]
    places = np.arange(N)[:, None, None] * n + np.arange(n)[:, None], np.arange(N)[:, None, None] * n + np.arange(n)
    matrix = scipy.sparse.lil_array(((N + 1) * n + 1, (N + 1) * n + 1))
    size = N * n
    matrix[np.arange(size), np.arange(size)] = 1.0
    rows, columns = (np.broadcast_to(place, maps.shape).ravel() for place in places)
    matrix[rows, columns + n] = -np.swapaxes(maps, 1, 2).ravel()
    matrix[size : size + len(unstable), :n] = unstable
    matrix[size + len(unstable) : size + n, size : size + n] = stable
    # a border makes the matrix, which is singular, regular
    border = np.zeros((2, size + n))
    border[:, far * n : (far + 1) * n] = np.random.default_rng(0).standard_normal((2, n))
    matrix[:-1, [-1]], matrix[[-1], :-1] = border[0][:, None], border[1][None]
    found = scipy.sparse.linalg.splu(matrix.tocsc()).solve(np.append(np.zeros(size + n), 1.0))
    return found[:-1].reshape(N + 1, n)
