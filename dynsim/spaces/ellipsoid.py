"""Ellipsoids and spheres."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float

from dynsim._core.types import ArrayLike, Key, Scalar, State
from dynsim._core.validation import random_key, reals, sizes
from dynsim.errors import ArgumentError
from dynsim.spaces.base import AbstractSpace


class Sphere(AbstractSpace):
    r"""The unit sphere of any dimension, $\{y : y^\top y = 1\}$.

    Source: CONSENSUS, Remark 2.2.
    """

    def project(self, y: State) -> State:
        """Divide by the norm: y / |y|."""
        return y / jnp.linalg.norm(y, axis=-1, keepdims=True)

    def tangent(self, x: State, v: State) -> State:
        """Tangent component of a vector: v - (x . v) x."""
        return v - jnp.sum(x * v, axis=-1, keepdims=True) * x

    def defect(self, y: State) -> Scalar:
        """Largest deviation of a norm from one, | |y| - 1 |."""
        return jnp.max(jnp.abs(jnp.linalg.norm(y, axis=-1) - 1))

    def sample(self, key: Key, shape: tuple[int, ...]) -> State:
        """Uniformly distributed points of the sphere."""
        return self.project(jax.random.normal(random_key("key", key), sizes("shape", shape)))


class Ellipsoid(AbstractSpace):
    r"""The ellipsoid $\mathcal E_W = \{y : y^\top W y = 1\}$ of a symmetric positive definite matrix.

    The retraction $y / |y|_W$ is not the nearest point. Its derivative at a point $x$ of the ellipsoid,
    $v - (x^\top W v)\, x$, is the orthogonal projection in the inner product $\langle\cdot, W \cdot\rangle$.

    Source: CONSENSUS, eq. (2), (3).
    """

    matrix: Float[Array, "d d"]

    def __init__(self, matrix: ArrayLike):
        """Store W, of shape (d, d); raise `ValueError` unless it is finite, symmetric and positive definite."""
        self.matrix = definite("matrix", matrix)

    def _dual(self, x: State) -> State:
        return x @ self.matrix.astype(x.dtype)

    def project(self, y: State) -> State:
        """Divide by the W-norm: y / |y|_W."""
        return y / jnp.sqrt(jnp.sum(self._dual(y) * y, axis=-1, keepdims=True))

    def tangent(self, x: State, v: State) -> State:
        """Tangent component of a vector: v - (x^T W v) x."""
        return v - jnp.sum(self._dual(x) * v, axis=-1, keepdims=True) * x

    def defect(self, y: State) -> Scalar:
        """Largest deviation of a W-norm from one, | |y|_W - 1 |."""
        return jnp.max(jnp.abs(jnp.sqrt(jnp.sum(self._dual(y) * y, axis=-1)) - 1))

    def sample(self, key: Key, shape: tuple[int, ...]) -> State:
        """Images under W^{-1/2} of uniformly distributed points of the sphere."""
        shape = sizes("shape", shape, dimension=len(self.matrix))
        u = Sphere().sample(key, shape)
        lower = jnp.linalg.cholesky(self.matrix)
        rows = jax.scipy.linalg.solve_triangular(lower.T, u.reshape(-1, shape[-1]).T, lower=False).T
        return self.project(rows.reshape(shape))


def definite(name: str, matrix: ArrayLike) -> Float[Array, "d d"]:
    """Check that a matrix is finite, symmetric and positive definite, and return it as an array."""
    if isinstance(matrix, Tracer):
        return jnp.asarray(matrix)
    W = np.asarray(reals(name, matrix))
    W = W.astype(float) if W.dtype.kind == "b" else W
    if W.ndim != 2 or W.shape[0] != W.shape[1] or W.size == 0:
        raise ArgumentError(name, "have shape (d, d)", f"has shape {W.shape}")
    if not np.all(np.isfinite(W)):
        raise ArgumentError(name, "be finite", "has an entry that is not")
    gap = float(np.max(np.abs(W - W.T)))
    if gap > 1e-9 * float(np.max(np.abs(W))):
        raise ArgumentError(name, "be symmetric", f"differs from its transpose by {gap:.3g}")
    least = float(np.linalg.eigvalsh(W)[0])
    if least <= 0:
        raise ArgumentError(name, "be positive definite", f"has the eigenvalue {least:.6g}")
    return jnp.asarray(W, np.float32 if W.dtype == np.float32 else np.float64)
