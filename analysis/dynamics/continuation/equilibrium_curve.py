"""Equations of equilibria of a flow, and of fixed points of an iterate of a map, for continuation."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array

from analysis.dynamics.continuation.curve import AbstractCurve, CurvePoint, Equations, Solution
from analysis.dynamics.continuation.dense import identity
from analysis.dynamics.continuation.smoothness import may_have_corners
from analysis.dynamics.continuation.steps import Limits
from analysis.dynamics.equilibria.newton import displaced
from analysis.dynamics.flow_maps.compiled import compiled
from analysis.dynamics.linearisation import (
    NEAR_ZERO,
    eigenvalues_of,
    eigenvectors_near,
    null_vectors,
    orbit_basis,
    own_eigenvalue,
    tangent_basis,
)
from analysis.dynamics.normal_forms.branch_points import BranchForm, branch_form
from analysis.dynamics.normal_forms.charts import Chart, FlowChart, MapChart
from analysis.dynamics.normal_forms.cycles import Sections, cycle_flip, cycle_neimark_sacker
from analysis.dynamics.normal_forms.flows import UNKNOWN, Coefficient, fold_coefficient, hopf_coefficient, unknown
from analysis.dynamics.scaling.flat import flat_state
from analysis.dynamics.scaling.units import Units
from analysis.dynamics.sparse.matrices import Extended
from dynsim._core.types import State, SymmetryGenerator
from dynsim._core.validation import instance, integer
from dynsim.programs import NumbersFunction, Programmed
from dynsim.simulation.checks import check_flow
from dynsim.systems.base import AbstractFlow, AbstractMap
from dynsim.systems.named import with_parameter
from dynsim.systems.parameter import Parameter
from dynsim.systems.rescaled import is_flat

# Most operations of a field and its derivatives that Python evaluates faster than a compiled program is called.
FEW = 1000
# Largest step of an entry of the state, relative to its distance from the first point, if the limit is a default.
LONGER = 0.1
# Largest step of an entry of the state, relative to the default limit. Without it, a branch that tends to infinity at a
# value of the parameter gets so far that the parameter stands still.
LONGEST = 128.0


def _transverse(J: Any, typical: np.ndarray | float, orbit: np.ndarray) -> tuple[Any, np.ndarray]:
    """Restrict a Jacobian to directions across the orbit of the symmetries, and the typical sizes of its rows."""
    sizes = np.broadcast_to(typical, len(J))
    if not orbit.size:
        return J, sizes
    across = np.linalg.svd(orbit)[0][:, orbit.shape[1] :]
    return across.T @ J @ across, np.abs(across).T @ sizes


# Points of a curve of equilibria at one value of the parameter that are followed: it may have no end.
FAMILY = 60
# Reason for unknown coefficients where symmetries move the solutions.
SYMMETRIC = "symmetries move the solutions"


class EquilibriumCurve(AbstractCurve):
    """Vector field of a flow in tangent coordinates at t = 0, with its derivatives."""

    longest_family: ClassVar[float] = FAMILY
    _short: tuple[NumbersFunction | None] | None = None  # a short field evaluated by Python, once it was looked for

    def __init__(self, parameter: Parameter, symmetries: Sequence[SymmetryGenerator] = (), units: Units | None = None):
        check_flow(parameter.system)
        super().__init__(parameter, units)
        self.system, self.symmetries = parameter.system, tuple(symmetries)

    @functools.cached_property
    def _flat(self) -> bool:
        return is_flat(self.system.space)

    def basis(self, state: State) -> Any:
        """Compute a basis of the tangent space."""
        if not self._flat:
            return tangent_basis(self.system.space, state)
        size = sum(np.size(leaf) for leaf in jax.tree.leaves(state))
        return identity(size, size)

    def displaced(self, state: State, step: np.ndarray) -> State:
        """Move a state by a step, and project it to the space."""
        return displaced(self.system.space, state, step)

    def equations(self, state: State, parameter: float, basis: Any) -> Equations:
        """Evaluate the vector field and its derivatives in tangent coordinates."""
        found = self._derivatives(state, np.asarray(parameter, float))
        field, J, slope = (np.asarray(part) for part in found)
        size, typical = float(np.max(np.abs(field), initial=0)), self.typical(state, parameter)
        if self._flat:  # the basis is the identity
            return Equations(field, J, slope, size, typical)
        return Equations(basis.T @ field, basis.T @ J @ basis, basis.T @ slope, size, typical)

    def _derivatives(self, state: State, parameter: Array | np.ndarray) -> tuple[Array | np.ndarray, ...]:
        if self._short is None:
            fixed = (self.parameter.take, self.system)
            self._short = (_SHORT.numbers(fixed, state, parameter, most=FEW),)
        (short,) = self._short
        if short is None:
            return _of_flow(self.parameter.take, self.system, state, parameter)
        flat = flat_state(state)
        n, found = len(flat), np.array(short([*flat.tolist(), float(parameter)]))
        return found[:n], found[n : n + n * n].reshape(n, n), found[n + n * n :]

    def may_have_corners(self, point: CurvePoint) -> bool:
        """Test whether the field or the map may fail to be smooth."""
        return may_have_corners(self.system, point.state)

    def orbit(self, state: State, basis: Any) -> np.ndarray:
        """Compute a basis of the directions in which the symmetries move a state."""
        return orbit_basis(basis, state, self.symmetries) if self.symmetries else super().orbit(state, basis)

    def row_sizes(self, at: Equations | CurvePoint, rows: np.ndarray | None = None) -> np.ndarray:
        """Compute the size of each equation, so that slow equations are solved as accurately as fast ones.

        With symmetries the equations are not independent, and other weights would lead to other solutions.
        """
        return np.ones(len(at.J)) if self.symmetries else super().row_sizes(at, rows)

    def largest_step(self, point: CurvePoint, within: Limits, first: CurvePoint) -> float:
        """Choose the largest step from a point along its tangent: each coordinate moves by that of the limits at most.

        If the limit is a default, entries of the state may move by a share of their distances from the first point.
        These can be far larger than their units, which are estimated at the first point, where a component may be zero.
        """
        away = LONGER * np.abs(point.flat - first.flat) * within.free
        away[-1] = 0.0
        return 1 / float(np.linalg.norm(point.flat_tangent / np.clip(away, within.largest, LONGEST * within.largest)))

    def spectrum(self, state: State, parameter: float, J: Any, orbit: np.ndarray) -> np.ndarray:
        """Compute the eigenvalues transverse to the orbit of the symmetries."""
        return self.spectra([(state, parameter, J, orbit)])[0]

    def spectra(self, at: Sequence[Solution]) -> list[np.ndarray]:
        """Compute the eigenvalues transverse to the orbits of the symmetries at several states."""
        parts = [_transverse(J, self.typical(state, parameter), orbit) for state, parameter, J, orbit in at]
        found = eigenvalues_of([A for A, _ in parts])
        return [self._refined(*part, values) for part, values in zip(parts, found, strict=True)]

    def _refined(self, A: Any, sizes: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Refine the eigenvalues that are small beside the largest one."""
        values = values + self.meeting
        small = np.flatnonzero(self._is_small(values))
        if small.size:
            values = np.array(values, complex)
            for k in small:
                values[k] = own_eigenvalue(A, values[k] - self.meeting, sizes)[0] + self.meeting
        return values

    def _is_small(self, values: np.ndarray) -> np.ndarray:
        """Test which eigenvalues are so small, beside the largest one, that their own errors decide on their sign."""
        return np.abs(self.growth(values)) <= NEAR_ZERO * max(1.0, float(np.max(np.abs(values), initial=0.0)))

    def rounding(self, values: np.ndarray, at: Equations, orbit: np.ndarray) -> np.ndarray:
        """Compute the error of each eigenvalue that is small beside the largest one; zero for the others."""
        found = np.zeros(len(values))
        for k in np.flatnonzero(self._is_small(values)):
            twin = k and values[k] == np.conj(values[k - 1])
            found[k] = found[k - 1] if twin else self._error(at, orbit, values[k])
        return found

    def neutral(self, point: CurvePoint) -> np.ndarray:
        """Compute the error of each eigenvalue that is small beside the largest one; zero for the others."""
        return np.fmin(point.rounding(), AbstractCurve.neutral(self, point))

    def _error(self, at: Equations | CurvePoint, orbit: np.ndarray, value: complex) -> float:
        A, sizes = _transverse(at.J, at.typical, orbit)
        return own_eigenvalue(A, value - self.meeting, sizes)[1]

    def is_real(self, points: Sequence[CurvePoint], value: complex) -> bool:
        """Test whether the imaginary part of an eigenvalue of the first point is no larger than its error."""
        return bool(abs(value.imag) <= self._error(points[0], points[0].orbit, value))

    def coefficient(self, name: str, point: CurvePoint, frequency: float) -> Coefficient:
        """Compute the normal form coefficient of a fold or a Hopf point, unless symmetries move the state."""
        if name not in ("fold", "Hopf point"):
            return UNKNOWN
        if point.orbit.size:
            return unknown(SYMMETRIC)
        flow = self.parameter.at(point.parameter)
        if name == "Hopf point":
            return self._given(hopf_coefficient(self._chart(flow, point), point.J, frequency), point, 1j * frequency)
        return self._given(fold_coefficient(self._chart(flow, point), point.J, point.slope), point)

    def _chart(self, flow: AbstractFlow, point: CurvePoint) -> Chart:
        return FlowChart(flow, point.state, point.basis)

    def _both(self, point: CurvePoint) -> Any:
        """Join the derivatives by the state and by the parameter."""
        return np.column_stack([point.J, point.slope])

    def branch_form(self, point: CurvePoint) -> BranchForm:
        """Compute the normal form of a simple branch point, unless symmetries move the state."""
        if point.orbit.size:
            return BranchForm("")

        def derivatives(move: np.ndarray) -> Any:
            state = self.displaced(point.state, point.basis @ move[:-1])
            at = self.equations(state, point.parameter + float(move[-1]), point.basis)
            both = self._both(point._replace(J=at.J, slope=at.slope))
            return both.plain if isinstance(both, Extended) else both

        found = branch_form(derivatives, self._both(point))
        if self.units is None or not found.kind:
            return found
        length = float(np.linalg.norm(self.units.flat(point.state) * (point.basis @ null_vectors(point.J)[0])))
        share = 1 / (length ** (2 if found.kind == "pitchfork" else 1) * self.units.time)
        c = found.coefficient
        return found._replace(coefficient=c._replace(value=share * c.value, size=share * c.size))

    def _given(self, found: Coefficient, point: CurvePoint, critical: complex | None = None) -> Coefficient:
        """Convert the coefficient of a fold, or of an eigenvalue of J, to the units of the given system."""
        if self.units is None:
            return found
        if critical is None:
            vector, share = null_vectors(point.J)[0], self.units.parameters[0]
        else:
            vector, share = eigenvectors_near(point.J, critical)[0], 1.0
        return self.in_given_units(found, point.basis @ vector, self.units.flat(point.state), share)


