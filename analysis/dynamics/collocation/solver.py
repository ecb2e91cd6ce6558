"""Solve two-point boundary value problems by collocation on a mesh, and adapt the mesh to an accuracy."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from analysis.dynamics.collocation.intervals import (
    CycleField,
    Intervals,
    adapted_mesh,
    evaluated,
    halved,
    lagrange,
    rule,
    solved,
)
from dynsim.errors import ArgumentError

MOST = 400
"""Most intervals of a mesh."""
# Most Newton steps on a mesh, and most meshes.
STEPS, MESHES = 30, 12
# Last Newton step, relative to the states or the duration, at which a solution counts as found.
LAST = 1e-9
# Largest change of the duration in a Newton step, relative to it.
STRETCH = 1 / 3
# Largest factor by which the number of intervals grows at once, and its factor beyond what the error asks for.
GROWTH, ROOM = 2.0, 1.1
# Least share of a Newton step that is taken where whole steps do not contract.
DAMPED = 1 / 256


class EndConditions(NamedTuple):
    """Boundary conditions g(first, last) = 0 at both ends of the interval: values, and derivatives by both states."""

    values: Float[np.ndarray, " n"]
    by_first: Float[np.ndarray, "n n"]
    by_last: Float[np.ndarray, "n n"]


class BoundaryProblem(NamedTuple):
    """Differential equation with boundary conditions.

    Attributes:
        field: the right-hand side.
        conditions: computes the `EndConditions` from the first and the last state.
        begin: where the interval begins.
        free: whether the duration is an unknown, too; on average, the nodes then do not move along the flow.
        periodic: whether the solution goes on periodically, so that states count relative to their ranges.
        least: least sizes of the components, relative to which errors count.
    """

    field: CycleField
    conditions: Callable[[np.ndarray, np.ndarray], EndConditions]
    begin: float = 0.0
    free: bool = False
    periodic: bool = False
    least: Float[np.ndarray, " n"] | float = 0.0


class Collocated(NamedTuple):
    """Solution on a mesh: states at the beginnings of intervals, the duration, and the solutions of the intervals.

    `speeds` are the velocities at the ends of the intervals, `gap` is the largest residual, and `error` an estimate of
    the errors of the states: of a periodic solution at the nodes and relative to their ranges, otherwise everywhere and
    relative to their sizes.
    """

    mesh: np.ndarray
    nodes: np.ndarray
    period: float
    intervals: Intervals
    speeds: np.ndarray
    gap: float
    error: float


def periodic(turn: Float[np.ndarray, " n"]) -> Callable[[np.ndarray, np.ndarray], EndConditions]:
    """Build the conditions of a periodic solution, whose state changes by `turn` over a period."""
    one = np.eye(len(turn))
    return lambda first, last: EndConditions(last - first - turn, -one, one)


def meeting(
    ends: Float[np.ndarray, "N n"], nodes: Float[np.ndarray, "N n"], conditions: EndConditions
) -> Float[np.ndarray, "N n"]:
    """Compute the residuals: gaps between the end of each interval and the next node, and the boundary conditions."""
    return np.concatenate([ends[:-1] - nodes[1:], conditions.values[None]])


def blocks(intervals: Intervals, conditions: EndConditions) -> tuple[np.ndarray, np.ndarray]:
    """Compute the derivatives of the residuals by their own nodes, (N, n, n), and of the last ones by the first node.

    Those of all others by the next node are minus the identity.
    """
    own = intervals.maps.copy()
    own[-1] = conditions.by_last @ own[-1]
    return own, conditions.by_first


def dense(own: Float[np.ndarray, "N n n"], first: Float[np.ndarray, "n n"]) -> Float[np.ndarray, "width width"]:
    """Assemble the derivatives of the residuals by all nodes from those of `blocks`."""
    N, n = own.shape[:2]
    J, k = np.zeros((N * n, N * n)), (np.arange(N) * n)[:, None, None]
    J[k + np.arange(n)[:, None], k + np.arange(n)] = own
    inner = np.arange((N - 1) * n)
    J[inner, inner + n] -= 1.0
    J[-n:, :n] += first
    return J


def along(conditions: EndConditions, by: Float[np.ndarray, "N n"]) -> Float[np.ndarray, "N n"]:
    """Compute derivatives of the residuals from those of the ends of the intervals by a number, (N, n)."""
    found = np.array(by, float)
    found[-1] = conditions.by_last @ found[-1]
    return found


def collocated(
    problem: BoundaryProblem,
    mesh: Float[np.ndarray, " edges"],
    nodes: Float[np.ndarray, "N n"],
    stages: Float[np.ndarray, "N stages n"],
    duration: float,
    accuracy: float,
) -> Collocated:
    """Solve a boundary value problem from a guess on a mesh, which is adapted until the error is small enough.

    Args:
        problem: the problem.
        mesh: ends of intervals as shares of the duration, from 0 to 1.
        nodes: a guess of the states at the beginnings of the intervals.
        stages: a guess of the states at their Gauss points.
        duration: the duration, or a guess of it.
        accuracy: largest error of the solution.

    Raises:
        ValueError: if Newton's method leads to no solution, or it needs more than 400 intervals.
    """
    for _ in range(MESHES):
        found = _on_mesh(problem, mesh, nodes, stages, duration)
        if found.error <= accuracy:
            return found
        if len(mesh) > MOST:
            break
        order = 2 * stages.shape[1] if problem.periodic else stages.shape[1] + 1
        factor = min(GROWTH, ROOM * (found.error / accuracy) ** (1 / order))
        more = min(int(np.ceil((len(mesh) - 1) * factor)), MOST)
        new = adapted_mesh(mesh, found.nodes, found.intervals.stages, more, periodic=problem.periodic)
        nodes, stages = moved(found, new)
        mesh, duration = new, found.period
    must = f"be {'an orbit' if problem.periodic else 'a solution'} that {MOST} intervals of a mesh resolve to"
    raise ArgumentError("guess", f"{must} {accuracy:.1g}", f"leads to one with an error of {found.error:.1g}")


def moved(found: Collocated, mesh: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Evaluate a solution at the nodes and the Gauss points of another mesh."""
    inner = gauss_points(mesh)
    at = lambda shares: evaluated(found.mesh, found.nodes, found.intervals.stages, shares)
    return at(mesh[:-1]), at(inner.ravel()).reshape(*inner.shape, -1)


