r"""Equations of fold and Hopf points with many unknowns, for continuation in two parameters by sparse algebra.

A fold or a Hopf point is where a matrix R is singular: the Jacobian J, or for the frequency $\omega$ the matrix
[[J, $\omega$], [$-\omega$, J]] of twice the size, which has two null vectors there. With borders B and C near its null
vectors the system

$$ R V + B g = 0, \qquad C V = e_1 $$

is regular, and the point is where its one or two numbers g vanish. Their derivatives are $-W^\top R' V$ with the
solutions W of the transposed system. The unknowns are the state, a parameter and the frequency only.

Source: W. Govaerts, Numerical Methods for Bifurcations of Dynamical Equilibria (2000), chapters 3 and 4.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from analysis.dynamics.codim2.equilibria import Critical, CriticalEquations, critical_of
from analysis.dynamics.continuation.curve import CurvePoint, Equations
from analysis.dynamics.continuation.large_equilibria import COUNT, SparseCurve
from analysis.dynamics.flow_maps.compiled import compiled
from analysis.dynamics.normal_forms.charts import FlatChart, second_derivative
from analysis.dynamics.normal_forms.flows import hopf_coefficient, without
from analysis.dynamics.scaling.flat import flat_state
from analysis.dynamics.scaling.units import Units
from analysis.dynamics.sparse.matrices import Bordered, SparseMatrix, conditioning
from analysis.dynamics.sparse.rightmost import rightmost
from dynsim._core.types import State
from dynsim.programs.sparsity import Pattern, entries_of
from dynsim.systems.base import AbstractFlow
from dynsim.systems.named import with_parameter
from dynsim.systems.parameter import Parameter


class CriticalMatrix(SparseMatrix):
    """Derivatives of the equations of a critical point, with the Jacobian there and its critical vectors.

    Attributes:
        jacobian: the Jacobian of the field.
        right: the right null vectors of R, as rows; the other one of a Hopf point is this one turned by a right angle.
        left: the left one.
    """

    def __init__(
        self,
        jacobian: SparseMatrix,
        border: tuple[np.ndarray, np.ndarray, np.ndarray] | None,
        right: np.ndarray,
        left: np.ndarray,
    ):
        """Store the Jacobian, its border of columns, rows and corner, and the critical vectors as unit vectors."""
        super().__init__(jacobian.matrix if border is None else _stacked(jacobian.matrix, *border))
        self.jacobian = jacobian
        self.right, self.left = (one / np.linalg.norm(one) for one in (right, left))
        self._whole: Any = jacobian if border is None else bordered(jacobian, *border)

    def solved(self, left: np.ndarray, *, transposed: bool = False) -> np.ndarray:
        """Solve the equations, or those of the transposed matrix, by block elimination."""
        return self._whole.solved(left, transposed=transposed)

    @property
    def phase(self) -> complex:
        """The sign of the determinant."""
        return self._whole.phase


def bordered(inner: SparseMatrix, columns: np.ndarray, rows: np.ndarray, corner: np.ndarray) -> Any:
    """Add columns and rows to a matrix, one after the other."""
    whole: Any = inner
    for k in range(len(rows)):
        column, row = np.append(columns[:, k], corner[:k, k]), np.append(rows[k], corner[k, :k])
        whole = Bordered(whole, column, row, float(corner[k, k]))
    return whole


class LargeCritical(SparseCurve, CriticalEquations):
    """Equations of an equilibrium where a bordered matrix is singular, with sparse derivatives.

    States have empty critical vectors. These, by which the borders are chosen, are known at points of the curve.
    """

    def __init__(
        self, parameters: tuple[Parameter, Parameter], state: State, pattern: Pattern, units: Units | None = None
    ):
        """Store the pattern of the Jacobian for all values of both parameters."""
        from scipy.sparse import eye_array

        super().__init__(parameters, state, units)
        self.pattern, n = pattern, pattern.size
        kept = np.arange(n + 2) if self.has_frequency else np.append(np.arange(n), n + 1)
        one: Any = eye_array(n + 2, format="csr")
        self._basis = one[kept].T.tocsr()
        self._known: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []

    def basis(self, state: State) -> Any:
        """Select the state, the frequency of a Hopf point and the parameter."""
        return self._basis

    def displaced(self, state: State, step: np.ndarray) -> State:
        """Move the state, the frequency and the parameter."""
        old: Any = state
        flat, restored = ravel_pytree(old.state)
        moved = jax.tree.map(np.asarray, restored(flat + step[: len(flat)]))
        return old._replace(state=moved, frequency=old.frequency + step[-2], parameter=old.parameter + step[-1])

    def begun(self, point: CurvePoint) -> None:
        """Take note of the critical vectors at the first point."""
        self.passed(point)

    def passed(self, point: CurvePoint) -> None:
        """Take note of the critical vectors at a point of the curve."""
        at: Any = point.J
        self._known.append((point.flat, at.right, at.left))

    def _nearest(self, flat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Get the critical vectors at the nearest known point, whose orientation others take over."""
        apart = [float(np.max(np.abs(flat - place))) for place, _, _ in self._known]
        _, right, left = self._known[int(np.argmin(apart))]
        return right, left

    def _begun_with(self, state: State, parameter: float, frequency: float, pair: tuple[Any, Any]) -> Critical:
        empty = np.empty(0)
        found = Critical(state, empty, empty, np.asarray(float(frequency)), np.asarray(float(parameter)))
        flat = np.append(flat_state(found), self.value)
        right, left = (np.asarray(one) / np.linalg.norm(one) for one in pair)
        self._known = [(flat, right, left)]
        return found

    def jacobian(self, state: State, first: float, second: float) -> SparseMatrix:
        """Evaluate the Jacobian of the field."""
        found = _linear(self.where, self.flow, state, np.asarray(first), np.asarray(second), *self._places)
        return SparseMatrix(self.pattern.matrix(np.asarray(found[1])))

    @property
    def _places(self) -> tuple[Any, Any, Any]:
        return self.pattern.seeds, self.pattern.group, self.pattern.rows

    def equations(self, state: State, parameter: float, basis: Any) -> Equations:
        """Evaluate the vector field and the numbers that vanish at a critical point, with their derivatives."""
        old: Any = state
        frequency, first, n = float(old.frequency), np.asarray(old.parameter), self.pattern.size
        given = (self.where, self.flow, old.state, first, np.asarray(parameter))
        field, entries, slopes = (np.asarray(part) for part in _linear(*given, *self._places))
        J = SparseMatrix(self.pattern.matrix(entries))
        right, left = self._nearest(np.append(flat_state(old), parameter))
        if not (np.all(np.isfinite(entries)) and np.all(np.isfinite(slopes))):
            return Equations(field, CriticalMatrix(J, None, right, left), slopes[:, 1], np.inf)
        g, V, W = self._bordered(J, frequency, right, left)
        gradients = [_gradient(*given, V[:n], V[n:], w[:n], w[n:]) for w in W]
        by = -np.array([np.concatenate([np.asarray(part).ravel() for part in one]) for one in gradients])
        columns, rows, corner = slopes[:, :1], by[:, :n], by[:, n : n + 1]
        if self.has_frequency:  # its derivative of R V is (b, -a)
            turns = -np.array([[w[:n] @ V[n:] - w[n:] @ V[:n]] for w in W])
            columns, corner = np.column_stack([np.zeros(n), columns]), np.column_stack([turns, corner])
        # the second number changes with the frequency, by about one, and is eliminated with it
        matrix = CriticalMatrix(J, (columns, rows[::-1], corner[::-1]), V, W[0])
        values, slope = np.append(field, g[::-1]), np.append(slopes[:, 1], by[::-1, n + 1])
        return Equations(values, matrix, slope, float(np.max(np.abs(values))), self.typical(state, parameter))

    def _bordered(
        self, J: SparseMatrix, frequency: float, right: np.ndarray, left: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Solve the bordered system: the numbers g, the vector V, and the left vectors W as rows."""
        from scipy.sparse import block_array, eye_array

        R: Any = J.matrix
        rows, columns = right[None], left[None]
        if self.has_frequency:
            turn = frequency * eye_array(len(J))
            R = block_array([[R, turn], [-turn, R]])
            rows, columns = np.stack([right, _turned(right)]), np.stack([left, _turned(left)])
        k, size = len(rows), R.shape[0]
        whole = bordered(SparseMatrix(R.tocsc()), columns.T, rows, np.zeros((k, k)))
        units = np.eye(size + k)[size:]
        with np.errstate(all="ignore"):
            solution = whole.refined(units[0])
            others = np.array([whole.refined(unit, transposed=True)[:size] for unit in units])
        return solution[size:], solution[:size], others

    def _rightmost(self, point: CurvePoint) -> np.ndarray:
        at: Any = point.J
        return rightmost(at.jacobian, COUNT).values

    def others(self, point: CurvePoint) -> np.ndarray:
        """Compute the rightmost eigenvalues of the equilibrium except the critical ones."""
        w = float(critical_of(point).frequency)
        return without(self._rightmost(point), *((1j * w, -1j * w) if self.has_frequency else (0,)))


class LargeFoldCurve(LargeCritical):
    """Equations of folds with sparse derivatives."""

    def begin(self, state: State, parameter: float, frequency: float) -> Critical:
        """Compute the null vectors at a fold, by which the borders are chosen."""
        J = self.jacobian(state, parameter, self.value)
        return self._begun_with(state, parameter, 0.0, J.null_vectors())

    def tests(self) -> dict[str, Callable[[CurvePoint], float]]:
        """List the test functions: the fold coefficient, the product of both null vectors, and an imaginary pair."""
        return {
            "cusp": self._bend,
            "Bogdanov-Takens point": lambda point: float(_matrix(point).left @ _matrix(point).right),
            "fold-Hopf point": self.crosses,
        }

    def _bend(self, point: CurvePoint) -> float:
        """Compute <w, f_xx v v> / 2 with the null vectors v and w."""
        at, own = critical_of(point), _matrix(point)
        chart = FlatChart(self.moved(float(at.parameter), point.parameter), at.state)
        return float(own.left @ np.real(second_derivative(chart, own.right, own.right).value)) / 2


class LargeHopfCurve(LargeCritical):
    """Equations of Hopf points with sparse derivatives."""

    has_frequency = True

    def begin(self, state: State, parameter: float, frequency: float) -> Critical:
        """Compute the critical vectors at a Hopf point, by which the borders are chosen."""
        J = self.jacobian(state, parameter, self.value)
        pair = tuple(np.append(np.real(one), np.imag(one)) for one in J.eigenvectors_near(1j * frequency))
        return self._begun_with(state, parameter, frequency, (pair[0], pair[1]))

    def tests(self) -> dict[str, Callable[[CurvePoint], float]]:
        """List the test functions: first Lyapunov coefficient, signed singular value, and another imaginary pair."""
        return {"Bautin point": self._lyapunov, "fold-Hopf point": _determinant, "double Hopf point": self.crosses}

    def _lyapunov(self, point: CurvePoint) -> float:
        at = critical_of(point)
        chart = FlatChart(self.moved(float(at.parameter), point.parameter), at.state)
        return hopf_coefficient(chart, _matrix(point).jacobian, float(at.frequency)).bounded


def _matrix(point: CurvePoint) -> CriticalMatrix:
    found: Any = point.J
    return found


def _determinant(point: CurvePoint) -> float:
    """Compute the least singular value of the Jacobian, signed by its determinant."""
    J = _matrix(point).jacobian
    return float(np.real(J.phase)) * conditioning(J)


def _turned(vector: Float[np.ndarray, " m"]) -> Float[np.ndarray, " m"]:
    """Multiply a complex vector, given by its real and imaginary part, by i."""
    real, imaginary = np.split(vector, 2)
    return np.append(-imaginary, real)


def _stacked(inner: Any, columns: np.ndarray, rows: np.ndarray, corner: np.ndarray) -> Any:
    """Add dense columns and rows to a sparse matrix."""
    from scipy.sparse import block_array, csc_array

    return block_array([[inner, csc_array(columns)], [csc_array(rows), csc_array(corner)]], format="csc")


def _field(where: Any, flow: AbstractFlow, state: State) -> tuple[Callable[[Array, Array, Array], Array], Array]:
    """Build the field as a function of the flattened state and both parameters; flatten the state."""
    flat, restored = ravel_pytree(state)

    def f(y: Array, p: Array, q: Array) -> Array:
        moved = with_parameter(where[1], with_parameter(where[0], flow, p), q)
        return ravel_pytree(moved.vector_field(jnp.zeros(()), restored(y)))[0]

    return f, flat


@compiled
def _linear(
    where: Any, flow: AbstractFlow, state: State, first: Array, second: Array, seeds: Array, group: Array, rows: Array
) -> tuple[Array, Array, Array]:
    """Evaluate the field, the entries of its Jacobian, and its derivatives by both parameters, (n, 2)."""
    f, flat = _field(where, flow, state)
    by = [jax.jvp(lambda p: f(flat, p, second), (first,), (jnp.ones_like(first),))[1],
          jax.jvp(lambda q: f(flat, first, q), (second,), (jnp.ones_like(second),))[1]]  # fmt: skip
    entries = entries_of(lambda y: f(y, first, second), flat, seeds, group, rows)
    return f(flat, first, second), entries, jnp.stack(by, axis=1)


@compiled
def _gradient(
    where: Any, flow: AbstractFlow, state: State, first: Array, second: Array, a: Array, b: Array, c: Array, d: Array
) -> tuple[Array, Array, Array]:
    """Differentiate <c, J a> + <d, J b> by the state and both parameters; b and d may be empty."""
    f, flat = _field(where, flow, state)

    def product(y: Array, p: Array, q: Array) -> Array:
        along = lambda v: jax.jvp(lambda z: f(z, p, q), (y,), (v,))[1]
        return c @ along(a) + (d @ along(b) if b.size else 0.0)

    return jax.grad(product, (0, 1, 2))(flat, first, second)
