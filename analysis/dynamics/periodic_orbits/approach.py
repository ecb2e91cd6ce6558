"""Follow a trajectory by an implicit method until it repeats itself, and compute the orbit that it approaches."""

import contextlib
import warnings
from typing import Any, NamedTuple

import jax
import numpy as np

from analysis.dynamics.collocation.intervals import CycleField
from analysis.dynamics.periodic_orbits.collocated_orbit import known_sizes, sampled_guess
from analysis.dynamics.periodic_orbits.shooting import PeriodicOrbit, orbit_on_mesh
from analysis.dynamics.scaling.flat import extents, flat_state, flat_states, states_like
from dynsim._core.printing import one_line, report
from dynsim._core.types import State
from dynsim.errors import ArgumentError
from dynsim.spaces.base import nearest
from dynsim.systems.base import AbstractFlow

# Relative tolerance of the trajectory, and its absolute tolerance relative to the ranges of the components.
RTOL, ATOL = 1e-6, 1e-8
# Steps of the first piece, after which a return is looked for; the whole trajectory doubles from piece to piece.
PIECE = 256
# Places in a step at which the distance from the last state is compared, more than the solver's steps in a fast part.
INSIDE = 6
# Distance from the last state, relative to the ranges, at which places are refined, and at which a state is a return.
CLOSE, RETURNED = 0.05, 1e-3
# Accuracy of the time of a return, relative to the places between which it lies.
EXACT = 1e-9
# Most returns of a piece from which an orbit is computed: it may have a period of several turns.
TRIES = 3
# Most turns after which a trajectory comes back for the first time that are told from one.
TURNS = 16
# Largest distance of the trajectory from the orbit, relative to its ranges; Newton's method may lead to another one.
NEAR = 0.05
# Motion in the last quarter of a piece, relative to the ranges of the whole trajectory, that counts as rest.
REST = 1e-6
# Size of a state, relative to the start and one, at which a trajectory is given up.
ESCAPED = 1e8


class Approach(NamedTuple):
    """Where a trajectory has come to.

    Attributes:
        orbit: the stable periodic orbit that it approaches, None if it is not known to approach one.
        state: its last state.
        time: how long it was followed.
        rests: whether its last state is at rest, up to the errors of the solver.
    """

    orbit: PeriodicOrbit | None
    state: State
    time: float
    rests: bool = False

    __repr__ = one_line
    __str__ = report