class FixedPointCurve(EquilibriumCurve):
    """Displacement by an iterate of a map in tangent coordinates, with its derivatives."""

    meeting: ClassVar[float] = 1.0

    def __init__(
        self,
        parameter: Parameter,
        iterate: int,
        symmetries: Sequence[SymmetryGenerator] = (),
        units: Units | None = None,
    ):
        self.system = instance("flow", parameter.system, AbstractMap, "a flow or a map")
        AbstractCurve.__init__(self, parameter, units)
        self.iterate, self.symmetries = integer("iterate", iterate, least=1), tuple(symmetries)

    def _derivatives(self, state: State, parameter: Array | np.ndarray) -> tuple[Array | np.ndarray, ...]:
        return _of_map(self.parameter.take, self.system, state, parameter, np.asarray(self.iterate))

    def spectra(self, at: Sequence[Solution]) -> list[np.ndarray]:
        """Compute the multipliers, the eigenvalues of the derivative of the iterate, by decreasing modulus."""
        return [found[np.argsort(-np.abs(found), kind="stable")] for found in super().spectra(at)]

    def monodromy(self, state: State, J: Any) -> np.ndarray:
        """Compute the derivative of the iterate."""
        return J + np.eye(len(J))

    def coefficient(self, name: str, point: CurvePoint, frequency: float) -> Coefficient:
        """Compute the normal form coefficient of a fold, period doubling or Neimark-Sacker point without symmetries."""
        if point.orbit.size:
            return unknown(SYMMETRIC)
        chart, A = self.chart(point)
        if name == "fold":
            return self._given(fold_coefficient(chart, point.J, point.slope), point)
        if name not in ("period doubling", "Neimark-Sacker point"):
            return UNKNOWN
        at, flips = Sections([chart], A[None]), name == "period doubling"
        found = cycle_flip(at) if flips else cycle_neimark_sacker(at, frequency)
        if found is None:
            return unknown("another multiplier is critical, too, or this one is not simple")
        return self._given(found.coefficient, point, (-1.0 if flips else np.exp(1j * frequency)) - 1)

    def chart(self, point: CurvePoint) -> tuple[MapChart, np.ndarray]:
        """Build the iterate in tangent coordinates at a point of the curve, and its derivative there."""
        system = self.parameter.at(point.parameter)
        return MapChart(system, point.state, point.basis, self.iterate), point.J + np.eye(len(point.J))

    def critical_length(self, point: CurvePoint, critical: complex) -> float:
        """Compute the norm, in the units of the given system, of the unit critical vector of a multiplier."""
        if self.units is None:
            return 1.0
        q, _, _ = eigenvectors_near(point.J, critical - 1)
        return float(np.linalg.norm(self.units.flat(point.state) * (point.basis @ q)))

    def of(self, system: AbstractMap) -> "FixedPointCurve":
        """Build the curve of another system in the same units."""
        return FixedPointCurve(self.parameter.of(system), self.iterate, self.symmetries, self.units)