def gauss_points(mesh: Float[np.ndarray, " edges"]) -> Float[np.ndarray, "N stages"]:
    """Compute the Gauss points of the intervals of a mesh."""
    return mesh[:-1, None] + np.diff(mesh)[:, None] * rule().c


def _on_mesh(
    problem: BoundaryProblem, mesh: np.ndarray, nodes: np.ndarray, stages: np.ndarray, duration: float
) -> Collocated:
    """Find a solution on a mesh by Newton's method, and estimate its error by halving all intervals."""
    field, shares, still = problem.field, np.diff(mesh), np.zeros(())
    aim = f"a {'periodic orbit' if problem.periodic else 'solution of the boundary value problem'}"

    def evaluate(intervals: Intervals, duration: float, nodes: np.ndarray) -> tuple[Any, ...]:
        if not np.all(np.isfinite(intervals.ends)):
            return None, None, None
        speeds = field.at(problem.begin + duration * mesh[1:], intervals.ends, still)[0] if problem.free else nodes
        conditions = problem.conditions(nodes[0], intervals.ends[-1])
        return speeds, conditions, meeting(intervals.ends, nodes, conditions)

    def of(duration: float) -> tuple[np.ndarray, np.ndarray]:
        return problem.begin + duration * mesh[:-1], duration * shares

    share, size, residual, known = 1.0, np.inf, np.inf, None
    first_sizes = _sizes(nodes, problem)
    for _ in range(STEPS):
        found = solved(field, *of(duration), nodes, 0.0, stages, far=0.0)
        speeds, conditions, gaps = evaluate(found, duration, nodes)
        change = None if gaps is None else _change(found, conditions, speeds, gaps, shares, problem.free)
        step = None if change is None else _step(found, change, nodes, stages, duration, shares)
        whole = np.inf if step is None else max(float(np.max(np.abs(part) / first_sizes)) for part in step[:2])
        left = np.inf if gaps is None else float(np.linalg.norm(gaps))
        worse = not (whole <= size or left <= residual) and not problem.periodic
        if known is not None and worse and share > DAMPED:  # a shorter step
            share /= 4
            nodes, stages = (part + share * move for part, move in zip(*known, strict=True))
            continue
        if step is None or change is None:
            break
        moves, stage_moves, stretch = step
        size, residual, known = whole, left, ((nodes, stages), (moves, stage_moves))
        share = 1.0 if problem.periodic else min(1.0, 2 * share)
        nodes, stages, duration = nodes + share * moves, stages + share * stage_moves, duration + share * stretch
        sizes = _sizes(nodes, problem)
        if share == 1 and max(float(np.max(np.abs(moves) / sizes)), abs(float(change[-1])) / duration) <= LAST:
            found = solved(field, *of(duration), nodes, 0.0, stages)
            speeds, conditions, gaps = evaluate(found, duration, nodes)
            fine = halved(field, *of(duration), nodes, 0.0, found.stages)
            fine_speeds, fine_conditions, fine_gaps = evaluate(fine, duration, nodes)
            if gaps is None or fine_gaps is None:
                break
            change = _change(fine, fine_conditions, fine_speeds, fine_gaps - gaps, shares, problem.free)
            if change is None:
                break
            error = max(float(np.max(np.abs(change[:-1]).reshape(nodes.shape) / sizes)), abs(change[-1]) / duration)
            if not problem.periodic:
                error = max(error, float(np.max(np.abs(_inside(nodes, found) - fine.stages) / sizes)))
            return Collocated(mesh, nodes, duration, found, speeds, float(np.max(np.abs(gaps))), error)
    raise ArgumentError("guess", f"lead to {aim}", f"leads to none in {STEPS} steps of Newton's method")


