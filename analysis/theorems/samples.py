"""Evaluate functions at many points of a region, for searches whose findings are certified afterwards."""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.stats import qmc

from analysis.dynamics.validated.intervals import IntervalFunction
from analysis.theorems.regions import Region

COUNT = 400
"""Number of points that are spread over the box of a region."""


class Values:
    """The values of a function of a vector at many points, as NumPy arrays and without compiling."""

    def __init__(self, fn: Callable[[Any], Any], dimension: int):
        self._enclosed = IntervalFunction(fn, dimension)

    def bounds(self, points: Float[np.ndarray, "points n"]) -> Float[np.ndarray, "points entries 2"]:
        """Enclose all entries at each point; NaN where the function may be undefined."""
        return self._enclosed.values(np.stack([points, points], axis=2))

    def __call__(self, points: Float[np.ndarray, "points n"]) -> Float[np.ndarray, "points entries"]:
        """Evaluate all entries at each point; NaN where the function may be undefined."""
        return self.bounds(points).mean(axis=2)

    def slopes(self, points: Float[np.ndarray, "points n"]) -> Float[np.ndarray, "points entries n"]:
        """Evaluate the derivatives of all entries at each point."""
        return self._enclosed.slopes(np.stack([points, points], axis=2)).mean(axis=3)


def points_of(region: Region, count: int = COUNT) -> Float[np.ndarray, "points n"]:
    """Spread points over a region: the corners, middles of edges and the like of its box, and a Halton sequence."""
    n = region.dimension
    spread = qmc.Halton(n, scramble=False).random(count)
    if n <= 4:
        spread = np.concatenate([np.indices((3,) * n).reshape(n, -1).T / 2, spread])
    low, high = region.sides.T
    points = low * (1 - spread) + high * spread
    if region.bounds is None:
        return points
    return points[np.all(region.bounds.values(np.stack([points, points], axis=2))[..., 0] >= 0, axis=1)]
