"""Integration by diffrax: compiled, differentiable, and safe under `vmap`."""

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import diffrax as dfx
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array

from dynsim._core.host import on_host, room_for
from dynsim._core.shared_functions import shared
from dynsim._core.types import State, Time, Times
from dynsim._core.validation import instance, integer, number
from dynsim.errors import ArgumentError, Outcome
from dynsim.integrators.base import (
    AbstractIntegrator,
    Coordinates,
    Event,
    StatesAt,
    Stats,
    check_longest_step,
    ended_by,
    least_rtol,
    masked,
    on_space,
    one_member,
    program_form,
    stacked,
    step_limit,
    unchanged,
)
from dynsim.integrators.derivatives import in_either_mode, in_forward_mode_only, is_traced, not_forwards
from dynsim.integrators.diffrax_wrappers import EVENT, Guarded, StopEarly, UpToEvent, is_implicit
from dynsim.integrators.events import (
    at_end,
    before_reset,
    check_begin,
    check_end,
    events_at,
    first_signs,
    signs,
)
from dynsim.integrators.explicit import by_entry
from dynsim.integrators.in_lanes import Ways, observe, ways
from dynsim.integrators.save_times import in_order, request, times_of
from dynsim.integrators.time_structure import breakpoints
from dynsim.systems.base import AbstractFlow, in_precision_of

DENSE_STEPS = 4096  # that there is room for at first in a dense output; four times as many whenever they do not suffice
DENSE_NUMBERS = 1_000_000  # in the states of these steps, above which there is room for fewer at first
FORWARDS = dfx.ForwardMode()
JUMPS = 64  # breakpoints that a program is compiled for, or a multiple


def _tolerance(name: str, value: Any) -> np.ndarray:
    if isinstance(value, Tracer):
        return value  # pyright: ignore[reportReturnType]
    return np.asarray(number(name, value))


