"""Many trajectories of a field at once by NumPy, each with steps of its own: the method DOP853."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from dynsim.integrators.dop853 import (
    DENSE,
    EXPONENT,
    EXTENDED,
    FIFTH,
    LEAST,
    MOST,
    REJECTIONS,
    SAFETY,
    STAGES,
    THIRD,
    A,
    C,
    between,
)

Field = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""A field of the numbers of some members, their times and their states (n, members), components first."""


ROUNDS = 40
"""Steps after which it is looked whether members have settled."""
NEAR, SLOW = 100.0, 0.01
"""Distance in tolerances, and relative to the time, within which a member has settled."""


class SolverSteps(NamedTuple):
    """Accepted steps in the order in which they were taken, each of one member.

    States are (n, steps). `stages` are those of the method and the field at the end, (stages, n, steps).
    """

    member: np.ndarray
    begin: np.ndarray
    length: np.ndarray
    state: np.ndarray
    stages: np.ndarray


class FollowedStates(NamedTuple):
    """Trajectories: last states, NaN for those that could not be followed, and the numbers of their steps.

    Those that are `resting` have come to rest before the end, and stay where they are.
    """

    ends: Float[np.ndarray, "members n"]
    succeeded: Bool[np.ndarray, " members"]
    counts: np.ndarray
    steps: SolverSteps | None
    resting: Bool[np.ndarray, " members"]


class _Running:
    """The members that have not arrived: their times, states, fields, next steps and rejections in a row."""

    def __init__(self, field: Field, begin: np.ndarray, y: np.ndarray, ends: np.ndarray, rtol: float, atol: float):
        self.which = np.arange(y.shape[1])
        self.t, self.y, self.ends = begin.copy(), y, ends
        self.f = field(self.which, self.t, self.y)
        self.rejected = np.zeros(y.shape[1], int)
        self.h = _first_steps(field, self.which, self.t, self.y, self.f, ends - begin, rtol, atol)

    def keep(self, going: np.ndarray) -> None:
        """Keep the selected members only."""
        for name in ("which", "t", "y", "ends", "f", "rejected", "h"):
            setattr(self, name, getattr(self, name)[..., going])


def follow(
    field: Field,
    starts: np.ndarray,
    begins: np.ndarray,
    durations: np.ndarray,
    *,
    rtol: float,
    atol: float,
    max_steps: int = 100_000,
    keep: bool = False,
    settles: bool = False,
    far: float = np.inf,
) -> FollowedStates:
    """Follow a field from some states over some times.

    Args:
        field: the field; it may return infinities and NaN, and steps to these are rejected.
        starts: a state for each member.
        begins: the time of each start.
        durations: the time over which each is followed, positive.
        rtol: the relative tolerance of the error in the mean square of a step.
        atol: the absolute tolerance.
        max_steps: the most accepted steps of a member.
        keep: whether the steps are kept, for `sampled`.
        settles: whether members stop where they no longer come further, as at an equilibrium that curves of nearly
            unit speed reach: they would take many short steps there.
        far: the size of a component beyond which a member is given up.
    """
    y = np.array(starts, float).T.copy()
    running = _Running(field, np.asarray(begins, float), y, np.asarray(begins + durations, float), rtol, atol)
    ends, counts, kept = np.full_like(y, np.nan), np.zeros(len(starts), int), []
    resting, rounds = np.zeros(len(starts), bool), 0
    before = [running.t.copy(), y.copy()]
    with np.errstate(all="ignore"):
        running.keep(np.all(np.isfinite(running.f) & np.isfinite(y), axis=0))
        while len(running.which):
            step, accepted, last = _stepped(field, running, rtol, atol)
            if keep:
                kept.append(step)
            counts[step.member] += 1
            rounds += 1
            if settles and rounds % ROUNDS == 0:
                still = ~last & _rest(running, before[0][running.which], before[1][:, running.which], rtol, atol)
                resting[running.which[still]] = True
                last = last | still
                before[0][running.which], before[1][:, running.which] = running.t, running.y
            ends[:, running.which[last]] = running.y[:, last]
            stuck = (running.rejected > REJECTIONS) | (running.h < 8 * np.spacing(np.abs(running.t)))
            stuck |= (counts[running.which] >= max_steps) | (np.max(np.abs(running.y), axis=0) > far)
            if np.any(last | stuck):
                running.keep(~last & ~stuck)
    steps = SolverSteps(*(np.concatenate(parts, axis=-1) for parts in zip(*kept, strict=True))) if kept else None
    return FollowedStates(ends.T, np.all(np.isfinite(ends), axis=0), counts, steps, resting)


def _rest(running: _Running, t: np.ndarray, y: np.ndarray, rtol: float, atol: float) -> np.ndarray:
    """Tell which members have moved since earlier times by about their errors, and little for the time."""
    moved = np.max(np.abs(running.y - y), axis=0)
    return (moved < NEAR * (atol + rtol * np.max(np.abs(y), axis=0))) & (moved < SLOW * (running.t - t))


