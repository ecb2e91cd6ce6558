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
from dynsim.integrators.base import Stats, masked, stacked
from dynsim.integrators.lanes import kernel, plain
from dynsim.integrators.lanes.method import DONE, SPENT, Settings, suits
from dynsim.integrators.lanes.recorded import Recorded, in_type, recorded
from dynsim.kernels import kernels_on
from dynsim.programs import ProgramError
from dynsim.systems.base import AbstractFlow

SHORT = 1500
"""Most operations of a step for lanes in JAX; compiling more takes longer than many ensembles."""


class Ways(eqx.Module):
    """How the lanes of some flows are solved: the recorded steps, in JAX or by a kernel, and the longest step."""

    programs: Recorded = eqx.field(static=True)
    by_kernel: bool = eqx.field(static=True)
    longest: np.ndarray

    def __repr__(self) -> str:
        """Say in a line how the members are solved."""
        steps = f"{len(self.programs.step.operations)} operations a step"
        return f"in lanes, {'by a kernel' if self.by_kernel else 'in JAX'}, {steps}"


def ways(solver: Any, flow: AbstractFlow, y0: Any, longest: Any = np.inf) -> Ways | str:
    """Find out how members of a flow can be solved in lanes, or say in a sentence why not.

    Args:
        solver: a solver of diffrax.
        flow: the flow, or one of several that differ in numbers only.
        y0: shapes and types of a state.
        longest: the longest step.
    """
    if not suits(solver):
        return f"{type(solver).__name__} is no explicit Runge-Kutta method with one tableau"
    try:
        programs = recorded(solver, flow, y0)
    except ProgramError as error:
        return f"the field uses {error.uses}"
    by_kernel = current().platform == "gpu" and kernels_on() and _has_kernel(programs)
    count = len(programs.step.operations)
    if count > SHORT and not by_kernel:
        return f"a step has {count:,} operations, more than {SHORT:,}"
    return Ways(programs, by_kernel, np.asarray(longest))


def _has_kernel(programs: Recorded) -> bool:
    try:
        kernel.kernel(programs, (False,) * programs.numbers)
    except ProgramError:
        return False
    return True


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
    programs = ways.programs
    dtype = programs.dtype
    leaves, structure = jax.tree.flatten(y0s)
    members = leaves[0].shape[0]
    starts = jnp.concatenate([leaf.reshape(members, -1) for leaf in leaves], axis=1).T
    rtol, atol, longest, max_steps = given
    real = lambda a: jnp.asarray(a, dtype)
    settings = Settings(ts[0].astype(dtype), ts[-1].astype(dtype), real(rtol), real(atol), real(longest), max_steps)
    arguments = (starts, tuple(settings), _numbers(flow, axes, dtype), ts[1:].astype(dtype))
    found = (kernel if ways.by_kernel else plain).solved(programs, *arguments)

    def state(column: Array) -> State:
        sizes = [math.prod(leaf.shape[1:]) for leaf in leaves]
        parts = jnp.split(column, np.cumsum(sizes)[:-1].tolist())
        shaped = [part.reshape(leaf.shape[1:]) for part, leaf in zip(parts, leaves, strict=True)]
        return jax.tree.unflatten(structure, shaped)

    def one(flow, y0, saved, final, last, counts):
        seen = jax.vmap(lambda t, y: fn(t, flow.space.project(state(y))))(ts[1:], saved)
        values = jax.tree.map(lambda a, b: jnp.concatenate([jnp.asarray(a, b.dtype)[None], b]), fn(ts[0], y0), seen)
        stats = _stats(counts, last, flow.space.defect(state(final)))
        final = jax.tree.map(lambda y: jnp.where(stats.succeeded, y, jnp.nan), flow.space.project(state(final)))
        return masked(values, ts, stats), final, stats

    axes = (axes, 0, jnp.ndim(found.saved) - 1, 1, 0, 1)
    return eqx.filter_vmap(one, in_axes=axes)(flow, y0s, *found)


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
