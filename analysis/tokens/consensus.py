"""How far tokens are from consensus."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from dynsim._types import Scalar, Tokens


def diameter(x: Tokens) -> Scalar:
    """Return the largest Euclidean distance between two tokens; zero exactly at consensus."""
    return jnp.max(jnp.linalg.norm(x[:, None] - x[None], axis=-1))


def min_inner_product(x: Tokens, metric: Float[Array, "d d"] | None = None) -> Scalar:
    """Return the least x_i^T W x_j over all pairs (W = I by default); 1 exactly at consensus on the ellipsoid of W."""
    return jnp.min(x @ x.T if metric is None else x @ metric @ x.T)


def misalignment(x: Tokens) -> Scalar:
    r"""Return $E = 1 - \frac1l \sum_{i=1}^l \frac{|y_1^\top y_i|}{|y_1|\,|y_i|}$, dimensionless.

    It compares with the first token only and sees no signs: it is zero at antipodal tokens too. The printed sum begins
    at i = 0; it is read from 1.

    Source: CONSENSUS, eq. (25).
    """
    unit = x / jnp.linalg.norm(x, axis=-1, keepdims=True)
    return 1 - jnp.mean(jnp.abs(unit @ unit[0]))


def distance_to_point(x: Tokens, v: Float[Array, " d"]) -> Scalar:
    """Return the largest Euclidean distance of a token from `v`."""
    return jnp.max(jnp.linalg.norm(x - v[None], axis=-1))


def effective_rank(x: Tokens) -> Scalar:
    r"""Return $\exp(-\sum_k p_k \ln p_k)$, $p_k$ the squared singular values of the tokens over their sum; 1 on a line.

    Dimensionless, between 1 and min(n, d). Source: the entropy of the spectrum of the Gram matrix.
    """
    values = jnp.linalg.eigvalsh(x @ x.T if x.shape[0] <= x.shape[1] else x.T @ x)
    p = jnp.maximum(values, 0) / jnp.sum(x * x)
    return jnp.exp(-jnp.sum(jnp.where(p > 0, p * jnp.log(jnp.where(p > 0, p, 1)), 0)))
