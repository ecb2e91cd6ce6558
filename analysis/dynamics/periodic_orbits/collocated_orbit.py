"""Compute a single periodic orbit by collocation from a guess of a state and the period."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from analysis.dynamics.collocation.intervals import CycleField
from analysis.dynamics.collocation.solver import (
    LAST,
    MOST,
    BoundaryProblem,
    Collocated,
    collocated,
    gauss_points,
    periodic,
)
from dynsim._core.printing import one_line, report
from dynsim.errors import ArgumentError
from dynsim.spaces.base import nearest

# Fewest intervals with which an orbit is begun, the relative tolerance of the trajectory that is its guess, and the
# number of its steps in an interval.
FEWEST, GUESS, SHORTER = 20, 1e-6, 4
# Largest factor between the guess of a period and the time at which the trajectory from the guess comes back.
RETURNS = 1.5
# Number of places in a step of the trajectory at which its distance from the start is compared.
INSIDE = 9
# Share of the mean density of a first mesh that every part of an orbit has.
EVENLY = 0.25
# Size of a component that is zero at the start, relative to the largest one.
UNKNOWN = 1e-3


class OrbitGuess(NamedTuple):
    """Trajectory that nearly comes back, on a mesh from 0 to 1.

    Attributes:
        mesh: ends of the intervals, as shares of the duration.
        nodes: states at these, (N + 1, n).
        stages: states at the Gauss points of the intervals, (N, stages, n).
        period: the duration.
    """

    mesh: np.ndarray
    nodes: np.ndarray
    stages: np.ndarray
    period: float

    __repr__ = one_line
    __str__ = report

    def scaled(self, sizes: Float[np.ndarray, " n"], time: float) -> "OrbitGuess":
        """Convert to units of the components and of time."""
        return OrbitGuess(self.mesh, self.nodes / sizes, self.stages / sizes, self.period / time)


def collocated_orbit(
    field: CycleField, guess: OrbitGuess, angles: Float[np.ndarray, " n"], *, forced: bool, accuracy: float
) -> Collocated:
    """Compute a periodic orbit on a mesh on which the relative error of its states is below an accuracy.

    Args:
        field: the field.
        guess: a guess of the orbit, which has the period of a forced flow.
        angles: periods of the angles among the components, infinite for the others.
        forced: whether the period is fixed.
        accuracy: the largest error, relative to the ranges of the states.

    Raises:
        ValueError: if Newton's method leads to no orbit, or the orbit needs more than 400 intervals.
    """
    away = guess.nodes[-1] - guess.nodes[0]
    problem = BoundaryProblem(field, periodic(away - nearest(away, angles)), free=not forced, periodic=True)
    return collocated(problem, guess.mesh, guess.nodes[:-1], guess.stages, guess.period, accuracy)


def guessed_orbit(
    field: CycleField, start: np.ndarray, period: float, angles: np.ndarray, count: int, *, forced: bool
) -> OrbitGuess:
    """Integrate by an implicit method from a state to where it comes back.

    The time is the given one for a forced flow, and otherwise that within a factor of `RETURNS` of it at which the
    trajectory is nearest to where it began. The second turn serves if it comes back closer than the first one. There
    are at least `count` intervals.
    """
    first = _turn(field, start, period, angles, forced=forced)
    if first is None:
        raise ArgumentError("guess", "be a state with a trajectory over the period", "leads to none")
    path, period, away = first
    if not forced:
        second = _turn(field, path.sol(period), period, angles, forced=forced)
        path, period, away = min(first, second or first, key=lambda one: one[2])
    return sampled_guess(path.sol, np.append(path.t[path.t < period], period), count)


def sampled_guess(path: Callable[[Any], np.ndarray], steps: Float[np.ndarray, " k"], count: int = 0) -> OrbitGuess:
    """Sample a trajectory, whose states at times are the columns of `path`, on a mesh as dense as its steps."""
    begin, period = float(steps[0]), float(steps[-1] - steps[0])
    shares = (steps - begin) / period
    count = min(max(count, FEWEST, len(steps) // SHORTER), MOST)
    total = np.linspace(0.0, 1.0, len(steps)) + EVENLY * shares
    mesh = np.interp(np.linspace(0.0, total[-1], count + 1), total, shares)
    mesh[-1] = 1.0
    inner = gauss_points(mesh)
    whole = path(begin + np.concatenate([mesh, inner.ravel()]) * period).T
    return OrbitGuess(mesh, whole[: count + 1], whole[count + 1 :].reshape(*inner.shape, -1), period)


def known_sizes(start: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """Estimate the sizes of the components of a trajectory from its first state, of those that are zero by others."""
    sizes = np.abs(start)
    return np.where(sizes > 0, sizes, UNKNOWN * float(np.max(sizes)) or 1.0)


def _turn(
    field: CycleField, start: np.ndarray, period: float, angles: np.ndarray, *, forced: bool
) -> tuple[Any, float, float] | None:
    """Integrate from a state, and find when the trajectory comes back, and how close relative to its ranges."""
    import scipy.integrate
    import scipy.optimize

    at = lambda t, x: field.at(np.asarray(t), x, np.zeros(()))
    path = scipy.integrate.solve_ivp(
        lambda t, x: at(t, x)[0], (0.0, period if forced else RETURNS * period), start, "Radau", dense_output=True,
        rtol=GUESS, atol=GUESS * known_sizes(start), jac=lambda t, x: at(t, x)[1][:, :-1],
    )  # fmt: skip
    if not np.all(np.isfinite(path.y)) or path.t[-1] < (1 if forced else 1 / RETURNS) * period:
        return None
    if forced:
        return path, period, 0.0
    ranges = np.maximum(np.ptp(path.y, axis=1), np.finfo(float).tiny)
    apart = lambda t: np.linalg.norm(nearest(path.sol(t).T - start, angles) / ranges, axis=-1)
    steps = np.append(period / RETURNS, path.t[path.t > period / RETURNS])
    times = (steps[:-1, None] + np.diff(steps)[:, None] * np.linspace(0, 1, INSIDE)).ravel()
    best = int(np.argmin(apart(times)))
    low, high = times[max(best - 2, 0)], times[min(best + 2, len(times) - 1)]
    options = {"xatol": LAST * period}
    found: Any = scipy.optimize.minimize_scalar(
        lambda t: float(apart(t)), bounds=(low, high), method="bounded", options=options
    )
    return path, float(found.x), float(found.fun)
