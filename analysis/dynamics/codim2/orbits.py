"""Equations of folds, period doublings and Neimark-Sacker points of orbits, for continuation in two parameters.

Orbits are fixed points of an iterate of a map, or periodic orbits of a flow by multiple shooting. Critical vectors are
part of the unknowns.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg
from jaxtyping import Float

from analysis.dynamics.codim2.derivatives import Images, VariedReturns
from analysis.dynamics.codim2.equilibria import AbstractCritical, Critical, critical_of, left_null_vector
from analysis.dynamics.continuation.curve import CurvePoint, Equations
from analysis.dynamics.continuation.cycle_equations import is_confirmed
from analysis.dynamics.continuation.dense import signed_least
from analysis.dynamics.continuation.equilibrium_curve import FixedPointCurve
from analysis.dynamics.continuation.locating import crossed
from analysis.dynamics.continuation.orbit_curve import SMALL, STRICTER, OrbitCurve
from analysis.dynamics.linearisation import null_vectors
from analysis.dynamics.normal_forms.flows import without
from analysis.dynamics.periodic_orbits.shooting import NOISE
from analysis.dynamics.scaling.flat import flat_state
from analysis.dynamics.scaling.units import Units
from dynsim._core.types import State
from dynsim.systems.parameter import Parameter


def passed(M: Float[np.ndarray, "d d"], multiplier: float) -> float:
    """Evaluate a test function that changes sign where an eigenvalue of M passes the value m."""
    return signed_least(M - multiplier * np.eye(len(M)))


def doubled(M: Float[np.ndarray, "d d"], multiplier: float) -> float:
    r"""Evaluate the derivative of the characteristic polynomial at an eigenvalue m of M, up to a positive factor.

    It is the trace of the adjugate of M - m. With the singular values s_k and their vectors u_k and v_k it is

    $$ \pm \sum_k \langle v_k, u_k \rangle \prod_{j \ne k} s_j, $$

    This test function changes sign where another eigenvalue passes m.
    """
    left, sizes, right = np.linalg.svd(M - multiplier * np.eye(len(M)))
    shares = sizes / max(float(sizes[0]), np.finfo(float).tiny)
    products = [float(np.prod(np.delete(shares, k))) for k in range(len(shares))]
    factor = max(*products, np.finfo(float).tiny)
    return float(np.linalg.det(left) * np.linalg.det(right) * np.sum(np.diag(right @ left) * products)) / factor


class Shot(NamedTuple):
    """Nodes with their vectors and images, the period, its derivatives by both parameters, and the vectors.

    `parts` are the state and the vectors, flattened in ambient coordinates, (1 + vectors, n).
    """

    rows: np.ndarray
    images: Images
    period: float
    slopes: np.ndarray
    parts: np.ndarray

    @property
    def size(self) -> int:
        """Number of entries of a state."""
        return (self.images.ends.shape[1] - 3) // len(self.parts)


def gaps(
    shot: Shot, twist: tuple[np.ndarray, np.ndarray], *, free: bool, fold: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Compute the defects of orbit and vectors, (parts, m, n), with derivatives by all unknowns and parameters.

    Args:
        shot: images of nodes and vectors.
        twist: matrix that maps the first node and its vectors to those at the end, and its derivative by the angle.
        free: whether the period is unknown.
        fold: whether the vector has a component that changes the period.
    """
    parts, size = shot.parts.shape
    (m, total), (ends, maps, speeds, begins) = shot.images.ends.shape, shot.images
    count, columns = total - 3, 3 * size + 2
    n = count // parts
    values, by_all, by_second = np.zeros((parts, m, n)), np.zeros((parts, m, n, columns)), np.zeros((parts, m, n))
    for k in range(m):
        after, D = (k + 1) % m, maps[k][:count].reshape(parts, n, total)
        later = ((k + 1) * speeds[k] - k * maps[k] @ begins[k])[:count].reshape(parts, n) / m
        last = after == 0
        matrix, change = twist if last else (np.eye(parts), np.zeros((parts, parts)))
        nexts = shot.parts[:, after * n : (after + 1) * n]
        values[:, k] = ends[k, :count].reshape(parts, n) - matrix @ nexts
        for j in range(parts):
            by_all[:, k, :, j * size + k * n : j * size + (k + 1) * n] += D[:, :, j * n : (j + 1) * n]
            block = by_all[:, k, :, j * size + after * n : j * size + (after + 1) * n]
            block -= matrix[:, j, None, None] * np.eye(n)
        by_all[:, k, :, -2] = -change @ nexts
        by_all[:, k, :, -1] = D[:, :, count + 1] + later * shot.slopes[0]
        by_second[:, k] = D[:, :, count + 2] + later * shot.slopes[1]
        if free:
            by_all[:, k, :, size - 1] = later
            if fold:
                by_all[:, k, :, size - 1] -= D[:, :, count] * shot.parts[1, -1] / shot.period**2
                by_all[:, k, :, 2 * size - 1] = D[:, :, count] / shot.period
    return values, by_all, by_second


