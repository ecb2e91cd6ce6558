"""Run the experiment of GROWING, Section 7.5: a sentence classifier trained end to end while its heads grow."""

import functools
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from analysis.experiments import Arrays, Experiment
from analysis.experiments.growing.sentences import RT_POLARITY, SST2, SentenceCorpus, Sentences, read_sentences
from analysis.experiments.growing.training_records import READINGS, summarise_training
from analysis.experiments.growing.word_vectors import given_words
from analysis.experiments.prototypes.epochs import Batch, ShuffledRows
from analysis.growing.separation import separation_force
from dynsim._core.types import Key, Scalar
from dynsim._runtime.progress import progress
from dynsim.io.checkpoints import Checkpoints
from dynsim.networks.growing.classifier import SentenceClassifier, draw_classifier
from dynsim.networks.growing.growth import Sample, residual, revised, sample, with_random_head
from dynsim.networks.growing.layer import draw_layer
from dynsim.networks.growing.training import growing_optimiser, logits, sentence_loss
from dynsim.networks.training import Loss, Trained, train
from dynsim.papers import GROWING
from dynsim.systems.growing.residual import dominant_value
from dynsim.systems.growing.rules import GrowthRules
from dynsim.systems.prototypes.temperatures import ConstantTemperature

MEASURES = ("accuracy", "residuals", "active", "separation", "temperatures", "forces", "births", "values")


@dataclass(frozen=True)
class TrainingVariant:
    """One training, with the choices that the paper leaves open.

    Attributes:
        name: the prefix of its arrays in the record.
        ordered: whether a head is added only below the dominant value at the growth before (Section 7.5).
        reading: of the residual, eq. (3).
        checks: how often in an epoch a head may be added and one removed.
        capacity: the largest number of heads.
        weight: of the mean of L_q in the loss; the paper has the sum with weight 1.
        products: a factor of W_Q and W_K before training; with 3^(-1/2) their variance is that of PyTorch's `Linear`.
        corpus: the sentences.
        vectors: a data file of word vectors (`read_vectors`) from which the embedding starts; the paper has none.
    """

    name: str
    ordered: bool = True
    reading: Literal["features", "data"] = "features"
    checks: int = 1
    capacity: int = 12
    weight: float = 0.1
    products: float = 1.0
    corpus: SentenceCorpus = SST2
    vectors: str = ""


@dataclass(frozen=True)
class TrainingConfig:
    """Parameters of Table 3; parameters that it omits are marked below.

    Attributes:
        variants: the trainings; the first is the reference.
        choices: trainings with other choices, for the first seed only.
        seeds: of weights, batches and dropout.
        epochs: passes through the training set.
        batch: sentences of a step.
        d: dimension of the tokens.
        attention_heads: of the encoder.
        dropout: the share of coordinates dropped.
        prototypes: K, of each head.
        temperatures: T_init and T_min.
        temperature_rate: eta_T of gradient descent on the mean of L_q.
        barrier: the anti-collapse coefficient.
        threshold: theta_w.
        pruning: phi_g.
        learning_rate: of AdamW, with a cosine schedule.
        weight_decay: of AdamW.
        scale: the standard deviation of embedded words before training; not in the paper.
        sampled: training sentences whose tokens measure residuals and forces and place new heads; not in the paper.
    """

    variants: tuple[TrainingVariant, ...]
    choices: tuple[TrainingVariant, ...] = ()
    seeds: tuple[int, ...] = (42, 123, 7)
    epochs: int = 10
    batch: int = 32
    d: int = 64
    attention_heads: int = 2
    dropout: float = 0.4
    prototypes: int = 4
    temperatures: tuple[float, float] = (1.0, 0.1)
    temperature_rate: float = 0.01
    barrier: float = 0.05
    threshold: float = 0.8
    pruning: float = 0.05
    learning_rate: float = 3e-4
    weight_decay: float = 1e-3
    scale: float = 0.1
    sampled: int = 128


