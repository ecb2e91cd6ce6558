"""Solve the members of an ensemble in lanes: what JAX or a kernel returns, as values, final states and statistics."""

import contextlib
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from dynsim._core.placement import current
from dynsim._core.shared_functions import shared
from dynsim._core.types import State, Time, Times
from dynsim.errors import Outcome
from dynsim.integrators.base import Event, Stats, ended_by, least_rtol, masked, program_form, stacked
from dynsim.integrators.events import at_end, before_reset, first_signs, values_at
from dynsim.integrators.events import signs as signs_at
from dynsim.integrators.lanes import kernel, plain
from dynsim.integrators.lanes.brackets import untouched
from dynsim.integrators.lanes.method import DONE, SPENT, Settings, suits
from dynsim.integrators.lanes.recorded import FlowForm, Recorded, System, form_of, in_type, recorded
from dynsim.integrators.lanes.rosenbrock import DIRECT, Rodas5P
from dynsim.kernels import kernels_on
from dynsim.programs import Program, ProgramError
from dynsim.systems.base import AbstractFlow

LARGEST = 20
"""Most entries of a state for lanes in JAX; of larger ones, members that share a loop of stages are as fast."""


class EventWatch(eqx.Module):
    """The events that end members, as lanes look for them."""

    events: tuple[Event, ...]

    @property
    def directions(self) -> tuple[int, ...]:
        """The direction of each event."""
        return tuple(event.direction for event in self.events)

    @property
    def samples(self) -> int:
        """Number of samples of each step."""
        return max(event.samples for event in self.events)

    def values(self, flow: AbstractFlow, t: Time, y: State) -> Array:
        """Compute the values of the events (events,) at an ambient state."""
        return values_at(self.events, flow.space, t, y)


class Ways(eqx.Module):
    """How the members of an ensemble are solved in lanes: in JAX, or by a kernel from the recorded steps.

    `solver` is a solver of diffrax, or the `Rule` of steps whose number is known.
    """

    solver: Any = eqx.field(static=True)
    form: FlowForm = eqx.field(static=True)
    programs: Recorded | Program | None = eqx.field(static=True)
    longest: np.ndarray
    jumps: np.ndarray

    def __repr__(self) -> str:
        """Say in a line how the members are solved."""
        return f"in lanes, {'in JAX' if self.programs is None else 'by a kernel'}"


def ways(
    solver: Any, flow: AbstractFlow, y0: Any, longest: Any = np.inf, events: Sequence[Event] = (),
    jumps: np.ndarray = np.empty(0),
) -> Ways | str:  # fmt: skip
    """Find out how members of a flow can be solved in lanes, or say why not.

    Args:
        solver: a solver of diffrax.
        flow: the flow, or one of several that differ in numbers only.
        y0: shapes and types of a state.
        longest: the longest step.
        events: the events that end a member.
        jumps: times at which the field jumps, padded with infinities so that few programs are compiled.
    """
    if not suits(solver):
        return f"{type(solver).__name__} is no explicit Runge-Kutta method with one tableau"
    size = sum(math.prod(leaf.shape) for leaf in jax.tree.leaves(y0))
    if isinstance(solver, Rodas5P) and size > DIRECT:
        return f"a state has {size:,} entries, more than {DIRECT} for Rodas5P"
    watch = EventWatch(tuple(events)) if events else None

    def kernels(form: FlowForm) -> Recorded:
        programs = recorded(solver, form, bool(jumps.size))
        kernel.kernel(programs, (False,) * form.numbers)
        return programs

    found = known_form(y0, lambda: form_of(flow, y0, watch), kernels)
    if isinstance(found, str):
        return found
    return Ways(solver, *found, np.asarray(longest), np.asarray(jumps, found[0].dtype))