def approach(flow: AbstractFlow, start: State, steps: int) -> Approach:
    """Follow a trajectory of an autonomous flow on a flat space until it repeats itself, or comes to rest.

    An implicit method takes as few steps for stiff flows as for others, so that the number of steps measures how much
    a trajectory does. The orbit is computed by collocation from the state that comes back.

    Args:
        flow: the flow, with a smooth field.
        start: the first state.
        steps: largest number of steps.
    """
    field, x, time = CycleField(flow, None, start), flat_state(start), 0.0
    angles, here = flat_state(flow.space.periods(start)), start
    limit, ranges, left, size = ESCAPED * (1 + float(np.max(np.abs(x)))), np.zeros(len(x)), steps, PIECE
    while left > 0:
        path = _piece(field, x, ranges, min(size, left), limit)
        if path is None:
            break
        rows = path(path.ts).T
        x, time, left, size = rows[-1], time + float(path.t_max), left - len(path.interpolants), 2 * size
        ranges, here = np.maximum(ranges, np.ptp(rows, axis=0)), _first(states_like(start, x[None]))
        if np.all(np.ptp(rows[-len(rows) // 4 :], axis=0) <= REST * ranges):
            return Approach(None, here, time, rests=True)
        sizes = np.minimum(extents(rows), angles)  # angles may have turned many times
        for began in _returns(path, x, sizes, angles)[:TRIES]:
            guess = sampled_guess(path, np.append(began, path.ts[path.ts > began]))
            with contextlib.suppress(ArgumentError, np.linalg.LinAlgError):
                orbit = orbit_on_mesh(flow, here, guess, guess.period)
                if orbit.stability == "stable" and _is_on(orbit, x, angles):
                    return Approach(_of_one_turn(flow, here, path, orbit, angles), here, time)
    return Approach(None, here, time)


def _first(states: State) -> State:
    return jax.tree.map(lambda part: part[0], states)


def _piece(field: CycleField, x: np.ndarray, ranges: np.ndarray, steps: int, limit: float) -> Any:
    """Follow a trajectory for a number of steps; None if the solver fails or a component exceeds a limit."""
    import scipy.integrate

    still = np.zeros(())
    velocity = lambda t, y: field.at(np.asarray(t), y, still)[0]
    derivative = lambda t, y: field.at(np.asarray(t), y, still)[1][:, :-1]
    atol: Any = ATOL * np.where(ranges > 0, ranges, known_sizes(x))
    ts, inside = [0.0], []
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of singular matrices in steps that are then rejected
        if not np.all(np.isfinite(velocity(0.0, x))):
            return None
        solver = scipy.integrate.Radau(velocity, 0.0, x, np.inf, rtol=RTOL, atol=atol, jac=derivative)
        for _ in range(steps):
            try:
                solver.step()
            except ValueError:  # the derivative is not finite
                return None
            if solver.status != "running" or not np.max(np.abs(solver.y)) <= limit:
                return None
            ts.append(solver.t)
            inside.append(solver.dense_output())
    return scipy.integrate.OdeSolution(ts, inside)


def _returns(path: Any, x: np.ndarray, sizes: np.ndarray, angles: np.ndarray) -> list[float]:
    """Compute the times at which a trajectory was where it ends, the latest first.

    Before a return it was away by a quarter of its largest distance. On its way to an orbit this may be larger than the
    orbit, so that turns are skipped: what came after the latest return that is found is searched again.
    """
    import scipy.optimize

    apart = lambda t: np.linalg.norm(nearest(path(t).T - x, angles) / sizes, axis=-1)
    times = np.append(
        (path.ts[:-1, None] + np.diff(path.ts)[:, None] * (np.arange(INSIDE) / INSIDE)).ravel(), path.t_max
    )
    gaps, first, found = apart(times), 0, []
    while True:
        last = first + int(np.max(np.flatnonzero(gaps[first:] > np.max(gaps[first:]) / 4), initial=0))
        inner = np.arange(first + 1, max(last, first + 1))
        near = inner[(gaps[inner] <= gaps[inner - 1]) & (gaps[inner] < gaps[inner + 1]) & (gaps[inner] <= CLOSE)]
        later = []
        for low, high in zip(times[near - 1], times[near + 1], strict=True):
            options = {"xatol": EXACT * (high - low)}
            best: Any = scipy.optimize.minimize_scalar(apart, bounds=(low, high), method="bounded", options=options)
            later += [float(best.x)] if best.fun <= RETURNED else []
        if not later:
            return found
        found, first = [*later[::-1], *found], int(np.searchsorted(times, later[-1], side="right"))


def _of_one_turn(flow: AbstractFlow, here: State, path: Any, orbit: PeriodicOrbit, angles: np.ndarray) -> PeriodicOrbit:
    """Replace an orbit that is closed after several turns by that of one turn.

    A trajectory that spirals towards an orbit may come back to its last state after several turns only.
    """
    rows, times = flat_states(orbit.nodes), np.append(np.asarray(orbit.times), 1.0)
    sizes = extents(rows)
    whole = np.vstack([rows, rows[-1] + nearest(rows[0] - rows[-1], angles)])
    for turns in range(TURNS, 1, -1):
        then = np.array([np.interp(1 / turns, times, one) for one in whole.T])
        if np.linalg.norm(nearest(then - rows[0], angles) / np.minimum(sizes, angles)) <= NEAR:
            began = path.t_max - orbit.period / turns
            guess = sampled_guess(path, np.append(began, path.ts[path.ts > began]))
            with contextlib.suppress(ArgumentError, np.linalg.LinAlgError):
                one = orbit_on_mesh(flow, here, guess, guess.period)
                if one.stability == "stable" and abs(turns * one.period / orbit.period - 1) <= RETURNED:
                    return one
    return orbit


def _is_on(orbit: PeriodicOrbit, x: np.ndarray, angles: np.ndarray) -> bool:
    """Test whether a state lies on an orbit, on the chords between its nodes."""
    rows = flat_states(orbit.nodes)
    sizes = extents(rows)
    chords = nearest(np.roll(rows, -1, axis=0) - rows, angles) / sizes
    away = nearest(x - rows, angles) / sizes
    along = np.clip(np.sum(away * chords, axis=1) / np.maximum(np.sum(chords**2, axis=1), 1e-300), 0.0, 1.0)
    return float(np.min(np.linalg.norm(away - along[:, None] * chords, axis=1))) <= NEAR
