"""Run the experiment of PROTOTYPES, Section 7.5: two levels of prototypes on 20 Newsgroups, with word vectors."""

import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from analysis.experiments import Arrays, Experiment, names_in
from analysis.experiments.prototypes.documents import DocumentCorpus, Documents, read_corpus
from analysis.experiments.prototypes.epochs import Batch, Epochs, ShuffledRows, train_epochs
from analysis.experiments.prototypes.kmeans import kmeans
from analysis.experiments.prototypes.scores import chance_band, scores
from analysis.experiments.prototypes.text import NEWSGROUPS, kmeans_scores, some_tokens, table
from dynsim._core.types import Key, Scalar
from dynsim._runtime.progress import progress
from dynsim.networks.prototypes.convolution import two_rates
from dynsim.networks.prototypes.documents import TwoLevelReadout, draw_projected, two_level_loss, with_bank
from dynsim.networks.training import Loss
from dynsim.papers import PROTOTYPES
from dynsim.systems.prototypes.assignments import separation
from dynsim.systems.prototypes.temperatures import Annealing


@dataclass(frozen=True)
class Stack:
    """One setting of the two levels.

    Attributes:
        name: the prefix of its arrays in the record.
        detached: whether the inputs of level 2 are constants when its loss is differentiated.
        barrier: lambda of the barrier of each level.
        ratio: eta_theta over eta_P.
    """

    name: str
    detached: bool
    barrier: float = 0.5
    ratio: float = 0.1


@dataclass(frozen=True)
class HierarchyConfig:
    """Parameters of Section 7.5; batches, and means for sums, are not the paper's.

    Attributes:
        stacks: the settings; all have the same start for a seed.
        seeds: their number; a seed determines weights, the start of prototypes and batches.
        epochs: passes through the training set.
        batch: documents of a step.
        counts: K_1 and K_2.
        outputs: m_1 and m_2.
        prototype_rate: eta_P of Adam.
        gradient: the mode of the losses.
        temperature: T_0.
        least_temperature: T_min.
        time_constant: tau of annealing, in epochs.
        corpus: the documents.
        mapped: test documents, evenly spaced, whose embeddings by level 2 are kept at the end, for the first seed.
    """

    stacks: tuple[Stack, ...]
    seeds: int = 5
    epochs: int = 15
    batch: int = 40
    counts: tuple[int, int] = (32, 20)
    outputs: tuple[int, int] = (128, 64)
    prototype_rate: float = 1e-3
    gradient: Literal["full", "frozen"] = "full"
    temperature: float = 2.0
    least_temperature: float = 0.3
    time_constant: float = 20.0
    corpus: DocumentCorpus = NEWSGROUPS
    mapped: int = 1000


def run_hierarchy(config: HierarchyConfig, key: Key, folder: Path) -> Arrays:
    """Measure every setting by epoch on the test set, one row for each seed, with k-means for comparison."""
    train, test = read_corpus(config.corpus)
    keys = [jax.random.fold_in(key, seed) for seed in range(config.seeds)]
    arrays = {"k-means": kmeans_scores(train, test, config.counts[1], config.corpus.classes, keys)}
    with progress(config.seeds * len(config.stacks) * config.epochs, "training", unit="epochs") as bar:
        for stack in config.stacks:
            places = [folder / stack.name / str(seed) for seed in range(config.seeds)]
            runs = [_run(config, stack, train, test, k, p, bar.update) for k, p in zip(keys, places, strict=True)]
            tables = np.stack([run.measures.pop("tables") for run in runs])
            for measure in runs[0].measures:
                arrays[f"{stack.name}: {measure}"] = np.stack([run.measures[measure] for run in runs])
            arrays[f"{stack.name}: scores"] = np.array([[scores(table) for table in rows] for rows in tables])
            arrays[f"{stack.name}: chance"] = np.array(chance_band(key, tables[0, -1]))
            arrays |= {f"{stack.name}: {what}": part for what, part in _kept(config, test, runs[0].model).items()}
    return arrays


def _kept(config: HierarchyConfig, test: Documents, model: TwoLevelReadout) -> Arrays:
    """Compute for some test documents the embeddings by level 2, the largest assignments, and the classes."""
    count = min(config.mapped, len(test.labels))
    rows = np.linspace(0, len(test.labels) - 1, count).astype(int)
    temperature = _annealing(config)(jnp.asarray(config.epochs - 1, float)).astype(jnp.float32)
    below, above = eqx.filter_jit(model)(jnp.asarray(test.tokens[rows]), jnp.asarray(test.shares[rows]), temperature)
    return {
        "mapped": np.asarray(model.second.embed(below.centroids)),
        "mapped assignments": np.argmax(np.asarray(above.assignments), axis=1),
        "mapped labels": test.labels[rows],
    }


def _annealing(config: HierarchyConfig) -> Annealing:
    return Annealing(config.temperature, config.least_temperature, config.time_constant)


