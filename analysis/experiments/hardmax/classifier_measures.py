"""What one sees in a classifier of reviews: losses, accuracies, leaders, their words, and how far the limit is."""

from collections import Counter

import numpy as np

from analysis.experiments import Arrays
from dynsim.networks.sentiment.classifier import (
    ReviewClassifier,
    accuracy,
    hardmax_logits,
    heights,
    mean_loss,
    passage,
    passage_logits,
    softmax_logits,
)
from dynsim.networks.sentiment.passage import Passage, far_state
from dynsim.networks.sentiment.reviews import Encoded
from dynsim.networks.sentiment.words import PADDING, Vocabulary

HISTORY = (
    "softmax loss",
    "hardmax loss",
    "softmax accuracy",
    "hardmax accuracy",
    "softmax test accuracy",
    "hardmax test accuracy",
    "mean leaders by value",
)
FAR = 2.0  # the least height of a leader that Figure 10 counts
SHOWN = {"positive": 1, "negative": 0}


def history_row(model: ReviewClassifier, train: Encoded, test: Encoded, *, hard: bool) -> np.ndarray:
    """Return a row of `HISTORY`: the loss on the training set, in nats, and if `hard` all else, NaN if not.

    Leaders are those in the test set, so that one sees what training does to the numbers of Table 1.
    """
    soft = softmax_logits(model, train.ids)
    row = np.full(len(HISTORY), np.nan)
    row[0] = mean_loss(soft, train.labels)
    if hard:
        found = passage(model, test.ids)
        hard_train, hard_test = hardmax_logits(model, train.ids), passage_logits(model, found)
        row[1] = mean_loss(hard_train, train.labels)
        pairs = ((soft, train), (hard_train, train), (softmax_logits(model, test.ids), test), (hard_test, test))
        row[2:-1] = [accuracy(logits, part.labels) for logits, part in pairs]
        row[-1] = np.mean(np.sum(found.leading >= 0, axis=1))
    return row


def measured(
    name: str, model: ReviewClassifier, train: Encoded, test: Encoded, words: Vocabulary, further: int
) -> Arrays:
    """Return, under names that begin with that of the classifier, what the test reviews show.

    For each test review: the logits with either layer, how many leaders there are up to layer K and how many of them
    at layer 0 (by value and by index), whether rounding leaves all follower sets certain, whether its tokens are
    distinct and none is zero, the distance of its farthest token from where it is after `further` layers more, the last
    step of these, and its longest token. In all: the words that lead far from the separating hyperplane in the
    correctly classified test reviews and in how many of them, and two reviews on their way through the layers.
    """
    found = passage(model, test.ids)
    hard = passage_logits(model, found)
    far, movement = far_state(found, model.layer, further)
    filled = found.groups.counts > 0
    chosen, often = leader_words(model, found, (hard > 0) == (test.labels == 1), words)
    arrays = {
        "alpha": np.array(float(model.alpha)),
        "decoder": np.append(np.asarray(model.weight, float), float(model.bias)),
        "softmax logits": softmax_logits(model, test.ids),
        "hardmax logits": hard,
        "softmax training logits": softmax_logits(model, train.ids),
        "hardmax training logits": hardmax_logits(model, train.ids),
        **_leaders(found),
        "certain": found.certain,
        "distinct and nonzero": _theorem_applies(found),
        "distance to the limit": np.linalg.norm(far - found.final, axis=2).max(axis=1, initial=0.0, where=filled),
        "last step": movement,
        "longest token": np.linalg.norm(found.final, axis=2).max(axis=1, initial=0.0, where=filled),
        "leader words": chosen,
        "leader word counts": often,
        **_shown(model, found, test, hard, words),
    }
    return {f"{name}: {key}": value for key, value in arrays.items()}


def _leaders(found: Passage) -> Arrays:
    counts = {"by value": np.ones_like(found.by_index), "by index": found.by_index}
    by_kind = {}
    for kind, counted in counts.items():
        by_kind[f"leaders {kind}"] = np.sum((found.leading >= 0) & counted, axis=1)
        by_kind[f"initial leaders {kind}"] = np.sum((found.leading == 0) & counted, axis=1)
    return by_kind


def _theorem_applies(found: Passage) -> np.ndarray:
    """Return in which reviews all tokens are distinct and nonzero, the hypothesis of Theorem 1.1."""
    zero = (found.groups.counts > 0) & np.all(found.groups.values == 0, axis=2)
    return np.all(found.groups.counts <= 1, axis=1) & ~np.any(zero, axis=1)


def leader_words(
    model: ReviewClassifier, found: Passage, chosen: np.ndarray, words: Vocabulary
) -> tuple[np.ndarray, np.ndarray]:
    """Return the words on leaders with $|\\mathcal H(z)| \\ge 2$ and in how many chosen reviews, most frequent first.

    Source: HARDMAX, Figure 10.
    """
    far = np.abs(heights(model, found.final)) >= FAR
    counted = (found.leading >= 0) & far & chosen[:, None]
    often = Counter(found.groups.words[counted].tolist()).most_common()
    names = [words.words[number] or f"#{number}" for number, _ in often]
    return np.array(names or [""], str)[: len(names)], np.array([count for _, count in often], int)


def _shown(model: ReviewClassifier, found: Passage, test: Encoded, logits: np.ndarray, words: Vocabulary) -> Arrays:
    """Return the surest correct positive and negative review: words, states at all layers, first layer as a leader."""
    arrays = {}
    for kind, label in SHOWN.items():
        sign = 1 if label else -1
        review = int(np.argmax(np.where(test.labels == label, sign * logits, -np.inf)))
        states = [np.asarray(model.embedding, float)[test.ids[review]]]
        for layer in range(model.depth):
            states.append(model.layer.step(layer, states[-1]))
        listed = [words.words[number] if number else PADDING for number in test.ids[review]]
        arrays |= {
            f"{kind} review": np.array(review),
            f"{kind} review words": np.array(listed),
            f"{kind} review states": np.stack(states),
            f"{kind} review leading": found.leading[review][found.groups.which[review]],
        }
    return arrays