def known_form(
    y0: Any, form_of: Callable[[], FlowForm | str], kernels: Callable[[FlowForm], Any]
) -> tuple[FlowForm, Any] | str:
    """The form of a system and what is recorded for its kernel, None without one; or say why lanes do not serve.

    Args:
        y0: shapes and types of a state.
        form_of: finds the form.
        kernels: records the steps for a kernel, and raises `ProgramError` if it cannot be made of them.
    """
    size = sum(math.prod(leaf.shape) for leaf in jax.tree.leaves(y0))
    if size > max(LARGEST, kernel.LARGEST):
        return f"a state has {size:,} entries, more than {LARGEST}"
    form, programs = form_of(), None
    if isinstance(form, str):
        return form
    if current().platform == "gpu" and kernels_on():
        with contextlib.suppress(ProgramError):
            programs = kernels(form)
    if size > LARGEST and programs is None:
        return f"a state has {size:,} entries, more than {LARGEST}"
    return form, programs


def observe(
    ways: Ways,
    integrator: Any,
    flows: Sequence[AbstractFlow],
    y0s: State,
    ts: Times,
    fn: Callable[[Time, State], Any],
    events: Sequence[Event] = (),
) -> tuple[Any, State, Stats]:
    """Evaluate `fn(t, x)` at `ts` for each member, as `AbstractIntegrator.observe` does, up to its first event."""
    watch = EventWatch(tuple(events)) if events else None
    system, axes = stacked([System(flow, watch) for flow in flows])
    settings = (integrator.rtol, integrator.atol, ways.longest, np.int32(integrator.max_steps))
    return _observed(ways, system, axes, y0s, jnp.asarray(ts), settings, fn)


@eqx.filter_jit
def _observed(ways, system, axes, y0s, ts, given, fn):
    form, watch = ways.form, system.watch
    begins = jnp.broadcast_to(jnp.asarray(ts[0], form.dtype), jax.tree.leaves(y0s)[0].shape[:1])
    first, quiet, found = _solved(ways, system, axes, y0s, begins, ts[1:], given)

    def one(system, y0, saved, final, last, counts, first, sides, quiet):
        space = system.flow.space
        seen = jax.vmap(lambda t, y: fn(t, space.project(form.restored(y))))(ts[1:], saved)
        values = jax.tree.map(lambda a, b: jnp.concatenate([jnp.asarray(a, b.dtype)[None], b]), fn(ts[0], y0), seen)
        ambient = form.restored(final)
        stats = _stats(counts, last, space.defect(ambient))
        if watch is not None:
            stats = _with_event(system, stats, counts[4], begins[0], last, ambient, first, sides, quiet)
        final = jax.tree.map(lambda y: jnp.where(stats.succeeded, y, jnp.nan), space.project(ambient))
        return masked(values, ts, stats), final, stats

    each = (axes, 0, 2, 1, 0, 1, 1, 1, 1)
    return eqx.filter_vmap(one, in_axes=each)(system, y0s, *found[:4], first, found.sides, quiet)


def _solved(ways, system, axes, y0s, begins, times, given):
    """Solve from the times `begins`; also the events' values there, and the times until which rounding decides."""
    form = ways.form
    members = begins.shape[0]
    starts = jnp.concatenate([leaf.reshape(members, -1) for leaf in jax.tree.leaves(y0s)], axis=1).T
    rtol, atol, longest, max_steps = given
    real = lambda a: jnp.asarray(a, form.dtype)
    rtol = jnp.maximum(real(rtol), least_rtol(y0s))
    settings = Settings(begins, real(times[-1]), rtol, real(atol), real(longest), max_steps)
    jumps = jnp.asarray(ways.jumps)
    first, signs = jnp.zeros((0, members)), (jnp.zeros((0, members), form.dtype),) * 2
    if system.watch is not None:
        begin = functools.partial(_first_signs, form.dtype)
        first, *signs = eqx.filter_vmap(begin, in_axes=(axes, 0, 0), out_axes=-1)(system, begins, y0s)
    if ways.programs is None:
        found = plain.solved(ways.solver, form, system, axes, starts, settings, real(times), tuple(signs), jumps)
    else:
        numbers = numbers_of(system, axes, form.dtype)
        found = kernel.solved(ways.programs, starts, settings, numbers, real(times), tuple(signs), jumps)
    return first, signs[1], found


