"""Solve where a trajectory slides on a surface on which the field jumps, and other solvers take ever smaller steps."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.flatten_util import ravel_pytree
from jaxtyping import Array

from dynsim._core.host import filled, room_for
from dynsim._core.types import State, Times
from dynsim.errors import Outcome
from dynsim.integrators.base import Stats, masked
from dynsim.integrators.switched_field import SwitchedField, switched_field
from dynsim.integrators.switched_solver import switched_over
from dynsim.integrators.time_structure import longest_step
from dynsim.systems.base import AbstractFlow

STUCK = (Outcome.MAX_STEPS, Outcome.STEP_UNDERFLOW)


def slid(flow: AbstractFlow, y0: State, ts: Times, rtol: Any, stats: Stats) -> tuple[State, Stats, str] | None:
    """Solve again, by Filippov's convention, what a solver could not, if the trajectory slides on a surface.

    Give the states at times, statistics, and why the trajectory cannot be followed, or an empty text. It is None for
    other trajectories. The absolute tolerance is a hundredth of the relative one. It is solved in float64.
    """
    traced = any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves((y0, ts, stats, eqx.filter(flow, eqx.is_array))))
    if traced or int(stats.outcome) not in STUCK:
        return None
    flat, restored = ravel_pytree(y0)
    y0 = jax.tree.map(lambda leaf: leaf.astype(float), y0)
    field = switched_field(flow, y0)
    if field is None:
        return None
    times, start = jnp.asarray(ts, float), jnp.asarray(flat, float)
    found, slides = _over(field, start, times, jnp.asarray(rtol, float), longest_step(flow, y0))
    rows, steps, failed, blocked = map(np.asarray, found)
    if not bool(slides):
        return None
    reached = int(np.argmax(failed | blocked)) if np.any(failed | blocked) else len(rows)
    ends = Outcome.FINISHED if reached == len(rows) else Outcome.MAX_STEPS
    ys = jax.vmap(restored)(jnp.asarray(np.concatenate([np.asarray(flat)[None], rows]), flat.dtype))
    last = times[min(reached, len(rows))].astype(flat.dtype)
    stats = Stats(ends is Outcome.FINISHED, int(ends), int(np.sum(steps)), 0, jnp.zeros((), flat.dtype), last)
    return masked(ys, jnp.asarray(ts), stats), stats, f"{field.blocked()}." if np.any(blocked) else ""


def sliding_paths(flow: AbstractFlow, starts: np.ndarray, ts: np.ndarray, rtol: float) -> np.ndarray | None:
    """Solve from many vectors, with sliding, (starts, times, d), NaN after a failure; None without any surface."""
    field = switched_field(flow, jnp.zeros(starts.shape[1:]))
    if field is None:
        return None
    given = jnp.asarray(filled(np.asarray(starts, float), room_for(len(starts))))
    limit = jnp.asarray(longest_step(flow, jnp.zeros(starts.shape[1:])))
    rows = np.asarray(_paths(field, given, jnp.asarray(ts, float), jnp.asarray(rtol, float), limit))[: len(starts)]
    return np.concatenate([np.asarray(starts, float)[:, None], rows], axis=1)


@eqx.filter_jit
def _paths(field: SwitchedField, starts: Array, ts: Array, rtol: Array, longest: Array) -> Array:
    return jax.vmap(lambda x: _over(field, x, ts, rtol, longest)[0][0])(starts)


def jumping(flow: AbstractFlow, y0: State, stats: Stats | None = None) -> str:
    """Say where the field may jump, as a cause of ever smaller steps, or give an empty text."""
    if stats is not None and int(stats.outcome) not in STUCK:
        return ""
    field = switched_field(flow, y0)
    said = "The field may jump where {}: a trajectory that slides there has no events here; `simulate` follows it."
    return "" if field is None else said.format(field.named())


@eqx.filter_jit
def _over(
    field: SwitchedField, x: Array, ts: Array, rtol: Array, longest: Any
) -> tuple[tuple[Array, Array, Array, Array], Array]:
    """The states at times after the first one, with steps and failures of each interval, and whether it slides."""

    def once(carry: tuple[Array, Array], ends: tuple[Array, Array]) -> tuple[tuple[Array, Array], tuple]:
        x, slides = carry
        begin, end = ends
        found = switched_over(field, begin, end, (end - begin) / 4, x, jnp.zeros((x.shape[0], 0)), rtol, longest)
        x = jnp.where(found.failed | found.blocked, jnp.nan, found.x)
        return (x, slides | found.slid), (x, found.steps, found.failed, found.blocked)

    (_, slides), found = jax.lax.scan(once, (x, jnp.asarray(False)), (ts[:-1], ts[1:]))
    return found, slides
