"""Compute orbit diagrams along a parameter: of each value alone, or following an attractor upwards and downwards."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float

from analysis.dynamics.poincare import (
    SPACING,
    Maxima,
    Surface,
    after_transient,
    check_number,
    crossing_of,
    least_period,
    section_from,
)
from analysis.dynamics.scaling.flat import flat_state, flat_states
from dynsim._core.checked import checked
from dynsim._core.placement import on_host_by_default, placed
from dynsim._core.printing import one_line
from dynsim._core.shared_functions import shared
from dynsim._core.types import ArrayLike, Scalar, State, Time
from dynsim._core.validation import integer, number, reals
from dynsim._runtime.cores import in_parts
from dynsim._runtime.progress import tracked
from dynsim.errors import ArgumentError, IntegrationError
from dynsim.integrators import AbstractIntegrator, Diffrax, Event
from dynsim.integrators.base import program_form
from dynsim.integrators.fixed_step.maps import Iteration, iterated
from dynsim.integrators.in_lanes import Ways, crossings
from dynsim.notebook import picture, plot
from dynsim.simulation.checks import as_state
from dynsim.simulation.ensemble import ensemble
from dynsim.systems.base import AbstractFlow, AbstractMap
from dynsim.systems.named import components, with_parameter
from dynsim.systems.parameter import Parameter

if TYPE_CHECKING:
    from figures.artists import Artists

# Number of flows that are followed together, so that their states stay in the cache.
TOGETHER = 128
# Difference of the ends of two orbits, relative to the extent of the diagram, from which on they are two attractors.
APART = 0.02
# Difference of values that count as equal, relative to the range of the diagram, and errors of a solver, relative to
# the size of the values.
EQUAL, ACCURATE = 1e-6, 1e-8
Coordinate = str | int | Callable[[State], Scalar] | None
"""A component by name or index, or a function of the state; without one the component of `Maxima`, or the first."""


class OrbitDiagram(NamedTuple):
    """Long-term orbits along a parameter: `values` (parameters, kept) for each of `parameters`; NaN after escape.

    `name` and `unit` are those of the parameter, `component` and `component_unit` those of the values, as far as they
    are known; `solved` says how the orbits were computed: in lanes, or why not. `start` is the value at the start.
    """

    parameters: Float[np.ndarray, " parameters"]
    values: Float[np.ndarray, "parameters kept"]
    name: str = "parameter"
    unit: str = ""
    component: str = ""
    component_unit: str = ""
    solved: str = ""
    start: float = math.nan

    __repr__ = one_line
    _repr_png_ = picture

    def plot(self, ax: Any = None, **options: Any) -> "Artists":
        """Draw the orbit diagram into axes.

        Args:
            ax: axes of matplotlib; without any, a figure is made; see `figures.plot`.
            options: those of `figures.plot`, of the part `points`; `colour`; `label` of the values, by default their
                component; properties of the points.
        """
        return plot(self, ax, **options)

    def __str__(self) -> str:
        """Describe the numbers of parameter values and of escaping orbits in one line."""
        escaped = int(np.sum(~np.all(np.isfinite(self.values), axis=1)))
        return f"orbits of {self.values.shape[1]} steps for {len(self.parameters)} parameters, {escaped} escape"

    def periods(self, tolerance: float | None = None) -> np.ndarray:
        """Find the least period of each orbit, up to half of the kept steps; 0 for aperiodic orbits and for escape.

        Values within the tolerance count as equal. By default it is a millionth of the range of all values, and covers
        errors of a solver.
        """
        gap = self._errors() if tolerance is None else tolerance
        return np.array([least_period(values[:, None], gap) for values in self.values], int)

    def _errors(self) -> float:
        """The difference of values that are equal, 1e-6 if the start is not known."""
        finite = self.values[np.isfinite(self.values)]
        if not len(finite) or math.isnan(self.start):
            return EQUAL
        extent = max(float(np.ptp(finite)), EQUAL * abs(self.start))  # all may have decayed to zero
        return max(EQUAL * extent, ACCURATE * float(np.max(np.abs(finite))))


class HysteresisDiagram(NamedTuple):
    """Orbit diagrams `up` and `down` of an attractor that is followed along a parameter in both directions.

    Both list their parameters in increasing order.
    """

    up: OrbitDiagram
    down: OrbitDiagram

    __repr__ = one_line
    _repr_png_ = picture

    def plot(self, ax: Any = None, **options: Any) -> "Artists":
        """Draw both directions in two colours into axes; points of the upward one are drawn larger and below.

        Args:
            ax: axes of matplotlib; without any, a figure is made; see `figures.plot`.
            options: those of `figures.plot`, of the parts `up` and `down`; `colour`, of both or a pair; `label` of the
                values, by default their component.
        """
        return plot(self, ax, **options)

    def __str__(self) -> str:
        """Describe at which parameters the two directions differ, in one line."""
        apart = self.differs()
        where = self.up.parameters[apart]
        found = f"differ at {len(where)}, from {where[0]:.6g} to {where[-1]:.6g}" if len(where) else "agree"
        return f"orbits followed up and down through {len(apart)} values of {self.up.name}; both directions {found}"

    def differs(self, tolerance: float = APART) -> Bool[np.ndarray, " parameters"]:
        """Tell for each parameter whether the two directions lead to different orbits.

        Orbits differ if their least or largest values do, by more than the tolerance times the extent of the diagram,
        or if one of them has escaped. Chaotic orbits of one attractor, of which few steps are kept, may seem to differ.
        """
        both = self.up.values, self.down.values
        finite = np.concatenate([values[np.isfinite(values)] for values in both])
        extent = float(np.ptp(finite)) if len(finite) else 0.0
        ends = [np.stack([_extreme(np.min, v), _extreme(np.max, v)], axis=1) for v in both]
        gone = [np.isnan(one[:, 0]) for one in ends]
        return (gone[0] != gone[1]) | np.any(np.abs(ends[0] - ends[1]) > tolerance * extent, axis=1)


def _extreme(function: Callable, values: np.ndarray) -> np.ndarray:
    """The least or largest value in each row, NaN for a row without values."""
    rows = [row[np.isfinite(row)] for row in values]
    return np.array([function(row) if len(row) else np.nan for row in rows])


@checked
@on_host_by_default
def orbit_diagram(
    parameter: Parameter,
    values: ArrayLike,
    start: State,
    *,
    coordinate: Coordinate = None,
    transient: float = 1000,
    kept: int = 200,
    surface: Surface | None = None,
    direction: int = 1,
    longest: float = 10_000.0,
    integrator: AbstractIntegrator = Diffrax(),
) -> OrbitDiagram:
    """Compute a coordinate along orbits after a transient, for each value of a parameter of a map or a flow.

    The orbit of a flow is its crossings of a surface. All values of the parameter are followed together, in lanes as
    `ensemble` does where it can, each with its own steps.

    >>> import dynsim as ds
    >>> from analysis.dynamics import orbit_diagram
    >>> from dynsim.catalogue import Logistic
    >>> found = orbit_diagram(ds.Parameter(Logistic(), "r", 2.5, 4.0), [2.8, 3.2, 3.5], [0.3])
    >>> found.periods().tolist()
    [1, 2, 4]

    Args:
        parameter: the parameter of a map in JAX, or of a flow.
        values: the values of the parameter.
        start: initial state, the same for each value; float32 stays float32.
        coordinate: name or index of a component, or a function of the state; by default the component of `Maxima`, or
            the first.
        transient: length of the transient to discard, in steps of a map or time units of a flow.
        kept: number of steps, or of crossings, to keep.
        surface: for a flow, the surface whose crossings are kept, see `poincare_section`: a function of time and state,
            `Maxima("x")`, or `Stroboscope(period)`. Signs are compared at 16 times of every step.
        direction: for a flow, 1 for upward crossings (maxima), -1 for downward ones (minima), 0 for both.
        longest: time at which the search for crossings ends.
        integrator: integrates the flow.

    Raises:
        ValueError: for bad input.
    """
    task = _task(parameter, values, start, coordinate, (transient, kept, surface, direction, longest), integrator)
    if isinstance(parameter.system, AbstractFlow):
        found, how = _crossed([parameter.at(value) for value in task.values], task)
    else:
        found, how = _orbits(parameter, task, integer("transient", transient, least=0))
    return task.diagram(parameter, found)._replace(solved=how)


@checked
@on_host_by_default
def hysteresis_diagram(
    parameter: Parameter,
    values: ArrayLike,
    start: State,
    *,
    coordinate: Coordinate = None,
    transient: float = 1000,
    kept: int = 50,
    surface: Surface | None = None,
    direction: int = 1,
    longest: float = 10_000.0,
    integrator: AbstractIntegrator = Diffrax(),
) -> HysteresisDiagram:
    """Follow an attractor upwards and then downwards along a parameter of a map or a flow: a brute-force diagram.

    Each value starts from the last state at the one before; the downward direction starts where the upward one ends.
    Where attractors coexist, the two directions may show different ones. An orbit that escapes starts again from
    `start` at the next value. Steps of a map and times of a flow are counted from 0 at each value; for a forced flow
    take a `Stroboscope`, whose last sample is at a multiple of the period, so that the phase of the forcing is kept.

    >>> import dynsim as ds
    >>> from analysis.dynamics import hysteresis_diagram
    >>> cubic = ds.FunctionMap(lambda k, x, a: x + 0.2 * (a + x - x**3), parameters={"a": 0.0})
    >>> found = hysteresis_diagram(ds.Parameter(cubic, "a", -1.0, 1.0), [-0.6, -0.2, 0.2, 0.6], [-1.0], kept=4)
    >>> print(found)  # the fold points are at a = -0.385 and 0.385
    orbits followed up and down through 4 values of a; both directions differ at 2, from -0.2 to 0.2

    Args:
        parameter: the parameter of a map in JAX, or of a flow.
        values: the values of the parameter, which are followed in increasing order.
        start: initial state at the least value; float32 stays float32.
        coordinate: name or index of a component, or a function of the state; by default the component of `Maxima`, or
            the first.
        transient: length of the transient to discard at each value, in steps of a map or time units of a flow.
        kept: number of steps, or of crossings, to keep.
        surface: for a flow, the surface whose crossings are kept, see `orbit_diagram`.
        direction: for a flow, 1 for upward crossings (maxima), -1 for downward ones (minima), 0 for both.
        longest: time, at each value, at which the search for crossings ends.
        integrator: integrates the flow.

    Raises:
        ValueError: for bad input.
    """
    task = _task(parameter, values, start, coordinate, (transient, kept, surface, direction, longest), integrator)
    task = task._replace(values=np.sort(task.values))
    if isinstance(parameter.system, AbstractFlow):
        up, last = _followed(parameter, task.values, task.start, task)
        down, _ = _followed(parameter, task.values[::-1], last, task)
    else:
        before = jnp.asarray(integer("transient", transient, least=0))
        follow = lambda some, x: _followed_orbits(parameter.system, parameter.take, jnp.asarray(some), x, task.start,
                                                  task.seen, before, task.kept)  # fmt: skip
        up, last = follow(task.values, task.start)
        down, _ = follow(task.values[::-1], last)
    return HysteresisDiagram(task.diagram(parameter, np.asarray(up)), task.diagram(parameter, np.asarray(down)[::-1]))


class _Entry(eqx.Module):
    """An entry of a flattened state; equal entries share a program."""

    place: int = eqx.field(static=True)

    def __call__(self, x: State) -> Scalar:
        return ravel_pytree(x)[0][self.place]


class _Task(NamedTuple):
    """What is kept of the orbits along a parameter; `seen` is a coordinate of a state."""

    values: Float[np.ndarray, " parameters"]
    start: State
    seen: Callable[[State], Scalar]
    component: str
    unit: str
    surface: Surface | None
    direction: int
    transient: float
    longest: float
    kept: int
    integrator: AbstractIntegrator

    def diagram(self, parameter: Parameter, found: np.ndarray) -> OrbitDiagram:
        """The diagram of the values found."""
        return OrbitDiagram(
            self.values,
            found,
            parameter.name,
            parameter.unit,
            self.component,
            self.unit,
            start=float(self.seen(self.start)),
        )

    def event(self, flow: AbstractFlow) -> Event:
        """The crossing of a flow that is searched for."""
        assert self.surface is not None
        found = crossing_of(self.surface, flow, self.start, self.direction)
        return Event(found.function, found.direction)


def _task(
    parameter: Parameter, values: Any, start: Any, coordinate: Coordinate,
    kept: tuple[float, int, Surface | None, int, float], integrator: AbstractIntegrator,
) -> _Task:  # fmt: skip
    """Check the arguments of an orbit diagram."""
    transient, count, surface, direction, longest = kept
    system = parameter.system
    is_flow = isinstance(system, AbstractFlow)
    if not is_flow and (not isinstance(system, AbstractMap) or system.on_host):
        raise ArgumentError("parameter", "belong to a flow or a map in JAX", f"belongs to {type(system).__name__}")
    if is_flow != (surface is not None):
        must, but = ("be given for a flow", "is None") if is_flow else ("be left out for a map", "is given")
        raise ArgumentError("surface", must, but)
    places = np.asarray(reals("values", values), float)
    if places.ndim != 1 or not len(places):
        raise ArgumentError("values", "have shape (values,) with at least one", f"has shape {places.shape}")
    if not np.all((places >= parameter.low) & (places <= parameter.high)):
        must = f"lie in the range of the parameter, {parameter.low:g} to {parameter.high:g}"
        raise ArgumentError("values", must, f"go from {np.min(places):g} to {np.max(places):g}")
    x = as_state("start", start)
    if coordinate is None:
        coordinate = surface.place(system, x) if isinstance(surface, Maxima) else 0  # pyright: ignore[reportArgumentType]
    seen: Any = coordinate
    component, unit = "", ""
    if not callable(coordinate):
        known = components(system, x)
        place = known.place(coordinate, "coordinate")
        seen, component, unit = _Entry(place), known.names[place], known.units[place]
    check_number("coordinate", seen, x)
    late = number("transient", transient) if is_flow and transient else float(transient)
    end = number("longest", longest)
    if is_flow and not late < end:
        raise ArgumentError("longest", f"be longer than the transient, {late:g}", f"is {end:g}")
    after = integer("kept", count, least=1)
    return _Task(places, x, seen, component, unit, surface, direction, late, end, after, integrator)


def _orbits(parameter: Parameter, task: _Task, before: int) -> tuple[np.ndarray, str]:
    """Compute a coordinate after each of the steps that are kept, for each value; also say how it was computed."""
    map, values = program_form(parameter.system), jnp.asarray(task.values)
    with placed(values.size * flat_state(task.start).size, (map, values, task.start)) as (map, values, start):
        lanes = Iteration().lanes([map], jax.tree.map(lambda y: y[None], start), np.arange(2))
        steps = np.append(0, before + 1 + np.arange(task.kept))
        found = _after_steps(lanes, map, parameter.take, values, start, steps, _OfState(shared(task.seen)))
        how = f"{lanes!r}" if isinstance(lanes, Ways) else f"not in lanes, because {lanes}"
        return np.asarray(found), how


@eqx.filter_jit
def _after_steps(
    lanes: Ways | str, map: AbstractMap, take: Any, values: Array, start: State, steps: Any, seen: Any
) -> Array:
    """Evaluate a function of step and state after each of the steps but the first, shape (values, steps - 1)."""
    one = with_parameter(take, map, values[0])
    axes = jax.tree.map(lambda new, old: None if new is old else 0, one, map)
    changed = jax.tree.map(lambda new, old: new is not old, one, map)
    many = jax.vmap(lambda value: eqx.filter(with_parameter(take, map, value), changed))(values)
    starts = jax.tree.map(lambda y: jnp.broadcast_to(y, (len(values), *y.shape)), start)
    return iterated(lanes, eqx.combine(many, map), axes, starts, steps, seen)[0][:, 1:]


@eqx.filter_jit
def _followed_orbits(
    system: AbstractMap,
    where: Callable,
    values: Array,
    x: State,
    again: State,
    seen: Callable,
    before: Array,
    after: int,
) -> tuple[Array, State]:
    """Iterate a map at each value from the last state at the one before, or from `again` if that is not finite."""

    def one(x: State, value: Array) -> tuple[State, Array]:
        at = with_parameter(where, system, value)
        begun = jax.lax.fori_loop(0, before, lambda k, y: at.image(k, y), x)

        def step(y: State, k: Array) -> tuple[State, Array]:
            y = at.image(before + k, y)
            return y, seen(y)

        last, found = jax.lax.scan(step, begun, jnp.arange(after))
        whole = jnp.all(jnp.isfinite(ravel_pytree(last)[0]))
        last = jax.tree.map(lambda a, b: jnp.where(whole, a, b), last, again)
        return last, jnp.where(jnp.isfinite(found), found, jnp.nan)

    last, found = jax.lax.scan(one, x, values)
    return found, last


def _crossed(flows: list[AbstractFlow], task: _Task) -> tuple[Float[np.ndarray, "flows kept"], str]:
    """Compute a coordinate at the crossings of each of many flows that differ in a number; NaN where there are none.

    Also say how they were solved.
    """
    starts = jax.tree.map(lambda y: jnp.broadcast_to(y, (len(flows), *y.shape)), task.start)
    lanes = _lanes(flows, starts, task)
    if not isinstance(lanes, Ways):
        rows = [_crossed_alone(flow, task.start, task)[0] for flow in flows]
        return np.stack(rows), f"not in lanes, because {lanes}"
    if task.transient:
        ts = [0.0, task.transient]
        starts = ensemble(flows, starts, ts, _nothing, integrator=task.integrator, shown=False).final
    found = np.full((len(flows), task.kept), np.nan)

    def solved(members: np.ndarray) -> np.ndarray:
        at = jax.tree.map(lambda y: np.asarray(y)[members], starts)
        return np.asarray(_seen_at_crossings(lanes, [flows[k] for k in members], at, task))

    whole = np.flatnonzero(np.all(np.isfinite(flat_states(starts)), axis=1))
    for part, values in in_parts(solved, whole, TOGETHER):
        found[part] = values[: len(part)]
    return found, f"{lanes!r}"


def _lanes(flows: list[AbstractFlow], starts: State, task: _Task) -> Ways | str:
    """How crossings of these flows are found in lanes, or why they are not."""
    if not isinstance(task.integrator, Diffrax):
        return f"the integrator is {type(task.integrator).__name__}"
    ends = np.array([task.transient, task.longest])
    return task.integrator.lanes(flows, starts, ends, (task.event(flows[0]),))


def _seen_at_crossings(lanes: Ways, flows: list[AbstractFlow], starts: State, task: _Task, seen: Any = None) -> Any:
    """Evaluate a function of the state at the crossings of each flow, (flows, kept, ...)."""
    at = _OfState(shared(task.seen)) if seen is None else seen
    events = [task.event(flow) for flow in flows]
    return crossings(lanes, task.integrator, flows, starts, task.transient, task.longest, at, events, task.kept)


def _crossed_alone(flow: AbstractFlow, start: State, task: _Task) -> tuple[np.ndarray, State]:
    """Compute a coordinate at the crossings of one flow, and the last state: the last crossing, if there is one."""
    values, end, x, event = np.full(task.kept, np.nan), task.longest, start, task.event(flow)
    try:
        x = after_transient(flow, start, task.transient, end, task.integrator) if task.transient else start
        found = section_from(
            flow, x, task.transient, event.fn, task.kept, event.direction, SPACING, end, task.integrator
        )
    except IntegrationError:
        return values, jax.tree.map(lambda y: jnp.full_like(y, jnp.nan), start)
    if not len(found.times):
        return values, x
    seen = jax.vmap(task.seen)(jax.tree.map(jnp.asarray, found.states))
    values[: len(found.times)] = np.where(found.times <= end, seen, np.nan)
    return values, jax.tree.map(lambda y: jnp.asarray(y)[-1], found.states)


def _followed(parameter: Parameter, values: np.ndarray, start: State, task: _Task) -> tuple[np.ndarray, State]:
    """Compute the crossings at each value from the last state at the one before; also the last state."""
    x, rows = start, []
    flows = [parameter.at(value) for value in values]
    ways = _Followed(flows, task) if isinstance(task.integrator, Diffrax) else None
    for flow in tracked(flows, len(flows), "values"):
        found, x = _crossed_alone(flow, x, task) if ways is None or not isinstance(ways.lanes, Ways) else ways(flow, x)
        if not np.all(np.isfinite(flat_state(x))):
            x = task.start
        rows.append(found)
    return np.stack(rows), x


class _Followed:
    """One flow after the other in a lane, with a transient and then crossings."""

    def __init__(self, flows: list[AbstractFlow], task: _Task):
        self.task = task
        starts = jax.tree.map(lambda y: y[None], task.start)
        self.lanes = _lanes(flows, starts, task)
        self.ends = np.array([0.0, task.transient])
        self.before = task.integrator.lanes(flows, starts, self.ends) if task.transient else ""  # pyright: ignore

    def __call__(self, flow: AbstractFlow, x: State) -> tuple[np.ndarray, State]:
        """Compute a coordinate at the crossings of a flow, and the last state."""
        task, one = self.task, jax.tree.map(lambda y: y[None], x)
        if task.transient:
            one = task.integrator.observe([flow], one, self.ends, _nothing, lanes=self.before)[1]  # pyright: ignore
        states = _seen_at_crossings(self.lanes, [flow], one, task, _state)  # pyright: ignore
        found = np.asarray(jax.vmap(task.seen)(jax.tree.map(lambda y: y[0], states)))
        last = int(np.sum(np.isfinite(found)))
        return found, jax.tree.map(lambda y, begun: y[0, last - 1] if last else begun[0], states, one)


def _state(t: Time, x: State) -> State:
    del t
    return x


class _OfState(eqx.Module):
    """A function of the state as one of time and state."""

    function: Callable[[State], Scalar]

    def __call__(self, t: Any, x: State) -> Scalar:
        return self.function(x)


def _nothing(t: Time, x: State) -> Time:
    del x
    return t
