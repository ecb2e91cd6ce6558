"""Equations of fold and Hopf points with their critical vectors, for continuation in two parameters."""

import abc
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from analysis.dynamics.continuation.curve import AbstractCurve, CurvePoint, Equations
from analysis.dynamics.continuation.dense import signed_least
from analysis.dynamics.continuation.locating import crossed, located
from analysis.dynamics.continuation.smoothness import may_have_corners
from analysis.dynamics.continuation.typical_sizes import SizesAlong
from analysis.dynamics.equilibria.newton import displaced
from analysis.dynamics.flow_maps.compiled import compiled
from analysis.dynamics.linearisation import eigenvalues, null_vectors, tangent_basis, tangent_jacobian
from analysis.dynamics.normal_forms.charts import FlowChart, second_derivative
from analysis.dynamics.normal_forms.flows import SINGULAR, crossing_pair, lyapunov_coefficient, without
from analysis.dynamics.scaling.flat import flat_state
from analysis.dynamics.scaling.units import Units
from dynsim._core.types import State
from dynsim.simulation.checks import check_flow
from dynsim.systems.base import AbstractFlow
from dynsim.systems.named import with_parameter
from dynsim.systems.parameter import Parameter

# Singular value, relative to the largest, below which the Jacobian is singular at a located Bogdanov-Takens point.
DEFECTIVE = 1e-6
# Frequencies of Hopf points that are tried beside it, relative to the norm of the Jacobian.
SLOW = (0.1, 0.03, 0.01, 0.003, 0.001)

# Distance of the first parameter from its range, relative to the width, that is an error of a curve along a bound.
ALONG = 1e-9


class Critical(NamedTuple):
    """Equilibrium or orbit with a critical vector: state, vector, frequency and first parameter.

    The vector is flattened, in ambient coordinates, and split into real and imaginary part. At a fold the imaginary
    part and the frequency are zero.
    """

    state: State
    real: Any
    imaginary: Any
    frequency: Any
    parameter: Any


class AbstractCritical(AbstractCurve):
    """Equations of solutions with a critical vector, along a second parameter."""

    flow: Any
    first: Parameter  # the parameter that is solved for; the curve is continued in the second one
    ended: list[tuple[str, CurvePoint]]  # points at which the curve ended by itself, in either direction

    def __init__(self, parameters: tuple[Parameter, Parameter], units: Units | None = None):
        """Store both parameters, and the units of their system if it is rescaled."""
        super().__init__(parameters[1], units)
        self.flow, self.first, self.ended = self.parameter.system, parameters[0], []

    @property
    def unit(self) -> float:
        """Unit of the second parameter."""
        return 1.0 if self.units is None else self.units.parameters[1]

    @property
    def where(self) -> tuple[Callable, Callable]:
        """Functions that get both parameters from the system."""
        return self.first.take, self.parameter.take

    @abc.abstractmethod
    def begin(self, state: State, parameter: float, frequency: float) -> Critical:
        """Compute a solution with its critical vector, which becomes the phase reference."""

    def begun(self, point: CurvePoint) -> None:
        """Take note of the first point of the curve; nothing by default."""

    @abc.abstractmethod
    def tests(self) -> dict[str, Callable[[CurvePoint], float]]:
        """List the test functions of codimension-two points by kind."""

    @abc.abstractmethod
    def others(self, point: CurvePoint) -> np.ndarray:
        """Compute numbers for all eigenvalues except the critical ones; they are imaginary for neutral eigenvalues."""

    def moved(self, first: Any, second: Any) -> Any:
        """Build the system at given values of both parameters."""
        return with_parameter(self.parameter.take, self.first.at(first), jnp.asarray(second))

    def may_have_corners(self, point: CurvePoint) -> bool:
        """Test whether the field or the map may fail to be smooth."""
        state: Any = critical_of(point).state
        first = jax.tree.map(lambda a: a[0], state.nodes) if hasattr(state, "nodes") else state
        return may_have_corners(self.flow, first)

    def is_outside(self, at: Critical) -> bool:
        """Test whether the first parameter is out of its range, not only by its error, as on a curve along a bound."""
        low, high = self.first.bounds
        return not -ALONG <= (float(at.parameter) - low) / (high - low) <= 1 + ALONG

    def end_between(self, before: CurvePoint, point: CurvePoint) -> CurvePoint | None:
        """Locate the point where a curve crosses a bound of the first parameter; None if it does not.

        There is none in a step from a point at the bound, which rounding may have put beyond it.
        """
        own, value = (float(critical_of(one).parameter) for one in (before, point))
        edge = min(max(value, self.first.low), self.first.high)
        if (own - edge) * (value - edge) >= 0:
            return None
        last, _ = located(self, before, point, lambda p: float(critical_of(p).parameter) - edge)
        if last is None:
            return None
        exact: Any = critical_of(last)._replace(parameter=np.asarray(edge))
        return last._replace(state=exact)

    def place(self, point: CurvePoint, near: CurvePoint) -> np.ndarray:
        """Flatten state, frequency and both parameters; vectors are left out, since their sign or phase may differ."""
        at, state = critical_of(point), self.state_beside(point, near)
        return np.append(flat_state(state), [abs(float(at.frequency)), float(at.parameter), point.parameter])

    def state_beside(self, point: CurvePoint, near: CurvePoint) -> State:
        """Return the state of a point in phase with another one; equilibria have no phase."""
        return critical_of(point).state

    def crosses(self, point: CurvePoint) -> float:
        """Evaluate a test function that changes sign where another pair of eigenvalues crosses the imaginary axis."""
        return crossing_pair(self.others(point))[0]


