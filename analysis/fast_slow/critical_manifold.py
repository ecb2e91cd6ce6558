"""Branches of the critical manifold {f = 0}, continued in the slow variable, with their normal hyperbolicity."""

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from numpy.typing import ArrayLike

from analysis.dynamics.linearisation import NEAR_ZERO, index, kind
from analysis.fast_slow.folds import (
    Bifurcation,
    Values,
    along,
    bifurcation_between,
    fast_eigenvalues,
    fold_near,
    root_near,
)
from analysis.fast_slow.quasi_steady_states import quasi_steady_state
from dynsim.errors import argument_error
from dynsim.systems.fast_slow.flow import FastSlow, FastSlowFlow
from dynsim.systems.fast_slow.reduced import CriticalManifold, nearby_root

KINDS = {"stable": "attracting", "unstable": "repelling", "saddle": "saddle", "undecided": "undecided"}
SHORT_STEP = 2.0**-12  # of the distance between two points of the path: below it a fold is solved for
MIN_STEP = 2.0**-30  # in the same unit
MAX_CORRECTION = 0.25  # Newton's correction relative to the predicted move; the tangent may change by twice as much


class Branch(NamedTuple):
    """A branch of the critical manifold over a path of slow variables, and its stability in the fast directions.

    `fast` and `slow`, shape (points, ...), are the points of the path that were reached, a fold at either end, and the
    last point reached if the continuation failed. `spectra`, shape (points, modes), are the eigenvalues of D_x f in
    the tangent space of x, per fast time unit, largest real part first. `kinds` holds for each point `attracting`,
    `repelling`, `saddle`, or `undecided` (a real part within rounding of zero). `bifurcations` are the points where
    normal hyperbolicity is lost. `end` is `path` (the whole path was covered), `fold`, or `lost` (the continuation
    failed).
    """

    fast: np.ndarray
    slow: np.ndarray
    spectra: np.ndarray
    kinds: tuple[str, ...]
    bifurcations: tuple[Bifurcation, ...]
    end: str

    @property
    def kind(self) -> str:
        """The most frequent of `kinds`."""
        return max(sorted(set(self.kinds)), key=self.kinds.count)

    def explain(self) -> str:
        """Return the stability of the branch, its bifurcations and its end in sentences."""
        first, last = (_numbers(self.slow[k]) for k in (0, -1))
        counts = {word: self.kinds.count(word) for word in dict.fromkeys(self.kinds)}
        hyperbolic = ", ".join(f"{word} at {count} of {len(self.kinds)} points" for word, count in counts.items())
        parts = [f"A branch from y = {first} to y = {last}: {hyperbolic}."]
        words = {"crossing": "a zero eigenvalue and goes on", "pair": "a pair of imaginary eigenvalues"}
        for found in self.bifurcations:
            if found.kind in words:
                parts.append(f"At y = {_numbers(found.slow)} it has {words[found.kind]}.")
        if self.end == "fold":
            where = f"x = {_numbers(self.fast[-1])}, y = {last}"
            parts.append(f"It ends at a fold, {where}: beyond, this branch has no quasi-steady state.")
        if self.end == "lost":
            parts.append(
                "There the continuation failed, which is no fold: f may have a pole, or branches may meet there."
            )
        return " ".join(parts)


def _numbers(values: Values) -> str:
    return ", ".join(f"{value:.6g}" for value in np.ravel(values))


def branch(flow: FastSlowFlow, start: FastSlow, path: ArrayLike) -> Branch:
    """Return the branch of the critical manifold through a point, continued along a path of y to a fold or the end.

    By predictor-corrector continuation: steps along the tangent, corrected by Newton's method, and halved where the
    correction or the change of the tangent is not small relative to the step, so as not to jump to another branch.

    Args:
        flow: the system.
        start: a guess of a point of the critical manifold at the first slow variable of the path.
        path: slow variables, shape (points, ...), interpolated linearly; the branch is returned at these points.

    Raises:
        ValueError: for a path of fewer than two points, or if no quasi-steady state is found from `start`.
    """
    path = _path(path)
    x = quasi_steady_state(flow, path[0], start.fast).fast
    return _classified(flow, path, _continued(flow, (0.0, np.asarray(x)), path, 1))


