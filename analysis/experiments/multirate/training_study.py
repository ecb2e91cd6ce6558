"""Run the experiment of MULTIRATE, Section 9: coupled, frozen and dense networks compared over paired seeds."""

import math
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from analysis.experiments import Arrays, Experiment, names_in
from dynsim._core.types import Key
from dynsim._runtime.progress import progress
from dynsim.errors import ArgumentError
from dynsim.io.checkpoints import Checkpoints
from dynsim.io.data import data_file
from dynsim.networks.multirate.byte_text import random_windows, read_bytes, windows
from dynsim.networks.multirate.config import MultirateConfig, dense, layer_equivalent_cost
from dynsim.networks.multirate.flops import layer_equivalents
from dynsim.networks.multirate.network import MultirateNetwork, draw_multirate, frozen, num_parameters
from dynsim.networks.multirate.training import text_loss, train_multirate
from dynsim.networks.training import Batches
from dynsim.papers import MULTIRATE

CURVES = ("training loss", "validation loss", "final validation loss", "gates")


@dataclass(frozen=True)
class NetworkVariant:
    """One network of a study, with options of its training.

    Attributes:
        name: the prefix of its arrays in the record.
        network: its configuration.
        held: whether its gates are held at zero.
        residual_weight: the weight of the auxiliary loss of Section 11.4.
    """

    name: str
    network: MultirateConfig = MultirateConfig()
    held: bool = False
    residual_weight: float = 0.0


@dataclass(frozen=True)
class StudyConfig:
    """Parameters of Section 9; those missing in the paper are the defaults of `MultirateConfig` and PyTorch's AdamW.

    Attributes:
        variants: the networks; each is trained with every seed, and all are compared with the first.
        seeds: the number of seeds; a seed determines the weights and batches, the same for equal configurations.
        steps: number of training steps.
        batch: windows per step.
        length: bytes per window.
        learning_rate: of AdamW.
        weight_decay: of AdamW.
        every: number of steps between checkpoints, at which losses and gates are recorded.
        evaluated: number of windows of the held-out text evaluated at checkpoints; None for all.
        final: number of windows of the held-out text evaluated at the end; None for all.
        train: data file of the training text.
        validation: data file of the held-out text.
    """

    variants: tuple[NetworkVariant, ...]
    seeds: int = 5
    steps: int = 650
    batch: int = 3
    length: int = 256
    learning_rate: float = 1e-3
    weight_decay: float = 1e-2
    every: int = 50
    evaluated: int | None = 64
    final: int | None = None
    train: str = "tinyshakespeare_train.txt.gz"
    validation: str = "tinyshakespeare_val.txt.gz"

    @property
    def points(self) -> list[int]:
        """Numbers of steps at which checkpoints are recorded."""
        return [*range(0, self.steps, self.every), self.steps]


class StudyRun(NamedTuple):
    """The results of one training: `CURVES` in their order, and the trained parameters."""

    training: np.ndarray
    validation: np.ndarray
    final: np.ndarray
    gates: np.ndarray
    weights: tuple[np.ndarray, ...]


class TrainingData(NamedTuple):
    """Data shared by all trainings: batches, held-out windows at checkpoints and at the end, checksums of texts."""

    batches: Batches
    evaluated: np.ndarray
    held_out: np.ndarray
    checksums: tuple[int, int]


