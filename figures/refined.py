"""Evaluate runs at more times than were saved, through the saved states, for curves without visible corners."""

import dataclasses
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, PyTree

from analysis.dynamics.scaling.flat import flat_states
from dynsim._core.types import State
from dynsim.errors import IntegrationError
from dynsim.integrators import Scipy
from dynsim.integrators.backwards import Backwards, decrease
from dynsim.integrators.base import AbstractIntegrator
from dynsim.integrators.fixed_step.base import steps_between
from dynsim.integrators.fixed_step.stochastic import AbstractStochastic
from dynsim.simulation.dense import DensePath, dense_path
from dynsim.simulation.hybrid_trajectory import HybridTrajectory
from dynsim.simulation.trajectory import Trajectory
from dynsim.systems.base import AbstractFlow
from dynsim.systems.noisy import NoisyFlow

VISIBLE = 1e-3  # relative to the extent of a component: a distance from a chord that is visible at the width of a page
SAME = 1e-3  # relative to the extent: a second run within this distance reproduces the saved one
FEW = 5  # fewer saved times than this do not reveal how the curve bends between them
IN_A_STEP = 4  # initial number of pieces per step of the integrator, if its steps are known
FINEST, MOST = 64, 40_000  # largest number of pieces of an interval between saved times, and of a run
# largest number of entries of all states of a run, which limits the number of states of many tokens
NUMBERS = 1_000_000
ROUNDS = 16  # largest number of restarts from a saved state, each used as long as it stays near the saved states

BISECTIONS = 24  # largest number of times that an interval is halved where the curve bends within a short time

_Part = tuple[DensePath, int, int]
"""A dense output, and the indices of the saved times between which it stays near the saved states."""


