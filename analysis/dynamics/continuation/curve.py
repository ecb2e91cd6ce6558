"""Curves of solutions in state and parameter: Newton corrections, tangents and test functions of branch points."""

import abc
import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np

from analysis.dynamics.continuation.dense import null_space, null_vector, signed_least, solution
from analysis.dynamics.continuation.once import Once
from analysis.dynamics.continuation.steps import Limits
from analysis.dynamics.continuation.typical_sizes import SizesAlong
from analysis.dynamics.linearisation import NEAR_ZERO, kind
from analysis.dynamics.normal_forms.branch_points import BranchForm
from analysis.dynamics.normal_forms.flows import UNKNOWN, Coefficient
from analysis.dynamics.scaling.flat import flat_state
from analysis.dynamics.scaling.units import Units
from analysis.dynamics.sparse.matrices import Extended, SparseMatrix, row_sizes
from dynsim._core.types import State
from dynsim.systems.parameter import Parameter

# Largest number of Newton steps of a correction.
CORRECTIONS = 12
# Residual, relative to the derivatives times state and parameter, that is explained by rounding.
ROUNDING = 64 * float(np.finfo(float).eps)
# Relative singular value below which its sign is unreliable.
SINGULAR = 1e-10
# Relative singular value below which curves cross, so that the tangent is not unique.
CROSSING = 1e-8
# Growth, relative to the largest eigenvalue, of those that vanish at a bifurcation, given the error of its location.
VANISHING = 1e-7
# Beginning of the reason why a curve ends where its system is not defined at a state, which follows.
UNDEFINED = "undefined at"
# Largest distance of an eigenvalue from the one at which solutions meet, relative to the largest or to one, where
# solutions may meet: far above the errors of eigenvalues at located branch points.
MEETS = 0.05
# Newton steps below this many times the last allowed step say nothing about contraction.
UNCERTAIN = 100


def joined(vector: np.ndarray, last: float) -> np.ndarray:
    """Append a number to a vector, more quickly than `numpy.append`."""
    found = np.empty(len(vector) + 1)
    found[:-1], found[-1] = vector, last
    return found


class CurvePoint(NamedTuple):
    """Solution on a curve: state, parameter, coordinate basis, derivatives by both, tangent and eigenvalues.

    `spectrum` and `rounding` compute the eigenvalues and their errors when they are first needed. `orbit` is a basis,
    in these coordinates, of the directions in which symmetries move the state. `corrections` is the number of Newton
    steps that led here. `contraction` is the largest ratio of successive Newton steps. `typical` are the sizes of the
    equations near this part of the curve. `singular` computes the test function of branch points, and the tangent for
    which it has this sign, when it is first needed.
    """

    state: State
    parameter: float
    basis: Any
    J: Any
    slope: np.ndarray
    tangent: np.ndarray
    spectrum: Callable[[], np.ndarray]
    orbit: np.ndarray
    corrections: int = 0
    contraction: float = 0.0
    rounding: Callable[[], np.ndarray] = lambda: np.zeros(1)
    typical: np.ndarray | float = 1.0
    singular: Callable[[], tuple[float, np.ndarray]] | None = None

    @property
    def values(self) -> np.ndarray:
        """Eigenvalues that decide about stability."""
        return self.spectrum()

    @property
    def flat(self) -> np.ndarray:
        """Flattened state followed by the parameter."""
        return joined(flat_state(self.state), self.parameter)

    @property
    def flat_tangent(self) -> np.ndarray:
        """Tangent in the coordinates of `flat`."""
        return joined(self.basis @ self.tangent[:-1], self.tangent[-1])


class Equations(NamedTuple):
    """Equations at a state and a parameter: values and derivatives in coordinates, and the largest residual.

    `typical` are the sizes of the equations near this part of the curve.
    """

    values: np.ndarray
    J: Any
    slope: np.ndarray
    size: float
    typical: np.ndarray | float = 1.0


Solution = tuple[State, float, Any, np.ndarray]
"""State, parameter, derivatives by the state, and the directions in which symmetries move it."""