def run_study(config: StudyConfig, key: Key, folder: Path) -> Arrays:
    """Train every variant, and collect its results, one row for each seed, with the first seed's parameters.

    Losses are in nats per byte. A run that is interrupted and resumed is reproduced bit for bit, except for the times
    of steps, which the benchmarks measure.
    """
    data = _training_data(config)
    runs: dict[str, list[StudyRun]] = {variant.name: [] for variant in config.variants}
    with progress(config.seeds * len(config.variants) * config.steps, "training", unit="steps") as bar:
        for seed in range(config.seeds):
            for variant in config.variants:
                seed_key = jax.random.fold_in(key, seed)
                runs[variant.name].append(_run(config, variant, data, seed_key, folder / variant.name / str(seed), bar))
    arrays: dict[str, np.ndarray] = {"steps": np.array(config.points)}
    for variant in config.variants:
        found = runs[variant.name]
        columns = zip(*(run[: len(CURVES)] for run in found), strict=True)
        arrays |= {f"{variant.name}: {name}": np.stack(rows) for name, rows in zip(CURVES, columns, strict=True)}
        arrays |= {f"{variant.name}: {name}": value for name, value in _size(config, variant).items()}
        arrays |= {f"{variant.name}: weights {k}": leaf for k, leaf in enumerate(found[0].weights)}
    return arrays


def _training_data(config: StudyConfig) -> TrainingData:
    train, held_out = (read_bytes(data_file(name)) for name in (config.train, config.validation))
    return TrainingData(
        random_windows(train, batch=config.batch, length=config.length),
        windows(held_out, config.length, count=config.evaluated),
        windows(held_out, config.length, count=config.final),
        (zlib.crc32(train.tobytes()), zlib.crc32(held_out.tobytes())),
    )


def _start(variant: NetworkVariant, key: Key) -> MultirateNetwork:
    model = draw_multirate(key, variant.network)
    return frozen(model) if variant.held else model


def _size(config: StudyConfig, variant: NetworkVariant) -> Arrays:
    model = _start(variant, jax.random.key(0))
    return {
        "parameters": np.array(num_parameters(model)),
        "layer-equivalent cost": np.array(layer_equivalent_cost(variant.network)),
        "counted layer equivalents": np.array(layer_equivalents(model, config.length)),
    }


def _run(
    config: StudyConfig, variant: NetworkVariant, data: TrainingData, key: Key, folder: Path, bar: Any
) -> StudyRun:
    """Train one network, or read its results from `folder` if it is finished."""
    numbers = (replace(config, variants=(), seeds=0), variant, data.checksums, jax.random.key_data(key).tolist())
    digest = " ".join(str(part) for part in numbers)
    draw, order = jax.random.split(key)
    start = _start(variant, draw)
    weights = jax.tree.leaves(eqx.filter(start, eqx.is_inexact_array))
    z = np.zeros(())
    done = Checkpoints(folder / "finished", digest, jax.tree.structure(StudyRun(z, z, z, z, tuple(weights))))
    if not done.has(0):
        rows = Checkpoints(folder, digest, jax.tree.structure((0, 0)))
        callback = _CheckpointCallback(config, data, rows, bar)
        found = train_multirate(
            start,
            data.batches,
            order,
            num_steps=config.steps,
            residual_weight=variant.residual_weight,
            learning_rate=config.learning_rate,
            weight_decay=config.weight_decay,
            every=config.every,
            folder=folder,
            callback=callback,
            shown=False,
        )
        seen = [np.stack(part) for part in zip(*(rows.load(step) for step in config.points), strict=True)]
        final = np.array(text_loss(found.model, data.held_out))
        leaves = tuple(np.asarray(leaf) for leaf in jax.tree.leaves(eqx.filter(found.model, eqx.is_inexact_array)))
        done.save(0, StudyRun(found.losses, seen[0], final, seen[1], leaves))
    else:
        bar.update(config.steps)
    return StudyRun(*jax.tree.map(np.asarray, done.load(0)))


class _CheckpointCallback:
    """Record the held-out loss and the gates at each checkpoint."""

    def __init__(self, config: StudyConfig, data: TrainingData, rows: Checkpoints, bar: Any):
        """Start before the first step."""
        self.config, self.data, self.rows, self.bar, self.previous = config, data, rows, bar, 0

    def __call__(self, done: int, model: MultirateNetwork) -> None:
        """Save a row after `done` steps, unless an earlier run has saved it."""
        if not self.rows.has(done):
            loss = np.array(text_loss(model, self.data.evaluated))
            self.rows.save(done, (loss, np.asarray(model.gates)))
        self.bar.update(done - self.previous)
        self.previous = done


