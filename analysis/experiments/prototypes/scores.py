"""Score a clustering against labels: accuracy with matched clusters, mutual information, Rand index, chance bands.

All are functions of the contingency table of classes and clusters. NumPy: not for `jit`.
"""

from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Float, Int
from scipy.optimize import linear_sum_assignment

from dynsim._core.types import ArrayLike, Key
from dynsim.errors import ArgumentError

Table = Int[np.ndarray, "classes clusters"]


def contingency(labels: ArrayLike, clusters: ArrayLike, num_classes: int, num_clusters: int) -> Table:
    """Count the points of each class in each cluster.

    Raises:
        ValueError: unless both hold one integer from 0 on for each point, below the numbers given.
    """
    first, second = _numbers("labels", labels, num_classes), _numbers("clusters", clusters, num_clusters)
    if first.shape != second.shape:
        raise ArgumentError("clusters", f"hold {len(first)} numbers to match `labels`", f"holds {len(second)}")
    flat = np.bincount(first * num_clusters + second, minlength=num_classes * num_clusters)
    return flat.reshape(num_classes, num_clusters)


def matching(table: ArrayLike) -> Int[np.ndarray, " clusters"]:
    """Match a class to each cluster, -1 for none, so that the most points are in a matching pair.

    Each class has at most one cluster (Hungarian algorithm); of equally good matchings it is SciPy's.
    """
    counts = _table(table)
    classes, clusters = linear_sum_assignment(counts, maximize=True)
    found = np.full(counts.shape[1], -1)
    found[clusters] = classes
    return found


def matched_accuracy(table: ArrayLike) -> float:
    """Compute the fraction of points whose cluster is matched to their class, the clustering accuracy ACC.

    Source: PROTOTYPES, Section 7.1.
    """
    counts = _table(table)
    rows, columns = linear_sum_assignment(counts, maximize=True)
    return float(np.sum(counts[rows, columns]) / np.sum(counts))


def mutual_information(table: ArrayLike) -> float:
    """Compute the mutual information over the mean of both entropies, NMI; one if both partitions are trivial."""
    p = _table(table) / np.sum(table)
    rows, columns = np.sum(p, axis=1), np.sum(p, axis=0)
    mean = (_entropy(rows) + _entropy(columns)) / 2
    shared = _entropy(rows) + _entropy(columns) - _entropy(p.ravel())
    return max(0.0, float(shared / mean)) if mean > 0 else 1.0


def rand_index(table: ArrayLike) -> float:
    """Compute the adjusted Rand index, ARI: its mean over random partitions of the same sizes is zero."""
    counts = _table(table)
    pairs = lambda sizes: float(np.sum(sizes * (sizes - 1) // 2))
    rows, columns, both = pairs(counts.sum(axis=1)), pairs(counts.sum(axis=0)), pairs(counts)
    expected = rows * columns / pairs(np.array([counts.sum()]))
    most = (rows + columns) / 2
    return 1.0 if most == expected else (both - expected) / (most - expected)


def scores(table: ArrayLike) -> Float[np.ndarray, " 3"]:
    """Compute accuracy, mutual information and Rand index: ACC, NMI, ARI."""
    return np.array([matched_accuracy(table), mutual_information(table), rand_index(table)])


class ChanceBand(NamedTuple):
    """Mean of a score over random orders of the labels, and the bounds of its central 95%."""

    mean: float
    low: float
    high: float


def chance_band(key: Key, table: ArrayLike, *, orders: int = 200) -> ChanceBand:
    """Compute the accuracy by chance: the accuracy of the same clusters with randomly permuted labels.

    An accuracy within the band is explained by clusters that are unrelated to the labels. Since clusters are matched
    afterwards, its mean exceeds 1 / classes for as many clusters as classes.
    """
    counts = _table(table)
    labels = np.repeat(np.arange(counts.shape[0]), counts.sum(axis=1))
    clusters = np.repeat(np.arange(counts.shape[1]), counts.sum(axis=0))
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
    drawn = [contingency(rng.permutation(labels), clusters, *counts.shape) for _ in range(orders)]
    found = [matched_accuracy(one) for one in drawn]
    return ChanceBand(float(np.mean(found)), *(float(np.quantile(found, q)) for q in (0.025, 0.975)))


def _entropy(p: np.ndarray) -> float:
    positive = p[p > 0]
    return float(-np.sum(positive * np.log(positive)))


def _table(table: ArrayLike) -> Table:
    found = np.asarray(table)
    if found.ndim != 2 or found.dtype.kind not in "iu" or np.any(found < 0) or np.sum(found) < 2:
        raise ArgumentError("table", "hold the counts of at least two points in shape (classes, clusters)", "does not")
    return found


def _numbers(name: str, values: ArrayLike, count: int) -> Int[np.ndarray, " points"]:
    found = np.asarray(values)
    if found.ndim != 1 or found.dtype.kind not in "iu" or found.size == 0:
        raise ArgumentError(name, "hold one integer for each point", f"has shape {found.shape} of {found.dtype}")
    if np.min(found) < 0 or np.max(found) >= count:
        wrong = np.min(found) if np.min(found) < 0 else np.max(found)
        raise ArgumentError(name, f"hold numbers from 0 to {count - 1}", f"has {wrong}")
    return found.astype(int)