def _sizes(nodes: np.ndarray, problem: BoundaryProblem) -> np.ndarray:
    """Compute the sizes of the components: ranges of a periodic solution, and largest values of another one."""
    most = np.max(np.abs(nodes), axis=0)
    if problem.periodic:
        return np.ptp(nodes, axis=0) + LAST * (1 + most)
    return np.maximum(np.where(most > LAST, most, 1.0), problem.least)


def _step(
    found: Intervals, change: np.ndarray, nodes: np.ndarray, stages: np.ndarray, duration: float, shares: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float]:
    """Compute the Newton step of the nodes, of the stages and, within bounds, of the duration."""
    moves = change[:-1].reshape(nodes.shape)
    stretch = float(np.clip(change[-1], -STRETCH * duration, STRETCH * duration))
    by = np.column_stack([moves, np.zeros(len(nodes)), stretch * shares])
    return moves, found.stages - stages + np.einsum("kmij,kj->kmi", found.moves, by), stretch


def _inside(nodes: np.ndarray, found: Intervals) -> np.ndarray:
    """Evaluate the polynomials of all intervals at the Gauss points of their first halves."""
    c = rule(found.stages.shape[1]).c
    return lagrange(np.append(0.0, c), c / 2) @ np.concatenate([nodes[:, None], found.stages], axis=1)


def _change(
    intervals: Intervals,
    conditions: EndConditions,
    speeds: np.ndarray,
    gaps: np.ndarray,
    shares: np.ndarray,
    free: bool,
) -> np.ndarray | None:
    """Solve the linear equations of a Newton step for the nodes and the duration; None if they are singular."""
    import scipy.sparse.linalg

    (N, n), (own, first) = gaps.shape, blocks(intervals, conditions)
    rows, columns = (np.arange(N)[:, None, None] * n + np.arange(n)[:, None]), np.arange(n)
    to = np.broadcast_to(np.arange(N)[:, None, None] * n + columns, (N, n, n))
    inner, last = np.arange((N - 1) * n), np.full(N * n, N * n)
    rates = along(conditions, intervals.rates * shares[:, None]).ravel() if free else np.zeros(N * n)
    phase = np.roll(speeds, 1, axis=0).ravel() / np.linalg.norm(speeds) if free else np.zeros(N * n)
    entries = [own.ravel(), np.full(len(inner), -1.0), first.ravel(), rates, phase, [0.0 if free else 1.0]]
    at = [np.broadcast_to(rows, (N, n, n)).ravel(), inner, (rows[-1] + 0 * columns).ravel(), np.arange(N * n), last,
          [N * n]]  # fmt: skip
    into = [to.ravel(), inner + n, np.tile(columns, n), last, np.arange(N * n), [N * n]]
    places = (np.concatenate(at), np.concatenate(into))
    matrix = scipy.sparse.csc_array((np.concatenate(entries), places), shape=(N * n + 1, N * n + 1))
    try:
        change = scipy.sparse.linalg.splu(matrix).solve(-np.append(gaps.ravel(), 0.0))
    except RuntimeError:  # a singular matrix
        return None
    return change if np.all(np.isfinite(change)) else None
