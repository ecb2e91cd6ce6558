"""Clusters of tokens, and how fast clusters that look at rest still drift together."""

from typing import NamedTuple

import numpy as np
import scipy.cluster.hierarchy
from numpy.typing import ArrayLike

from dynsim._types import Time
from dynsim.errors import argument_error
from dynsim.systems.base import AbstractFlow


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


def drift(flow: AbstractFlow, x: ArrayLike, t: Time = 0.0, *, radius: float = 1e-6) -> Drift:
    r"""Return the velocities of clusters of particles, accurate far below the rounding error of the field.

    For tokens with U = c I they are like $e^{\beta(\cos\delta - 1)}$. Each cluster is put at its mean; its particles
    then exert no pull on one another, and only the small pulls between clusters are added up. NumPy: not for `jit`.

    Args:
        flow: a flow that knows its pairwise `pulls`.
        x: particles, shape (n, d).
        t: the time, in the flow's unit.
        radius: of single linkage, see `clusters`.

    Raises:
        ValueError: if the flow does not know its pulls.
    """
    x = np.asarray(x, float)
    labels = clusters(x, radius)
    means = np.stack([x[labels == k].mean(axis=0) for k in range(labels.max() + 1)])
    placed = np.asarray(flow.space.project(means))[labels]
    pulls = flow.pulls(t, placed)
    if not pulls.size:
        must = "know its pairwise pulls (`TokenFlow` on ellipsoids does, for the value c I)"
        raise argument_error("flow", must, f"is a {type(flow).__name__} that does not")
    pulls = np.where((labels[:, None] == labels[None])[..., None], 0.0, pulls)
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
