"""Simulation: `simulate` and `simulate_until` integrate flows, and `iterate` applies maps."""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from dynsim._core.host import on_host
from dynsim._core.placement import memory_explained, placed, step_numbers
from dynsim._core.printing import one_line
from dynsim._core.types import Key, State, TimesLike
from dynsim._core.validation import LONGEST, integer
from dynsim._runtime.progress import tracked, waiting
from dynsim.errors import ArgumentError, IntegrationError, Outcome, shown
from dynsim.integrators import AbstractIntegrator, Diffrax, Event, Stats, backwards
from dynsim.integrators.derivatives import check_not_traced, refusing_jumps
from dynsim.integrators.fixed_step.stochastic import chosen
from dynsim.integrators.sliding import STUCK, jumping, may_slide, slid, slid_until
from dynsim.integrators.time_structure import confirming
from dynsim.simulation.checks import (
    as_double,
    as_ordered,
    as_state,
    check_events,
    check_finite,
    check_flow,
    check_integrator,
    check_names,
    check_noise_forwards,
    check_start,
    shapes_explained,
    start_on,
    step_explained,
    times_like,
)
from dynsim.simulation.trajectory import Trajectory
from dynsim.systems.base import AbstractFlow, AbstractMap, in_precision_of
from dynsim.systems.named import components, listed
from dynsim.systems.noisy import NoisyFlow

CHATTERS = 2000  # steps after which it is looked whether a trajectory slides where a field jumps
HIDDEN = 100  # absolute tolerances, below which an error of a component is not seen to a hundredth of it
LOOKS = np.geomspace(1e-3, 0.99, 15)  # shares of a failed run at which its states are looked at
AGAIN = 20_000  # most steps of a failed run that is solved once more for that


class Stop(eqx.Module):
    """A trajectory up to an event: `path` ends at it, and `event` is its index, or -1 if none occurred.

    `events` are the indices of all events at this time, up to rounding, in their order; `event` is the first of them.
    """

    path: Trajectory
    event: int = eqx.field(static=True)
    events: tuple[int, ...] = eqx.field(static=True, default=())

    __repr__ = one_line

    def __str__(self) -> str:
        """Describe in a line which event ended the path."""
        return f"{f'Event {self.event} ended' if self.event >= 0 else 'No event in'}: {self.path}"


def simulate(
    flow: AbstractFlow,
    y0: State,
    ts: TimesLike,
    *,
    integrator: AbstractIntegrator | None = None,
    key: Key | None = None,
    throw: bool = True,
    error_estimate: bool = False,
    device: Any = None,
) -> Trajectory:
    """Integrate a flow from an initial state, and return its trajectory at the given times.

    Where the field points to a surface on which it jumps from both sides, as with dry friction, the trajectory slides
    on it by Filippov's convention, also along the intersection of two such surfaces.

    Args:
        flow: the system; `velocity` is evaluated at the projected point and made tangent.
        y0: the initial state, a point of the space (an array, nested sequences of numbers, or a named tuple of these);
            float32 stays float32, and parameters are cast to it.
        ts: times, in the flow's time unit; `ts[0]` is the time of `y0`. They increase, or decrease for a solution
            backwards in time, which a flow with noise does not have. Times that are traced must increase.
        integrator: `Diffrax()`, the default, or `Scipy()`. For a `NoisyFlow` a fixed-step scheme, by default
            `EulerMaruyama()` for Ito noise and `EulerHeun()` for Stratonovich noise.
        key: for a `NoisyFlow`, the random key of the Brownian path; the trajectory's integrator keeps it.
        throw: raise on failure; otherwise the states after it are NaN, and `stats.succeeded` is False.
        error_estimate: solve again with a tenth of the tolerance, in float64, and store the difference of every number
            in `stats.error`. Of a field that may depend on time, the second solution takes at least a thousand steps,
            so that it does not step over the same pulses; shorter ones that are not found by themselves need `breaks`
            of the flow, or `longest_step` of the integrator. Meaningless where both solutions share the error, for
            example in chaotic flows over long times.
        device: where it is solved: "cpu", "gpu", or a device of JAX. By default a small system is solved on the host's
            processor even if JAX has a GPU, and its states lie there; a large one, of about 2,000 numbers a step, on
            JAX's default device. A start that you put on a device is solved there. The environment variable
            DYNSIM_DEVICE overrules this.

    Raises:
        ValueError: for an initial state off the space, unsorted times, or a schedule shorter than the time span, and
            for a device that is not here or whose memory does not suffice.
        IntegrationError: if the final time is not reached, with the cause and what to try.

    Example:
        >>> import dynsim as ds
        >>> decay = ds.simulate(ds.FunctionFlow(lambda t, x: -x), [1.0], [0.0, 1.0])
        >>> round(float(decay.final[0]), 6)
        0.367879
    """
    with placed(_field_numbers(flow, y0), (flow, y0, integrator, key), device) as (here, y0, integrator, key):
        solver = chosen(flow, integrator, key)
        y0, times = _checked(here, y0, ts, solver)
        ys, stats = _simulated(solver, here, y0, times, throw, error_estimate)
    return Trajectory(times, ys, flow, stats, solver)