def connected_branches(
    flow: FastSlowFlow, start: FastSlow, path: ArrayLike, *, max_branches: int = 8
) -> tuple[Branch, ...]:
    """Return consecutive branches of the critical manifold that are joined by folds, beginning with `branch`.

    At each fold the other branch is continued in the opposite direction along the path, until an end of the path is
    reached or `max_branches` have been found. The other arguments, and the errors, are those of `branch`.
    """
    path = _path(path)
    point, direction = (0.0, np.asarray(quasi_steady_state(flow, path[0], start.fast).fast)), 1
    found: list[Branch] = []
    first_fold: Bifurcation | None = None
    while True:
        curve = _continued(flow, point, path, direction)
        found.append(_classified(flow, path, curve, first_fold))
        if curve.fold is None or len(found) == max_branches:
            return tuple(found)
        point, direction, first_fold = _other_side(flow, curve.last, curve.fold, path), -direction, curve.fold


def sheet(flow: FastSlowFlow, start: FastSlow, *axes: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return one sheet of the critical manifold, x as a function of y, over a grid of slow variables.

    The slow variable is a vector with one of `axes` for each entry. Starting from the grid point nearest to `start`,
    each point is continued from a neighbour; if several branches lie over a point, the one found first is taken.

    Returns:
        x, shape (axis 1, ..., axis n, ...), NaN where it was not reached; and its kind as in `Branch.kinds`, shape
        (axis 1, ..., axis n), empty where x is NaN.

    Raises:
        ValueError: unless there is one axis for each entry of y, or if no quasi-steady state is found from `start`.
    """
    grid = np.stack(np.meshgrid(*(np.asarray(axis, float) for axis in axes), indexing="ij"), axis=-1)
    shape = grid.shape[:-1]
    if np.shape(start.slow) != (len(axes),) or min(shape) < 1:
        raise argument_error("axes", f"be one for each entry of y, {np.shape(start.slow)}", f"are {len(axes)}")
    first = np.unravel_index(int(np.argmin(np.sum((grid - np.asarray(start.slow)) ** 2, axis=-1))), shape)
    x = np.asarray(quasi_steady_state(flow, grid[first], start.fast).fast)
    values, kinds = np.full((*shape, *x.shape), np.nan), np.full(shape, "", dtype="U10")
    values[first], kinds[first] = x, _kind(flow, x, grid[first])[1]
    waiting = deque([tuple(int(k) for k in first)])
    while waiting:
        here = waiting.popleft()
        for there in _neighbours(here, shape):
            if kinds[there]:
                continue
            curve = _continued(flow, (0.0, values[here]), np.stack([grid[here], grid[there]]), 1)
            if curve.last[0] == 1:
                values[there], kinds[there] = curve.last[1], _kind(flow, curve.last[1], grid[there])[1]
                waiting.append(there)
    return values, kinds


def _neighbours(here: tuple, shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield the indices of the neighbours of a grid point, along each axis."""
    for axis, length in enumerate(shape):
        for step in (-1, 1):
            if 0 <= here[axis] + step < length:
                yield (*here[:axis], here[axis] + step, *here[axis + 1 :])


class _Curve(NamedTuple):
    """A continued branch: its points (place, x) at the points of the path, the last one reached, and its final fold.

    A place is a position on the path, with integers at its points. `end` is that of `Branch`.
    """

    points: list[tuple[float, Values]]
    last: tuple[float, Values]
    fold: Bifurcation | None
    end: str


def _continued(flow: FastSlowFlow, point: tuple[float, Values], path: np.ndarray, direction: int) -> _Curve:
    """Continue the branch through a point to the end of the path, or as far as possible."""
    (place, x), step = point, 1.0
    points, goal = ([point] if place == round(place) else []), (len(path) - 1 if direction > 0 else 0)
    while place != goal:
        node = float(np.floor(place) + 1 if direction > 0 else np.ceil(place) - 1)
        step = min(step, abs(node - place))
        aim = node if step == abs(node - place) else place + direction * step
        reached = _step(flow, x, along(path, place), along(path, aim))
        if reached is None and step < SHORT_STEP and aim == node:
            crossed = _beyond_crossing(flow, (place, x), node, path)
            if crossed is not None:
                points.append((node, x + (crossed[1] - x) / 3))
                if node == goal:
                    return _Curve(points, points[-1], None, "path")
                (place, x), step = crossed, SHORT_STEP
                continue
        if reached is not None:
            place, x, step = aim, reached, 2 * step
            points += [(place, x)] if aim == node else []
            continue
        step /= 2
        if step < SHORT_STEP:
            fold = fold_near(flow, x, path, place, place + 4 * direction * step)
            if fold is not None or step < MIN_STEP:
                return _Curve(points, (place, x), fold, "lost" if fold is None else "fold")
    return _Curve(points, (place, x), None, "path")


def _beyond_crossing(
    flow: FastSlowFlow, point: tuple[float, Values], node: float, path: np.ndarray
) -> tuple[float, Values] | None:
    """Return a point of the branch beyond the next point of the path, where another branch crosses; None if it fails.

    At a crossing the root is double, and Newton's method does not converge.
    """
    place, x = point
    target = place + 3 * (node - place)
    beyond = _step(flow, x, along(path, place), along(path, target))
    return None if beyond is None else (target, beyond)


def _step(flow: FastSlowFlow, x: Values, slow: Values, aim: Values) -> np.ndarray | None:
    """Return the point of the branch at the slow variable `aim`, or None if the step is too long.

    A point without a unique tangent is rejected too, since the next step would need it.
    """
    root, *sizes = _predicted(flow, jnp.asarray(x), jnp.asarray(slow), jnp.asarray(aim))
    move, correction, turn = (float(size) for size in sizes)
    scale, length = 1 + float(np.max(np.abs(x))), float(np.max(np.abs(aim - slow)))
    # The absolute terms let the tangent of a flat branch turn a little; comparisons with NaN are false.
    straight = turn <= 2 * MAX_CORRECTION * move + 1e-2 * scale * length
    near = correction <= MAX_CORRECTION * move + 1e-6 * scale
    return np.asarray(root) if straight and near else None


@eqx.filter_jit
def _predicted(flow: FastSlowFlow, x: Array, slow: Array, aim: Array) -> tuple[Array, Array, Array, Array]:
    """Return the root near the prediction, and the sizes of the step, its correction and the change of the tangent."""
    lift, zero = CriticalManifold(flow), jnp.zeros_like(x)
    move = lift.tangent(FastSlow(x, slow), FastSlow(zero, aim - slow)).fast
    guess = lift.parts.fast.project(x + move)
    root = nearby_root(flow.fast, lift.parts.fast, guess, aim)
    next_move = lift.tangent(FastSlow(root, aim), FastSlow(zero, aim - slow)).fast
    largest = lambda part: jnp.max(jnp.abs(part))
    return root, largest(move), largest(root - guess), largest(next_move - move)


def _other_side(
    flow: FastSlowFlow, last: tuple[float, Values], fold: Bifurcation, path: np.ndarray
) -> tuple[float, Values]:
    """Return a point of the other branch at a fold: the last point reflected in the fold, corrected by Newton."""
    place, x = last
    slow = along(path, place)
    other = root_near(flow, 2 * fold.fast - x, slow)
    gap = float(np.max(np.abs(x - fold.fast)))
    if not np.max(np.abs(other - x)) > gap:
        raise argument_error("path", "have more points near its folds", f"the fold at y = {fold.slow} is too sharp")
    return place, other


def _classified(flow: FastSlowFlow, path: np.ndarray, curve: _Curve, first_fold: Bifurcation | None = None) -> Branch:
    """Return the branch of a continued curve, with spectra, kinds and bifurcations."""
    ends = [[(fold.place, fold.fast)] if fold else [] for fold in (first_fold, curve.fold)]
    lost = [curve.last] if curve.end == "lost" and curve.last[0] != round(curve.last[0]) else []
    points = ends[0] + curve.points + lost + ends[1]
    judged = [_kind(flow, x, along(path, place)) for place, x in points]
    unstable = [index(values) for values, _ in judged]
    inner = range(len(ends[0]), len(ends[0]) + len(curve.points) - 1)
    changes = [k for k in inner if unstable[k] != unstable[k + 1]]
    between = [bifurcation_between(flow, points[k], points[k + 1], path) for k in changes]
    return Branch(
        np.array([x for _, x in points]),
        np.array([along(path, place) for place, _ in points]),
        np.array([values for values, _ in judged]),
        tuple(word for _, word in judged),
        tuple(found for found in (first_fold, *between, curve.fold) if found is not None),
        curve.end,
    )


def _kind(flow: FastSlowFlow, x: Values, slow: Values) -> tuple[np.ndarray, str]:
    """Return the fast eigenvalues at a point of the critical manifold, and its kind."""
    values = fast_eigenvalues(flow, x, slow)
    return values, KINDS[kind(values, NEAR_ZERO * max(1.0, float(np.max(np.abs(values), initial=0.0))))]


def _path(path: ArrayLike) -> np.ndarray:
    found = np.asarray(path, float)
    if found.ndim < 1 or len(found) < 2:
        raise argument_error("path", "hold at least two slow variables, first axis", f"has shape {found.shape}")
    if not np.all(np.isfinite(found)):
        raise argument_error("path", "be finite", "has an entry that is not")
    return found