def run_training(config: TrainingConfig, key: Key, folder: Path) -> Arrays:
    """Measure every variant at every check, one row for each seed, with mean losses of epochs."""
    arrays: dict[str, np.ndarray] = {}
    trainings = [(one, config.seeds) for one in config.variants] + [(one, config.seeds[:1]) for one in config.choices]
    with progress(sum(len(seeds) for _, seeds in trainings) * config.epochs, "training", unit="epochs") as bar:
        for variant, seeds in trainings:
            data = read_sentences(variant.corpus)
            runs = []
            for seed in seeds:
                place = folder / variant.name / str(seed)
                runs.append(train_variant(config, variant, data, jax.random.fold_in(key, seed), place, bar))
            for number, measure in enumerate(MEASURES):
                arrays[f"{variant.name}: {measure}"] = np.stack([run.measures[number] for run in runs])
            losses = np.stack([run.losses.reshape(config.epochs, -1).mean(axis=1) for run in runs])
            sizes = [len(data.train.ids), len(data.test.ids)]
            arrays |= {f"{variant.name}: losses": losses, f"{variant.name}: sentences": np.array(sizes)}
            arrays |= {f"{variant.name}: share": np.array(_share(data.test.labels))}
    return arrays


def _share(labels: np.ndarray) -> float:
    """Compute the accuracy of the better one of the two constant answers."""
    return float(max(np.mean(labels == 1), np.mean(labels == 0)))


class TrainingRun(NamedTuple):
    """A training: `MEASURES` in their order at every check, the losses of its batches, and the trained classifier."""

    measures: tuple[np.ndarray, ...]
    losses: np.ndarray
    model: SentenceClassifier


