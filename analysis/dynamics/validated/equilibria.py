"""Equilibria and periodic points certified by Krawczyk's operator in ball arithmetic: existence, uniqueness, count.

The statements are about the field as it is written, its constants being the floating-point numbers that they are.
"""

import collections
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from analysis.dynamics.linearisation import tangent_basis
from analysis.dynamics.validated.ball_operations import ball
from analysis.dynamics.validated.balls import BallFunction, Balls
from analysis.dynamics.validated.enclosures import ball_box, enclosed_eigenvalues, ends_of, is_inside
from dynsim._core.printing import one_line, report
from dynsim._core.validation import box_sides, integer, number, reals
from dynsim.errors import ArgumentError, counted
from dynsim.systems.base import AbstractFlow, AbstractMap

INFLATIONS = (1e-10, 1e-7, 1e-4, 1e-3, 1e-2, 3e-2, 0.1, 0.3)  # half sides of boxes in which uniqueness is tried
NEWTON = 30


class CertifiedEquilibrium(NamedTuple):
    """An equilibrium that exists: it lies within `radius` of `state` in every component, and is alone in `unique`.

    `unique` is a box, (2, d). `kind` is `stable`, `saddle` or `unstable` where the signs of all real parts (of a map,
    of the moduli less one) are certified by `eigenvalues`, balls of python-flint, and else `undecided`.
    """

    state: Float[np.ndarray, " d"]
    radius: float
    unique: Float[np.ndarray, "2 d"]
    kind: str
    eigenvalues: tuple[Any, ...]

    __repr__ = one_line
    __str__ = report

    @property
    def enclosure(self) -> Float[np.ndarray, "2 d"]:
        """The box of this radius around the state, rounded outwards, which holds the equilibrium."""
        ends = np.stack([self.state - self.radius, self.state + self.radius])
        return np.nextafter(ends, [[-np.inf], [np.inf]])


class CertifiedCount(NamedTuple):
    """The equilibria in a box: those certified, and the boxes that could not be decided.

    If there are no such boxes, there are exactly as many equilibria in the box as are listed; else there are at least
    as many. `boxes` counts the boxes that were looked at; `end` is `closed` or `boxes`, if that reached its cap.
    """

    found: tuple[CertifiedEquilibrium, ...]
    undecided: Float[np.ndarray, "boxes 2 d"]
    boxes: int
    end: str

    __repr__ = one_line

    @property
    def exact(self) -> bool:
        """Whether the count is certified."""
        return not len(self.undecided)

    def __str__(self) -> str:
        """Return the count in a line."""
        kinds = [e.kind for e in self.found]
        said = ", ".join(f"{kinds.count(k)} {k}" for k in dict.fromkeys(kinds))
        count = counted(len(kinds), "equilibrium", "equilibria") + (f" ({said})" if said else "")
        if self.exact:
            return f"exactly {count} in the box; {self.boxes} boxes"
        cap = ", the cap on boxes was reached" if self.end == "boxes" else ""
        return f"at least {count} in the box, {len(self.undecided)} undecided boxes; {self.boxes} boxes{cap}"


def certified_equilibrium(
    system: AbstractFlow | AbstractMap, near: ArrayLike, *, period: int = 1
) -> CertifiedEquilibrium:
    """Return the equilibrium of a flow near a state, or the periodic point of a map, with a proof that it exists.

    On a curved space states are ambient vectors, and the box is one of the ambient space.

    Args:
        system: a flow (at t = 0) or a map, of states that are one vector or one matrix, flattened.
        near: a state near it.
        period: of a map, after how many steps the point returns; it may return before.

    Raises:
        ValueError: for bad input, a field that balls cannot enclose, or if no proof is found.
        UnavailableError: without python-flint.
    """
    problem = _Problem(system, near, period)
    x = problem.newton(np.asarray(near, float).ravel())
    found = problem.certified(x)
    if found is None:
        raise ArgumentError("near", "be near a regular equilibrium", "leads to none that can be certified")
    return found


def certified_count(
    system: AbstractFlow | AbstractMap,
    box: ArrayLike,
    *,
    period: int = 1,
    max_boxes: int = 20_000,
    smallest: float = 1e-6,
) -> CertifiedCount:
    """Return the equilibria of a flow in a box, or the periodic points of a map, counted with proof where that closes.

    A box is left out if the field has no zero in it; it is closed if Krawczyk's operator proves that it holds exactly
    one, or that it lies where a certified one is alone; else it is halved.

    Args:
        system: a flow (at t = 0) or a map, on Euclidean space, whose states are vectors.
        box: the least and the largest value of each component, (2, d), of not more than about four components.
        period: of a map, after how many steps the points return; those of smaller periods are among them.
        max_boxes: the cap on boxes.
        smallest: the side, as a share of the box, at which a box is given up.

    Raises:
        ValueError: for bad input, or a field that balls cannot enclose.
        UnavailableError: without python-flint.
    """
    sides = box_sides("box", box)
    problem = _Problem(system, sides[0], period)
    if problem.normals:
        raise ArgumentError("system", "be on Euclidean space to count in a box", "is on a curved space")
    return _Subdivision(problem, sides, integer("max_boxes", max_boxes, least=1), number("smallest", smallest)).result()