class Moving(NamedTuple):
    """A point of a curve with its eigenvalues, the unit tangent in ambient coordinates, and the length of a step."""

    state: State
    parameter: float
    values: np.ndarray
    tangent: np.ndarray
    size: float


class AbstractCurve(abc.ABC):
    """Solutions of as many equations as the state has coordinates, along one real parameter."""

    tolerances: tuple[float, float] = (1e-11, 1e-9)  # of the equations, and of the last Newton step
    vertical: ClassVar[float] = 1e-12  # largest slope of the parameter that errors can cause on a vertical branch
    longest_family: ClassVar[float] = math.inf  # points of a family at one value of the parameter that are enough
    double: ClassVar[float] = 1e-6  # relative imaginary part below which an eigenvalue is a double real one
    most_added: ClassVar[int] = 24  # largest number of points that are added to a step to search it for bifurcations
    meeting: ClassVar[float] = 0.0  # the eigenvalue where solutions meet: 0 of a field, 1 of the derivative of a map
    differentiated: ClassVar[bool] = True  # whether eigenvalues are differentiated along the curve
    changes: bool = False  # whether another method goes on where this one ends
    apart: ClassVar[float] = 1e-5  # distance, relative to a step, over which eigenvalues are differentiated
    parameter: Parameter
    units: Units | None = None  # units of the system, if it was rescaled
    sizes: SizesAlong | None = None  # of the equations along the curve, where these may change by orders of magnitude
    note: str = ""  # what a user should know of the method, in a sentence without a full stop

    def __init__(self, parameter: Parameter, units: Units | None = None):
        """Store the parameter, and the units of its system if it is rescaled."""
        self.parameter, self.units = parameter, None if units is None or units.are_given else units

    @property
    def value(self) -> float:
        """The system's own value of the parameter."""
        return self.parameter.value

    @property
    def unit(self) -> float:
        """The unit of the parameter."""
        return 1.0 if self.units is None else self.units.parameters[0]

    def own(self, state: State) -> State:
        """Convert a state of the given system to the units of the curve."""
        return state if self.units is None else self.units.rescaled(state)

    def given(self, point: CurvePoint) -> State:
        """Convert the state of a point to the units of the given system, as functions of the user get it."""
        return point.state if self.units is None else self.units.restored(point.state)

    @abc.abstractmethod
    def basis(self, state: State) -> Any:
        """Compute an orthonormal basis of the coordinates at a state, (ambient, coordinates)."""

    @abc.abstractmethod
    def displaced(self, state: State, step: np.ndarray) -> State:
        """Move a state by a step, given as a flattened ambient vector."""

    @abc.abstractmethod
    def equations(self, state: State, parameter: float, basis: Any) -> Equations:
        """Evaluate the equations and their derivatives."""

    def orbit(self, state: State, basis: Any) -> np.ndarray:
        """Compute an orthonormal basis of directions in which symmetries move a state, (coordinates, symmetries)."""
        return np.empty((basis.shape[1], 0))

    def spectrum(self, state: State, parameter: float, J: Any, orbit: np.ndarray) -> np.ndarray:
        """Compute the eigenvalues that decide about stability, without those due to symmetries; none by default."""
        return np.empty(0, complex)

    def spectra(self, at: Sequence[Solution]) -> list[np.ndarray]:
        """Compute the eigenvalues at several solutions."""
        return [self.spectrum(*one) for one in at]

    def spectra_beside(self, at: Sequence[Solution]) -> list[np.ndarray]:
        """Compute eigenvalues beside points of the curve, from which those of the points are told."""
        return self.spectra(at)

    def prepare(self, points: Sequence[CurvePoint]) -> None:
        """Compute the eigenvalues at points of the curve together, which takes less time than one by one."""
        missing = [point for point in points if isinstance(point.spectrum, Once) and not point.spectrum.is_known]
        found = self.spectra([(point.state, point.parameter, point.J, point.orbit) for point in missing])
        for point, values in zip(missing, found, strict=True):
            cast(Once, point.spectrum).give(values)

    def rounding(self, values: np.ndarray, at: Equations, orbit: np.ndarray) -> np.ndarray:
        """Compute the errors of those eigenvalues that are judged by their own errors; zero for the others."""
        return np.zeros(len(values))

    def growth(self, values: np.ndarray) -> np.ndarray:
        """Measure the growth of eigenvalues: their real parts, or the moduli of multipliers minus one."""
        return np.abs(values) - 1 if self.meeting else np.real(values)

    def smoothed(self, growth: np.ndarray) -> np.ndarray:
        """Transform growth to change less along a curve, keeping its sign: where it is large, to its logarithm.

        The transformation and its derivative are continuous.
        """
        return np.arcsinh(growth) if self.meeting == 0 else np.where(growth > 0, np.log1p(np.fmax(growth, 0)), growth)

    @property
    def sides_of_pairs(self) -> tuple[int, ...]:
        """Whether the functions `of_pairs` count where a pair is real, 1, or where it is complex, -1."""
        return (1, -1) if self.meeting == 0 else (1, 1, -1)

    def of_pairs(self, size: np.ndarray) -> tuple[Callable[[np.ndarray], np.ndarray], ...]:
        """Build functions of two eigenvalues, of given sizes, that vanish where one or a complex pair has growth 0.

        They are symmetric, so that they are smooth where two real eigenvalues become a complex pair.
        """
        product = lambda v: (v[..., 0] / size) * (v[..., 1] / size)  # the square of a size may overflow
        if self.meeting == 0:
            return product, lambda v: (v[..., 0] + v[..., 1]) / size
        at = lambda unit: lambda v: (v[..., 0] / size - unit / size) * (v[..., 1] / size - unit / size)
        return at(1), at(-1), lambda v: product(v) - (1 / size) ** 2

    def name(self, critical: complex) -> str:
        """Name the bifurcation at which an eigenvalue has growth 0; "" if solutions meet there."""
        if self.meeting:
            return name_of_multiplier(critical)
        return "Hopf point" if critical.imag else ""

    def ends_at(self, before: CurvePoint, point: CurvePoint) -> str:
        """Explain why a curve ends between two points, excluding the second; "" if it continues."""
        return ""

    def end_between(self, before: CurvePoint, point: CurvePoint) -> CurvePoint | None:
        """Compute the last point of a curve that ends between two points; None if it is `before`."""
        return None

    def largest_step(self, point: CurvePoint, within: Limits, first: CurvePoint) -> float:
        """Choose the largest step from a point along its tangent, on a curve with a given first point."""
        return within.largest

    def place(self, point: CurvePoint, near: CurvePoint) -> np.ndarray:
        """Compute coordinates that agree when a curve returns to its first point, in phase with another point."""
        return point.flat

    def out_of_phase(self, point: CurvePoint) -> np.ndarray:
        """Get the coordinates of `place` that no shift in phase changes: the parameter."""
        return np.array([point.parameter])

    def unresolved(self, point: CurvePoint) -> str:
        """Explain why a point is not resolved to sufficient accuracy, which ends the curve; "" if it is."""
        return ""

    def stuck_at(self, point: CurvePoint, *, kink: bool) -> str:
        """Explain why no step leads on from a point: `corner` at a kink if the field may have one, else `lost`."""
        return "corner" if kink and self.may_have_corners(point) else "lost"

    def slope(self, point: CurvePoint) -> float:
        """Compute the slope of the parameter along the tangent at a point; 0 if it does not exceed its error."""
        value = float(point.tangent[-1])
        return value if abs(value) > self.vertical else 0.0

    def may_have_corners(self, point: CurvePoint) -> bool:
        """Test whether the equations may fail to be smooth; a corner of a smooth curve is an error of its points."""
        return True

    def coefficient(self, name: str, point: CurvePoint, frequency: float) -> Coefficient:
        """Compute the normal form coefficient of a bifurcation at a point; NaN if there is none, with the reason."""
        return UNKNOWN

    def branch_form(self, point: CurvePoint) -> BranchForm:
        """Compute the normal form of a simple branch point; its kind is "" if none is computed."""
        return BranchForm("")

    def in_given_units(
        self, found: Coefficient, vector: np.ndarray, sizes: np.ndarray, share: float = 1.0
    ) -> Coefficient:
        """Convert a coefficient to the units of the given system, given the norm of the critical vector there.

        Args:
            found: the coefficient, for a critical vector of length one in the units of this curve.
            vector: the critical vector in ambient coordinates.
            sizes: units of its coordinates.
            share: unit of the coefficient, apart from that of the states.
        """
        if self.units is None:
            return found
        share /= float(np.linalg.norm(sizes * vector)) ** 2
        return found._replace(value=share * found.value, size=share * found.size)

    def stable_kind(self, point: CurvePoint) -> str:
        """Classify the stability by the eigenvalues: `stable`, `saddle`, `unstable` or `undecided`."""
        return kind(self.growth(point.values), self.neutral(point))

    def neutral(self, point: CurvePoint) -> float | np.ndarray:
        """Compute the growth, of each eigenvalue or of all, below which it counts as neutral."""
        return NEAR_ZERO * max(1.0, float(np.max(np.abs(point.values), initial=0.0)))

    def vanishing(self, values: np.ndarray) -> np.ndarray:
        """Compute for the eigenvalues at a located bifurcation the growth below which they count as neutral."""
        return np.full(len(values), VANISHING * max(1.0, float(np.max(np.abs(values), initial=0.0))))

    def doubt(self, point: CurvePoint) -> str:
        """Say why the number of growing eigenvalues is uncertain; empty where all eigenvalues are computed."""
        return ""

    def counts(self, values: np.ndarray, neutral: np.ndarray | float) -> tuple[int, int]:
        """Count the neutral and the growing ones of some eigenvalues, given the growth up to which they are neutral."""
        growth = self.growth(values)
        return int(np.sum(np.abs(growth) <= neutral)), int(np.sum(growth > neutral))

    def zeros(self, point: CurvePoint) -> int:
        """Count the neutral eigenvalues."""
        return self.counts(point.values, self.neutral(point))[0]

    def growing(self, point: CurvePoint) -> int:
        """Count the growing eigenvalues, without the neutral ones."""
        return self.counts(point.values, self.neutral(point))[1]

    def meets(self, point: CurvePoint) -> bool:
        """Test whether an eigenvalue lies near the one at which solutions meet, as at each branch point.

        Beside homoclinic orbits the equations are singular up to errors although solutions are unique.
        """
        size = 1.0 if self.meeting else max(1.0, float(np.max(np.abs(point.values), initial=0.0)))
        return bool(np.any(np.abs(point.values - self.meeting) <= MEETS * size))

    def rates(self, at: Sequence[Moving]) -> list[np.ndarray | None]:
        """Compute the derivatives of eigenvalues along the curve, as differences over a small share of a step.

        A result is None where the equations are not defined.
        """
        beside: list[Solution | None] = []
        for one in at:
            share = self.apart * one.size
            state = self.displaced(one.state, share * one.tangent[:-1])
            parameter, basis = one.parameter + share * float(one.tangent[-1]), self.basis(state)
            J = self.equations(state, parameter, basis).J
            known = np.isfinite(row_sizes(J)).all()
            beside.append((state, parameter, J, self.orbit(state, basis)) if known else None)
        moved = iter(self.spectra_beside([one for one in beside if one is not None]))
        return [
            None if there is None else self._slopes(one, next(moved)) for one, there in zip(at, beside, strict=True)
        ]

    def _slopes(self, one: Moving, moved: np.ndarray) -> np.ndarray:
        return (moved[paired(one.values, moved)] - one.values) / (self.apart * one.size)

    def is_real(self, points: Sequence[CurvePoint], value: complex) -> bool:
        """Test whether an eigenvalue is real up to its error; the first of the points is the one that has it."""
        largest = max(float(np.max(np.abs(point.values), initial=0.0)) for point in points)
        return abs(value.imag) <= self.double * largest

    def typical(self, state: State, parameter: float) -> np.ndarray | float:
        """Look up the sizes of the equations near a part of the curve; 1 if none are known."""
        if self.sizes is None:
            return 1.0
        only = self.sizes.only
        return self.sizes.near(joined(flat_state(state), parameter)) if only is None else only

    def passed(self, point: CurvePoint) -> None:
        """Take note of the sizes of the equations at a point of the curve that has been reached."""
        if self.sizes is not None:
            self.sizes.add(point.flat, np.maximum(row_sizes(point.J), np.abs(point.slope)))

    def row_sizes(self, at: Equations | CurvePoint, rows: np.ndarray | None = None) -> np.ndarray:
        """Compute sizes of the equations at a point, by which they are divided in Newton steps; one if unknown.

        `rows` are the largest derivatives by the state, if they are known.
        """
        if self.sizes is None:
            return np.ones(len(at.J))
        return np.fmax(np.fmax(row_sizes(at.J) if rows is None else rows, np.abs(at.slope)), at.typical)

    def residual(self, at: Equations) -> float:
        """Compute the largest residual, relative to typical sizes of the equations, to compare with the tolerance."""
        return at.size if self.sizes is None else float((np.abs(at.values) / at.typical).max(initial=0.0))

    def scaled(self, at: Equations, rows: np.ndarray | None = None) -> Equations:
        """Divide equations by their sizes."""
        sizes = self.row_sizes(at, rows)
        return at._replace(values=at.values / sizes, J=at.J / sizes[:, None], slope=at.slope / sizes)

    def balanced(self, matrix: Any) -> Any:
        """Scale the rows of a matrix of derivatives to similar sizes.

        Small singular values are compared with the largest one, so that rows of very different sizes would hide them.
        """
        return matrix

    def equilibrated(self, matrix: np.ndarray) -> np.ndarray:
        """Scale rows and columns of a matrix by positive numbers before its least singular value is computed."""
        return self.balanced(matrix)

    def measured(self, state: State, parameter: float) -> CurvePoint:
        """Evaluate what continuation needs at a solution, with the tangent towards increasing parameters."""
        basis = self.basis(state)
        return self._point(state, parameter, basis, self.equations(state, parameter, basis))

    def _point(
        self, state: State, parameter: float, basis: Any, at: Equations, direction: np.ndarray | None = None
    ) -> CurvePoint:
        orbit = self.orbit(state, basis)
        null = null_vector(self.balanced(self._with_rows(at, orbit)), CROSSING, direction)
        tangent = null if null[-1] >= 0 else -null
        spectrum = Once(lambda: self.spectrum(state, parameter, at.J, orbit))
        rounding = Once(lambda: self.rounding(spectrum(), at, orbit))
        singular = Once(lambda: (self._signed_least(at, tangent, orbit), tangent))
        return CurvePoint(
            state, parameter, basis, at.J, at.slope, tangent, spectrum, orbit, rounding=rounding, typical=at.typical,
            singular=singular,
        )  # fmt: skip

    def _with_rows(self, at: Equations | CurvePoint, orbit: np.ndarray) -> Any:
        """Stack the derivatives, divided by sizes of the equations, and the conditions not to move along symmetries."""
        (m, d), k, sizes = at.J.shape, orbit.shape[1], self.row_sizes(at)
        matrix = np.zeros((m + k, d + 1))
        matrix[:m, :d], matrix[:m, d], matrix[m:, :d] = at.J / sizes[:, None], at.slope / sizes, orbit.T
        return matrix

    def correction(self, at: Equations, beside: Sequence[CurvePoint], share: float) -> np.ndarray:
        """Compute the shortest Newton step, without a part along directions stretched by less than a share.

        The share is that of the derivatives at points beside.
        """
        known = [self._with_rows(point, np.empty((len(point.tangent) - 1, 0))) for point in beside]
        values, J, slope, *_ = self.scaled(at)
        left, sizes, right = np.linalg.svd(np.column_stack([J, slope]), full_matrices=False)
        kept = sizes > share * max(float(np.linalg.norm(matrix)) for matrix in known)
        return right[kept].T @ (left[:, kept].T @ -values / sizes[kept])

    def at(self, state: State, parameter: float) -> CurvePoint | None:
        """Find the solution near a state by Newton's method with a fixed parameter; None if it fails."""
        direction = np.zeros(self.basis(state).shape[1] + 1)
        direction[-1] = 1.0
        return self.corrected(state, parameter, direction)

    def corrected(self, state: State, parameter: float, direction: np.ndarray) -> CurvePoint | None:
        """Correct a point to the curve by Newton's method, in the plane across a direction; None if it fails."""
        basis, first, before, contraction = self.basis(state), None, 0.0, 0.0
        moves = bool(direction[:-1].any())  # otherwise the parameter is fixed, and kept free of rounding
        for count in range(CORRECTIONS):
            at = self.equations(state, parameter, basis)
            rows = row_sizes(at.J)
            if not (math.isfinite(at.size) and np.isfinite(rows).all() and np.isfinite(at.slope).all()):
                return None
            residual = self.residual(at)
            first = max(residual, 1.0) if first is None else first
            change = newton_step(self.scaled(at, rows), direction)
            change[-1] *= moves
            size = float(np.abs(change).max())
            least = self.tolerances[1] * (1 + abs(parameter))
            if before > UNCERTAIN * least:
                contraction = max(contraction, size / before)
            before = size
            if size <= least and self._is_solved(at, residual, self.tolerances[0] * first, rows, state, parameter):
                found = self._point(state, parameter, basis, at, direction)
                return found._replace(corrections=count, contraction=contraction)
            if size > 1e3 * (1 + abs(parameter)):
                return None
            state = self.displaced(state, basis @ change[:-1])
            parameter = parameter + float(change[-1])
            basis = _transported(basis, self.basis(state))
        return None

    def _is_solved(
        self, at: Equations, residual: float, tolerance: float, rows: np.ndarray, state: State, parameter: float
    ) -> bool:
        """Test whether a residual is below a tolerance or explained by rounding, given the sizes of the derivatives."""
        if residual <= tolerance:
            return True
        by_state = float((rows / at.typical).max(initial=0.0))
        by_parameter = float((np.abs(at.slope) / at.typical).max(initial=0.0))
        terms = by_state * (1 + float(np.abs(flat_state(state)).max())), by_parameter * abs(parameter)
        return bool(residual <= ROUNDING * max(terms))

    def polished(self, point: CurvePoint, direction: np.ndarray) -> CurvePoint:
        """Refine a point by one more Newton step, in the plane through it across a direction.

        Corrections stop at errors of the last allowed step; afterwards only rounding errors remain.
        """
        before = self.scaled(self.equations(point.state, point.parameter, point.basis))
        if not (np.all(np.isfinite(before.values)) and np.all(np.isfinite(row_sizes(before.J)))):
            return point
        change = newton_step(before, direction)
        state = self.displaced(point.state, point.basis @ change[:-1])
        basis, parameter = _transported(point.basis, self.basis(state)), point.parameter + float(change[-1])
        after = self.equations(state, parameter, basis)
        if not np.linalg.norm(self.scaled(after).values) < np.linalg.norm(before.values):
            return point
        return self._point(state, parameter, basis, after, direction)._replace(
            corrections=point.corrections + 1, contraction=point.contraction
        )

    def stepped(self, point: CurvePoint, direction: np.ndarray, size: float) -> CurvePoint | None:
        """Predict a point at a distance in a direction, and correct it to the curve; None if it fails."""
        move = size * direction
        parameter = point.parameter + float(move[-1])
        state = self.predicted(point, self.displaced(point.state, point.basis @ move[:-1]), parameter)
        across = joined(self.basis(state).T @ (point.basis @ direction[:-1]), direction[-1])
        return self.corrected(state, parameter, across)

    def predicted(self, point: CurvePoint, state: State, parameter: float) -> State:
        """Improve a state that was predicted along the tangent at a point; by default it stays."""
        return state

    def crossing(self, point: CurvePoint, direction: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Compute the tangent of a curve at a branch point, and directions across it in the null space, as rows.

        `direction` is close to the tangent, in ambient coordinates.
        """
        rows = null_space(self.balanced(self._with_rows(point, point.orbit)), 1e-6, least=2)
        along = rows.T @ (rows @ np.append(point.basis.T @ direction[:-1], direction[-1]))
        along = along / np.linalg.norm(along)
        left = np.linalg.svd(rows - np.outer(rows @ along, along), full_matrices=False)[2]
        return along, left[: len(rows) - 1]

    def singular(self, point: CurvePoint) -> float:
        """Evaluate `least_singular`, or 0 where its sign is unreliable."""
        value = self.least_singular(point)
        return value if abs(value) > SINGULAR else 0.0

    def least_singular(self, point: CurvePoint) -> float:
        """Evaluate the test function of branch points: the signed least singular value, which changes sign there.

        It is relative to the largest singular value.
        """
        if point.singular is not None:
            value, tangent = point.singular()
            if point.tangent is tangent:
                return value
            for sign in (1.0, -1.0):
                if np.array_equal(point.tangent, sign * tangent):
                    return sign * value
        return self._signed_least(point, point.tangent, point.orbit)

    def _signed_least(self, at: Equations | CurvePoint, tangent: np.ndarray, orbit: np.ndarray) -> float:
        (rows, d), k = at.J.shape, orbit.shape[1]
        matrix = np.zeros((rows + k + 1, d + 1 + k))
        matrix[:-1, : d + 1], matrix[:rows, d + 1 :] = self._with_rows(at, orbit), orbit
        matrix[-1, : d + 1] = tangent
        return signed_least(self.equilibrated(matrix))


def name_of_multiplier(critical: complex) -> str:
    """Name the bifurcation of an orbit at which a multiplier reaches the unit circle; "" for the multiplier 1."""
    if critical.imag:
        return "Neimark-Sacker point"
    return "period doubling" if critical.real < 0 else ""


def newton_step(at: Equations, direction: np.ndarray) -> np.ndarray:
    """Compute the Newton step in the plane across a direction."""
    if isinstance(at.J, SparseMatrix):
        return solution(Extended(at.J, at.slope).with_row(direction), joined(-at.values, 0.0))
    (m, n), matrix = at.J.shape, np.empty((len(at.J) + 1, len(direction)))
    matrix[:m, :n], matrix[:m, n], matrix[m] = at.J, at.slope, direction
    return solution(matrix, joined(-at.values, 0.0))


def with_short_rows(matrix: np.ndarray) -> np.ndarray:
    """Scale the rows of a matrix that are longer than one to this length."""
    return matrix / np.maximum(1.0, np.linalg.norm(matrix, axis=1, keepdims=True))


def _transported(old: Any, new: Any) -> Any:
    """Find the basis of a new tangent space that is nearest to an old basis."""
    if old is new or np.array_equal(old, new):
        return new
    left, _, right = np.linalg.svd(new.T @ old)
    return new @ left @ right


def paired(values: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Pair eigenvalues with others by their distances: the index of the other one for each."""
    import scipy.optimize

    apart = np.abs(values[:, None] - others[None])
    nearest = np.argmin(apart, axis=1)
    unique = len(set(nearest.tolist())) == len(nearest)
    return nearest if unique else scipy.optimize.linear_sum_assignment(apart)[1]


def direction_to(begin: CurvePoint, end: CurvePoint) -> np.ndarray:
    """Compute the unit vector from one point to another, in the coordinates of the first."""
    away = end.flat - begin.flat
    found = np.append(begin.basis.T @ away[:-1], away[-1])
    return found / max(float(np.linalg.norm(found)), np.finfo(float).tiny)


def turned(begin: CurvePoint, direction: np.ndarray, end: CurvePoint) -> tuple[CurvePoint, float]:
    """Orient the tangent of a point along a direction at another point; give the cosine of their angle, too."""
    carried = joined(end.basis.T @ (begin.basis @ direction[:-1]), direction[-1])
    cosine = float(carried @ end.tangent) / max(float(np.linalg.norm(carried)), np.finfo(float).tiny)
    return (end if cosine >= 0 else end._replace(tangent=-end.tangent)), abs(cosine)
