"""Hybrid systems: flows interrupted by transitions that reset the state and may change flow and dimension."""

import dataclasses
import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from dynsim._core.host import on_host
from dynsim._core.placement import on_host_by_default
from dynsim._core.types import State, TimesLike
from dynsim._core.validation import function, integer
from dynsim.errors import ArgumentError, shown
from dynsim.integrators import AbstractIntegrator, Diffrax, Event
from dynsim.integrators.derivatives import check_not_traced
from dynsim.integrators.events import AfterReset
from dynsim.integrators.time_structure import confirming
from dynsim.simulation.checks import (
    as_double,
    as_state,
    as_times,
    check_events,
    check_flow,
    check_integrator,
    times_like,
)
from dynsim.simulation.guards import (
    SHORTEST,
    Sides,
    holds,
    index_of,
    leaves_zero,
    moved_back,
    returns_within_noise,
    rounding_of,
    stays_on_zero,
)
from dynsim.simulation.hybrid_trajectory import AbstractRecipe, Ending, HybridTrajectory, Jump
from dynsim.simulation.simulate import Stop, simulate, simulate_until, with_error
from dynsim.simulation.trajectory import Trajectory
from dynsim.systems.base import AbstractFlow

DECAY = 1000  # the intervals between accumulating transitions must have shrunk by this factor


REST = 2**18  # largest time, in rounding errors, from the last transition to the limit of accumulating ones


TURNS = 50  # occurrences of one transition at one time from which on a run ends: chattering, and no chain of collisions


def is_at_once(length: float, rounding: float) -> bool:
    """Whether a phase is too short for the resolution of its times."""
    return length <= SHORTEST * rounding


def accumulate(ends: np.ndarray, rounding: float) -> bool:
    """Whether the times of a transition have converged to their limit, up to rounding.

    Over the last `count` intervals their length has halved, so the following ones together take `count / log(2)` times
    the last one. Each interval is off by the rounding error of the time, which is as far as they can shrink.
    """
    gaps = np.diff(ends)
    grown = np.flatnonzero(np.diff(gaps) > SHORTEST * rounding)
    gaps = gaps[grown[-1] + 1 :] if grown.size else gaps
    if len(gaps) < 2 or gaps[0] < DECAY * gaps[-1]:
        return False
    before = int(np.flatnonzero(gaps >= 2 * gaps[-1])[-1])
    count = len(gaps) - 1 - before
    slow = gaps[before] - gaps[-1] <= count * SHORTEST * rounding
    return bool(slow and gaps[-1] * count / math.log(2) <= REST * rounding)


Reset = Callable[[AbstractFlow, float, State], tuple[AbstractFlow, State]]
"""The effect of a transition: maps flow, time and state before it to the flow and the state after it."""


class Transition(eqx.Module):
    """A transition of a hybrid system: `guard` determines when it occurs, and `reset` what it does.

    It occurs where the guard's function crosses zero in its direction, along the flow or by the reset of another
    transition, and at the start of a run if the function is zero there, up to rounding, and about to move in that
    direction: a ball that is thrown down from the floor bounces. If `immediate`, it also occurs at the start of a
    phase, once the dwell time is over, if the function already has the sign that it takes after a crossing
    (positive for a guard without direction). If `terminal`, the run ends after it.
    """

    name: str = eqx.field(static=True)
    guard: Event
    reset: Reset
    immediate: bool = eqx.field(static=True, default=False)
    terminal: bool = eqx.field(static=True, default=False)

    def __check_init__(self):
        if not isinstance(self.name, str) or not self.name:
            raise ArgumentError("name", "be a word", f"is {shown(self.name)}")
        if not isinstance(self.guard, Event):
            raise ArgumentError("guard", "be an `Event`", f"is {shown(self.guard)}")
        function("reset", self.reset, "(flow, t, x)", 3)


class _Crossing(Transition):
    """A transition that occurs where its guard crosses zero, and never at the start of a run."""


def unchanged(flow: AbstractFlow, t: float, x: State) -> tuple[AbstractFlow, State]:
    """The identity reset, for a transition that only records its times."""
    del t
    return flow, x


