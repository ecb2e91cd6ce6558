"""Points along closed curves, and distances of states from such curves and from other sets that are known by points."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float
from scipy.spatial import KDTree

from analysis.dynamics.attractors.limit_set import LimitSet
from analysis.dynamics.scaling.flat import chord_bends
from dynsim._runtime.cores import cores

# Number of times that points along a curve are spread anew, each time by the lengths and bends seen before.
ROUNDS = 4
# Share of the points that are spread evenly in time; the others by length and by bend.
IN_TIME = 0.1
# Number of points from which their distances are computed on several cores.
MANY = 10_000


def spread_along(
    curve: Callable[[Float[np.ndarray, " times"]], Float[np.ndarray, "times f"]], period: float, fine: int, count: int
) -> Float[np.ndarray, " count"]:
    """Choose times at which to sample a closed curve, so that the error of the polygon is spread evenly.

    A relaxation oscillation spends nearly all of its time on slow parts and jumps between them. Points are therefore
    spread by length, and by the square root of length times bend, which is the density of least error.

    Args:
        curve: the points of the curve at times, in units in which its size is of order one.
        period: time after which the curve closes.
        fine: number of points from which lengths and bends are measured.
        count: number of times to choose.
    """
    ts = along = np.linspace(0.0, period, fine + 1)
    for _ in range(ROUNDS):
        ts = np.interp(np.linspace(0.0, along[-1], fine + 1), along, ts)
        points = curve(ts)
        lengths = np.linalg.norm(np.diff(points, axis=0), axis=1)
        parts = [np.diff(ts), lengths, np.sqrt(lengths * chord_bends(points))]
        weights = np.array([2 * IN_TIME, 1 - IN_TIME, 1 - IN_TIME]) / 2
        shares = sum(w * part / max(float(np.sum(part)), 1e-300) for w, part in zip(weights, parts, strict=True))
        along = np.append(0.0, np.cumsum(shares))
    return np.interp(np.linspace(0.0, along[-1], count, endpoint=False), along, ts)


def polygon_error(points: Float[np.ndarray, "points f"]) -> float:
    """Estimate the largest distance of a smooth closed curve from the polygon through points on it."""
    before, after = np.roll(points, 1, axis=0), np.roll(points, -1, axis=0)
    chord, rest = after - before, points - before
    along = np.sum(rest * chord, axis=1) / np.maximum(np.sum(chord**2, axis=1), 1e-300)
    return float(np.max(np.linalg.norm(rest - along[:, None] * chord, axis=1))) / 4


def resolution(limit: LimitSet, extent: np.ndarray) -> float:
    """Estimate the distance, relative to the extent, of a set from its points or from the polygon through them."""
    return polygon_error(limit.features / extent) if limit.is_cycle else limit.spacing


class Line:
    """Points of a set relative to the extent; those of a cycle are the corners of a closed polygon."""

    def __init__(self, limit: LimitSet, extent: np.ndarray):
        """Store the points and a search tree, and estimate how far the set is from the points or the polygon."""
        self.extent, self.points, self.is_closed = extent, limit.features / extent, limit.is_cycle
        self.tree = KDTree(self.points)
        self.error = resolution(limit, extent)
        chords = np.linalg.norm(self.points - np.roll(self.points, 1, axis=0), axis=1)
        self.longest = float(np.max(chords)) if self.is_closed else 0.0

    def distances(self, features: np.ndarray, within: float = np.inf) -> Float[np.ndarray, " members"]:
        """Compute the distances of features from the set, relative to the extent; infinite if beyond `within`."""
        if len(self.points) == 1 and not self.is_closed:  # of one point, without the search tree
            near = np.linalg.norm(features / self.extent - self.points, axis=1)
            return np.where(near <= within, near, np.inf)
        scaled = np.nan_to_num(features / self.extent, nan=1e99)
        found = self.tree.query(
            scaled, distance_upper_bound=within + self.longest, workers=cores() if len(scaled) > MANY else 1
        )
        near, place = np.asarray(found[0]), np.asarray(found[1])
        if self.is_closed:
            some = np.flatnonzero(np.isfinite(near))
            for other in (-1, 1):
                corner = self.points[place[some]]
                side, rest = self.points[(place[some] + other) % len(self.points)] - corner, scaled[some] - corner
                along = np.sum(rest * side, axis=1) / np.maximum(np.sum(side**2, axis=1), 1e-300)
                near[some] = np.minimum(near[some], np.linalg.norm(rest - np.clip(along, 0, 1)[:, None] * side, axis=1))
        return np.where(near <= within, near, np.inf)
