"""Hybrid systems: flows interrupted by transitions, which reset the state and may change the flow and the dimension."""

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from dynsim._core.host import on_host
from dynsim._core.types import State, TimesLike
from dynsim._core.validation import function, integer
from dynsim.errors import ArgumentError, shown
from dynsim.integrators import AbstractIntegrator, Diffrax, Event
from dynsim.integrators.events import AfterReset
from dynsim.simulation.checks import as_state, as_times, check_events, check_flow, check_integrator
from dynsim.simulation.hybrid_trajectory import AbstractRecipe, Ending, HybridTrajectory, Jump
from dynsim.simulation.simulate import Stop, simulate, simulate_until, with_error
from dynsim.simulation.trajectory import Trajectory
from dynsim.systems.base import AbstractFlow

SHORTEST = 4  # neighbouring floats of the time between which a transition that occurs twice leaves no motion


DECAY = 1000  # by which the intervals between transitions that accumulate must have shrunk


REST = 2**18  # neighbouring floats of the time between the last transition and the limit of those that accumulate


def rounding_of(time: Any) -> float:
    """Return the distance of neighbouring floats of a time, in its type."""
    return float(np.spacing(np.abs(np.asarray(time))))


def is_at_once(length: float, rounding: float) -> bool:
    """Return whether a phase is as short as its times can tell."""
    return length <= SHORTEST * rounding


def accumulate(ends: np.ndarray, rounding: float) -> bool:
    """Return whether the times at which a transition occurs have come to their limit, up to rounding.

    Over the last `count` intervals their length has halved: those that follow take `count / log(2)` times the last one
    together. Each interval is off by the rounding of the time, so that they shrink no further than this lets them.
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
"""What a transition does: from the flow, the time and the state before it to the flow and the state after it."""


class Transition(eqx.Module):
    """A transition of a hybrid system: `guard` says when it occurs, `reset` what it does.

    It occurs where the guard's function crosses zero in the guard's direction. If `immediate`, it also occurs at the
    start of a phase, once the dwell time is over, where that function is positive, or of the sign that its direction
    leads to: as for a condition that may hold already. If `terminal`, the run ends after it.
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


def unchanged(flow: AbstractFlow, t: float, x: State) -> tuple[AbstractFlow, State]:
    """Return flow and state as they are: the reset of a transition that only records its times."""
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
    """Integrate a hybrid system: a flow until a transition occurs, then what the transition leads to, and so on.

    Where a transition occurs again at once after its reset, the run ends, and says so in `ending`: transitions
    accumulate there (Zeno behaviour), or the state comes to rest on the guard. Without a `dwell` it also ends where the
    intervals between transitions have shrunk geometrically until they shrink no faster than the time is rounded.

    Args:
        flow: the flow of the first phase.
        y0: its start, a point of the space of the flow.
        ts: increasing times at which states are saved; the run ends at the last one.
        transitions: the transitions of every phase, or a function that returns those of the flow of a phase. Of two
            that occur at one time the first counts, and the second is looked at in the next phase.
        dwell: the least time between two transitions; guards are not looked at before it is over.
        max_transitions: the cap on transitions; a run that reaches it ends there, and says so in `ending`.
        integrator: solves every phase.
        error_estimate: solve again at a tenth of the tolerance, and keep the difference in `stats.error` of every
            phase: infinite if the two runs do not have the same transitions between the same times of `ts`.

    Raises:
        ValueError: for what `simulate_until` refuses, and for a reset that does not return a flow and a state.
        IntegrationError: if a phase is not integrated to its end, with the cause and what to try.
    """
    check_flow(flow)
    check_integrator(integrator)
    if error_estimate:
        options = {"dwell": dwell, "max_transitions": max_transitions}
        methods = (integrator, integrator.tightened())
        return _estimated(*(simulate_hybrid(flow, y0, ts, transitions, integrator=m, **options) for m in methods))
    times, y = as_times(ts), as_state("y0", y0)
    known = _rules(transitions)
    if not (isinstance(dwell, int | float) and 0 <= dwell < math.inf):
        raise ArgumentError("dwell", "be a time of at least 0", f"is {shown(dwell)}")
    most = integer("max_transitions", max_transitions, least=1)
    recipe = HybridRecipe(flow, y, times, transitions, float(dwell), most, integrator)
    phases: list[Trajectory] = []
    jumps: list[Jump] = []

    def ended(how: Ending) -> HybridTrajectory:
        return HybridTrajectory(tuple(phases), tuple(jumps), how, recipe)

    t, moved = float(times[0]), False
    while True:
        rules, begin = known(flow), t
        left = _left(rules, [] if dwell else jumps, moved, y)
        path, index = _phase(flow, y, _remaining(times, t), rules, left, float(dwell) if jumps else 0.0, integrator)
        if path is not None:
            phases.append(path)
            t, y = float(path.ts[-1]), path.final
        if index < 0:
            return ended(Ending.FINISHED)
        rule, before, same = rules[index], y, flow
        flow, y = _after(rule, flow, t, y)
        rounding = rounding_of(path.ts[-1]) if path is not None and moved else 0.0
        again = rounding > 0 and rule.name == jumps[-1].name and is_at_once(t - begin, rounding)
        moved = flow is not same or not eqx.tree_equal(before, y)
        jumps.append(Jump(index, rule.name, t, before, y))
        if rounding and not dwell:
            again |= accumulate(np.array([jump.time for jump in jumps if jump.name == rule.name]), rounding)
        if rule.terminal:
            return ended(Ending.TERMINAL)
        if again:
            return ended(Ending.ACCUMULATED)
        if len(jumps) == most:
            return ended(Ending.CAPPED)
        if t >= times[-1]:
            return ended(Ending.FINISHED)