def _simulated(
    solver: AbstractIntegrator, flow: AbstractFlow, y0: State, times: Any, throw: bool, error_estimate: bool
) -> tuple[State, Stats]:
    with waiting("simulate"), shapes_explained(flow, "y0", y0, times), memory_explained("y0"):
        ys, stats, why = solved(solver, flow, y0, times)
        ys = refusing_jumps(flow, y0, times, ys)
        if throw and why:
            raise IntegrationError(why, outcome=Outcome(int(stats.outcome)), reached=float(stats.last_time))
        if throw:
            raise_if_failed(stats, times, functools.partial(_causes, flow, solver, times, stats, ys))
        if error_estimate:
            if not isinstance(flow, NoisyFlow):  # noise has another path in another precision
                y0, times = as_double((y0, times))
            stats = with_error(stats, ys, solved(confirming(solver, [flow], y0, times), flow, y0, times)[0])
    return ys, stats


def _field_numbers(flow: Any, y0: Any) -> Callable[[], int]:
    """A function that counts the numbers of a step of a flow from a start."""
    return lambda: step_numbers(lambda x: flow.vector_field(jnp.zeros(()), x), y0)


def solved(integrator: AbstractIntegrator, flow: AbstractFlow, y0: State, ts: Any) -> tuple[State, Stats, str]:
    """Solve; where steps become too small because the trajectory slides on a surface, by Filippov's convention.

    Give the states, statistics, and why it cannot be followed, or an empty text.
    """
    if backwards.decrease(ts):
        ys, stats, why = solved(integrator, backwards.Backwards(flow), y0, 0.0 - ts)
        return ys, backwards.forwards(stats), why
    first, rtol = with_few_steps(integrator, flow, y0), getattr(integrator, "rtol", None)
    ys, stats = first.integrate(flow, y0, ts)
    again = None if rtol is None else slid(flow, y0, ts, rtol, stats)
    if again is not None:
        return (ys, stats, again[2]) if again[2] else again
    if first is not integrator and int(stats.outcome) == Outcome.MAX_STEPS:
        ys, stats = integrator.integrate(flow, y0, ts)
    return ys, stats, ""


def with_few_steps(integrator: Any, flow: AbstractFlow, y0: State) -> Any:
    """The integrator with few steps for a field on whose surfaces it might chatter to no end; otherwise unchanged."""
    if getattr(integrator, "max_steps", 0) <= CHATTERS or not hasattr(integrator, "rtol") or not may_slide(flow, y0):
        return integrator
    return dataclasses.replace(integrator, max_steps=CHATTERS)


def with_error(stats: Stats, ys: State, finer: State) -> Stats:
    """Add an error estimate to statistics: the distance of every saved number from a more accurate solution."""

    def gap(xp: Any, a: Any, b: Any) -> Any:
        with np.errstate(all="ignore"):  # what is not finite stays so
            return xp.abs(a - b.astype(a.dtype))

    return eqx.tree_at(lambda s: s.error, stats, on_host(gap, ys, finer), is_leaf=lambda part: part is None)


