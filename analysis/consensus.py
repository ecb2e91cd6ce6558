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
