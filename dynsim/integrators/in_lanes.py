"""Solve the members of an ensemble in lanes: what JAX or a kernel returns, as values, final states and statistics."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from dynsim._core.placement import current
from dynsim._core.types import State, Time, Times
from dynsim.errors import Outcome
from dynsim.integrators.base import Stats, least_rtol, masked, stacked
from dynsim.integrators.lanes import kernel, plain
from dynsim.integrators.lanes.method import DONE, SPENT, Settings, suits
from dynsim.integrators.lanes.recorded import FlowForm, Recorded, form_of, in_type, recorded
from dynsim.kernels import kernels_on
from dynsim.programs import ProgramError
from dynsim.systems.base import AbstractFlow

LARGEST = 20
"""Most entries of a state for lanes in JAX; of larger ones, members that share a loop of stages are as fast."""


class Ways(eqx.Module):
    """How the members of an ensemble are solved in lanes: in JAX, or by a kernel from the recorded steps."""

    solver: Any = eqx.field(static=True)
    form: FlowForm = eqx.field(static=True)
    programs: Recorded | None = eqx.field(static=True)
    longest: np.ndarray

    def __repr__(self) -> str:
        """Say in a line how the members are solved."""
        return f"in lanes, {'in JAX' if self.programs is None else 'by a kernel'}"


def ways(solver: Any, flow: AbstractFlow, y0: Any, longest: Any = np.inf) -> Ways | str:
    """Find out how members of a flow can be solved in lanes, or say why not.

    Args:
        solver: a solver of diffrax.
        flow: the flow, or one of several that differ in numbers only.
        y0: shapes and types of a state.
        longest: the longest step.
    """
    if not suits(solver):
        return f"{type(solver).__name__} is no explicit Runge-Kutta method with one tableau"
    size = sum(math.prod(leaf.shape) for leaf in jax.tree.leaves(y0))
    if size > max(LARGEST, kernel.LARGEST):
        return f"a state has {size:,} entries, more than {LARGEST}"
    form = form_of(flow, y0)
    if isinstance(form, str):
        return form
    programs = _for_kernel(solver, form) if current().platform == "gpu" and kernels_on() else None
    if size > LARGEST and programs is None:
        return f"a state has {size:,} entries, more than {LARGEST}"
    return Ways(solver, form, programs, np.asarray(longest))


def _for_kernel(solver: Any, form: FlowForm) -> Recorded | None:
    """Record the steps if a kernel can be made of them."""
    try:
        programs = recorded(solver, form)
        kernel.kernel(programs, (False,) * form.numbers)
    except ProgramError:
        return None
    return programs


def observe(
    ways: Ways,
    integrator: Any,
    flows: Sequence[AbstractFlow],
    y0s: State,
    ts: Times,
    fn: Callable[[Time, State], Any],
) -> tuple[Any, State, Stats]:
    """Evaluate `fn(t, x)` at `ts` for each member, as `AbstractIntegrator.observe` does."""
    flow, axes = stacked(flows)
    settings = (integrator.rtol, integrator.atol, ways.longest, np.int32(integrator.max_steps))
    return _observed(ways, flow, axes, y0s, jnp.asarray(ts), settings, fn)


@eqx.filter_jit
def _observed(ways, flow, axes, y0s, ts, given, fn):
    form = ways.form
    leaves = jax.tree.leaves(y0s)
    members = leaves[0].shape[0]
    starts = jnp.concatenate([leaf.reshape(members, -1) for leaf in leaves], axis=1).T
    rtol, atol, longest, max_steps = given
    real = lambda a: jnp.asarray(a, form.dtype)
    rtol = jnp.maximum(real(rtol), least_rtol(y0s))
    settings = Settings(real(ts[0]), real(ts[-1]), rtol, real(atol), real(longest), max_steps)
    if ways.programs is None:
        found = plain.solved(ways.solver, form.velocity, flow, axes, starts, settings, real(ts[1:]))
    else:
        numbers = _numbers(flow, axes, form.dtype)
        found = kernel.solved(ways.programs, starts, settings, numbers, real(ts[1:]))

    def one(flow, y0, saved, final, last, counts):
        seen = jax.vmap(lambda t, y: fn(t, flow.space.project(form.restored(y))))(ts[1:], saved)
        values = jax.tree.map(lambda a, b: jnp.concatenate([jnp.asarray(a, b.dtype)[None], b]), fn(ts[0], y0), seen)
        final = form.restored(final)
        stats = _stats(counts, last, flow.space.defect(final))
        final = jax.tree.map(lambda y: jnp.where(stats.succeeded, y, jnp.nan), flow.space.project(final))
        return masked(values, ts, stats), final, stats

    return eqx.filter_vmap(one, in_axes=(axes, 0, 2, 1, 0, 1))(flow, y0s, *found)


def _numbers(flow: AbstractFlow, axes: Any, dtype: np.dtype) -> list[Array]:
    """List the entries of a flow's arrays: a column for those that each member has for itself, otherwise a number."""
    arrays = eqx.filter(flow, eqx.is_array)
    found, leaves = [], jax.tree.leaves(arrays)
    for leaf, axis in zip(leaves, jax.tree.structure(arrays).flatten_up_to(axes), strict=True):
        leaf = leaf.astype(in_type(leaf.dtype, dtype))
        entries = leaf.reshape(-1) if axis is None else leaf.reshape(leaf.shape[0], -1).T
        found += [entries[k] for k in range(entries.shape[0])]
    return found


def _stats(counts: Array, last: Array, defect: Array) -> Stats:
    """Convert the counts of a lane."""
    steps, rejected, finite, status = counts
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
