"""Compute Poincare sections and return maps of flows, and orbit diagrams of maps along a parameter."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from analysis.dynamics.flow_maps.rolled_solver import Path, followed_path
from analysis.dynamics.scaling.flat import flat_state, flat_states
from dynsim._core.checked import checked
from dynsim._core.host import filled, room_for
from dynsim._core.placement import on_host_by_default
from dynsim._core.printing import one_line
from dynsim._core.shared_functions import shared
from dynsim._core.types import ArrayLike, Scalar, State, Time
from dynsim._core.validation import function, integer, number, reals
from dynsim._runtime.cores import in_parts
from dynsim.errors import ArgumentError, IntegrationError, counted
from dynsim.integrators import AbstractIntegrator, Diffrax, Event
from dynsim.integrators.base import step_limit
from dynsim.integrators.in_lanes import Ways, crossings
from dynsim.integrators.sliding import may_slide
from dynsim.integrators.time_structure import breakpoints
from dynsim.notebook import picture, plot
from dynsim.programs import Programmed, compiles_little
from dynsim.simulation.checks import as_state, check_flow, check_integrator, check_start
from dynsim.simulation.dense import DensePath, dense_path
from dynsim.simulation.ensemble import ensemble
from dynsim.simulation.simulate import simulate
from dynsim.spaces.base import nearest
from dynsim.spaces.euclidean import Flat
from dynsim.systems.base import AbstractFlow, AbstractMap
from dynsim.systems.named import components, with_parameter
from dynsim.systems.parameter import Parameter

if TYPE_CHECKING:
    from figures.artists import Artists

# Time between the samples of a trajectory.
SPACING = 0.01
# Number of samples in a piece of the trajectory.
SAMPLES = 2000
# Number of pieces of a path that does not come from diffrax, whose stored steps fill one piece.
LONGER = 16
# Number of bisections of a bracket between two samples, enough to reach neighbouring floating-point numbers.
HALVINGS = 60
# Number of flows that are followed together, so that their states stay in the cache.
TOGETHER = 128
# Distance, relative to the size of the states, within which crossings count as the same.
SETTLED = 1e-5


class Section(NamedTuple):
    """Crossings of a surface: times, states on the first axis, and directions.

    `spacing` is the time between samples; two crossings between successive samples are missed. `complete` is false if
    the run ended before the requested number of crossings. `names` and `units` are those of the components of a state,
    and `angles` are the periods of the entries of a flattened state, infinite for one that is no angle. Angles of the
    states are reduced: they lie between minus half a period and half a period.
    """

    times: Float[np.ndarray, " crossings"]
    states: State
    directions: Float[np.ndarray, " crossings"]
    spacing: float
    complete: bool
    names: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    angles: Float[np.ndarray, " n"] = np.empty(0)

    __repr__ = one_line
    _repr_png_ = picture

    def plot(self, ax: Any = None, **options: Any) -> "Artists":
        """Draw the crossings, or a return map, into axes.

        In given axes your style sheet holds, and a legend is drawn only on request. Without axes, a figure is made in
        the style of `figures`.

        Args:
            ax: axes of matplotlib; without any, a figure is made.
            options: the parts `points`. A part is left out by False, and styled by properties of matplotlib,
                `points={"markersize": 2}`. Also `colour`, `legend`, `labels`, `limits` and `title`, which may all be
                switched off; `components`, two names or indices; `returns`, a component whose return map is drawn;
                `directions=False` for one colour; properties of the points.

        Returns:
            The artists of each part by name, such as `drawn.points`.

        Raises:
            ValueError: for axes of another projection, an unknown option, or a result that holds nothing to draw.
        """
        return plot(self, ax, **options)

    def __str__(self) -> str:
        """Describe the number of crossings and their times in one line."""
        short = "" if self.complete else "; the run ended before all were found"
        when = f" from t = {self.times[0]:.6g} to {self.times[-1]:.6g}" if len(self.times) else ""
        return f"{counted(len(self.times), 'crossing')}{when}{short}"

    def return_map(self, coordinate: Callable[[State], Scalar]) -> Float[np.ndarray, "returns 2"]:
        """Compute the return map of a coordinate: its values at each crossing and at the next in the same direction."""
        states = jax.tree.map(jnp.asarray, self.states)
        if len(self.times):
            _check_number("coordinate", coordinate, jax.tree.map(lambda y: y[0], states))
        values = np.asarray(jax.vmap(coordinate)(states))
        pairs = [np.stack([found[:-1], found[1:]], axis=1) for found in (values[self.directions == s] for s in (1, -1))]
        return np.concatenate(pairs)

    def period(self) -> int:
        """Find the smallest number of crossings after which the state returns, up to errors; 0 if it does not."""
        states = flat_states(self.states) if len(self.times) else np.empty((0, 0))
        return least_period(states, SETTLED * float(np.max(np.abs(states), initial=0.0)), self.angles)


def _check_number(name: str, fn: Callable, *at: Any) -> None:
    """Raise `ValueError` unless a function returns one real number that is no truth value."""
    found: Any = jax.eval_shape(fn, *at)
    shape = getattr(found, "shape", None)
    if shape != () or not jnp.isdtype(found.dtype, ("real floating", "integral")):
        told = f"shape {shape}" if shape else getattr(found, "dtype", type(found).__name__)
        raise ArgumentError(name, "return one real number", f"returns {told}")


def least_period(
    values: Float[np.ndarray, "steps n"], tolerance: float, angles: Float[np.ndarray, " angles"] = np.empty(0)
) -> int:
    """Find the least period of a sequence, from its last values backwards; 0 if it has none.

    Periods up to half of the length are tested. A slow drift, of less than the tolerance in a step, does not count as
    periodic. Values with periods `angles` are compared modulo these.
    """
    back = values[::-1]
    places, shifts = np.arange(len(back)), range(1, len(back) // 2 + 1)
    apart = lambda p: nearest(back - back[places % p], angles) if angles.size else back - back[places % p]
    return next((p for p in shifts if np.max(np.abs(apart(p))) <= tolerance), 0)


@on_host_by_default
def poincare_section(
    flow: AbstractFlow,
    start: State,
    surface: Callable[[Time, State], Scalar],
    count: int,
    *,
    direction: int = 1,
    modulo: float | None = None,
    spacing: float = SPACING,
    transient: float = 0.0,
    longest: float = 10_000.0,
    integrator: AbstractIntegrator = Diffrax(),
) -> Section:
    """Compute the crossings of a surface by a trajectory, located on its dense output.

    States keep the turns of their angles while they are integrated. The states of the section have reduced angles.

    Args:
        flow: the system, on any state space.
        start: state at time 0; float32 stays float32.
        surface: a function of time and state in JAX, zero on the surface, such as `lambda t, x: x[2] - 27`. For a
            forced flow, `lambda t, x: jnp.sin(omega * t / 2)` with both directions samples at multiples of the period 2
            pi / omega.
        count: number of crossings.
        direction: 1 for upward crossings, -1 for downward ones, 0 for both.
        modulo: period of the values of `surface`, whose multiples then all count, so that with `lambda t, x: x[0]` and
            the period of this angle each turn of a rotation is a crossing.
        spacing: time between the samples among which sign changes are searched.
        transient: length of the transient to discard, in time units.
        longest: time at which the search ends; the section is then not `complete`.
        integrator: integrates the flow, in pieces of 2,000 samples.

    Raises:
        ValueError: for bad input, or if the trajectory never crosses the surface.
        IntegrationError: if the integration fails.

    Example:
        >>> import jax.numpy as jnp
        >>> import numpy as np
        >>> import dynsim as ds
        >>> from analysis.dynamics import poincare_section
        >>> circle = ds.FunctionFlow(lambda t, x: jnp.stack([x[1], -x[0]]))
        >>> section = poincare_section(circle, [1.0, 0.0], lambda t, x: x[0], 3)
        >>> np.round(section.times / np.pi, 6).tolist()
        [1.5, 3.5, 5.5]
    """
    check_flow(flow)
    check_integrator(integrator)
    function("surface", surface, "time and state", 2)
    wanted, step = integer("count", count, least=1), number("spacing", spacing)
    end, turn = number("longest", longest), math.inf if modulo is None else number("modulo", modulo)
    if step < np.finfo(float).eps * end:
        raise ArgumentError("spacing", f"be longer than the rounding of times up to {end:g}", f"is {step:g}")
    if direction not in (-1, 0, 1):
        raise ArgumentError("direction", "be -1, 0 or 1", f"is {direction}")
    x, t = check_start("start", flow, start), 0.0
    _check_number("surface", surface, jnp.asarray(t), x)
    if transient:
        t = number("transient", transient)
        if not t < end:
            raise ArgumentError("longest", f"be longer than the transient, {t:g}", f"is {end:g}")
        x = _begun(flow, x, t, end, integrator)
    found = _section(flow, x, t, surface, wanted, direction, step, end, integrator, turn)
    if not len(found.times):
        raise ArgumentError("surface", "be crossed by the trajectory", f"is not crossed up to t = {end:g}")
    return found


def _section(
    flow: AbstractFlow, x: State, t: float, surface: Callable, wanted: int, direction: int, step: float, end: float,
    integrator: AbstractIntegrator, turn: float = math.inf,
) -> Section:  # fmt: skip
    """Compute the crossings of a surface, modulo `turn`, from a state at a time, possibly none."""
    quick = _is_quick(flow, x, end, integrator)
    samples = LONGER * SAMPLES if quick else SAMPLES
    times, states, signs = [np.empty(0)], [], [np.empty(0)]
    found = 0
    while found < wanted and t < end:
        ends = np.array([t, t + samples * step])
        flow.check_horizon(*ends.tolist())
        path = _quick_path(flow, x, ends, integrator) if quick else dense_path(flow, x, ends, integrator)
        where, at, sign = _crossings(path, surface, np.linspace(t, t + samples * step, samples + 1), direction, turn)
        times.append(where)
        signs.append(sign)
        states.append(at)
        found += len(where)
        x, t = path(t + samples * step), t + samples * step
    joined = jax.tree.map(lambda *parts: np.concatenate([np.asarray(part) for part in parts])[:wanted], *states)
    known, angles = components(flow, x), flat_state(flow.space.periods(x))
    return Section(
        np.concatenate(times)[:wanted], flow.space.reduced(joined), np.concatenate(signs)[:wanted], step,
        found >= wanted, known.names, known.units, angles,
    )  # fmt: skip


def _is_quick(flow: AbstractFlow, x: State, end: float, integrator: AbstractIntegrator) -> bool:
    """Test whether a solver that compiles faster can replace an integrator at its tolerances."""
    plain = isinstance(x, jax.Array | np.ndarray) and np.ndim(x) == 1 and isinstance(flow.space, Flat)
    if not (compiles_little() and plain and isinstance(integrator, Diffrax)) or breakpoints(flow, x, 0.0, end).size:
        return False
    import diffrax as dfx

    return isinstance(integrator.solver, dfx.Tsit5) and not may_slide(flow, x)


def _quick_path(flow: AbstractFlow, x: State, ends: np.ndarray, integrator: Any) -> Path:
    longest = step_limit(integrator, flow)
    begin, end = map(float, ends)
    return followed_path(flow, x, begin, end, rtol=float(integrator.rtol), atol=float(integrator.atol), longest=longest)


def _begun(flow: AbstractFlow, x: State, t: float, end: float, integrator: AbstractIntegrator) -> State:
    """Compute the state after the transient."""
    if _is_quick(flow, x, end, integrator):
        flow.check_horizon(0.0, t)
        return _quick_path(flow, x, np.array([0.0, t]), integrator)(t)
    return simulate(flow, x, [0.0, t], integrator=integrator).final


def _crossings(
    path: DensePath | Path, surface: Callable, ts: np.ndarray, direction: int, turn: float = math.inf
) -> tuple[np.ndarray, State, np.ndarray]:
    """Bisect between samples for the crossings of multiples of a period; give their times, states and directions."""
    heights = _values(path, surface, ts)
    # the sides are numbered from the level 0 upwards; a sample on a level counts to that from which the path comes
    sides = np.floor(heights / turn) if np.isfinite(turn) else (np.sign(heights) - 1) / 2
    on = heights == turn * sides if np.isfinite(turn) else heights == 0
    for k in np.flatnonzero(on):
        sides[k] = sides[k - 1] if k else np.nan
    change = np.diff(sides)
    kept = np.flatnonzero((np.abs(change) == 1) & ((direction == 0) | (change == direction)))
    low, high, side = ts[kept], ts[kept + 1], -change[kept]
    level = turn * np.maximum(sides[kept], sides[kept + 1]) if np.isfinite(turn) else 0.0
    for _ in range(HALVINGS if len(kept) else 0):
        middle = (low + high) / 2
        before = (_values(path, surface, middle) - level) * side > 0
        low, high = np.where(before, middle, low), np.where(before, high, middle)
    return (low + high) / 2, path.states_at((low + high) / 2), change[kept]


def _values(path: DensePath | Path, surface: Callable, ts: np.ndarray) -> np.ndarray:
    """Evaluate the surface function along a path; times are padded, so that few programs are compiled."""
    if not len(ts):
        return np.empty(0)
    if isinstance(path, Path):
        states = path.states_at(ts)
        values = _SURFACE.rows((surface,), np.zeros(()), states[0])
        if values is not None:
            return np.asarray(values(ts, states))
    times = filled(ts, room_for(len(ts), least=16))
    return np.asarray(_surface(surface, jnp.asarray(times), path.states_at(times)))[: len(ts)]


_SURFACE = Programmed(lambda surface, t, x: surface(t, x))


@eqx.filter_jit
def _surface(surface: Callable, ts: Array, xs: State) -> Array:
    return jax.vmap(surface)(ts, xs)


class OrbitDiagram(NamedTuple):
    """Long-term orbits along a parameter: `values` (parameters, kept) for each of `parameters`; NaN after escape.

    `name` is that of the parameter, and `solved` says how the orbits were computed: in lanes, or why not.
    """

    parameters: Float[np.ndarray, " parameters"]
    values: Float[np.ndarray, "parameters kept"]
    name: str = "parameter"
    solved: str = ""

    __repr__ = one_line
    _repr_png_ = picture

    def plot(self, ax: Any = None, **options: Any) -> "Artists":
        """Draw the orbit diagram into axes.

        In given axes your style sheet holds, and a legend is drawn only on request. Without axes, a figure is made in
        the style of `figures`.

        Args:
            ax: axes of matplotlib; without any, a figure is made.
            options: the parts `points`. A part is left out by False, and styled by properties of matplotlib,
                `points={"markersize": 1}`. Also `colour`, `legend`, `labels`, `limits` and `title`, which may all be
                switched off; `label` of the coordinate; properties of the points.

        Returns:
            The artists of each part by name, such as `drawn.points`.

        Raises:
            ValueError: for axes of another projection, an unknown option, or a result that holds nothing to draw.
        """
        return plot(self, ax, **options)

    def __str__(self) -> str:
        """Describe the numbers of parameter values and of escaping orbits in one line."""
        escaped = int(np.sum(~np.all(np.isfinite(self.values), axis=1)))
        return f"orbits of {self.values.shape[1]} steps for {len(self.parameters)} parameters, {escaped} escape"

    def periods(self, tolerance: float = 1e-6) -> np.ndarray:
        """Find the least period of each orbit, up to half of the kept steps; 0 for aperiodic orbits and for escape."""
        return np.array([least_period(values[:, None], tolerance) for values in self.values], int)


@checked
@on_host_by_default
def orbit_diagram(
    parameter: Parameter,
    values: ArrayLike,
    start: State,
    *,
    coordinate: Callable[[State], Scalar] = lambda x: jnp.ravel(x)[0],
    transient: float = 1000,
    kept: int = 200,
    surface: Callable[[Time, State], Scalar] | None = None,
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
        coordinate: a function of the state; the default is the first entry.
        transient: length of the transient to discard, in steps of a map or time units of a flow.
        kept: number of steps, or of crossings, to keep.
        surface: for a flow, the surface whose crossings are kept, see `poincare_section`; signs are compared at 16
            times of every step.
        direction: for a flow, 1 for upward crossings, -1 for downward ones, 0 for both.
        longest: time at which the search for crossings ends.
        integrator: integrates the flow.

    Raises:
        ValueError: for bad input.
    """
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
    function("coordinate", coordinate, "the state")
    x = as_state("start", start)
    _check_number("coordinate", coordinate, x)
    after = integer("kept", kept, least=1)
    if is_flow:
        assert surface is not None
        flows = [parameter.at(value) for value in places]
        late = number("transient", transient) if transient else 0.0
        search = _CrossingSearch(surface, direction, late, number("longest", longest), after)
        found, how = _crossed(flows, x, coordinate, search, integrator)
        return OrbitDiagram(places, found, parameter.name, how)
    before = integer("transient", transient, least=0)
    found = _orbits(system, parameter.take, jnp.asarray(places), x, coordinate, jnp.asarray(before), after)
    return OrbitDiagram(places, np.asarray(found), parameter.name, "in lanes, in JAX")