def refined(
    run: Trajectory, *, of: Callable[[State], PyTree] | None = None, integrator: AbstractIntegrator | None = None
) -> Trajectory:
    """Evaluate a run of a flow at so many times that the chords between them are not visible.

    The run is returned unchanged for a map, after a failure, and if no chords are visible anyway. The states in between
    come from an integrator's dense output. A chaotic run is restarted from saved states. A run with noise is repeated
    with the states after each of its steps, on the same Brownian path.

    Args:
        run: the run, which may have been cut at an event.
        of: what is drawn of a state; by default all of its entries.
        integrator: by default the integrator of the run, and `Scipy()` for a run that was cut at an event.
    """
    if isinstance(run.system, NoisyFlow) and isinstance(run.integrator, AbstractStochastic):
        return _at_steps(run, run.system, run.integrator)
    used = integrator or run.integrator or Scipy()
    if not _has_dense_output(run, used):
        return run
    if decrease(run.ts):
        mirrored = dataclasses.replace(run, ts=0.0 - run.ts, system=Backwards(run.system))  # pyright: ignore
        made = refined(mirrored, of=of, integrator=integrator)
        return dataclasses.replace(made, ts=0.0 - made.ts, system=run.system)
    ts, states = np.asarray(run.ts, float), flat_states(run.ys)
    most = min(MOST, NUMBERS // max(1, states.shape[1])) // (len(ts) - 1)
    pieces = min(FINEST if len(ts) < FEW else _pieces(ts, _drawn(run, of)), most)
    parts = _parts(run, ts, states, used) if pieces > 1 else []
    if not parts:
        return run
    if len(ts) < FEW:
        steps = sum(int(path.stats.num_steps) for path, *_ in parts)
        pieces = min(max(pieces, IN_A_STEP * steps), most)
    made = _divided(run, ts, parts, pieces)
    while len(ts) < FEW and 2 * pieces <= most and _bend(np.asarray(made.ts), _drawn(made, of)) > VISIBLE:
        pieces *= 2
        made = _divided(run, ts, parts, pieces)
    return _bisected(made, ts, parts, of)


def _at_steps(run: Trajectory, flow: NoisyFlow, scheme: AbstractStochastic) -> Trajectory:
    """A run with noise at the ends of its steps, or of as many as can be drawn at equal distances."""
    ts, states = np.asarray(run.ts), flat_states(run.ys)
    steps = steps_between(ts, min(scheme.step_size, flow.step_limit()))
    most = min(MOST, NUMBERS // max(1, states.shape[1])) // (len(ts) - 1)
    pieces = max((q for q in range(1, min(steps, most) + 1) if steps % q == 0), default=1)
    if pieces == 1 or scheme.key is None or run.stats.error is not None or not bool(run.stats.succeeded):
        return run
    shares = np.arange(pieces, dtype=ts.dtype) / pieces
    times = np.append((ts[:-1, None] + np.diff(ts)[:, None] * shares).ravel(), ts[-1])
    ys, stats = scheme.integrate(flow, run.initial, times)
    again = flat_states(jax.tree.map(lambda y: y[::pieces], ys))
    same = np.max(np.abs(again - states) / _extent(states)) <= SAME
    return Trajectory(times, ys, flow, stats, scheme) if same else run


def refined_phases(run: HybridTrajectory, *, of: Callable[[State], PyTree] | None = None) -> HybridTrajectory:
    """Apply `refined` to the phases of a hybrid run, with the integrator of the run if it is known."""
    integrator = getattr(run.recipe, "integrator", None)
    return dataclasses.replace(run, phases=tuple(refined(p, of=of, integrator=integrator) for p in run.phases))


def _has_dense_output(run: Trajectory, used: AbstractIntegrator) -> bool:
    """Whether a run of a flow was completed and can be repeated with dense output."""
    if not isinstance(run.system, AbstractFlow) or isinstance(run.system, NoisyFlow) or not bool(run.stats.succeeded):
        return False
    return type(used).dense is not AbstractIntegrator.dense


def _drawn(run: Trajectory, of: Callable[[State], PyTree] | None) -> Float[np.ndarray, "times n"]:
    """What is drawn of the states, as rows."""
    return flat_states(run.ys if of is None else run.along(of))


def _pieces(ts: Float[np.ndarray, " times"], values: Float[np.ndarray, "times n"]) -> int:
    """Number of pieces, a power of two, into which to divide intervals so that chords are not visible."""
    bend = _bend(ts, values)
    if not bend > VISIBLE:
        return 1
    pieces = 2 ** int(np.ceil(np.log2(np.sqrt(bend / VISIBLE)))) * 2
    return min(pieces, FINEST)


def _bend(ts: Float[np.ndarray, " times"], values: Float[np.ndarray, "times n"]) -> float:
    """Distance of curves from the chords between neighbours, relative to their extent."""
    away = _off_chords(ts, values) / _extent(values)
    return float(np.max(away, initial=0.0)) / 4  # a chord over two intervals is four times as far off


def _parts(
    run: Trajectory, ts: Float[np.ndarray, " times"], states: Float[np.ndarray, "times n"], used: AbstractIntegrator
) -> list[_Part]:
    """Dense outputs from the start on, each as far as it stays near the saved states."""
    begin, parts = 0, []
    for _ in range(ROUNDS):
        path, reached = _followed(run, ts, states, begin, used)
        if path is None or reached <= begin:
            break
        parts.append((path, begin, reached))
        begin = reached
    return parts


def _divided(run: Trajectory, ts: Float[np.ndarray, " times"], parts: list[_Part], pieces: int) -> Trajectory:
    """The run with states from dense outputs at times that divide the intervals into pieces."""
    shares = np.arange(pieces) / pieces
    times = (ts[:-1, None] + np.diff(ts)[:, None] * shares).ravel()
    end = parts[-1][2]
    rows = [path.states_at(times[pieces * begin : pieces * reached]) for path, begin, reached in parts]
    rows.append(jax.tree.map(lambda y: np.asarray(y)[end:], run.ys))
    ys = jax.tree.map(lambda *kept: jnp.concatenate([jnp.asarray(row) for row in kept]), *rows)
    kept = np.concatenate([times[: pieces * end], ts[end:]])
    error = jax.tree.map(lambda e: _between(kept, ts, np.asarray(e)), run.stats.error)
    stats = eqx.tree_at(lambda stats: stats.error, run.stats, error, is_leaf=lambda part: part is None)
    return Trajectory(kept, ys, run.system, stats, run.integrator)


def _bisected(
    made: Trajectory, ts: Float[np.ndarray, " times"], parts: list[_Part], of: Callable[[State], PyTree] | None
) -> Trajectory:
    """The run with more states where it bends within a short time, as in the jumps of a relaxation oscillation."""
    ends = np.array([ts[reached] for _, _, reached in parts])
    for _ in range(BISECTIONS):
        at, rows = np.asarray(made.ts, float), _drawn(made, of)
        bent = 1 + np.flatnonzero(np.max(_off_chords(at, rows) / _extent(rows), axis=1) > 4 * VISIBLE)
        split = np.unique(np.concatenate([bent - 1, bent]))
        middles = (at[split] + at[split + 1]) / 2
        split = split[(at[split + 1] <= ends[-1]) & (middles > at[split]) & (middles < at[split + 1])]
        if not split.size or (len(at) + split.size) * rows.shape[1] > min(MOST * rows.shape[1], NUMBERS):
            break
        middles = (at[split] + at[split + 1]) / 2
        owners = np.searchsorted(ends, middles)
        found = [parts[k][0].states_at(middles[owners == k]) for k in np.unique(owners)]
        states = jax.tree.map(lambda *rows: np.concatenate([np.asarray(row) for row in rows]), *found)
        made = _inserted(made, split + 1, middles, states)
    return made


def _inserted(made: Trajectory, places: np.ndarray, times: np.ndarray, states: State) -> Trajectory:
    """The run with states at further times, inserted before these places."""
    ys = jax.tree.map(lambda y, new: np.insert(np.asarray(y), places, new, axis=0), made.ys, states)
    ts = np.asarray(made.ts, float)
    kept = np.insert(ts, places, times)
    error = jax.tree.map(lambda e: _between(kept, ts, np.asarray(e)), made.stats.error)
    stats = eqx.tree_at(lambda stats: stats.error, made.stats, error, is_leaf=lambda part: part is None)
    return Trajectory(kept, ys, made.system, stats, made.integrator)


def _off_chords(ts: Float[np.ndarray, " times"], states: Float[np.ndarray, "times n"]) -> Float[np.ndarray, "inner n"]:
    """Distance of each inner state from the chord between its neighbours, at its time."""
    width = ts[2:] - ts[:-2]  # zero where an interval has no room for more floats
    share = ((ts[1:-1] - ts[:-2]) / np.where(width > 0, width, 1.0))[:, None]
    return np.abs(states[1:-1] - (1 - share) * states[:-2] - share * states[2:])


def _extent(states: Float[np.ndarray, "times n"]) -> Float[np.ndarray, " n"]:
    """Extent of each component, at least the size of rounding errors."""
    return np.maximum(np.ptp(states, axis=0), 1e-9 * (1 + np.max(np.abs(states), axis=0)))


def _followed(
    run: Trajectory,
    ts: Float[np.ndarray, " times"],
    states: Float[np.ndarray, "times n"],
    begin: int,
    used: AbstractIntegrator,
) -> tuple[DensePath | None, int]:
    """Path from a saved state on, and the last saved time up to which it stays near the saved states."""
    if begin == len(ts) - 1:
        return None, begin
    start, ends = jax.tree.map(lambda y: y[begin], run.ys), np.asarray(run.ts)[[begin, -1]]
    try:
        path = dense_path(run.system, start, ends, used)  # pyright: ignore[reportArgumentType]
    except IntegrationError:
        return None, begin
    gap = np.max(np.abs(flat_states(path.states_at(ts[begin:])) - states[begin:]) / _extent(states), axis=1)
    left = np.flatnonzero(~(gap <= SAME))
    return path, begin + (int(left[0]) - 1 if left.size else len(gap) - 1)


def _between(times: Float[np.ndarray, " t"], ts: Float[np.ndarray, " times"], values: np.ndarray) -> np.ndarray:
    """Interpolate values, times first, linearly."""
    rows = values.reshape(len(ts), -1)
    return np.stack([np.interp(times, ts, row) for row in rows.T], axis=1).reshape(len(times), *values.shape[1:])