def simulate_until(
    flow: AbstractFlow,
    y0: State,
    ts: TimesLike,
    events: Sequence[Event],
    *,
    integrator: AbstractIntegrator = Diffrax(),
    device: Any = None,
) -> Stop:
    """Integrate a flow up to the first of several events, or up to the final time.

    The path holds the times of `ts` before the event and then the event itself: the first float at which it has
    occurred, on the integrator's dense output. All events that occur at this time, up to rounding, are listed. `Event`
    describes what can be missed. A start on an event does not count, so that the end of one path can be the start of
    the next. Where the trajectory slides on a surface on which the field jumps, events are located on it, too.

    Args:
        flow: the system.
        y0: the initial state, a point of the space.
        ts: times, in the flow's time unit, increasing or decreasing; `ts[0]` is the time of `y0`.
        events: the events, each with its direction along the path: backwards in time, up is up as time runs back.
        integrator: `Diffrax()` or `Scipy()`.
        device: where it is solved, as for `simulate`.

    Raises:
        ValueError: as for `simulate`, and for an event that is not a real number, or not finite at the start.
        IntegrationError: if neither an event nor the final time is reached, with the cause and what to try.

    Example:
        >>> import dynsim as ds
        >>> import jax.numpy as jnp
        >>> clock = ds.FunctionFlow(lambda t, x: jnp.ones_like(x))
        >>> stop = ds.simulate_until(clock, [0.0], [0.0, 2.0], [ds.Event(lambda t, x: x[0] - 0.5)])
        >>> stop.event, round(float(stop.path.ts[-1]), 4)
        (0, 0.5)
    """
    check_events(events)
    if not events:
        raise ArgumentError("events", "hold at least one event", "is empty")
    must, but = "be left to `simulate` (or to `analysis.dynamics.final_state`)", "`simulate_until` runs outside of JAX"
    check_not_traced("events", must, but, flow, y0, ts)
    with placed(_field_numbers(flow, y0), (flow, y0, integrator), device) as (here, y0, integrator):
        return _located(flow, here, y0, ts, events, integrator)


def _located(
    given: AbstractFlow, flow: AbstractFlow, y0: State, ts: TimesLike, events: Sequence[Event],
    integrator: AbstractIntegrator,
) -> Stop:  # fmt: skip
    """Integrate up to the first event; the path keeps the flow that was given."""
    y0, times = _checked(flow, y0, ts, integrator)
    with waiting("simulate"), shapes_explained(flow, "y0", y0, times), memory_explained("y0"):
        first, rtol = with_few_steps(integrator, flow, y0), getattr(integrator, "rtol", None)
        ys, stats, t, y, fired = backwards.locate(first, flow, y0, times, events)
        stuck = rtol is not None and not backwards.decrease(times) and int(stats.outcome) in STUCK
        again = slid_until(flow, y0, times, events, rtol) if stuck else None
        if again is not None:
            ys, stats, t, y, fired = again
        elif first is not integrator and stats.outcome == Outcome.MAX_STEPS:
            if slid(*backwards.along(flow, y0, times), rtol, stats):
                raise IntegrationError(jumping(flow, y0), outcome=Outcome.MAX_STEPS)
            ys, stats, t, y, fired = backwards.locate(integrator, flow, y0, times, events)
    others = functools.partial(_causes, flow, integrator, times, stats, ys)
    raise_if_failed(stats, times, lambda: jumping(flow, y0, stats) or others())
    end = np.asarray(t, times.dtype)
    before = (np.asarray(times) > end) if backwards.decrease(times) else (np.asarray(times) < end)
    kept = int(np.sum(before)) if fired else len(times) - 1
    reached, ys = on_host(lambda xp, a, b: xp.concatenate([a[:kept], b[None]]), (times, ys), (end, y))
    return Stop(Trajectory(reached, ys, given, stats), fired[0] if fired else -1, fired)


