"""Solve two-point boundary value problems of ordinary differential equations, with unknown parameters."""

import copy
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Float

from analysis.dynamics.boundary_values.scaling import component_units, different
from analysis.dynamics.collocation.intervals import LIMIT, CycleField, evaluated
from analysis.dynamics.collocation.solver import BoundaryProblem, Collocated, EndConditions, collocated, gauss_points
from analysis.dynamics.continuation.parameter_flow import WithUnknowns
from analysis.dynamics.flow_maps.component_sizes import turn_unit
from analysis.dynamics.scaling.units import STATES, Units, made_units, unit_of
from dynsim._core.printing import one_line
from dynsim._core.validation import function, integer, number, reals
from dynsim.errors import ArgumentError, shown
from dynsim.notebook import picture, plot
from dynsim.programs import NumpyEvaluator, program_or_none
from dynsim.simulation.checks import check_flow, check_start
from dynsim.systems.base import AbstractFlow
from dynsim.systems.named import components, with_parameter
from dynsim.systems.parameter import Parameter
from dynsim.systems.rescaled import is_flat

if TYPE_CHECKING:
    from figures.artists import Artists

# Most attempts to improve the units by the sizes of a solution.
TRIALS = 3

Conditions = Callable[[Any, Any, Any], Any]
"""Boundary conditions: numbers that vanish, from the states at both ends and the system."""


class BoundarySolution(NamedTuple):
    """Solution of a boundary value problem on its mesh; `at` evaluates it in between.

    Attributes:
        x: the places of the mesh.
        states: the states there, (places, n).
        inner: the states at the Gauss points of the intervals, (intervals, 4, n).
        unknowns: values of the parameters that were solved for, by name.
        error: estimate of the largest error, relative to the size of each component.
        names: names of the components.
        units: their units.
    """

    x: Float[np.ndarray, " places"]
    states: Float[np.ndarray, "places n"]
    inner: Float[np.ndarray, "intervals stages n"]
    unknowns: dict[str, float]
    error: float
    names: tuple[str, ...]
    units: tuple[str, ...] = ()

    __repr__ = one_line
    _repr_png_ = picture

    def plot(self, ax: Any = None, **options: Any) -> "Artists":
        """Draw the components against the independent variable into axes.

        In given axes your style sheet holds, and a legend is drawn only on request. Without axes, a figure is made in
        the style of `figures`.

        Args:
            ax: axes of matplotlib; without any, a figure is made.
            options: the part `lines`, which is left out by False, and styled by properties of matplotlib,
                `lines={"linewidth": 2}`. Also `colour`, `legend`, `labels`, `limits` and `title`, which may all be
                switched off; `component`, the name or index of the only one that is drawn.

        Returns:
            The artists of each part by name, such as `drawn.lines`.

        Raises:
            ValueError: for axes of another projection, an unknown option, or a result that holds nothing to draw.
        """
        return plot(self, ax, **options)

    def at(self, x: Any) -> Float[np.ndarray, "k n"]:
        """Evaluate the solution at places between the ends, by the polynomials of degree 4 of the intervals."""
        low, high = self.x[[0, -1]]
        places = np.ravel(np.asarray(x, float))
        if not np.all((places >= low) & (places <= high)):
            raise ArgumentError("x", f"be from {low:g} to {high:g}", f"is {shown(x)}")
        return evaluated(shares_of(self.x), self.states[:-1], self.inner, (places - low) / (high - low))

    def __str__(self) -> str:
        """Describe the mesh, the error and the unknown parameters in one line."""
        found = "".join(f", {name} = {value:.10g}" for name, value in self.unknowns.items())
        return f"solution on {len(self.inner)} intervals with an error of {self.error:.1g}{found}"


