"""Certify and count equilibria and periodic points with Krawczyk's operator in ball arithmetic.

The results hold for the vector field exactly as coded: each floating-point constant stands for its exact binary value.
"""

import collections
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from analysis.dynamics.linearisation import tangent_basis
from analysis.dynamics.validated.balls import BallFunction, Balls
from analysis.dynamics.validated.enclosures import ball_box, certified_kind, enclosed_eigenvalues, ends_of, is_inside
from analysis.dynamics.validated.krawczyk import certified_zero, krawczyk, newton
from dynsim._core.placement import on_host_by_default
from dynsim._core.printing import one_line, report
from dynsim._core.types import ArrayLike, BoxLike
from dynsim._core.validation import box_sides, integer, number, reals
from dynsim.errors import ArgumentError, counted
from dynsim.systems.base import AbstractFlow, AbstractMap


class CertifiedEquilibrium(NamedTuple):
    """Equilibrium proved to exist within `radius` of `state` in every component, and unique in the box `unique`.

    Attributes:
        state: midpoint of the enclosure, flattened.
        radius: bound of the error of every component.
        unique: box, (low, high) for each component, that contains no other equilibrium.
        kind: `stable`, `saddle` or `unstable` if all signs of the real parts of the eigenvalues (for a map, of the
            moduli minus one) are certified, else `undecided`.
        eigenvalues: balls of python-flint that contain the eigenvalues.
    """

    state: Float[np.ndarray, " d"]
    radius: float
    unique: Float[np.ndarray, "d 2"]
    kind: str
    eigenvalues: tuple[Any, ...]

    __repr__ = one_line
    __str__ = report

    @property
    def enclosure(self) -> Float[np.ndarray, "d 2"]:
        """Box of half side `radius` around the state, rounded outwards, which contains the equilibrium."""
        ends = np.stack([self.state - self.radius, self.state + self.radius], axis=1)
        return np.nextafter(ends, [-np.inf, np.inf])


class CertifiedCount(NamedTuple):
    """Certified equilibria in a box, and the parts of the box that remain undecided.

    Without undecided parts, the box contains exactly the listed equilibria; otherwise it contains at least these.
    `boxes` is the number of boxes examined. `end` is `closed`, or `boxes` if the limit on boxes was reached.
    """

    found: tuple[CertifiedEquilibrium, ...]
    undecided: Float[np.ndarray, "boxes d 2"]
    boxes: int
    end: str

    __repr__ = one_line

    @property
    def exact(self) -> bool:
        """Whether the number of equilibria is certified."""
        return not len(self.undecided)

    def __str__(self) -> str:
        """Describe the count in one line."""
        kinds = [e.kind for e in self.found]
        said = ", ".join(f"{kinds.count(k)} {k}" for k in dict.fromkeys(kinds))
        count = counted(len(kinds), "equilibrium", "equilibria") + (f" ({said})" if said else "")
        if self.exact:
            return f"exactly {count} in the box; {self.boxes} boxes"
        cap = ", the cap on boxes was reached" if self.end == "boxes" else ""
        return f"at least {count} in the box, {len(self.undecided)} undecided boxes; {self.boxes} boxes{cap}"


@on_host_by_default
def certified_equilibrium(
    system: AbstractFlow | AbstractMap, near: ArrayLike, *, period: int = 1
) -> CertifiedEquilibrium:
    """Certify an equilibrium of a flow, or a periodic point of a map, near a given state.

    On a curved space states are ambient vectors, and the boxes are boxes of the ambient space.

    Args:
        system: a flow (frozen at t = 0) or a map, whose state is one vector or one matrix, which is flattened.
        near: a state near the equilibrium, from which Newton's method starts.
        period: number of steps of a map after which the point returns; a divisor may be its least period.

    Raises:
        ValueError: for bad input, a field that cannot be evaluated in balls, or if the proof fails.
        UnavailableError: without python-flint.

    Example:
        >>> import numpy as np
        >>> import dynsim as ds
        >>> from analysis.dynamics import certified_equilibrium
        >>> proof = certified_equilibrium(ds.FunctionFlow(lambda t, x: x**2 - 2.0), [1.4])
        >>> proof.kind, abs(float(proof.state[0]) - np.sqrt(2.0)) <= proof.radius < 1e-12
        ('unstable', True)
    """
    problem = _Problem(system, near, period)
    x = problem.newton(np.asarray(near, float).ravel())
    found = problem.certified(x)
    if found is None:
        raise ArgumentError("near", "be near a regular equilibrium", "leads to none that can be certified")
    return found


