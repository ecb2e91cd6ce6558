"""Equations of periodic orbits along a parameter by multiple shooting, for continuation.

The unknowns are the nodes, the period and the parameter. The file also confirms orbits with a stricter solver.
"""

import functools
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Float

from analysis.dynamics.continuation.curve import (
    UNDEFINED,
    AbstractCurve,
    CurvePoint,
    Equations,
    newton_step,
    turned,
    with_short_rows,
)
from analysis.dynamics.continuation.cycle_equations import OrbitSegments, cycle_equations, is_confirmed, may_have_loops
from analysis.dynamics.continuation.dense import identity
from analysis.dynamics.continuation.locating import met
from analysis.dynamics.continuation.parameter_flow import ParameterFlow, WithParameter
from analysis.dynamics.continuation.phases import Rows, beside
from analysis.dynamics.continuation.section_coefficients import MULTIPLIERS, section_coefficient
from analysis.dynamics.continuation.smoothness import may_have_corners
from analysis.dynamics.continuation.steps import Limits
from analysis.dynamics.flow_maps.variational import Linearised
from analysis.dynamics.linearisation import tangent_basis
from analysis.dynamics.normal_forms.branch_points import BranchForm, branch_form
from analysis.dynamics.normal_forms.flows import UNKNOWN, Coefficient, unknown
from analysis.dynamics.periodic_orbits.multipliers import product_eigenvalues, return_factors
from analysis.dynamics.periodic_orbits.shooting import NOISE, shoot, shots, stops_at
from analysis.dynamics.scaling.flat import flat_state, flat_states, states_like
from analysis.dynamics.scaling.units import Units
from dynsim._core.types import State
from dynsim._core.validation import function
from dynsim.integrators.dop853 import MAX_STEPS
from dynsim.simulation.checks import check_flow
from dynsim.spaces.base import nearest
from dynsim.systems.base import AbstractFlow
from dynsim.systems.parameter import Parameter
from dynsim.systems.rescaled import is_flat

# Factor of the solver's tolerance with which orbits are confirmed.
STRICTER = 0.1
# Distance of a node from an equilibrium, relative to the ranges of components, below which an orbit is close to it.
NEAR = 0.05
# Largest distance of a multiplier from the critical value at which the coefficient of a bifurcation is known.
CRITICAL = 1e-4
# Largest change of multipliers under the stricter solver, relative to the largest one or to one; canards exceed it.
AGREED = 0.1
# Largest cosine between changes of the states in half a period that have changed sign between two orbits.
OPPOSITE = -0.5
# Size of an orbit, in its units, below which it counts as an equilibrium.
SMALL = 1e-4
# Largest step of the nodes, relative to their distances from their mean, if the largest step is a default; and of the
# period, relative to it.
LONGER, STRETCH = 0.1, 0.1
# Number of its errors that the slope of the parameter must exceed for its sign to count.
RESOLVED = 3
# Share of the period within which a state is at a node; for shooting, largest multiplier or derivative of a segment,
# and least volume of a segment.
AT_NODE, LARGE, STIFF = 1e-12, 1e6, 1e-100
# Largest slope of the parameter along a vertical family, where its sign is that of errors.
STEEPEST = 1e-6
# Least error of multipliers by a solver or a mesh, relative to the largest one, or to their own size by collocation.
LEAST_ERROR = 1e-6
# Most steps in a segment of a trial, relative to the last confirmed orbit, and their least value: 100,000 take long.
MORE_STEPS, FEWEST_STEPS = 20, 500
# Bifurcations whose normal form coefficient is that of the return map.
OF_RETURNS = ("fold", "period doubling", "Neimark-Sacker point")
# Largest relative change of the parameter over a doubling of the period, by its slope, near a homoclinic orbit, and
# the smallest size of the parameter in that change, relative to its range.
SETTLED, LEAST = 0.1, 1e-3


class Cycle(NamedTuple):
    """Periodic orbit: some of its states, on the first axis, and the period.

    Attributes:
        nodes: the states.
        period: the period, in the flow's time unit.
        times: the shares of the period, increasing from 0, at which an orbit computed by collocation has these states;
            None if they are at equal shares.
    """

    nodes: State
    period: Any
    times: Any = None


def moved_states(units: Units, state: Any, power: int) -> Any:
    """Convert states or orbits, with any leading axes, to given units (power 1) or rescaled units (power -1)."""
    if isinstance(state, Cycle):
        return state._replace(
            nodes=units.moved(state.nodes, power), period=np.asarray(state.period * units.time**power)
        )
    return units.moved(state, power)


