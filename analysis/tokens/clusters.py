"""Find clusters of tokens by single linkage, and compute the slow drift of clusters towards each other."""

from typing import NamedTuple

import numpy as np
import scipy.cluster.hierarchy
from jaxtyping import Float

from dynsim._core.checked import checked
from dynsim._core.printing import one_line, report
from dynsim._core.types import ArrayLike, Time
from dynsim.errors import ArgumentError
from dynsim.simulation.checks import shapes_explained
from dynsim.systems.base import AbstractFlow


@checked
def clusters(x: ArrayLike, radius: float = 1e-6) -> np.ndarray:
    """Label the cluster of each token by single linkage; integers of shape (n,), numbered by first occurrence.

    Two tokens are in one cluster if a chain of tokens joins them, each within `radius` of the next. NumPy: not for
    `jit`.

    Args:
        x: tokens, (n, d).
        radius: largest distance of two tokens that are joined directly.

    Raises:
        ValueError: unless x has shape (n, d) and is finite, and the radius is not negative.

    Example:
        >>> from analysis.tokens import clusters
        >>> clusters([[0.0], [2.0], [0.5]], radius=1.0)
        array([0, 1, 0])
    """
    x = np.asarray(x, float)
    if x.ndim != 2 or not len(x) or not np.all(np.isfinite(x)):
        raise ArgumentError("x", "be finite and have shape (n, d), with at least one token", f"has shape {x.shape}")
    if not radius >= 0:
        raise ArgumentError("radius", "be at least 0", f"is {radius}")
    if len(x) == 1:
        return np.zeros(1, int)
    labels = scipy.cluster.hierarchy.fcluster(scipy.cluster.hierarchy.linkage(x, "single"), radius, "distance")
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]


class Drift(NamedTuple):
    """Motion of clusters: `centres` and `velocities`, shape (clusters, d), and the fastest approach of two clusters.

    `rate` is the largest relative rate -(dr/dt) / r at which the distance r of two clusters decreases, per time unit.
    It is minus infinity for one cluster, and negative if all distances increase. It is accurate down to the smallest
    positive float, far below the rounding error of eigenvalues, unless the pulls of other clusters cancel. `imbalance`
    measures this cancellation: the largest ratio of a cluster's speed to the sum of the norms of the pulls on it.
    """

    centres: np.ndarray
    velocities: np.ndarray
    rate: float
    imbalance: float

    __repr__ = one_line
    __str__ = report


@checked
def drift(flow: AbstractFlow, x: ArrayLike, t: Time = 0.0, *, radius: float = 1e-6) -> Drift:
    r"""Compute the drift of clusters of particles, accurately far below the rounding error of the vector field.

    For tokens with U = c I the velocities are of the order $e^{\beta(\cos\delta - 1)}$. The particles of a cluster are
    replaced by their mean and exert no pull on each other, so that only the small pulls between clusters are summed.
    NumPy: not for `jit`.

    Args:
        flow: a flow that defines its pairwise `pulls`.
        x: particles, shape (n, d).
        t: time, in the flow's unit.
        radius: radius of single linkage, see `clusters`.

    Raises:
        ValueError: if the flow does not define its pulls, or takes other shapes.

    Example:
        >>> import numpy as np
        >>> import dynsim as ds
        >>> from analysis.tokens import drift
        >>> flow = ds.tokens.TokenFlow(query_key=9 * np.eye(2))
        >>> moving = drift(flow, [[1.0, 0.0], [0.0, 1.0]])
        >>> len(moving.centres), bool(moving.rate > 0)
        (2, True)
    """
    x = np.asarray(x, float)
    labels = clusters(x, radius)
    means = np.stack([x[labels == k].mean(axis=0) for k in range(labels.max() + 1)])
    placed = np.asarray(flow.space.project(means))[labels]
    with shapes_explained(flow, "x", placed, [t]):
        pulls = flow.pulls(t, placed)
    if not pulls.size:
        must = "provide its pairwise pulls (as `TokenFlow` on ellipsoids does for the value c I)"
        raise ArgumentError("flow", must, f"is a {type(flow).__name__} that does not")
    pulls = np.where((labels[:, None] == labels[None])[..., None], 0.0, pulls)
    first = np.unique(labels, return_index=True)[
        1
    ]  # the first token of each cluster: under a causal mask later tokens are pulled by more tokens
    return merging(placed[first], pulls[first])


@checked
def merging(c: Float[np.ndarray, "clusters d"], pulls: Float[np.ndarray, "clusters tokens d"]) -> Drift:
    """Compute the drift of clusters with centres `c` under the `pulls` of all tokens, (clusters, tokens, d).

    Args:
        c: centres of the clusters, (clusters, d).
        pulls: the velocity that each token gives to each cluster, (clusters, tokens, d).

    Example:
        >>> import numpy as np
        >>> from analysis.tokens import merging
        >>> centres = np.array([[0.0, 0.0], [2.0, 0.0]])
        >>> pulls = np.array([[[0.0, 0.0], [0.5, 0.0]], [[-0.5, 0.0], [0.0, 0.0]]])
        >>> merging(centres, pulls).rate
        0.5
    """
    v = pulls.sum(axis=1)
    total = np.sum(np.linalg.norm(pulls, axis=-1), axis=1)
    imbalance = float(np.max(np.linalg.norm(v, axis=-1) / np.where(total > 0, total, np.inf)))
    gaps, moves = c[:, None] - c[None], v[:, None] - v[None]
    square = np.sum(gaps**2, axis=-1) + np.where(np.eye(len(c)) > 0, np.inf, 0.0)
    rates = -np.sum(gaps * moves, axis=-1) / square
    return Drift(c, v, float(np.max(rates[~np.eye(len(c), dtype=bool)], initial=-np.inf)), imbalance)