@on_host_by_default
def certified_count(
    system: AbstractFlow | AbstractMap,
    box: BoxLike,
    *,
    period: int = 1,
    max_boxes: int = 20_000,
    smallest: float = 1e-6,
) -> CertifiedCount:
    """Count the equilibria of a flow, or the periodic points of a map, in a box, with proof where possible.

    A box is discarded if the field has no zero in it. It is settled if Krawczyk's operator proves that it contains
    exactly one zero, or if it lies in the uniqueness box of a certified equilibrium. Otherwise it is bisected.

    Args:
        system: a flow (frozen at t = 0) or a map on Euclidean space, whose states are vectors.
        box: (low, high) for each component, (d, 2). The cost grows exponentially with d; use at most about four.
        period: number of steps of a map after which the points return; points of divisors of it are included.
        max_boxes: largest number of boxes to examine.
        smallest: side, relative to the given box, below which a part is left undecided.

    Raises:
        ValueError: for bad input, or a field that cannot be evaluated in balls.
        UnavailableError: without python-flint.

    Example:
        >>> import dynsim as ds
        >>> from analysis.dynamics import certified_count
        >>> count = certified_count(ds.FunctionFlow(lambda t, x: x - x**3), [(-2.0, 2.0)])
        >>> count.exact, [round(float(one.state[0]), 6) + 0.0 for one in count.found]
        (True, [-1.0, 1.0, 0.0])
    """
    sides = box_sides("box", box)
    problem = _Problem(system, sides[0], period)
    if problem.normals:
        raise ArgumentError("system", "be on Euclidean space to count in a box", "is on a curved space")
    return _Subdivision(problem, sides, integer("max_boxes", max_boxes, least=1), number("smallest", smallest)).result()


def _equations(system: Any, flat: Any, shape: tuple[int, ...], period: int, curved: bool) -> Any:
    """Evaluate the vector field plus a term that attracts to a curved space, or the displacement by a map."""
    y = jnp.reshape(flat, shape)
    if isinstance(system, AbstractFlow):
        field = system.vector_field(jnp.zeros(()), y)
        return jnp.ravel(field + (system.space.project(y) - y) if curved else field)
    x = y
    for k in range(period):
        x = system.step(k, x)
    return jnp.ravel(x - y)


class _Problem:
    """Equations F = 0 of a system in ambient coordinates, in floating-point and in ball arithmetic."""

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

    def newton(self, x: np.ndarray) -> np.ndarray:
        """Find a zero near a point by Newton's method in floating-point arithmetic."""
        return newton(self.exact, x)

    def has_no_zero(self, X: Balls) -> bool:
        """Test whether some component of the equations is certainly nonzero on a whole box."""
        return any(entry.is_finite() and not entry.contains(0) for entry in self.exact(X))

    def certified(self, x: np.ndarray) -> CertifiedEquilibrium | None:
        """Prove that exactly one equilibrium lies near a point, with the largest box tried in which it is unique."""
        zero = certified_zero(self.exact, x)
        if zero is None:
            return None
        low, high, alone = zero
        middle = (low + high) / 2
        eigenvalues, kind = self._stability(ball_box(low, high))
        radius = float(np.nextafter(np.max(np.maximum(high - middle, middle - low)), np.inf))
        return CertifiedEquilibrium(middle, radius, alone.T, kind, eigenvalues)

    def _stability(self, X: Balls) -> tuple[tuple[Any, ...], str]:
        """Enclose the eigenvalues, and classify the stability if all signs are certain."""
        J = self.exact.jacobian(X)
        values = enclosed_eigenvalues(J + (np.array(np.eye(len(J)), dtype=object) if self.is_map else 0))
        return certified_kind(values, is_map=self.is_map, normals=self.normals)


