"""Run the experiment of PROTOTYPES, Section 7.6: encoder and prototypes on MNIST at five ratios of learning rates."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from analysis.experiments import Arrays, Experiment
from analysis.experiments.prototypes.histories import NAMES, History, history, scores_of
from analysis.experiments.prototypes.kmeans import kmeans
from analysis.experiments.prototypes.scores import chance_band
from dynsim._core.types import Key
from dynsim._runtime.progress import progress
from dynsim.io.checkpoints import Checkpoints
from dynsim.io.data import data_file
from dynsim.io.npz import read_arrays
from dynsim.keys import random_key
from dynsim.papers import PROTOTYPES
from dynsim.simulation.simulate import iterate
from dynsim.systems.prototypes.descent import DescentMap, random_batches
from dynsim.systems.prototypes.encoders import LinearEncoder, principal_components
from dynsim.systems.prototypes.flow import Coupled, CoupledFlow
from dynsim.systems.prototypes.losses import GradientMode, PrototypeLoss
from dynsim.systems.prototypes.temperatures import Annealing

DIGITS = 10
RATIOS = (0.001, 0.01, 0.1, 0.5, 1.0)
# Number of epochs within which the paper sees S collapse at equal rates.
WINDOW = 50


@dataclass(frozen=True)
class TrainingOptions:
    """Options of one training; the loss is a mean over images.

    Attributes:
        mode: of the gradient.
        batch: images per step, None for all.
        prototype_rate: the learning rate eta_P, not printed for Section 7.6; by default that of Section 7.2.
        start: the temperature T_0.
        floor: the temperature T_min.
        time_constant: tau of the annealing, in epochs.
        barrier: the coefficient lambda of the barrier.
        inputs: number of principal components of the pixels that the encoder reads, None for all pixels.
        outputs: the dimension m of the embeddings, the first principal components at the start.
        clusters: number K of prototypes.
        restarts: of k-means at the start.
    """

    mode: GradientMode = "full"
    batch: int | None = None
    prototype_rate: float = 0.05
    start: float = 2.0
    floor: float = 0.3
    time_constant: float = 20.0
    barrier: float = 0.0
    inputs: int | None = 100
    outputs: int = 32
    clusters: int = 10
    restarts: int = 10


@dataclass(frozen=True)
class RateStudy:
    """A training at several ratios of the learning rates, over several seeds.

    Attributes:
        name: the prefix of its arrays in the record.
        training: its options.
        ratios: the ratios eps of the encoder's rate to that of the prototypes.
        seeds: number of seeds; a seed determines the start of k-means and the order of batches.
        slow_epochs: None to train for `LearningRatesConfig.epochs` epochs and to record each of them; a number to train
            until eps times epochs is this number, the same encoder's time for all ratios, and to record the end.
    """

    name: str
    training: TrainingOptions = TrainingOptions()
    ratios: tuple[float, ...] = RATIOS
    seeds: int = 5
    slow_epochs: float | None = None


@dataclass(frozen=True)
class LearningRatesConfig:
    """Section 7.6.

    Attributes:
        variants: the trainings.
        epochs: passes through the images.
        every: number of epochs between measures other than S, which is recorded after each epoch.
        images: number of images, the first ones of the file; None for all.
        file: the data file; all of its images are used, also those of its test set.
    """

    variants: tuple[RateStudy, ...]
    epochs: int = 300
    every: int = 5
    images: int | None = None
    file: str = "mnist_t10k.npz"


class Digits(NamedTuple):
    """Images as centred pixels in [0, 1], (n, 784), and their digits."""

    pixels: np.ndarray
    labels: np.ndarray


def read_digits(config: LearningRatesConfig) -> Digits:
    """Read the images of a configuration from the data folder."""
    arrays = read_arrays(data_file(config.file))
    images, labels = (np.concatenate([arrays[f"{x}_train"], arrays[f"{x}_test"]])[: config.images] for x in "xy")
    pixels = images.reshape(len(images), -1) / 255
    return Digits(pixels - pixels.mean(axis=0), labels.astype(int))


def run_learning_rates(config: LearningRatesConfig, key: Key, folder: Path) -> Arrays:
    """Measure every variant by ratio, seed and time; a resumed run is reproduced bit for bit."""
    digits = read_digits(config)
    arrays: dict[str, np.ndarray] = {"variants": np.array([variant.name for variant in config.variants])}
    total = sum(len(variant.ratios) * variant.seeds for variant in config.variants)
    prepared: dict[tuple, tuple[np.ndarray, list[Coupled]]] = {}  # most variants have the same start
    with progress(total, "learning rates", unit="runs") as bar:
        for variant in config.variants:
            options = variant.training
            keys = [jax.random.fold_in(key, seed) for seed in range(variant.seeds)]
            of = (options.inputs, options.outputs, options.clusters, options.restarts, variant.seeds)
            if of not in prepared:
                x = _inputs(digits, options)
                prepared[of] = x, [first_state(x, options, jax.random.fold_in(one, 0)) for one in keys]
            x, starts = prepared[of]
            rows = []
            for ratio in variant.ratios:
                for seed, start in enumerate(starts):
                    place = folder / variant.name / f"{ratio:g}" / str(seed)
                    rows.append(_kept(config, variant, ratio, (x, digits.labels, start), keys[seed], place))
                    bar.update()
            arrays |= _arrays(variant, rows)
    return arrays


def _inputs(digits: Digits, training: TrainingOptions) -> np.ndarray:
    if training.inputs is None:
        return digits.pixels
    return digits.pixels @ np.asarray(principal_components(digits.pixels, training.inputs).weight).T


def _kept(
    config: LearningRatesConfig,
    variant: RateStudy,
    ratio: float,
    data: tuple[np.ndarray, np.ndarray, Coupled],
    key: Key,
    folder: Path,
) -> History:
    """Run one history, or read it from `folder` if it is finished."""
    numbers = [
        asdict(variant.training),
        ratio,
        variant.slow_epochs,
        config.epochs,
        config.every,
        config.file,
        config.images,
    ]
    of = json.dumps([*numbers, jax.random.key_data(key).tolist()])
    parts = Checkpoints(folder, of, jax.tree.structure(History(*(jnp.zeros(()) for _ in NAMES))))
    if not parts.has(0):
        x, labels, start = data
        descent = descent_map(x, variant.training, ratio, config.epochs, jax.random.fold_in(key, 1))
        steps = 1 if descent.batches is None else descent.batches.shape[1]
        if variant.slow_epochs is None:
            path = iterate(descent, start, config.epochs * steps, every=steps)
            parts.save(0, history(path, labels, DIGITS, every=config.every))
        else:
            count = max(1, round(variant.slow_epochs / ratio * steps))
            parts.save(0, history(iterate(descent, start, count, every=count), labels, DIGITS))
    return jax.tree.map(np.asarray, parts.load(0))


def descent_map(x: np.ndarray, training: TrainingOptions, ratio: float, epochs: int, key: Key) -> DescentMap:
    """Set up the descent of a linear encoder and prototypes on images at a ratio of the rates."""
    flow = CoupledFlow(
        x,
        LinearEncoder(x.shape[1], training.outputs),
        Annealing(training.start, training.floor, training.time_constant),
        loss=PrototypeLoss(training.mode, barrier=training.barrier, reduction="mean"),
        encoder_rate=ratio * training.prototype_rate,
        prototype_rate=training.prototype_rate,
    )
    if training.batch is None:
        return DescentMap(flow)
    return DescentMap(flow, batches=random_batches(key, len(x), training.batch, epochs=epochs))


def first_state(x: np.ndarray, training: TrainingOptions, key: Key) -> Coupled:
    """Start with the first principal components as the encoder, and centroids of k-means as the prototypes."""
    axes = principal_components(x, training.outputs).weight
    z = jnp.asarray(x) @ axes.T
    return Coupled(axes, kmeans(key, z, training.clusters, restarts=training.restarts).centroids)


def _arrays(variant: RateStudy, rows: list[History]) -> Arrays:
    stacked = jax.tree.map(lambda *found: np.stack(found), *rows)
    shaped = jax.tree.map(lambda a: a.reshape(len(variant.ratios), variant.seeds, *a.shape[1:]), stacked)
    arrays = {f"{variant.name}: {what}": part for what, part in zip(NAMES[:-1], shaped[:-1], strict=True)}
    last = shaped.tables[:, :, -1]
    bands = [
        chance_band(random_key(0, variant.name, k), table) for k, table in enumerate(last.reshape(-1, *last.shape[2:]))
    ]
    return {
        **arrays,
        f"{variant.name}: eps": np.array(variant.ratios),
        f"{variant.name}: scores": scores_of(shaped.tables),
        f"{variant.name}: tables": last,
        f"{variant.name}: chance": np.array(bands).reshape(*last.shape[:2], 3),
    }


def separation_ratios(arrays: Arrays, name: str, *, epoch: int = -1) -> np.ndarray:
    """Compute S after an epoch over S at the start, by ratio of the rates and seed; shorter runs count at their end."""
    S = arrays[f"{name}: S"]
    last = S.shape[2] - 1
    return S[:, :, last if epoch < 0 else min(epoch, last)] / S[:, :, 0]


def summarise_learning_rates(arrays: Arrays) -> str:
    """Format separations, spreads and accuracies by variant and ratio, averaged over seeds."""
    return "\n".join(line for name in arrays["variants"] for line in _summary(str(name), arrays))


def _summary(name: str, arrays: Arrays) -> Iterator[str]:
    of = lambda what: arrays[f"{name}: {what}"]
    yield f"{name}: S at the start {np.mean(of('S')[:, :, 0]):.3f}, V/N {np.mean(of('V/N')[:, :, 0]):.3f}"
    for k, eps in enumerate(of("eps")):
        S, spread, accuracy = of("S")[k], of("spread")[k], of("scores")[k, :, :, 0]
        mean, low, high = of("chance")[k].mean(axis=0)
        course = ""
        if S.shape[1] > 2:
            early = np.mean(separation_ratios(arrays, name, epoch=WINDOW)[k])
            course = (
                f"S x {early:.3g} after {WINDOW} epochs; falls in {np.mean(np.diff(S, axis=1) < 0):.0%} of epochs; "
            )
        yield (
            f"  eps {eps:g}: {course}S x {np.mean(S[:, -1] / S[:, 0]):.3g} at the end; "
            f"S / spread x {np.mean(S[:, -1] / spread[:, -1] / (S[:, 0] / spread[:, 0])):.3g}; "
            f"V/N {np.mean(of('V/N')[k][:, -1]):.3g}; ACC {np.mean(accuracy[:, 0]):.3f}, "
            f"best {np.mean(accuracy.max(axis=1)):.3f}, final {np.mean(accuracy[:, -1]):.3f} "
            f"+- {np.std(accuracy[:, -1]):.3f}, by chance {mean:.3f} ({low:.3f}-{high:.3f})"
        )


# Ratios of the variants that change one option.
_CHANGED = (0.1, 1.0)
_FULL, _FROZEN = TrainingOptions("full"), TrainingOptions("frozen")
_MAIN = (
    RateStudy("full", _FULL),
    RateStudy("frozen", _FROZEN),
    RateStudy("full, batches", replace(_FULL, batch=256)),
    RateStudy("frozen, batches", replace(_FROZEN, batch=256)),
    *(
        RateStudy(
            f"{mode}, equal encoder time", TrainingOptions(mode, batch=256, start=0.3), RATIOS[1:], slow_epochs=2.0
        )
        for mode in ("full", "frozen")
    ),
)
_CHANGES = (
    ("eta_P = .01", replace(_FULL, prototype_rate=0.01)),
    ("eta_P = .2", replace(_FULL, prototype_rate=0.2)),
    ("T_0 = 8", replace(_FULL, start=8.0)),
    ("T_min = 1", replace(_FULL, floor=1.0)),
    ("tau = 120", replace(_FULL, time_constant=120.0)),
    ("lambda = .5", replace(_FULL, barrier=0.5)),
    ("all pixels", replace(_FULL, inputs=None)),
    ("one restart of k-means", replace(_FULL, restarts=1)),
)
PAPER = LearningRatesConfig((*_MAIN, *(RateStudy(name, options, _CHANGED, 1) for name, options in _CHANGES)))
QUICK = LearningRatesConfig(
    tuple(
        RateStudy(v.name, replace(v.training, inputs=40, batch=v.training.batch and 100), _CHANGED, 1, v.slow_epochs)
        for v in _MAIN
        if v.name != "full, batches"
    ),
    epochs=30,
    images=500,
)

LEARNING_RATES = Experiment(
    "prototypes/learning-rates",
    PROTOTYPES.at("Section 7.6, Figure 6"),
    "MNIST at five ratios of learning rates, at equal epochs and in equal encoder's time: separation and accuracy",
    QUICK,
    PAPER,
    run_learning_rates,
    summarise_learning_rates,
)

EXPERIMENTS = (LEARNING_RATES,)
