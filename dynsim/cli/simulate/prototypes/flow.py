"""Build the data, the flow and the initial state of `dynsim simulate prototypes`."""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from analysis.experiments.prototypes.kmeans import kmeans
from dynsim._core.types import State
from dynsim.cli.parsing.tables import array, matrix
from dynsim.cli.simulate.prototypes.options import Prototypes
from dynsim.errors import ArgumentError, nearest, reason
from dynsim.io.npz import read_arrays
from dynsim.keys import random_key
from dynsim.systems.prototypes.encoders import (
    AbstractEncoder,
    AffineEncoder,
    FreeEmbeddings,
    LinearEncoder,
    MLPEncoder,
    principal_components,
)
from dynsim.systems.prototypes.flow import Coupled, CoupledFlow, PrototypeFlow, as_points
from dynsim.systems.prototypes.hierarchy import TwoLevel, TwoLevelFlow
from dynsim.systems.prototypes.losses import PrototypeLoss
from dynsim.systems.prototypes.temperatures import AbstractTemperature, Annealing, ConstantTemperature

AnyFlow = PrototypeFlow | CoupledFlow | TwoLevelFlow
STARTS = ("points", "k-means", "normal", "mean")


def data(o: Prototypes) -> tuple[np.ndarray, np.ndarray | None]:
    """Read the data (n, d) from a file or draw them in clusters, with a label for each point or None."""
    if o.data_file is None:
        x, labels = _clusters(o)
    else:
        x, labels = _from_file(o.data_file), None
    if o.labels is not None:
        labels = whole_numbers(o.labels, "labels", len(x))
    return x, labels


def _clusters(o: Prototypes) -> tuple[np.ndarray, np.ndarray]:
    centres = jax.random.normal(random_key(o.seed, "centres"), (o.clusters, o.dimension))
    labels = np.arange(o.points) % o.clusters
    noise = jax.random.normal(random_key(o.seed, "data"), (o.points, o.dimension))
    return np.asarray(centres)[labels] + o.spread * np.asarray(noise), labels


def _from_file(path: Path) -> np.ndarray:
    """Read data points from a file; raise `ValueError` unless it holds a finite matrix."""
    if path.suffix != ".npz":
        return np.asarray(matrix(path, "data_file"), float)
    if not path.is_file():
        raise ArgumentError("data_file", "be a file", f"`{path}` does not exist")
    try:
        found = read_arrays(path)
    except ArgumentError as error:
        raise ArgumentError("data_file", "be a complete npz file", f"`{path}` is not ({reason(error)})") from None
    if "data" not in found and len(found) != 1:
        must = "hold one array, or one named `data`"
        raise ArgumentError("data_file", must, f"`{path}` holds {', '.join(found) or 'none'}")
    return np.asarray(as_points("data_file", found["data"] if "data" in found else next(iter(found.values()))), float)


def whole_numbers(path: Path, name: str, count: int) -> np.ndarray:
    """Read a whole number for each data point from a file; raise `ValueError` for anything else."""
    found = array(path, name)
    if found.size != count or max(found.shape) != count:
        must = f"hold one number for each of {count} data points"
        raise ArgumentError(name, must, f"`{path}` has shape {found.shape}")
    numbers = found.ravel()
    if not np.array_equal(numbers, np.round(numbers)):
        raise ArgumentError(name, "hold whole numbers", f"`{path}` holds {numbers[numbers != np.round(numbers)][0]}")
    return numbers.astype(np.int64)