class HybridRecipe(AbstractRecipe):
    """The arguments of `simulate_hybrid`."""

    flow: AbstractFlow
    start: State
    ts: np.ndarray
    transitions: Any
    dwell: float = eqx.field(static=True)
    max_transitions: int = eqx.field(static=True)
    integrator: AbstractIntegrator

    def again(self) -> HybridTrajectory:
        """Integrate again."""
        return simulate_hybrid(
            self.flow,
            self.start,
            self.ts,
            self.transitions,
            dwell=self.dwell,
            max_transitions=self.max_transitions,
            integrator=self.integrator,
        )


@on_host_by_default
def simulate_hybrid(
    flow: AbstractFlow,
    y0: State,
    ts: TimesLike,
    transitions: Sequence[Transition] | Callable[[AbstractFlow], Sequence[Transition]],
    *,
    dwell: float = 0.0,
    max_transitions: int = 1000,
    integrator: AbstractIntegrator = Diffrax(),
    error_estimate: bool = False,
) -> HybridTrajectory:
    """Integrate a hybrid system: a flow up to a transition, then the flow and state after it, and so on.

    If a transition recurs immediately after its reset, the run ends and reports it in `ending`: transitions accumulate
    there (Zeno behaviour), or the state comes to rest on the guard. Without a `dwell` time the run also ends where the
    intervals between transitions have shrunk geometrically down to the rounding error of the time.

    Args:
        flow: the flow of the first phase.
        y0: the initial state, a point of the space of the flow.
        ts: increasing times at which states are saved; the run ends at the last one.
        transitions: the transitions of every phase, or a function that returns those of a phase from its flow.
            Transitions at one time, up to rounding, all occur, in the order given and each once, as long as they belong
            to the phase that the previous ones lead to and their guards have not been moved back by the resets. One
            whose guard a reset moves across zero, in the guard's direction, occurs at this time, too, and so does one
            whose guard is zero and that a reset sets moving in this direction, as balls in contact collide.
        dwell: the shortest time between two transitions; guards are ignored until it is over. With it, only the first
            of several transitions at one time occurs.
        max_transitions: limit on the number of transitions; a run that reaches it ends and reports it in `ending`.
        integrator: solves every phase.
        error_estimate: solve again with a tenth of the tolerance, in float64, and store the difference in `stats.error`
            of every phase, and that of the times in `time_error` of every jump. Both are infinite if the two runs do
            not have the same transitions between the same times of `ts`.

    Raises:
        ValueError: as for `simulate_until`, and for a reset that does not return a flow and a state.
        IntegrationError: if a phase is not integrated to its end, with the cause and what to try.

    Example:
        >>> import dynsim as ds
        >>> import jax.numpy as jnp
        >>> clock = ds.FunctionFlow(lambda t, x: jnp.ones_like(x))
        >>> alarm = ds.Transition("alarm", ds.Event(lambda t, x: x[0] - 1.0), lambda flow, t, x: (flow, 0 * x))
        >>> run = ds.simulate_hybrid(clock, [0.0], [0.0, 2.5], [alarm])
        >>> [round(jump.time, 4) for jump in run.jumps], round(float(run.phases[-1].final[0]), 4)
        ([1.0, 2.0], 0.5)
    """
    check_flow(flow)
    check_integrator(integrator)
    must, but = "be left to `analysis.dynamics.final_state`", "`simulate_hybrid` runs outside of JAX"
    check_not_traced("transitions", must, but, flow, y0, ts)
    if error_estimate:
        options = {"dwell": dwell, "max_transitions": max_transitions}
        y = as_state("y0", y0)
        starts, methods = (y, as_double(y)), (integrator, confirming(integrator, [flow], y, as_times(ts)))
        return _estimated(
            *(
                simulate_hybrid(flow, start, ts, transitions, integrator=method, **options)
                for start, method in zip(starts, methods, strict=True)
            )
        )
    y = as_state("y0", y0)
    times = times_like(as_times(ts), y)
    known = _rules(transitions)
    if not (isinstance(dwell, int | float) and 0 <= dwell <= sys.float_info.max):
        raise ArgumentError("dwell", "be a nonnegative time", f"is {shown(dwell)}")
    most = integer("max_transitions", max_transitions, least=1)
    recipe = HybridRecipe(flow, y, times, transitions, float(dwell), most, integrator)
    phases: list[Trajectory] = []
    jumps: list[Jump] = []

    def ended(how: Ending) -> HybridTrajectory:
        return HybridTrajectory(tuple(phases), tuple(jumps), how, recipe)

    t, moved, instant, rules = float(times[0]), False, [], []
    while True:
        earlier, rules, begin = rules, known(flow), t
        done, recent = ([], []) if dwell else (jumps, instant)
        left = _left(rules, earlier, done, recent, flow, t, y, moved)
        path, fired = None, () if phases or jumps else _at_start(flow, y, t, rules)
        starts = bool(fired)
        if not starts:
            wait = float(dwell) if jumps else 0.0
            path, fired = _phase(flow, y, _remaining(times, t), rules, left, wait, integrator)
        if path is not None:
            phases.append(path)
            t, y = float(np.asarray(path.ts)[-1]), path.final
        if not fired:
            return ended(Ending.FINISHED)
        before, same, last, instant = y, flow, {jump.name for jump in instant}, []
        rounding = rounding_of(path.ts[-1]) if path is not None and moved else 0.0
        at_once = rounding > 0 and is_at_once(t - begin, rounding)
        due = [(rules[index], False) for index in fired[: 1 if dwell else len(fired)]]
        sides = Sides(rules, flow, t, y, [rule for rule, _ in due])
        while due:
            (rule, by_reset), now = due.pop(0), known(flow)
            index = index_of(rule, now)
            if index < 0 or by_reset and not sides.is_past(now[index]):
                continue
            if instant and not by_reset and moved_back(rule, now[index], same, before, (begin, t), y):
                continue
            state = y
            flow, y = _after(rule, flow, t, state)
            instant.append(Jump(index, rule.name, t, state, y, by_reset=by_reset))
            jumps.append(instant[-1])
            if not dwell:
                due = sides.with_moved(due, rule, known(flow), flow, t, y)
            again = at_once and rule.name in last or starts and _recurs(rule, known(flow), flow, y, t)
            if rule.name in last and not dwell and (at := index_of(rule, known(flow))) >= 0:
                again |= returns_within_noise(known(flow)[at].guard, flow, t, y)
            again |= sum(jump.name == rule.name for jump in instant) == TURNS
            if rounding and not dwell:
                again |= accumulate(np.array([jump.time for jump in jumps if jump.name == rule.name]), rounding)
            if rule.terminal:
                return ended(Ending.TERMINAL)
            if again:
                return ended(Ending.ACCUMULATED)
            if len(jumps) == most:
                return ended(Ending.CAPPED)
        moved = flow is not same or not _equal(before, y)
        if t >= times[-1]:
            return ended(Ending.FINISHED)