def _flow_derivatives(where: Any, flow: AbstractFlow, state: State, parameter: Array) -> tuple[Array, Array, Array]:
    flat, restored = ravel_pytree(state)
    f = lambda y, p: ravel_pytree(with_parameter(where, flow, p).vector_field(jnp.zeros(()), restored(y)))[0]
    return f(flat, parameter), jax.jacfwd(f)(flat, parameter), jax.jacfwd(f, 1)(flat, parameter)


_of_flow, _SHORT = compiled(_flow_derivatives), Programmed(_flow_derivatives)


@compiled
def _of_map(where: Any, system: AbstractMap, state: State, parameter: Array, iterate: Array) -> Any:
    flat, restored = ravel_pytree(state)

    def f(y: Array, p: Array) -> Array:
        moved, point = with_parameter(where, system, p), system.space.project(restored(y))
        away = jax.lax.fori_loop(0, iterate, lambda k, x: moved.step(k, x), point)
        away = jax.tree.map(lambda a, b: a - b, away, point)
        return ravel_pytree(system.space.tangent(point, away))[0]

    return f(flat, parameter), jax.jacfwd(f)(flat, parameter), jax.jacfwd(f, 1)(flat, parameter)


def derivatives_of(system: Any) -> Callable[[Any, Any, State, Array], tuple[Array, ...]]:
    """Build the function that evaluates a flow's field, or a map's displacement, with its derivatives.

    It takes the function that finds the parameter, such a system, a state and a value of the parameter; all is ambient.
    """
    if isinstance(system, AbstractFlow):
        return _of_flow
    return lambda where, system, state, parameter: _of_map(where, system, state, parameter, np.asarray(1))