def trained_network(record: Arrays, config: Mapping[str, Any], name: str) -> MultirateNetwork:
    """Rebuild the network of a variant as trained with the first seed.

    Args:
        record: the arrays of a record of this experiment.
        config: the configuration in that record.
        name: the name of the variant.

    Raises:
        ValueError: if there is no such variant.
    """
    variants = {found["name"]: found for found in config["variants"]}
    if name not in variants:
        raise ArgumentError("name", f"be one of {', '.join(variants)}", f"is `{name}`")
    entry = variants[name]
    model = _start(NetworkVariant(name, MultirateConfig(**entry["network"]), entry["held"]), jax.random.key(0))
    moving, still = eqx.partition(model, eqx.is_inexact_array)
    leaves, structure = jax.tree.flatten(moving)
    kept = [jnp.asarray(record[f"{name}: weights {k}"]) for k in range(len(leaves))]
    return eqx.combine(jax.tree.unflatten(structure, kept), still)


class LossDifference(NamedTuple):
    """Mean difference of final held-out losses, in nats per byte, its standard error, and the number of seeds."""

    mean: float
    error: float
    seeds: int


def loss_difference(arrays: Arrays, first: str, second: str) -> LossDifference:
    """Compare the final held-out losses of two variants: the mean over seeds of `first` minus `second`.

    With one seed the standard error is NaN.
    """
    gaps = arrays[f"{first}: final validation loss"] - arrays[f"{second}: final validation loss"]
    count = len(gaps)
    error = float(np.std(gaps, ddof=1)) / math.sqrt(count) if count > 1 else math.nan
    return LossDifference(float(np.mean(gaps)), error, count)


def summarise_study(arrays: Arrays) -> str:
    """Format losses, gates and costs of every variant, and the loss differences from the first."""
    first, *others = names_in(arrays, "parameters")
    lines = [line for name in (first, *others) for line in _summary(name, arrays)]
    for name in others:
        gap = loss_difference(arrays, first, name)
        seeds = f"{gap.seeds} paired seeds" if gap.seeds > 1 else "one seed: no error can be given"
        lines.append(f"{first} - {name}: {gap.mean:+.5f} +- {gap.error:.5f} nats per byte (standard error, {seeds})")
    return "\n".join(lines)


def _summary(name: str, arrays: Arrays) -> Iterator[str]:
    of = lambda what: arrays[f"{name}: {what}"]
    final, gates = of("final validation loss"), of("gates")[:, -1]
    yield (
        f"{name}: {int(of('parameters')):,} parameters, cost {float(of('layer-equivalent cost')):.3f} layers by (20), "
        f"{float(of('counted layer equivalents')):.3f} by counted products"
    )
    yield f"  held-out loss {np.mean(final):.4f} (from {np.min(final):.4f} to {np.max(final):.4f})"
    if gates.size:
        yield f"  gates at the end: {', '.join(f'{gate:+.4f}' for gate in gates.ravel())}"


_NETWORK = MultirateConfig()
# In this configuration the frozen network computes the same function as the dense one of equal cost, with other random
# weights. The dense one of four layers has the depth of the paper's baselines and nearly as many parameters as the
# coupled network.
_SECTION_9 = (
    NetworkVariant("coupled"),
    NetworkVariant("frozen", held=True),
    NetworkVariant("dense of equal cost", dense(_NETWORK)),
    NetworkVariant("dense of four layers", dense(_NETWORK, 4)),
)
PAPER = StudyConfig(_SECTION_9)
QUICK = replace(PAPER, variants=_SECTION_9[:3], seeds=2, steps=40, every=20, evaluated=16, final=64)

SECTION_9 = Experiment(
    "multirate/section-9",
    MULTIRATE.at("Section 9, Table 2"),
    "byte-level training: coupled, frozen and dense networks over paired seeds, with gates and costs",
    QUICK,
    PAPER,
    run_study,
    summarise_study,
)

EXPERIMENTS = (SECTION_9,)
