"""Equilibria followed in a parameter by pseudo-arclength, on any space, with their bifurcations located."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.optimize
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Complex, Float

from analysis.dynamics.linearisation import NEAR_ZERO, SymmetryGenerator, eigenvalues, index, kind, tangent_basis
from dynsim._types import State
from dynsim.arguments import check_flow, check_start
from dynsim.conversion import function, integer, number
from dynsim.errors import argument_error, shown
from dynsim.systems.base import AbstractFlow

CORRECTIONS = 12  # Newton steps of a correction
AT_REST = 1e-11  # of a corrected point, relative to the first speed of its prediction or to one
SHRINK, GROW, EASY = 0.5, 1.3, 4  # the step shrinks when a correction fails, grows after at most `EASY` Newton steps
LEAST = 1e-6  # of the first step: a branch that needs smaller ones ends
ANGLE = 0.8  # least cosine between the tangents of successive points
LOCATED = 1e-10  # of the first step: to which bifurcations are located on the branch


class Bifurcation(NamedTuple):
    """A bifurcation on a branch: `fold`, `branch point` or `hopf`, and where.

    At a fold the branch turns back in the parameter. At a branch point another branch crosses it; see `switch`. At a
    Hopf point a pair of eigenvalues crosses the imaginary axis at +-i `frequency`. `arclength` is where it lies.
    """

    kind: str
    state: State
    parameter: float
    eigenvalues: Complex[np.ndarray, " d"]
    frequency: float
    arclength: float


class EquilibriumBranch(NamedTuple):
    """Equilibria on a curve: states with the points on the first axis, parameters, arclengths and eigenvalues.

    `kinds` are `stable`, `saddle`, `unstable` or `undecided`, `bifurcations` lie in between. `ends` says at both ends
    why the branch ends: `bounds` of the parameter, `closed` curve, `steps` (the cap on points), or `lost`.
    """

    states: State
    parameters: Float[np.ndarray, " points"]
    arclengths: Float[np.ndarray, " points"]
    eigenvalues: Complex[np.ndarray, "points d"]
    kinds: tuple[str, ...]
    bifurcations: tuple[Bifurcation, ...]
    ends: tuple[str, str]

    def __repr__(self) -> str:
        """Return the branch in a line: how many points, which parameters, which bifurcations."""
        low, high = float(np.min(self.parameters)), float(np.max(self.parameters))
        found = ", ".join(f"{b.kind} at {b.parameter:.6g}" for b in self.bifurcations) or "no bifurcation"
        return (
            f"{len(self.kinds)} equilibria, parameter {low:.6g} to {high:.6g}: {found}; ends: {' and '.join(self.ends)}"
        )


def continue_equilibria(
    flow: AbstractFlow,
    where: Callable[[AbstractFlow], Any],
    start: State,
    bounds: tuple[float, float],
    *,
    step: float = 0.05,
    max_step: float | None = None,
    max_points: int = 1000,
    symmetries: Sequence[SymmetryGenerator] = (),
) -> EquilibriumBranch:
    """Return the branch of equilibria through one of them, in both directions of the curve, within bounds.

    The curve is followed in the tangent space of the flow's space and the parameter, so that it passes folds. Length is
    measured there, in the norm of the state and the parameter together: scale either if they differ by much.

    Args:
        flow: the system, autonomous (its field is taken at t = 0).
        where: which leaf of the flow is the parameter, such as `lambda flow: flow.rho`; a real number.
        start: a state near an equilibrium at the flow's own value of the parameter.
        bounds: the least and the largest value of the parameter.
        step: the first step along the curve.
        max_step: the largest one, four times the first by default.
        max_points: the cap on points in each direction; a branch that reaches it says so.
        symmetries: generators of continuous symmetries, along whose orbits equilibria are not isolated.

    Raises:
        ValueError: for bad input, or if no equilibrium is found near the start.
    """
    curve = _Curve(flow, where, symmetries)
    low, high = _bounds(bounds)
    size = number("step", step)
    largest = 4 * size if max_step is None else number("max_step", max_step)
    most = integer("max_points", max_points, least=2)
    first = curve.at(check_start(flow, start), curve.value)
    if first is None:
        raise argument_error("start", "be near an equilibrium", "leads to none at the flow's own parameter")
    if not low <= first.parameter <= high:
        raise argument_error(
            "bounds", f"hold the flow's own parameter, {first.parameter:g}", f"are {low:g} to {high:g}"
        )
    forward, end = _follow(curve, first, first.tangent, (low, high), size, largest, most)
    if end == "closed":
        return _branch(curve, [first, *forward], ("closed", "closed"))
    backward, begin = _follow(curve, first, -first.tangent, (low, high), size, largest, most)
    reversed_points = [point._replace(tangent=-point.tangent) for point in backward[::-1]]
    return _branch(curve, [*reversed_points, first, *forward], (begin, end))


def switch(
    flow: AbstractFlow,
    where: Callable[[AbstractFlow], Any],
    at: Bifurcation,
    bounds: tuple[float, float],
    *,
    step: float = 0.05,
    max_step: float | None = None,
    max_points: int = 1000,
    symmetries: Sequence[SymmetryGenerator] = (),
) -> tuple[EquilibriumBranch, ...]:
    """Return the branches that leave a branch point across the branch on which it was found, one in each direction.

    They begin at the branch point. A direction in which no other equilibrium is found, or only that of the first
    branch, is left out.

    Raises:
        ValueError: for bad input, or a bifurcation that is no branch point.
    """
    if at.kind != "branch point":
        raise argument_error("at", "be a branch point", f"is a {at.kind}")
    curve = _Curve(flow, where, symmetries)
    low, high = _bounds(bounds)
    size = number("step", step)
    largest = 4 * size if max_step is None else number("max_step", max_step)
    most = integer("max_points", max_points, least=2)
    here = curve.measured(at.state, at.parameter)
    along, across = curve.crossing(here)
    found = []
    for direction in (across, -across):
        begin = here._replace(tangent=direction)
        points, end = _follow(curve, begin, direction, (low, high), size, largest, most)
        if points and abs(float(_direction(here, points[0]) @ along)) < ANGLE:
            found.append(_branch(curve, [begin, *points], ("branch point", end)))
    return tuple(found)


class _Point(NamedTuple):
    """An equilibrium: state, parameter, the basis of its tangent space, J, the derivative by the parameter, tangent."""

    state: State
    parameter: float
    basis: np.ndarray
    J: np.ndarray
    slope: np.ndarray
    tangent: np.ndarray
    corrections: int = 0


class _Curve:
    """The equations of a branch: the field in tangent coordinates, and its derivatives."""

    def __init__(self, flow: AbstractFlow, where: Callable, symmetries: Sequence[SymmetryGenerator]):
        check_flow(flow)
        function("where", where, "the flow")
        try:
            value = np.asarray(where(flow), float)
        except (AttributeError, TypeError, ValueError):
            raise argument_error("where", "return a real number of the flow", "does not") from None
        if value.ndim:
            raise argument_error("where", "return one real number of the flow", f"returns shape {value.shape}")
        self.flow, self.value, self.symmetries = flow, float(value), tuple(symmetries)
        self._set = lambda system, parameter: eqx.tree_at(where, system, parameter)

    def with_parameter(self, parameter: float) -> AbstractFlow:
        """Return the flow at a value of the parameter."""
        return self._set(self.flow, jnp.asarray(parameter, float))

    def _evaluated(self, state: State, parameter: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the field and its derivatives by state and parameter, in ambient coordinates."""
        return tuple(
            np.asarray(part) for part in _derivatives(self._set, self.flow, state, jnp.asarray(parameter, float))
        )

    def measured(self, state: State, parameter: float) -> _Point:
        """Return what a branch needs at an equilibrium; its tangent has the parameter increasing."""
        _, J, slope = self._evaluated(state, parameter)
        basis = tangent_basis(self.flow.space, state)
        J, slope = basis.T @ J @ basis, basis.T @ slope
        null = np.linalg.svd(np.vstack([np.column_stack([J, slope]), self._orbit(state, basis)]))[2][-1]
        return _Point(state, parameter, basis, J, slope, null if null[-1] >= 0 else -null)

    def _orbit(self, state: State, basis: np.ndarray) -> np.ndarray:
        """Return the velocities of the symmetries as rows, to which the tangent is orthogonal."""
        rows = [basis.T @ np.asarray(ravel_pytree(move(state))[0], float) for move in self.symmetries]
        return np.array([np.append(row, 0.0) for row in rows]).reshape(len(rows), basis.shape[1] + 1)

    def at(self, state: State, parameter: float) -> _Point | None:
        """Return the equilibrium to which Newton's method leads from a state, the parameter being fixed."""
        direction = np.zeros(tangent_basis(self.flow.space, state).shape[1] + 1)
        direction[-1] = 1.0
        return self.corrected(state, parameter, direction)

    def corrected(self, state: State, parameter: float, direction: np.ndarray) -> _Point | None:
        """Return the point of the curve in the plane through a point across a direction; None if there is none near."""
        basis = tangent_basis(self.flow.space, state)
        first = None
        for count in range(CORRECTIONS):
            field, J, slope = self._evaluated(state, parameter)
            speed = float(np.max(np.abs(field), initial=0.0))
            if not np.isfinite(speed):
                return None
            first = max(speed, 1.0) if first is None else first
            matrix = np.vstack([np.column_stack([basis.T @ J @ basis, basis.T @ slope]), direction])
            change = np.linalg.lstsq(matrix, -np.append(basis.T @ field, 0.0), rcond=1e-11)[0]
            size = float(np.max(np.abs(change)))
            if speed <= AT_REST * first and size <= 1e-9 * (1 + abs(parameter)):
                return self.measured(state, parameter)._replace(corrections=count)
            if size > 1e3 * (1 + abs(parameter)):
                return None
            state = _moved(self.flow, state, jnp.asarray(basis @ change[:-1]))
            parameter = parameter + float(change[-1])
            basis = _transported(basis, tangent_basis(self.flow.space, state))
        return None

    def predicted(self, point: _Point, direction: np.ndarray, size: float) -> tuple[State, float]:
        """Return the state and the parameter on the tangent."""
        move = size * direction
        state = _moved(self.flow, point.state, jnp.asarray(point.basis @ move[:-1]))
        return state, point.parameter + float(move[-1])

    def crossing(self, point: _Point) -> tuple[np.ndarray, np.ndarray]:
        """Return the tangent of the branch at a branch point, and the direction across it in the null space."""
        matrix = np.vstack([np.column_stack([point.J, point.slope]), self._orbit(point.state, point.basis)])
        rows = np.linalg.svd(matrix)[2][-2:]
        along = rows.T @ (rows @ point.tangent)
        along = along / np.linalg.norm(along)
        across = rows[np.argmin(np.abs(rows @ along))]
        across = across - along * (along @ across)
        return along, across / np.linalg.norm(across)

    def test(self, point: _Point) -> tuple[float, float, float]:
        """Return the functions that vanish at a fold, at a branch point, and at a Hopf point (or 1 without a pair)."""
        values = eigenvalues(point.J)
        pairs = values[np.abs(values.imag) > NEAR_ZERO * (1 + np.abs(values))]
        bordered = np.vstack([np.column_stack([point.J, point.slope]), point.tangent])
        if self.symmetries:
            bordered = np.vstack([bordered, self._orbit(point.state, point.basis)])
            sign = float(np.prod(np.sign(np.linalg.eigvals(bordered.T @ bordered).real)))
        else:
            sign = float(np.linalg.slogdet(bordered)[0] * np.exp(np.linalg.slogdet(bordered)[1] / len(bordered)))
        hopf = float(pairs.real[np.argmin(np.abs(pairs.real))]) if len(pairs) else 1.0
        return float(point.tangent[-1]), sign, hopf