def _equations(system: Any, flat: Any, shape: tuple[int, ...], period: int, curved: bool) -> Any:
    """Return the field, and off the space the way back to it, or the displacement by a map."""
    y = jnp.reshape(flat, shape)
    if isinstance(system, AbstractFlow):
        field = system.vector_field(jnp.zeros(()), y)
        return jnp.ravel(field + (system.space.project(y) - y) if curved else field)
    x = y
    for k in range(period):
        x = system.step(k, x)
    return jnp.ravel(x - y)


@eqx.filter_jit
def _derivatives(system: Any, x: Any, shape: tuple[int, ...], period: int, curved: bool) -> Any:
    """Return the equations at a point and their derivatives."""
    equations = lambda y: _equations(system, y, shape, period, curved)
    return equations(x), jax.jacfwd(equations)(x)


class _Problem:
    """The equations F = 0 of a system in ambient coordinates, in floats and in balls."""

    def __init__(self, system: Any, near: Any, period: Any):
        start = np.asarray(reals("near", near), float)
        self.is_map, self.system = isinstance(system, AbstractMap), system
        if not isinstance(system, AbstractFlow | AbstractMap):
            raise ArgumentError("system", "be a flow or a map", f"is a {type(system).__name__}")
        self.period = integer("period", period, least=1)
        if not self.is_map and self.period != 1:
            raise ArgumentError("period", "be 1 for a flow", f"is {self.period}")
        self.shape = start.shape
        self.size = start.size
        point = system.space.project(jnp.asarray(start))
        self.normals = self.size - tangent_basis(system.space, point).shape[1]
        self.exact = BallFunction(self._equations, self.size)

    def _equations(self, flat: Any) -> Any:
        return _equations(self.system, flat, self.shape, self.period, bool(self.normals))

    def _derivatives(self, x: Any) -> Any:
        return _derivatives(self.system, x, self.shape, self.period, bool(self.normals))

    def newton(self, x: np.ndarray) -> np.ndarray:
        """Return a zero near a point, in floats."""
        for _ in range(NEWTON):
            values, J = (np.asarray(part) for part in self._derivatives(jnp.asarray(x)))
            if not np.all(np.isfinite(J)) or not np.all(np.isfinite(values)):
                return x
            change = np.linalg.lstsq(J, -values, rcond=1e-12)[0]
            x = x + change
            if np.max(np.abs(change)) <= 1e-15 * (1 + np.max(np.abs(x))):
                break
        return x

    def has_no_zero(self, X: Balls) -> bool:
        """Return whether a component of the equations is certainly not zero anywhere in a box."""
        return any(entry.is_finite() and not entry.contains(0) for entry in self.exact(X))

    def krawczyk(self, low: np.ndarray, high: np.ndarray) -> tuple[Balls, Balls] | None:
        """Return a box as balls, and Krawczyk's operator on it; None without an inverse or a bound, or at a jump."""
        X, middle = ball_box(low, high), (low + high) / 2
        if self.exact.may_jump(X):
            return None
        point = np.array([ball(float(m)) for m in middle], dtype=object)
        J, values = self.exact.jacobian(X), self.exact(point)
        if not all(entry.is_finite() for entry in J.ravel()):
            return None
        center = np.array([[float(entry.mid()) for entry in row] for row in J])
        if np.linalg.cond(center) > 1e12:
            return None
        C = np.array([[ball(float(c)) for c in row] for row in np.linalg.inv(center)], dtype=object)
        rest = np.array([[ball(float(i == j)) for j in range(len(X))] for i in range(len(X))], dtype=object) - C.dot(J)
        return X, point - C.dot(values) + rest.dot(X - point)

    def certified(self, x: np.ndarray) -> CertifiedEquilibrium | None:
        """Return the proof that one equilibrium lies near a point, with the largest box in which it is alone."""
        tight, wide = None, None
        for share in INFLATIONS:
            half = share * (1 + np.abs(x))
            found = self.krawczyk(x - half, x + half)
            if found is None or not is_inside(found[1], found[0]):
                if tight is not None:
                    break
                continue
            tight = found[1] if tight is None else tight
            wide = np.stack([x - half, x + half])
        if tight is None or wide is None:
            return None
        for _ in range(3):  # the operator contracts
            low, high = ends_of(tight)
            again = self.krawczyk(low, high)
            if again is None or not is_inside(again[1], again[0]):
                break
            tight = again[1]
        low, high = ends_of(tight)
        middle = (low + high) / 2
        eigenvalues, kind = self._stability(tight)
        radius = float(np.nextafter(np.max(np.maximum(high - middle, middle - low)), np.inf))
        return CertifiedEquilibrium(middle, radius, wide, kind, eigenvalues)

    def _stability(self, X: Balls) -> tuple[tuple[Any, ...], str]:
        """Return enclosures of the eigenvalues, and the type if the signs of all are certain."""
        J = self.exact.jacobian(X)
        values = enclosed_eigenvalues(J + (np.array(np.eye(len(J)), dtype=object) if self.is_map else 0))
        growth = [abs(v) - 1 if self.is_map else v.real for v in values]
        grow, decay = (sum(bool(g > 0) for g in growth), sum(bool(g < 0) for g in growth))
        if not values or grow + decay < len(growth):
            return values, "undecided"
        if not grow:
            return values, "stable"
        return values, "unstable" if grow == len(growth) - self.normals else "saddle"


