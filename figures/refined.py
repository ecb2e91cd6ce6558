"""Runs at more times than were saved, through the saved states, for curves without visible corners."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from analysis.dynamics.flat_states import flat_states
from dynsim.dense_output import DensePath, dense_path
from dynsim.errors import IntegrationError
from dynsim.integrators.base import AbstractIntegrator
from dynsim.systems.base import AbstractFlow
from dynsim.trajectory import Trajectory

VISIBLE = 1e-3  # of the extent of a component: a distance from a chord that is seen at the width of a page
SAME = 1e-3  # of the extent: the distance within which a second run is that which was saved
FINEST, MOST = 64, 40_000  # pieces of an interval between saved times, and of a run
ROUNDS = 16  # runs from a saved state on, each as far as it stays near the saved ones


def refined(run: Trajectory) -> Trajectory:
    """Return a run of a flow at so many times that chords between them do not show, or the run as it is.

    It is as it is for a map, with noise, after a failure, and where the chords between saved states show already. The
    states in between come from the dense output of the run's integrator; a chaotic run is begun anew at saved states.
    """
    ts, states = np.asarray(run.ts, float), flat_states(run.ys)
    pieces = _pieces(ts, states) if _has_dense_output(run) else 1
    if pieces == 1:
        return run
    shares = np.arange(pieces) / pieces
    times = np.append((ts[:-1, None] + np.diff(ts)[:, None] * shares).ravel(), ts[-1])
    begin, parts = 0, []
    for _ in range(ROUNDS):
        path, reached = _followed(run, ts, states, begin)
        if path is None or reached <= begin:
            break
        parts.append(path.states_at(times[pieces * begin : pieces * reached]))
        begin = reached
    if not parts:
        return run
    kept = np.concatenate([times[: pieces * begin], ts[begin:]])
    parts.append(jax.tree.map(lambda y: np.asarray(y)[begin:], run.ys))
    ys = jax.tree.map(lambda *rows: jnp.concatenate([jnp.asarray(row) for row in rows]), *parts)
    error = jax.tree.map(lambda e: _between(kept, ts, np.asarray(e)), run.stats.error)
    stats = eqx.tree_at(lambda stats: stats.error, run.stats, error, is_leaf=lambda part: part is None)
    return Trajectory(kept, ys, run.system, stats, run.integrator)


def _has_dense_output(run: Trajectory) -> bool:
    """Return whether the run is of a flow, came to its end, and can be repeated with a dense output."""
    if not isinstance(run.system, AbstractFlow) or run.integrator is None or not bool(run.stats.succeeded):
        return False
    return type(run.integrator).dense is not AbstractIntegrator.dense


def _pieces(ts: Float[np.ndarray, " times"], states: Float[np.ndarray, "times n"]) -> int:
    """Return into how many pieces, a power of two, intervals are divided, so that chords do not show."""
    bend = np.max(_off_chords(ts, states) / _extent(states), initial=0.0) / 4  # a chord of two intervals is 4 times off
    if not bend > VISIBLE:
        return 1
    pieces = 2 ** int(np.ceil(np.log2(np.sqrt(bend / VISIBLE)))) * 2
    return max(1, min(pieces, FINEST, MOST // (len(ts) - 1)))


def _off_chords(ts: Float[np.ndarray, " times"], states: Float[np.ndarray, "times n"]) -> Float[np.ndarray, "inner n"]:
    """Return how far each inner state is from the chord between its neighbours at its time."""
    share = ((ts[1:-1] - ts[:-2]) / (ts[2:] - ts[:-2]))[:, None]
    return np.abs(states[1:-1] - (1 - share) * states[:-2] - share * states[2:])


def _extent(states: Float[np.ndarray, "times n"]) -> Float[np.ndarray, " n"]:
    """Return the extent of each component, at least what rounding can make of it."""
    return np.maximum(np.ptp(states, axis=0), 1e-9 * (1 + np.max(np.abs(states), axis=0)))


def _followed(
    run: Trajectory, ts: Float[np.ndarray, " times"], states: Float[np.ndarray, "times n"], begin: int
) -> tuple[DensePath | None, int]:
    """Return the path from a saved state on, and the last saved time up to which it stays near the saved states."""
    if begin == len(ts) - 1:
        return None, begin
    start, ends = jax.tree.map(lambda y: y[begin], run.ys), np.asarray(run.ts)[[begin, -1]]
    try:
        path = dense_path(run.system, start, ends, run.integrator)  # pyright: ignore[reportArgumentType]
    except IntegrationError:
        return None, begin
    gap = np.max(np.abs(flat_states(path.states_at(ts[begin:])) - states[begin:]) / _extent(states), axis=1)
    left = np.flatnonzero(~(gap <= SAME))
    return path, begin + (int(left[0]) - 1 if left.size else len(gap) - 1)


def _between(times: Float[np.ndarray, " t"], ts: Float[np.ndarray, " times"], values: np.ndarray) -> np.ndarray:
    """Return values, times first, interpolated linearly."""
    rows = values.reshape(len(ts), -1)
    return np.stack([np.interp(times, ts, row) for row in rows.T], axis=1).reshape(len(times), *values.shape[1:])