class Diffrax(AbstractIntegrator):
    """An adaptive diffrax solver; the tolerances are arrays, so that a new value does not compile anew.

    `longest_step`, in the flow's time unit, replaces the flow's own cap, half of its fastest period, which is there so
    that no oscillation is stepped over; infinity leaves it to the error control alone.

    `adjoint` is diffrax's way to differentiate: by default `RecursiveCheckpointAdjoint()` for derivatives in reverse
    mode (`grad`, `jacrev`), and `ForwardMode()` for those in forward mode (`jvp`, `jacfwd`). A function compiled by
    `jit` inside of `jacfwd` needs `adjoint=diffrax.ForwardMode()`, because JAX does not say there which mode follows.

    A float32 state is solved to a relative tolerance of eight times its rounding error, 1e-6, at best. With an implicit
    solver only 1e-4 may be reached, because a stiff field multiplies the rounding errors of the state.
    """

    solver: dfx.AbstractAdaptiveSolver
    rtol: np.ndarray
    atol: np.ndarray
    max_steps: int = eqx.field(static=True)
    longest_step: float | None = eqx.field(static=True)
    adjoint: dfx.AbstractAdjoint | None

    def __init__(
        self,
        solver: dfx.AbstractAdaptiveSolver | None = None,
        rtol: Any = 1e-9,
        atol: Any = 1e-11,
        max_steps: int = 100_000,
        longest_step: float | None = None,
        adjoint: Any = None,
    ):
        """Store the solver (Tsit5 by default), the tolerances, the cap on steps and their length, and the adjoint."""
        kind = dfx.AbstractAdaptiveSolver
        self.solver = dfx.Tsit5() if solver is None else instance("solver", solver, kind, "an adaptive diffrax solver")
        self.rtol, self.atol = _tolerance("rtol", rtol), _tolerance("atol", atol)
        self.max_steps, self.longest_step = integer("max_steps", max_steps, least=1), check_longest_step(longest_step)
        what = dfx.AbstractAdjoint, "an adjoint of diffrax, such as `ForwardMode()`"
        self.adjoint = None if adjoint is None else instance("adjoint", adjoint, *what)

    @property
    def batched(self) -> bool:
        """Whether many starts can be solved together: yes."""
        return True

    def integrate(self, flow: AbstractFlow, y0: State, ts: Times) -> tuple[State, Stats]:
        """Solve for the states at `ts`, projected to the space, with statistics."""
        jumps, limit = _time_structure(self, flow, y0, ts)
        given = program_form(flow), y0, in_order(ts), _padded(jumps), limit
        return self._differentiable(_integrate, *given)

    def _differentiable(self, program: Callable[..., Any], *given: Any) -> Any:
        """Run a program with derivatives of the given adjoint, or by default in the mode that JAX asks for."""
        if isinstance(self.adjoint, dfx.ForwardMode):
            return in_forward_mode_only(program(self, *given))
        if self.adjoint is not None:
            must = "be left out, or be `diffrax.ForwardMode()`, for derivatives in forward mode"
            refusal = ArgumentError("adjoint", must, f"is {type(self.adjoint).__name__}")
            return not_forwards(program, refusal, self, *given)
        mode = lambda reverse: self if reverse else dataclasses.replace(self, adjoint=FORWARDS)
        return in_either_mode(lambda reverse, *given: program(mode(reverse), *given), *given)

    def dense(self, flow: AbstractFlow, y0: State, t0: float, t1: float) -> tuple[StatesAt, Stats]:
        """Solve with dense output: a function for the states at any time in between, and statistics."""
        ts = jnp.asarray([t0, t1], jax.tree.leaves(y0)[0].dtype)
        jumps, limit = _time_structure(self, flow, y0, ts)
        size = sum(leaf.size for leaf in jax.tree.leaves(y0))
        room = DENSE_STEPS
        while room > 256 and size * room > DENSE_NUMBERS:
            room //= 4
        while True:
            short = dataclasses.replace(self, max_steps=min(room, self.max_steps))
            path, stats = _dense(short, program_form(flow), y0, ts, _padded(jumps), limit)
            if room >= self.max_steps or int(stats.outcome) != Outcome.MAX_STEPS:
                return _StatesAt(_trimmed(path)), stats
            room *= 4

    def observe(
        self,
        flows: Sequence[AbstractFlow],
        y0s: State,
        ts: Times,
        fn: Callable[[Time, State], Any],
        *,
        coordinates: Coordinates = unchanged,
        lanes: Ways | str | None = None,
        events: Sequence[Event] = (),
    ) -> tuple[Any, State, Stats]:
        """Evaluate `fn(t, x)` at `ts` for each initial state in one compiled call, with final states and statistics.

        Each member ends at its first event. Explicit methods solve small systems in lanes: `lanes` is what the method
        of this name returned, if it was called before.
        """
        forms, given = [program_form(flow) for flow in flows], shared(tuple(events))
        if coordinates is unchanged and isinstance(found := lanes or self.lanes(flows, y0s, ts, given), Ways):
            return observe(found, self, forms, y0s, ts, fn, given)
        jumps, limit = self._structures(flows, one_member(y0s), ts)
        flow, axes = stacked(forms)
        if events:
            return _observe_until(self, flow, axes, y0s, in_order(ts), _padded(jumps), limit, fn, given)
        plain = self.adjoint is None and not is_traced(flows, y0s)  # which is faster without derivatives
        solver = dataclasses.replace(self, adjoint=FORWARDS) if plain else self
        given = flow, axes, y0s, in_order(ts), _padded(jumps), limit, fn, coordinates
        return solver._differentiable(_observe, *given)

    def _ways(self, flows: Sequence[AbstractFlow], y0: Any, ts: Times, events: Sequence[Event]) -> Ways | str:
        jumps, limit = self._structures(flows, y0, ts)
        longest = np.inf if limit is None else limit
        return ways(self.solver, program_form(flows[0]), y0, longest, shared(tuple(events)), _padded(jumps))

    def _structures(self, flows: Sequence[AbstractFlow], y0: Any, ts: Times) -> tuple[np.ndarray, Any]:
        """Get the breakpoints of all flows, and their least step limit."""
        times = [_time_structure(self, flow, y0, ts) for flow in flows]
        limits = [limit for _, limit in times if limit is not None]
        return np.unique(np.concatenate([jumps for jumps, _ in times])), min(limits) if limits else None

    def locate(
        self, flow: AbstractFlow, y0: State, ts: Times, events: Sequence[Event]
    ) -> tuple[State, Stats, float, State, tuple[int, ...]]:
        """Integrate up to the first event, bracketed on the dense output of each step."""
        jumps, limit = _time_structure(self, flow, y0, ts)
        given = shared(tuple(events))
        ys, stats, y, seen = _locate(self, program_form(flow), y0, in_order(ts), _padded(jumps), limit, given)
        velocity = seen[2]
        start, found = jax.device_get(seen[:2])
        check_begin(start)
        check_end(found)
        return ys, stats, float(found.end), y, events_at(given, flow.space, found, y, velocity)


class _StatesAt(eqx.Module):
    """The dense output of a solution at times in any order."""

    path: dfx.DenseInterpolation

    def __call__(self, ts: Times) -> State:
        return _interpolated(self.path, jnp.asarray(ts, self.path.ts.dtype))


