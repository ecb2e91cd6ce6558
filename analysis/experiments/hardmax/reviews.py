"""Run the experiments of HARDMAX, Section 6: film review classifiers are trained, and their leaders measured."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

import jax
import numpy as np

from analysis.experiments import Arrays, Experiment, names_in
from analysis.experiments.hardmax.classifier_measures import HISTORY, history_row, measured
from dynsim._core.types import Key
from dynsim._runtime.cores import cores
from dynsim._runtime.progress import progress
from dynsim.io.checkpoints import Checkpoints
from dynsim.io.data import data_file
from dynsim.networks.decoder.pretrained import read_tensors
from dynsim.networks.decoder.transformer import check_ids
from dynsim.networks.sentiment.classifier import ReviewClassifier, draw_classifier, load_classifier, train_classifier
from dynsim.networks.sentiment.reviews import Encoded, Selection, cleaned, encoded, read_reviews
from dynsim.networks.sentiment.words import Cleaning, Vocabulary, vocabulary
from dynsim.papers import HARDMAX

Result = TypeVar("Result")


@dataclass(frozen=True)
class ReviewsConfig:
    """Parameters of Section 6.2, and the data sets.

    Attributes:
        train: the reviews of the training set.
        test: those of the test set.
        dimensions: one classifier is trained for each.
        epochs: passes through the training set.
        every: number of epochs between evaluations with the hardmax layer.
        cleaning: what is removed from a review.
        words_of: the reviews that define the vocabulary. With "both", as in the paper, a word that occurs in test
            reviews only keeps its random row of E; with "train" such words are skipped.
        length: number of words of a review; longer reviews are truncated, shorter ones padded.
        batch: reviews per step.
        depth: number of layers K.
        temperature: of the softmax layer.
        further: number of layers after K at which the state approximates the limit.
        published: a data file of trained weights and word numbers of both sets, or an empty name.
    """

    train: Selection
    test: Selection
    dimensions: tuple[int, ...]
    epochs: int
    every: int = 10
    cleaning: Cleaning = Cleaning()
    words_of: Literal["both", "train"] = "both"
    length: int = 128
    batch: int = 64
    depth: int = 8
    temperature: float = 1e-3
    further: int = 52
    published: str = ""


class ReviewData(NamedTuple):
    """Both sets as word numbers, the vocabulary, and the numbers of distinct words before and after cleaning."""

    train: Encoded
    test: Encoded
    words: Vocabulary
    sizes: tuple[int, int]


def read_data(config: ReviewsConfig) -> ReviewData:
    """Read the reviews of a configuration from the data folder."""
    sets = [read_reviews(data_file(part.file), part) for part in (config.train, config.test)]
    texts = [cleaned(reviews, config.cleaning) for reviews in sets]
    plain = Cleaning("none", keep_case=config.cleaning.keep_case, shortest=1)
    whole = vocabulary(words for reviews in sets for words in cleaned(reviews, plain))
    words = vocabulary(texts[0] if config.words_of == "train" else texts[0] + texts[1])
    train, test = (encoded(t, r.labels, words, config.length) for t, r in zip(texts, sets, strict=True))
    return ReviewData(train, test, words, (len(whole) - 1, len(vocabulary(texts[0] + texts[1])) - 1))


def run_reviews(config: ReviewsConfig, key: Key, folder: Path) -> Arrays:
    """Measure every classifier, trained or published; `measured` and `HISTORY` define the names.

    Classifiers of several dimensions are trained in parallel; each has its own folder of checkpoints and losses.
    """
    data = read_data(config)
    keys = jax.random.split(key, len(config.dimensions))
    arrays = {
        "dimensions": np.array(config.dimensions),
        "labels": data.test.labels,
        "training labels": data.train.labels,
        "distinct words before and after cleaning": np.array(data.sizes),
    }
    with progress(config.epochs * len(keys), "training", unit="epochs") as bar:
        work = [
            lambda stopped, d=d, k=k: _trained(config, data, k, folder / f"d={d}", d, stopped, bar.update)
            for d, k in zip(config.dimensions, keys, strict=True)
        ]
        trained = concurrently(work, cores())
    for d, (model, history) in zip(config.dimensions, trained, strict=True):
        arrays |= {f"d={d}: {name}": column for name, column in zip(HISTORY, history.T, strict=True)}
        arrays |= measured(f"d={d}", model, data.train, data.test, data.words, config.further)
    return {**arrays, **(_published(config, data) if config.published else {})}


def concurrently(work: Sequence[Callable[[threading.Event], Result]], workers: int) -> list[Result]:
    """Run long calls in threads, and collect their results; if one fails or is interrupted, the others are stopped.

    Each call gets an event, which is set when it should stop; it may then raise any exception.
    """
    stopped = threading.Event()
    with ThreadPoolExecutor(max(1, min(workers, len(work)))) as pool:
        running = [pool.submit(call, stopped) for call in work]
        try:
            return [call.result() for call in running]
        except BaseException:
            stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _trained(
    config: ReviewsConfig,
    data: ReviewData,
    key: Key,
    folder: Path,
    d: int,
    stopped: threading.Event,
    advance: Callable[[int], object],
) -> tuple[ReviewClassifier, np.ndarray]:
    """Train the classifier of dimension d, and compute `HISTORY` after 0, 1, ... epochs, one row each."""
    draw, order = jax.random.split(key)
    start = draw_classifier(draw, words=len(data.words), d=d, depth=config.depth, temperature=config.temperature)
    checkpoints = Checkpoints(folder, f"{config} {d} {jax.random.key_data(key).tolist()}", jax.tree.structure(0))
    seen = 0

    def save_row(epoch: int, model: ReviewClassifier) -> None:
        nonlocal seen
        if not checkpoints.has(epoch):
            hard = epoch % config.every == 0 or epoch == config.epochs
            checkpoints.save(epoch, history_row(model, data.train, data.test, hard=hard))
        advance(epoch - seen)
        seen = epoch
        if stopped.is_set():
            raise KeyboardInterrupt

    found = train_classifier(
        start,
        data.train,
        order,
        epochs=config.epochs,
        batch=config.batch,
        folder=folder,
        callback=save_row,
        shown=False,
    )
    return found.model, np.stack([np.asarray(checkpoints.load(epoch)) for epoch in range(config.epochs + 1)])


def _published(config: ReviewsConfig, data: ReviewData) -> Arrays:
    """Measure published weights on the same reviews, with the word numbers in their file."""
    path = data_file(config.published)
    model, words = load_classifier(path)
    tensors = read_tensors(path)

    def numbered(name: str, part: Selection, own: Encoded) -> Encoded:
        ids = tensors.raw(name, None, None)[part.first : part.last]
        check_ids(name, ids, len(words))
        return Encoded(ids, own.labels)

    train = numbered("ids_train", config.train, data.train)
    test = numbered("ids_test", config.test, data.test)
    return measured("published", model, train, test, words, config.further)


def summarise_reviews(arrays: Arrays) -> str:
    """Format losses, accuracies and the row of Table 1 of each classifier."""
    before, after = arrays["distinct words before and after cleaning"]
    lines = [f"{before} distinct words with stop words, {after} without"]
    for name in names_in(arrays, "alpha"):
        lines += [name, *_summary(name, arrays)]
    return "\n".join(lines)


def table_1(arrays: Arrays, name: str, count: str = "leaders by value") -> np.ndarray:
    """Compute a row of Table 1: mean, deviation, minimum and maximum of the number of leaders; initial share.

    The initial share is the fraction of leaders that are leaders at layer 0, averaged over the reviews with leaders.

    Args:
        arrays: the arrays of a record.
        name: the name of a classifier, such as `d=2`.
        count: "leaders by value" identifies equal tokens (as the authors' code does, which tests whether a token is the
            first of those it follows); "leaders by index" is Definition 1.1 literally, by which repeated words and
            padding are never leaders.
    """
    m, m_0 = arrays[f"{name}: {count}"], arrays[f"{name}: initial {count}"]
    share = np.mean(m_0[m > 0] / m[m > 0]) if np.any(m > 0) else np.nan
    return np.array([np.mean(m), np.std(m), np.min(m), np.max(m), share])


def _summary(name: str, arrays: Arrays) -> Iterator[str]:
    labels = arrays["labels"]
    for layer in ("softmax", "hardmax"):
        right = np.mean((arrays[f"{name}: {layer} logits"] > 0) == (labels == 1))
        trained = np.mean((arrays[f"{name}: {layer} training logits"] > 0) == (arrays["training labels"] == 1))
        losses = arrays.get(f"{name}: {layer} loss")
        ends = "" if losses is None else f", training loss {losses[0]:.4f} -> {losses[-1]:.4f}"
        yield f"  {layer}: accuracy {trained:.3f} in training, {right:.3f} in the test{ends}"
    for count in ("leaders by value", "leaders by index"):
        mean, deviation, least, most, share = table_1(arrays, name, count)
        yield f"  {count}: {mean:.3f} +- {deviation:.3f}, {least:.0f} to {most:.0f}, {share:.3f} at layer 0"
    before = arrays.get(f"{name}: mean leaders by value")
    if before is not None:
        yield f"  leaders by value before training: {before[0]:.3f}"
    words = [str(word) for word in arrays[f"{name}: leader words"][:15]]
    far = arrays[f"{name}: distance to the limit"] / arrays[f"{name}: longest token"]
    yield f"  fraction of reviews with distinct nonzero tokens: {np.mean(arrays[f'{name}: distinct and nonzero']):.4f}"
    yield f"  distance to the limit over the largest norm: median {np.median(far):.2g}, largest {np.max(far):.2g}"
    yield f"  most frequent words of leaders far from the hyperplane: {', '.join(words)}"


QUICK = ReviewsConfig(
    train=Selection("imdb_train.csv.gz", last=100),
    test=Selection("imdb_test.csv.gz", last=400),
    dimensions=(2, 4, 8, 16),
    epochs=50,
    every=10,
    batch=2,
    published="hardmax_imdb_d2.npz",
)
PAPER = replace(
    QUICK, train=Selection("imdb_train.csv.gz"), test=Selection("imdb_test.csv.gz"), epochs=300, every=10, batch=64
)

REVIEWS = Experiment(
    "hardmax/reviews",
    HARDMAX.at("Section 6, Figures 8 to 10, Table 1"),
    "sentiment classifiers of film reviews: losses with both layers, accuracies, leaders and their words",
    QUICK,
    PAPER,
    run_reviews,
    summarise_reviews,
)

_FOLDS = tuple(str(fold) for fold in range(8))
_LONG = replace(
    QUICK,
    epochs=6,
    every=3,
    batch=64,
    train=Selection("movie_reviews_v2.csv.gz", column="fold", values=_FOLDS, last=400),
    test=Selection("movie_reviews_v2.csv.gz", column="fold", values=("8",)),
    published="",
)

LONG = replace(
    REVIEWS,
    name="hardmax/reviews-long",
    text="the same on reviews that may be redistributed (movie_reviews_v2.csv.gz, CC BY 4.0): folds 0 to 7, test 8",
    quick=_LONG,
    paper=replace(_LONG, train=replace(_LONG.train, last=None), epochs=300, every=10),
)

_FULL = replace(
    PAPER, train=Selection("IMDB Dataset.csv", last=35_000), test=Selection("IMDB Dataset.csv", 35_000), published=""
)

FULL = replace(
    REVIEWS,
    name="hardmax/reviews-full",
    text="the same on all 50,000 reviews, split as in the paper (`IMDB Dataset.csv` with columns review, sentiment)",
    quick=replace(
        _FULL, train=replace(_FULL.train, last=400), test=replace(_FULL.test, last=35_400), epochs=6, every=3
    ),
    paper=replace(_FULL, epochs=100),
)

EXPERIMENTS = (REVIEWS, LONG, FULL)
