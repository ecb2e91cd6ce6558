"""Equilibria of (8) for P = I that are no consensus, constructed by symmetry, each with what it is hard for."""

import numpy as np


def configurations() -> dict[str, np.ndarray]:
    """Return equilibria of four tokens on the sphere, (4, 3) each.

    Antipodal splits are hard for measures that ignore signs, such as E of (25); of them, two against two has the
    lowest unstable rate. The squares, in two orders of tokens, are unstable across their plane as well as in it. The
    tetrahedron has no plane of symmetry that contains all tokens, and no token has a twin or an antipode.
    """
    e = np.eye(3)
    square = np.stack([e[0], e[1], -e[0], -e[1]])
    return {
        "three against one": np.outer([1, 1, 1, -1], e[0]),
        "two against two": np.outer([1, 1, -1, -1], e[0]),
        "square": square,
        "square in another order": square[[0, 2, 1, 3]],
        "tetrahedron": np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]) / np.sqrt(3),
    }


def other_sizes() -> dict[str, np.ndarray]:
    """Return equilibria of two, six and seven tokens on the sphere, (n, 3) each.

    A pair is the least system that has an equilibrium off consensus; in the octahedron every token has an antipode and
    four neighbours at right angles; of the splits, six against one has the highest unstable rate.
    """
    e = np.eye(3)
    return {
        "antipodal pair": np.outer([1, -1], e[0]),
        "octahedron": np.concatenate([e, -e]),
        "six against one": np.outer([1, 1, 1, 1, 1, 1, -1], e[0]),
    }


def circle_configurations() -> dict[str, np.ndarray]:
    """Return equilibria of two to six tokens on the circle, (n, 2) each: regular polygons and antipodal splits.

    On the circle the sum of the Hessian over the directions of a common turn is not positive for close tokens, so that
    each of these needs its own spectrum.
    """
    polygons = {f"regular {n}-gon": _polygon(n) for n in (2, 3, 4, 5)}
    splits = {
        "three against one on the circle": np.outer([1.0, 1, 1, -1], [1.0, 0]),
        "five against one on the circle": np.outer([1.0, 1, 1, 1, 1, -1], [1.0, 0]),
    }
    return polygons | splits


def _polygon(n: int) -> np.ndarray:
    angles = 2 * np.pi * np.arange(n) / n
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)
