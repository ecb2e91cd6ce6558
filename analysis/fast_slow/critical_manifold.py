"""Branches of the quasi-steady-state manifold, continued in the slow variable, and their stability."""

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from numpy.typing import ArrayLike

from analysis.dynamics.linearisation import NEAR_ZERO, kind
from analysis.fast_slow.folds import Loss, Values, along, fast_eigenvalues, fold_near, loss_between, root_near
from analysis.fast_slow.quasi_steady_states import quasi_steady_state
from dynsim.errors import argument_error
from dynsim.systems.fast_slow.flow import FastSlow, FastSlowFlow
from dynsim.systems.fast_slow.reduced import CriticalManifold, nearby_root

KINDS = {"stable": "attracting", "unstable": "repelling", "saddle": "saddle", "undecided": "undecided"}
SHORT = 2.0**-12  # of the distance between two points of the path: by then a fold is near enough to be solved for
SHORTEST = 2.0**-30
BENT = (
    0.25  # Newton's correction over the predicted move (half of what the tangent may turn): above it a step is halved
)


class Branch(NamedTuple):
    """A branch of the manifold over a path of slow variables, and its stability in the fast directions.

    `fast` and `slow` are (points, ...): those of the path that were reached, a fold at either end, and the last
    point that was reached where the branch is lost. `spectra` (points, modes) are the eigenvalues of D_x f in the space
    of x, in fast time, largest real part first; `kinds` one of `attracting`, `repelling`, `saddle` and `undecided` (an
    eigenvalue too near to zero) for each point. `losses` are the points where normal hyperbolicity is lost; `end` is
    `path`, `fold` or `lost`.
    """

    fast: np.ndarray
    slow: np.ndarray
    spectra: np.ndarray
    kinds: tuple[str, ...]
    losses: tuple[Loss, ...]
    end: str

    @property
    def kind(self) -> str:
        """The kind of most of its points."""
        return max(sorted(set(self.kinds)), key=self.kinds.count)

    def explain(self) -> str:
        """Return in sentences what kind of branch it is, where it is not hyperbolic, and where it ends."""
        first, last = (_numbers(self.slow[k]) for k in (0, -1))
        counts = {word: self.kinds.count(word) for word in dict.fromkeys(self.kinds)}
        hyperbolic = ", ".join(f"{word} at {many} of {len(self.kinds)} points" for word, many in counts.items())
        parts = [f"A branch from y = {first} to y = {last}: {hyperbolic}."]
        words = {"crossing": "a zero eigenvalue and goes on", "pair": "a pair of imaginary eigenvalues"}
        for loss in self.losses:
            if loss.kind in words:
                parts.append(f"At y = {_numbers(loss.slow)} it has {words[loss.kind]}.")
        if self.end == "fold":
            where = f"x = {_numbers(self.fast[-1])}, y = {last}"
            parts.append(f"It ends at a fold, {where}: beyond, this branch has no quasi-steady state.")
        if self.end == "lost":
            parts.append(
                "There it could not be continued, which is no fold: look for a pole of f, or where branches meet."
            )
        return " ".join(parts)


def _numbers(values: Values) -> str:
    return ", ".join(f"{value:.6g}" for value in np.ravel(values))


def branch(flow: FastSlowFlow, start: FastSlow, path: ArrayLike) -> Branch:
    """Return the branch through a point of the manifold, continued in y along a path from it to a fold or the end.

    Steps follow the tangent, are corrected by Newton's method, and halved where the correction, or the change of the
    tangent, is not small beside them, so that no other branch is taken for this one.

    Args:
        flow: the system.
        start: near a point of the manifold above the first slow variable of the path.
        path: slow variables, (points, ...), straight between them; their density decides the points of the branch.

    Raises:
        ValueError: for a path of less than two points, or no quasi-steady state near the start.
    """
    path = _path(path)
    x = quasi_steady_state(flow, path[0], start.fast).fast
    return _judged(flow, path, _walk(flow, (0.0, np.asarray(x)), path, 1))