def _time_structure(
    integrator: Diffrax, flow: AbstractFlow, y0: Any, ts: Times
) -> tuple[np.ndarray, np.ndarray | None]:
    """Get the breakpoints and the largest step of a flow; if `ts` is traced, breakpoints are not allowed."""
    longest = step_limit(integrator, flow)
    limit = None if math.isinf(longest) else np.asarray(longest)
    if isinstance(ts, Tracer):
        if breakpoints(flow, y0, 0.0, 1e3, 1).size:
            raise ArgumentError("ts", "not be traced for a flow whose field jumps", "is")
        return np.empty(0), limit
    times = np.asarray(ts)  # indexing on the device would be a call of its own
    return breakpoints(flow, y0, float(times[0]), float(times[-1])), limit


def _padded(jumps: np.ndarray) -> np.ndarray:
    """Pad breakpoints with infinities to a multiple of `JUMPS`, so that longer horizons reuse a compiled program."""
    return np.pad(jumps, (0, -len(jumps) % JUMPS), constant_values=np.inf) if len(jumps) else jumps


def _solve(
    integrator: Diffrax,
    flow: AbstractFlow,
    y0: State,
    ts: Array,
    jumps: Array,
    limit: Any,
    wrap: Callable[[dfx.AbstractSolver], dfx.AbstractSolver],
    **options: Any,
) -> Any:
    """Run diffrax with the guard, the early stop and the time structure of the flow."""
    rtol, atol, dtmax = jax.tree.map(lambda a: jnp.asarray(a, ts.dtype), (integrator.rtol, integrator.atol, limit))
    least = least_rtol(y0)
    rtol = jnp.maximum(rtol, least) if least else rtol
    control = dfx.PIDController(rtol=rtol, atol=atol, dtmax=dtmax)
    if jumps.shape[0]:
        control = dfx.ClipStepSizeController(control, jump_ts=jnp.asarray(jumps, ts.dtype))
    return dfx.diffeqsolve(
        dfx.ODETerm(in_precision_of(y0, flow).vector_field),  # pyright: ignore[reportArgumentType]  (cast once)
        wrap(integrator.solver),
        ts[0],
        ts[-1],
        None,
        y0,
        stepsize_controller=StopEarly(control),  # pyright: ignore[reportCallIssue]
        max_steps=integrator.max_steps,
        adjoint=integrator.adjoint or dfx.RecursiveCheckpointAdjoint(),
        throw=False,
        **options,
    )


def _guarded(integrator: Diffrax, ts: Array | None) -> Callable[..., dfx.AbstractSolver]:
    """The guard of a solver for the times at which states are wanted, or for any time."""
    between = ts is None or ts.shape[0] > 2
    reverse = not isinstance(integrator.adjoint, dfx.ForwardMode)
    return functools.partial(Guarded, reverse=reverse, sampled=between and is_implicit(integrator.solver))


def _stats(solution: Any, defect: Array) -> Stats:
    """Convert diffrax's result to `Stats`."""
    watch = solution.controller_state
    succeeded = (solution.result == dfx.RESULTS.successful) | (solution.result == EVENT)
    spent = solution.result == dfx.RESULTS.max_steps_reached
    early = solution.result == dfx.RESULTS.dt_min_reached
    failure = jnp.where(watch.finite, int(Outcome.STEP_UNDERFLOW), int(Outcome.NON_FINITE))
    failure = jnp.where(early, failure, jnp.where(spent, int(Outcome.MAX_STEPS), int(Outcome.IMPLICIT_SOLVER)))
    stats = solution.stats
    return Stats(
        succeeded=succeeded,
        outcome=jnp.where(succeeded, int(Outcome.FINISHED), failure),
        num_steps=stats["num_steps"],
        num_rejected=stats["num_rejected_steps"],
        max_defect=defect,
        last_time=watch.time,
    )


def _begun(values: Any, first: Any) -> Any:
    """Set the first saved value, which diffrax leaves out if no step was accepted."""
    return jax.tree.map(lambda v, a: v.at[0].set(a), values, first)


@eqx.filter_jit
def _integrate(integrator, flow, y0, saved, jumps, limit):
    ts = times_of(saved)
    save = dfx.SaveAt(subs=request(saved), controller_state=True)
    solution = _solve(integrator, flow, y0, ts, jumps, limit, _guarded(integrator, ts), saveat=save)
    ys, defect = on_space(flow.space, _begun(solution.ys, y0))
    stats = _stats(solution, defect)
    return masked(ys, ts, stats), stats


