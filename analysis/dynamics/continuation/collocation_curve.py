"""Equations of periodic orbits along a parameter by collocation on a mesh, for continuation.

The unknowns are the states at the ends of the intervals of the mesh, the period and the parameter. The states at the
Gauss points inside are eliminated interval by interval, so that the equations have the form of multiple shooting.
"""

import copy
from collections.abc import Callable
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from analysis.dynamics.continuation.curve import CurvePoint, Equations
from analysis.dynamics.continuation.dense import solution
from analysis.dynamics.continuation.orbit_curve import AGREED, NEAR, OF_RETURNS, Cycle, OrbitCurve, OrbitSegments
from analysis.dynamics.continuation.steps import Limits
from analysis.dynamics.normal_forms.flows import UNKNOWN, Coefficient
from analysis.dynamics.periodic_orbits.collocation import (
    ACCURATE,
    CycleField,
    Intervals,
    adapted_mesh,
    evaluated,
    halved,
    rule,
    solved,
)
from analysis.dynamics.scaling.units import Units
from dynsim._core.types import State
from dynsim.errors import ArgumentError
from dynsim.systems.parameter import Parameter
from dynsim.systems.rescaled import is_flat

# Number of nodes for which steps are as long as the limits say; with more nodes their norm is larger.
NODES = 12
# Newton steps from the nodes of an orbit by which equilibria beside it are found.
NEWTON = 4
# Shift of an orbit, relative to the period, below which its phase counts as found.
SAME = 1e-10
# Number of times that the errors of multipliers exceed that of the one along the orbit.
SAFETY = 10


