"""Compute a single periodic orbit by collocation from a guess of a state and the period."""

from typing import Any

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


def collocated_orbit(
    field: CycleField,
    start: Float[np.ndarray, " n"],
    period: float,
    angles: Float[np.ndarray, " n"],
    *,
    count: int,
    forced: bool,
    accuracy: float,
) -> Collocated:
    """Compute a periodic orbit on a mesh on which the relative error of its states is below an accuracy.

    The guess is the trajectory from the start over the period, by an implicit method.

    Args:
        field: the field.
        start: a state near the orbit.
        period: a guess of the period, or the period of a forced flow.
        angles: periods of the angles among the components, infinite for the others.
        count: the first number of intervals.
        forced: whether the period is fixed.
        accuracy: the largest error, relative to the ranges of the states.

    Raises:
        ValueError: if Newton's method leads to no orbit, or the orbit needs more than 400 intervals.
    """
    mesh, whole, stages, period = _guess(field, start, period, angles, max(count, FEWEST), forced=forced)
    away = whole[-1] - whole[0]
    problem = BoundaryProblem(field, periodic(away - nearest(away, angles)), free=not forced, periodic=True)
    return collocated(problem, mesh, whole[:-1], stages, period, accuracy)


def _guess(
    field: CycleField, start: np.ndarray, period: float, angles: np.ndarray, count: int, *, forced: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Integrate from a state to where it comes back; give a mesh as dense as the steps, states on it, and the time.

    The time is the given one for a forced flow, and otherwise that within a factor of `RETURNS` of it at which the
    trajectory is nearest to where it began. The second turn serves if it comes back closer than the first one.
    """
    first = _turn(field, start, period, angles, forced=forced)
    if first is None:
        raise ArgumentError("guess", "be a state with a trajectory over the period", "leads to none")
    path, period, away = first
    if not forced:
        second = _turn(field, path.sol(period), period, angles, forced=forced)
        path, period, away = min(first, second or first, key=lambda one: one[2])
    ends = np.append(path.t[path.t < period], period)
    count = min(max(count, len(ends) // SHORTER), MOST)
    total = np.linspace(0.0, 1.0, len(ends)) + EVENLY * ends / period
    mesh = np.interp(np.linspace(0.0, total[-1], count + 1), total, ends / period)
    mesh[-1] = 1.0
    inner = gauss_points(mesh)
    whole = path.sol(np.concatenate([mesh, inner.ravel()]) * period).T
    return mesh, whole[: count + 1], whole[count + 1 :].reshape(*inner.shape, -1), period


def _turn(
    field: CycleField, start: np.ndarray, period: float, angles: np.ndarray, *, forced: bool
) -> tuple[Any, float, float] | None:
    """Integrate from a state, and find when the trajectory comes back, and how close relative to its ranges."""
    import scipy.integrate
    import scipy.optimize

    at = lambda t, x: field.at(np.asarray(t), x, np.zeros(()))
    path = scipy.integrate.solve_ivp(
        lambda t, x: at(t, x)[0], (0.0, period if forced else RETURNS * period), start, "Radau", dense_output=True,
        rtol=GUESS, atol=GUESS * (1 + np.max(np.abs(start))), jac=lambda t, x: at(t, x)[1][:, :-1],
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
