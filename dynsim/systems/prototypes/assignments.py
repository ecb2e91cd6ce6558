"""Soft assignments of embeddings to prototypes, and the losses and statistics derived from them.

Sums over embeddings are sums, as the paper prints them; `PrototypeLoss` offers means too. Squared distances, losses and
temperatures have the unit of a squared length. Each function is compiled, and inlined where a compiled function calls
it.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from dynsim._core.types import Scalar

Embeddings = Float[Array, "n m"]
Prototypes = Float[Array, "k m"]
Weights = Float[Array, "n k"]


@jax.jit(inline=True)
def squared_distances(z: Embeddings, p: Prototypes) -> Weights:
    r"""Squared distances $d_{nk} = |z_n - p_k|^2$ of embeddings from prototypes.

    Source: PROTOTYPES, Algorithm 1, line 4.
    """
    return jnp.sum((z[:, None] - p[None]) ** 2, axis=-1)


@jax.jit(inline=True)
def assignments(z: Embeddings, p: Prototypes, temperature: Scalar) -> Weights:
    r"""Soft assignments $q_{nk} = \exp(-d_{nk}/T) / \sum_j \exp(-d_{nj}/T)$; each row sums to one.

    Source: PROTOTYPES, eq. (2).
    """
    return jax.nn.softmax(-squared_distances(z, p) / temperature, axis=-1)


def soft_centroids(q: Weights, p: Prototypes) -> Embeddings:
    r"""Soft centroids $\mu_n = \sum_k q_{nk} p_k$, the output of the prototype layer.

    Source: PROTOTYPES, eq. (4).
    """
    return q @ p


@jax.jit(inline=True)
def competitive_loss(z: Embeddings, p: Prototypes, temperature: Scalar) -> Scalar:
    r"""Competitive loss $L_q = \sum_n \sum_k q_{nk} d_{nk}$.

    Source: PROTOTYPES, eq. (2).
    """
    d = squared_distances(z, p)
    return jnp.sum(jax.nn.softmax(-d / temperature, axis=-1) * d)


@jax.jit(inline=True)
def hard_loss(z: Embeddings, p: Prototypes) -> Scalar:
    r"""Loss of k-means, $M = \sum_n \min_k d_{nk}$, which the paper calls $L_{OLS}$.

    Source: PROTOTYPES, eq. (3).
    """
    return jnp.sum(jnp.min(squared_distances(z, p), axis=-1))


@jax.jit(inline=True)
def reconstruction_error(z: Embeddings, p: Prototypes, temperature: Scalar) -> Scalar:
    r"""Reconstruction error $R = \sum_n |z_n - \mu_n|^2$, the squared distances of embeddings from soft centroids.

    Source: PROTOTYPES, Proposition 1 (proof).
    """
    mu = soft_centroids(assignments(z, p, temperature), p)
    return jnp.sum((z - mu) ** 2)


@jax.jit(inline=True)
def prototype_variance(z: Embeddings, p: Prototypes, temperature: Scalar) -> Scalar:
    r"""Variance of the prototypes under the assignments, $V = \sum_n \sum_k q_{nk} |p_k - \mu_n|^2$.

    Source: PROTOTYPES, eq. (3).
    """
    q = assignments(z, p, temperature)
    return jnp.sum(q * squared_distances(soft_centroids(q, p), p))


@jax.jit(inline=True)
def free_energy(z: Embeddings, p: Prototypes, temperature: Scalar) -> Scalar:
    r"""Free energy $F = -T \sum_n \log \sum_k \exp(-d_{nk}/T)$; its gradient is that of $L_q$ at fixed assignments."""
    return -temperature * jnp.sum(jax.nn.logsumexp(-squared_distances(z, p) / temperature, axis=-1))


@jax.jit(inline=True)
def distance_variance(z: Embeddings, p: Prototypes, temperature: Scalar) -> Scalar:
    r"""Variance of the squared distances, $\sum_n \mathrm{Var}_{q_n}(d_{n \cdot}) = T^2\, \partial L_q / \partial T$.

    Source: PROTOTYPES, Theorem 3 (proof).
    """
    d = squared_distances(z, p)
    return jnp.sum(variances_of(jax.nn.softmax(-d / temperature, axis=-1), d))


def variances_of(q: Float[Array, "..."], d: Float[Array, "..."], axis: int = -1) -> Float[Array, "..."]:
    r"""Variance $\mathrm{Var}_{q_n}(d_{n \cdot})$ of the squared distances of each embedding, over the prototypes."""
    mean = jnp.sum(q * d, axis=axis, keepdims=True)
    return jnp.sum(q * (d - mean) ** 2, axis=axis)


def assignment_covariance(q: Weights) -> Float[Array, "k k"]:
    r"""Covariance of the assignments, $\Sigma_q = \sum_n (\mathrm{diag}\, q_n - q_n q_n^\top)$.

    The gradient of V at fixed q is $2 \Sigma_q P$.

    Source: PROTOTYPES, Section 2.2.
    """
    return jnp.diag(jnp.sum(q, axis=0)) - q.T @ q


@jax.jit(inline=True)
def entropy(q: Weights) -> Scalar:
    r"""Mean entropy of the assignments, $H = -\frac1N \sum_{nk} q_{nk} \log q_{nk}$, in nats.

    Source: PROTOTYPES, eq. (9).
    """
    positive = q > 0
    return -jnp.sum(jnp.where(positive, q * jnp.log(jnp.where(positive, q, 1.0)), 0.0)) / q.shape[0]


@jax.jit(inline=True)
def separation(p: Prototypes) -> Scalar:
    r"""Separation of the prototypes, $S = \min_{j \ne k} |p_j - p_k|^2$; infinite for one prototype.

    The printed formula allows j = k, for which S would be 0.

    Source: PROTOTYPES, eq. (8).
    """
    distances = jnp.where(jnp.eye(p.shape[0], dtype=bool), jnp.inf, squared_distances(p, p))
    return jnp.min(distances)


def utilisation(q: Weights, threshold: float = 0.01) -> Scalar:
    """Share of the prototypes whose mean assignment exceeds `threshold`, dimensionless.

    Source: PROTOTYPES, Table 5.
    """
    # the mean of Booleans would be in single precision
    return jnp.mean((jnp.mean(q, axis=0) > threshold).astype(q.dtype))


@jax.jit(inline=True)
def inverse_square_barrier(p: Prototypes) -> Scalar:
    r"""Inverse-square barrier $\frac12 \sum_{j \ne k} |p_j - p_k|^{-2}$ over ordered pairs; infinite if two coincide.

    Source: PROTOTYPES, eq. (15), without the factor lambda, and without the pairs j = k.
    """
    same = jnp.eye(p.shape[0], dtype=bool)
    return jnp.sum(jnp.where(same, 0.0, 1 / jnp.where(same, 1.0, squared_distances(p, p)))) / 2


@jax.jit(inline=True)
def barrier_gradient(p: Prototypes) -> Prototypes:
    r"""Gradient of `inverse_square_barrier`, $-2 \sum_{j \ne k} (p_k - p_j) |p_k - p_j|^{-4}$."""
    same = jnp.eye(p.shape[0], dtype=bool)
    strength = jnp.where(same, 0.0, 1 / jnp.where(same, 1.0, squared_distances(p, p)) ** 2)
    return -2 * jnp.sum(strength[:, :, None] * (p[:, None] - p[None]), axis=1)