@eqx.filter_jit
def _orbits(
    system: AbstractMap, where: Callable, values: Array, x: State, coordinate: Callable, before: Array, after: int
) -> Array:
    def one(value: Array) -> Array:
        at = with_parameter(where, system, value)
        begun = jax.lax.fori_loop(0, before, lambda k, y: at.image(k, y), x)

        def step(y: State, k: Array) -> tuple[State, Array]:
            y = at.image(before + k, y)
            return y, coordinate(y)

        found = jax.lax.scan(step, begun, jnp.arange(after))[1]
        return jnp.where(jnp.isfinite(found), found, jnp.nan)

    return jax.vmap(one)(values)


class _CrossingSearch(NamedTuple):
    """The crossings of a flow that are kept: of a surface in a direction, after a transient, up to a time."""

    surface: Callable[[Time, State], Scalar]
    direction: int
    transient: float
    longest: float
    kept: int


def _crossed(
    flows: list[AbstractFlow],
    start: State,
    coordinate: Callable,
    search: _CrossingSearch,
    integrator: AbstractIntegrator,
) -> tuple[Float[np.ndarray, "flows kept"], str]:
    """Compute a coordinate at the crossings of each of many flows that differ in a number; NaN where there are none.

    Also say how they were solved.
    """
    starts = jax.tree.map(lambda y: jnp.broadcast_to(y, (len(flows), *y.shape)), start)
    event = Event(search.surface, search.direction)
    ts = np.array([search.transient, search.longest])
    if not ts[0] < ts[1]:
        raise ArgumentError("longest", f"be longer than the transient, {ts[0]:g}", f"is {ts[1]:g}")
    other = f"the integrator is {type(integrator).__name__}"
    lanes = integrator.lanes(flows, starts, ts, (event,)) if isinstance(integrator, Diffrax) else other
    if not isinstance(lanes, Ways):
        rows = [_crossed_alone(flow, start, coordinate, search, integrator) for flow in flows]
        return np.stack(rows), f"not in lanes, because {lanes}"
    if search.transient:
        runs = ensemble(flows, starts, [0.0, search.transient], _nothing, integrator=integrator, shown=False)
        starts = runs.final
    found = np.full((len(flows), search.kept), np.nan)
    seen_at = _Coordinate(shared(coordinate))

    def solved(members: np.ndarray) -> np.ndarray:
        at = jax.tree.map(lambda y: np.asarray(y)[members], starts)
        some = [flows[k] for k in members]
        return np.asarray(
            crossings(lanes, integrator, some, at, float(ts[0]), float(ts[1]), seen_at, event, search.kept)
        )

    whole = np.flatnonzero(np.all(np.isfinite(flat_states(starts)), axis=1))
    for part, values in in_parts(solved, whole, TOGETHER):
        found[part] = values[: len(part)]
    return found, f"{lanes!r}"


def _crossed_alone(
    flow: AbstractFlow, start: State, coordinate: Callable, search: _CrossingSearch, integrator: AbstractIntegrator
) -> np.ndarray:
    """Compute a coordinate at the crossings of one flow."""
    values, end = np.full(search.kept, np.nan), search.longest
    try:
        x = _begun(flow, start, search.transient, end, integrator) if search.transient else start
        found = _section(
            flow, x, search.transient, search.surface, search.kept, search.direction, SPACING, end, integrator
        )
    except IntegrationError:
        return values
    seen = jax.vmap(coordinate)(jax.tree.map(jnp.asarray, found.states))
    values[: len(found.times)] = np.where(found.times <= end, seen, np.nan)
    return values


class _Coordinate(eqx.Module):
    """A function of the state as one of time and state."""

    function: Callable[[State], Scalar]

    def __call__(self, t: Time, x: State) -> Scalar:
        del t
        return self.function(x)


def _nothing(t: Time, x: State) -> Time:
    del x
    return t
