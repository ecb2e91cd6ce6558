"""The gaps between the ends of the segments of an orbit, with its critical vectors, and the next nodes."""

from typing import NamedTuple

import numpy as np

from analysis.dynamics.codim2.derivatives import Images


class Shot(NamedTuple):
    """All nodes with their vectors and their images, the period, its derivatives by both parameters, and the vectors.

    `parts` are the state and the vectors as flat vectors in ambient coordinates, (1 + vectors, n).
    """

    rows: np.ndarray
    images: Images
    period: float
    slopes: np.ndarray
    parts: np.ndarray

    @property
    def size(self) -> int:
        """The number of entries of a state."""
        return (self.images.ends.shape[1] - 3) // len(self.parts)


def gaps(
    shot: Shot, twist: tuple[np.ndarray, np.ndarray], *, free: bool, fold: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the gaps, (parts, m, n), with their derivatives by all ambient coordinates and the second parameter.

    The parts are the orbit and the vectors.

    Args:
        shot: the images of nodes and vectors.
        twist: the matrix by which the first node and its vectors are those of the end, and its derivative by the angle.
        free: whether the period is unknown.
        fold: whether the vector has a part by which the period changes.
    """
    parts, size = shot.parts.shape
    (m, total), (ends, maps, speeds, begins) = shot.images.ends.shape, shot.images
    count, columns = total - 3, 3 * size + 2
    n = count // parts
    values, by_all, by_second = np.zeros((parts, m, n)), np.zeros((parts, m, n, columns)), np.zeros((parts, m, n))
    for k in range(m):
        after, D = (k + 1) % m, maps[k][:count].reshape(parts, n, total)
        later = ((k + 1) * speeds[k] - k * maps[k] @ begins[k])[:count].reshape(parts, n) / m
        last = after == 0
        matrix, change = twist if last else (np.eye(parts), np.zeros((parts, parts)))
        nexts = shot.parts[:, after * n : (after + 1) * n]
        values[:, k] = ends[k, :count].reshape(parts, n) - matrix @ nexts
        for j in range(parts):
            by_all[:, k, :, j * size + k * n : j * size + (k + 1) * n] += D[:, :, j * n : (j + 1) * n]
            block = by_all[:, k, :, j * size + after * n : j * size + (after + 1) * n]
            block -= matrix[:, j, None, None] * np.eye(n)
        by_all[:, k, :, -2] = -change @ nexts
        by_all[:, k, :, -1] = D[:, :, count + 1] + later * shot.slopes[0]
        by_second[:, k] = D[:, :, count + 2] + later * shot.slopes[1]
        if free:
            by_all[:, k, :, size - 1] = later
            if fold:
                by_all[:, k, :, size - 1] -= D[:, :, count] * shot.parts[1, -1] / shot.period**2
                by_all[:, k, :, 2 * size - 1] = D[:, :, count] / shot.period
    return values, by_all, by_second


def turning(angle: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the matrix by which a node stays and both parts of a vector turn by an angle, and its derivative."""
    c, s = np.cos(angle), np.sin(angle)
    twist, change = np.diag([1.0, c, c]), np.diag([0.0, -s, -s])
    twist[1, 2], twist[2, 1], change[1, 2], change[2, 1] = -s, s, -c, c
    return twist, change