def flat_sizes(units: Units, state: Any) -> np.ndarray:
    """Get the unit of each entry of a flattened state, or of a flattened orbit with its period."""
    return np.append(units.flat(state.nodes), units.time) if isinstance(state, Cycle) else units.flat(state)


def unit_of_eigenvalues(units: Units, state: Any) -> float:
    """Get the unit of time that scales eigenvalues; it is 1 for the Floquet multipliers of orbits."""
    return 1.0 if isinstance(state, Cycle) else units.time


class OrbitCurve(AbstractCurve):
    """Equations of periodic orbits: segments end at the next nodes, and a phase condition holds."""

    tolerances = (1e-8, 1e-6)
    vertical: ClassVar[float] = 1e-7
    at_crossings: bool = False  # whether a vertical family ends where another one crosses it
    double: ClassVar[float] = 1e-4
    most_added: ClassVar[int] = 6
    differentiated: ClassVar[bool] = False  # multipliers would need another integration for each point
    meeting: ClassVar[float] = 1.0
    _known_odd: tuple[CurvePoint | None, np.ndarray] = None, np.empty(0)  # of the last point
    on_mesh: Callable[..., Any] | None = None  # finds an orbit again by collocation, for its normal form
    slowest: ClassVar[float] = 1e-12  # length of the velocities below which the phase condition is not normalised

    def __init__(
        self,
        parameter: Parameter,
        state: State,
        segments: int,
        forcing: Callable[[Any], Any] | None,
        longest: float,
        rtol: float,
        units: Units | None = None,
        atol: float | None = None,
    ):
        flow = parameter.system
        check_flow(flow)
        super().__init__(parameter, units)
        self.flow, self.segments, self.longest = flow, segments, longest
        self._like, self._restored = jax.tree.map(np.asarray, state), ravel_pytree(state)[1]
        self._angles = flat_state(flow.space.periods(self._like))
        self._given_to_all = (state, segments, forcing, longest, rtol, units, atol)
        begin = WithParameter(state, jnp.asarray(parameter.value, float))
        self._pair = Linearised(ParameterFlow(flow, parameter.take), begin, atol=atol, often=True)
        self._rtol = jnp.asarray(rtol, float)
        self._known: dict[float, tuple[np.ndarray, tuple[float, float], OrbitSegments]] = {}
        self._forced_period, self._sure, self._most = None, {}, MAX_STEPS
        if forcing is not None:
            function("forcing", forcing, "the flow")
            self._forced_period = jax.value_and_grad(lambda p: jnp.asarray(forcing(parameter.at(p))))

    def of(self, flow: AbstractFlow) -> "OrbitCurve":
        """Build the curve of another flow in the same units."""
        return OrbitCurve(self.parameter.of(flow), *self._given_to_all)

    def own(self, state: Any) -> Any:
        """Convert an orbit or a state of the given system to the units of the curve."""
        return state if self.units is None else moved_states(self.units, state, -1)

    def given(self, point: CurvePoint) -> State:
        """Convert the orbit of a point to the units of the given system."""
        return point.state if self.units is None else moved_states(self.units, point.state, 1)

    @property
    def forced(self) -> bool:
        """Whether the period is fixed by a forcing."""
        return self._forced_period is not None

    def with_periods(self, state: Any, parameters: Any) -> Any:
        """Set the periods of orbits of a forced flow, which are those of the forcing at their parameters."""
        if self._forced_period is None:
            return state
        periods = [float(self._forced_period(jnp.asarray(p, float))[0]) for p in np.ravel(parameters) / self.unit]
        time = 1.0 if self.units is None else self.units.time
        return state._replace(period=time * np.reshape(periods, np.shape(parameters)))

    def nodes(self, state: Any) -> np.ndarray:
        """Stack the nodes as rows."""
        return flat_states(state.nodes)

    def cycle(self, nodes: np.ndarray, period: float) -> Cycle:
        """Build an orbit from nodes given as rows, projected to the space."""
        if not is_flat(self.flow.space):
            states = [self.flow.space.project(self._restored(jnp.asarray(node))) for node in nodes]
            nodes = np.stack([flat_state(x) for x in states])
        return Cycle(states_like(self._like, nodes), np.asarray(period))

    def _short(self, apart: Rows) -> Rows:
        """Remove whole turns of angles from differences of states."""
        return nearest(apart, self._angles)

    def _bases(self, state: Any) -> list[np.ndarray]:
        nodes = self.nodes(state)
        if is_flat(self.flow.space):
            return [np.eye(nodes.shape[1])] * len(nodes)
        return [tangent_basis(self.flow.space, self._restored(jnp.asarray(node))) for node in nodes]

    def basis(self, state: State) -> np.ndarray:
        """Compute the tangent bases of the nodes as blocks, with the period unless it is given."""
        free = 0 if self.forced else 1
        if is_flat(self.flow.space):
            return identity(size := self.nodes(state).size + 1, size - 1 + free)
        import scipy.linalg

        return np.asarray(scipy.linalg.block_diag(*self._bases(state), np.ones((1, free))))

    def displaced(self, state: State, step: np.ndarray) -> State:
        """Move the nodes and the period of an orbit."""
        cycle: Any = state
        nodes = self.nodes(cycle)
        period = float(cycle.period)
        return self.cycle(
            nodes + step[:-1].reshape(nodes.shape), period + float(np.clip(step[-1], -period / 3, period))
        )

    def _solver(self, factor: float) -> Linearised:
        """Get the solver with its absolute tolerance, where one is given, multiplied by a factor."""
        if self._pair.atol is None or factor == 1:
            return self._pair
        return eqx.tree_at(lambda pair: pair.atol, self._pair, factor * self._pair.atol)

    def _shot(self, state: Any, parameter: float, factor: float = 1.0) -> OrbitSegments:
        """Solve all segments, unless the last call did; a factor below one stands for a stricter solver."""
        nodes, period, slope = self.nodes(state), float(state.period), 0.0
        if factor in self._known:
            known, value, shot = self._known[factor]
            if value == (parameter, period) and np.array_equal(known, nodes):
                return shot
        given = parameter, period
        if self._forced_period is not None:
            period, slope = (float(x) for x in self._forced_period(jnp.asarray(parameter, float)))
        shot = self._segments(nodes, period, slope, parameter, factor)
        self._known[factor] = nodes, given, shot
        return shot

    def _segments(
        self, nodes: np.ndarray, period: float, slope: float, parameter: float, factor: float
    ) -> OrbitSegments:
        """Solve all segments of a period, given its derivative by the parameter."""
        full, m = np.column_stack([nodes, np.full(len(nodes), parameter)]), len(nodes)
        rtol = self._rtol if factor == 1 else factor * self._rtol
        most = MAX_STEPS if factor != 1 else self._most
        ends, maps, speeds, first, steps = shoot(self._solver(factor), full, period, rtol, most)
        if factor != 1 and np.all(np.isfinite(ends)) and np.all(steps > 0):  # of an orbit that has been found
            self._most = max(FEWEST_STEPS, int(MORE_STEPS * np.max(steps)))
        maps, speeds, by_parameter = maps[:, :-1], speeds[:, :-1], maps[:, :-1, -1]
        if slope:  # segments last from k T/m to (k + 1) T/m
            k = np.arange(m)[:, None]
            later = (k + 1) * speeds - k * np.einsum("kij,kj->ki", maps[:, :, :-1], first[:, :-1])
            by_parameter = by_parameter + later * slope / m
        return OrbitSegments(period, nodes, ends[:, :-1], maps[:, :, :-1], speeds, by_parameter, speeds / m)

    def equations(self, state: State, parameter: float, basis: Any) -> Equations:
        """Compute the defects in the coordinates of the next nodes, and below them the phase condition."""
        return self._equations(self._shot(state, parameter), basis)

    def _equations(self, shot: OrbitSegments, basis: Any) -> Equations:
        gaps = self._short(shot.ends - np.roll(shot.nodes, -1, axis=0))
        own = None if is_flat(self.flow.space) else basis
        return cycle_equations(shot, gaps, basis.shape[1], own, slowest=self.slowest, forced=self.forced)

    def balanced(self, matrix: np.ndarray) -> np.ndarray:
        """Scale rows to a length of at most one, since segments of unstable orbits stretch vectors strongly."""
        return with_short_rows(matrix)

    def slope(self, point: CurvePoint) -> float:
        """Compute the slope of the parameter along the tangent; 0 if it does not exceed its error.

        Beside a homoclinic orbit folds have slopes of any size. The error of a small slope is estimated by a Newton
        step with the equations of a stricter solver.
        """
        value = super().slope(point)
        if value or not point.tangent[-1]:
            return value
        value, seen = float(point.tangent[-1]), point
        if (known := self._sure.get((point.parameter, abs(value)))) is not None:
            return known * value
        for _ in range(2):  # the second time with the derivatives at the corrected point
            at = self._equations(self._shot(seen.state, seen.parameter, STRICTER), seen.basis)
            if not (np.all(np.isfinite(at.J)) and np.all(np.isfinite(at.values))):
                return 0.0
            last = self._point(seen.state, seen.parameter, seen.basis, at)
            change = newton_step(self.scaled(at), last.tangent)  # across the curve, where it is shortest
            state = self.displaced(seen.state, seen.basis @ change[:-1])
            seen = last._replace(state=state, parameter=seen.parameter + float(change[-1]), basis=self.basis(state))
        other = float(turned(point, point.tangent, seen)[0].tangent[-1])
        sure = self._sure[point.parameter, abs(value)] = abs(other - value) * RESOLVED < abs(value)
        return sure * value

    def may_have_corners(self, point: CurvePoint) -> bool:
        """Test whether the field may fail to be smooth."""
        return may_have_corners(self.flow, self._like)

    def spectrum(self, state: State, parameter: float, J: np.ndarray, orbit: np.ndarray) -> np.ndarray:
        """Compute the multipliers by decreasing modulus, without the trivial one of an autonomous flow."""
        return product_eigenvalues(self.factors(state, J))

    def factors(self, state: State, J: np.ndarray) -> np.ndarray:
        """Compute the derivatives of the maps between nodes, across the velocities for an autonomous flow."""
        blocks = self._blocks(state, J)
        return blocks if self.forced else return_factors(blocks, J[-1, :-1].reshape(blocks.shape[:2]))

    def _blocks(self, state: Any, J: np.ndarray) -> np.ndarray:
        """Take the derivatives of the maps between nodes from those of the gaps."""
        m = len(self.nodes(state))
        d = (len(J) - (0 if self.forced else 1)) // m
        blocks = [J[k * d : (k + 1) * d, k * d : (k + 1) * d] for k in range(m)]
        return np.stack(blocks) + (np.eye(d) if m == 1 else 0.0)

    def monodromy(self, state: State, J: np.ndarray) -> np.ndarray:
        """Compute the derivative of the return map at the first node, across the velocity for an autonomous flow."""
        return functools.reduce(lambda before, factor: factor @ before, self.factors(state, J))

    def neutral(self, point: CurvePoint) -> np.ndarray:
        """Estimate the error that the solver leaves in the multipliers."""
        return self.vanishing(point.values)

    def vanishing(self, values: np.ndarray) -> np.ndarray:
        """Estimate the error that the solver leaves in the multipliers, which is larger than that of a location."""
        return np.full(len(values), LEAST_ERROR * max(1.0, float(np.max(np.abs(values), initial=0.0))))

    def coefficient(self, name: str, point: CurvePoint, frequency: float) -> Coefficient:
        r"""Compute the normal form coefficient of a fold, cusp, period doubling or Neimark-Sacker point.

        Critical vectors are Floquet vectors v(t) with the mean square 1 over the period, so that coefficients do not
        depend on the nodes. At a fold v is the change of the orbit without a shift in time. With the amplitude u along
        v, the parameter near a fold is that of the fold plus c u^2. Otherwise

        $$ \dot u = c u^3, \qquad \dot u = \frac{i \theta}{T} u + d u |u|^2 $$

        hold in the mean over a period T at a cusp or a period doubling, and at a Neimark-Sacker point, where the
        result is the real part of d.

        Source: Y. A. Kuznetsov, W. Govaerts, E. J. Doedel and A. Dhooge, Numerical periodic normalization for codim 1
        bifurcations of limit cycles, SIAM J. Numer. Anal. 43 (2005). Vectors are scaled as in MatCont, whose
        coefficient at a fold is another one, for a vector that is scaled by the change of the period.
        """
        if name not in ("cusp", *OF_RETURNS):
            return UNKNOWN
        if why := self.doubt_of_critical(name, point):
            return unknown(why)
        found = None if self.on_mesh is None else self.on_mesh(self, point)
        if found is None:
            return section_coefficient(self, name, point, frequency)
        return found[0].coefficient(name, found[1], frequency)

    def branch_form(self, point: CurvePoint) -> BranchForm:
        """Tell pitchforks, at which cycles lose a symmetry, from transcritical bifurcations.

        The coefficient of a pitchfork is that of u' = c u^3, as at a cusp; a transcritical bifurcation gets none.
        """
        size = len(point.J) - (0 if self.forced else 1)

        def both(J: np.ndarray, slope: np.ndarray) -> np.ndarray:
            rows = np.column_stack([J, slope])
            rows[size:, :-1] = point.J[size:]  # the phase condition stays that of the point
            return np.vstack(
                [np.roll(rows[:size], size // self.segments, axis=0), rows[size:]]
            )  # defects beside their own nodes

        def derivatives(move: np.ndarray) -> np.ndarray:
            state = self.displaced(point.state, point.basis @ move[:-1])
            return both(*self.equations(state, point.parameter + float(move[-1]), point.basis)[1:3])

        found = branch_form(derivatives, both(point.J, point.slope))
        c = self.coefficient("cusp", point, 0.0) if found.kind == "pitchfork" else UNKNOWN
        return found._replace(coefficient=c)

    def doubt_of_critical(self, name: str, point: CurvePoint) -> str:
        """Explain why the critical multiplier at a point is not known well; "" if it is.

        Beside a homoclinic orbit all multipliers change from step to step by more than their errors.
        """
        if name not in OF_RETURNS:
            return ""
        critical = MULTIPLIERS.get(name)
        off = np.abs(np.abs(point.values) - 1) if critical is None else np.abs(point.values - critical)
        least = float(np.min(off, initial=np.inf))
        if least > CRITICAL:
            return f"the critical multiplier is {least:.2g} off"
        error = self.trivial_error(point)
        return "" if error <= CRITICAL else f"the multiplier 1 along the orbit is {error:.2g} off"

    def trivial_error(self, point: CurvePoint) -> float:
        """Compute by how much the multiplier along the orbit differs from 1; 0 for a forced flow."""
        if self.forced:
            return 0.0
        blocks = self._blocks(point.state, point.J)
        ends = point.J[:-1, -1].reshape(blocks.shape[:2])  # shares of the velocities at the ends of the segments
        images = np.einsum("kij,kj->ki", blocks, np.roll(ends, 1, axis=0))
        sizes = np.sum(ends**2, axis=1)
        return float(abs(np.prod(np.sum(images * ends, axis=1) / sizes) - 1)) if np.all(sizes > 0) else np.inf

    def size(self, state: Any, parameter: float) -> float:
        """Compute the size of an orbit: the extent of its nodes, or the largest speed times the period."""
        shot = self._shot(state, parameter)
        return max(float(np.max(np.ptp(shot.nodes, axis=0))), float(np.max(np.abs(shot.speeds))) * shot.period)

    def largest_step(self, point: CurvePoint, within: Limits, first: CurvePoint) -> float:
        """Choose the largest step from a point: nodes and parameter move by that of the limits, the period by a share.

        Towards a homoclinic orbit the period alone changes. If the limit is a default, nodes of large orbits move by a
        share of the distances from their mean.
        """
        moves, own = point.basis @ point.tangent[:-1], abs(float(point.tangent[-1]))
        cycle: Any = point.state
        nodes, period = self.nodes(cycle), float(cycle.period)
        away = float(np.linalg.norm(nodes - np.mean(nodes, axis=0)))
        shares = (
            float(np.linalg.norm(moves[:-1])) / max(within.largest, LONGER * away if within.free else 0.0),
            abs(float(moves[-1])) / (STRETCH * period),
            own / within.largest,
        )
        return 1 / max(*shares, np.finfo(float).tiny)

    def place(self, point: CurvePoint, near: CurvePoint) -> np.ndarray:
        """Flatten an orbit, shifted in phase with another orbit, and the parameter."""
        if point is near or not np.any(np.ptp(self.nodes(point.state), axis=0)):
            return point.flat
        return point._replace(state=self.beside(point.state, near.state, point.parameter)).flat

    def out_of_phase(self, point: CurvePoint) -> np.ndarray:
        """Get the coordinates of `place` that no shift in phase changes: the period and the parameter."""
        return np.array([float(point.state.period), point.parameter])

    def beside(self, state: Any, near: Any, parameter: float) -> Any:
        """Shift the nodes of an orbit into phase with another orbit; a forced flow fixes the phase."""
        if self.forced:
            return state
        moved = lambda rows, time: self.moved(rows, parameter, np.zeros(len(rows)), np.full(len(rows), time))
        period = float(state.period)
        return self.cycle(beside(moved, self.nodes(state), self.nodes(near), period, self._short), period)

    def states_at(self, cycle: Any, parameter: float, shares: Float[np.ndarray, " k"]) -> Float[np.ndarray, "k n"]:
        """Compute the states at shares of the period in [0, 1), each from the node before it."""
        nodes, period = self.nodes(cycle), float(cycle.period)
        if self._forced_period is not None:
            period = float(self._forced_period(jnp.asarray(parameter, float))[0])
        before = np.floor((m := len(nodes)) * shares + AT_NODE).astype(int)
        rows, later = nodes[before], shares - before / m
        inside = np.flatnonzero(later > AT_NODE)
        rows[inside], _ = self.moved(rows[inside], parameter, period * before[inside] / m, period * later[inside])
        return rows

    def moved(
        self, nodes: np.ndarray, parameter: float, begins: np.ndarray, durations: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Advance states, given as rows, from some times over some durations, and compute the velocities there."""
        full = np.column_stack([nodes, np.full(len(nodes), parameter)])
        ends, _, speeds, *_ = shots(self._pair, full, begins, durations, self._rtol)
        return ends[:, :-1], speeds[:, :-1]

    def unresolved(self, point: CurvePoint) -> str:
        """Explain why an orbit is not confirmed by a stricter solver; "" if it is.

        The reason is `homoclinic` for an orbit close to an equilibrium, `undefined at` a state where the solver stops
        because the field or its derivative is not finite, and `accuracy` otherwise.
        """
        shot = self._shot(point.state, point.parameter, STRICTER)
        failed = np.flatnonzero(~np.all(np.isfinite(shot.ends), axis=1))
        if failed.size:
            return self._undefined(shot, point.parameter, int(failed[0]))
        at = self._equations(shot, point.basis)
        if is_confirmed(point, at, shot.nodes, self.tolerances[1]):
            values = self.spectrum(point.state, point.parameter, at.J, point.orbit)
            apart = float(np.max(np.abs(values - point.values), initial=0.0))
            if apart <= AGREED * max(1.0, float(np.max(np.abs(values), initial=0))):
                return ""
        return self.unconfirmed(shot.nodes, point.parameter, point)

    def unconfirmed(self, nodes: np.ndarray, parameter: float, point: CurvePoint | None = None) -> str:
        """Explain why an orbit is not confirmed: `homoclinic` if it passes close to an equilibrium, else `accuracy`.

        At a point of a branch, the period must also grow at nearly one value of the parameter.
        """
        near = self._passes_equilibrium(nodes, parameter) and (point is None or self._settles(point))
        return "homoclinic" if near else "accuracy"

    def stuck_at(self, point: CurvePoint, *, kink: bool) -> str:
        """Explain why no step leads on: `homoclinic` if the orbit passes close to an equilibrium."""
        near = self._passes_equilibrium(self.nodes(point.state), point.parameter) and self._settles(point)
        return "homoclinic" if near else super().stuck_at(point, kink=kink)

    def _settles(self, point: CurvePoint) -> bool:
        """Test whether the parameter would hardly change while the period doubles.

        Cycles that pass saddles at ever smaller distances, as those of predators and prey, exist at all parameters.
        """
        if len(point.tangent) < 2:
            return True
        by_period, by_parameter = np.abs(point.tangent[-2:])
        size = max(abs(point.parameter), LEAST * float(np.ptp(self.parameter.bounds)))
        return bool(by_parameter * float(point.state.period) <= SETTLED * size * by_period)

    def _passes_equilibrium(self, nodes: np.ndarray, parameter: float) -> bool:
        """Test whether a Newton step from one of the nodes to an equilibrium, which may be a saddle, is short.

        The speed alone says nothing: on the slow parts of relaxation oscillations there is no equilibrium nearby.
        """
        n, extents = nodes.shape[1], np.maximum(np.ptp(nodes, axis=0), np.finfo(float).tiny)
        if self.forced:
            return False
        for node in nodes:
            fields = self._pair.field(jnp.zeros(()), (jnp.append(jnp.asarray(node), parameter), jnp.eye(n + 1)[:, :n]))
            velocity, J = (np.asarray(part)[:n] for part in fields)
            step = np.linalg.lstsq(J, velocity, rcond=None)[0]
            if np.max(np.abs(step) / extents) <= NEAR and may_have_loops(J):
                return True
        return False

    def _crosses(self, before: CurvePoint, point: CurvePoint) -> bool:
        """Test whether another curve crosses a vertical one between two points."""
        vertical = max(abs(float(p.tangent[-1])) for p in (before, point)) <= STEEPEST
        return vertical and self.singular(before) * self.singular(point) < 0

    def _is_hard(self, point: CurvePoint) -> bool:
        """Test whether a multiplier is so large that others have no digits, or a segment is stiff or stretches as far.

        A canard's segments stretch and contract, so that its multiplier is small.
        """
        blocks = self._blocks(point.state, point.J)
        hard = np.any(np.abs(np.linalg.det(blocks)) < STIFF) or np.any(np.linalg.norm(blocks, axis=(1, 2)) > LARGE)
        return bool(hard or np.any(np.abs(point.values) > LARGE))

    def _undefined(self, shot: OrbitSegments, parameter: float, k: int) -> str:
        """Name the state at which the solver of a segment stops, in the units of the given system."""
        full, length = np.append(shot.nodes[k], parameter), shot.period / len(shot.nodes)
        state = stops_at(self._solver(STRICTER), full, k * length, length, STRICTER * self._rtol)[:-1]
        if self.units is not None:
            state = state * self.units.flat(self._like)
        return f"{UNDEFINED} ({', '.join(f'{value:.6g}' for value in state)})"

    def end_between(self, before: CurvePoint, point: CurvePoint) -> CurvePoint | None:
        """Keep the point after a crossing, so that the crossing is located between two points."""
        end = self.ends_at(before, point)
        if end == "period doubling":
            odd = self._odd(before)
            return met(self, before, point, lambda at: float(np.sum(odd * self._odd(at))))
        return point if end == "branch point" else None

    def _odd(self, point: CurvePoint) -> np.ndarray:
        """Compute the change of the states in half a period, which vanishes on an orbit of half the period."""
        nodes = self.nodes(point.state)
        if len(nodes) % 2 == 0:
            return self._short(np.roll(nodes, -(len(nodes) // 2), axis=0) - nodes)
        shares = np.mod(np.arange(len(nodes)) / len(nodes) + 1 / 2, 1.0)
        return self._short(self.states_at(point.state, point.parameter, shares) - nodes)

    def _is_halved(self, before: CurvePoint, point: CurvePoint) -> bool:
        """Test whether orbits pass one of half the period, beyond which they are the same, half a period later."""
        known, self._known_odd = self._known_odd, (point, self._odd(point))
        one, other = known[1] if known[0] is before else self._odd(before), self._known_odd[1]
        if one.shape != other.shape:
            return False
        size = SMALL * float(np.linalg.norm(np.ptp(self.nodes(point.state), axis=0)))
        lengths = float(np.linalg.norm(one)), float(np.linalg.norm(other))
        return min(lengths) > size and float(np.sum(one * other)) < OPPOSITE * lengths[0] * lengths[1]

    def ends_at(self, before: CurvePoint, point: CurvePoint) -> str:
        """End a curve of orbits as `equilibrium` where they shrink to a point, or `period` where they are too long.

        Orbits whose period has doubled end as `period doubling` where they meet those of half the period.
        With `at_crossings` a vertical family ends as `branch point` after another one crosses it; a curve that
        changes to collocation ends at large `multipliers`, or segments that contract volumes strongly.
        """
        cycle: Any = point.state
        if self.at_crossings and self._crosses(before, point):
            return "branch point"
        if float(cycle.period) > self.longest:
            return "period"
        if self.changes and self._is_hard(point):
            return "multipliers"
        halved = "period doubling" if self._is_halved(before, point) else ""
        if self.forced:
            return halved
        nodes = [self.nodes(p.state) for p in (before, point)]
        away = [rows - np.mean(rows, axis=0) for rows in nodes]
        if len(nodes[0]) == 1:
            away = [self._shot(p.state, p.parameter).speeds for p in (before, point)]
        first, last = (float(np.linalg.norm(rows)) for rows in away)
        begun = first > SMALL * last  # otherwise the signs are rounding errors
        through = begun and float(np.sum(away[0] * away[1])) < 0  # half a turn further, past size zero
        small = self.size(cycle, point.parameter) < SMALL + NOISE * float(np.max(np.abs(nodes[1])))
        return "equilibrium" if through or small else halved