def iterate(map: AbstractMap, x0: State, num_steps: int, *, every: int = 1, device: Any = None) -> Trajectory:
    """Apply a map repeatedly and return every `every`-th state; `ts` are step numbers, and the start is step 0.

    A map in JAX is scanned and works under `jit`, `vmap` and `grad`. A map on the host (`on_host`) is applied in a
    Python loop, in its own arithmetic.

    Args:
        map: the system.
        x0: the initial state, a point of the space.
        num_steps: number of steps.
        every: number of steps between two states that are returned.
        device: where a map in JAX is applied, as for `simulate`.

    Raises:
        ValueError: for an initial state that is not finite or that the map does not accept, or a complex step.

    Example:
        >>> import dynsim as ds
        >>> path = ds.iterate(ds.FunctionMap(lambda k, x: 4.0 * x * (1 - x)), [0.75], 3)
        >>> path.ys[:, 0].tolist()
        [0.75, 0.75, 0.75, 0.75]
    """
    if not isinstance(map, AbstractMap):
        raise ArgumentError("map", "be a map", f"is {shown(map)}")
    num_steps, every = integer("num_steps", num_steps, least=1), integer("every", every, least=1)
    if num_steps % every:
        raise ArgumentError("num_steps", f"be a positive multiple of `every` = {every}", f"is {num_steps}")
    if num_steps // every > LONGEST:
        raise ArgumentError("num_steps", f"be at most {LONGEST} times `every`, to keep the states", f"is {num_steps}")
    ts = np.arange(0, num_steps + 1, every)
    if map.on_host:
        return _looped(map, x0, ts, every)
    numbers = lambda: step_numbers(lambda x: map.step(jnp.asarray(0), x), x0)
    with placed(numbers, (map, x0), device) as (here, x0):
        x0 = as_state("x0", x0)
        check_finite("x0", x0)
        check_names(map, x0)
        with step_explained(map, x0), memory_explained("x0"):
            ys, defect, ok = _scanned(here, x0, num_steps // every, every)
        stats = map_stats(ok if isinstance(ok, Tracer) else bool(ok), num_steps, defect)
        return Trajectory(jnp.asarray(ts), ys, map, stats)


@eqx.filter_jit
def _scanned(map: AbstractMap, x0: State, saves: int, every: int) -> tuple[State, Any, Any]:
    """The states, the largest defect, and whether all are finite."""
    map = in_precision_of(x0, map)  # once, not in every step

    def inner(x: State, k: Any) -> tuple[State, None]:
        return map.image(k, x), None

    def outer(x: State, block: Any) -> tuple[State, State]:
        x, _ = jax.lax.scan(inner, x, block * every + jnp.arange(every))
        return x, x

    _, ys = jax.lax.scan(outer, x0, jnp.arange(saves))
    ys = jax.tree.map(lambda a, b: jnp.concatenate([a[None], b]), x0, ys)
    finite = [jnp.all(jnp.isfinite(y)) for y in jax.tree.leaves(ys)]
    return ys, jnp.max(jax.vmap(map.space.defect)(ys)), jnp.all(jnp.stack(finite))


def _looped(map: AbstractMap, x0: State, ts: np.ndarray, every: int) -> Trajectory:
    if isinstance(x0, list) or isinstance(x0, tuple) and not hasattr(x0, "_fields"):
        x0 = np.array(x0, dtype=object)  # fractions in writing, or floats, which the map checks
    x, kept = x0, [x0]
    for k in tracked(range(int(ts[-1])), int(ts[-1]), "iterate", unit="steps"):
        x = map.step(k, x)
        if (k + 1) % every == 0:
            kept.append(x)
    if isinstance(x, np.ndarray) and x.dtype == float:
        kept[0] = np.asarray(x0, float)
    return path_on_host(map, kept, ts)


def path_on_host(map: AbstractMap, kept: Sequence[State], ts: np.ndarray) -> Trajectory:
    """Trajectory of a map on the host from its states at the steps `ts`."""
    ys = jax.tree.map(lambda *parts: np.stack([np.asarray(p) for p in parts]), *kept)
    return Trajectory(jnp.asarray(ts), ys, map, map_stats(True, int(ts[-1]), jnp.zeros(())))


def map_stats(ok: Any, steps: int, defect: Any) -> Stats:
    """Statistics of a map that was applied `steps` times; `ok` says whether every state is finite."""
    ends = int(Outcome.FINISHED), int(Outcome.NON_FINITE)
    return Stats(
        succeeded=jnp.asarray(ok),
        outcome=jnp.where(ok, *ends) if isinstance(ok, Tracer) else jnp.asarray(ends[0 if ok else 1]),
        num_steps=jnp.asarray(steps),
        num_rejected=jnp.asarray(0),
        max_defect=defect,
        last_time=jnp.asarray(float(steps)),
    )


def raise_if_failed(stats: Stats, ts: Any, why: Callable[[], str] = str) -> None:
    """Raise `IntegrationError` if the last of `ts` was not reached; traced values cannot be checked.

    `why` gives a further sentence, or an empty one.
    """
    if not isinstance(stats.succeeded, Tracer) and not np.all(np.asarray(stats.succeeded)):
        said = " ".join(filter(None, (stats.since(float(ts[0])), why())))
        raise IntegrationError(said, outcome=Outcome(int(stats.outcome)), reached=float(stats.last_time))


def _causes(flow: AbstractFlow, integrator: AbstractIntegrator, ts: Any, stats: Stats, ys: State) -> str:
    """Say what may have caused a failure: a state in float32, or components below the absolute tolerance."""
    types = {leaf.dtype.name for leaf in jax.tree.leaves(ys)} - {"float64"}
    if types:
        return f"The state is in {types.pop()}, whose rounding may be the cause: try float64 or a larger `rtol`."
    return _below_tolerance(flow, integrator, ts, stats, ys)


def _below_tolerance(flow: AbstractFlow, integrator: AbstractIntegrator, ts: Any, stats: Stats, ys: State) -> str:
    """Say which components are below the absolute tolerance up to a failure, which then hides their errors.

    Where fewer than three states were saved before it, the same integrator solves once more up to it.
    """
    atol, rtol = getattr(integrator, "atol", None), getattr(integrator, "rtol", None)
    leaves = jax.tree.leaves(ys)
    if atol is None or rtol is None or any(isinstance(leaf, Tracer) for leaf in leaves):
        return ""
    where, begin, end = "At all saved times", float(ts[0]), float(stats.last_time)
    reached = np.abs(np.asarray(ts) - begin) <= abs(end - begin)
    if np.sum(reached) < 3 and begin != end and int(stats.num_steps) <= AGAIN:
        again = np.append(begin, begin + (end - begin) * LOOKS).astype(np.asarray(ts).dtype)
        ys, _ = backwards.integrate(integrator, flow, jax.tree.map(lambda leaf: leaf[0], ys), jnp.asarray(again))
        where, leaves = f"At {len(LOOKS)} times up to there", jax.tree.leaves(ys)
    rows = np.concatenate([np.asarray(leaf, float).reshape(len(leaf), -1) for leaf in leaves], axis=1)
    sizes = np.max(np.abs(rows), axis=0, where=np.isfinite(rows), initial=0.0)
    small = np.flatnonzero((sizes > 0) & (sizes < HIDDEN * float(atol)))
    if not small.size:
        return ""
    names = components(flow, jax.tree.map(lambda leaf: leaf[0], ys)).names
    seen = np.abs(rows[:, small])
    least = float(rtol) * float(np.min(seen, where=seen > 0, initial=float(atol)))
    return (
        f"{where} {listed([names[k] for k in small])} {'is' if len(small) == 1 else 'are'} near the "
        f"absolute tolerance, {float(atol):.2g}, or below it, so that the solver does not see their errors, which may "
        f"grow: give `atol` a smaller value, such as {least:.0e}."
    )


def _checked(flow: AbstractFlow, y0: State, ts: TimesLike, integrator: AbstractIntegrator) -> tuple[State, Any]:
    """Check start and times and return them as arrays of one dtype; raise `ValueError` on bad input."""
    check_flow(flow)
    check_integrator(integrator)
    given = as_state("y0", y0)  # within `jit` a list becomes a traced array
    if any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves((given, ts))):
        y0 = given
        return start_on(flow.space, y0), ts if isinstance(ts, Tracer) else times_like(as_ordered(ts), y0)
    times = as_ordered(ts)
    start = check_start("y0", flow, given)
    check_noise_forwards(flow, times)
    flow.check_horizon(*sorted((float(times[0]), float(times[-1]))))
    rounded = times_like(times, start)
    return start, jnp.asarray(rounded, rounded.dtype)  # a given dtype compiles nothing