@eqx.filter_jit
def _derivatives(set_parameter: Any, flow: AbstractFlow, state: State, parameter: Array) -> tuple[Array, Array, Array]:
    flat, restored = ravel_pytree(state)
    f = lambda y, p: ravel_pytree(set_parameter(flow, p).vector_field(jnp.zeros(()), restored(y)))[0]
    return f(flat, parameter), jax.jacfwd(f)(flat, parameter), jax.jacfwd(f, 1)(flat, parameter)


@eqx.filter_jit
def _moved(flow: AbstractFlow, state: State, change: Array) -> State:
    flat, restored = ravel_pytree(state)
    return flow.space.project(restored(flat + change))


def _transported(old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Return the basis of a new tangent space that is nearest to an old one."""
    left, _, right = np.linalg.svd(new.T @ old)
    return new @ left @ right


def _direction(begin: _Point, end: _Point) -> np.ndarray:
    """Return the unit vector from one point to another, in the tangent coordinates of the first."""
    away = [np.asarray(ravel_pytree(p.state)[0], float) for p in (begin, end)]
    found = np.append(begin.basis.T @ (away[1] - away[0]), end.parameter - begin.parameter)
    return found / max(float(np.linalg.norm(found)), np.finfo(float).tiny)


def _turned(begin: _Point, direction: np.ndarray, end: _Point) -> tuple[_Point, float]:
    """Return a point with its tangent in the sense of a direction at another point, and the cosine of their angle."""
    carried = np.append(end.basis.T @ (begin.basis @ direction[:-1]), direction[-1])
    cosine = float(carried @ end.tangent) / max(float(np.linalg.norm(carried)), np.finfo(float).tiny)
    return (end if cosine >= 0 else end._replace(tangent=-end.tangent)), abs(cosine)


def _follow(
    curve: _Curve,
    first: _Point,
    direction: np.ndarray,
    bounds: tuple[float, float],
    step: float,
    largest: float,
    most: int,
) -> tuple[list[_Point], str]:
    """Return the points of the curve from a first one in a direction, without it, and why the curve ends."""
    points: list[_Point] = []
    here, size, length = first, step, 0.0
    while len(points) < most:
        found = curve.corrected(*curve.predicted(here, direction, size), _carried(curve, here, direction, size))
        if found is not None:
            found, cosine = _turned(here, direction, found)
        if found is None or (cosine < ANGLE and size > LEAST * step):
            size *= SHRINK
            if size < LEAST * step:
                return points, "lost"
            continue
        if not bounds[0] <= found.parameter <= bounds[1]:
            edge = bounds[0] if found.parameter < bounds[0] else bounds[1]
            last = curve.at(found.state, edge)
            if last is not None:
                points.append(_turned(here, direction, last)[0])
            return points, "bounds"
        points.append(found)
        length += size
        if length > 3 * step and len(points) > 3 and _returned(first, here, found):
            return points, "closed"
        here, direction = found, found.tangent
        if found.corrections <= EASY:
            size = min(GROW * size, largest)
    return points, "steps"


def _carried(curve: _Curve, here: _Point, direction: np.ndarray, size: float) -> np.ndarray:
    """Return a direction in the tangent coordinates of the point that is predicted from it."""
    state, _ = curve.predicted(here, direction, size)
    basis = tangent_basis(curve.flow.space, state)
    return np.append(basis.T @ (here.basis @ direction[:-1]), direction[-1])


def _returned(first: _Point, here: _Point, found: _Point) -> bool:
    """Whether a curve has come back to its first point between two successive ones."""
    flat = [np.append(np.asarray(ravel_pytree(p.state)[0], float), p.parameter) for p in (first, here, found)]
    chord = float(np.linalg.norm(flat[2] - flat[1]))
    near = max(float(np.linalg.norm(flat[0] - flat[k])) for k in (1, 2))
    return near <= 1.05 * chord and float(here.tangent[-1] * first.tangent[-1]) >= 0


def _branch(curve: _Curve, points: list[_Point], ends: tuple[str, str]) -> EquilibriumBranch:
    """Return a branch of points, with the bifurcations between them."""
    flat = [np.append(np.asarray(ravel_pytree(p.state)[0], float), p.parameter) for p in points]
    lengths = np.append(0.0, np.cumsum(np.linalg.norm(np.diff(flat, axis=0), axis=1)))
    values = [eigenvalues(p.J) for p in points]
    left = len(curve.symmetries)
    kinds = tuple(_kind(v, left) for v in values)
    found: list[Bifurcation] = []
    for k, (begin, end) in enumerate(zip(points[:-1], points[1:], strict=True)):
        if k == 0 and ends[0] == "branch point":
            continue
        found += [b._replace(arclength=float(lengths[k]) + b.arclength) for b in _between(curve, begin, end)]
    states = jax.tree.map(lambda *parts: np.stack([np.asarray(part) for part in parts]), *[p.state for p in points])
    parameters = np.array([p.parameter for p in points])
    return EquilibriumBranch(states, parameters, lengths, np.array(values), kinds, tuple(found), ends)


def _kind(values: np.ndarray, symmetries: int) -> str:
    """Return the type of an equilibrium without the eigenvalues nearest to zero, one for each symmetry."""
    across = np.delete(values, np.argsort(np.abs(values))[:symmetries])
    return kind(across, NEAR_ZERO * max(1.0, float(np.max(np.abs(values), initial=0.0))))


def _between(curve: _Curve, begin: _Point, end: _Point) -> list[Bifurcation]:
    """Return the bifurcations between two successive points, located by the sign of their test functions."""
    size = float(np.linalg.norm(_difference(begin, end)))
    tests = (curve.test(begin), curve.test(end))
    found = []
    for which, name in enumerate(("fold", "branch point", "hopf")):
        if tests[0][which] * tests[1][which] >= 0 or (which == 1 and curve.symmetries):
            continue
        if name == "hopf" and abs(index(eigenvalues(end.J)) - index(eigenvalues(begin.J))) < 2:
            continue  # the pair that is nearest to the axis is another one, or has become real
        point, share = _located(curve, begin, end, which)
        if point is not None:
            values = eigenvalues(point.J)
            pairs = values[np.abs(values.imag) > NEAR_ZERO * (1 + np.abs(values))]
            frequency = float(abs(pairs[np.argmin(np.abs(pairs.real))].imag)) if name == "hopf" else 0.0
            found.append(Bifurcation(name, point.state, point.parameter, values, frequency, share * size))
    return sorted(found, key=lambda b: b.arclength)


def _difference(begin: _Point, end: _Point) -> np.ndarray:
    away = [np.append(np.asarray(ravel_pytree(p.state)[0], float), p.parameter) for p in (begin, end)]
    return away[1] - away[0]


def _located(curve: _Curve, begin: _Point, end: _Point, which: int) -> tuple[_Point | None, float]:
    """Return the point between two others at which a test function vanishes, and its share of the way."""
    chord = _direction(begin, end)
    size = float(np.linalg.norm(_difference(begin, end)))
    points: dict[float, _Point] = {0.0: begin, 1.0: end}

    def value(share: float) -> float:
        if share not in points:
            state, parameter = curve.predicted(begin, chord, share * size)
            found = curve.corrected(state, parameter, _carried(curve, begin, chord, share * size))
            if found is None:
                raise ArithmeticError
            points[share] = _turned(begin, chord, found)[0]
        return curve.test(points[share])[which]

    try:
        share = scipy.optimize.brentq(value, 0.0, 1.0, xtol=LOCATED)
        value(share)
    except ArithmeticError:
        return None, 0.0
    return points[share], float(share)


def _bounds(bounds: Any) -> tuple[float, float]:
    try:
        low, high = (float(value) for value in bounds)
    except (TypeError, ValueError):
        raise argument_error("bounds", "be two numbers", f"is {shown(bounds)}") from None
    if not low < high:
        raise argument_error("bounds", "be the least and the largest value", f"are {low:g} and {high:g}")
    return low, high
