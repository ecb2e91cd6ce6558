"""The equations of folds and of Hopf points with their critical vectors, in two parameters."""

import abc
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg
from jax.flatten_util import ravel_pytree
from jaxtyping import Array

from analysis.dynamics.continuation.curve import AbstractCurve, CurvePoint, Equations
from analysis.dynamics.continuation.locating import crossed, located
from analysis.dynamics.equilibria.newton import displaced
from analysis.dynamics.flow_maps.compiled import compiled
from analysis.dynamics.flow_maps.flat import flat_state
from analysis.dynamics.linearisation import eigenvalues, null_vectors, tangent_basis, tangent_jacobian
from analysis.dynamics.normal_forms.charts import FlowChart, second_derivative
from analysis.dynamics.normal_forms.flows import SINGULAR, crossing_pair, lyapunov_coefficient, without
from analysis.dynamics.scaling.units import Units
from dynsim._core.types import State
from dynsim.simulation.checks import check_flow
from dynsim.systems.base import AbstractFlow
from dynsim.systems.named import with_parameter
from dynsim.systems.parameter import Parameter


class Critical(NamedTuple):
    """An equilibrium with a critical eigenvector: state, real and imaginary part of the vector, frequency, parameter.

    The vector is flat, in ambient coordinates; at a fold its imaginary part and the frequency are zero.
    """

    state: State
    real: Any
    imaginary: Any
    frequency: Any
    parameter: Any