def _estimated(run: HybridTrajectory, finer: HybridTrajectory) -> HybridTrajectory:
    """Return a run whose phases have the difference from those of a finer one as estimates of their errors."""
    names = [[jump.name for jump in made.jumps] for made in (run, finer)]
    same = names[0] == names[1] and len(run.phases) == len(finer.phases)
    shapes = lambda path: [np.shape(leaf) for leaf in jax.tree.leaves(path.ys)]
    phases = []
    for k, path in enumerate(run.phases):
        comparable = same and shapes(path) == shapes(finer.phases[k])
        ys = finer.phases[k].ys if comparable else jax.tree.map(lambda a: jnp.full_like(a, jnp.inf), path.ys)
        phases.append(eqx.tree_at(lambda p: p.stats, path, with_error(path.stats, path.ys, ys)))
    return dataclasses.replace(run, phases=tuple(phases))


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
    """Integrate a flow to the last time, record every crossing of `events`, and act at each.

    The jumps of what is returned are the crossings, named by the index of the event; `Event` says what can be missed.

    Args:
        flow: the flow, the same before and after every crossing.
        y0: its start.
        ts: increasing times at which states are saved.
        events: what is looked for, in the direction of each.
        action: called at each crossing with the event's index, the time and the state; a state that it returns is what
            the run goes on from, with None it goes on as it is.
        max_crossings: the cap on crossings; a run that reaches it ends there, and says so in `ending`.
        integrator: solves between the crossings.

    Raises:
        ValueError: for what `simulate_until` refuses, and for an action that returns no state.
        IntegrationError: if the last time is not reached.
    """
    check_events(events)
    max_crossings = integer("max_crossings", max_crossings, least=1)
    if action is not None:
        function("action", action, "(event, t, x)", 3)
    resets = [unchanged if action is None else _Acted(action, k) for k in range(len(events))]
    rules = [Transition(str(k), event, reset) for k, (event, reset) in enumerate(zip(events, resets, strict=True))]
    return simulate_hybrid(flow, y0, ts, rules, max_transitions=max_crossings, integrator=integrator)


class _Acted(eqx.Module):
    """A reset: the flow, and the state that the action of an event returns, or the state as it was."""

    action: Callable[[int, float, State], State | None]
    event: int = eqx.field(static=True)

    def __call__(self, flow: AbstractFlow, t: float, x: State) -> tuple[AbstractFlow, State]:
        found = self.action(self.event, t, x)
        return flow, x if found is None else as_state("action", found)


def _rules(transitions: Any) -> Callable[[AbstractFlow], Sequence[Transition]]:
    must = "be a sequence of values of `Transition`, or a function of the flow"
    if isinstance(transitions, type):
        raise ArgumentError("transitions", must, f"is {shown(transitions)}")
    known = transitions if callable(transitions) else lambda flow: transitions

    def checked(flow: AbstractFlow) -> Sequence[Transition]:
        found = known(flow)
        if not isinstance(found, Sequence) or not all(isinstance(rule, Transition) for rule in found):
            raise ArgumentError("transitions", must, "is, holds or returns something else")
        return found

    return checked