def train_variant(
    config: TrainingConfig, variant: TrainingVariant, data: Sentences, key: Key, folder: Path, bar: Any = None
) -> TrainingRun:
    """Train one classifier, resumed from `folder` after its last check."""
    start_key, order, steps_key = jax.random.split(key, 3)
    rules = rules_of(config, variant)
    shown = jnp.asarray(data.train.ids[: config.sampled])
    start = draw_start(config, variant, data, rules, start_key)
    batches = ShuffledRows(jax.tree.map(jnp.asarray, data.train), order, ConstantTemperature(1.0), config.batch)
    steps, every = config.epochs * batches.steps, max(1, batches.steps // variant.checks)
    numbers = (replace(config, variants=(), choices=(), seeds=()), variant, jax.random.key_data(key).tolist())
    rows = Checkpoints(folder / "checks", " ".join(str(one) for one in numbers), jax.tree.structure(tuple(MEASURES)))
    seen = [0]

    def save(done: int, model: SentenceClassifier) -> None:
        if not rows.has(done):
            rows.save(done, _measured(model, data, sample(model, shown)))
        epoch = done // batches.steps
        if bar is not None:
            bar.update(epoch - seen[0])
        seen[0] = epoch

    found: Trained = train(
        start,
        batch_loss(config.barrier, variant.weight),
        batches,
        steps_key,
        num_steps=steps,
        optimiser=growing_optimiser(
            steps, config.learning_rate, config.weight_decay, config.temperature_rate / variant.weight
        ),
        every=every,
        folder=folder,
        callback=save,
        revise=lambda done, model: revised(model, rules, sample(model, shown), done),
        shown=False,
    )
    parts = [rows.load(done) for done in check_points(steps, every)]
    measures = tuple(np.stack([np.asarray(value) for value in values]) for values in zip(*parts, strict=True))
    return TrainingRun(measures, found.losses, found.model)


def check_points(steps: int, every: int) -> list[int]:
    """List the numbers of steps at which heads may be added, with the start."""
    return [*range(0, steps, every), steps]


def rules_of(config: TrainingConfig, variant: TrainingVariant) -> GrowthRules:
    """Build the rules of growth of a variant; the only dwell time is the time between two checks."""
    return GrowthRules(
        config.threshold,
        config.pruning,
        capacity=variant.capacity,
        prototypes=config.prototypes,
        initial_temperature=config.temperatures[0],
        least_temperature=config.temperatures[1],
        dwell=1,
        first="random",
        ordered=variant.ordered,
        reading=variant.reading,
    )


def draw_start(
    config: TrainingConfig, variant: TrainingVariant, data: Sentences, rules: GrowthRules, key: Key
) -> SentenceClassifier:
    """Build the classifier before training, with one random head as in the Algorithm."""
    ours, theirs, head = jax.random.split(key, 3)
    initial, least = config.temperatures
    layer = draw_layer(
        ours,
        config.d,
        prototypes=config.prototypes,
        capacity=variant.capacity,
        temperature=initial,
        least_temperature=least,
    )
    model = draw_classifier(
        theirs,
        layer,
        words=data.words,
        length=variant.corpus.length,
        heads=config.attention_heads,
        dropout=config.dropout,
        scale=config.scale,
    )
    if variant.vectors:
        words = given_words(model.embedding, variant.vectors, data.vocabulary, config.scale, theirs)
        model = eqx.tree_at(lambda m: m.embedding, model, words)
    pair = lambda m: (m.attention.query, m.attention.key)
    model = eqx.tree_at(pair, model, tuple(variant.products * matrix for matrix in pair(model)))
    return with_random_head(model, rules, sample(model, jnp.asarray(data.train.ids[: config.sampled])), head)


@functools.cache
def batch_loss(barrier: float, weight: float, task: float = 1.0) -> Loss:
    """Build `sentence_loss` of a batch of `ShuffledRows`; equal numbers share a compiled program."""
    rows_loss = sentence_loss(barrier, weight, task=task)

    def loss(model: SentenceClassifier, batch: Batch, key: Key) -> Scalar:
        return rows_loss(model, batch.rows, key)

    return loss


def _measured(model: SentenceClassifier, data: Sentences, tokens: Sample) -> tuple[np.ndarray, ...]:
    layer = model.layer
    growth = layer.growth
    right = (logits(model, np.asarray(data.test.ids)) > 0) == (data.test.labels == 1)
    return (
        np.array(np.mean(right)),
        np.array([dominant_value(residual(model, tokens.inputs, reading)) for reading in READINGS]),
        np.asarray(growth.active) > 0,
        np.asarray(layer.separation(), float),
        np.asarray(layer.clipped, float),
        head_forces(model, tokens),
        np.asarray(growth.births, float),
        np.asarray(growth.values, float),
    )


def head_forces(model: SentenceClassifier, tokens: Sample) -> np.ndarray:
    """Compute the separation force of each place on some tokens in float64, 0 for empty ones."""
    banks, T = np.asarray(model.layer.prototypes, float), np.asarray(model.layer.clipped, float)
    active = np.asarray(model.layer.growth.active) > 0
    places = zip(banks, T, active, strict=True)
    return np.array([bank_force(p, tokens, t) if on else 0.0 for p, t, on in places])


def bank_force(bank: np.ndarray, tokens: Sample, temperature: float) -> float:
    """Compute the separation force of one bank on some tokens in float64."""
    return float(_force(jnp.asarray(bank), jnp.asarray(tokens.embeddings), jnp.asarray(float(temperature))))


_force = jax.jit(separation_force)


_SECTION_7_5 = (
    TrainingVariant("ordered"),
    TrainingVariant("unordered", ordered=False),
    TrainingVariant("ordered, data", reading="data"),
    TrainingVariant("unordered, data", ordered=False, reading="data"),
)
_CHOICES = (
    TrainingVariant("ten checks", checks=10, capacity=24),
    TrainingVariant("weight 1", weight=1.0),
    TrainingVariant("small products", products=3**-0.5),
    TrainingVariant("rt-polarity", corpus=RT_POLARITY),
    TrainingVariant("GloVe", vectors="glove_twitter_25d_12k.npz"),
)
PAPER = TrainingConfig(_SECTION_7_5, _CHOICES)
QUICK = replace(
    PAPER,
    variants=tuple(replace(one, corpus=replace(one.corpus, limits=(1600, 400))) for one in _SECTION_7_5[:1]),
    choices=(),
    seeds=(42,),
    epochs=3,
)

TRAINING = Experiment(
    "growing/training",
    GROWING.at("Section 7.5, Table 3"),
    "sentences classified by a small transformer whose prototype heads grow while it is trained",
    QUICK,
    PAPER,
    run_training,
    summarise_training,
)

EXPERIMENTS = (TRAINING,)
