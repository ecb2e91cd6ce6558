"""Compute a single periodic orbit by collocation from a guess of a state and the period."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from analysis.dynamics.periodic_orbits.collocation import (
    CycleField,
    Intervals,
    adapted_mesh,
    evaluated,
    halved,
    rule,
    solved,
)
from dynsim.errors import ArgumentError
from dynsim.spaces.base import nearest

MOST = 400
"""Most intervals of a mesh."""
# Fewest intervals with which an orbit is begun, the relative tolerance of the trajectory that is its guess, and the
# number of its steps in an interval.
FEWEST, GUESS, SHORTER = 20, 1e-6, 4
# Largest factor between the guess of a period and the time at which the trajectory from the guess comes back.
RETURNS = 1.5
# Number of places in a step of the trajectory at which its distance from the start is compared.
INSIDE = 9
# Share of the mean density of a first mesh that every part of an orbit has.
EVENLY = 0.25
# Most Newton steps on a mesh, and most meshes.
STEPS, MESHES = 30, 12
# Last Newton step, relative to the states or the period, at which an orbit counts as found.
LAST = 1e-9
# Largest change of the period in a Newton step, relative to it.
STRETCH = 1 / 3
# Largest factor by which the number of intervals grows at once, and its factor beyond what the error asks for.
GROWTH, ROOM = 2.0, 1.1


class Collocated(NamedTuple):
    """Periodic orbit on a mesh: its states at the ends of intervals, the period, and the solutions of the intervals.

    `turn` is the increment of the state over a period, `gap` the largest distance of successive intervals, and `error`
    an estimate of the errors of the states, relative to their ranges.
    """

    mesh: np.ndarray
    nodes: np.ndarray
    period: float
    intervals: Intervals
    speeds: np.ndarray
    turn: np.ndarray
    gap: float
    error: float


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
    mesh, nodes, stages, period = _guess(field, start, period, angles, max(count, FEWEST), forced=forced)
    away = nodes[-1] - nodes[0]
    turn, nodes, time = away - nearest(away, angles), nodes[:-1], period
    for _ in range(MESHES):
        found = _on_mesh(field, mesh, nodes, stages, time, turn, forced)
        if found.error <= accuracy:
            return found
        if len(mesh) > MOST:
            break
        factor = min(GROWTH, ROOM * (found.error / accuracy) ** (1 / (2 * stages.shape[1])))
        more = min(int(np.ceil((len(mesh) - 1) * factor)), MOST)
        new = adapted_mesh(mesh, found.nodes, found.intervals.stages, more)
        nodes, stages = _moved(found, new)
        mesh, time = new, found.period
    must = f"be an orbit that {MOST} intervals of a mesh resolve to {accuracy:.1g}"
    raise ArgumentError("guess", must, f"leads to one with an error of {found.error:.1g}")


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
    inner = mesh[:-1, None] + np.diff(mesh)[:, None] * rule().c
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


def _moved(found: Collocated, mesh: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Evaluate an orbit at the nodes and the Gauss points of another mesh."""
    inner = mesh[:-1, None] + np.diff(mesh)[:, None] * rule().c
    at = lambda shares: evaluated(found.mesh, found.nodes, found.intervals.stages, shares)
    return at(mesh[:-1]), at(inner.ravel()).reshape(*inner.shape, -1)


def _on_mesh(
    field: CycleField,
    mesh: np.ndarray,
    nodes: np.ndarray,
    stages: np.ndarray,
    period: float,
    turn: np.ndarray,
    forced: bool,
) -> Collocated:
    """Find an orbit on a mesh by Newton's method for its states and the period, and estimate its error."""
    (N, n), shares = nodes.shape, np.diff(mesh)
    after = np.roll(np.arange(N), -1)
    wound = np.zeros((N, n))
    wound[-1] = turn

    def solution(intervals: Intervals, speeds: np.ndarray, gaps: np.ndarray) -> np.ndarray:
        """Solve the linear equations of a Newton step; the nodes do not move along the flow on average."""
        import scipy.sparse.linalg

        rows, columns = (np.arange(N)[:, None, None] * n + np.arange(n)[:, None]), np.arange(n)
        own = (np.broadcast_to(rows, (N, n, n)), np.broadcast_to(np.arange(N)[:, None, None] * n + columns, (N, n, n)))
        next_ones = (np.arange(N * n), (after[:, None] * n + columns).ravel())
        last = np.full(N * n, N * n)
        rates = np.zeros(N * n) if forced else (intervals.rates * shares[:, None]).ravel()
        phase = np.zeros(N * n) if forced else speeds.ravel() / np.linalg.norm(speeds)
        entries = [intervals.maps.ravel(), np.full(N * n, -1.0), rates, phase, [1.0 if forced else 0.0]]
        at = [own[0].ravel(), next_ones[0], np.arange(N * n), last, [N * n]]
        to = [own[1].ravel(), next_ones[1], last, next_ones[1], [N * n]]
        places = (np.concatenate(at), np.concatenate(to))
        matrix = scipy.sparse.csc_array((np.concatenate(entries), places), shape=(N * n + 1, N * n + 1))
        return scipy.sparse.linalg.splu(matrix).solve(-np.append(gaps.ravel(), 0.0))

    def at(intervals: Intervals) -> tuple[np.ndarray, np.ndarray]:
        if not np.all(np.isfinite(intervals.ends)):
            raise ArgumentError("guess", "lead to a periodic orbit", "leads to values that are not finite")
        speeds = field.at(period * mesh[1:], intervals.ends, np.zeros(()))[0]
        return speeds, intervals.ends - nodes[after] - wound

    for _ in range(STEPS):
        found = solved(field, period * mesh[:-1], period * shares, nodes, 0.0, stages, once=True)
        speeds, gaps = at(found)
        try:
            change = solution(found, speeds, gaps)
        except RuntimeError:  # a singular matrix
            break
        moves = change[:-1].reshape(N, n)
        stretch = float(np.clip(change[-1], -STRETCH * period, STRETCH * period))
        by = np.column_stack([moves, np.zeros(N), stretch * shares])
        stages = found.stages + np.einsum("kmij,kj->kmi", found.moves, by)
        nodes, period = nodes + moves, period + stretch
        ranges = np.ptp(nodes, axis=0) + LAST * (1 + np.max(np.abs(nodes), axis=0))
        if max(float(np.max(np.abs(moves) / ranges)), abs(float(change[-1])) / period) <= LAST:
            found = solved(field, period * mesh[:-1], period * shares, nodes, 0.0, stages)
            speeds, gaps = at(found)
            fine = halved(field, period * mesh[:-1], period * shares, nodes, 0.0, found.stages)
            fine_speeds, fine_gaps = at(fine)
            change = np.abs(solution(fine, fine_speeds, fine_gaps - gaps))
            error = max(float(np.max(change[:-1].reshape(N, n) / ranges)), float(change[-1]) / period)
            return Collocated(mesh, nodes, period, found, speeds, turn, float(np.max(np.abs(gaps))), error)
    raise ArgumentError("guess", "be near a periodic orbit", f"leads to none in {STEPS} steps of Newton's method")