def flow_and_start(o: Prototypes, x: np.ndarray) -> tuple[AnyFlow, State]:
    """Build the flow that the options describe, and its initial state in the requested precision."""
    loss = PrototypeLoss(o.mode, barrier=o.barrier, ridge=o.ridge, reduction=o.reduction)
    T, single = _temperature(o), lambda y: jax.tree.map(lambda a: jnp.asarray(a, jnp.dtype(o.precision)), y)
    if o.encoder == "frozen":
        frozen = PrototypeFlow(x, T, loss=loss, rate=o.prototype_rate)
        return frozen, single(_prototypes(o, x))
    encoder, theta = _encoder(o, x)
    rates = {"encoder_rate": o.ratio * o.prototype_rate, "prototype_rate": o.prototype_rate}
    p = _prototypes(o, np.asarray(encoder.embed(theta, jnp.asarray(x))))
    if not o.second:
        return CoupledFlow(x, encoder, T, loss=loss, **rates), single(Coupled(theta, p))
    groups = None if o.groups is None else whole_numbers(o.groups, "groups", len(x))
    flow = TwoLevelFlow(x, encoder, T, detached=o.detached, loss=loss, groups=groups, **rates)
    level_two = np.asarray(flow.inputs(0.0, TwoLevel(theta, jnp.asarray(p), jnp.zeros((o.second, p.shape[1])))))
    return flow, single(TwoLevel(theta, p, _rows(o, level_two, o.second, "second")))


def _temperature(o: Prototypes) -> AbstractTemperature:
    if o.floor is None:
        return ConstantTemperature(o.temperature)
    if not o.temperature >= o.floor:
        must = f"be at most the initial `--temperature`, {o.temperature:g}"
        raise ArgumentError("floor", must, f"is {o.floor:g}")
    return Annealing(o.temperature, o.floor, o.time_constant)


def _encoder(o: Prototypes, x: np.ndarray) -> tuple[AbstractEncoder, State]:
    """Build the encoder and its initial parameters."""
    n, d = x.shape
    if o.encoder == "free":
        return FreeEmbeddings(n, d), jnp.asarray(x)
    outputs = min(2, d) if o.outputs is None else o.outputs
    if o.encoder == "mlp":
        network = MLPEncoder(d, o.hidden, outputs)
        return network, network.draw(random_key(o.seed, "encoder"))
    axes = principal_components(x, outputs)
    return (LinearEncoder(d, outputs), axes.weight) if o.encoder == "linear" else (AffineEncoder(d, outputs), axes)


def _prototypes(o: Prototypes, z: np.ndarray) -> np.ndarray:
    """Choose the initial prototypes (k, m) for embeddings (n, m)."""
    if o.initial.endswith((".npy", ".csv")):
        p = np.asarray(matrix(Path(o.initial), "initial"), float)
        if p.shape[1] != z.shape[1]:
            must = f"have {z.shape[1]} columns, the dimension of the embeddings"
            raise ArgumentError("initial", must, f"`{o.initial}` has {p.shape[1]}")
    elif o.initial == "normal":
        p = np.asarray(jax.random.normal(random_key(o.seed, "prototypes"), (o.prototypes, z.shape[1])))
    elif o.initial == "mean":
        p = np.tile(z.mean(axis=0), (o.prototypes, 1))
    elif o.initial == "k-means":
        p = np.asarray(kmeans(random_key(o.seed, "k-means"), jnp.asarray(z), o.prototypes).centroids)
    elif o.initial == "points":
        p = _rows(o, z, o.prototypes, "prototypes")
    else:
        must = f"be {', '.join(STARTS)}, or a .npy or .csv file"
        raise ArgumentError("initial", must, f"is `{o.initial}`{nearest(o.initial, STARTS)}")
    if o.barrier > 0 and len(np.unique(p, axis=0)) < len(p):
        raise ArgumentError(
            "barrier", "be 0 if prototypes coincide at the start, where the barrier is infinite", "is not"
        )
    return p


def _rows(o: Prototypes, points: np.ndarray, count: int, name: str) -> Any:
    """Draw rows of `points` without replacement."""
    if count > len(points):
        must = f"be at most {len(points)}, the number of points from which they are drawn"
        raise ArgumentError(name, must, f"is {count}")
    rows = jax.random.choice(random_key(o.seed, name), len(points), (count,), replace=False)
    return points[np.asarray(rows)]