def _stepped(field: Field, running: _Running, rtol: float, atol: float) -> tuple[SolverSteps, np.ndarray, np.ndarray]:
    """Try a step of every member; return those that were accepted, which these are, and which members have arrived."""
    which, t, y = running.which, running.t, running.y
    left = running.ends - t
    last = running.h >= left * (1 - 1e-12)
    h = np.where(last, left, running.h)
    K = np.empty((STAGES + 1, *y.shape))
    K[0] = running.f
    for s in range(1, STAGES):
        K[s] = field(which, t + C[s] * h, y + h * _combined(A[s, :s], K[:s]))
    after, until = y + h * _combined(A[STAGES, :STAGES], K[:STAGES]), np.where(last, running.ends, t + h)
    K[STAGES] = field(which, until, after)
    error = _error(K, h, atol + rtol * np.maximum(np.abs(y), np.abs(after)))
    error = np.where(np.all(np.isfinite(after) & np.isfinite(K[STAGES]), axis=0), error, np.inf)
    accepted = error < 1
    factor = np.clip(SAFETY * np.maximum(error, 1e-30) ** EXPONENT, LEAST, MOST)
    factor = np.where(accepted & (running.rejected == 0), factor, np.minimum(factor, 1.0))
    step = SolverSteps(which[accepted], t[accepted], h[accepted], y[:, accepted], K[..., accepted])
    running.h = h * np.where(np.isfinite(error), factor, LEAST)
    running.rejected = np.where(accepted, 0, running.rejected + 1)
    running.t = np.where(accepted, until, t)
    running.y = np.where(accepted, after, y)
    running.f = np.where(accepted, K[STAGES], running.f)
    return step, accepted, last & accepted


def _combined(weights: np.ndarray, K: np.ndarray) -> np.ndarray:
    return (weights @ K.reshape(len(K), -1)).reshape(K.shape[1:])


def _error(K: np.ndarray, h: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Estimate the local error of each member, relative to the tolerance."""
    fifth, third = (np.mean((_combined(w, K) / scale) ** 2, axis=0) for w in (FIFTH, THIRD))
    both = fifth + 0.01 * third
    return np.where(both > 0, np.abs(h) * fifth / np.sqrt(np.where(both > 0, both, 1.0)), both)


def _first_steps(
    field: Field, which: np.ndarray, t: np.ndarray, y: np.ndarray, f: np.ndarray, left: np.ndarray,
    rtol: float, atol: float,
) -> np.ndarray:  # fmt: skip
    """Choose initial step sizes from the field and its change, by the method of Hairer, Norsett and Wanner."""
    with np.errstate(all="ignore"):
        scale = atol + rtol * np.abs(y)
        mean = lambda v: np.sqrt(np.mean((v / scale) ** 2, axis=0))
        size, speed = mean(y), mean(f)
        h = np.where((size < 1e-5) | (speed < 1e-5), 1e-6, 0.01 * size / speed)
        h = np.minimum(h, left)
        change = mean(field(which, t + h, y + h * f) - f) / h
        steep = np.maximum(speed, change)
        second = np.where(steep <= 1e-15, np.maximum(1e-6, 1e-3 * h), (0.01 / steep) ** -EXPONENT)
        found = np.minimum(np.minimum(100 * h, second), left)
    return np.where(np.isfinite(found) & (found > 0), found, np.minimum(1e-6, left))


def sampled(
    field: Field, followed: FollowedStates, starts: np.ndarray, begins: np.ndarray, ts: np.ndarray
) -> Float[np.ndarray, "members times n"]:
    """Interpolate the states at some times from the kept steps; NaN after a failure."""
    count, n = starts.shape
    found = np.full((count, len(ts), n), np.nan)
    found[:, 0] = starts
    steps = followed.steps
    if steps is None:
        return found
    order = np.lexsort((steps.begin, steps.member))
    edges = np.searchsorted(steps.member[order], np.arange(count + 1))
    rows, members, places = [], [], []
    for k in range(count):
        own = order[edges[k] : edges[k + 1]]
        times = begins[k] + ts[1:]
        reached = times <= (steps.begin[own[-1]] + steps.length[own[-1]]) * (1 + 1e-15) if len(own) else times < times
        near = np.flatnonzero(reached)
        rows.append(own[np.maximum(np.searchsorted(steps.begin[own], times[near], side="right") - 1, 0)])
        members.append(np.full(len(near), k))
        places.append(near + 1)
    row, member, place = (np.concatenate(parts).astype(int) for parts in (rows, members, places))
    needed, index = np.unique(row, return_inverse=True)
    F = _polynomials(field, steps, needed)
    x = (begins[member] + ts[place] - steps.begin[row]) / steps.length[row]
    found[member, place] = between(steps.state[:, row], F[..., index], x).T
    still = followed.resting[:, None] & np.isnan(found).all(axis=2)
    return np.where(still[..., None], followed.ends[:, None], found)


def _polynomials(field: Field, steps: SolverSteps, needed: np.ndarray) -> np.ndarray:
    """Compute the coefficients of the dense output of some steps, (7, n, steps)."""
    which, t, h, y = steps.member[needed], steps.begin[needed], steps.length[needed], steps.state[:, needed]
    K = np.empty((EXTENDED, *y.shape))
    K[: STAGES + 1] = steps.stages[..., needed]
    with np.errstate(all="ignore"):
        for s in range(STAGES + 1, EXTENDED):
            K[s] = field(which, t + C[s] * h, y + h * _combined(A[s, :s], K[:s]))
        return np.stack([h * _combined(row, K) for row in DENSE])
