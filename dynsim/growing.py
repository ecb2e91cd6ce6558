"""Runs of the growing system through its events, in continuous time and as the discrete Algorithm."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dynsim._types import State, TimesLike
from dynsim.arguments import as_state
from dynsim.conversion import instance, integer
from dynsim.hybrid import Ending, HybridTrajectory, Jump, Transition, simulate_hybrid
from dynsim.integrators import AbstractIntegrator, Diffrax, Event
from dynsim.simulation import map_stats
from dynsim.systems.growing.descent import GrowingStep
from dynsim.systems.growing.flow import GrowingFlow
from dynsim.systems.growing.transitions import ClipGuard, GrowthGuard, PruningGuard, clip, grow, prune
from dynsim.trajectory import Trajectory


def growing_transitions(flow: GrowingFlow) -> tuple[Transition, ...]:
    """Return the transitions of a growing flow: `clip`, `prune` and `grow`, looked at in this order."""
    return (
        Transition("clip", Event(ClipGuard(flow), -1), clip, immediate=True),
        Transition("prune", Event(PruningGuard(flow), 1), prune, immediate=True),
        Transition("grow", Event(GrowthGuard(flow), 1), grow, immediate=True),
    )


def simulate_growing(
    flow: GrowingFlow,
    y0: State,
    ts: TimesLike,
    *,
    max_transitions: int = 1000,
    integrator: AbstractIntegrator = Diffrax(),
) -> HybridTrajectory:
    """Integrate the growing system through growth, pruning and clipping of temperatures.

    Args:
        flow: the flow of the first phase, in general one without heads.
        y0: the start, in general `flow.start(key)`.
        ts: increasing times at which states are saved; the run ends at the last one.
        max_transitions: the cap on events; a run that reaches it ends there, and says so in `ending`.
        integrator: solves every phase; one compiled program serves them all.

    Source: GROWING, Algorithm of Section 3.4, eq. (45)-(48).

    Raises:
        ValueError: for what `simulate_hybrid` refuses.
        IntegrationError: if a phase is not integrated to its end, with the cause and what to try.
    """
    instance("flow", flow, GrowingFlow, "a `GrowingFlow`")
    return simulate_hybrid(flow, y0, ts, growing_transitions, max_transitions=max_transitions, integrator=integrator)


def descend(
    flow: GrowingFlow,
    y0: State,
    num_steps: int,
    *,
    every: int = 1,
    gate_power: Any = 0.0,
    clipping: bool = True,
    max_transitions: int = 1000,
) -> HybridTrajectory:
    """Run the Algorithm in discrete time: steps of descent, and after each the checks for growth and pruning.

    The dwell time of the rules is N_min, in steps. States are saved every `every` steps and at events; times are
    numbers of steps. Before the first step a head is added if there is none. A temperature at the least one is no
    event here, since every step clips it.

    Source: GROWING, Algorithm of Section 3.4, eq. (37)-(39).

    Raises:
        ValueError: for bad input.
    """
    instance("flow", flow, GrowingFlow, "a `GrowingFlow`")
    num_steps, every = integer("num_steps", num_steps, least=1), integer("every", every, least=1)
    most = integer("max_transitions", max_transitions, least=1)
    step = GrowingStep(flow, gate_power=gate_power, clipping=clipping)
    x, k = as_state("y0", y0), 0
    phases, jumps, kept, times = [], [], [x], [0]
    while True:
        due = k > 0 or not bool(jnp.any(step.flow.active))
        index = _due(step, x) if due else -1
        if index >= 0:
            if k > times[-1]:
                kept.append(x)
                times.append(k)
            rule = growing_transitions(step.flow)[index]
            after_flow, after = rule.reset(step.flow, float(k), x)
            jumps.append(Jump(index, rule.name, float(k), x, after))
            if len(times) > 1:
                phases.append(_path(step, kept, times))
            step, x = GrowingStep(after_flow, gate_power=gate_power, clipping=clipping), after
            kept, times = [x], [k]
            if len(jumps) == most:
                return HybridTrajectory(tuple(phases), tuple(jumps), Ending.CAPPED)
            continue
        if k >= num_steps:
            if len(times) > 1:
                phases.append(_path(step, kept, times))
            return HybridTrajectory(tuple(phases), tuple(jumps), Ending.FINISHED)
        until = min(num_steps, (k // every + 1) * every)
        x, reached = _advanced(step, x, jnp.asarray(k), jnp.asarray(until))
        k = int(reached)
        if k == until:
            kept.append(x)
            times.append(k)


@eqx.filter_jit
def _advanced(step: GrowingStep, x: State, k: Array, until: Array) -> tuple[State, Array]:
    """Return the state and the step at which an event is due, or at step `until`."""

    def more(carry: tuple[Array, State, Array]) -> Array:
        now, _, due = carry
        return (now < until) & ~due

    def once(carry: tuple[Array, State, Array]) -> tuple[Array, State, Array]:
        now, y, _ = carry
        y = step.step(now, y)
        return now + 1, y, jnp.any(_margins(step, y) > 0)

    k, x, _ = jax.lax.while_loop(more, once, (k, x, jnp.asarray(False)))
    return x, k


@eqx.filter_jit
def _margins(step: GrowingStep, x: State) -> Float[Array, "2"]:
    """Return the margins of pruning and growth; a dwell time of whole steps is over when the clock has reached it."""
    ready = x._replace(clock=x.clock + 0.5)
    return jnp.stack([guard(jnp.zeros(()), ready) for guard in (GrowthGuard(step.flow), PruningGuard(step.flow))])


def _due(step: GrowingStep, x: State) -> int:
    """Return the index, among the transitions, of the event that is due, growth before pruning; -1 for none."""
    growth, pruning = np.asarray(_margins(step, x)) > 0
    return 2 if growth else 1 if pruning else -1


def _path(step: GrowingStep, kept: list[State], times: list[int]) -> Trajectory:
    ys = jax.tree.map(lambda *parts: jnp.stack(parts), *kept)
    ok = all(bool(jnp.all(jnp.isfinite(y))) for y in jax.tree.leaves(ys))
    return Trajectory(jnp.asarray(times, float), ys, step, map_stats(ok, times[-1] - times[0], jnp.zeros(())))