class BoundaryValueProblem:
    """Two-point boundary value problem: a flow over an interval, with conditions at both ends.

    The time of the flow is the independent variable. Parameters of the flow may be unknown, too; each needs one further
    condition. `continue_solutions` continues solutions in another parameter. States, parameters and the independent
    variable may have any units: problems are solved in units near their sizes.

    >>> import jax.numpy as jnp
    >>> import dynsim as ds
    >>> from analysis.dynamics import BoundaryValueProblem
    >>> def bratu(x, s, size=1.0):  # u'' = - size exp(u), u(0) = u(1) = 0
    ...     return jnp.stack([s[1], -size * jnp.exp(s[0])])
    >>> flow = ds.FunctionFlow(bratu, names=("u", "slope"), parameters={"size": 1.0})
    >>> problem = BoundaryValueProblem(flow, lambda first, last, flow: jnp.stack([first[0], last[0]]), (0.0, 1.0))
    >>> solution = problem.solve(jnp.zeros(2))
    >>> round(float(solution.at(0.5)[0, 0]), 7)
    0.1405392

    Source: U. M. Ascher, R. M. M. Mattheij and R. D. Russell, Numerical Solution of Boundary Value Problems for
    Ordinary Differential Equations (1988).
    """

    def __init__(
        self,
        flow: AbstractFlow,
        conditions: Conditions,
        interval: tuple[float, float] = (0.0, 1.0),
        *,
        unknowns: Sequence[str] = (),
    ):
        """Check the flow, the interval and the names of unknown parameters.

        Args:
            flow: the system on a flat space.
            conditions: numbers that vanish, as many as the state has components and there are unknowns, from the
                states at both ends and the system, `conditions(first, last, flow)`.
            interval: both ends of the independent variable.
            unknowns: names of parameters of the flow that are solved for; its own values are the guess.

        Raises:
            ValueError: for bad input.
        """
        check_flow(flow)
        if not is_flat(flow.space):
            raise ArgumentError("flow", "have a flat space", f"is on {type(flow.space).__name__}")
        function("conditions", conditions, "the states at both ends and the flow", 3)
        if len(interval) != 2 or not -np.inf < interval[0] < interval[1] < np.inf:
            raise ArgumentError("interval", "be two finite numbers, the smaller first", f"is {shown(interval)}")
        self.flow, self.conditions = flow, conditions
        self.interval = (float(interval[0]), float(interval[1]))
        self.unknowns = tuple(unknowns)
        self.takes = tuple(Parameter(flow, name, -np.inf, np.inf).take for name in self.unknowns)

    def solve(self, guess: Any, *, intervals: int = 10, rtol: float = 1e-8) -> BoundarySolution:
        """Solve the problem by Newton's method from a guess, on a mesh that is adapted to the error.

        Args:
            guess: a state, which is taken everywhere; a function of the independent variable; a pair of places and
                states there, which are interpolated; or a solution of a similar problem, with its unknowns.
            intervals: number of intervals of the first mesh.
            rtol: largest error of the states, relative to the size of each component.

        Raises:
            ValueError: for bad input, if Newton's method finds no solution, or it needs more than 400 intervals.
        """
        count, accuracy = integer("intervals", intervals, least=2), number("rtol", rtol)
        mesh = np.linspace(0.0, 1.0, count + 1)
        known = isinstance(guess, BoundarySolution)
        if known and guess.inner.shape[0] >= 2:
            mesh = shares_of(guess.x)
        low, high = self.interval
        evaluate = _guess_of(guess, self.interval)
        places = np.concatenate([mesh[:-1], gauss_points(mesh).ravel()])
        rows = np.stack([evaluate(low + share * (high - low)) for share in places])
        check_start("guess", self.flow, jnp.asarray(rows[0]))
        values = [guess.unknowns.get(name) if known else None for name in self.unknowns]
        own = [float(Parameter(self.flow, name, -np.inf, np.inf).value) for name in self.unknowns]
        extra = [start if value is None else value for value, start in zip(values, own, strict=True)]
        rows = np.column_stack([rows, np.tile(extra, (len(rows), 1))])
        units = self.units(rows)
        first = rows[: len(mesh) - 1], rows[len(mesh) - 1 :].reshape(len(mesh) - 1, -1, rows.shape[1])
        found = self._solved(units, mesh, first, accuracy)
        for _ in range(TRIALS):
            better = self.units(found.nodes, units)
            if np.array_equal(better.scale, units.scale):
                break
            try:
                again = self._solved(better, found.mesh, (found.nodes, found.intervals.stages), accuracy)
            except ArgumentError:
                break
            if np.any(different(found.nodes, again.nodes)):  # those that changed are zero up to errors
                break
            found, units = again, better
        return self.solution(found.mesh, found.nodes, found.intervals.stages, found.intervals.ends[-1], found.error)

    def _solved(self, units: Units, mesh: np.ndarray, guess: tuple[np.ndarray, np.ndarray], rtol: float) -> Collocated:
        """Solve the problem in units from a guess of nodes and stages; give the solution in those of the problem."""
        inside = self.rescaled(units)
        nodes, stages = (units.rescaled(part) for part in guess)
        length = inside.interval[1] - inside.interval[0]
        found = collocated(inside.on_mesh(nodes.shape[1]), mesh, nodes, stages, length, rtol)
        own = found.intervals._replace(
            stages=units.restored(found.intervals.stages), ends=units.restored(found.intervals.ends)
        )
        return found._replace(nodes=units.restored(found.nodes), intervals=own)

    def units(
        self, rows: np.ndarray, known: Units | None = None, parameters: tuple[tuple[Parameter, float], ...] = (),
        zero: np.ndarray | None = None, *, least: float = 0.0,
    ) -> Units:  # fmt: skip
        """Choose units near the sizes of a solution, given its states and unknown parameters as rows.

        Their `scale` has an entry for each unknown parameter, too.

        Args:
            rows: states, followed by the unknown parameters.
            known: units of those that vanish; by default, these follow from the flow.
            parameters: parameters that vary, with their units; they come first in the units.
            zero: which columns vanish up to errors.
            least: share of the scale of the flow below which columns vanish up to errors.
        """
        field = CycleField(self.extended(self.flow), None, np.zeros(rows.shape[1]))
        given = None if known is None else known.scale
        sizes = component_units(field, self.interval, rows, len(self.unknowns), given, zero, least=least)
        n = rows.shape[1] - len(self.unknowns)
        varied = [one for one, _ in parameters]
        varied += [Parameter(self.flow, take, -np.inf, np.inf) for take in self.takes]
        own = [*(unit for _, unit in parameters), *map(float, sizes[n:])]
        made = made_units(self.flow, varied, sizes[:n], turn_unit(self.interval[1] - self.interval[0]), own)
        return made._replace(scale=sizes)

    def rescaled(self, units: Units) -> "BoundaryValueProblem":
        """Express the problem in units."""
        if units.are_given:
            return self
        made, (n, own) = copy.copy(self), (len(units.scale) - len(self.unknowns), self.conditions)
        states, is_moved = np.asarray(units.scale)[:n], units.system is not self.flow
        given = lambda flow: flow.rest if is_moved else flow
        made.conditions = lambda first, last, flow: own(states * first, states * last, given(flow))
        made.flow, made.takes = (
            units.system,
            tuple(one.take for one in units.varied[len(units.varied) - len(self.takes) :]),
        )
        made.interval = (self.interval[0] / units.time, self.interval[1] / units.time)
        return made

    def on_mesh(self, size: int) -> BoundaryProblem:
        """Build the equations for the solver, in which unknown parameters are constant components of the state."""
        field = CycleField(self.extended(self.flow), None, np.zeros(size))
        conditions = self.end_equations(None, size)
        return BoundaryProblem(field, lambda first, last: conditions.at(first, last, 0.0)[0], self.interval[0])

    def extended(self, flow: AbstractFlow) -> "WithUnknowns":
        """Build the flow whose state has the unknown parameters as further components."""
        return WithUnknowns(flow, self.takes)

    def end_equations(self, take: Callable | None, size: int) -> "EndEquations":
        """Build the boundary conditions as functions of a parameter, too, that is taken from the flow."""
        return EndEquations(self, take, size)

    def solution(
        self, mesh: np.ndarray, nodes: np.ndarray, stages: np.ndarray, last: np.ndarray, error: float
    ) -> BoundarySolution:
        """Build a solution from the states of the extended flow."""
        low, high = self.interval
        n = nodes.shape[1] - len(self.unknowns)
        states = np.vstack([nodes, last])
        known = components(self.flow, np.zeros(n))
        return BoundarySolution(
            low + mesh * (high - low), states[:, :n], stages[..., :n],
            dict(zip(self.unknowns, map(float, nodes[0, n:]), strict=True)), error, known.names, known.units,
        )  # fmt: skip


