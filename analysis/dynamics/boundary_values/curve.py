"""Continue solutions of boundary value problems in a parameter, through folds, and switch branches."""

import copy
from typing import Any, ClassVar, NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from analysis.dynamics.boundary_values.problem import BoundarySolution, BoundaryValueProblem, shares_of
from analysis.dynamics.boundary_values.scaling import LEAST, different
from analysis.dynamics.collocation.intervals import CycleField, evaluated, halved, refined_mesh, rule
from analysis.dynamics.collocation.solver import EndConditions, along, blocks, dense, meeting
from analysis.dynamics.continuation.bifurcations import Bifurcation
from analysis.dynamics.continuation.branches import Branch, branch, joined
from analysis.dynamics.continuation.curve import CurvePoint, Equations
from analysis.dynamics.continuation.marks import Mark, Watched
from analysis.dynamics.continuation.meshes import Part, both_ways_on_meshes, follow_on_meshes
from analysis.dynamics.continuation.on_mesh import FAR, CurveOnMesh
from analysis.dynamics.continuation.orbit_curve import LONGER
from analysis.dynamics.continuation.parameter_flow import inside
from analysis.dynamics.continuation.stepping import departing
from analysis.dynamics.continuation.steps import Limits, Steps
from analysis.dynamics.flow_maps.component_sizes import range_unit
from analysis.dynamics.scaling.units import Units
from dynsim._core.placement import on_host_by_default
from dynsim._core.validation import instance, number
from dynsim._runtime.blas import in_one_thread
from dynsim.errors import ArgumentError
from dynsim.systems.parameter import Parameter

# Default of the largest number of points of a branch in each direction.
POINTS = 1000
# Number of intervals for which steps are as long as the limits say; with more nodes their norm is larger.
NODES = 12
# Component below which its size is one.
TINY = 1e-9


class Profile(NamedTuple):
    """Solution on a branch: states at places, and the parameters that are solved for.

    Attributes:
        states: the states, (places, n).
        unknowns: the values of the unknown parameters, (unknowns,).
        x: the places.
    """

    states: Any
    unknowns: Any
    x: Any

    def on(self, count: int) -> "Profile":
        """Interpolate the states linearly to a number of places, evenly spread over those of the mesh."""
        old = np.linspace(0.0, 1.0, len(self.x))
        at = np.linspace(0.0, 1.0, count)
        rows = [np.interp(at, old, column) for column in np.asarray(self.states).T]
        return Profile(np.stack(rows, axis=1), self.unknowns, np.interp(at, old, self.x))

    def extreme(self) -> np.ndarray:
        """Find the value with the largest modulus of each component, for diagrams; places may be on a later axis."""
        rows = np.asarray(self.states)
        places = np.argmax(np.abs(rows), axis=-2, keepdims=True)
        return np.take_along_axis(rows, places, axis=-2)[..., 0, :]


class _Solved(NamedTuple):
    """Solved intervals of a solution, with the boundary conditions at its ends."""

    nodes: np.ndarray
    ends: np.ndarray
    own: np.ndarray
    first: np.ndarray
    slopes: np.ndarray
    conditions: EndConditions