class CriticalEquations(AbstractCritical):
    """Equations of an equilibrium with a critical eigenvector, in tangent coordinates."""

    has_frequency = False

    def __init__(self, parameters: tuple[Parameter, Parameter], state: State, units: Units | None = None):
        check_flow(parameters[0].system)
        super().__init__(parameters, units)
        self._size = len(ravel_pytree(state)[0])
        self.reference = (jnp.zeros(self._size), jnp.zeros(self._size))

    def basis(self, state: State) -> Any:
        """Compute the tangent basis for the state and both parts of the vector, with frequency and parameter."""
        critical: Any = state
        B, n = tangent_basis(self.flow.space, critical.state), self._size
        if self.has_frequency:
            return np.asarray(scipy.linalg.block_diag(B, B, B, np.eye(2)))
        return np.asarray(scipy.linalg.block_diag(B, B, np.empty((n + 1, 0)), 1.0))

    def begun(self, point: CurvePoint) -> None:
        """Judge the equations by their unit, 1, until they are far smaller along the curve."""
        self.sizes = SizesAlong(point.flat, np.ones(len(point.J)))

    def displaced(self, state: State, step: np.ndarray) -> State:
        """Move the state on the space, and project the vectors to its tangent space."""
        old: Any = state
        n = self._size
        moved = displaced(self.flow.space, old.state, step[:n])
        B = tangent_basis(self.flow.space, moved)
        real, imaginary = (B @ (B.T @ (v + step[s])) for v, s in (
            (old.real, slice(n, 2 * n)), (old.imaginary, slice(2 * n, 3 * n))))  # fmt: skip
        return Critical(moved, real, imaginary, old.frequency + step[-2], old.parameter + step[-1])

    def equations(self, state: State, parameter: float, basis: Any) -> Equations:
        """Evaluate the vector field, the equation of the critical vector, and its normalisation."""
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
        return Equations(values, J, slope, float(np.max(np.abs(values))), self.typical(state, parameter))

    def ends_at(self, before: CurvePoint, point: CurvePoint) -> str:
        """End a curve as `outside` the bounds of the first parameter, or `Bogdanov-Takens point` at frequency zero."""
        at = critical_of(point)
        if self.is_outside(at):
            return "outside"
        if not self.has_frequency or float(at.frequency) > 0:
            return ""
        last, _ = crossed(self, before, point, lambda p: float(critical_of(p).frequency))
        self.ended += [] if last is None else [("Bogdanov-Takens point", last)]
        return "Bogdanov-Takens point"

    def others(self, point: CurvePoint) -> np.ndarray:
        """Compute the eigenvalues of the equilibrium except the critical ones."""
        at = critical_of(point)
        values = eigenvalues(tangent_jacobian(self.moved(float(at.parameter), point.parameter), at.state))
        return without(values, *((1j * float(at.frequency), -1j * float(at.frequency)) if self.has_frequency else (0,)))


class FoldCurve(CriticalEquations):
    """Equations of folds: equilibria with a null vector of length one."""

    def begin(self, state: State, parameter: float, frequency: float) -> Critical:
        """Compute the null vector at a fold."""
        B, J = tangent_basis(self.flow.space, state), tangent_jacobian(self.moved(parameter, self.value), state)
        null = B @ null_vectors(J)[0]
        return Critical(state, null, 0 * null, np.asarray(0.0), np.asarray(parameter))

    def tests(self) -> dict[str, Callable[[CurvePoint], float]]:
        """List the test functions: the fold coefficient, the product of both null vectors, and an imaginary pair."""
        return {
            "cusp": lambda point: _fold_coefficients(self, point)[0],
            "Bogdanov-Takens point": lambda point: _fold_coefficients(self, point)[1],
            "fold-Hopf point": self.crosses,
        }


