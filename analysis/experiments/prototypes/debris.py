"""Run the experiment of PROTOTYPES, Section 7.2: prototypes on synthetic orbital debris, against k-means."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from analysis.experiments import Arrays, Experiment
from analysis.experiments.cases import outcomes_of_cases
from analysis.experiments.prototypes.histories import NAMES, History, history, scores_of
from analysis.experiments.prototypes.kmeans import kmeans
from analysis.experiments.prototypes.orbits import REGIMES, Catalogue, Objects, draw_objects, standardised
from analysis.experiments.prototypes.scores import chance_band, contingency, matching
from dynsim._core.types import Key
from dynsim.errors import ArgumentError
from dynsim.papers import PROTOTYPES
from dynsim.simulation.simulate import iterate
from dynsim.systems.prototypes.descent import DescentMap
from dynsim.systems.prototypes.encoders import principal_components
from dynsim.systems.prototypes.flow import PrototypeFlow
from dynsim.systems.prototypes.losses import GradientMode, PrototypeLoss, Reduction
from dynsim.systems.prototypes.temperatures import Annealing

MODES: tuple[GradientMode, ...] = ("full", "frozen")
BASELINES = ("k-means, d = 7", "k-means, PCA")


@dataclass(frozen=True)
class Descent:
    """Options of the descent of the prototypes.

    Attributes:
        epochs: number of steps, each on all objects.
        rate: the learning rate eta_P.
        start: the temperature T_0.
        floor: the temperature T_min.
        time_constant: tau of the annealing, in epochs.
        clip: the bound of every entry of the gradient.
        reduction: the loss is the mean over objects, or the sum, as printed; with the sum nearly all steps are clipped.
        components: number m of principal components.
        clusters: number K of prototypes.
        restarts: of k-means, for the start and for the baselines.
    """

    epochs: int = 500
    rate: float = 0.05
    start: float = 2.0
    floor: float = 0.3
    time_constant: float = 120.0
    clip: float = 2.0
    reduction: Reduction = "mean"
    components: int = 5
    clusters: int = 4
    restarts: int = 10


@dataclass(frozen=True)
class DebrisConfig:
    """Section 7.2, with the choices that the paper leaves open and changes of one choice at a time.

    Attributes:
        catalogue: how the objects are drawn.
        descent: how the prototypes move.
        seeds: a seed determines the objects and all starts of k-means.
        changes: changes of one field of the catalogue or the descent, with their names; each runs with all seeds.
    """

    catalogue: Catalogue = Catalogue()
    descent: Descent = Descent()
    seeds: int = 5
    changes: tuple[tuple[str, "DebrisConfig"], ...] = field(default=())


class DebrisOutcome(NamedTuple):
    """One seed: explained variance, contingency tables of `BASELINES`, and the descent in each of `MODES`."""

    explained: np.ndarray
    baselines: np.ndarray
    descents: tuple[History, ...]


def run_debris(config: DebrisConfig, key: Key, folder: Path) -> Arrays:
    """Measure each seed for the reference and every change, one row each; a resumed run is reproduced bit for bit."""
    empty = DebrisOutcome(np.zeros(()), np.zeros(()), (History(*(jnp.zeros(()) for _ in NAMES)),) * len(MODES))

    def measure(key: Key, case: DebrisConfig) -> DebrisOutcome:
        objects = draw_objects(jax.random.fold_in(key, 0), case.catalogue)
        return debris_outcome(jax.random.fold_in(key, 1), objects, case.descent)

    arrays: dict[str, np.ndarray] = {"cases": np.array(["reference", *(name for name, _ in config.changes)])}
    for name, _, found in outcomes_of_cases(config, key, folder, title="debris", empty=empty, measure=measure):
        arrays |= _arrays(name, found, key)
    return arrays


def debris_outcome(key: Key, objects: Objects, options: Descent) -> DebrisOutcome:
    """Run k-means on standardised features and on their principal components, and both descents from the latter."""
    x = standardised(objects.features)
    axes = np.asarray(principal_components(x, options.components).weight)
    z = x @ axes.T
    raw, start = (
        kmeans(jax.random.fold_in(key, k), jnp.asarray(points), options.clusters, restarts=options.restarts)
        for k, points in enumerate((x, z))
    )
    sizes = (len(REGIMES), options.clusters)
    tables = [contingency(objects.labels, np.asarray(found.clusters), *sizes) for found in (raw, start)]
    descents = []
    for mode in MODES:
        path = iterate(descent(z, mode, options), start.centroids, options.epochs)
        descents.append(history(path, objects.labels, len(REGIMES)))
    explained = np.sum(np.var(z, axis=0)) / np.sum(np.var(x, axis=0))
    return DebrisOutcome(np.asarray(explained), np.stack(tables), tuple(descents))


def descent(z: np.ndarray, mode: GradientMode, options: Descent) -> DescentMap:
    """Build the descent of prototypes among the embeddings of the objects, (objects, components)."""
    cooling = Annealing(options.start, options.floor, options.time_constant)
    loss = PrototypeLoss(mode, reduction=options.reduction)
    return DescentMap(PrototypeFlow(z, cooling, loss=loss, rate=options.rate), clip_value=options.clip)


def _arrays(name: str, outcomes: list[DebrisOutcome], key: Key) -> Arrays:
    rows = jax.tree.map(lambda *found: np.stack(found), *outcomes)
    arrays = {f"{name}: explained variance": rows.explained}
    for k, baseline in enumerate(BASELINES):
        arrays[f"{name}: {baseline}: tables"] = rows.baselines[:, k]
        arrays[f"{name}: {baseline}: scores"] = scores_of(rows.baselines[:, k])
    for mode, found in zip(MODES, rows.descents, strict=True):
        arrays |= {f"{name}: {mode}: {what}": part for what, part in zip(NAMES[:-1], found[:-1], strict=True)}
        arrays[f"{name}: {mode}: scores"] = scores_of(found.tables)
        arrays[f"{name}: {mode}: tables"] = found.tables[:, -1]
        bands = [chance_band(jax.random.fold_in(key, k), table) for k, table in enumerate(found.tables[:, -1])]
        arrays[f"{name}: {mode}: chance"] = np.array(bands)
    return arrays


def confusions(table: np.ndarray) -> np.ndarray:
    """Count how many objects of each regime (row) are in the cluster matched to each regime (column)."""
    found = matching(table)
    return np.stack([table[:, found == k].sum(axis=1) for k in range(table.shape[0])], axis=1)


def error_share(table: np.ndarray, first: str, second: str) -> float:
    """Compute the share of errors between two regimes among all errors; NaN if there is no error."""
    wrong = confusions(table) * (1 - np.eye(len(REGIMES), dtype=int))
    j, k = REGIMES.index(first), REGIMES.index(second)
    return float((wrong[j, k] + wrong[k, j]) / np.sum(wrong)) if np.any(wrong) else np.nan


def best_epoch(scores: Float[np.ndarray, "seeds epochs 3"]) -> Int[np.ndarray, " seeds"]:
    """Find by seed the first epoch of the highest accuracy, from 1 on; epoch 0 is the start, k-means itself.

    Source: PROTOTYPES, Table 3.

    Raises:
        ValueError: for scores of the start alone.
    """
    if scores.ndim != 3 or scores.shape[1] < 2:
        raise ArgumentError("scores", "have shape (seeds, epochs, 3) with two epochs at least", f"has {scores.shape}")
    return 1 + np.argmax(scores[:, 1:, 0], axis=1)


def summarise_debris(arrays: Arrays) -> str:
    """Format Table 3 for the reference, the places of its errors, and a line for each change."""
    lines = list(_table_3(arrays))
    for mode in MODES:
        total = np.sum([confusions(table) for table in arrays[f"reference: {mode}: tables"]], axis=0)
        lines.append(f"{mode}, final epoch, regime by regime of the matched prototype ({', '.join(REGIMES)}):")
        lines += [f"  {name} {row.tolist()}" for name, row in zip(REGIMES, total, strict=True)]
    lines.append("change: ACC of k-means (PCA); best and final ACC, final S, errors LEO/HEO, by mode; means over seeds")
    return "\n".join([*lines, *(_change(str(name), arrays) for name in arrays["cases"])])


def _table_3(arrays: Arrays) -> Iterator[str]:
    yield f"explained variance {np.mean(arrays['reference: explained variance']):.4f}"
    text = lambda found: ", ".join(
        f"{name} {m:.4f} +- {s:.4f}"
        for name, m, s in zip(("ACC", "NMI", "ARI"), found.mean(axis=0), found.std(axis=0), strict=True)
    )
    for baseline in BASELINES:
        yield f"{baseline}: {text(arrays[f'reference: {baseline}: scores'])}"
    for mode in MODES:
        found = arrays[f"reference: {mode}: scores"]
        best = best_epoch(found)
        mean, low, high = arrays[f"reference: {mode}: chance"].mean(axis=0)
        yield f"{mode}, best epoch ({best.tolist()}): {text(found[np.arange(len(found)), best])}"
        yield f"{mode}, final epoch: {text(found[:, -1])}; ACC by chance {mean:.3f} ({low:.3f}-{high:.3f})"


def _change(name: str, arrays: Arrays) -> str:
    parts = [f"{name}: {np.mean(arrays[f'{name}: {BASELINES[1]}: scores'][:, 0]):.4f}"]
    for mode in MODES:
        found = arrays[f"{name}: {mode}: scores"]
        shares = [error_share(table, "LEO", "HEO") for table in arrays[f"{name}: {mode}: tables"]]
        known = [share for share in shares if np.isfinite(share)]
        errors = f"{np.mean(known):.2f}" if known else "none"
        best, final = found[np.arange(len(found)), best_epoch(found), 0].mean(), found[:, -1, 0].mean()
        S = arrays[f"{name}: {mode}: S"][:, -1].mean()
        parts.append(f"{mode} {best:.4f}, {final:.4f}, {S:.3g}, {errors}")
    return "; ".join(parts)


def _changes(reference: DebrisConfig) -> tuple[tuple[str, DebrisConfig], ...]:
    """Change one choice of the reference, for each choice."""
    of_objects = lambda **options: replace(reference, catalogue=replace(reference.catalogue, **options))
    of_descent = lambda **options: replace(reference, descent=replace(reference.descent, **options))
    return (
        ("LEO at 28.5 degrees", of_objects(inclinations=(28.5, 55.0, 0.0, 63.4))),
        ("LEO at 63.4 degrees, as HEO", of_objects(inclinations=(63.4, 55.0, 0.0, 63.4))),
        ("LEO at 98 degrees", of_objects(inclinations=(98.0, 55.0, 0.0, 63.4))),
        ("noise .02", of_objects(noise=(0.02, 0.02))),
        ("noise .04", of_objects(noise=(0.04, 0.04))),
        ("noise on the elements", of_objects(noise_on="elements")),
        ("RCS by regime", of_objects(cross_section="class")),
        ("RCS log-normal", of_objects(cross_section="log-normal")),
        ("Omega = 0", of_objects(nodes="zero")),
        ("a_max of the data", of_objects(largest="data")),
        ("sum over objects", of_descent(reduction="sum")),
        ("T_0 = 4", of_descent(start=4.0)),
        ("T_min = 1", of_descent(floor=1.0)),
        ("tau = 20", of_descent(time_constant=20.0)),
        ("eta_P = .5", of_descent(rate=0.5)),
        ("m = 7", of_descent(components=7)),
        ("one restart of k-means", of_descent(restarts=1)),
    )


_REFERENCE = DebrisConfig()
PAPER = replace(_REFERENCE, seeds=10, changes=_changes(_REFERENCE))
QUICK = replace(_REFERENCE, seeds=2)

DEBRIS = Experiment(
    "prototypes/debris",
    PROTOTYPES.at("Section 7.2, Table 3"),
    "synthetic orbital debris: prototypes against k-means, the places of errors, changes of one choice at a time",
    QUICK,
    PAPER,
    run_debris,
    summarise_debris,
)

EXPERIMENTS = (DEBRIS,)
