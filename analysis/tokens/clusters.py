"""Clusters of tokens, and how fast clusters that look at rest still drift together."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
import scipy.cluster.hierarchy
from numpy.typing import ArrayLike

from dynsim._types import Time
from dynsim.errors import argument_error
from dynsim.spaces import Ellipsoid, Sphere
from dynsim.systems.schedules import ScaledIdentity
from dynsim.systems.tokens.flow import TokenFlow


def clusters(x: ArrayLike, radius: float = 1e-6) -> np.ndarray:
    """Return the number of each token's cluster, counted from the first token; (n,) integers.

    Two tokens share a cluster if a chain of tokens, each within `radius` of the next, joins them (single linkage).
    NumPy: not for `jit`.
    """
    x = np.asarray(x, float)
    if x.ndim != 2 or not np.all(np.isfinite(x)):
        raise argument_error("x", "be finite and have shape (n, d)", f"has shape {x.shape}")
    if not radius >= 0:
        raise argument_error("radius", "be at least 0", f"is {radius}")
    if len(x) == 1:
        return np.zeros(1, int)
    labels = scipy.cluster.hierarchy.fcluster(scipy.cluster.hierarchy.linkage(x, "single"), radius, "distance")
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]


class Drift(NamedTuple):
    """How the clusters of tokens move: their centres (clusters, d), velocities, and the fastest merging pair.

    `rate` is the relative speed at which the distance of two clusters shrinks, per time unit; minus infinity for one
    cluster, negative if all distances grow. It is exact down to the smallest positive float, where a spectrum is noise,
    as long as the pulls of other clusters do not cancel: `imbalance` is the largest velocity over the sum of its pulls.
    """

    centres: np.ndarray
    velocities: np.ndarray
    rate: float
    imbalance: float


def drift(flow: TokenFlow, x: ArrayLike, t: Time = 0.0, *, radius: float = 1e-6) -> Drift:
    r"""Return how clusters drift under U = c I, like $e^{\beta(\cos\delta - 1)}$: far below rounding of the field.

    What a cluster gives to itself is parallel to itself and drops out exactly, so that only the small weights between
    clusters are added up. Each cluster is put at its mean. NumPy: not for `jit`.

    Raises:
        ValueError: unless every head's value matrix is a multiple of I, on a sphere or an ellipsoid.
    """
    if not isinstance(flow.value, ScaledIdentity) or not isinstance(flow.space, Sphere | Ellipsoid):
        raise argument_error("flow", "have the value c I and live on ellipsoids", f"has {type(flow.value).__name__}")
    x = np.asarray(x, float)
    labels = clusters(x, radius)
    means = np.stack([x[labels == k].mean(axis=0) for k in range(labels.max() + 1)])
    placed = np.asarray(flow.space.project(means))[labels]
    W = np.asarray(flow.space.matrix) if isinstance(flow.space, Ellipsoid) else np.eye(x.shape[1])
    weights = np.asarray(flow.weights(t, jnp.asarray(placed)))
    pull = float(flow.scale) * np.tensordot(np.asarray(flow.value.factor), weights, 1)
    pull = np.where(labels[:, None] == labels[None], 0.0, pull)
    # (I - y y^T W)(z - y) = (I - y y^T W) z, without the cancellation that z alone would bring
    gaps = placed[None] - placed[:, None]
    tangent = gaps - np.einsum("ijd,de,ie->ij", gaps, W, placed)[..., None] * placed[:, None]
    pulls = pull[..., None] * tangent
    first = np.unique(labels, return_index=True)[1]  # under a causal mask the others are pulled by more tokens
    return _merging(placed[first], pulls[first])


def _merging(c: np.ndarray, pulls: np.ndarray) -> Drift:
    """Return the drift of clusters at `c` under the pulls (clusters, tokens, d) of all tokens."""
    v = pulls.sum(axis=1)
    total = np.sum(np.linalg.norm(pulls, axis=-1), axis=1)
    imbalance = float(np.max(np.linalg.norm(v, axis=-1) / np.where(total > 0, total, np.inf)))
    gaps, moves = c[:, None] - c[None], v[:, None] - v[None]
    square = np.sum(gaps**2, axis=-1) + np.where(np.eye(len(c)) > 0, np.inf, 0.0)
    rates = -np.sum(gaps * moves, axis=-1) / square
    return Drift(c, v, float(np.max(rates[~np.eye(len(c), dtype=bool)], initial=-np.inf)), imbalance)
