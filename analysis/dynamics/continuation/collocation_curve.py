"""Equations of periodic orbits along a parameter by collocation on a mesh, for continuation.

The unknowns are the states at the ends of the intervals of the mesh, the period and the parameter. The states at the
Gauss points inside are eliminated interval by interval, so that the equations have the form of multiple shooting.
"""

from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import numpy as np
from jaxtyping import Float

from analysis.dynamics.collocation.intervals import (
    ACCURATE,
    CycleField,
    cubic,
    evaluated,
    halved,
)
from analysis.dynamics.continuation.curve import CurvePoint
from analysis.dynamics.continuation.cycle_equations import OrbitSegments, may_have_loops
from analysis.dynamics.continuation.dense import identity
from analysis.dynamics.continuation.on_mesh import FAR, CurveOnMesh
from analysis.dynamics.continuation.orbit_curve import LEAST_ERROR, NEAR, OF_RETURNS, Cycle, OrbitCurve
from analysis.dynamics.continuation.steps import Limits
from analysis.dynamics.normal_forms.collocated_cycles import OrbitOnMesh, cycle_coefficient
from analysis.dynamics.normal_forms.flows import UNKNOWN, Coefficient, unknown
from analysis.dynamics.periodic_orbits.fast_multipliers import resolved_multipliers
from analysis.dynamics.scaling.units import Units
from dynsim._core.types import State
from dynsim.errors import ArgumentError
from dynsim.systems.parameter import Parameter
from dynsim.systems.rescaled import is_flat

# Number of nodes for which steps are as long as the limits say; with more nodes their norm is larger.
NODES = 12
# Newton steps from the nodes of an orbit by which equilibria beside it are found.
NEWTON = 4
# Number of phases at which an orbit is evaluated together.
TOGETHER = 16
# Shift of an orbit, relative to the period, below which its phase counts as found.
SAME = 1e-10
# Numbers of segments of an orbit that are tried in turn for shooting, and the largest derivative of a segment.
SEGMENTS, STRETCHED = (6, 12, 24, 48), 1e3
# Number of times that the errors of multipliers exceed that of the one along the orbit.
SAFETY = 10


