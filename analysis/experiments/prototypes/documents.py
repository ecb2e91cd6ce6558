"""Read documents as sequences of word vectors, and compute baselines for read-outs of them."""

import csv
import gzip
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.optimize import minimize
from scipy.special import logsumexp

from dynsim.errors import ArgumentError
from dynsim.io.data import data_file
from dynsim.io.npz import read_arrays
from dynsim.networks.sentiment.words import Cleaning

WORDS = Cleaning(stop_words="none", keep_case=False, shortest=1)
# Weight of the squares in the loss of a logistic regression.
RIDGE = 1e-3


@dataclass(frozen=True)
class DocumentCorpus:
    """Two sets of labelled documents, in CSV files with the columns `text` and `label`.

    Attributes:
        train: file of the training set.
        test: file of the test set.
        by_split: whether both are one file, and its column `split` says which set a row is in.
        classes: number of classes; labels are from 0 on.
        length: number of words of a document; longer ones are truncated.
        limit: documents of each set, evenly spaced among all; None for all.
    """

    train: str
    test: str
    by_split: bool = False
    classes: int = 2
    length: int = 64
    limit: int | None = None


class Documents(NamedTuple):
    """Documents as word vectors, the share of each word in the mean over its document, zero for padding, and labels."""

    tokens: Float[np.ndarray, "documents length d"]
    shares: Float[np.ndarray, "documents length"]
    labels: Int[np.ndarray, " documents"]

    @property
    def means(self) -> Float[np.ndarray, "documents d"]:
        """Mean of the word vectors of each document."""
        return np.einsum("nl,nld->nd", self.shares, self.tokens)

    def pooled(self) -> "Documents":
        """Replace each document by one token, its mean."""
        return Documents(self.means[:, None], np.ones((len(self.labels), 1), np.float32), self.labels)


def read_corpus(corpus: DocumentCorpus, vectors: str = "glove_twitter_25d_12k.npz") -> tuple[Documents, Documents]:
    """Read training and test documents in float32.

    Words without a vector are left out; a document without any word is one zero vector. Every coordinate has mean zero
    and variance one over the words of the training set.

    Raises:
        ValueError: if a file is missing, or a label is not one of the classes.
    """
    arrays = read_arrays(data_file(vectors))
    known = {word.decode(): number for number, word in enumerate(arrays["word"])}
    sets = [_read(corpus, name, split, known) for name, split in ((corpus.train, "train"), (corpus.test, "test"))]
    used = np.array([number for document in sets[0][0] for number in document])
    vec = np.asarray(arrays["vec"], np.float64)
    vec = (vec - vec[used].mean(axis=0)) / vec[used].std(axis=0)
    first, second = (_documents(vec.astype(np.float32), ids, labels, corpus.length) for ids, labels in sets)
    return first, second


def _read(corpus: DocumentCorpus, name: str, split: str, known: dict[str, int]) -> tuple[list[list[int]], list[int]]:
    with gzip.open(data_file(name), "rt", encoding="utf-8", newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if not corpus.by_split or row["split"] == split]
    chosen = range(len(rows)) if corpus.limit is None else np.linspace(0, len(rows) - 1, corpus.limit).astype(int)
    rows = [rows[number] for number in chosen]
    labels = [int(row["label"]) for row in rows]
    if not set(labels) <= set(range(corpus.classes)):
        raise ArgumentError("classes", f"be above {max(labels)}, a label in `{name}`", f"is {corpus.classes}")
    return [[known[word] for word in WORDS(row["text"]) if word in known][: corpus.length] for row in rows], labels


def _documents(vec: np.ndarray, ids: list[list[int]], labels: list[int], length: int) -> Documents:
    tokens = np.zeros((len(ids), length, vec.shape[1]), np.float32)
    shares = np.zeros((len(ids), length), np.float32)
    for row, found in enumerate(ids):
        tokens[row, : len(found)] = vec[found]
        shares[row, : max(len(found), 1)] = 1 / max(len(found), 1)
    return Documents(tokens, shares, np.array(labels))


def logistic_accuracy(train: Documents, test: Documents, classes: int) -> float:
    """Compute the test accuracy of logistic regression on the means of documents, by L-BFGS with a small ridge."""
    x = np.concatenate([train.means.astype(float), np.ones((len(train.labels), 1))], axis=1)
    target = np.eye(classes)[train.labels]

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        weights = flat.reshape(x.shape[1], classes)
        logits = x @ weights
        log_q = logits - logsumexp(logits, axis=1, keepdims=True)
        value = -np.mean(np.sum(target * log_q, axis=1)) + RIDGE / 2 * np.sum(weights**2)
        return value, (x.T @ (np.exp(log_q) - target) / len(x) + RIDGE * weights).ravel()

    weights = minimize(objective, np.zeros(x.shape[1] * classes), jac=True, method="L-BFGS-B").x.reshape(-1, classes)
    logits = test.means @ weights[:-1] + weights[-1]
    return float(np.mean(np.argmax(logits, axis=1) == test.labels))