class CollocationCurve(OrbitCurve):
    """Equations of periodic orbits: the polynomials of all intervals of a mesh meet, and a phase condition holds.

    Each polynomial satisfies the differential equation at the Gauss points of its interval.

    Source: U. M. Ascher, R. M. M. Mattheij and R. D. Russell, Numerical Solution of Boundary Value Problems for
    Ordinary Differential Equations, chapter 5 (1988).
    """

    tolerances: ClassVar[tuple[float, float]] = (1e-9, 1e-7)

    def __init__(
        self,
        parameter: Parameter,
        state: State,
        mesh: Float[np.ndarray, " edges"],
        forcing: Callable[[Any], Any] | None,
        longest: float,
        rtol: float,
        units: Units | None = None,
    ):
        super().__init__(parameter, state, len(mesh) - 1, forcing, longest, rtol, units)
        if not is_flat(self.flow.space):
            raise ArgumentError("method", "be shooting on a curved space", "is collocation")
        self.mesh, self.accuracy = np.asarray(mesh, float), ACCURATE * rtol
        self.field = CycleField(self.flow, parameter.take, state)
        self._last: tuple[np.ndarray, float, float, Intervals] | None = None

    def on(self, mesh: Float[np.ndarray, " edges"]) -> "CollocationCurve":
        """Build the same curve on another mesh."""
        other = copy.copy(self)
        other.mesh, other.segments, other._last = mesh, len(mesh) - 1, None
        return other

    def own(self, state: Any) -> Any:
        """Convert an orbit or a state of the given system to the units of the curve, whose mesh has the times."""
        found = super().own(state)
        return found._replace(times=None) if isinstance(found, Cycle) else found

    @property
    def shares(self) -> np.ndarray:
        """Durations of the intervals, as shares of the period."""
        return np.diff(self.mesh)

    def basis(self, state: State) -> np.ndarray:
        """Compute the identity, without a column for a period that is given."""
        nodes = self.nodes(state)
        return np.eye(nodes.size + 1)[:, : nodes.size + (0 if self.forced else 1)]

    def solution(self, nodes: np.ndarray, period: float, parameter: float) -> Intervals:
        """Solve the intervals of an orbit, from the last solution or, where that fails, from cubic polynomials."""
        if self._last is not None:
            known, time, value, last = self._last
            if time == period and value == parameter and np.array_equal(known, nodes):
                return last
            away = np.column_stack(
                [nodes - known, np.full(len(nodes), parameter - value), (period - time) * self.shares]
            )
            guess = last.stages + np.einsum("kmij,kj->kmi", last.moves, away)
            found = self._solved(nodes, period, parameter, guess)
            if np.all(np.isfinite(found.ends)):
                self._last = (nodes, period, parameter, found)
                return found
        found = self._solved(nodes, period, parameter, self._cubic(nodes, period, parameter))
        if np.all(np.isfinite(found.ends)):
            self._last = (nodes, period, parameter, found)
        return found

    def _solved(self, nodes: np.ndarray, period: float, parameter: float, guess: np.ndarray) -> Intervals:
        return solved(self.field, period * self.mesh[:-1], period * self.shares, nodes, parameter, guess)

    def _cubic(self, nodes: np.ndarray, period: float, parameter: float) -> np.ndarray:
        """Interpolate the states at the Gauss points by cubic polynomials between the nodes."""
        c, h = rule().c[:, None], period * self.shares[:, None, None]
        speeds = self.field.at(period * self.mesh[:-1], nodes, np.asarray(parameter))[0]
        away = self._short(np.roll(nodes, -1, axis=0) - nodes)[:, None]
        first, last = h * speeds[:, None], h * np.roll(speeds, -1, axis=0)[:, None]
        moved = c**2 * (3 - 2 * c) * away + c * (1 - c) ** 2 * first - c**2 * (1 - c) * last
        return nodes[:, None] + moved

    def _shot(self, state: Any, parameter: float, factor: float = 1.0) -> OrbitSegments:
        """Solve all intervals; a factor below one stands for a stricter solution, in two halves of each interval."""
        nodes, period, slope = self.nodes(state), float(state.period), 0.0
        if self._forced_period is not None:
            period, slope = (float(x) for x in self._forced_period(jnp.asarray(parameter, float)))
        found = self.solution(nodes, period, parameter)
        if factor < 1:
            begins, durations = period * self.mesh[:-1], period * self.shares
            found = halved(self.field, begins, durations, nodes, parameter, found.stages)
        speeds = self.field.at(period * self.mesh[1:], found.ends, np.asarray(parameter))[0]
        by_parameter = found.slopes
        if slope:
            first = self.field.at(period * self.mesh[:-1], nodes, np.asarray(parameter))[0]
            through = np.einsum("kij,kj->ki", found.maps, first)
            by_parameter = by_parameter + slope * (self.mesh[1:, None] * speeds - self.mesh[:-1, None] * through)
        return OrbitSegments(
            period, nodes, found.ends, found.maps, speeds, by_parameter, found.rates * self.shares[:, None]
        )

    def _equations(self, shot: OrbitSegments, basis: np.ndarray) -> Equations:
        nodes, (N, n) = shot.nodes, shot.nodes.shape
        gaps = self._short(shot.ends - np.roll(nodes, -1, axis=0))
        width, k = basis.shape[1], np.arange(N)
        values, J, slope = np.zeros(width), np.zeros((width, width)), np.zeros(width)
        values[: N * n], slope[: N * n] = gaps.ravel(), shot.slopes.ravel()
        J[(k * n)[:, None, None] + np.arange(n)[:, None], (k * n)[:, None, None] + np.arange(n)] = shot.maps
        after = (k + 1) % N
        J[np.arange(N * n), (after[:, None] * n + np.arange(n)).ravel()] -= 1.0
        if not self.forced:
            J[: N * n, -1] = shot.rates.ravel()
            J[-1, : N * n] = np.roll(shot.speeds, 1, axis=0).ravel()
            J[-1] /= max(float(np.linalg.norm(J[-1])), np.finfo(float).tiny)
        size = float(np.max(np.abs(gaps)))
        return Equations(values, J, slope, size / (1 + float(np.max(np.abs(nodes)))))

    def _blocks(self, state: Any, J: np.ndarray) -> np.ndarray:
        N, n = self.nodes(state).shape
        k = np.arange(N) * n
        return J[k[:, None, None] + np.arange(n)[:, None], k[:, None, None] + np.arange(n)]

    def equilibrated(self, matrix: np.ndarray) -> np.ndarray:
        """Scale rows and columns to similar sizes; speeds differ from interval to interval of stiff orbits."""
        rows = self.balanced(matrix)
        return rows / np.maximum(np.linalg.norm(rows, axis=0), np.finfo(float).tiny)

    def neutral(self, point: CurvePoint) -> np.ndarray:
        """Estimate the errors of the multipliers, each relative to its own size, by that of the one along the orbit."""
        return max(1e-6, SAFETY * self.trivial_error(point)) * np.maximum(1.0, np.abs(point.values))

    def is_real(self, points: Any, value: complex) -> bool:
        """Test whether a multiplier is real up to its error, which is relative to its own size."""
        del points
        return abs(value.imag) <= self.double * abs(value)

    def largest_step(self, point: CurvePoint, within: Limits, first: CurvePoint) -> float:
        """Choose the largest step as for shooting; more nodes have a larger norm."""
        longer = (self.segments / NODES) ** 0.5
        return super().largest_step(point, within._replace(largest=longer * within.largest), first)

    def error(self, point: CurvePoint) -> float:
        """Estimate the largest error of an orbit and its parameter by a Newton step with all intervals halved.

        States count relative to their ranges, the period and the parameter to their sizes.
        """
        rough, fine = (self._shot(point.state, point.parameter, factor) for factor in (1.0, 0.5))
        at = self._equations(fine, point.basis)
        matrix = np.vstack([np.column_stack([at.J, at.slope]), point.tangent])
        if not (np.all(np.isfinite(matrix)) and np.all(np.isfinite(at.values))):
            return np.inf
        try:
            gaps = at.values - self._equations(rough, point.basis).values  # not the rest of Newton's method
            change = np.abs(solution(matrix, -np.append(gaps, 0.0)))
        except np.linalg.LinAlgError:
            return np.inf
        cycle: Any = point.state
        nodes = self.nodes(cycle)
        ranges = np.ptp(nodes, axis=0) + self.accuracy * (1 + np.max(np.abs(nodes), axis=0))
        found = np.max(change[: nodes.size].reshape(nodes.shape) / ranges)
        others = (
            change[nodes.size :] / np.append(float(cycle.period), 1 + abs(point.parameter))[-len(change) + nodes.size :]
        )
        values = self.spectrum(point.state, point.parameter, at.J, point.orbit)
        apart = float(np.max(np.abs(values - point.values) / np.maximum(1.0, np.abs(values)), initial=0.0))
        return float(max(found, np.max(others), self.accuracy * apart / AGREED))

    def unresolved(self, point: CurvePoint) -> str:
        """Explain why an orbit is not resolved: `mesh` if its error on this mesh is too large; "" if it is resolved."""
        return "" if self.error(point) <= self.accuracy else "mesh"

    def adapted(self, point: CurvePoint, count: int) -> np.ndarray:
        """Choose a mesh of `count` intervals for an orbit."""
        cycle: Any = point.state
        nodes = self.nodes(cycle)
        return adapted_mesh(self.mesh, nodes, self._stages(cycle, point.parameter), count)

    def _stages(self, cycle: Any, parameter: float) -> np.ndarray:
        return self.solution(self.nodes(cycle), float(cycle.period), parameter).stages

    def states_at(self, cycle: Any, parameter: float, shares: Float[np.ndarray, " k"]) -> Float[np.ndarray, "k n"]:
        """Evaluate the polynomials of an orbit at shares of its period, also beyond [0, 1]."""
        turns = np.floor(shares)
        nodes = self.nodes(cycle)
        solution = self.solution(nodes, float(cycle.period), parameter)
        away = solution.ends[-1:] - nodes[:1]
        turn = away - self._short(away)
        return evaluated(self.mesh, nodes, solution.stages, shares - turns) + turns[:, None] * turn

    def moved_to(self, mesh: np.ndarray, point: CurvePoint, direction: np.ndarray) -> "tuple[CollocationCurve, Any]":
        """Correct a point on another mesh, in the plane across a direction; the point is None if this fails.

        The tangent of the new point is oriented along the direction.
        """
        other, cycle = self.on(mesh), point.state
        nodes = self.states_at(cycle, point.parameter, mesh[:-1])
        inner = mesh[:-1, None] + np.diff(mesh)[:, None] * rule().c
        stages = self.states_at(cycle, point.parameter, inner.ravel()).reshape(*inner.shape, -1)
        period = float(cycle.period)
        found = other._solved(nodes, period, point.parameter, stages)
        if np.all(np.isfinite(found.ends)):
            other._last = (nodes, period, point.parameter, found)
        n, rest = nodes.shape[1], direction[self.segments * nodes.shape[1] :]
        rows = direction[: self.segments * n].reshape(-1, n)
        closed = np.vstack([rows, rows[:1]])
        moved = np.stack([np.interp(mesh[:-1], self.mesh, closed[:, j]) for j in range(n)], axis=1)
        carried = np.append(moved.ravel(), rest)
        carried /= np.linalg.norm(carried)
        corrected = other.corrected(other.cycle(nodes, period), point.parameter, carried)
        if corrected is None:
            return other, None
        sign = 1.0 if carried @ corrected.tangent >= 0 else -1.0
        return other, corrected._replace(tangent=sign * corrected.tangent)

    def beside(self, state: Any, near: Any, parameter: float) -> Any:
        """Shift an orbit in time so that its states are nearest to those of another orbit on the same mesh."""
        if self.forced:
            return state
        import scipy.optimize

        aims = self.nodes(near)
        rows = lambda share: self.states_at(state, parameter, self.mesh[:-1] + share)
        apart = lambda share: float(np.linalg.norm(self._short(rows(float(share)) - aims)))
        shares = np.unique(np.concatenate([self.mesh[:-1], (self.mesh[:-1] + self.mesh[1:]) / 2]))
        best = shares[int(np.argmin([apart(share) for share in shares]))]
        width = float(np.max(self.shares))
        found: Any = scipy.optimize.minimize_scalar(
            apart, bounds=(best - width, best + width), method="bounded", options={"xatol": SAME}
        )
        return self.cycle(rows(float(found.x)), float(state.period))

    def _passes_equilibrium(self, nodes: np.ndarray, parameter: float) -> bool:
        """Test whether Newton's method from one of the nodes leads to an equilibrium close to it.

        A single short step does not suffice: it is short on the slow parts of stiff orbits, too.
        """
        if self.forced:
            return False
        extents, at = np.maximum(np.ptp(nodes, axis=0), np.finfo(float).tiny), nodes
        apart = lambda rows: np.max(np.abs(rows) / extents, axis=1)
        steps = np.zeros(nodes.shape)
        for _ in range(NEWTON):
            f, J = self.field.at(np.zeros(()), at, np.asarray(parameter))
            if not np.all(np.isfinite(J)):
                return False
            steps = np.einsum("kij,kj->ki", np.linalg.pinv(J[..., :-1]), f)
            at = at - steps
        return bool(np.any((apart(at - nodes) <= NEAR) & (apart(steps) <= NEAR / 100)))

    def coefficient(self, name: str, point: CurvePoint, frequency: float) -> Coefficient:
        """Give no normal form coefficient: those of orbits are computed by multiple shooting only."""
        del name, point, frequency
        return UNKNOWN

    def unknown(self, name: str, point: CurvePoint) -> str:
        """Explain that normal form coefficients are not computed by collocation."""
        return super().unknown(name, point) or ("no coefficient by collocation" if name in OF_RETURNS else "")
