"""Compute Poincare sections and return maps of flows."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from analysis.dynamics.flow_maps.rolled_solver import Path, followed_path
from analysis.dynamics.scaling.flat import flat_state, flat_states
from analysis.dynamics.series.return_maps import ReturnMap
from dynsim._core.host import filled, room_for
from dynsim._core.placement import on_host_by_default
from dynsim._core.printing import one_line
from dynsim._core.types import Scalar, State, Time
from dynsim._core.validation import function, integer, number
from dynsim.errors import ArgumentError, counted
from dynsim.integrators import AbstractIntegrator, Diffrax
from dynsim.integrators.base import program_form, step_limit
from dynsim.integrators.sliding import may_slide
from dynsim.integrators.time_structure import breakpoints
from dynsim.notebook import picture, plot
from dynsim.programs import Programmed, compiles_little
from dynsim.simulation.checks import check_flow, check_integrator, check_start
from dynsim.simulation.dense import DensePath, dense_path
from dynsim.simulation.simulate import simulate
from dynsim.spaces.base import nearest
from dynsim.spaces.euclidean import Flat
from dynsim.systems.base import AbstractFlow
from dynsim.systems.named import Components, components

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
# Distance, relative to the size of the states, within which crossings count as the same.
SETTLED = 1e-5


class Section(NamedTuple):
    """Crossings of a surface: times, states on the first axis, and directions.

    `spacing` is the time between samples; two crossings between successive samples are missed. `complete` is false if
    the run ended before the requested number of crossings. `names` and `units` are those of the components of a state,
    and `angles` are the periods of the entries of a flattened state, infinite for one that is no angle. Angles of the
    states are reduced: they lie between minus half a period and half a period. `what` says where the states are, such
    as at maxima. `extent` is the range of each entry along the later half of the trajectory.
    """

    times: Float[np.ndarray, " crossings"]
    states: State
    directions: Float[np.ndarray, " crossings"]
    spacing: float
    complete: bool
    names: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    angles: Float[np.ndarray, " n"] = np.empty(0)
    what: str = "at a crossing"
    extent: Float[np.ndarray, " n"] = np.empty(0)

    __repr__ = one_line
    _repr_png_ = picture

    def plot(self, ax: Any = None, **options: Any) -> "Artists":
        """Draw two components of the crossings into axes.

        Args:
            ax: axes of matplotlib; without any, a figure is made; see `figures.plot`.
            options: those of `figures.plot`, of the part `points`; `colour`; `components`, two names or indices;
                `directions=False` for one colour; properties of the points.
        """
        return plot(self, ax, **options)

    def __str__(self) -> str:
        """Describe the number of crossings and their times in one line."""
        short = "" if self.complete else "; the run ended before all were found"
        when = f" from t = {self.times[0]:.6g} to {self.times[-1]:.6g}" if len(self.times) else ""
        return f"{counted(len(self.times), 'crossing')}{when}{short}"

    def return_map(self, coordinate: str | int | Callable[[State], Scalar]) -> ReturnMap:
        """Compute the return map of a coordinate: its values at each crossing and at the next in the same direction.

        Args:
            coordinate: name or index of a component, or a function of the state.

        Raises:
            ValueError: for an unknown component, or a function that does not return one number.
        """
        rows = flat_states(self.states) if len(self.times) else np.empty((0, 0))
        if isinstance(coordinate, str | int):
            names = self.names or tuple(f"x_{k + 1}" for k in range(rows.shape[1]))
            k = Components(names, self.units).place(coordinate, "coordinate")
            name, unit = names[k], self.units[k] if self.units else ""
            values = rows[:, k] if len(rows) else np.empty(0)
        else:
            states, name, unit = jax.tree.map(jnp.asarray, self.states), "coordinate", ""
            if len(self.times):
                check_number("coordinate", coordinate, jax.tree.map(lambda y: y[0], states))
            values = np.asarray(jax.vmap(coordinate)(states))
        ways = (values[self.directions == s] for s in (1, -1))
        pairs = np.concatenate([np.stack([found[:-1], found[1:]], axis=1) for found in ways])
        return ReturnMap(pairs, name, unit, self.what, float(np.max(np.abs(rows), initial=0.0)))

    def period(self) -> int:
        """Find the smallest number of crossings after which the state returns, up to errors; 0 if it does not."""
        if not len(self.times):
            return 0
        states = flat_states(self.states)
        if self.extent.shape != states.shape[1:]:
            return least_period(states, SETTLED * float(np.max(np.abs(states))), self.angles)
        units = np.where(self.extent > 0, self.extent, 1.0)
        return least_period(states / units, SETTLED, self.angles / units if self.angles.size else self.angles)


class Maxima(eqx.Module):
    """The surface of section at maxima in time of a component of the state, by name or index.

    Direction 1 takes the maxima, -1 the minima, and 0 both: the component's velocity changes sign there.
    """

    component: str | int = eqx.field(static=True)

    def place(self, flow: AbstractFlow, x: State) -> int:
        """Index of the component in the flat state."""
        return components(flow, x).place(self.component, "surface")


class Stroboscope(eqx.Module):
    """The surface of section at multiples of a period, for forced flows: a number, or a function of the flow.

    A function such as `lambda flow: 2 * jnp.pi / flow.omega` gives the period for each value of a parameter.
    """

    period: float | Callable[[AbstractFlow], Scalar]

    def of(self, flow: AbstractFlow) -> float:
        """The period of the forcing of a flow."""
        given = self.period(flow) if callable(self.period) else self.period
        return number("period", given if isinstance(given, float | int) else np.asarray(given))


Surface = Callable[[Time, State], Scalar] | Maxima | Stroboscope
"""A function of time and state that is zero on the surface, or the maxima of a component, or multiples of a period."""


class Crossing(NamedTuple):
    """A surface as a function for one flow, with the direction of crossings, and what is found there in words."""

    function: Callable[[Time, State], Scalar]
    direction: int
    what: str = "at a crossing"
    extent: Float[np.ndarray, " n"] = np.empty(0)

    __repr__ = one_line


def crossing_of(surface: Surface, flow: AbstractFlow, x: State, direction: int) -> Crossing:
    """Get the function of a surface for a flow."""
    if isinstance(surface, Maxima):
        what = {1: "at a maximum", -1: "at a minimum"}.get(direction, "at an extremum")
        return Crossing(_Falling(program_form(flow), surface.place(flow, x)), direction, what)
    if isinstance(surface, Stroboscope):
        return Crossing(_Clock(jnp.asarray(jnp.pi / surface.of(flow))), 0, "at a sample")
    check_number("surface", function("surface", surface, "time and state", 2), jnp.asarray(0.0), x)
    return Crossing(surface, direction)


class _Falling(eqx.Module):
    """The velocity of a component with the opposite sign, which rises through zero at a maximum."""

    flow: AbstractFlow
    place: int = eqx.field(static=True)

    def __call__(self, t: Time, x: State) -> Scalar:
        return -ravel_pytree(self.flow.vector_field(t, x))[0][self.place]


class _Clock(eqx.Module):
    """A function of time that is zero at multiples of pi divided by a rate."""

    rate: Array

    def __call__(self, t: Time, x: State) -> Scalar:
        return jnp.sin(self.rate * t)


def check_number(name: str, fn: Callable, *at: Any) -> None:
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
    surface: Surface,
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
        surface: a function of time and state in JAX, zero on the surface, such as `lambda t, x: x[2] - 27`;
            `Maxima("z")` for the maxima of a component; `Stroboscope(period)` for a forced flow.
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
    wanted, step = integer("count", count, least=1), number("spacing", spacing)
    end, turn = number("longest", longest), math.inf if modulo is None else number("modulo", modulo)
    if step < np.finfo(float).eps * end:
        raise ArgumentError("spacing", f"be longer than the rounding of times up to {end:g}", f"is {step:g}")
    if direction not in (-1, 0, 1):
        raise ArgumentError("direction", "be -1, 0 or 1", f"is {direction}")
    x, t = check_start("start", flow, start), 0.0
    crossed = crossing_of(surface, flow, x, direction)
    if transient:
        t = number("transient", transient)
        if not t < end:
            raise ArgumentError("longest", f"be longer than the transient, {t:g}", f"is {end:g}")
        x = after_transient(flow, x, t, end, integrator)
    found = section_from(flow, x, t, crossed.function, wanted, crossed.direction, step, end, integrator, turn)
    if not len(found.times):
        raise ArgumentError("surface", "be crossed by the trajectory", f"is not crossed up to t = {end:g}")
    ways = np.ones(len(found.times)) if isinstance(surface, Stroboscope) else found.directions
    return found._replace(what=crossed.what, directions=ways)


def section_from(
    flow: AbstractFlow, x: State, t: float, surface: Callable, wanted: int, direction: int, step: float, end: float,
    integrator: AbstractIntegrator, turn: float = math.inf,
) -> Section:  # fmt: skip
    """Compute the crossings of a surface, modulo `turn`, from a state at a time, possibly none."""
    quick = _is_quick(flow, x, end, integrator)
    samples = LONGER * SAMPLES if quick else SAMPLES
    times, states, signs, between = [np.empty(0)], [], [np.empty(0)], []
    found = 0
    while found < wanted and t < end:
        ends = np.array([t, t + samples * step])
        flow.check_horizon(*ends.tolist())
        path = _quick_path(flow, x, ends, integrator) if quick else dense_path(flow, x, ends, integrator)
        where, at, sign = _crossings(path, surface, np.linspace(t, t + samples * step, samples + 1), direction, turn)
        times.append(where)
        signs.append(sign)
        states.append(at)
        between.append(path.states_at((np.append(t, where[:-1]) + where) / 2 if len(where) else where))
        found += len(where)
        x, t = path(t + samples * step), t + samples * step
    join = lambda *parts: np.concatenate([np.asarray(part) for part in parts])[:wanted]
    joined, beside = jax.tree.map(join, *states), jax.tree.map(join, *between)
    late = [flat_states(part)[min(found, wanted) // 2 :] for part in (joined, beside)]
    extent = np.ptp(np.concatenate(late), axis=0) if found else np.zeros(late[0].shape[1])
    known, angles = components(flow, x), flat_state(flow.space.periods(x))
    return Section(
        np.concatenate(times)[:wanted], flow.space.reduced(joined), np.concatenate(signs)[:wanted], step,
        found >= wanted, known.names, known.units, angles, extent=extent,
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


def after_transient(flow: AbstractFlow, x: State, t: float, end: float, integrator: AbstractIntegrator) -> State:
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