def _estimated(run: HybridTrajectory, finer: HybridTrajectory) -> HybridTrajectory:
    """Add error estimates to a run: the differences of its phases from a more accurate run."""
    names = [[jump.name for jump in made.jumps] for made in (run, finer)]
    same = names[0] == names[1] and len(run.phases) == len(finer.phases)
    shapes = lambda path: [np.shape(leaf) for leaf in jax.tree.leaves(path.ys)]
    phases = []
    for k, path in enumerate(run.phases):
        comparable = same and shapes(path) == shapes(finer.phases[k])
        ys = finer.phases[k].ys if comparable else jax.tree.map(lambda a: jnp.full_like(a, jnp.inf), path.ys)
        phases.append(eqx.tree_at(lambda p: p.stats, path, with_error(path.stats, path.ys, ys)))
    gaps = [abs(a.time - b.time) for a, b in zip(run.jumps, finer.jumps, strict=True)] if same else []
    jumps = [
        dataclasses.replace(jump, time_error=gaps[k] if same else math.inf)  # pyright: ignore[reportArgumentType]
        for k, jump in enumerate(run.jumps)
    ]
    return dataclasses.replace(run, phases=tuple(phases), jumps=tuple(jumps))


@on_host_by_default
def crossings(
    flow: AbstractFlow,
    y0: State,
    ts: TimesLike,
    events: Sequence[Event],
    *,
    action: Callable[[int, float, State], State | None] | None = None,
    max_crossings: int = 1000,
    integrator: AbstractIntegrator = Diffrax(),
) -> HybridTrajectory:
    """Integrate a flow to the final time, recording every crossing of `events` and optionally acting on it.

    The jumps of the result are the crossings, named by the index of the event. `Event` describes what can be missed.

    Args:
        flow: the flow, which crossings do not change.
        y0: the initial state.
        ts: increasing times at which states are saved.
        events: the events to detect, each in its own direction.
        action: called at each crossing with the event's index, the time and the state. If it returns a state, the run
            continues from there; if it returns None, the run continues unchanged.
        max_crossings: limit on the number of crossings; a run that reaches it ends and reports it in `ending`.
        integrator: solves between the crossings.

    Raises:
        ValueError: as for `simulate_until`, and for an action that does not return a state.
        IntegrationError: if the final time is not reached.

    Example:
        >>> import dynsim as ds
        >>> import jax.numpy as jnp
        >>> clock = ds.FunctionFlow(lambda t, x: jnp.ones_like(x))
        >>> run = ds.crossings(clock, [0.0], [0.0, 2.0], [ds.Event(lambda t, x: x[0] - 0.5)])
        >>> [round(jump.time, 6) for jump in run.jumps]
        [0.5]
    """
    check_events(events)
    max_crossings = integer("max_crossings", max_crossings, least=1)
    if action is not None:
        function("action", action, "(event, t, x)", 3)
    resets = [unchanged if action is None else _Acted(action, k) for k in range(len(events))]
    rules = [_Crossing(str(k), event, reset) for k, (event, reset) in enumerate(zip(events, resets, strict=True))]
    return simulate_hybrid(flow, y0, ts, rules, max_transitions=max_crossings, integrator=integrator)


