"""Interactions whose antisymmetric part has chosen planes and singular values."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from jaxtyping import Float


def rotated(rng: np.random.Generator, values: Sequence[float]) -> Float[np.ndarray, "d d"]:
    """Return a random matrix of twice as many rows as values, whose antisymmetric part has them as pairs."""
    d = 2 * len(values)
    q = np.linalg.qr(rng.normal(size=(d, d)))[0]
    symmetric = rng.normal(size=(d, d))
    return q @ blocks(values) @ q.T + symmetric + symmetric.T


def blocks(values: Sequence[float | Fraction]) -> Float[np.ndarray, "d d"]:
    """Return the antisymmetric matrix with the plane of coordinates 2 j - 1, 2 j for each value."""
    m = np.zeros((2 * len(values), 2 * len(values)))
    for j, s in enumerate(values):
        m[2 * j, 2 * j + 1], m[2 * j + 1, 2 * j] = float(s), -float(s)
    return m


def orthonormal(rng: np.random.Generator, count: int, d: int) -> Float[np.ndarray, "count d"]:
    """Return random orthonormal rows."""
    return np.linalg.qr(rng.normal(size=(d, count)))[0].T