class AbstractCritical(AbstractCurve):
    """The equations of solutions with a critical vector in dependence on a second parameter."""

    flow: Any
    first: Parameter  # the parameter that is solved for; that of the curve is the second one
    ended: list[tuple[str, CurvePoint]]  # points at which the curve ended by itself, in either direction

    def __init__(self, parameters: tuple[Parameter, Parameter], units: Units | None = None):
        """Store both parameters, and the units that their system has, if it is not in those of the given one."""
        super().__init__(parameters[1], units)
        self.flow, self.first, self.ended = self.parameter.system, parameters[0], []

    @property
    def unit(self) -> float:
        """The unit of the second parameter."""
        return 1.0 if self.units is None else self.units.parameters[1]

    @property
    def where(self) -> tuple[Callable, Callable]:
        """The functions that take both parameters from the system."""
        return self.first.take, self.parameter.take

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the largest value of the first parameter."""
        return self.first.bounds

    @abc.abstractmethod
    def begin(self, state: State, parameter: float, frequency: float) -> Critical:
        """Return a solution with its critical vector, which becomes the reference of phases."""

    @abc.abstractmethod
    def tests(self) -> dict[str, Callable[[CurvePoint], float]]:
        """Return the functions that vanish at degeneracies between points, by their names."""

    @abc.abstractmethod
    def others(self, point: CurvePoint) -> np.ndarray:
        """Return numbers for the eigenvalues but the critical ones, which are imaginary for neutral ones."""

    def moved(self, first: Any, second: Any) -> Any:
        """Return the system at two values of the parameters."""
        return with_parameter(self.parameter.take, self.first.at(first), jnp.asarray(second))

    def orbit(self, state: State, basis: np.ndarray) -> np.ndarray:
        """Return no direction."""
        del state
        return np.empty((basis.shape[1], 0))

    def growth(self, values: np.ndarray) -> np.ndarray:
        """Return the real parts."""
        return np.real(values)

    def name(self, critical: complex) -> str:
        """Return no kind."""
        del critical
        return ""

    def end_between(self, before: CurvePoint, point: CurvePoint) -> CurvePoint | None:
        """Return the point at the bound of the first parameter that a curve crosses between two points, if it does."""
        value = float(critical_of(point).parameter)
        edge = min(max(value, self.bounds[0]), self.bounds[1])
        if value == edge:
            return None
        last, _ = located(self, before, point, lambda p: float(critical_of(p).parameter) - edge)
        if last is None:
            return None
        exact: Any = critical_of(last)._replace(parameter=np.asarray(edge))
        return last._replace(state=exact)

    def place(self, point: CurvePoint, near: CurvePoint) -> np.ndarray:
        """Return the state, the frequency and both parameters: vectors may come back with another sense or phase."""
        at, state = critical_of(point), self.state_beside(point, near)
        return np.append(flat_state(state), [abs(float(at.frequency)), float(at.parameter), point.parameter])

    def state_beside(self, point: CurvePoint, near: CurvePoint) -> State:
        """Return the state of a point in the phase of that of another one; equilibria have none."""
        del near
        return critical_of(point).state

    def crosses(self, point: CurvePoint) -> float:
        """Return a number that changes its sign where a pair of other eigenvalues crosses the imaginary axis."""
        return crossing_pair(self.others(point))[0]


class CriticalEquations(AbstractCritical):
    """The equations of an equilibrium with a critical eigenvector, in tangent coordinates."""

    has_frequency = False

    def __init__(self, parameters: tuple[Parameter, Parameter], state: State, units: Units | None = None):
        check_flow(parameters[0].system)
        super().__init__(parameters, units)
        self._size = len(ravel_pytree(state)[0])
        self.reference = (jnp.zeros(self._size), jnp.zeros(self._size))

    def basis(self, state: State) -> np.ndarray:
        """Return the tangent basis for the state and both parts of the vector, the frequency and the parameter."""
        critical: Any = state
        B, n = tangent_basis(self.flow.space, critical.state), self._size
        if self.has_frequency:
            return np.asarray(scipy.linalg.block_diag(B, B, B, np.eye(2)))
        return np.asarray(scipy.linalg.block_diag(B, B, np.empty((n + 1, 0)), 1.0))

    def displaced(self, state: State, step: np.ndarray) -> State:
        """Return the state moved on the space, with the vectors in its tangent space."""
        old: Any = state
        n = self._size
        moved = displaced(self.flow.space, old.state, step[:n])
        B = tangent_basis(self.flow.space, moved)
        real, imaginary = (B @ (B.T @ (v + step[s])) for v, s in (
            (old.real, slice(n, 2 * n)), (old.imaginary, slice(2 * n, 3 * n))))  # fmt: skip
        return Critical(moved, real, imaginary, old.frequency + step[-2], old.parameter + step[-1])

    def equations(self, state: State, parameter: float, basis: np.ndarray) -> Equations:
        """Return the field, the equation of the critical vector, and its normalisation."""
        old: Any = state
        B, n = tangent_basis(self.flow.space, old.state), self._size
        given = Critical(*jax.tree.map(np.asarray, old))
        found = _critical(self.where, self.flow, given, np.asarray(parameter), self.reference)
        values, J, slope = (np.asarray(part) for part in found)
        parts = 3 if self.has_frequency else 2
        d = B.shape[1]
        left = np.zeros((parts * d + parts - 1, len(values)))
        for k in range(parts):
            left[k * d : (k + 1) * d, k * n : (k + 1) * n] = B.T
        left[parts * d :, 3 * n : 3 * n + parts - 1] = np.eye(parts - 1)
        values, J, slope = left @ values, left @ J @ basis, left @ slope
        return Equations(values, J, slope, float(np.max(np.abs(values))))

    def spectrum(self, state: State, parameter: float, J: np.ndarray, orbit: np.ndarray) -> np.ndarray:
        """Return no eigenvalue: stability is that of the equilibrium."""
        del state, parameter, J, orbit
        return np.empty(0, complex)

    def ends_at(self, before: CurvePoint, point: CurvePoint) -> str:
        """Return `outside` beyond the bounds of the first parameter, and `Bogdanov-Takens point` at frequency zero."""
        at = critical_of(point)
        if not self.bounds[0] <= float(at.parameter) <= self.bounds[1]:
            return "outside"
        if not self.has_frequency or float(at.frequency) > 0:
            return ""
        last, _ = crossed(self, before, point, lambda p: float(critical_of(p).frequency))
        self.ended += [] if last is None else [("Bogdanov-Takens point", last)]
        return "Bogdanov-Takens point"

    def others(self, point: CurvePoint) -> np.ndarray:
        """Return the eigenvalues of the equilibrium but the critical ones."""
        at = critical_of(point)
        values = eigenvalues(tangent_jacobian(self.moved(float(at.parameter), point.parameter), at.state))
        return without(values, *((1j * float(at.frequency), -1j * float(at.frequency)) if self.has_frequency else (0,)))


class FoldCurve(CriticalEquations):
    """Equilibria with a null vector of length one."""

    def begin(self, state: State, parameter: float, frequency: float) -> Critical:
        """Return the null vector at a fold."""
        del frequency
        B, J = tangent_basis(self.flow.space, state), tangent_jacobian(self.moved(parameter, self.value), state)
        null = B @ null_vectors(J)[0]
        return Critical(state, null, 0 * null, np.asarray(0.0), np.asarray(parameter))

    def tests(self) -> dict[str, Callable[[CurvePoint], float]]:
        """Return the coefficient of the fold, which vanishes at cusps, the product of both null vectors, and a pair."""
        return {
            "cusp": lambda point: _fold_coefficients(self, point)[0],
            "Bogdanov-Takens point": lambda point: _fold_coefficients(self, point)[1],
            "fold-Hopf point": self.crosses,
        }


class HopfCurve(CriticalEquations):
    """Equilibria with a pair of imaginary eigenvalues, whose vector has length one and the phase of a reference."""

    has_frequency = True

    def begin(self, state: State, parameter: float, frequency: float) -> Critical:
        """Return the critical vector at a Hopf point, which becomes the reference of phases."""
        B, J = tangent_basis(self.flow.space, state), tangent_jacobian(self.moved(parameter, self.value), state)
        values, vectors = np.linalg.eig(J)
        v = vectors[:, int(np.argmin(np.abs(values - 1j * frequency)))]
        v = v / np.linalg.norm(v)
        self.reference = (jnp.asarray(B @ v.real), jnp.asarray(B @ v.imag))
        return Critical(state, *self.reference, np.asarray(frequency), np.asarray(parameter))

    def tests(self) -> dict[str, Callable[[CurvePoint], float]]:
        """Return the first Lyapunov coefficient, which changes its sign at Bautin points, a determinant, and a pair."""
        return {
            "Bautin point": lambda point: _lyapunov(self, point),
            "fold-Hopf point": lambda point: _determinant(self, point),
            "double Hopf point": self.crosses,
        }


def critical_of(point: CurvePoint) -> Critical:
    """Return the state of a point of a curve of folds or of Hopf points."""
    found: Any = point.state
    return found


@compiled
def _critical(
    where: Any, flow: AbstractFlow, at: Critical, second: Array, reference: tuple[Array, Array]
) -> tuple[Array, Array, Array]:
    """Return f, J a + w b, J b - w a, and length and phase of a + i b, with their derivatives, flat.

    The phase is that relative to a reference: the imaginary part of the product with it is zero.
    """
    flat, restored = ravel_pytree(at)

    def equations(z: Array, q: Array) -> Array:
        x, a, b, w, p = restored(z)
        y, back = ravel_pytree(x)
        f = lambda u: ravel_pytree(
            with_parameter(where[1], with_parameter(where[0], flow, p), q).vector_field(jnp.zeros(()), back(u))
        )[0]
        along = lambda v: jax.jvp(f, (y,), (v,))[1]
        norms = jnp.stack([jnp.dot(a, a) + jnp.dot(b, b) - 1, jnp.dot(reference[0], b) - jnp.dot(reference[1], a)])
        return jnp.concatenate([f(y), along(a) + w * b, along(b) - w * a, norms])

    return equations(flat, second), jax.jacfwd(equations)(flat, second), jax.jacfwd(equations, 1)(flat, second)


def _fold_coefficients(curve: CriticalEquations, point: CurvePoint) -> tuple[float, float]:
    """Return <w, f_xx v v> / 2 and <w, v> with the null vectors v and w, whose sense is continuous."""
    at = critical_of(point)
    moved = curve.moved(float(at.parameter), point.parameter)
    B, J = tangent_basis(curve.flow.space, at.state), tangent_jacobian(moved, at.state)
    v = B.T @ np.asarray(at.real)
    q, p = null_vectors(J)
    w = p * np.sign(np.linalg.slogdet(J + np.outer(p, q))[0])  # continuous along the curve
    w = w * np.sign(q @ v)
    bend = second_derivative(FlowChart(moved, at.state, B), v, v)
    return float(w @ np.real(bend.value)) / 2, float(w @ v)


def _determinant(curve: CriticalEquations, point: CurvePoint) -> float:
    """Return the least singular value of the Jacobian, relative to the largest, with the sign of the determinant."""
    at = critical_of(point)
    J = tangent_jacobian(curve.moved(float(at.parameter), point.parameter), at.state)
    sizes = np.linalg.svd(J, compute_uv=False)
    share = float(sizes[-1] / sizes[0])
    return float(np.linalg.slogdet(J)[0]) * share if share > SINGULAR else 0.0


def _lyapunov(curve: CriticalEquations, point: CurvePoint) -> float:
    at = critical_of(point)
    return lyapunov_coefficient(
        curve.moved(float(at.parameter), point.parameter), at.state, float(at.frequency)
    ).bounded