class _Acted(eqx.Module):
    """A reset that keeps the flow and takes the state from the action of an event, if it returns one."""

    action: Callable[[int, float, State], State | None]
    event: int = eqx.field(static=True)

    def __call__(self, flow: AbstractFlow, t: float, x: State) -> tuple[AbstractFlow, State]:
        found = self.action(self.event, t, x)
        return flow, x if found is None else as_state("action", found)


def _rules(transitions: Any) -> Callable[[AbstractFlow], Sequence[Transition]]:
    must = "be a sequence of `Transition` objects, or a function of the flow that returns one"
    if isinstance(transitions, type):
        raise ArgumentError("transitions", must, f"is {shown(transitions)}")
    known = transitions if callable(transitions) else lambda flow: transitions

    def checked(flow: AbstractFlow) -> Sequence[Transition]:
        found = known(flow)
        if not isinstance(found, Sequence) or not all(isinstance(rule, Transition) for rule in found):
            raise ArgumentError("transitions", must, "is, holds or returns something else")
        return found

    return checked


def _left(
    rules: Sequence[Transition], earlier: Sequence[Transition], jumps: Sequence[Jump], instant: Sequence[Jump],
    flow: AbstractFlow, t: float, y: State, moved: bool,
) -> list[Event]:  # fmt: skip
    """Guards of a phase that know the resets of the instant before it, if the state before them has the same shape.

    `earlier` are the transitions of the phase before: others cannot have been due at that time, and none occurs twice.
    """
    shapes = lambda state: [leaf.shape for leaf in jax.tree.leaves(state)]
    told = bool(instant) and shapes(instant[0].before) == shapes(y)
    before = instant[0].before if told else y
    last = {jump.name: jump.time for jump in jumps}
    names, known = {jump.name for jump in instant}, {rule.name for rule in earlier}
    guards = []
    for rule in rules:
        guard, occurred = rule.guard, told and moved and rule.name in names
        occurred = occurred and not stays_on_zero(guard, flow, t, y)
        since = jumps[-1].time - last.get(rule.name, -math.inf) if told else 0.0
        flags = (-float(guard.direction) if occurred else 0.0, float(told and rule.name in known - names), since)
        guards.append(AfterReset(guard.fn, guard.direction, guard.samples, before, *map(np.asarray, flags)))
    return guards