def turning(angle: float) -> tuple[np.ndarray, np.ndarray]:
    """Build the matrix that fixes a node and rotates both parts of a vector by an angle, and its derivative."""
    c, s = np.cos(angle), np.sin(angle)
    twist, change = np.diag([1.0, c, c]), np.diag([0.0, -s, -s])
    twist[1, 2], twist[2, 1], change[1, 2], change[2, 1] = -s, s, -c, c
    return twist, change


MULTIPLIERS = {"fold": 1.0, "period doubling": -1.0}
"""Critical multiplier by kind; at a Neimark-Sacker point it depends on the angle."""
RESONANCES = {"1:3 resonance": 2 * np.pi / 3, "1:4 resonance": np.pi / 2}
"""Strong resonances inside a Neimark-Sacker curve, with their angles."""


class CriticalReturns(AbstractCritical):
    """Equations of an orbit with a critical vector, which is multiplied by the critical multiplier along the orbit.

    The unknowns are the orbit, one or both parts of the vector, an angle, and the first parameter. At a fold the vector
    has components for the nodes and the period, otherwise for the nodes only.
    """

    def __init__(
        self,
        parameters: tuple[Parameter, Parameter],
        kind: str,
        inner: OrbitCurve | FixedPointCurve,
        rtol: float,
        forcing: Callable[[Any], Any] | None = None,
        units: Units | None = None,
    ):
        """Make the equations of a kind of bifurcation.

        Args:
            parameters: both parameters of the flow or the map.
            kind: of the bifurcation.
            inner: the orbits in dependence on the first parameter.
            rtol: of the solver.
            forcing: of a forced flow, the period as a function of the flow.
            units: those of the system, if it is not in those of the given one.
        """
        super().__init__(parameters, units)
        self.kind, self.inner, self._rtol = kind, inner, jnp.asarray(rtol)
        self.longest = inner.longest if isinstance(inner, OrbitCurve) else np.inf
        self.turning, self.tolerances = kind not in MULTIPLIERS, inner.tolerances
        self.reference, self.speed = np.zeros((2, 1)), 1.0  # phase reference of the vector, and size of velocities
        self._returns: VariedReturns | None = None
        self._period = None
        if forcing is not None:
            taken = lambda both: jnp.asarray(forcing(self.moved(both[0], both[1])))
            self._period = jax.value_and_grad(taken)

    @property
    def free(self) -> bool:
        """Whether the period is unknown, because the flow is autonomous."""
        return isinstance(self.inner, OrbitCurve) and not self.inner.forced

    def nodes(self, state: Any) -> np.ndarray:
        """Stack the nodes of an orbit as rows; a fixed point has one node."""
        return self.inner.nodes(state) if isinstance(self.inner, OrbitCurve) else flat_state(state)[None]

    def basis(self, state: State) -> np.ndarray:
        """Compute the bases of the orbit, of the parts of the vector and of the angle, with the parameter."""
        at: Any = state
        of_state = self.inner.basis(at.state)
        of_vector = of_state if self.kind == "fold" else of_state[:, : of_state.shape[1] - self.free]
        absent = np.empty((len(of_state), 0))
        rest = [of_vector, np.ones((1, 1))] if self.turning else [absent, np.empty((1, 0))]
        return np.asarray(scipy.linalg.block_diag(of_state, of_vector, *rest, 1.0))

    def displaced(self, state: State, step: np.ndarray) -> State:
        """Move the orbit on the space, and project the vectors to its tangent space."""
        old: Any = state
        n = len(flat_state(old.state))
        moved = self.inner.displaced(old.state, step[:n])
        B = self.inner.basis(moved)
        real, imaginary = (B @ (B.T @ (v + step[s])) for v, s in (
            (old.real, slice(n, 2 * n)), (old.imaginary, slice(2 * n, 3 * n))))  # fmt: skip
        return Critical(moved, real, imaginary, old.frequency + step[-2], old.parameter + step[-1])

    def state_beside(self, point: CurvePoint, near: CurvePoint) -> State:
        """Shift the orbit of a point in phase with the orbit of another point."""
        at = critical_of(point)
        if point is near:
            return at.state
        inner = self._inner_of(point)
        if isinstance(inner, FixedPointCurve):
            return at.state
        return inner.beside(at.state, critical_of(near).state, float(at.parameter))

    def unresolved(self, point: CurvePoint) -> str:
        """Explain why a tighter tolerance does not reproduce an orbit and its vector, as in `OrbitCurve.unresolved`."""
        if not isinstance(self.inner, OrbitCurve):
            return ""
        at = critical_of(point)
        shot = self._shot(at, point.parameter, STRICTER)
        if is_confirmed(point, self._equations(shot, at, point.basis), shot.rows[:, : shot.size], self.tolerances[1]):
            return ""
        return self._inner_of(point).unconfirmed(shot.rows[:, : shot.size], float(at.parameter))

    def _shot(self, at: Critical, second: float, factor: float = 1.0) -> Shot:
        """Compute the images of the nodes with their vectors, with the solver's tolerance times a factor."""
        nodes, first = self.nodes(at.state), float(at.parameter)
        vectors = np.stack([at.real, at.imaginary][: 1 + self.turning])
        period, slopes = float(at.state.period) if isinstance(self.inner, OrbitCurve) else 1.0, np.zeros(2)
        if self._period is not None:
            found, by_both = self._period(jnp.asarray([first, second], float))
            period, slopes = float(found), np.asarray(by_both)
        m, n = nodes.shape
        columns = [nodes, *(v[: m * n].reshape(m, n) for v in vectors)]
        rate = vectors[0, -1] / period if self.kind == "fold" and self.free else 0.0
        rows = np.column_stack([*columns, np.full((m, 3), (rate, first, second))])
        if self._returns is None:
            start = jax.tree.map(lambda part: jnp.asarray(part, float), self._first(at.state))
            iterate = getattr(self.inner, "iterate", 1)
            self._returns = VariedReturns(self.flow, self.where, start, len(vectors), iterate)
        images = self._returns.images(rows, period, factor * self._rtol)
        return Shot(rows, images, period, slopes, np.stack([flat_state(at.state), *vectors]))

    def _first(self, state: Any) -> State:
        return jax.tree.map(lambda a: a[0], state.nodes) if isinstance(self.inner, OrbitCurve) else state

    def equations(self, state: State, parameter: float, basis: np.ndarray) -> Equations:
        """Evaluate the defects of the orbit and its vector, the phase conditions, and the norm of the vector."""
        at: Any = state
        return self._equations(self._shot(at, parameter), at, basis)

    def _equations(self, shot: Shot, at: Critical, basis: np.ndarray) -> Equations:
        values, by_all, by_second = gaps(
            shot, self._twist(float(at.frequency)), free=self.free, fold=self.kind == "fold"
        )
        parts, m, n = values.shape
        width = self.inner.basis(at.state).shape[1]
        d, size = (width - self.free) // m, len(shot.parts[0])
        blocks = [basis[k * n : (k + 1) * n, k * d : (k + 1) * d] for k in range(m)]
        left = scipy.linalg.block_diag(*[blocks[(k + 1) % m].T for k in range(m)])
        left = scipy.linalg.block_diag(*[left] * parts)
        values, by_second = left @ values.ravel(), left @ by_second.ravel()
        J = left @ by_all.reshape(-1, by_all.shape[-1]) @ basis
        levels, rows = self._conditions(shot, size)
        phase, cut = int(self.free), m * d  # the equations of the orbit itself come first
        further, change = rows[:, :-1] @ basis, rows[:, -1]
        J = np.vstack([J[:cut], further[:phase], J[cut:], further[phase:]])
        values = np.concatenate([values[:cut], levels[:phase], values[cut:], levels[phase:]])
        by_second = np.concatenate([by_second[:cut], change[:phase], by_second[cut:], change[phase:]])
        scale = 1 + float(np.max(np.abs(shot.parts[0])))
        return Equations(values, J, by_second, float(np.max(np.abs(values))) / scale)

    def _twist(self, angle: float) -> tuple[np.ndarray, np.ndarray]:
        """Build the matrix that maps the first node and its vectors to those at the end, and its derivative."""
        return turning(angle) if self.turning else (np.diag([1.0, MULTIPLIERS[self.kind]]), np.zeros((2, 2)))

    def _conditions(self, shot: Shot, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Evaluate the remaining equations, with derivatives by all ambient coordinates and the second parameter.

        On average the nodes do not move along the flow. At a fold the vector has no component along it. The vector has
        length one and the phase of a reference.
        """
        values, rows, vectors = [], [], shot.parts[1:]
        place = lambda j, v: np.concatenate([np.zeros(j * size), v, np.zeros((2 - j) * size + 3)])
        if self.free:
            n = (size - 1) // len(shot.rows)
            along = np.append(np.roll(shot.images.speeds[:, :n], 1, axis=0).ravel(), 0.0)
            values, rows = [0.0], [place(0, along / max(float(np.linalg.norm(along)), 1e-12))]
            if self.kind == "fold":
                assert self._returns is not None
                value, found = self._returns.along(shot.rows)
                parts = [np.append(found[:, k * n : (k + 1) * n].ravel(), 0.0) for k in range(2)]
                row = place(0, parts[0]) + place(1, parts[1])
                row[-2:] = np.sum(found[:, -2:], axis=0)
                values, rows = [*values, value / self.speed], [*rows, row / self.speed]
        values.append(float(np.sum(vectors**2)) - 1)
        rows.append(sum((place(1 + j, 2 * v) for j, v in enumerate(vectors)), np.zeros(3 * size + 3)))
        if self.turning:
            a, b = self.reference
            values.append(float(a @ vectors[1] - b @ vectors[0]))
            rows.append(place(1, -b) + place(2, a))
        return np.asarray(values, float), np.stack([np.asarray(row) for row in rows])

    def begin(self, state: State, parameter: float, frequency: float) -> Critical:
        """Compute the critical vector of an orbit, which becomes the phase reference."""
        zero = np.zeros(len(flat_state(state)))
        empty = Critical(state, zero, zero, np.asarray(frequency), np.asarray(parameter))
        self.reference = np.stack([zero, zero])
        B, m = self.inner.basis(state), len(self.nodes(state))
        J = self.equations(empty, self.value, self.basis(empty)).J[: B.shape[1], : B.shape[1]]
        vector: Any
        if self.kind == "fold":
            vector = B @ null_vectors(J)[0]
        else:
            size = len(J) - self.free
            d = size // m
            G = J[:size, :size].astype(complex)
            critical = np.exp(1j * frequency) if self.turning else -1.0
            G[size - d :, :d] += (1 - critical) * np.eye(d)
            null: Any = np.linalg.svd(G)[2][-1].conj()
            vector = B[:, :size] @ null
        if not self.turning:
            vector = vector * np.exp(-1j * np.angle(vector[np.argmax(np.abs(vector))]))
        self.reference = np.stack([vector.real, vector.imag])
        self.speed = float(np.linalg.norm(self._shot(empty, self.value).images.begins)) or 1.0
        return empty._replace(real=vector.real, imaginary=vector.imag)

    def balanced(self, matrix: np.ndarray) -> np.ndarray:
        """Scale rows of the derivatives as the equations of the orbits do."""
        return self.inner.balanced(matrix)

    def spectrum(self, state: State, parameter: float, J: np.ndarray, orbit: np.ndarray) -> np.ndarray:
        """Compute the multipliers of the orbit."""
        at: Any = state
        width = self.inner.basis(at.state).shape[1]
        return self.inner.spectrum(at.state, parameter, J[:width, :width], np.empty((width, 0)))

    def ends_at(self, before: CurvePoint, point: CurvePoint) -> str:
        """Explain why a curve ends: at bounds, a strong resonance, an equilibrium, or a long period; "" if not."""
        at = critical_of(point)
        if self.is_outside(at):
            return "outside"
        if self.turning and not 0 < float(at.frequency) < np.pi:
            end = 0.0 if float(at.frequency) <= 0 else np.pi
            last, _ = crossed(self, before, point, lambda p: float(critical_of(p).frequency) - end)
            name = "1:2 resonance" if end else "1:1 resonance"
            self.ended += [] if last is None else [(name, last)]
            return name
        if isinstance(self.inner, OrbitCurve):
            orbit: Any = at.state
            if float(orbit.period) > self.longest:
                return "period"
            return "equilibrium" if self.free and self._shrunk(before, point) else ""
        return ""

    def _shrunk(self, before: CurvePoint, point: CurvePoint) -> bool:
        """Test whether an orbit has become small, or has turned by half a turn past size zero."""
        nodes = [self.nodes(critical_of(p).state) for p in (before, point)]
        away = [rows - np.mean(rows, axis=0) for rows in nodes]
        if len(nodes[0]) < 3:
            return False
        small = float(np.max(np.ptp(nodes[1], axis=0))) < SMALL + NOISE * float(np.max(np.abs(nodes[1])))
        return small or float(np.sum(away[0] * away[1])) < 0

    def tests(self) -> dict[str, Callable[[CurvePoint], float]]:
        """List the test functions of codimension-two points by kind."""
        of_return = lambda test, multiplier: lambda point: test(self.returned(point), multiplier)
        if self.kind == "fold":
            return {
                "cusp": self._bend,
                "1:1 resonance": of_return(doubled, 1.0),
                "fold-flip point": of_return(passed, -1.0),
                "fold-Neimark-Sacker point": self.crosses,
            }
        if self.kind == "period doubling":
            return {
                "generalised period doubling": self._cubic,
                "1:2 resonance": of_return(doubled, -1.0),
                "fold-flip point": of_return(passed, 1.0),
                "flip-Neimark-Sacker point": self.crosses,
            }
        turned = lambda angle: lambda point: float(critical_of(point).frequency) - angle
        return {
            "Chenciner point": self._cubic,
            **{name: turned(angle) for name, angle in RESONANCES.items()},
            "fold-Neimark-Sacker point": of_return(passed, 1.0),
            "flip-Neimark-Sacker point": of_return(passed, -1.0),
            "double Neimark-Sacker point": self.crosses,
        }

    def others(self, point: CurvePoint) -> np.ndarray:
        """Map the non-critical multipliers m to (m - 1) / (m + 1), which is imaginary if |m| = 1."""
        angle = float(critical_of(point).frequency)
        critical = (np.exp(1j * angle), np.exp(-1j * angle)) if self.turning else (MULTIPLIERS[self.kind],)
        values = without(point.values, *critical)
        return (values - 1) / np.where(values == -1, np.finfo(float).eps, values + 1)

    def returned(self, point: CurvePoint) -> np.ndarray:
        """Compute the derivative of the return map of an orbit."""
        state: Any = critical_of(point).state
        width = self.inner.basis(state).shape[1]
        return self.inner.monodromy(state, point.J[:width, :width])

    def inner_at(self, point: CurvePoint) -> tuple[Any, CurvePoint]:
        """Build the curve of orbits in the first parameter through a point, and that point on it."""
        at = critical_of(point)
        inner = self._inner_of(point)
        return inner, inner.measured(at.state, float(at.parameter))

    def _inner_of(self, point: CurvePoint) -> Any:
        return self.inner.of(self.moved(float(critical_of(point).parameter), point.parameter))

    def _cubic(self, point: CurvePoint) -> float:
        """Compute the coefficient of a period doubling or a Neimark-Sacker point, relative to its terms."""
        inner, here = self.inner_at(point)
        return inner.coefficient(self.kind, here, float(critical_of(point).frequency)).bounded

    def _bend(self, point: CurvePoint) -> float:
        """Compute half of the second derivative of the orbit's equations along both null vectors of a fold.

        It is the derivative of the equation of the vector by the orbit. Its sign is continuous along the curve.
        """
        state: Any = critical_of(point).state
        B = self.inner.basis(state)
        width, null = B.shape[1], B.T @ np.asarray(critical_of(point).real)
        J, rows = point.J[:width, :width], slice(width, 2 * width - self.free)
        return float(left_null_vector(J, null)[: width - self.free] @ point.J[rows, :width] @ null) / 2