def manifold(flow: FastSlowFlow, start: FastSlow, path: ArrayLike, *, max_branches: int = 8) -> tuple[Branch, ...]:
    """Return the branches that hang together at folds, from a point of the first of them on.

    At a fold the path is gone back on the other branch, and so on until an end of the path is reached, or
    `max_branches`. The arguments are those of `branch`.
    """
    path = _path(path)
    point, direction = (0.0, np.asarray(quasi_steady_state(flow, path[0], start.fast).fast)), 1
    found: list[Branch] = []
    begun: Loss | None = None
    while True:
        walk = _walk(flow, point, path, direction)
        found.append(_judged(flow, path, walk, begun))
        if walk.fold is None or len(found) == max_branches:
            return tuple(found)
        point, direction, begun = _other_side(flow, walk.last, walk.fold, path), -direction, walk.fold


def sheet(flow: FastSlowFlow, start: FastSlow, *axes: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return x over a grid of slow variables, NaN where no branch leads to, and the kind at each point.

    For a slow variable that is a vector, one axis for each entry. From the grid point nearest to `start` each point is
    reached from a neighbour; where several branches lie above a point, that of the first neighbour is taken.

    Returns:
        x, (axis 1, ..., axis n, ...), and words, (axis 1, ..., axis n), empty where x is NaN.
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
            walk = _walk(flow, (0.0, values[here]), np.stack([grid[here], grid[there]]), 1)
            if walk.last[0] == 1:
                values[there], kinds[there] = walk.last[1], _kind(flow, walk.last[1], grid[there])[1]
                waiting.append(there)
    return values, kinds


def _neighbours(here: tuple, shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield the next points of a grid, along each axis."""
    for axis, length in enumerate(shape):
        for step in (-1, 1):
            if 0 <= here[axis] + step < length:
                yield (*here[:axis], here[axis] + step, *here[axis + 1 :])


class _Walk(NamedTuple):
    """The points (place, x) of a branch at whole places of a path, the last one reached, and the fold that ends it."""

    points: list[tuple[float, Values]]
    last: tuple[float, Values]
    fold: Loss | None
    end: str


def _walk(flow: FastSlowFlow, point: tuple[float, Values], path: np.ndarray, direction: int) -> _Walk:
    """Follow the branch of a point to the end of the path, or as far as there is one."""
    (place, x), step = point, 1.0
    points, goal = ([point] if place == round(place) else []), (len(path) - 1 if direction > 0 else 0)
    while place != goal:
        node = float(np.floor(place) + 1 if direction > 0 else np.ceil(place) - 1)
        step = min(step, abs(node - place))
        aim = node if step == abs(node - place) else place + direction * step
        reached = _step(flow, x, along(path, place), along(path, aim))
        if reached is None and step < SHORT and aim == node:
            leap = _leap(flow, (place, x), node, path)
            if leap is not None:
                points.append((node, x + (leap[1] - x) / 3))
                if node == goal:
                    return _Walk(points, points[-1], None, "path")
                (place, x), step = leap, SHORT
                continue
        if reached is not None:
            place, x, step = aim, reached, 2 * step
            points += [(place, x)] if aim == node else []
            continue
        step /= 2
        if step < SHORT:
            fold = fold_near(flow, x, path, place, place + 4 * direction * step)
            if fold is not None or step < SHORTEST:
                return _Walk(points, (place, x), fold, "lost" if fold is None else "fold")
    return _Walk(points, (place, x), None, "path")


def _leap(
    flow: FastSlowFlow, point: tuple[float, Values], node: float, path: np.ndarray
) -> tuple[float, Values] | None:
    """Return a point of the branch beyond the next point of the path, which is a double root: two branches cross."""
    place, x = point
    over = place + 3 * (node - place)
    beyond = _step(flow, x, along(path, place), along(path, over))
    return None if beyond is None else (over, beyond)


def _step(flow: FastSlowFlow, x: Values, slow: Values, aim: Values) -> np.ndarray | None:
    """Return the point of the same branch with another slow variable, or None if the step is too long for that.

    A point without a tangent, from which there would be no next step, is no answer either.
    """
    root, *sizes = _predicted(flow, jnp.asarray(x), jnp.asarray(slow), jnp.asarray(aim))
    move, correction, turn = (float(size) for size in sizes)
    scale, length = 1 + float(np.max(np.abs(x))), float(np.max(np.abs(aim - slow)))
    straight = (
        turn <= 2 * BENT * move + 1e-2 * scale * length
    )  # where the branch is flat, its tangent may turn a little
    near = correction <= BENT * move + 1e-6 * scale  # a NaN is neither
    return np.asarray(root) if straight and near else None


@eqx.filter_jit
def _predicted(flow: FastSlowFlow, x: Array, slow: Array, aim: Array) -> tuple[Array, Array, Array, Array]:
    """Return the root next to the tangent's prediction, and the sizes of move, correction and turn."""
    lift, still = CriticalManifold(flow), jnp.zeros_like(x)
    move = lift.tangent(FastSlow(x, slow), FastSlow(still, aim - slow)).fast
    guess = lift.parts.fast.project(x + move)
    root = nearby_root(flow.fast, lift.parts.fast, guess, aim)
    onward = lift.tangent(FastSlow(root, aim), FastSlow(still, aim - slow)).fast
    largest = lambda part: jnp.max(jnp.abs(part))
    return root, largest(move), largest(root - guess), largest(onward - move)


def _other_side(flow: FastSlowFlow, last: tuple[float, Values], fold: Loss, path: np.ndarray) -> tuple[float, Values]:
    """Return the point of the branch beyond a fold above the last point before it: its mirror image, corrected."""
    place, x = last
    slow = along(path, place)
    other = root_near(flow, 2 * fold.fast - x, slow)
    gap = float(np.max(np.abs(x - fold.fast)))
    if not np.max(np.abs(other - x)) > gap:
        raise argument_error("path", "have more points near its folds", f"the fold at y = {fold.slow} is too sharp")
    return place, other


def _judged(flow: FastSlowFlow, path: np.ndarray, walk: _Walk, begun: Loss | None = None) -> Branch:
    """Return the branch of a walk, with spectra and losses."""
    ends = [[(loss.place, loss.fast)] if loss else [] for loss in (begun, walk.fold)]
    lost = [walk.last] if walk.end == "lost" and walk.last[0] != round(walk.last[0]) else []
    points = ends[0] + walk.points + lost + ends[1]
    judged = [_kind(flow, x, along(path, place)) for place, x in points]
    inner = walk.points
    losses = [loss_between(flow, a, b, path) for a, b in zip(inner[:-1], inner[1:], strict=True)]
    return Branch(
        np.array([x for _, x in points]),
        np.array([along(path, place) for place, _ in points]),
        np.array([values for values, _ in judged]),
        tuple(word for _, word in judged),
        tuple(loss for loss in (begun, *losses, walk.fold) if loss is not None),
        walk.end,
    )


def _kind(flow: FastSlowFlow, x: Values, slow: Values) -> tuple[np.ndarray, str]:
    """Return the transverse spectrum at a point of the manifold, and its kind."""
    values = fast_eigenvalues(flow, x, slow)
    return values, KINDS[kind(values, NEAR_ZERO * max(1.0, float(np.max(np.abs(values), initial=0.0))))]


def _path(path: ArrayLike) -> np.ndarray:
    found = np.asarray(path, float)
    if found.ndim < 1 or len(found) < 2:
        raise argument_error("path", "hold at least two slow variables, first axis", f"has shape {found.shape}")
    if not np.all(np.isfinite(found)):
        raise argument_error("path", "be finite", "has an entry that is not")
    return found