class _Subdivision:
    """The halving of a box until every part is decided."""

    def __init__(self, problem: _Problem, sides: np.ndarray, max_boxes: int, smallest: float):
        self.problem, self.sides = problem, sides
        self.max_boxes, self.smallest = max_boxes, smallest
        self.found: list[CertifiedEquilibrium] = []
        self.undecided: list[np.ndarray] = []

    def result(self) -> CertifiedCount:
        """Return the count."""
        todo, looked, end = collections.deque([self.sides]), 0, "closed"
        while todo:
            if looked >= self.max_boxes:
                self.undecided, end = [*self.undecided, *todo], "boxes"
                break
            part, looked = todo.popleft(), looked + 1  # the largest first: a cap leaves parts of one size
            todo += self._rest(part)
        inside = [e for e in self.found if self._place(e) == "inside"]
        boundary = [e for e in self.found if self._place(e) == "boundary"]
        undecided = [*self.undecided, *(e.enclosure for e in boundary)]
        order = {"stable": 0, "saddle": 1, "unstable": 2, "undecided": 3}
        inside.sort(key=lambda e: order[e.kind])
        left = np.array(undecided).reshape(len(undecided), 2, self.sides.shape[1])
        return CertifiedCount(tuple(inside), left, looked, end)

    def _rest(self, part: np.ndarray) -> list[np.ndarray]:
        """Return the parts of a box that are still to be looked at; none if it is decided."""
        if self._covers(part):
            return []
        low, high = part
        X = ball_box(low, high)
        if self.problem.has_no_zero(X):
            return []
        found = self.problem.krawczyk(low, high)
        if found is not None:
            box, K = found
            if any(k.is_finite() and not k.overlaps(b) for k, b in zip(K, box, strict=True)):
                return []
            ends = ends_of(K)
            if is_inside(K, box):  # exactly one, which is in K
                self._add((ends[0] + ends[1]) / 2)
                known = any(_is_within(e.enclosure, part) for e in self.found)
                if not known and not self._covers(np.stack(ends)):
                    self.undecided.append(part)
                return []
            if np.all(np.isfinite(ends)):
                part = np.stack([np.maximum(low, ends[0]), np.minimum(high, ends[1])])
        widths = (part[1] - part[0]) / (self.sides[1] - self.sides[0])
        if np.max(widths) < self.smallest:
            self._add((part[0] + part[1]) / 2)
            if not self._covers(part):
                self.undecided.append(part)
            return []
        if np.max(widths) < 0.1:
            self._add((part[0] + part[1]) / 2)
        return self._halves(part, int(np.argmax(widths)))

    def _halves(self, part: np.ndarray, axis: int) -> list[np.ndarray]:
        middle = (part[0, axis] + part[1, axis]) / 2
        first, second = part.copy(), part.copy()
        first[1, axis] = second[0, axis] = middle
        return [first, second]

    def _covers(self, part: np.ndarray) -> bool:
        return any(_is_within(part, e.unique) for e in self.found)

    def _add(self, near: np.ndarray) -> None:
        """Certify the equilibrium to which Newton's method leads, unless it is known, or may be.

        That of a box in which one is alone is another than those whose enclosures do not meet its own.
        """
        x = self.problem.newton(near)
        if not np.all(np.isfinite(x)) or self._covers(np.stack([x, x])):
            return
        one = self.problem.certified(x)
        if one is not None and not any(_meet(one.enclosure, e.enclosure) for e in self.found):
            self.found.append(one)

    def _place(self, e: CertifiedEquilibrium) -> str:
        """Return whether an equilibrium is in the box, or outside of it, or too near to its boundary to say."""
        low, high = e.enclosure
        if np.all(low >= self.sides[0]) and np.all(high <= self.sides[1]):
            return "inside"
        return "outside" if np.any(high < self.sides[0]) or np.any(low > self.sides[1]) else "boundary"


def _is_within(inner: np.ndarray, outer: np.ndarray) -> bool:
    """Return whether a box, (2, d), lies in another."""
    return bool(np.all(inner[0] >= outer[0]) and np.all(inner[1] <= outer[1]))


def _meet(one: np.ndarray, other: np.ndarray) -> bool:
    """Return whether two boxes, (2, d), have a point in common."""
    return bool(np.all(one[0] <= other[1]) and np.all(other[0] <= one[1]))