def crossings(
    ways: Ways,
    integrator: Any,
    flows: Sequence[AbstractFlow],
    y0s: State,
    begin: float,
    end: float,
    fn: Callable[[Time, State], Any],
    events: Sequence[Event],
    count: int,
) -> Any:
    """Evaluate `fn(t, x)` at the first `count` occurrences of each member's event, (members, count, ...).

    Events may differ in numbers, such as the parameters of a flow. Each member restarts at its event, so that no member
    waits for its time. NaN after the last occurrence before `end`.
    """
    each = zip(flows, events, strict=True)
    system, axes = stacked([System(program_form(flow), EventWatch(shared((event,)))) for flow, event in each])
    settings = (integrator.rtol, integrator.atol, ways.longest, np.int32(integrator.max_steps))
    return _crossings(ways, system, axes, y0s, jnp.asarray(begin), jnp.asarray(end), settings, fn, count)


@eqx.filter_jit
def _crossings(ways, system, axes, y0s, begin, end, given, fn, count):
    form = ways.form
    end = jnp.asarray(end, form.dtype)

    def one(system, y, final, last, counts, first):
        hit = (counts[4] >= 0) & (counts[3] == DONE) & jnp.all(jnp.isfinite(first))
        new = system.flow.space.project(form.restored(final))
        value = jax.tree.map(lambda a: jnp.where(hit, a, jnp.nan), fn(last, new))
        return jax.tree.map(lambda a, b: jnp.where(hit, a, b), new, y), jnp.where(hit, last, end), value

    def onwards(carry: Any, _: Any) -> Any:
        y0s, begins = carry
        first, _, found = _solved(ways, system, axes, y0s, begins, end[None], given)
        each = (axes, 0, 1, 0, 1, 1)
        y0s, begins, values = eqx.filter_vmap(one, in_axes=each)(system, y0s, *found[1:4], first)
        return (y0s, begins), values

    members = jax.tree.leaves(y0s)[0].shape[:1]
    begins = jnp.broadcast_to(jnp.asarray(begin, form.dtype), members)
    _, values = jax.lax.scan(onwards, (y0s, begins), None, count)
    return jax.tree.map(lambda a: jnp.moveaxis(a, 0, 1), values)


ROOM = 64
"""Most blocks of intervals of one call of a compiled program, which serves any number of them."""


def restarted(
    ways: Ways,
    integrator: Any,
    flows: Sequence[AbstractFlow],
    y0s: State,
    begin: float,
    interval: float,
    blocks: int,
    each: int,
    between: Callable[[AbstractFlow, State], tuple[State, Any]],
) -> tuple[Any, State, Array]:
    """Solve over equal intervals; after each, `between(flow, x)` gives the state to go on from, and values to add up.

    Returns:
        Sums of the values over `each` intervals, shape (members, blocks, ...), NaN where a member has failed; the last
        states; and whether each member has reached the end.
    """
    system, axes = stacked([System(program_form(flow)) for flow in flows])
    settings = (integrator.rtol, integrator.atol, ways.longest, np.int32(integrator.max_steps))
    carry, found = (y0s, jnp.ones(jax.tree.leaves(y0s)[0].shape[0], bool)), []
    for done in range(0, blocks, ROOM):
        some = min(ROOM, blocks - done)
        times = (begin, interval, done, some, each)
        sums, carry = _restarted(ways, system, axes, carry, tuple(map(jnp.asarray, times)), settings, between)
        found.append(jax.tree.map(lambda a, some=some: np.asarray(a)[:some], sums))
    joined = jax.tree.map(lambda *parts: np.moveaxis(np.concatenate(parts), 0, 1), *found)
    y0s, whole = carry
    return joined, y0s, whole