class BoundaryCurve(CurveOnMesh):
    """Equations of a boundary value problem along a parameter: intervals meet, and conditions at both ends hold.

    A state of the curve is the array of the states at the beginnings of the intervals, with the unknown parameters as
    further components.
    """

    tolerances: ClassVar[tuple[float, float]] = (1e-10, 1e-8)
    differentiated: ClassVar[bool] = False
    vertical: ClassVar[float] = 1e-9

    def __init__(
        self,
        problem: BoundaryValueProblem,
        parameter: Parameter,
        mesh: np.ndarray,
        size: int,
        rtol: float,
        units: Units | None = None,
    ):
        """Set up the field and the conditions as functions of the parameter; `size` counts unknown parameters, too.

        The problem and the parameter are in the units.
        """
        moved = parameter.system
        super().__init__(parameter, units)
        self.problem, self.mesh, self.segments, self.accuracy = problem, mesh, len(mesh) - 1, rtol
        self.begin, self.length = problem.interval[0], problem.interval[1] - problem.interval[0]
        self.field = CycleField(problem.extended(moved), inside(parameter.take), np.zeros(size))
        self._stages = {}
        self._conditions = problem.end_equations(parameter.take, size)

    def nodes(self, state: Any) -> np.ndarray:
        """Get the states as rows."""
        return np.asarray(state)

    def duration(self, state: Any) -> float:
        """Get the length of the interval."""
        return self.length

    def rebuilt(self, nodes: np.ndarray, duration: float) -> np.ndarray:
        """Get the states as rows."""
        return nodes

    def basis(self, state: Any) -> np.ndarray:
        """Compute the identity."""
        return np.eye(np.size(state))

    def displaced(self, state: Any, step: np.ndarray) -> np.ndarray:
        """Move the states."""
        return np.asarray(state) + step.reshape(np.shape(state))

    def stable_kind(self, point: CurvePoint) -> str:
        """Say that stability is undecided."""
        return "undecided"

    def meets(self, point: CurvePoint) -> bool:
        """Take each crossing for a branch point."""
        return True

    def may_have_corners(self, point: CurvePoint) -> bool:
        """Take the equations for smooth."""
        return False

    def component_sizes(self, nodes: np.ndarray) -> np.ndarray:
        """Compute the largest values of the components, or one if they vanish."""
        most = np.max(np.abs(nodes), axis=0)
        return np.where(most > TINY, most, 1.0)

    def guessed(self, nodes: np.ndarray, duration: float, parameter: float) -> np.ndarray:
        """Interpolate the states at the Gauss points linearly."""
        after = np.vstack([nodes[1:], 2 * nodes[-1:] - nodes[-2:-1]])
        return nodes[:, None] + rule().c[:, None] * (after - nodes)[:, None]

    def equations(self, state: Any, parameter: float, basis: np.ndarray) -> Equations:
        """Compute the gaps between intervals and, last, the boundary conditions."""
        return self._equations(self._shot(state, parameter), basis)

    def divide(self, first: np.ndarray, last: np.ndarray) -> None:
        """Divide the boundary conditions by units near their derivatives at given states."""
        self._conditions.divide(first, last, self.value)

    def _shot(self, state: Any, parameter: float, factor: float = 1.0) -> _Solved:
        nodes = self.nodes(state)
        found = self.solution(nodes, self.length, parameter)
        if factor < 1:
            begins = self.begin + self.length * self.mesh[:-1]
            found = halved(self.field, begins, self.length * self.shares, nodes, parameter, found.stages, far=FAR)
        conditions, slope = self._conditions.at(nodes[0], found.ends[-1], parameter)
        own, first = blocks(found, conditions)
        slopes = along(conditions, found.slopes)
        slopes[-1] += slope
        return _Solved(nodes, found.ends, own, first, slopes, conditions)

    def _equations(self, shot: _Solved, basis: np.ndarray) -> Equations:
        gaps = meeting(shot.ends, shot.nodes, shot.conditions)
        size = float(np.max(np.abs(gaps))) / (1 + float(np.max(np.abs(shot.nodes))))
        return Equations(gaps.ravel(), dense(shot.own, shot.first), shot.slopes.ravel(), size)

    def error_of_derivatives(self, fine: np.ndarray, rough: np.ndarray) -> float:
        """Estimate the error of the derivatives: they place branch points, also where any mesh resolves a solution."""
        return float(np.max(np.abs(fine - rough) / np.maximum(1.0, np.abs(fine))))

    def largest_step(self, point: CurvePoint, within: Limits, first: CurvePoint) -> float:
        """Choose the largest step: that of the limits in the parameter, and longer in the norm of many nodes.

        If the limit is a default, solutions that have grown move by a share of their norm.
        """
        moves, own = float(np.linalg.norm(point.tangent[:-1])), abs(float(point.tangent[-1])) / within.largest
        grown = LONGER * float(np.linalg.norm(self.nodes(point.state))) if within.free else 0.0
        longest = max(within.largest * (self.segments / NODES) ** 0.5, grown)
        return 1 / max(moves / longest, own, np.finfo(float).tiny)

    def states_at(self, state: Any, parameter: float, shares: Float[np.ndarray, " k"]) -> Float[np.ndarray, "k n"]:
        """Evaluate the polynomials of a solution at shares of the interval."""
        nodes = self.nodes(state)
        return evaluated(self.mesh, nodes, self.solution(nodes, self.length, parameter).stages, shares)

    def unconfirmed(self, nodes: np.ndarray, parameter: float, point: CurvePoint | None = None) -> str:
        """Say that the finest mesh does not resolve a solution."""
        return "accuracy"

    def profile(self, point: CurvePoint | Bifurcation | Mark, mesh: np.ndarray) -> Profile:
        """Evaluate a solution on a mesh, in the units of the given problem."""
        n = np.shape(point.state)[1] - len(self.problem.unknowns)
        rows, time = self.states_at(point.state, point.parameter, mesh), 1.0
        if self.units is not None:
            rows, time = self.units.restored(rows), self.units.time
        return Profile(rows[:, :n], rows[0, n:], time * (self.begin + self.length * mesh))

    def given(self, point: CurvePoint) -> Profile:
        """Evaluate a solution on the mesh of the curve, in the units of the given problem."""
        return self.profile(point, self.mesh)

    def from_profile(self, profile: Profile) -> np.ndarray:
        """Build a state of the curve from a solution on its mesh."""
        return self.own(rows_of(profile)[:-1])


