"""Folds and Hopf points of equilibria followed in two parameters, with cusps and points of higher degeneracy."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from analysis.dynamics.branches import Limits, follow, limits, located
from analysis.dynamics.continuation import Bifurcation
from analysis.dynamics.curves import AbstractCurve, CurvePoint, Equations, parameter_value
from analysis.dynamics.equilibria import displaced
from analysis.dynamics.equilibrium_curve import with_parameter
from analysis.dynamics.linearisation import tangent_basis, tangent_jacobian
from dynsim._types import State
from dynsim.arguments import check_flow
from dynsim.errors import argument_error
from dynsim.systems.base import AbstractFlow


class Critical(NamedTuple):
    """An equilibrium with a critical eigenvector: state, real and imaginary part of the vector, frequency, parameter.

    The vector is flat, in ambient coordinates; at a fold its imaginary part and the frequency are zero.
    """

    state: State
    real: Any
    imaginary: Any
    frequency: Any
    parameter: Any


class Degeneracy(NamedTuple):
    """A degenerate point of a curve: a `cusp`, or a `Bogdanov-Takens point`, where folds and Hopf points meet."""

    kind: str
    state: State
    first: float
    second: float


class CriticalCurve(NamedTuple):
    """The curve of folds or Hopf points in the plane of two parameters.

    `kind` is `fold` or `Hopf point`; `first` and `second` are the parameters, `states` the equilibria, `frequencies`
    those of Hopf points. `ends` says at both ends why the curve ends: `bounds` of the second parameter, `outside` those
    of the first, `Bogdanov-Takens point`, `closed`, `steps`, `corner` or `lost`.
    """

    kind: str
    first: Float[np.ndarray, " points"]
    second: Float[np.ndarray, " points"]
    states: State
    frequencies: Float[np.ndarray, " points"]
    degeneracies: tuple[Degeneracy, ...]
    ends: tuple[str, str]

    def __repr__(self) -> str:
        """Return the curve in a line: its kind, how many points, and what lies on it."""
        found = ", ".join(f"{d.kind} at ({d.first:.6g}, {d.second:.6g})" for d in self.degeneracies) or "no degeneracy"
        return f"curve of {self.kind}s, {len(self.first)} points: {found}; ends: {' and '.join(self.ends)}"


def critical_curve(
    flow: AbstractFlow,
    where: tuple[Callable[[Any], Any], Callable[[Any], Any]],
    at: Bifurcation,
    bounds: tuple[tuple[float, float], tuple[float, float]],
    *,
    step: float = 0.05,
    max_step: float | None = None,
    max_points: int = 500,
) -> CriticalCurve:
    """Return the curve of folds or of Hopf points through one of them, in the plane of two parameters.

    Args:
        flow: the system; its own second parameter is that of `at`.
        where: which leaves of the flow are the parameters; the first is that in which `at` was found.
        at: a fold or a Hopf point.
        bounds: the least and the largest value of both parameters.
        step: the first step along the curve, in the norm of the state, the critical vector and the parameters together.
        max_step: the largest one, four times the first by default.
        max_points: the cap on points in each direction; a curve that reaches it says so.

    Raises:
        ValueError: for bad input, a bifurcation of another kind, or if no such point is found near it.
    """
    if at.kind not in ("fold", "Hopf point"):
        raise argument_error("at", "be a fold or a Hopf point", f"is a {at.kind}")
    within = limits(bounds[1], step, max_step, max_points)
    low, high = limits(bounds[0], step, max_step, max_points).bounds
    make = _FoldCurve if at.kind == "fold" else _HopfCurve
    curve = make(flow, where, at.state, (low, high))
    moved = with_parameter(where[0], flow, jnp.asarray(at.parameter))
    first = curve.at(curve.begin(moved, at), curve.value)
    if first is None:
        raise argument_error("at", f"be near a {at.kind} of this flow", "leads to none")
    return _found(curve, first, within, at.kind)


def _found(curve: "_CriticalEquations", first: CurvePoint, within: Limits, name: str) -> CriticalCurve:
    """Return the curve through a first point in both directions."""
    forward, end = follow(curve, first, first.tangent, within)
    backward, begin = ([], end) if end == "closed" else follow(curve, first, -first.tangent, within)
    points = [*(point._replace(tangent=-point.tangent) for point in backward[::-1]), first, *forward]
    degenerate: list[Degeneracy] = []
    for one, other in zip(points[:-1], points[1:], strict=True):
        for kind_, test in curve.tests().items():
            if test(one) * test(other) < 0:
                place, _ = located(curve, one, other, test)
                if place is not None:
                    degenerate.append(_degeneracy(kind_, place))
    if curve.last is not None:
        degenerate.append(_degeneracy("Bogdanov-Takens point", curve.last))
    stacked: Any = jax.tree.map(lambda *a: np.stack([np.asarray(x) for x in a]), *[p.state for p in points])
    second = np.array([p.parameter for p in points])
    return CriticalCurve(
        name, stacked.parameter, second, stacked.state, np.abs(stacked.frequency), tuple(degenerate), (begin, end)
    )


def _degeneracy(name: str, point: CurvePoint) -> Degeneracy:
    at = critical_of(point)
    return Degeneracy(name, at.state, float(at.parameter), point.parameter)


class _CriticalEquations(AbstractCurve):
    """The equations of an equilibrium with a critical eigenvector, in tangent coordinates."""

    has_frequency = False

    def __init__(self, flow: AbstractFlow, where: tuple[Callable, Callable], state: State, bounds: tuple[float, float]):
        check_flow(flow)
        if not isinstance(where, tuple) or len(where) != 2:
            raise argument_error("where", "be two functions of the flow", "is not")
        parameter_value("where", where[0], flow)
        self.value, self.flow, self.bounds = parameter_value("where", where[1], flow), flow, bounds
        zero = jnp.zeros(len(ravel_pytree(state)[0]))
        self.reference = (zero, zero)
        self.last: CurvePoint | None = None  # where a curve of Hopf points ended at frequency zero
        self._where = where
        self._size = len(ravel_pytree(state)[0])

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
        moved = displaced(self.flow.space, old.state, jnp.asarray(step[:n]))
        B = tangent_basis(self.flow.space, moved)
        real, imaginary = (B @ (B.T @ (v + step[s])) for v, s in (
            (old.real, slice(n, 2 * n)), (old.imaginary, slice(2 * n, 3 * n))))  # fmt: skip
        return Critical(moved, real, imaginary, old.frequency + step[-2], old.parameter + step[-1])

    def equations(self, state: State, parameter: float, basis: np.ndarray) -> Equations:
        """Return the field, the equation of the critical vector, and its normalisation."""
        old: Any = state
        B, n = tangent_basis(self.flow.space, old.state), self._size
        given = Critical(*jax.tree.map(jnp.asarray, old))
        found = _critical(self._where, self.flow, given, jnp.asarray(parameter), self.reference)
        values, J, slope = (np.asarray(part) for part in found)
        parts = 3 if self.has_frequency else 2
        d = B.shape[1]
        left = np.zeros((parts * d + parts - 1, len(values)))
        for k in range(parts):
            left[k * d : (k + 1) * d, k * n : (k + 1) * n] = B.T
        left[parts * d :, 3 * n : 3 * n + parts - 1] = np.eye(parts - 1)
        values, J, slope = left @ values, left @ J @ basis, left @ slope
        return Equations(values, J, slope, float(np.max(np.abs(values))))

    def orbit(self, state: State, basis: np.ndarray) -> np.ndarray:
        """Return no direction."""
        del state
        return np.empty((basis.shape[1], 0))

    def spectrum(self, state: State, parameter: float, J: np.ndarray, orbit: np.ndarray) -> np.ndarray:
        """Return no eigenvalue: stability is that of the equilibrium."""
        del state, parameter, J, orbit
        return np.empty(0, complex)

    def growth(self, values: np.ndarray) -> np.ndarray:
        """Return the real parts."""
        return np.real(values)

    def name(self, critical: complex) -> str:
        """Return no kind."""
        del critical
        return ""

    def ends_at(self, before: CurvePoint, point: CurvePoint) -> str:
        """Return `outside` beyond the bounds of the first parameter, and `Bogdanov-Takens point` at frequency zero."""
        at = critical_of(point)
        if not self.bounds[0] <= float(at.parameter) <= self.bounds[1]:
            return "outside"
        if not self.has_frequency or float(at.frequency) > 0:
            return ""
        self.last, _ = located(self, before, point, lambda p: float(critical_of(p).frequency))
        return "Bogdanov-Takens point"

    def tests(self) -> dict[str, Callable[[CurvePoint], float]]:
        """Return the functions that vanish at degeneracies between points, by their names."""
        return {}


class _FoldCurve(_CriticalEquations):
    """Equilibria with a null vector of length one."""

    def begin(self, flow: AbstractFlow, at: Bifurcation) -> Critical:
        """Return the null vector at a fold."""
        B, J = tangent_basis(flow.space, at.state), tangent_jacobian(flow, at.state)
        null = B @ np.linalg.svd(J)[2][-1]
        return Critical(at.state, null, 0 * null, np.asarray(0.0), np.asarray(at.parameter))

    def tests(self) -> dict[str, Callable[[CurvePoint], float]]:
        """Return the coefficient of the fold, which vanishes at cusps, and the product of both null vectors."""
        return {
            "cusp": lambda point: _fold_coefficients(self, point)[0],
            "Bogdanov-Takens point": lambda point: _fold_coefficients(self, point)[1],
        }


class _HopfCurve(_CriticalEquations):
    """Equilibria with a pair of imaginary eigenvalues, whose vector has length one and the phase of a reference."""

    has_frequency = True

    def begin(self, flow: AbstractFlow, at: Bifurcation) -> Critical:
        """Return the critical vector at a Hopf point, which becomes the reference of phases."""
        B, J = tangent_basis(flow.space, at.state), tangent_jacobian(flow, at.state)
        values, vectors = np.linalg.eig(J)
        v = vectors[:, int(np.argmin(np.abs(values - 1j * at.frequency)))]
        v = v / np.linalg.norm(v)
        self.reference = (jnp.asarray(B @ v.real), jnp.asarray(B @ v.imag))
        return Critical(at.state, *self.reference, np.asarray(at.frequency), np.asarray(at.parameter))


def critical_of(point: CurvePoint) -> Critical:
    """Return the state of a point of a curve of folds or of Hopf points."""
    found: Any = point.state
    return found


@eqx.filter_jit
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


def _fold_coefficients(curve: _CriticalEquations, point: CurvePoint) -> tuple[float, float]:
    """Return <w, f_xx v v> / 2 and <w, v> with the null vectors v and w, whose sense is continuous."""
    at = critical_of(point)
    moved = with_parameter(curve._where[0], curve.flow, jnp.asarray(at.parameter))
    moved = with_parameter(curve._where[1], moved, jnp.asarray(point.parameter))
    B, J = tangent_basis(curve.flow.space, at.state), tangent_jacobian(moved, at.state)
    v = B.T @ np.asarray(at.real)
    left, _, right = np.linalg.svd(J)
    w = left[:, -1] * np.sign(np.linalg.slogdet(J + np.outer(left[:, -1], right[-1]))[0])  # continuous along the curve
    w = w * np.sign(right[-1] @ v)
    return float(w @ B.T @ np.asarray(_second(moved, at.state, jnp.asarray(B @ v)))) / 2, float(w @ v)


@eqx.filter_jit
def _second(flow: AbstractFlow, state: State, v: Array) -> Array:
    flat, restored = ravel_pytree(state)
    f = lambda y: ravel_pytree(flow.vector_field(jnp.zeros(()), restored(y)))[0]
    return jax.jvp(lambda y: jax.jvp(f, (y,), (v,))[1], (flat,), (v,))[1]
