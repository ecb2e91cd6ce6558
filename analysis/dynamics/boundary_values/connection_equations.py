"""Equations of connecting orbits along curves in two parameters, and of homoclinic orbits to saddle-nodes."""

from typing import Any

import numpy as np

from analysis.dynamics.boundary_values.curve import BoundaryCurve, Profile
from analysis.dynamics.boundary_values.projections import Folded, halves_of, left_subspace, unfolded
from analysis.dynamics.boundary_values.special_points import Ends, bounded_adjoint, ends_of
from analysis.dynamics.continuation.collocation_curve import NODES
from analysis.dynamics.continuation.curve import CurvePoint
from analysis.dynamics.continuation.locating import located
from analysis.dynamics.continuation.orbit_curve import LONGER
from analysis.dynamics.continuation.steps import Limits
from analysis.dynamics.flow_maps.component_sizes import range_unit
from analysis.dynamics.scaling.flat import extents
from analysis.dynamics.scaling.units import Units, made_units, power_near
from dynsim._core.types import State
from dynsim.systems.parameter import Parameter

# Units of states, relative to their ranges: steps are measured by the parameters, as states on fast parts of an orbit
# move far where it only shifts in time.
ROOM = 16.0
# Places along an orbit at which the signs of adjoint solutions of successive orbits are compared.
PLACES = 32
# Leading rate at an equilibrium, relative to its largest value along the curve, at which a fold or a Hopf point is
# near, and that of the other side where it is a Bogdanov-Takens point.
VANISHING, TOGETHER = 0.02, 0.1
# Distance along a curve over which the parts of an orbit along the centre are compared.
APART = 1e-3
NON_CENTRAL = "non-central saddle-node homoclinic orbit"
"""Point at which a curve of homoclinic orbits to saddles becomes one of central orbits to saddle-nodes."""


def orbit_units(parameters: tuple[Parameter, Parameter], times: np.ndarray, states: np.ndarray) -> Units:
    """Choose units of an orbit, so that steps are measured by the parameters."""
    first, second = parameters
    scale, time = ROOM * power_near(extents(states), 1), ROOM * float(power_near(float(times[-1]), 1))
    own = Parameter(second.system, first.take, first.low, first.high, name=first.name)
    return made_units(second.system, (own, second), scale, time, [range_unit(first), range_unit(second)])


def on_path(units: Units, path: Folded, n: int) -> tuple[Parameter, np.ndarray, int]:
    """Get the parameter of a curve, its mesh and the size of its states."""
    return units.varied[1], path.mesh, 2 * n + 4


def units_along(units: Units, state: np.ndarray) -> Units:
    """Make units of both halves of an orbit from those of a state."""
    both = np.tile(np.broadcast_to(units.scale, state.shape), 2)
    scale = np.append(both, [1.0, units.parameters[0], units.time, units.time])
    return units._replace(varied=units.varied[1:], parameters=units.parameters[1:], scale=scale, time=1.0)


