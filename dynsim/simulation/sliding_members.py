"""Members of an ensemble that slide on surfaces on which their field jumps, solved by Filippov's convention."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from dynsim._core.types import State
from dynsim.integrators.base import masked
from dynsim.integrators.sliding import STUCK, slid
from dynsim.systems.base import AbstractFlow


def with_sliding(
    found: Any, flow: Callable[[int], AbstractFlow], start: Callable[[int], State], ts: Any, rtol: Any,
    watched: Callable[[State], Any],
) -> tuple[Any, np.ndarray]:  # fmt: skip
    """Replace members that a solver could not follow because they slide; also give the places of others that failed.

    Args:
        found: values, final states and statistics of the members, which are first axes.
        flow: the flow of the member at a place.
        start: its initial state.
        ts: the times, increasing.
        rtol: the relative tolerance.
        watched: the values of states at all times.
    """
    outcomes = found[2].outcome
    none = np.empty(0, int)
    if isinstance(outcomes, Tracer):
        return found, none
    others = []
    for k in np.flatnonzero(np.isin(np.asarray(outcomes), [int(outcome) for outcome in STUCK])).tolist():
        again = slid(flow(k), start(k), ts, rtol, jax.tree.map(lambda a, k=k: np.asarray(a)[k], found[2]))
        if again is None:
            others.append(k)
        elif not again[2]:
            ys, stats, _ = again
            one = masked(watched(ys), jnp.asarray(ts), stats), jax.tree.map(lambda y: y[-1], ys), stats
            found = replaced(found, np.array([k]), jax.tree.map(lambda a: np.asarray(a)[None], one))
    return found, np.array(others, int)


def replaced(found: Any, places: np.ndarray, rows: Any) -> Any:
    """Replace rows of arrays, on the host to avoid compilation."""

    def put(old: Any, new: Any) -> Any:
        kept = np.array(old)
        kept[places] = np.asarray(new)
        return jnp.asarray(kept)

    return jax.tree.map(put, found, rows)