def shares_of(x: Any) -> Float[np.ndarray, " places"]:
    """Compute places as shares of the interval from the first to the last one."""
    x = np.asarray(x)
    found = (x - x[0]) / (x[-1] - x[0])
    found[-1] = 1.0
    return found


class EndEquations:
    """Values of boundary conditions with their derivatives by both states and a parameter."""

    def __init__(self, problem: BoundaryValueProblem, take: Callable | None, size: int):
        """Record the conditions as a scalar program; conditions without one are compiled.

        Args:
            problem: the problem.
            take: selects a parameter of the flow; without one, derivatives by it are zero.
            size: the number of components, with the unknown parameters.
        """
        extended, n = problem.extended(problem.flow), size - len(problem.unknowns)

        def values(z: Any) -> Any:
            first, last = z[:size], z[size : 2 * size]
            flow: Any = extended.flow if take is None else with_parameter(take, extended.flow, z[-1])
            moved = WithUnknowns(flow, extended.takes).at(first)
            found = ravel_pytree(problem.conditions(first[:n], last[:n], moved))[0].astype(float)
            if found.shape != (size,):
                more = f" and {len(problem.unknowns)} unknowns" if problem.unknowns else ""
                raise ArgumentError("conditions", f"be {size} numbers for {n} components{more}", f"are {found.size}")
            return found

        both = lambda z: (values(z), jax.jacfwd(values)(z))
        like = np.zeros(2 * size + 1)
        jax.eval_shape(values, like)  # raises for a wrong number of conditions
        self.size, self._rows = size, np.ones(size)
        self._call: Callable[[np.ndarray], Any]
        made = program_or_none(lambda t, z: both(z), (), (len(like),), drop_zeros=True, limit=LIMIT)
        if made is not None:
            program = NumpyEvaluator(made)
            self._call = lambda z: tuple(np.asarray(part)[0] for part in program(np.zeros(1), z[None]))
        else:
            compiled = eqx.filter_jit(both)
            self._call = lambda z: compiled(jnp.asarray(z))

    def at(self, first: np.ndarray, last: np.ndarray, parameter: float) -> tuple[EndConditions, np.ndarray]:
        """Evaluate the conditions; give their derivatives by the parameter, too."""
        values, J = (np.asarray(part, float) for part in self._call(np.concatenate([first, last, [parameter]])))
        n, J = self.size, J / self._rows[:, None]
        return EndConditions(values / self._rows, J[:, :n], J[:, n : 2 * n]), J[:, -1]

    def divide(self, first: np.ndarray, last: np.ndarray, parameter: float) -> None:
        """Divide the conditions by units of their own, which are near their derivatives at given states."""
        conditions, slope = self.at(first, last, parameter)
        sizes = np.abs(np.column_stack([conditions.by_first, conditions.by_last, slope]))
        self._rows = self._rows * unit_of(np.max(sizes, axis=1), STATES)


def _guess_of(guess: Any, interval: tuple[float, float]) -> Callable[[float], np.ndarray]:
    """Make a function of the independent variable from any kind of guess."""
    if isinstance(guess, BoundarySolution):
        low, high = guess.x[[0, -1]]
        return lambda x: guess.at(low + (high - low) * (x - interval[0]) / (interval[1] - interval[0]))[0]
    if callable(guess):
        return lambda x: np.ravel(np.asarray(guess(x), float))
    if isinstance(guess, tuple) and len(guess) == 2 and np.ndim(guess[1]) == 2:
        places, rows = np.ravel(np.asarray(guess[0], float)), np.asarray(guess[1], float)
        if len(places) != len(rows) or not np.all(np.diff(places) > 0):
            raise ArgumentError(
                "guess", "be increasing places and a state at each", f"has {len(places)} and {len(rows)}"
            )
        return lambda x: np.array([np.interp(x, places, column) for column in rows.T])
    state = np.ravel(np.asarray(reals("guess", guess), float))
    return lambda x: state