def _run(
    config: HierarchyConfig, stack: Stack, train: Documents, test: Documents, key: Key, folder: Path, advance: Any
) -> Epochs:
    """Train one setting, resumed from `folder`."""
    draw, order, steps = jax.random.split(key, 3)
    held_out = (jnp.asarray(test.tokens), jnp.asarray(test.shares), jnp.asarray(test.labels))
    numbers = (replace(config, stacks=(), seeds=0, mapped=0), stack, jax.random.key_data(key).tolist())
    return train_epochs(
        _start(config, stack, train, draw),
        _loss(stack.barrier),
        ShuffledRows(jax.tree.map(jnp.asarray, train), order, _annealing(config), config.batch),
        lambda model, temperature: _measured(model, held_out, temperature, config.corpus.classes),
        steps,
        epochs=config.epochs,
        optimiser=two_rates(config.prototype_rate, stack.ratio * config.prototype_rate),
        folder=folder,
        digest=" ".join(str(number) for number in numbers),
        advance=advance,
    )


def _start(config: HierarchyConfig, stack: Stack, train: Documents, key: Key) -> TwoLevelReadout:
    """Start both levels at centroids of k-means: of projected words, and of the input of level 2 at T_0."""
    low, high, choose, below, above = jax.random.split(key, 5)
    first = draw_projected(low, train.tokens.shape[2], config.outputs[0], config.counts[0], gradient=config.gradient)
    first = with_bank(first, kmeans(below, first.embed(some_tokens(train, choose)), config.counts[0]).centroids)
    second = draw_projected(high, config.outputs[0], config.outputs[1], config.counts[1], gradient=config.gradient)
    read = eqx.filter_jit(first)(jnp.asarray(train.tokens), jnp.asarray(train.shares), config.temperature)
    second = with_bank(second, kmeans(above, second.embed(read.centroids), config.counts[1]).centroids)
    return TwoLevelReadout(first, second, stack.detached)


@functools.cache
def _loss(barrier: float) -> Loss:
    def loss(model: TwoLevelReadout, batch: Batch, key: Key) -> Scalar:
        del key
        tokens, shares, _ = batch.rows
        return two_level_loss(model, tokens, shares, batch.temperature, barrier)

    return loss


@eqx.filter_jit
def _measured(
    model: TwoLevelReadout, test: tuple[Array, Array, Array], temperature: Scalar, classes: int
) -> dict[str, Array]:
    tokens, shares, labels = test
    readings = model(tokens, shares, temperature)
    of = lambda name: jnp.stack([getattr(reading, name) for reading in readings])
    return {
        "tables": table(readings[1].assignments, labels, classes),
        "entropy": of("entropy"),
        "variance": of("variance"),
        "loss": of("loss"),
        "separation": jnp.stack([separation(level.bank) for level in (model.first, model.second)]),
        "temperature": temperature,
    }


def summarise_hierarchy(arrays: Arrays) -> str:
    """Format Table 6 with final and best epochs, chance bands, entropies and separations of both levels."""
    names = names_in(arrays, "scores")
    lines = [line for name in names for line in _summary(name, arrays)]
    return "\n".join([f"k-means on mean word vectors: ACC, NMI, ARI {_triple(arrays['k-means'])}", *lines])


def _triple(values: np.ndarray) -> str:
    return ", ".join(f"{np.mean(values[:, k]):.3f} +- {np.std(values[:, k]):.3f}" for k in range(3))


def _summary(name: str, arrays: Arrays) -> Iterator[str]:
    of = lambda what: arrays[f"{name}: {what}"]
    chance = of("chance")
    yield f"{name}: {_triple(of('scores')[:, -1])} in the final epoch"
    yield f"  {_triple(np.max(of('scores'), axis=1))} in the best epoch of each score, chosen on the test set"
    yield f"  ACC by chance {chance[0]:.3f} ({chance[1]:.3f} to {chance[2]:.3f})"
    for level in (0, 1):
        H, S, V = (np.mean(of(what)[:, :, level], axis=0) for what in ("entropy", "separation", "variance"))
        yield f"  level {level + 1}: H from {H[0]:.3f} to {H[-1]:.3f}, S from {S[0]:.3g} to {S[-1]:.3g}, V {V[-1]:.3g}"


_TABLE_6 = (
    Stack("attached", False),
    Stack("detached", True),
    Stack("attached, ratio .05, lambda 1.5", False, 1.5, 0.05),
    Stack("detached, ratio .05, lambda 1.5", True, 1.5, 0.05),
)
PAPER = HierarchyConfig(_TABLE_6)
QUICK = replace(PAPER, stacks=_TABLE_6[:2], seeds=2, epochs=2, corpus=replace(NEWSGROUPS, limit=400))

HIERARCHY = Experiment(
    "prototypes/hierarchy",
    PROTOTYPES.at("Section 7.5, Table 6"),
    "two levels of prototypes on documents, with and without the gradient from level 2 to level 1",
    QUICK,
    PAPER,
    run_hierarchy,
    summarise_hierarchy,
)

EXPERIMENTS = (HIERARCHY,)
