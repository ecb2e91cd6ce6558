"""Members that take a known number of steps, in lanes: maps and schemes of fixed steps, with an observable."""

import dataclasses
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from dynsim._core.types import State, Time
from dynsim.integrators.base import Stats, masked
from dynsim.integrators.in_lanes import Ways, known_form, numbers_of
from dynsim.integrators.lanes.fixed_steps import (
    March,
    Marched,
    Rule,
    Schedule,
    described,
    kernel,
    marched,
    marched_by_kernel,
    recorded,
)
from dynsim.integrators.lanes.recorded import FlowForm, System, form_of
from dynsim.programs import Program

Ended = Callable[[Any, State, Array, March], tuple[State, Stats]]
"""Final state and statistics of a member, from the system, the states at the times, these times, and its `March`."""


def ways(rule: Rule, system: Any, y0: Any) -> Ways | str:
    """Find out how members of a flow or map can take their steps in lanes, or say why not.

    Args:
        rule: how a member steps.
        system: the flow or map, or one of several that differ in numbers only.
        y0: shapes and types of a state.
    """

    def kernels(form: FlowForm) -> Program:
        program = recorded(rule, form)
        kernel(program, form, (False,) * form.numbers)
        return program

    found = known_form(y0, lambda: form_of(system, y0, look=_Moved(rule)), kernels)
    return found if isinstance(found, str) else Ways(rule, *found, np.asarray(np.inf), np.empty(0))


@dataclasses.dataclass(frozen=True)
class _Moved:
    """Shape and type of a state after a step."""

    rule: Rule

    def __call__(self, form: FlowForm, arrays: list[Any]) -> Any:
        step = lambda run, at, key, leaves: self.rule.step(form, form.system(leaves), run, at, key)
        return jax.eval_shape(step, *described(self.rule, form), arrays).y


@eqx.filter_jit
def observe(
    ways: Ways,
    system: Any,
    axes: Any,
    y0s: State,
    schedule: Schedule,
    keys: Any,
    fn: Callable[[Time, State], Any],
    ended: Ended,
) -> tuple[Any, State, Stats]:
    """Evaluate `fn(t, x)` at the times of a schedule for each member, with final states and statistics.

    Args:
        ways: what `ways` returned.
        system: the system, or one with a leading axis of members in some arrays.
        axes: 0 for these arrays, None for the others.
        y0s: initial states, with members on the first axis.
        schedule: when steps are taken.
        keys: words of each member's random key, shape (words, members).
        fn: the observable.
        ended: makes final states and statistics.
    """
    ts, form = jnp.asarray(schedule.times), ways.form
    schedule = Schedule(ts, jnp.asarray(schedule.counts, int), jnp.asarray(schedule.first, int))
    found = march(ways, System(system), System(axes), y0s, schedule, jnp.asarray(keys))

    def one(system, y0, saved, run):
        ys = jax.tree.map(lambda a, b: jnp.concatenate([a[None], b]), y0, jax.vmap(form.restored)(saved))
        final, stats = ended(system, ys, ts, run)
        final = jax.tree.map(lambda y: jnp.where(stats.succeeded, y, jnp.nan), final)
        return masked(jax.vmap(fn)(ts, ys), ts, stats), final, stats

    return eqx.filter_vmap(one, in_axes=(axes, 0, 2, March(1, 0, 0, 0, 0)))(system, y0s, *found)


def march(ways: Ways, system: Any, axes: Any, y0s: State, schedule: Schedule, keys: Array) -> Marched:
    """Let all members take their steps, inside a JAX program; members are the last axis of the result."""
    members = jax.tree.leaves(y0s)[0].shape[0]
    starts = jnp.concatenate([leaf.reshape(members, -1) for leaf in jax.tree.leaves(y0s)], axis=1).T
    if ways.programs is None:
        return marched(ways.solver, ways.form, system, axes, starts, schedule, keys)
    numbers = numbers_of(system, axes, ways.form.dtype)
    return marched_by_kernel(ways.programs, ways.form, starts, numbers, schedule, keys)  # pyright: ignore
