"""Rational instances: matrices, unit vectors, points of ellipsoids, all exact."""

from fractions import Fraction
from typing import Any

import jax
import numpy as np

from dynsim._types import Key

Exact = np.ndarray  # of `Fraction`, dtype object


def matrix(values: Any) -> Exact:
    """Return integers or fractions as an array of `Fraction`."""
    flat = [Fraction(int(v)) if not isinstance(v, Fraction) else v for v in np.asarray(values, object).ravel()]
    out = np.empty(len(flat), object)
    out[:] = flat
    return out.reshape(np.shape(values))


def rational_matrix(key: Key, *shape: int) -> Exact:
    """Return entries k/4 with k drawn from -6 to 6."""
    return matrix(np.asarray(jax.random.randint(key, shape, -6, 7))) / 4


def rational_unit(key: Key, d: int) -> Exact:
    """Return a rational unit vector, by stereographic projection of a rational point."""
    s = rational_matrix(key, d - 1)
    q = sum(s * s)
    return np.append(2 * s, q - 1) / (q + 1)


def rational_weights(key: Key, *shape: int) -> Exact:
    """Return positive fractions k/8 with k drawn from 1 to 16, for statements that hold for any weights."""
    return matrix(np.asarray(jax.random.randint(key, shape, 1, 17))) / 8


def identity(d: int) -> Exact:
    """Return the identity matrix."""
    return matrix(np.eye(d, dtype=int))


def on_ellipsoid(key: Key, d: int) -> tuple[Exact, Exact]:
    """Return a rational positive definite P = L L^T and a rational y with y^T P y = 1."""
    lower, points = factor_and_points(key, d, 1)
    return lower @ lower.T, points[0]


def factor_and_points(key: Key, d: int, n: int) -> tuple[Exact, Exact]:
    """Return a unit lower triangular L and n rational points y = L^{-T} u of the ellipsoid of L L^T, as rows."""
    lower = rational_matrix(key, d, d) * np.tri(d, k=-1, dtype=int) + identity(d)
    rows = []
    for k in range(n):
        y = rational_unit(jax.random.fold_in(key, 99 + k), d).copy()
        for i in reversed(range(d)):  # back substitution, unit diagonal
            y[i] = y[i] - sum((lower[j, i] * y[j] for j in range(i + 1, d)), Fraction(0))
        rows.append(y)
    return lower, np.stack(rows)


def tangent_part(P: Exact, y: Exact, X: Exact) -> Exact:
    """Return (I - y y^T P) X."""
    return X - (y @ P @ X) * y
