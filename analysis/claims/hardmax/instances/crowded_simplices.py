"""Simplices with further points inside, on an edge, on a facet, and on a corner, in any dimension."""

from typing import NamedTuple

import jax
import numpy as np

from analysis.claims.rational_instances import Exact, identity, matrix, rational_matrix, rational_weights
from dynsim._core.types import Key


class CrowdedSimplex(NamedTuple):
    """Points in R^d, shape (d + 6, d), whose hull has the vertices `corners`, d + 1 of them, by their index."""

    points: Exact
    corners: tuple[int, ...]

    def facet(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the outward unit normal and the centre, in floats, of the facet opposite to the first corner."""
        first, *others = self.points[list(self.corners)].astype(float)
        across = np.linalg.svd(np.stack(others[1:]) - others[0])[2][-1]
        return across * np.sign(across @ (others[0] - first)), np.mean(others, axis=0)


def crowded_simplex(key: Key, d: int) -> CrowdedSimplex:
    """Return a random simplex in R^d, d >= 2: its corners, of which one comes twice, and five points that are none.

    Hard for what keeps the last of equal points, or points on edges and facets, or takes vertices in another order.
    """
    a, b, c = jax.random.split(key, 3)
    shear = identity(d) + matrix(np.triu(rational_matrix(a, d, d), 1))
    steps = matrix([[0] * d, *np.diag(np.arange(2, d + 2))]) @ shear
    corners = steps + rational_matrix(b, 1, d)
    inside = rational_weights(c, 3, d + 1)
    inside[2, 0] = 0 * inside[2, 0]  # on the facet opposite to the first corner
    within = inside @ corners / np.sum(inside, axis=1)[:, None]
    edge = (corners[1:2] + 2 * corners[-1:]) / 3
    points = np.concatenate([within[:1], edge, corners, corners[1:2], within[1:]])
    return CrowdedSimplex(points, tuple(range(2, d + 3)))
