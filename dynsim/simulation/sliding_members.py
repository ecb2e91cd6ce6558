"""Members of an ensemble that slide on surfaces on which their field jumps, solved by Filippov's convention."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from dynsim._core.types import State
from dynsim.integrators.base import Event, Stats, ended_by, masked
from dynsim.integrators.sliding import STUCK, slid, slid_until
from dynsim.systems.base import AbstractFlow


def with_sliding(
    found: Any, flow: Callable[[int], AbstractFlow], start: Callable[[int], State], ts: Any, rtol: Any,
    watched: Callable[[State], Any], events: Sequence[Event] = (),
) -> tuple[Any, np.ndarray]:  # fmt: skip
    """Replace members that a solver could not follow because they slide; also give the places of others that failed.

    With events, a member ends at its first one.

    Args:
        found: values, final states and statistics of the members, which are first axes.
        flow: the flow of the member at a place.
        start: its initial state.
        ts: the times, increasing.
        rtol: the relative tolerance.
        watched: the values of states at all times.
        events: the events that end a member.
    """
    outcomes = found[2].outcome
    none = np.empty(0, int)
    if isinstance(outcomes, Tracer):
        return found, none
    others = []
    for k in np.flatnonzero(np.isin(np.asarray(outcomes), [int(outcome) for outcome in STUCK])).tolist():
        stats = jax.tree.map(lambda a, k=k: np.asarray(a)[k], found[2])
        again = member_that_slides(flow(k), start(k), ts, rtol, stats, events)
        if again is None:
            others.append(k)
        elif again[2].succeeded:
            ys, final, stats = again
            one = masked(watched(ys), jnp.asarray(ts), stats), final, stats
            found = replaced(found, np.array([k]), jax.tree.map(lambda a: np.asarray(a)[None], one))
    return found, np.array(others, int)


def member_that_slides(
    flow: AbstractFlow, y0: State, ts: Any, rtol: Any, stats: Stats, events: Sequence[Event]
) -> tuple[State, State, Stats] | None:
    """Solve one member that slides: its states, the final state, and statistics; None for one that does not slide."""
    if not events:
        again = slid(flow, y0, ts, rtol, stats)
        return None if again is None else (again[0], jax.tree.map(lambda y: y[-1], again[0]), again[1])
    if int(stats.outcome) not in STUCK:
        return None
    until = slid_until(flow, y0, ts, events, rtol)
    if until is None:
        return None
    ys, stats, end, final, fired = until
    final = jax.tree.map(lambda y, given: jnp.asarray(y, given.dtype), final, y0)
    stats = dataclasses.replace(stats, last_time=jnp.asarray(end, np.asarray(ts).dtype))
    return ys, final, ended_by(stats, fired[0] if fired else -1, True, end)


def replaced(found: Any, places: np.ndarray, rows: Any) -> Any:
    """Replace rows of arrays, on the host to avoid compilation."""

    def put(old: Any, new: Any) -> Any:
        kept = np.array(old)
        kept[places] = np.asarray(new)
        return jnp.asarray(kept)

    return jax.tree.map(put, found, rows)
