"""Branches of the critical manifold {f = 0}, continued in the slow variable, with their normal hyperbolicity."""

from collections import deque
from itertools import islice, product, takewhile
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from analysis.dynamics.linearisation import NEAR_ZERO, kind
from analysis.fast_slow.folds import Bifurcation, Values, fast_eigenvalues
from analysis.fast_slow.quasi_steady_states import quasi_steady_state
from analysis.fast_slow.stretches import curves
from dynsim.errors import argument_error
from dynsim.systems.fast_slow.flow import FastSlow, FastSlowFlow

KINDS = {"stable": "attracting", "unstable": "repelling", "saddle": "saddle", "undecided": "undecided"}


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

    By pseudo-arclength continuation in x and the length along the path, see `analysis.dynamics.continuation.branches.follow`.

    Args:
        flow: the system.
        start: a guess of a point of the critical manifold at the first slow variable of the path.
        path: slow variables, shape (points, ...), interpolated linearly; the branch is returned at these points.

    Raises:
        ValueError: for a path of fewer than two points, or if no quasi-steady state is found from `start`.
    """
    return connected_branches(flow, start, path, max_branches=1)[0]


def connected_branches(
    flow: FastSlowFlow, start: FastSlow, path: ArrayLike, *, max_branches: int = 8
) -> tuple[Branch, ...]:
    """Return consecutive branches of the critical manifold that are joined by folds, beginning with `branch`.

    At each fold the other branch is continued in the opposite direction along the path, until an end of the path is
    reached or `max_branches` have been found. The other arguments, and the errors, are those of `branch`.
    """
    path = _path(path)
    x = np.asarray(quasi_steady_state(flow, path[0], start.fast).fast)
    found: list[Branch] = []
    for curve in islice(curves(flow, x, path), max_branches):
        spectra, kinds = zip(*(_kind(flow, *point) for point in curve.points), strict=True)
        fast, slow = (np.array(part) for part in zip(*curve.points, strict=True))
        found.append(Branch(fast, slow, np.array(spectra), kinds, tuple(curve.bifurcations), curve.end))
    return tuple(found)


def sheet(flow: FastSlowFlow, start: FastSlow, *axes: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return one sheet of the critical manifold, x as a function of y, over a grid of slow variables.

    The slow variable is a vector with one of `axes` for each entry. Starting from the grid point nearest to `start`,
    lines of points are continued along the axes; if several branches lie over a point, the one found first is taken.

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
        for axis, way in product(range(len(shape)), (-1, 1)):
            ahead = range(here[axis] + way, shape[axis] if way > 0 else -1, way)
            line = ((*here[:axis], k, *here[axis + 1 :]) for k in ahead)
            empty = list(takewhile(lambda there: not kinds[there], line))
            path = np.stack([grid[there] for there in (here, *empty)])
            reached = next(curves(flow, values[here], path)).points[1:] if empty else []
            for there, point in zip(empty, reached, strict=False):
                if not np.array_equal(point.slow, grid[there]):
                    break
                values[there], kinds[there] = point.fast, _kind(flow, *point)[1]
                waiting.append(there)
    return values, kinds


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
