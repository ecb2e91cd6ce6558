"""Run the growing system through its events, in continuous time and as the discrete Algorithm."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dynsim._core.host import on_host
from dynsim._core.placement import on_host_by_default
from dynsim._core.types import State, TimesLike
from dynsim._core.validation import instance, integer
from dynsim.integrators import AbstractIntegrator, Diffrax, Event
from dynsim.simulation.checks import as_state
from dynsim.simulation.hybrid import Transition, simulate_hybrid
from dynsim.simulation.hybrid_trajectory import AbstractRecipe, Ending, HybridTrajectory, Jump
from dynsim.simulation.simulate import map_stats
from dynsim.simulation.trajectory import Trajectory
from dynsim.systems.base import AbstractFlow, in_precision_of
from dynsim.systems.growing.descent import GrowingStep
from dynsim.systems.growing.flow import Growing, GrowingFlow
from dynsim.systems.growing.transitions import ClipGuard, GrowthGuard, PruningGuard, clip, grow, prune

RESETS = (clip, prune, grow)  # in the order in which the transitions are checked


def growing_transitions(flow: AbstractFlow) -> tuple[Transition, ...]:
    """Transitions of a growing flow, checked in the order `clip`, `prune`, `grow`."""
    growing = instance("flow", flow, GrowingFlow, "a `GrowingFlow`")
    return (
        Transition("clip", Event(ClipGuard(growing), -1), clip, immediate=True),
        Transition("prune", Event(PruningGuard(growing), 1), prune, immediate=True),
        Transition("grow", Event(GrowthGuard(growing), 1), grow, immediate=True),
    )


@on_host_by_default
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
        flow: the flow of the first phase, usually one without heads.
        y0: the initial state, usually `flow.start(key)`.
        ts: increasing times at which states are saved; the run ends at the last one.
        max_transitions: limit on the number of events; a run that reaches it ends there and reports it in `ending`.
        integrator: solves every phase; one compiled program serves them all.

    Source: GROWING, Algorithm of Section 3.4, eq. (45)-(48).

    Raises:
        ValueError: as for `simulate_hybrid`.
        IntegrationError: if a phase is not integrated to its end, with the cause and what to try.
    """
    instance("flow", flow, GrowingFlow, "a `GrowingFlow`")
    instance("y0", y0, Growing, "a state of the flow, as `flow.start(key)`")
    return simulate_hybrid(flow, y0, ts, growing_transitions, max_transitions=max_transitions, integrator=integrator)