class HopfCurve(CriticalEquations):
    """Equations of Hopf points: an imaginary pair, and a unit eigenvector whose phase is fixed by a reference."""

    has_frequency = True

    def begin(self, state: State, parameter: float, frequency: float) -> Critical:
        """Compute the critical vector at a Hopf point, which becomes the phase reference."""
        B, J = tangent_basis(self.flow.space, state), tangent_jacobian(self.moved(parameter, self.value), state)
        values, vectors = np.linalg.eig(J)
        v = vectors[:, int(np.argmin(np.abs(values - 1j * frequency)))]
        v = v / np.linalg.norm(v)
        self.reference = (jnp.asarray(B @ v.real), jnp.asarray(B @ v.imag))
        return Critical(state, *self.reference, np.asarray(frequency), np.asarray(parameter))

    def beside(self, state: State, first: float, second: float, shares: Sequence[float] = SLOW) -> CurvePoint | None:
        r"""Find a Hopf point of small frequency near a Bogdanov-Takens point; None if Newton's method fails.

        With generalised null vectors, $J q_0 = 0$ and $J q_1 = q_0$, the critical vector of the frequency $\omega$ is
        $\omega q_1 - i q_0$ to first order. The frequency is kept fixed, and both parameters are solved for. `shares`
        are the frequencies that are tried, relative to the norm of the Jacobian.
        """
        B, J = tangent_basis(self.flow.space, state), tangent_jacobian(self.moved(first, second), state)
        null = null_vectors(J)[0]
        other = np.linalg.lstsq(J, null, rcond=DEFECTIVE)[0]
        for share in shares:
            frequency = share * float(np.linalg.norm(J, 2))
            a, b = frequency * (B @ other), -(B @ null)
            size = float(np.hypot(np.linalg.norm(a), np.linalg.norm(b)))
            self.reference = (jnp.asarray(a / size), jnp.asarray(b / size))
            begin = Critical(state, *self.reference, np.asarray(frequency), np.asarray(first))
            fixed = np.zeros(self.basis(begin).shape[1] + 1)
            fixed[-3] = 1.0
            found = self.corrected(begin, second, fixed)
            if found is not None:
                return found
        return None

    def tests(self) -> dict[str, Callable[[CurvePoint], float]]:
        """List the test functions: first Lyapunov coefficient, signed singular value, and another imaginary pair."""
        return {
            "Bautin point": lambda point: _lyapunov(self, point),
            "fold-Hopf point": lambda point: _determinant(self, point),
            "double Hopf point": self.crosses,
        }


def critical_of(point: CurvePoint) -> Critical:
    """Get the solution and the critical vector at a point of a curve of bifurcations."""
    found: Any = point.state
    return found


@compiled
def _critical(
    where: Any, flow: AbstractFlow, at: Critical, second: Array, reference: tuple[Array, Array]
) -> tuple[Array, Array, Array]:
    """Evaluate f, J a + w b, J b - w a, and norm and phase conditions of a + i b, with derivatives, flattened.

    The phase condition is that the inner product with a reference vector is real.
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


def left_null_vector(J: Float[np.ndarray, "d d"], right: Float[np.ndarray, " d"]) -> Float[np.ndarray, " d"]:
    """Compute the left null vector of a matrix; along a curve its sign is continuous if that of the right one is."""
    q, p = null_vectors(J)
    return p * np.sign(np.linalg.slogdet(J + np.outer(p, q))[0]) * np.sign(q @ right)


def _fold_coefficients(curve: CriticalEquations, point: CurvePoint) -> tuple[float, float]:
    """Compute <w, f_xx v v> / 2 and <w, v> with the null vectors v and w, whose signs are continuous."""
    at = critical_of(point)
    moved = curve.moved(float(at.parameter), point.parameter)
    B, J = tangent_basis(curve.flow.space, at.state), tangent_jacobian(moved, at.state)
    v = B.T @ np.asarray(at.real)
    w = left_null_vector(J, v)
    bend = second_derivative(FlowChart(moved, at.state, B), v, v)
    return float(w @ np.real(bend.value)) / 2, float(w @ v)


def _determinant(curve: CriticalEquations, point: CurvePoint) -> float:
    """Compute the smallest singular value of the Jacobian, relative to the largest, signed by the determinant."""
    at = critical_of(point)
    value = signed_least(tangent_jacobian(curve.moved(float(at.parameter), point.parameter), at.state))
    return value if abs(value) > SINGULAR else 0.0


def _lyapunov(curve: CriticalEquations, point: CurvePoint) -> float:
    at = critical_of(point)
    return lyapunov_coefficient(
        curve.moved(float(at.parameter), point.parameter), at.state, float(at.frequency)
    ).bounded
