"""Where the components of a field on a grid change their sign by a pole, so that no nullcline is there."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Bool, Float

HALVINGS = 16  # of an edge of the grid between values of opposite signs
GROWN = 2.0  # times: at a zero the values at its ends shrink, at a jump they stay, at a pole they grow


def beside_poles(
    field: Callable[[Float[np.ndarray, "points 2"]], Float[np.ndarray, "points 2"]],
    xs: Float[np.ndarray, " columns"],
    ys: Float[np.ndarray, " rows"],
    velocity: Float[np.ndarray, "rows columns 2"],
) -> Bool[np.ndarray, "rows columns 2"]:
    """Return for each component which points of a grid are at an end of an edge with a pole on it.

    Edges between values of opposite signs are halved; at a pole the values at the ends of what is left are larger than
    those at the ends of the edge, or not finite.

    Args:
        field: the field at points of the plane.
        xs: the first coordinate of the grid.
        ys: the second one.
        velocity: the field on the grid.
    """
    grid = np.stack(np.meshgrid(xs, ys), axis=-1)
    ends = _edges(velocity)
    found = np.zeros(velocity.shape, bool)
    if not len(ends):
        return found
    a, b = (grid[ends[:, k, 0], ends[:, k, 1]] for k in (0, 1))
    which, rows = ends[:, 0, 2], np.arange(len(ends))
    fa, fb = (velocity[tuple(ends[:, k].T)] for k in (0, 1))
    first = np.abs(fa) + np.abs(fb)
    with np.errstate(all="ignore"):
        for _ in range(HALVINGS):
            middle = (a + b) / 2
            value = np.asarray(field(middle))[rows, which]
            left = np.sign(value) == np.sign(fa)
            a, fa = np.where(left[:, None], middle, a), np.where(left, value, fa)
            b, fb = np.where(left[:, None], b, middle), np.where(left, fb, value)
        poles = ~(np.abs(fa) + np.abs(fb) <= GROWN * first)
    for k in (0, 1):
        found[tuple(ends[poles, k].T)] = True
    return found


def _edges(velocity: Float[np.ndarray, "rows columns 2"]) -> np.ndarray:
    """Return the ends of the edges on which a component changes its sign, (edges, 2, 3): row, column, component."""
    found = []
    for axis in (0, 1):
        low, high = (np.moveaxis(np.moveaxis(velocity, axis, 0)[part], 0, axis) for part in (slice(-1), slice(1, None)))
        with np.errstate(invalid="ignore"):
            begins = np.argwhere(low * high < 0)
        step = np.array([axis == 0, axis == 1, False], int)
        found.append(np.stack([begins, begins + step], axis=1))
    return np.concatenate(found)
