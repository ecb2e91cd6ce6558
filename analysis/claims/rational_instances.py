"""Random rational matrices, unit vectors and points of ellipsoids, as arrays of `Fraction`."""

import math
from fractions import Fraction
from typing import Any

import jax
import numpy as np

from dynsim._core.types import Key
from dynsim.exact import Exact, rationals

DRAWN = 128  # entries; the claims draw no more at a time, with few exceptions


def matrix(values: Any) -> Exact:
    """Return an array of integers, fractions or truth values (0 and 1) as an array of `Fraction` of the same shape."""
    array = np.asarray(values)
    return rationals("values", array.astype(int if array.dtype == bool else object))


def integers(key: Key, shape: tuple[int, ...], low: int, high: int) -> np.ndarray:
    """Return random integers, uniform from `low` to `high - 1`: those of `jax.random.randint` for this key and shape.

    They are the first of a longer draw, which compiles once for all shapes; an entry depends on its position alone.
    """
    count = math.prod(shape)
    drawn = jax.random.randint(key, (DRAWN * max(1, -(-count // DRAWN)),), low, high)
    return np.asarray(drawn)[:count].reshape(shape)


def rational_matrix(key: Key, *shape: int) -> Exact:
    """Return an array of random entries k/4, with integers k uniform from -6 to 6."""
    return matrix(integers(key, shape, -6, 7)) / 4


def rational_unit(key: Key, d: int) -> Exact:
    """Return a random rational unit vector, (d,), by stereographic projection of a rational point."""
    s = rational_matrix(key, d - 1)
    q = sum(s * s)
    return np.append(2 * s, q - 1) / (q + 1)


def rational_weights(key: Key, *shape: int) -> Exact:
    """Return positive random entries k/8, with integers k from 1 to 16, for statements that hold for any weights."""
    return matrix(integers(key, shape, 1, 17)) / 8


def identity(d: int) -> Exact:
    """Return the identity matrix, (d, d)."""
    return matrix(np.eye(d, dtype=int))


def on_ellipsoid(key: Key, d: int) -> tuple[Exact, Exact]:
    """Return a random rational positive definite P = L L^T and a rational point y with y^T P y = 1."""
    lower, points = factor_and_points(key, d, 1)
    return lower @ lower.T, points[0]


def factor_and_points(key: Key, d: int, n: int) -> tuple[Exact, Exact]:
    """Return a unit lower triangular L and, as rows, n rational points y = L^{-T} u, |u| = 1, of y^T L L^T y = 1."""
    lower = rational_matrix(key, d, d) * np.tri(d, k=-1, dtype=int) + identity(d)
    rows = []
    for k in range(n):
        y = rational_unit(jax.random.fold_in(key, 99 + k), d).copy()
        for i in reversed(range(d)):  # back substitution, unit diagonal
            y[i] = y[i] - sum((lower[j, i] * y[j] for j in range(i + 1, d)), Fraction(0))
        rows.append(y)
    return lower, np.stack(rows)


def tangent_part(P: Exact, y: Exact, X: Exact) -> Exact:
    """Return (I - y y^T P) X, the projection of X to the tangent space at y, y^T P y = 1."""
    return X - (y @ P @ X) * y