@eqx.filter_jit
def _observe(integrator, flow, axes, y0s, saved, jumps, limit, fn, coordinates):
    ts = times_of(saved)
    forwards = isinstance(integrator.adjoint, dfx.ForwardMode)
    wrap = lambda solver: _guarded(integrator, ts)(by_entry(solver) if forwards else solver)

    def one(flow, y0):
        form, z0, back = coordinates(flow, y0)
        state = lambda z: back(form.space.project(z))
        seen = request(saved, fn=lambda t, z, args: fn(t, state(z)))
        last = dfx.SubSaveAt(t1=True)
        save = dfx.SaveAt(subs=(seen, last), controller_state=True)
        solution = _solve(integrator, form, z0, ts, jumps, limit, wrap, saveat=save)
        values, final = solution.ys
        values = _begun(values, fn(ts[0], y0))
        final = jax.tree.map(lambda z: z[0], final)
        stats = _stats(solution, form.space.defect(final))
        final = jax.tree.map(lambda y: jnp.where(stats.succeeded, y, jnp.nan), state(final))
        return masked(values, ts, stats), final, stats

    return eqx.filter_vmap(one, in_axes=(axes, 0))(flow, y0s)


@eqx.filter_jit
def _locate(integrator, flow, y0, saved, jumps, limit, events):
    ys, stats, y, seen = _until(integrator, flow, y0, saved, jumps, limit, events)
    ys, defect = on_space(flow.space, ys)
    return ys, dataclasses.replace(stats, max_defect=defect), flow.space.project(y), seen


def _until(integrator, flow, y0, saved, jumps, limit, events, fn=None):
    """Solve up to the first event.

    Return saved states, or their `fn`, statistics, the ambient state there, the events' values at the start, the
    bracket of the event, and the velocity there.
    """
    ts = times_of(saved)
    velocities = (flow.vector_field(ts[0], y) for y in (y0, before_reset(events, y0)))
    start, sides, quiet = first_signs(events, flow.space, ts[0], y0, *velocities)
    options = {} if fn is None else {"fn": lambda t, y, args: fn(t, flow.space.project(y))}
    save = dfx.SaveAt(subs=request(saved, **options), controller_state=True, solver_state=True)
    wrap = lambda solver: UpToEvent(solver, events, flow.space, sides, quiet)
    solution = _solve(integrator, flow, y0, ts, jumps, limit, wrap, saveat=save)
    _, found, y = solution.solver_state
    velocity = flow.vector_field(found.end, y)
    found = at_end(events, found, *signs(events, flow.space, found.end, y, velocity))
    values = _begun(solution.ys, y0 if fn is None else fn(ts[0], y0))
    if fn is None:
        values = jax.tree.map(lambda v: jax.vmap(jnp.where, (0, 0, None))(ts <= found.end, v, jnp.nan), values)
    stats = dataclasses.replace(_stats(solution, flow.space.defect(y)), last_time=found.end)
    return values, stats, y, (start, found, velocity)


@eqx.filter_jit
def _observe_until(integrator, flow, axes, y0s, saved, jumps, limit, fn, events):
    def one(flow, y0):
        values, stats, y, (first, found, _) = _until(integrator, flow, y0, saved, jumps, limit, events, fn)
        ts = times_of(saved)
        failed = (found.event >= 0) & jnp.isnan(found.value)
        outcome = jnp.where(failed, int(Outcome.NON_FINITE), stats.outcome)
        stats = dataclasses.replace(stats, succeeded=stats.succeeded & ~failed, outcome=outcome)
        stats = ended_by(stats, found.event, jnp.all(jnp.isfinite(first)), ts[0])
        final = jax.tree.map(lambda y: jnp.where(stats.succeeded, y, jnp.nan), flow.space.project(y))
        return masked(values, ts, stats), final, stats

    return eqx.filter_vmap(one, in_axes=(axes, 0))(flow, y0s)


@eqx.filter_jit
def _dense(integrator, flow, y0, ts, jumps, limit):
    save = dfx.SaveAt(dense=True, controller_state=True)
    wrap = _guarded(integrator, None)
    solution = _solve(integrator, flow, y0, ts, jumps, limit, wrap, saveat=save)
    path = solution.interpolation
    return path, _stats(solution, flow.space.defect(path.evaluate(path.t1)))


def _trimmed(path: dfx.DenseInterpolation) -> dfx.DenseInterpolation:
    """Trim a dense output to the next power of two above its number of steps, so that few programs are compiled."""
    room = room_for(int(path.ts_size), least=64)
    fields = (on_host(lambda xp, ts: ts[: room + 1], path.ts), on_host(lambda xp, info: info[:room], path.infos))
    return eqx.tree_at(lambda p: (p.ts, p.infos), path, fields)


@eqx.filter_jit
def _interpolated(path: dfx.DenseInterpolation, ts: Array) -> State:
    return jax.vmap(path.evaluate)(ts)
