"""Run the experiment of PROTOTYPES, Section 7.3: read-outs of documents by prototypes, with word vectors for BERT."""

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
from analysis.experiments.prototypes.documents import DocumentCorpus, Documents, logistic_accuracy, read_corpus
from analysis.experiments.prototypes.epochs import Batch, Epochs, ShuffledRows, train_epochs
from analysis.experiments.prototypes.kmeans import kmeans, nearest
from analysis.experiments.prototypes.scores import chance_band, contingency, scores
from dynsim._core.types import Key, Scalar
from dynsim._runtime.progress import progress
from dynsim.networks.prototypes.convolution import two_rates
from dynsim.networks.prototypes.documents import DocumentClassifier, classification_loss, draw_projected, with_bank
from dynsim.networks.training import Loss
from dynsim.papers import PROTOTYPES
from dynsim.systems.prototypes.assignments import separation, utilisation
from dynsim.systems.prototypes.temperatures import Annealing

# Number of projected tokens on which k-means starts.
CLUSTERED = 2048


@dataclass(frozen=True)
class TextTask:
    """A corpus, and how it is read.

    Attributes:
        name: the prefix of its arrays in the record.
        corpus: the documents.
        count: K, the number of prototypes.
        supervised: whether the loss has the cross entropy of labels; otherwise it is L_q alone.
        reads: the mean word vector, classified from its soft centroid, or all word vectors, classified from the pooled
            outputs of the layer.
    """

    name: str
    corpus: DocumentCorpus
    count: int
    supervised: bool
    reads: Literal["mean", "tokens"] = "mean"


@dataclass(frozen=True)
class TextConfig:
    """Parameters of Section 7.3; the paper does not state batches, nor means or sums: losses here are means.

    Attributes:
        tasks: what is trained.
        seeds: their number; a seed determines weights, the start of prototypes and batches.
        epochs: passes through the training set.
        batch: documents of a step.
        outputs: m, the dimension of projections.
        prototype_rate: eta_P of Adam.
        other_rate: eta_theta of Adam.
        weight: of L_q in a supervised loss.
        gradient: the mode of L_q.
        temperature: T_0.
        least_temperature: T_min.
        time_constant: tau of annealing, in epochs.
    """

    tasks: tuple[TextTask, ...]
    seeds: int = 5
    epochs: int = 15
    batch: int = 40
    outputs: int = 64
    prototype_rate: float = 1e-3
    other_rate: float = 1e-4
    weight: float = 0.1
    gradient: Literal["full", "frozen"] = "full"
    temperature: float = 2.0
    least_temperature: float = 0.3
    time_constant: float = 20.0


def run_text(config: TextConfig, key: Key, folder: Path) -> Arrays:
    """Measure every task by epoch on the test set, one row for each seed, with baselines."""
    arrays: dict[str, np.ndarray] = {}
    corpora = {task.corpus: read_corpus(task.corpus) for task in config.tasks}
    with progress(config.seeds * len(config.tasks) * config.epochs, "training", unit="epochs") as bar:
        for task in config.tasks:
            train, test = (
                documents.pooled() if task.reads == "mean" else documents for documents in corpora[task.corpus]
            )
            places = [folder / task.name / str(seed) for seed in range(config.seeds)]
            keys = [jax.random.fold_in(key, seed) for seed in range(config.seeds)]
            runs = [_run(config, task, train, test, k, p, bar.update) for k, p in zip(keys, places, strict=True)]
            tables = np.stack([run.measures.pop("tables") for run in runs])
            for measure in runs[0].measures:
                if measure == "classified" and not task.supervised:
                    continue
                arrays[f"{task.name}: {measure}"] = np.stack([run.measures[measure] for run in runs])
            arrays[f"{task.name}: scores"] = np.array([[scores(table) for table in rows] for rows in tables])
            arrays[f"{task.name}: chance"] = np.array(chance_band(key, tables[0, -1]))
            arrays[f"{task.name}: codebook"] = np.stack([np.asarray(run.model.readout.bank) for run in runs])
            arrays |= _baselines(task, *corpora[task.corpus], keys)
    return arrays


def _run(
    config: TextConfig, task: TextTask, train: Documents, test: Documents, key: Key, folder: Path, advance: Any
) -> Epochs:
    """Train one task, resumed from `folder`."""
    draw, order, steps = jax.random.split(key, 3)
    annealing = Annealing(config.temperature, config.least_temperature, config.time_constant)
    held_out = (jnp.asarray(test.tokens), jnp.asarray(test.shares), jnp.asarray(test.labels))
    numbers = (replace(config, tasks=(), seeds=0), task, jax.random.key_data(key).tolist())
    return train_epochs(
        _start(config, task, train, draw),
        _loss(config.weight, task.supervised),
        ShuffledRows(jax.tree.map(jnp.asarray, train), order, annealing, config.batch),
        lambda model, temperature: _measured(model, held_out, temperature),
        steps,
        epochs=config.epochs,
        optimiser=two_rates(config.prototype_rate, config.other_rate),
        folder=folder,
        digest=" ".join(str(number) for number in numbers),
        advance=advance,
    )


def _start(config: TextConfig, task: TextTask, train: Documents, key: Key) -> DocumentClassifier:
    draw, choose, place, head = jax.random.split(key, 4)
    readout = draw_projected(draw, train.tokens.shape[2], config.outputs, task.count, gradient=config.gradient)
    z = readout.embed(some_tokens(train, choose))
    readout = with_bank(readout, kmeans(place, z, task.count).centroids)
    matrix = jax.random.normal(head, (task.corpus.classes, config.outputs), jnp.float32) / config.outputs**0.5
    return DocumentClassifier(readout, matrix, jnp.zeros(task.corpus.classes, jnp.float32), task.reads == "mean")


