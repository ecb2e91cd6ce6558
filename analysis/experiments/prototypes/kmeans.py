"""Run k-means with restarts, for the start of prototypes and as a baseline."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int
from jaxtyping import Key as KeyArray

from dynsim._core.types import Key, Scalar
from dynsim._core.validation import integer
from dynsim.errors import ArgumentError
from dynsim.systems.prototypes.assignments import Embeddings, Prototypes, squared_distances
from dynsim.systems.prototypes.flow import as_points

# Largest number of passes of one restart.
LARGEST = 300


class KMeans(NamedTuple):
    """Best of several restarts: its centroids, the cluster of each point, and the sum of squared distances."""

    centroids: Prototypes
    clusters: Int[Array, " n"]
    inertia: Scalar


def kmeans(key: Key, z: Embeddings, num_clusters: int, *, restarts: int = 10) -> KMeans:
    """Run k-means several times from centroids drawn by k-means++, and keep the best result.

    A run ends when no point changes its cluster, or after 300 passes; a centroid that no point is nearest to stays. For
    a key the result is that of one machine up to rounding: sums are those of XLA, whose order depends on the processor.

    Raises:
        ValueError: unless the points are a finite matrix with at least as many rows as clusters.
    """
    points = as_points("z", z)
    count, restarts = integer("num_clusters", num_clusters, least=1), integer("restarts", restarts, least=1)
    if count > points.shape[0]:
        raise ArgumentError("num_clusters", f"be at most {points.shape[0]}, the number of points", f"is {count}")
    found = _restarted(jax.random.split(key, restarts), points, count)
    best = jnp.argmin(found.inertia)
    return KMeans(*(part[best] for part in found))


def nearest(z: Embeddings, centroids: Prototypes) -> Int[Array, " n"]:
    """Find the nearest centroid of each point, the first of several."""
    return jnp.argmin(squared_distances(z, centroids), axis=-1)


@jax.jit(static_argnums=2)
def _restarted(keys: KeyArray[Array, " restarts"], z: Embeddings, count: int) -> KMeans:
    return jax.lax.map(lambda key: _lloyd(z, _spread_out(key, z, count)), keys)


def _spread_out(key: Key, z: Embeddings, count: int) -> Prototypes:
    """Draw points one by one with probabilities proportional to the squared distance from those drawn before."""
    keys = jax.random.split(key, count)
    first = z[jax.random.randint(keys[0], (), 0, z.shape[0])]
    start = jnp.broadcast_to(first[None], (count, z.shape[1]))

    def add(centroids: Prototypes, item: tuple[Array, Key]) -> tuple[Prototypes, None]:
        k, drawn = item
        d = jnp.min(squared_distances(z, centroids), axis=-1)
        weights = jnp.where(jnp.sum(d) > 0, d, jnp.ones_like(d))
        return centroids.at[k].set(z[jax.random.categorical(drawn, jnp.log(weights))]), None

    return jax.lax.scan(add, start, (jnp.arange(1, count), keys[1:]))[0]


def _lloyd(z: Embeddings, start: Prototypes) -> KMeans:
    count = start.shape[0]

    def means(clusters: Int[Array, " n"], before: Prototypes) -> Prototypes:
        members = jax.nn.one_hot(clusters, count, dtype=z.dtype)
        sizes = jnp.sum(members, axis=0)[:, None]
        return jnp.where(sizes > 0, members.T @ z / jnp.maximum(sizes, 1), before)

    def again(state: tuple[Prototypes, Int[Array, " n"], Array, Array]) -> Array:
        return state[2] & (state[3] < LARGEST)

    def advance(state: tuple[Prototypes, Int[Array, " n"], Array, Array]) -> tuple:
        centroids, before, _, passes = state
        moved = means(before, centroids)
        clusters = nearest(z, moved)
        return moved, clusters, jnp.any(clusters != before), passes + 1

    begin = (start, nearest(z, start), jnp.asarray(True), jnp.asarray(0))
    centroids, clusters, _, _ = jax.lax.while_loop(again, advance, begin)
    inertia = jnp.sum(jnp.min(squared_distances(z, centroids), axis=-1))
    return KMeans(centroids, clusters, inertia)


def spread(z: Embeddings) -> Float[Array, ""]:
    """Compute the mean squared distance of points from their mean, the trace of their covariance."""
    return jnp.mean(jnp.sum((z - jnp.mean(z, axis=0)[None]) ** 2, axis=-1))
