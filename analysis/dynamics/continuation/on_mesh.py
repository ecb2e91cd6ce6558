"""Curves of solutions by collocation: what those of periodic orbits and of boundary value problems share."""

import abc
import copy
from typing import Any

import numpy as np
from jaxtyping import Float

from analysis.dynamics.collocation.intervals import CycleField, Intervals, adapted_mesh, solved
from analysis.dynamics.collocation.solver import gauss_points
from analysis.dynamics.continuation.curve import AbstractCurve, CurvePoint, with_short_rows
from analysis.dynamics.continuation.dense import solution
from analysis.dynamics.continuation.orbit_curve import AGREED

# Change of the stages of intervals in a Newton step, relative to their sizes, above which they move with the nodes.
FAR = 1e-3
# Number of the last solutions of the intervals that are kept with their derivatives.
KEPT = 8


class CurveOnMesh(AbstractCurve):
    """Curve of solutions on a mesh, whose unknowns are the states at the beginnings of the intervals, and more.

    The states at the Gauss points inside are eliminated interval by interval.
    """

    mesh: Float[np.ndarray, " edges"]
    segments: int
    field: CycleField
    accuracy: float
    begin: float = 0.0
    periodic: bool = False
    # nodes, duration and parameter of the last solutions of the intervals, and of the last Newton step of all stages;
    # the stages of all solutions, since those of points passed before may not be found again
    _solutions: list[tuple[np.ndarray, Intervals]] = []
    _moving: tuple[np.ndarray, Intervals] | None = None
    _stages: dict[bytes, np.ndarray]
    _known: dict[float, Any]

    @abc.abstractmethod
    def nodes(self, state: Any) -> np.ndarray:
        """Stack the states at the beginnings of the intervals as rows."""

    @abc.abstractmethod
    def duration(self, state: Any) -> float:
        """Get the length of the interval."""

    @abc.abstractmethod
    def rebuilt(self, nodes: np.ndarray, duration: float) -> Any:
        """Build a state of the curve from nodes and the length of the interval."""

    @abc.abstractmethod
    def states_at(self, state: Any, parameter: float, shares: Float[np.ndarray, " k"]) -> Float[np.ndarray, "k n"]:
        """Evaluate the polynomials of a solution at shares of the interval."""

    @abc.abstractmethod
    def component_sizes(self, nodes: np.ndarray) -> np.ndarray:
        """Compute the sizes of the components, relative to which errors count."""

    @abc.abstractmethod
    def guessed(self, nodes: np.ndarray, duration: float, parameter: float) -> np.ndarray:
        """Guess the states at the Gauss points between given nodes."""

    @abc.abstractmethod
    def _shot(self, state: Any, parameter: float, factor: float = 1.0) -> Any:
        """Solve all intervals; a factor below one stands for a stricter solution, in two halves of each interval."""

    @abc.abstractmethod
    def _equations(self, shot: Any, basis: np.ndarray) -> Any:
        """Assemble the equations from solved intervals."""

    @abc.abstractmethod
    def unconfirmed(self, nodes: np.ndarray, parameter: float, point: CurvePoint | None = None) -> str:
        """Explain why a solution is not resolved by the finest mesh."""

    def balanced(self, matrix: np.ndarray) -> np.ndarray:
        """Scale rows to a length of at most one."""
        return with_short_rows(matrix)

    def equilibrated(self, matrix: np.ndarray) -> np.ndarray:
        """Scale rows and columns to similar sizes; speeds differ from interval to interval of stiff solutions."""
        rows = self.balanced(matrix)
        return rows / np.maximum(np.linalg.norm(rows, axis=0), np.finfo(float).tiny)

    def on(self, mesh: Float[np.ndarray, " edges"]) -> Any:
        """Build the same curve on another mesh."""
        other = copy.copy(self)
        other.mesh, other.segments = mesh, len(mesh) - 1
        other._solutions, other._moving, other._stages, other._known = [], None, {}, {}
        return other

    @property
    def shares(self) -> np.ndarray:
        """Durations of the intervals, as shares of the whole."""
        return np.diff(self.mesh)

    def solution(self, nodes: np.ndarray, duration: float, parameter: float) -> Intervals:
        """Solve the intervals from their nodes, beginning with the last solution or, without one, a guess.

        Where the stages would move far, they take a Newton step with the nodes, as in the whole system of equations: an
        orbit that follows what repels it has no intervals from nodes beside it.
        """
        place = np.append(nodes.ravel(), [duration, parameter])
        known = [*self._solutions, *([self._moving] if self._moving is not None else [])]
        for begun in known:
            if np.array_equal(begun[0], place):
                return begun[1]
        if (stages := self._stages.get(place.tobytes())) is not None:
            return self._solved(place, nodes, duration, parameter, stages)
        if known:
            before, last = min(known, key=lambda one: float(np.linalg.norm(one[0] - place)))
            away = place - before
            by = np.column_stack(
                [away[:-2].reshape(nodes.shape), np.full(len(nodes), away[-1]), away[-2] * self.shares]
            )
            guess = last.stages + np.einsum("kmij,kj->kmi", last.moves, by)
            found = self._solved(place, nodes, duration, parameter, guess, far=FAR)
            if np.all(np.isfinite(found.ends)):
                return found
        if self._stages:  # the same solution up to rounding, such as one whose parameter was put on a bound
            near = min(self._stages, key=lambda one: float(np.linalg.norm(np.frombuffer(one) - place)))
            found = self._solved(place, nodes, duration, parameter, self._stages[near])
            if found.is_solved:
                return found
        with np.errstate(invalid="ignore", over="ignore"):  # states that are far off are refused by who asks
            guess = self.guessed(nodes, duration, parameter)
        return self._solved(place, nodes, duration, parameter, guess)

    def _solved(
        self,
        place: np.ndarray,
        nodes: np.ndarray,
        duration: float,
        parameter: float,
        guess: np.ndarray,
        far: float = np.inf,
    ) -> Intervals:
        """Solve the intervals from a guess of their stages, and keep the solution, or its first step, for the next."""
        begins = self.begin + duration * self.mesh[:-1]
        found = solved(self.field, begins, duration * self.shares, nodes, parameter, guess, far=far)
        if found.is_solved:
            self._solutions, self._moving = [*self._solutions[1 - KEPT :], (place, found)], None
            self._stages[place.tobytes()] = found.stages
        elif np.all(np.isfinite(found.ends)):
            self._moving = place, found
        return found

    def _is_solved(
        self, at: Any, residual: float, tolerance: float, rows: np.ndarray, state: Any, parameter: float
    ) -> bool:
        """Do the same as for other curves, once the stages satisfy the equations of the intervals, too."""
        found = self.solution(self.nodes(state), self.duration(state), parameter)
        return found.is_solved and super()._is_solved(at, residual, tolerance, rows, state, parameter)

    def stepped(self, point: CurvePoint, direction: np.ndarray, size: float) -> CurvePoint | None:
        """Do the same as for other curves, from the intervals of the point: others may be those of a failed step."""
        begun = self.solution(self.nodes(point.state), self.duration(point.state), point.parameter)
        if begun.is_solved:
            self._solutions, self._moving = [(self._place(point), begun)], None
        return super().stepped(point, direction, size)

    def corrected(self, state: Any, parameter: float, direction: np.ndarray) -> CurvePoint | None:
        """Do the same as for other curves, and keep the stages of the last Newton step only."""
        count = len(self._stages)
        found = super().corrected(state, parameter, direction)
        place = None if found is None else self._place(found)
        for key in list(self._stages)[count:]:
            if place is None or key != place.tobytes():
                del self._stages[key]
        return found

    def _place(self, point: CurvePoint) -> np.ndarray:
        return np.append(self.nodes(point.state).ravel(), [self.duration(point.state), point.parameter])

    def error(self, point: CurvePoint) -> float:
        """Estimate the largest error of a solution and its parameter by a Newton step with all intervals halved.

        States count relative to their sizes, durations and the parameter to theirs.
        """
        rough, fine = (self._shot(point.state, point.parameter, factor) for factor in (1.0, 0.5))
        at = self._equations(fine, point.basis)
        matrix = np.vstack([np.column_stack([at.J, at.slope]), point.tangent])
        if not (np.all(np.isfinite(matrix)) and np.all(np.isfinite(at.values))):
            return np.inf
        before = self._equations(rough, point.basis)
        gaps = at.values - before.values  # not the rest of Newton's method
        change = np.abs(solution(matrix, -np.append(gaps, 0.0)))
        nodes = self.nodes(point.state)
        found = np.max(change[: nodes.size].reshape(nodes.shape) / self.component_sizes(nodes))
        others = np.append(self.duration(point.state), 1 + abs(point.parameter))[nodes.size - len(change) :]
        values, known = (self.on_this_mesh(point, one.J) for one in (at, before))
        apart = float(np.max(np.abs(values - known) / np.maximum(1.0, np.abs(values)), initial=0.0))
        errors = found, np.max(change[nodes.size :] / others), self.accuracy * apart / AGREED
        return float(max(*errors, self.error_of_derivatives(at.J, before.J)))

    def error_of_derivatives(self, fine: np.ndarray, rough: np.ndarray) -> float:
        """Estimate the error of the derivatives of the equations, if it counts beside that of eigenvalues."""
        return 0.0

    def on_this_mesh(self, point: CurvePoint, J: np.ndarray) -> np.ndarray:
        """Compute the eigenvalues from the derivatives J of the equations alone, which tell its errors."""
        known = np.array_equal(J, point.J)
        return point.values if known else self.spectrum(point.state, point.parameter, J, point.orbit)

    def unresolved(self, point: CurvePoint) -> str:
        """Explain why a solution is not resolved: `mesh` if its error on this mesh is too large; "" if it is."""
        return "" if self.error(point) <= self.accuracy else "mesh"

    def adapted(self, point: CurvePoint, count: int) -> np.ndarray:
        """Choose a mesh of `count` intervals for a solution."""
        nodes = self.nodes(point.state)
        stages = self.solution(nodes, self.duration(point.state), point.parameter).stages
        return adapted_mesh(self.mesh, nodes, stages, count, periodic=self.periodic)

    def moved_to(self, mesh: np.ndarray, point: CurvePoint, direction: np.ndarray) -> tuple[Any, CurvePoint | None]:
        """Correct a point on another mesh, in the plane across a direction; the point is None if this fails.

        The tangent of the new point is oriented along the direction.
        """
        other, state = self.on(mesh), point.state
        nodes = self.states_at(state, point.parameter, mesh[:-1])
        inner = gauss_points(mesh)
        stages = self.states_at(state, point.parameter, inner.ravel()).reshape(*inner.shape, -1)
        duration = self.duration(state)
        place = np.append(nodes.ravel(), [duration, point.parameter])
        other._solved(place, nodes, duration, point.parameter, stages, far=FAR)
        n, rest = nodes.shape[1], direction[self.segments * nodes.shape[1] :]
        rows = direction[: self.segments * n].reshape(-1, n)
        closed = np.vstack([rows, rows[:1] if self.periodic else rows[-1:]])
        moved = np.stack([np.interp(mesh[:-1], self.mesh, closed[:, j]) for j in range(n)], axis=1)
        carried = np.append(moved.ravel(), rest)
        carried /= np.linalg.norm(carried)
        corrected = other.corrected(other.rebuilt(nodes, duration), point.parameter, carried)
        if corrected is None:
            return other, None
        sign = 1.0 if carried @ corrected.tangent >= 0 else -1.0
        return other, corrected._replace(tangent=sign * corrected.tangent)
