"""Interactions whose antisymmetric part has chosen planes and singular values."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from jaxtyping import Float

Matrix = Float[np.ndarray, "d d"]
Rows = Float[np.ndarray, "rows d"]
Values = Sequence[float | Fraction] | np.ndarray


def rotated(rng: np.random.Generator, values: Values) -> Matrix:
    """Return a random matrix of twice as many rows as values, whose antisymmetric part has them as pairs."""
    d = 2 * len(values)
    q = np.linalg.qr(rng.normal(size=(d, d)))[0]
    symmetric = rng.normal(size=(d, d))
    return q @ blocks(values) @ q.T + symmetric + symmetric.T


def in_planes(rng: np.random.Generator, values: Values, d: int) -> tuple[Matrix, Rows]:
    """Return a random (d, d) matrix with given values, zero elsewhere, and the rows of their planes, (2 pairs, d)."""
    q, noise = np.linalg.qr(rng.normal(size=(d, d)))[0], rng.normal(size=(d, d))
    return q @ blocks(values, d) @ q.T + (noise + noise.T) / 2, q.T[: 2 * len(values)]


def blocks(values: Values, d: int = 0) -> Matrix:
    """Return the antisymmetric matrix with the plane of coordinates 2 j - 1, 2 j for each value, zero elsewhere.

    It has `d` rows, by default two for each value.
    """
    size = d or 2 * len(values)
    m = np.zeros((size, size))
    for j, s in enumerate(values):
        m[2 * j, 2 * j + 1], m[2 * j + 1, 2 * j] = float(s), -float(s)
    return m


def decreasing(rng: np.random.Generator, count: int, *, ratio: float = 0.8) -> np.ndarray:
    """Return random positive values, each at most `ratio` times the one before."""
    return rng.uniform(0.5, 3.0) * np.cumprod(rng.uniform(0.5 * ratio, ratio, count))


def orthonormal(rng: np.random.Generator, count: int, d: int) -> Rows:
    """Return random orthonormal rows."""
    return np.linalg.qr(rng.normal(size=(d, count)))[0].T