class _Subdivision:
    """Bisection of a box until every part is settled, or a limit is reached."""

    def __init__(self, problem: _Problem, sides: np.ndarray, max_boxes: int, smallest: float):
        self.problem, self.sides = problem, sides
        self.max_boxes, self.smallest = max_boxes, smallest
        self.found: list[CertifiedEquilibrium] = []
        self.undecided: list[np.ndarray] = []

    def result(self) -> CertifiedCount:
        """Run the bisection and count the equilibria."""
        todo, looked, end = collections.deque([self.sides]), 0, "closed"
        while todo:
            if looked >= self.max_boxes:
                self.undecided, end = [*self.undecided, *todo], "boxes"
                break
            # largest boxes first, so that the limit leaves parts of equal size
            part, looked = todo.popleft(), looked + 1
            todo += self._rest(part)
        inside = [e for e in self.found if self._place(e) == "inside"]
        boundary = [e for e in self.found if self._place(e) == "boundary"]
        undecided = [*self.undecided, *(e.enclosure.T for e in boundary)]
        order = {"stable": 0, "saddle": 1, "unstable": 2, "undecided": 3}
        inside.sort(key=lambda e: order[e.kind])
        left = np.array(undecided).reshape(len(undecided), 2, self.sides.shape[1]).transpose(0, 2, 1)
        return CertifiedCount(tuple(inside), left, looked, end)

    def _rest(self, part: np.ndarray) -> list[np.ndarray]:
        """Examine a box; give the parts that are still open, none if it is settled."""
        if self._covers(part):
            return []
        low, high = part
        X = ball_box(low, high)
        if self.problem.has_no_zero(X):
            return []
        found = krawczyk(self.problem.exact, low, high)
        if found is not None:
            box, K = found
            if any(k.is_finite() and not k.overlaps(b) for k, b in zip(K, box, strict=True)):
                return []
            ends = ends_of(K)
            if is_inside(K, box):  # K contains exactly one equilibrium
                self._add((ends[0] + ends[1]) / 2)
                known = any(_is_within(e.enclosure.T, part) for e in self.found)
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
        return any(_is_within(part, e.unique.T) for e in self.found)

    def _add(self, near: np.ndarray) -> None:
        """Certify the equilibrium that Newton's method finds from a point, unless it is already known.

        Two certified equilibria are certainly different only if their enclosures are disjoint; otherwise the new one is
        dropped.
        """
        x = self.problem.newton(near)
        if not np.all(np.isfinite(x)) or self._covers(np.stack([x, x])):
            return
        one = self.problem.certified(x)
        if one is not None and not any(_meet(one.enclosure.T, e.enclosure.T) for e in self.found):
            self.found.append(one)

    def _place(self, e: CertifiedEquilibrium) -> str:
        """Test whether an equilibrium is inside the box, outside, or too close to the boundary to decide."""
        low, high = e.enclosure.T
        if np.all(low >= self.sides[0]) and np.all(high <= self.sides[1]):
            return "inside"
        return "outside" if np.any(high < self.sides[0]) or np.any(low > self.sides[1]) else "boundary"


def _is_within(inner: np.ndarray, outer: np.ndarray) -> bool:
    """Test whether one box, (2, d), lies in another."""
    return bool(np.all(inner[0] >= outer[0]) and np.all(inner[1] <= outer[1]))


def _meet(one: np.ndarray, other: np.ndarray) -> bool:
    """Test whether two boxes, (2, d), intersect."""
    return bool(np.all(one[0] <= other[1]) and np.all(other[0] <= one[1]))