class CollocationCurve(OrbitCurve, CurveOnMesh):
    """Equations of periodic orbits: the polynomials of all intervals of a mesh meet, and a phase condition holds.

    Each polynomial satisfies the differential equation at the Gauss points of its interval.

    Source: U. M. Ascher, R. M. M. Mattheij and R. D. Russell, Numerical Solution of Boundary Value Problems for
    Ordinary Differential Equations, chapter 5 (1988).
    """

    tolerances: ClassVar[tuple[float, float]] = (1e-9, 1e-7)
    slowest: ClassVar[float] = float(np.finfo(float).tiny)
    periodic = True

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
        OrbitCurve.__init__(self, parameter, state, len(mesh) - 1, forcing, longest, rtol, units)
        if not is_flat(self.flow.space):
            raise ArgumentError("method", "be shooting on a curved space", "is collocation")
        self.mesh, self.accuracy = np.asarray(mesh, float), ACCURATE * rtol
        self.field, self._stages = CycleField(self.flow, parameter.take, state), {}

    def unresolved(self, point: CurvePoint) -> str:
        """Explain why an orbit is not resolved: `mesh` if its error on this mesh is too large; "" if it is resolved."""
        return CurveOnMesh.unresolved(self, point)

    def own(self, state: Any) -> Any:
        """Convert an orbit or a state of the given system to the units of the curve, whose mesh has the times."""
        found = super().own(state)
        return found._replace(times=None) if isinstance(found, Cycle) else found

    def basis(self, state: State) -> Any:
        """Compute the identity, without a column for a period that is given."""
        rows = self.nodes(state).size + 1
        return identity(rows, rows - (1 if self.forced else 0), sparse=True)

    def duration(self, state: Any) -> float:
        """Get the period."""
        return float(state.period)

    def rebuilt(self, nodes: np.ndarray, duration: float) -> Cycle:
        """Build an orbit from nodes and the period."""
        return self.cycle(nodes, duration)

    def component_sizes(self, nodes: np.ndarray) -> np.ndarray:
        """Compute the ranges of the components."""
        return np.ptp(nodes, axis=0) + self.accuracy * (1 + np.max(np.abs(nodes), axis=0))

    def guessed(self, nodes: np.ndarray, duration: float, parameter: float) -> np.ndarray:
        """Interpolate the states at the Gauss points by cubic polynomials between the nodes."""
        speeds = self.field.at(duration * self.mesh[:-1], nodes, np.asarray(parameter))[0]
        away = self._short(np.roll(nodes, -1, axis=0) - nodes)
        return cubic(nodes, away, np.vstack([speeds, speeds[:1]]), duration * self.shares)

    def _segments(
        self, nodes: np.ndarray, period: float, slope: float, parameter: float, factor: float
    ) -> OrbitSegments:
        """Solve all intervals; a factor below one stands for a stricter solution, in two halves of each interval."""
        found = self.solution(nodes, period, parameter)
        if factor < 1:
            begins, durations = period * self.mesh[:-1], period * self.shares
            found = halved(self.field, begins, durations, nodes, parameter, found.stages, far=FAR)
        speeds = self.field.at(period * self.mesh[1:], found.ends, np.asarray(parameter))[0]
        by_parameter = found.slopes
        if slope:
            first = self.field.at(period * self.mesh[:-1], nodes, np.asarray(parameter))[0]
            through = np.einsum("kij,kj->ki", found.maps, first)
            by_parameter = by_parameter + slope * (self.mesh[1:, None] * speeds - self.mesh[:-1, None] * through)
        return OrbitSegments(
            period, nodes, found.ends, found.maps, speeds, by_parameter, found.rates * self.shares[:, None]
        )

    def spectrum(self, state: State, parameter: float, J: np.ndarray, orbit: np.ndarray) -> np.ndarray:
        """Compute the multipliers by decreasing modulus, without the trivial one."""
        nodes, period = self.nodes(state), self.duration(state)
        blocks, stages = self._blocks(state, J), self.solution(nodes, period, parameter).stages
        velocities = None if self.forced else J[-1, :-1].reshape(nodes.shape)
        begins, durations = period * self.mesh[:-1], period * self.shares
        return resolved_multipliers(self.field, begins, durations, parameter, stages, blocks, velocities)

    def on_this_mesh(self, point: CurvePoint, J: np.ndarray) -> np.ndarray:
        """Compute the multipliers from the intervals' own derivatives; none where the divergence gives the only one."""
        if self.nodes(point.state).shape[1] == (1 if self.forced else 2):
            return np.empty(0)
        return super().on_this_mesh(point, J)

    def _blocks(self, state: Any, J: np.ndarray) -> np.ndarray:
        N, n = self.nodes(state).shape
        k = np.arange(N) * n
        return J[k[:, None, None] + np.arange(n)[:, None], k[:, None, None] + np.arange(n)]

    def neutral(self, point: CurvePoint) -> np.ndarray:
        """Estimate the errors of the multipliers, each relative to its own size, by that of the one along the orbit."""
        with np.errstate(over="ignore"):  # beside a homoclinic orbit nothing is known of them
            return max(1.0, SAFETY * self.trivial_error(point) / LEAST_ERROR) * self.vanishing(point.values)

    def vanishing(self, values: np.ndarray) -> np.ndarray:
        """Estimate the least errors of multipliers, each relative to its own size."""
        return LEAST_ERROR * np.maximum(1.0, np.abs(values))

    def is_real(self, points: Any, value: complex) -> bool:
        """Test whether a multiplier is real up to its error, which is relative to its own size."""
        return abs(value.imag) <= self.double * abs(value)

    def largest_step(self, point: CurvePoint, within: Limits, first: CurvePoint) -> float:
        """Choose the largest step as for shooting; more nodes have a larger norm."""
        longer = (self.segments / NODES) ** 0.5
        return super().largest_step(point, within._replace(largest=longer * within.largest), first)

    def states_at(self, cycle: Any, parameter: float, shares: Float[np.ndarray, " k"]) -> Float[np.ndarray, "k n"]:
        """Evaluate the polynomials of an orbit at shares of its period, also beyond [0, 1]."""
        turns = np.floor(shares)
        nodes = self.nodes(cycle)
        solution = self.solution(nodes, float(cycle.period), parameter)
        away = solution.ends[-1:] - nodes[:1]
        turn = away - self._short(away)
        return evaluated(self.mesh, nodes, solution.stages, shares - turns) + turns[:, None] * turn

    def _odd(self, point: Any) -> np.ndarray:
        """Compute the change of the states in half a period, which vanishes on an orbit of half the period."""
        later = self.states_at(point.state, point.parameter, np.mod(self.mesh[:-1] + 1 / 2, 1.0))
        return self._short(later - self.nodes(point.state))

    def beside(self, state: Any, near: Any, parameter: float) -> Any:
        """Shift an orbit in time so that its states are nearest to those of another orbit on the same mesh."""
        if self.forced:
            return state
        import scipy.optimize

        aims = self.nodes(near)
        rows = lambda share: self.states_at(state, parameter, self.mesh[:-1] + share)
        apart = lambda share: float(np.linalg.norm(self._short(rows(float(share)) - aims)))
        shares = np.unique(np.concatenate([self.mesh[:-1], (self.mesh[:-1] + self.mesh[1:]) / 2]))
        tried = []
        for some in np.array_split(shares, -(-len(shares) // TOGETHER)):
            states = self.states_at(state, parameter, (self.mesh[:-1] + some[:, None]).ravel())
            away = self._short(states - np.tile(aims, (len(some), 1)))
            tried.append(np.linalg.norm(away.reshape(len(some), -1), axis=1))
        best = shares[int(np.argmin(np.concatenate(tried)))]
        width = float(np.max(self.shares))
        found: Any = scipy.optimize.minimize_scalar(
            apart, bounds=(best - width, best + width), method="bounded", options={"xatol": SAME}
        )
        return self.cycle(rows(float(found.x)), float(state.period))

    def _passes_equilibrium(self, nodes: np.ndarray, parameter: float) -> bool:
        """Test whether Newton's method from one of the nodes leads to an equilibrium nearby, which may be a saddle.

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
        near = np.flatnonzero((apart(at - nodes) <= NEAR) & (apart(steps) <= NEAR / 100))
        return any(may_have_loops(J[k, :, :-1]) for k in near)

    def by_shooting(self, state: Any, parameter: float) -> tuple[OrbitCurve, Cycle]:
        """Build the curve of the same orbits by shooting, and an orbit on it.

        It has as many segments as keep the derivative of each one small.
        """
        maps = self._shot(state, parameter).maps
        middles = (self.mesh[:-1] + self.mesh[1:]) / 2
        for count in SEGMENTS:
            factors = [np.eye(maps.shape[1])] * count
            for share, factor in zip(middles, maps, strict=True):
                k = int(share * count)
                factors[k] = factor @ factors[k]
            if max(float(np.linalg.norm(factor)) for factor in factors) <= STRETCHED:
                break
        given, like = self._given_to_all, self._like
        curve = OrbitCurve(self.parameter, like, count, *given[2:])
        # collocation takes the field for smooth
        curve._pair = eqx.tree_at(lambda pair: pair.switched, curve._pair, None, is_leaf=lambda part: part is None)
        rows = self.states_at(state, parameter, np.arange(count) / count)
        return curve, curve.cycle(rows, float(state.period))

    def coefficient(self, name: str, point: CurvePoint, frequency: float) -> Coefficient:
        """Compute a normal form coefficient from linear problems on the mesh; see `OrbitCurve.coefficient`."""
        if name not in ("cusp", *OF_RETURNS):
            return UNKNOWN
        if why := self.doubt_of_critical(name, point):
            return unknown(why)
        shot = self._shot(point.state, point.parameter)
        stages = self.solution(shot.nodes, shot.period, point.parameter).stages
        sizes = np.ones(shot.nodes.shape[1]) if self.units is None else self.units.flat(self._like)
        found = cycle_coefficient(name, OrbitOnMesh(
            self.field, shot.period * self.mesh[:-1], shot.period * self.shares, stages, point.parameter, shot.slopes,
            not self.forced, sizes, point.values,
        ), frequency)  # fmt: skip
        share = self.unit if name == "fold" else 1.0 if self.units is None else 1 / self.units.time
        return found._replace(value=share * found.value, size=abs(share) * found.size)