def rows_of(profile: Profile) -> np.ndarray:
    """Join the states of a solution and its unknown parameters to rows."""
    states = np.asarray(profile.states)
    return np.column_stack([states, np.tile(np.asarray(profile.unknowns, float), (len(states), 1))])


@in_one_thread
def _collected(parts: list[Part], ends: tuple[str, str], marks: Watched) -> Branch:
    """Build the branch of successive parts of a curve of solutions, on meshes with one number of intervals."""
    curves: list[Any] = [part.curve for part in parts]
    most, found = max(curve.segments for curve in curves), []
    for k, (part, curve) in enumerate(zip(parts, curves, strict=True)):
        own = (ends[0] if k == 0 else "", ends[1] if part is parts[-1] else "")
        made = branch(curve, part.points, own, marks)
        mesh = refined_mesh(curve.mesh, most)
        rows = [curve.profile(point, mesh) for point in part.points]
        states = jax.tree.map(lambda *a: np.stack(a), *rows)
        places = _with_profiles(curve, made.bifurcations), _with_profiles(curve, made.marks)
        found.append(made._replace(states=states, bifurcations=places[0], marks=places[1]))
    return joined(found, ends)


def _with_profiles(curve: BoundaryCurve, places: tuple[Any, ...]) -> tuple[Any, ...]:
    """Evaluate the solutions at bifurcations or marks of a branch, which are in the units of the given problem."""
    found = []
    for at in places:
        own = at._replace(state=curve.own(at.state), parameter=at.parameter / curve.unit)
        found.append(at._replace(state=curve.profile(own, curve.mesh)))
    return tuple(found)


@on_host_by_default
def continue_solutions(
    problem: BoundaryValueProblem,
    parameter: Parameter,
    solution: BoundarySolution,
    *,
    steps: Steps = Steps(),
    rtol: float = 1e-8,
) -> Branch:
    """Continue solutions of a boundary value problem in a parameter, in both directions, with folds and branch points.

    States of the branch are `Profile(states, unknowns, x)`, which `marks` and `stops` of the steps get, too. Meshes are
    adapted along it. Length is measured in the norm of the states at twelve places and the parameter together, each in
    a unit near its size. Solutions have no stability here.

    >>> import jax.numpy as jnp
    >>> import dynsim as ds
    >>> from analysis.dynamics import BoundaryValueProblem, Steps, continue_solutions
    >>> def bratu(x, s, size=1.0):
    ...     return jnp.stack([s[1], -size * jnp.exp(s[0])])
    >>> flow = ds.FunctionFlow(bratu, names=("u", "slope"), parameters={"size": 1.0})
    >>> problem = BoundaryValueProblem(flow, lambda first, last, flow: jnp.stack([first[0], last[0]]))
    >>> size = ds.Parameter(flow, "size", 0.5, 4.0)
    >>> branch = continue_solutions(problem, size, problem.solve(jnp.zeros(2)), steps=Steps(first=0.2, points=40))
    >>> print(branch.bifurcations[0])
    fold at 3.51383

    Args:
        problem: the problem.
        parameter: the parameter of its flow, and its range.
        solution: a solution at the flow's own value of the parameter.
        steps: the steps along the curve.
        rtol: largest error of the states, relative to the size of each component; a new mesh is chosen beyond it.

    Raises:
        ValueError: for bad input, or if no solution is found near the given one.
    """
    instance("solution", solution, BoundarySolution, "what `BoundaryValueProblem.solve` returned")
    _check_parameter(problem, parameter)
    values = np.array([solution.unknowns[name] for name in problem.unknowns])
    start = Profile(solution.states, values, solution.x)
    curve = _curve(problem, parameter, start, rtol)
    first = curve.at(curve.from_profile(start), curve.value)
    rows = rows_of(start)
    changed = np.ones(rows.shape[1], bool)
    if first is not None:
        found = curve.nodes(first.state) if curve.units is None else curve.units.restored(curve.nodes(first.state))
        changed = different(rows, found)
    if np.any(changed & np.any(rows != 0, axis=0)):  # components that vanish up to errors have no size of their own
        curve = _curve(problem, parameter, start, rtol, zero=changed)
        first = curve.at(curve.from_profile(start), curve.value)
    if first is None:
        raise ArgumentError("solution", "be one at the flow's own parameter", "leads to none by Newton's method")
    limits = steps.limits(curve.parameter, POINTS, curve.unit)
    return both_ways_on_meshes(curve, first, limits, lambda parts, ends: _collected(parts, ends, steps.marks))


