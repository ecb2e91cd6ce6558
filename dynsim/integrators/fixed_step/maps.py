"""Iterate maps from many initial states together, as the integrator of an ensemble of a map."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from dynsim._core.types import State, Time
from dynsim.errors import ArgumentError, Outcome
from dynsim.integrators.base import AbstractIntegrator, Event, Stats, masked, program_form, stacked
from dynsim.integrators.fixed_step.in_lanes import observe, ways
from dynsim.integrators.in_lanes import Ways
from dynsim.integrators.lanes.fixed_steps import March, Moment, Rule, Schedule
from dynsim.integrators.lanes.recorded import FlowForm, System
from dynsim.systems.base import AbstractMap, in_precision_of


@dataclasses.dataclass(frozen=True)
class MapRule(Rule):
    """A step of a map."""

    def step(self, form: FlowForm, system: System, run: March, at: Moment, key: Any) -> March:
        """Apply the map."""
        image = system.flow.image(at.index, form.restored(run.y))
        return run._replace(y=jnp.concatenate([jnp.ravel(part) for part in jax.tree.leaves(image)]))


class Iteration(AbstractIntegrator):
    """Exact iteration of maps in JAX: no solver and no tolerance; times are numbers of steps."""

    @property
    def batched(self) -> bool:
        """True: many initial states can be iterated together."""
        return True

    def integrate(self, flow: Any, y0: State, ts: Any) -> tuple[State, Stats]:
        """Not offered: `iterate` applies a map to a single start."""
        raise NotImplementedError("`iterate` applies a map to a single start")

    def _ways(self, flows: Sequence[Any], y0: Any, ts: Any, events: Sequence[Event]) -> Ways | str:
        return ways(MapRule(), program_form(flows[0]), y0)

    def observe(
        self,
        flows: Sequence[Any],
        y0s: State,
        ts: Any,
        fn: Callable[[Time, State], Any],
        *,
        lanes: Ways | str | None = None,
    ) -> tuple[Any, State, Stats]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Evaluate `fn(k, x)` at the numbers of steps `ts` for each initial state."""
        system, axes = stacked([program_form(flow) for flow in flows])
        return iterated(lanes or self.lanes(flows, y0s, ts), system, axes, y0s, ts, fn)

    def locate(
        self, flow: Any, y0: State, ts: Any, events: Sequence[Event]
    ) -> tuple[State, Stats, float, State, tuple[int, ...]]:
        """Raise `ValueError`, because a map has no states between its steps."""
        raise ArgumentError("events", "be left out for a map", "are given")


def iterated(
    lanes: Ways | str, system: AbstractMap, axes: Any, y0s: State, ts: Any, fn: Callable[[Time, State], Any]
) -> tuple[Any, State, Stats]:
    """Evaluate `fn(k, x)` at the numbers of steps `ts` for each member, as `Iteration.observe` does.

    Args:
        lanes: what `Iteration.lanes` returned.
        system: the map, or one with a leading axis of members in some arrays.
        axes: 0 for these arrays, None for the others.
        y0s: initial states, with members on the first axis.
        ts: increasing numbers of steps; the first is that of `y0s`.
        fn: the observable.
    """
    if not isinstance(lanes, Ways):
        return _observed(system, axes, y0s, jnp.asarray(ts), fn)
    none = np.zeros((0, jax.tree.leaves(y0s)[0].shape[0]), np.uint32)
    return observe(lanes, system, axes, y0s, Schedule(ts, ts[1:] - ts[:-1], ts[0]), none, fn, _ended)


def _ended(system: AbstractMap, ys: State, ts: Array, run: March | None = None) -> tuple[State, Stats]:
    """Final state and statistics; a member has failed from the first of `ts` on at which it is not finite."""
    del run
    finite = jnp.stack([jnp.all(jnp.isfinite(y.reshape(len(ts), -1)), axis=1) for y in jax.tree.leaves(ys)])
    going = jnp.cumprod(jnp.all(finite, axis=0).astype(int))
    whole, last = going[-1] == 1, ts[jnp.maximum(jnp.sum(going) - 1, 0)]
    defects = jax.vmap(system.space.defect)(ys)
    stats = Stats(
        succeeded=whole,
        outcome=jnp.where(whole, int(Outcome.FINISHED), int(Outcome.NON_FINITE)),
        num_steps=last - ts[0],
        num_rejected=jnp.zeros((), int),
        max_defect=jnp.max(jnp.where(going == 1, defects, 0)),
        last_time=last.astype(float),
    )
    return jax.tree.map(lambda y: y[-1], ys), stats


@eqx.filter_jit
def _observed(system, axes, y0s, ts, fn):
    """The same member by member under `vmap`, for states that are too large for lanes."""

    def one(system, y0):
        system = in_precision_of(y0, system)  # once, not in every step

        def interval(x, ends):
            first, last = ends
            x = jax.lax.fori_loop(first, last, lambda k, x: system.image(k, x), x)
            return x, x

        _, ys = jax.lax.scan(interval, y0, (ts[:-1], ts[1:]))
        ys = jax.tree.map(lambda a, b: jnp.concatenate([a[None], b]), y0, ys)
        final, stats = _ended(system, ys, ts)
        final = jax.tree.map(lambda y: jnp.where(stats.succeeded, y, jnp.nan), final)
        return masked(jax.vmap(fn)(ts, ys), ts, stats), final, stats

    return eqx.filter_vmap(one, in_axes=(axes, 0))(system, y0s)
