"""Measure a bank of prototypes at each saved step of its descent."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from analysis.experiments.prototypes.kmeans import nearest, spread
from analysis.experiments.prototypes.scores import scores
from dynsim._core.types import State, Step
from dynsim.errors import ArgumentError
from dynsim.simulation.trajectory import Trajectory
from dynsim.systems.prototypes.assignments import assignments, competitive_loss, entropy, prototype_variance, separation
from dynsim.systems.prototypes.descent import DescentMap


class History(NamedTuple):
    """Measures in the order of the path: the separation at each of its times, the others at those that are kept.

    Attributes:
        separation: S(P).
        variance: V / N.
        entropy: H, in nats.
        spread: the trace of the covariance of the embeddings.
        loss: L_q / N.
        tables: the numbers of points of each class nearest to each prototype.
    """

    separation: Float[Array, " times"]
    variance: Float[Array, " kept"]
    entropy: Float[Array, " kept"]
    spread: Float[Array, " kept"]
    loss: Float[Array, " kept"]
    tables: Int[Array, "kept classes clusters"]


NAMES = ("S", "V/N", "H", "spread", "Lq/N", "tables")
"""Names in a record of the fields of `History`, in their order."""


def history(path: Trajectory, labels: Int[np.ndarray, " n"], num_classes: int, *, every: int = 1) -> History:
    """Measure a path of a `DescentMap` at every `every`-th of its times, at their temperatures.

    Raises:
        ValueError: for the path of another system, or labels that are not one for each data point.
    """
    descent = path.system
    if not isinstance(descent, DescentMap):
        raise ArgumentError("path", "be one of a `DescentMap`", f"is one of {type(descent).__name__}")
    count = descent.flow.embed(path.initial).shape[0]
    if np.shape(labels) != (count,):
        raise ArgumentError("labels", f"hold one class for each of {count} points", f"has shape {np.shape(labels)}")
    kept = (jnp.asarray(path.ts)[::every], jax.tree.map(lambda y: y[::every], path.ys))
    S = path.along(lambda x: separation(descent.flow.prototypes(x)))
    return History(S, *_measured(descent, *kept, jnp.asarray(labels), num_classes))


@eqx.filter_jit
def _measured(
    map: DescentMap, steps: Array, states: State, labels: Int[Array, " n"], num_classes: int
) -> tuple[Array, ...]:
    def measure(item: tuple[Step, State]) -> tuple[Array, ...]:
        k, x = item
        z, p = map.flow.embed(x), map.flow.prototypes(x)
        T = map.flow.temperature(map.epoch(k)).astype(p.dtype)
        table = jnp.zeros((num_classes, p.shape[0]), int).at[labels, nearest(z, p)].add(1)
        n = z.shape[0]
        H = entropy(assignments(z, p, T))
        return prototype_variance(z, p, T) / n, H, spread(z), competitive_loss(z, p, T) / n, table

    return jax.lax.map(measure, (steps, states))


def scores_of(tables: Int[np.ndarray, "*shape classes clusters"]) -> Float[np.ndarray, "*shape 3"]:
    """Compute ACC, NMI and ARI of each contingency table; NumPy: not for `jit`."""
    flat = np.reshape(tables, (-1, *np.shape(tables)[-2:]))
    return np.reshape([scores(table) for table in flat], (*np.shape(tables)[:-2], 3))
