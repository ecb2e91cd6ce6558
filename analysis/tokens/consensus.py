"""Measure how far tokens are from consensus: diameter, least inner product, misalignment, antipodes, effective rank."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from dynsim._core.checked import checked
from dynsim._core.types import Scalar, Tokens


@checked
def diameter(x: Tokens) -> Scalar:
    """Compute the largest Euclidean distance between two tokens; it is zero if and only if all tokens are equal.

    Example:
        >>> import jax.numpy as jnp
        >>> from analysis.tokens import diameter
        >>> float(diameter(jnp.array([[3.0, 0.0], [0.0, 4.0], [0.0, 0.0]])))
        5.0
    """
    return jnp.max(jnp.linalg.norm(x[:, None] - x[None], axis=-1))


@checked
def min_inner_product(x: Tokens, metric: Float[Array, "d d"] | None = None) -> Scalar:
    """Compute the least x_i^T W x_j over all pairs (W = I by default); it is 1 at consensus on the ellipsoid of W.

    Args:
        x: tokens, (n, d).
        metric: the symmetric matrix W, (d, d).

    Example:
        >>> import jax.numpy as jnp
        >>> from analysis.tokens import min_inner_product
        >>> float(min_inner_product(jnp.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])))
        0.0
    """
    return jnp.min(x @ x.T if metric is None else x @ metric @ x.T)


@checked
def misalignment(x: Tokens) -> Scalar:
    r"""Compute the misalignment $E = 1 - \frac1l \sum_{i=1}^l \frac{|y_1^\top y_i|}{|y_1|\,|y_i|}$, dimensionless.

    All tokens are compared with the first one up to sign, so that it is zero for antipodal tokens, too. The printed sum
    starts at i = 0; it is read as starting at i = 1.

    Source: CONSENSUS, eq. (25).

    Example:
        >>> import jax.numpy as jnp
        >>> from analysis.tokens import misalignment
        >>> float(misalignment(jnp.array([[1.0, 0.0], [-2.0, 0.0]])))
        0.0
        >>> float(misalignment(jnp.array([[1.0, 0.0], [0.0, 1.0]])))
        0.5
    """
    unit = x / jnp.linalg.norm(x, axis=-1, keepdims=True)
    return 1 - jnp.mean(jnp.abs(unit @ unit[0]))


@checked
def distance_to_point(x: Tokens, v: Float[Array, " d"]) -> Scalar:
    """Compute the largest Euclidean distance of a token from the point `v`.

    Args:
        x: tokens, (n, d).
        v: the point, (d,).

    Example:
        >>> import jax.numpy as jnp
        >>> from analysis.tokens import distance_to_point
        >>> float(distance_to_point(jnp.array([[1.0, 0.0], [0.0, 3.0]]), jnp.array([0.0, 0.0])))
        3.0
    """
    return jnp.max(jnp.linalg.norm(x - v[None], axis=-1))


@checked
def antipode_distance(x: Tokens) -> Scalar:
    """Compute the least Euclidean distance of a later token from the antipode of the first; infinite for one token.

    Source: CONSENSUS, Theorem 5.1.

    Example:
        >>> import jax.numpy as jnp
        >>> from analysis.tokens import antipode_distance
        >>> float(antipode_distance(jnp.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])))
        0.0
    """
    return jnp.min(jnp.linalg.norm(x[1:] + x[:1], axis=-1), initial=jnp.inf)


@checked
def effective_rank(x: Tokens) -> Scalar:
    r"""Compute the effective rank $\exp(-\sum_k p_k \ln p_k)$ from normalised squared singular values $p_k$.

    It is dimensionless, between 1 (all tokens on a line through the origin) and min(n, d).

    Source: Roy, Vetterli, EUSIPCO (2007), with squared singular values.

    Example:
        >>> import jax.numpy as jnp
        >>> from analysis.tokens import effective_rank
        >>> round(float(effective_rank(jnp.eye(3))), 6), round(float(effective_rank(jnp.ones((3, 2)))), 6)
        (3.0, 1.0)
    """
    values = jnp.linalg.eigvalsh(x @ x.T if x.shape[0] <= x.shape[1] else x.T @ x)
    p = jnp.maximum(values, 0) / jnp.sum(x * x)
    return jnp.exp(-jnp.sum(jnp.where(p > 0, p * jnp.log(jnp.where(p > 0, p, 1)), 0)))