def some_tokens(train: Documents, key: Key) -> Array:
    """Draw random word vectors from the documents, without padding."""
    real = np.flatnonzero(train.shares.ravel())
    chosen = jax.random.permutation(key, real.size)[:CLUSTERED]
    return jnp.asarray(train.tokens.reshape(-1, train.tokens.shape[2])[real[np.asarray(chosen)]])


@functools.cache
def _loss(weight: float, supervised: bool) -> Loss:
    def loss(model: DocumentClassifier, batch: Batch, key: Key) -> Scalar:
        del key
        tokens, shares, labels = batch.rows
        if supervised:
            return classification_loss(model, tokens, shares, labels, batch.temperature, weight)
        return model.readout(tokens, shares, batch.temperature).loss

    return loss


@eqx.filter_jit
def _measured(model: DocumentClassifier, test: tuple[Array, Array, Array], temperature: Scalar) -> dict[str, Array]:
    tokens, shares, labels = test
    reading = model.readout(tokens, shares, temperature)
    logits = model.logits(reading)
    return {
        "tables": table(reading.assignments, labels, logits.shape[1]),
        "classified": jnp.mean(jnp.argmax(logits, axis=1) == labels),
        "entropy": reading.entropy,
        "separation": separation(model.readout.bank),
        "variance": reading.variance,
        "loss": reading.loss,
        "utilisation": utilisation(reading.assignments),
        "temperature": temperature,
    }


def table(q: Array, labels: Array, classes: int) -> Array:
    """Count the documents of each class whose largest assignment is to each prototype."""
    cells = labels * q.shape[1] + jnp.argmax(q, axis=1)
    return jnp.bincount(cells, length=classes * q.shape[1]).reshape(classes, q.shape[1])


def _baselines(task: TextTask, train: Documents, test: Documents, keys: list[Key]) -> Arrays:
    """Score k-means on mean word vectors, and compute the accuracy of logistic regression on them."""
    return {
        f"{task.name}: k-means": kmeans_scores(train, test, task.count, task.corpus.classes, keys),
        f"{task.name}: logistic regression": np.array(logistic_accuracy(train, test, task.corpus.classes)),
    }


def kmeans_scores(train: Documents, test: Documents, count: int, classes: int, keys: list[Key]) -> np.ndarray:
    """Score, for each key, k-means on the mean word vectors of training documents on the test set."""
    rows = []
    for key in keys:
        found = kmeans(key, jnp.asarray(train.means), count)
        clusters = np.asarray(nearest(jnp.asarray(test.means), found.centroids))
        rows.append(scores(contingency(test.labels, clusters, classes, count)))
    return np.array(rows)


def summarise_text(arrays: Arrays) -> str:
    """Format Table 4 with final and best epochs, chance bands, entropies and separations."""
    return "\n".join(line for name in names_in(arrays, "codebook") for line in _summary(name, arrays))


def _summary(name: str, arrays: Arrays) -> Iterator[str]:
    of = lambda what: arrays[f"{name}: {what}"]
    spread = lambda values: f"{np.mean(values):.3f} +- {np.std(values):.3f}"
    triple = lambda values: ", ".join(spread(values[:, column]) for column in range(3))
    best = np.max(of("scores"), axis=1)
    chance, count = of("chance"), of("codebook").shape[1]
    yield f"{name}: ACC, NMI, ARI {triple(of('scores')[:, -1])} in the final epoch"
    yield f"  {triple(best)} in the best epoch of each score, chosen on the test set"
    yield f"  k-means {triple(of('k-means'))}; ACC by chance {chance[0]:.3f} ({chance[1]:.3f} to {chance[2]:.3f})"
    if f"{name}: classified" in arrays:
        best_share = spread(np.max(of("classified"), axis=1))
        yield f"  classified {spread(of('classified')[:, -1])}, in the best epoch {best_share}"
    yield f"  logistic regression on mean word vectors: {float(of('logistic regression')):.3f}"
    shares = np.mean(of("entropy"), axis=0) / np.log(count)
    separations = np.mean(of("separation"), axis=0)
    yield f"  H / ln K from {shares[0]:.3f} to {shares[-1]:.3f}, S from {separations[0]:.3g} to {separations[-1]:.3g}"


_SST2 = DocumentCorpus("sst2_train.csv.gz", "sst2_dev.csv.gz", length=32)
_IMDB = DocumentCorpus("imdb_train.csv.gz", "imdb_test.csv.gz")
NEWSGROUPS = DocumentCorpus("newsgroups20.csv.gz", "newsgroups20.csv.gz", by_split=True, classes=20)
_TABLE_4 = (
    TextTask("SST-2", _SST2, 2, True),
    TextTask("SST-2 tokens", _SST2, 2, True, "tokens"),
    TextTask("IMDb", _IMDB, 4, True),
    TextTask("IMDb tokens", _IMDB, 4, True, "tokens"),
    TextTask("20 Newsgroups", NEWSGROUPS, 20, False),
    TextTask("20 Newsgroups tokens", NEWSGROUPS, 20, False, "tokens"),
)
PAPER = TextConfig(_TABLE_4)
_FEW = tuple(replace(task, corpus=replace(task.corpus, limit=400)) for task in (_TABLE_4[0], _TABLE_4[4]))
QUICK = replace(PAPER, tasks=_FEW, seeds=2, epochs=2)

TEXT = Experiment(
    "prototypes/text",
    PROTOTYPES.at("Section 7.3, Table 4"),
    "documents read by prototypes of word vectors, against k-means and logistic regression",
    QUICK,
    PAPER,
    run_text,
    summarise_text,
)

EXPERIMENTS = (TEXT,)