@eqx.filter_jit
def _restarted(ways, system, axes, carry, times, given, between):
    begin, interval, first, blocks, each = times
    form = ways.form
    real = lambda a: jnp.asarray(a, form.dtype)
    members = jax.tree.leaves(carry[0])[0].shape[0]

    def one(system, y, final, status):
        done = status == DONE
        new, value = between(system.flow, form.restored(final))
        keep = lambda a, b: jnp.where(done, a, b)
        return jax.tree.map(keep, new, y), jax.tree.map(lambda a: keep(a, jnp.nan), value), done

    def once(carry: Any, k: Any) -> Any:
        y0s, whole = carry
        times = real(begin) + real(interval) * (k + jnp.arange(2)).astype(form.dtype)
        _, _, found = _solved(ways, system, axes, y0s, jnp.broadcast_to(times[0], (members,)), times[1:], given)
        y0s, values, done = eqx.filter_vmap(one, in_axes=(axes, 0, 1, 0))(system, y0s, found.final, found.counts[3])
        return (y0s, whole & done), values

    nothing = jax.tree.map(lambda a: jnp.zeros(a.shape, a.dtype), jax.eval_shape(once, carry, first)[1])

    def block(k: Any, seen: Any) -> Any:
        carry, kept = seen
        more = lambda j, seen: _added(seen[1], once(seen[0], (first + k) * each + j))
        carry, sums = jax.lax.fori_loop(0, each, more, (carry, nothing))
        return carry, jax.tree.map(lambda a, b: a.at[k].set(b), kept, sums)

    room = jax.tree.map(lambda a: jnp.zeros((ROOM, *a.shape), a.dtype), nothing)
    carry, sums = jax.lax.fori_loop(0, blocks, block, (carry, room))
    return sums, carry


def _added(sums: Any, found: tuple[Any, Any]) -> tuple[Any, Any]:
    carry, values = found
    return carry, jax.tree.map(jnp.add, sums, values)


def _first_signs(dtype: np.dtype, system: System, t: Array, y: State) -> tuple[Array, Array, Array]:
    """Values and signs of the events at a start, and the times until which rounding decides."""
    flow, events = system.flow, system.watch.events
    velocities = (flow.vector_field(t, x) for x in (y, before_reset(events, y)))
    value, sides, quiet = first_signs(events, flow.space, t, y, *velocities)
    return value, sides.astype(dtype), quiet.astype(dtype)


def _with_event(system, stats, event, begin, last, y, first, sides, quiet):
    """Add the index of the event that ended a member; one that is zero at the end of the run counts."""
    flow, events = system.flow, system.watch.events
    found = untouched(last, last, sides.astype(first.dtype), quiet)._replace(event=event.astype(int))
    found = at_end(events, found, *signs_at(events, flow.space, last, y, flow.vector_field(last, y)))
    return ended_by(stats, found.event, jnp.all(jnp.isfinite(first)), begin)


def numbers_of(system: System, axes: Any, dtype: np.dtype) -> list[Array]:
    """List the entries of a system's arrays: a column for those that each member has for itself, otherwise a number."""
    arrays = eqx.filter(system, eqx.is_array)
    found, leaves = [], jax.tree.leaves(arrays)
    for leaf, axis in zip(leaves, jax.tree.structure(arrays).flatten_up_to(axes), strict=True):
        leaf = leaf.astype(in_type(leaf.dtype, dtype))
        entries = leaf.reshape(-1) if axis is None else leaf.reshape(leaf.shape[0], -1).T
        found += [entries[k] for k in range(entries.shape[0])]
    return found


def _stats(counts: Array, last: Array, defect: Array) -> Stats:
    """Convert the counts of a lane."""
    steps, rejected, finite, status = counts[:4]
    failure = jnp.where(finite > 0, int(Outcome.STEP_UNDERFLOW), int(Outcome.NON_FINITE))
    failure = jnp.where(status == SPENT, int(Outcome.MAX_STEPS), failure)
    succeeded = status == DONE
    return Stats(
        succeeded=succeeded,
        outcome=jnp.where(succeeded, int(Outcome.FINISHED), failure),
        num_steps=steps.astype(int),
        num_rejected=rejected.astype(int),
        max_defect=defect,
        last_time=last,
    )