class ConnectionCurve(BoundaryCurve):
    """Equations of connecting orbits along a second parameter."""

    slowest: np.ndarray | float = 0.0  # the largest values so far of the leading rates at each equilibrium

    def split(self, state: Any) -> tuple[np.ndarray, float]:
        """Get the states of both halves at the beginnings of the intervals, (N, 2, n), and the first parameter."""
        nodes, (N, size) = self.nodes(state), np.shape(state)
        n = halves_of(size)
        return nodes[:, : 2 * n].reshape(N, 2, n), float(nodes[0, 2 * n + 1])

    def largest_step(self, point: CurvePoint, within: Limits, first: CurvePoint) -> float:
        """Choose the largest step: nodes and both parameters move by that of the limits.

        Durations, which grow without bound beside some special points, do not count. If the limit is a default, nodes
        of orbits that have grown move by a share of their distances from their mean.
        """
        moves = np.array(point.tangent[:-1]).reshape(self.segments, -1)
        nodes, own = self.nodes(point.state)[:, :-4], abs(float(point.tangent[-1]))
        away = LONGER * float(np.linalg.norm(nodes - np.mean(nodes, axis=0))) if within.free else 0.0
        shares = (
            float(np.linalg.norm(moves[:, :-4])) / max(within.largest * (self.segments / NODES) ** 0.5, away),
            max(float(np.max(np.abs(moves[:, -3]))), own) / within.largest,
        )
        return 1 / max(*shares, np.finfo(float).tiny)

    def error_of_derivatives(self, fine: np.ndarray, rough: np.ndarray) -> float:
        """Do not count them: connecting orbits have no branch points."""
        return 0.0

    def predicted(self, point: CurvePoint, state: State, parameter: float) -> State:
        """Move a predicted orbit with its equilibria, which bend away from the tangent.

        The ends are so close to them that they would leave along other sides.
        """
        conditions: Any = self._conditions
        (halves, own), (new, moved) = self.split(point.state), self.split(state)
        rests = conditions.rests(halves[0].ravel(), own, point.parameter)
        found = None if rests is None else conditions.rests(new[0].ravel(), moved, parameter)
        if rests is None or found is None:
            return state
        n, result = halves.shape[2], np.array(state)
        for k, (rest, there) in enumerate(zip(rests, found, strict=True)):
            by = moved - own, parameter - point.parameter
            bend = there - rest - conditions.drift(rest, (own, point.parameter), by)
            result[:, k * n : (k + 1) * n] += (1 - self.mesh[:-1, None]) * bend
        return result

    def ends_at(self, before: CurvePoint, point: CurvePoint) -> str:
        """End a curve where a leading rate at an equilibrium is small beside its largest value.

        It is a `saddle-node` if its eigenvalue is real, and a `Hopf point` of the equilibrium if it is one of a pair.
        Where the leading rates of both sides vanish together, it is a `Bogdanov-Takens point`.
        """
        leading = self._leading(point)
        rates = np.abs(np.real(leading))
        self.slowest = np.fmax(self.slowest, rates)
        ended = rates < VANISHING * self.slowest
        if not np.any(ended):
            return ""
        if np.any(ended & (np.abs(np.imag(leading)) > VANISHING * self.slowest)):
            return "Hopf point"
        both = np.all(rates < TOGETHER * self.slowest, axis=1)
        return "Bogdanov-Takens point" if np.any(both) else "saddle-node"

    def _leading(self, point: CurvePoint) -> np.ndarray:
        """Find the leading stable and unstable eigenvalues at both equilibria; NaN without one."""
        conditions: Any = self._conditions
        halves, own = self.split(point.state)
        found = np.full((2, 2), np.nan, complex)
        for k, rest in enumerate(conditions.rests(halves[0].ravel(), own, point.parameter) or ()):
            values = np.linalg.eigvals(conditions.linear(rest, own, point.parameter)[1]).astype(complex)
            for j, side in enumerate((values[values.real < 0], values[values.real >= 0])):
                if len(side):
                    found[k, j] = side[np.argmin(np.abs(side.real))]
        return found

    def ends_of(self, point: CurvePoint) -> Ends:
        """Collect what test functions of special points need from a homoclinic orbit."""
        conditions: Any = self._conditions
        (halves, own), (N, _, n) = self.split(point.state), self.split(point.state)[0].shape
        found = self.solution(self.nodes(point.state), self.length, point.parameter)
        rests = conditions.rests(halves[0].ravel(), own, point.parameter)
        if rests is None:
            raise ArithmeticError("no equilibrium beside the ends of an orbit")
        rows = np.vstack([halves[:, 0], found.ends[-1:, :n], halves[::-1, 1]])
        J = conditions.linear(rests[0], own, point.parameter)[1]
        unstable, stable = (left_subspace(J.T, stable=side) for side in (False, True))
        maps = np.concatenate([found.maps[:, :n, :n], np.linalg.inv(found.maps[::-1, n : 2 * n, n : 2 * n])])
        adjoint = bounded_adjoint(maps, unstable, stable, N)
        lengths = np.append(0.0, np.cumsum(np.linalg.norm(np.diff(rows, axis=0), axis=1)))
        places = np.linspace(0.0, lengths[-1], PLACES + 2)[1:-1]
        along = np.column_stack([np.interp(places, lengths, one) for one in adjoint.T])
        return ends_of(J, np.array([rows[-1] - rests[1], rows[0] - rests[0]]), np.vstack([adjoint[[0, -1]], along]))

    def profile(self, point: Any, mesh: np.ndarray) -> Profile:
        """Evaluate an orbit on a mesh for both halves, in the units of the given problem."""
        rows = self.states_at(point.state, point.parameter, mesh)
        if self.units is not None:
            rows = self.units.restored(rows)
        n = halves_of(rows.shape[1])
        times, states = unfolded(mesh, rows, n)
        return Profile(states, np.array([rows[0, 2 * n + 1], times[-1]]), times / times[-1])


class SaddleNodeCurve(ConnectionCurve):
    """Equations of central homoclinic orbits to a saddle-node along the curve of folds."""

    def ends_at(self, before: CurvePoint, point: CurvePoint) -> str:
        """End a curve where an orbit is not central any more, or another eigenvalue vanishes."""
        if self._product(point) >= 0:
            return NON_CENTRAL
        conditions: Any = self._conditions
        found = conditions.ends(self.nodes(point.state)[0], self.nodes(point.state)[0], point.parameter)
        if found is None:
            return "lost"
        values = np.linalg.eigvals(found.linear[0])
        others = np.delete(values, int(np.argmin(np.abs(values))))
        nearest = complex(others[np.argmin(np.abs(np.real(others)))])
        self.slowest = np.maximum(self.slowest, abs(nearest.real))
        if abs(nearest.real) >= VANISHING * self.slowest:
            return ""
        return "Hopf point" if abs(nearest.imag) > VANISHING * self.slowest else "Bogdanov-Takens point"

    def end_between(self, before: CurvePoint, point: CurvePoint) -> CurvePoint | None:
        """Locate the non-central orbit between two points."""
        return located(self, before, point, self._product)[0] if self._product(point) >= 0 else None

    def turns_central(self, point: CurvePoint) -> bool:
        """Test whether a non-central orbit becomes a central one along its tangent."""
        return self._product(point, APART) < self._product(point, -APART)

    def _product(self, point: CurvePoint, apart: float = 0.0) -> float:
        """Multiply the parts along the centre of both ends, moved along the tangent: negative for a central orbit."""
        conditions: Any = self._conditions
        moves = point.tangent[:-1].reshape(self.segments, -1)[0]
        first, parameter = self.nodes(point.state)[0] + apart * moves, point.parameter + apart * point.tangent[-1]
        return float(np.prod(conditions.along_centre(first, parameter)))