@on_host_by_default
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
    """Run the Algorithm in discrete time: gradient steps, each followed by checks for growth and pruning.

    The dwell time of the rules is N_min, in steps. States are saved every `every` steps and at events, and times are
    step numbers. If there is no head, one is added before the first step. A temperature at T_min is not an event here,
    because every step clips it.

    Source: GROWING, Algorithm of Section 3.4, eq. (37)-(39).

    Raises:
        ValueError: for bad input.
    """
    instance("flow", flow, GrowingFlow, "a `GrowingFlow`")
    num_steps, every = integer("num_steps", num_steps, least=1), integer("every", every, least=1)
    most = integer("max_transitions", max_transitions, least=1)
    start = as_state("y0", instance("y0", y0, Growing, "a state of the flow, as `flow.start(key)`"))
    recipe = DescentRecipe(flow, start, num_steps, every, gate_power, clipping, most)
    descent = _Descent(GrowingStep(flow, gate_power=gate_power, clipping=clipping), start)
    if not bool(jnp.any(flow.active)):
        descent.check()
    while len(descent.jumps) < most and descent.k < num_steps:
        descent.advance(min(num_steps, (descent.k // every + 1) * every))
        while len(descent.jumps) < most and descent.check():
            pass
    descent.close()
    ending = Ending.CAPPED if len(descent.jumps) >= most else Ending.FINISHED
    return HybridTrajectory(tuple(descent.phases), tuple(descent.jumps), ending, recipe)


def flow_of(phase: Trajectory) -> GrowingFlow:
    """The flow of a phase, in continuous or in discrete time."""
    system = phase.system.flow if isinstance(phase.system, GrowingStep) else phase.system
    return instance("phase", system, GrowingFlow, "a phase of a run of a growing system")


class DescentRecipe(AbstractRecipe):
    """The arguments of `descend`."""

    flow: GrowingFlow
    start: State
    num_steps: int = eqx.field(static=True)
    every: int = eqx.field(static=True)
    gate_power: Any
    clipping: bool = eqx.field(static=True)
    max_transitions: int = eqx.field(static=True)

    def again(self) -> HybridTrajectory:
        """Take the steps again."""
        return descend(
            self.flow,
            self.start,
            self.num_steps,
            every=self.every,
            gate_power=self.gate_power,
            clipping=self.clipping,
            max_transitions=self.max_transitions,
        )


class _Descent:
    """A run of the Algorithm in progress: the step between events, the state, and what has been saved."""

    def __init__(self, step: GrowingStep, x: State):
        self.step, self.x, self.k = step, x, 0
        self.phases: list[Trajectory] = []
        self.jumps: list[Jump] = []
        self._kept, self._times = [x], [0]

    def advance(self, until: int) -> None:
        """Advance to step `until` and save the state there, or stop at the next event."""
        self.x, k = _advanced(self.step, self.x, jnp.asarray(self.k), jnp.asarray(until))
        self.k = int(k)
        if self.k == until:
            self._save()

    def check(self) -> bool:
        """Apply the event that is due, growth before pruning; False if there is none."""
        growth, pruning = np.asarray(_margins(self.step, self.x)) > 0
        if not (growth or pruning):
            return False
        reset = grow if growth else prune
        self.close()
        flow, after = reset(self.step.flow, float(self.k), self.x)
        self.jumps.append(Jump(RESETS.index(reset), reset.__name__, float(self.k), self.x, after))
        self.step = GrowingStep(flow, gate_power=self.step.gate_power, clipping=self.step.clipping)
        self.x, self._kept, self._times = after, [after], [self.k]
        return True

    def close(self) -> None:
        """End the current phase; a phase of zero length is omitted."""
        if self.k > self._times[-1]:
            self._save()
        if len(self._times) > 1:
            ys = on_host(lambda xp, *parts: xp.stack(parts), *self._kept)
            ok = all(bool(np.all(np.isfinite(y))) for y in jax.tree.leaves(ys))
            stats = map_stats(ok, self._times[-1] - self._times[0], jnp.zeros((), ys.clock.dtype))
            self.phases.append(Trajectory(jnp.asarray(self._times, float), ys, self.step, stats))

    def _save(self) -> None:
        self._kept.append(self.x)
        self._times.append(self.k)


@eqx.filter_jit
def _advanced(step: GrowingStep, x: State, k: Array, until: Array) -> tuple[State, Array]:
    """State and step number at which an event is due, or at step `until`."""

    def more(carry: tuple[Array, State, Array]) -> Array:
        now, _, due = carry
        return (now < until) & ~due

    def once(carry: tuple[Array, State, Array]) -> tuple[Array, State, Array]:
        now, y, _ = carry
        y = step.image(now, y)
        return now + 1, y, jnp.any(_margins(step, y) > 0)

    k, x, _ = jax.lax.while_loop(more, once, (k, x, jnp.asarray(False)))
    return x, k


@eqx.filter_jit
def _margins(step: GrowingStep, x: State) -> Float[Array, "2"]:
    """Margins of growth and pruning; a dwell time of whole steps is over when the clock has reached it."""
    ready = x._replace(clock=x.clock + 0.5)
    flow = in_precision_of(x, step.flow)
    return jnp.stack([guard(jnp.zeros(()), ready) for guard in (GrowthGuard(flow), PruningGuard(flow))])