def _left(rules: Sequence[Transition], jumps: Sequence[Jump], moved: bool, y: State) -> list[Event]:
    """Return the guards of a phase, told of the reset before it, if that has a state of the same shape before it."""
    shapes = lambda state: [leaf.shape for leaf in jax.tree.leaves(state)]
    told = bool(jumps) and shapes(jumps[-1].before) == shapes(y)
    before = jumps[-1].before if told else y
    last = {jump.name: jump.time for jump in jumps}
    guards = []
    for rule in rules:
        guard, occurred = rule.guard, told and moved and rule.name == jumps[-1].name
        since = jumps[-1].time - last.get(rule.name, -math.inf) if told else 0.0
        flags = (-float(guard.direction) if occurred else 0.0, float(told), since)
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
) -> tuple[Trajectory | None, int]:
    """Return the path of a phase, None if it has no length, and the index of the transition that ends it, or -1.

    Every solve gets as many times as `ts` has, so that one program serves all phases of a flow; `_at` takes the extra
    ones out again.
    """
    begin, wanted = ts[0], np.unique(ts)
    waited = None
    if dwell > 0:
        end = min(begin + dwell, wanted[-1])
        within = np.append(wanted[wanted < end], end)
        waited = _at(simulate(flow, y, _filled(within, len(ts)), integrator=integrator), within)
        if end == wanted[-1]:
            return waited, -1
        y, begin = waited.final, end
    at_once = next((k for k, rule in enumerate(rules) if rule.immediate and _holds(rule.guard, begin, y)), -1)
    if at_once >= 0:
        return waited, at_once
    rest = np.append(begin, wanted[wanted > begin])
    times = _filled(rest, len(ts))
    if rules:
        stop = simulate_until(flow, y, times, guards, integrator=integrator)
    else:
        stop = Stop(simulate(flow, y, times, integrator=integrator), -1)
    path = _at(stop.path, np.append(rest, stop.path.ts[-1]))
    return path if waited is None else _joined(waited, path), stop.event


def _remaining(times: np.ndarray, t: float) -> np.ndarray:
    """Return `t` and the times after it, as many as there are `times`: the first is repeated."""
    later = times[times > t]
    return np.concatenate([np.full(len(times) - len(later), t), later])


def _filled(times: np.ndarray, count: int) -> np.ndarray:
    """Return increasing times with others between the two that are farthest apart, `count` in all.

    Where floats are not as dense as that, no times are added.
    """
    widest = int(np.argmax(np.diff(times)))
    extra = np.linspace(times[widest], times[widest + 1], count - len(times) + 2)[1:-1]
    filled = np.insert(times, widest + 1, extra)
    return filled if np.all(np.diff(filled) > 0) else times


def _at(path: Trajectory, times: np.ndarray) -> Trajectory:
    """Return a path at those of its times that are among `times`."""
    rows = np.flatnonzero(np.isin(np.asarray(path.ts), times))
    whole = path.ts, path.ys
    ts, ys = whole if len(rows) == len(path.ts) else on_host(lambda xp, y: y[rows], whole)
    return Trajectory(ts, ys, path.system, path.stats)


def _joined(first: Trajectory, second: Trajectory) -> Trajectory:
    """Return two paths of one flow, the second from where the first ends, as one with the sums of their steps."""
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


def _holds(guard: Event, t: float, y: State) -> bool:
    """Return whether a condition holds: its function has the sign that it has after a crossing."""
    value = float(guard.fn(t, y))
    return value * guard.direction > 0 if guard.direction else value > 0


def _after(rule: Transition, flow: AbstractFlow, t: float, y: State) -> tuple[AbstractFlow, State]:
    """Return what a reset returns; raise `ValueError` unless it is a flow and a state of it."""
    found = rule.reset(flow, t, y)
    if not (isinstance(found, tuple) and len(found) == 2 and isinstance(found[0], AbstractFlow)):
        raise ArgumentError("reset", "return a flow and a state", f"`{rule.name}` returns {shown(found)}")
    return found[0], as_state("reset", found[1])