def _phase(
    flow: AbstractFlow,
    y: State,
    ts: np.ndarray,
    rules: Sequence[Transition],
    guards: Sequence[Event],
    dwell: float,
    integrator: AbstractIntegrator,
) -> tuple[Trajectory | None, tuple[int, ...]]:
    """Solve one phase: its path, None if it has no length, and the indices of the transitions that end it.

    Every solve gets as many times as `ts` has, so that one program serves all phases of a flow. `_at` removes the extra
    times again.
    """
    begin, wanted = ts[0], np.unique(ts)
    waited = None
    if begin + dwell > begin:  # it may be below the rounding of the time
        end = min(begin + dwell, wanted[-1])
        within = np.append(wanted[wanted < end], end)
        waited = _at(simulate(flow, y, _filled(within, len(ts)), integrator=integrator), within)
        if end == wanted[-1]:
            return waited, ()
        y, begin = waited.final, end
    at_once = tuple(k for k, rule in enumerate(rules) if rule.immediate and holds(rule.guard, float(begin), y))
    if at_once:
        return waited, at_once[:1]
    rest = np.append(begin, wanted[wanted > begin])
    times = _filled(rest, len(ts))
    if rules:
        stop = simulate_until(flow, y, times, guards, integrator=integrator)
    else:
        stop = Stop(simulate(flow, y, times, integrator=integrator), -1, ())
    path = _at(stop.path, np.append(rest, np.asarray(stop.path.ts)[-1]))
    return path if waited is None else _joined(waited, path), stop.events


def _at_start(flow: AbstractFlow, y: State, t: float, rules: Sequence[Transition]) -> tuple[int, ...]:
    """Indices of the transitions whose guards are zero at the start of a run and leave it in their direction."""
    directed = [k for k, rule in enumerate(rules) if rule.guard.direction and not isinstance(rule, _Crossing)]
    return tuple(k for k in directed if leaves_zero(rules[k].guard, flow, y, t))


def _recurs(rule: Transition, rules: Sequence[Transition], flow: AbstractFlow, y: State, t: float) -> bool:
    """Whether a transition is due again at the state that its reset leads to, because that is at rest on the guard.

    A guard that still moves in its direction, such as one of the time alone, has been crossed.
    """
    index = index_of(rule, rules)
    return index >= 0 and leaves_zero(rules[index].guard, flow, y, t, at_rest=True)


def _remaining(times: np.ndarray, t: float) -> np.ndarray:
    """`t` and the times after it, padded at the front with `t` to the length of `times`."""
    later = times[times > t]
    return np.concatenate([np.full(len(times) - len(later), t, times.dtype), later])


def _filled(times: np.ndarray, count: int) -> np.ndarray:
    """Insert times into the widest gap of increasing times, up to `count` in all.

    Where floats are not dense enough, no times are added.
    """
    widest = int(np.argmax(np.diff(times)))
    between = np.linspace(times[widest], times[widest + 1], count - len(times) + 2)[1:-1]
    filled = np.insert(times, widest + 1, between.astype(times.dtype))
    return filled if np.all(np.diff(filled) > 0) else times


def _equal(first: State, second: State) -> bool:
    """Test on the host whether two states are the same."""
    (a, structure), (b, other) = jax.tree.flatten(first), jax.tree.flatten(second)
    return structure == other and all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


def _at(path: Trajectory, times: np.ndarray) -> Trajectory:
    """Restrict a path to the times that are also in `times`."""
    rows = np.flatnonzero(np.isin(np.asarray(path.ts), times))
    whole = path.ts, path.ys
    ts, ys = whole if len(rows) == len(path.ts) else on_host(lambda xp, y: y[rows], whole)
    return Trajectory(ts, ys, path.system, path.stats)


def _joined(first: Trajectory, second: Trajectory) -> Trajectory:
    """Join two paths of one flow, the second starting where the first ends, and add their step counts."""
    ts, ys = on_host(lambda xp, a, b: xp.concatenate([a, b[1:]]), (first.ts, first.ys), (second.ts, second.ys))
    stats = eqx.tree_at(
        lambda s: (s.num_steps, s.num_rejected, s.max_defect),
        second.stats,
        (
            first.stats.num_steps + second.stats.num_steps,
            first.stats.num_rejected + second.stats.num_rejected,
            jnp.maximum(first.stats.max_defect, second.stats.max_defect),
        ),
    )
    return Trajectory(ts, ys, first.system, stats)


def _after(rule: Transition, flow: AbstractFlow, t: float, y: State) -> tuple[AbstractFlow, State]:
    """Apply a reset and keep the state's precision; raise `ValueError` unless it returns a flow and a state."""
    found = rule.reset(flow, t, y)
    if not (isinstance(found, tuple) and len(found) == 2 and isinstance(found[0], AbstractFlow)):
        raise ArgumentError("reset", "return a flow and a state", f"`{rule.name}` returns {shown(found)}")
    dtype = jax.tree.leaves(y)[0].dtype
    return found[0], jax.tree.map(lambda leaf: leaf.astype(dtype), as_state("reset", found[1]))