@on_host_by_default
def switch_solutions(
    problem: BoundaryValueProblem,
    parameter: Parameter,
    at: Bifurcation,
    *,
    steps: Steps = Steps(),
    rtol: float = 1e-8,
) -> tuple[Branch, ...]:
    """Continue the solutions of a boundary value problem that leave a branch point, in both directions.

    A beam buckles where its load passes pi squared.

    >>> import jax.numpy as jnp
    >>> import dynsim as ds
    >>> from analysis.dynamics import BoundaryValueProblem, Steps, continue_solutions, switch_solutions
    >>> def beam(x, s, load=8.0):
    ...     return jnp.stack([s[1], -load * jnp.sin(s[0])])
    >>> flow = ds.FunctionFlow(beam, names=("angle", "bend"), parameters={"load": 8.0})
    >>> problem = BoundaryValueProblem(flow, lambda first, last, flow: jnp.stack([first[0], last[0]]))
    >>> load = ds.Parameter(flow, "load", 8.0, 12.0)
    >>> straight = continue_solutions(problem, load, problem.solve(jnp.zeros(2)), steps=Steps(first=1.0))
    >>> print(straight.bifurcations[0])
    branch point at 9.8696
    >>> len(switch_solutions(problem, load, straight.bifurcations[0], steps=Steps(first=1.0)))
    2

    Args:
        problem: the problem.
        parameter: the parameter of its flow, and its range.
        at: a branch point of a branch of `continue_solutions`.
        steps: the steps along the new branches.
        rtol: largest error of the states; see `continue_solutions`.

    Raises:
        ValueError: for bad input, or a bifurcation of another kind.
    """
    if at.kind != "branch point" or not isinstance(at.state, Profile):
        raise ArgumentError("at", "be a branch point of solutions of a boundary value problem", f"is a {at.kind}")
    _check_parameter(problem, parameter)
    curve = _curve(problem, parameter, at.state, rtol, least=LEAST)
    state, direction = curve.from_profile(at.state), np.array(at.direction)
    if curve.units is not None:
        direction /= np.append(curve.units.flat(state), curve.unit)
    here = curve.measured(state, at.parameter / curve.unit)
    along_it, across = curve.crossing(here, direction)
    limits = steps.limits(curve.parameter, POINTS, curve.unit)
    ways = [sign * across[0] for sign in (1, -1)]
    left = [departing(curve, here, along_it, way, limits, follow_on_meshes) for way in ways]
    return tuple(_collected(one[0], (at.kind, one[1]), steps.marks) for one in left if one is not None)


def _curve(
    problem: BoundaryValueProblem,
    parameter: Parameter,
    start: Profile,
    rtol: float,
    zero: np.ndarray | None = None,
    *,
    least: float = 0.0,
) -> BoundaryCurve:
    """Set up the curve in units near the sizes of a solution; see `BoundaryValueProblem.units`."""
    moved, rows, accuracy = copy.copy(problem), rows_of(start), number("rtol", rtol)
    moved.flow = parameter.system
    units = moved.units(rows, None, ((parameter, range_unit(parameter)),), zero, least=least)
    curve = BoundaryCurve(moved.rescaled(units), units.varied[0], shares_of(start.x), rows.shape[1], accuracy, units)
    curve.divide(curve.own(rows[0]), curve.own(rows[-1]))
    return curve


def _check_parameter(problem: BoundaryValueProblem, parameter: Parameter) -> None:
    """Raise `ValueError` for a parameter of another flow, or one that is solved for."""
    if jax.tree.structure(parameter.system) != jax.tree.structure(problem.flow):
        raise ArgumentError("parameter", "be one of the flow of the problem", "is of another system")
    if parameter.name in problem.unknowns:
        raise ArgumentError("parameter", "not be solved for", f"`{parameter.name}` is an unknown of the problem")
