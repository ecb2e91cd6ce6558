"""Measure a review classifier: losses, accuracies, leaders and their words, distance of the output to the limit."""

from collections import Counter

import numpy as np

from analysis.experiments import Arrays
from dynsim.networks.sentiment.classifier import (
    ReviewClassifier,
    accuracy,
    decision_values,
    forward_pass,
    forward_pass_logits,
    hardmax_logits,
    mean_loss,
    softmax_logits,
)
from dynsim.networks.sentiment.forward_pass import ForwardPass, further_layers
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
# Smallest distance from the hyperplane of a leader that Figure 10 counts.
FAR = 2.0
SHOWN = {"positive": 1, "negative": 0}


def history_row(model: ReviewClassifier, train: Encoded, test: Encoded, *, hard: bool) -> np.ndarray:
    """Compute the values of `HISTORY`: losses in nats, accuracies, and the mean number of leaders in the test reviews.

    Only the softmax loss is computed unless `hard`; the others are then NaN.
    """
    soft = softmax_logits(model, train.ids)
    row = np.full(len(HISTORY), np.nan)
    row[0] = mean_loss(soft, train.labels)
    if hard:
        found = forward_pass(model, test.ids)
        hard_train, hard_test = hardmax_logits(model, train.ids), forward_pass_logits(model, found)
        row[1] = mean_loss(hard_train, train.labels)
        pairs = ((soft, train), (hard_train, train), (softmax_logits(model, test.ids), test), (hard_test, test))
        row[2:-1] = [accuracy(logits, part.labels) for logits, part in pairs]
        row[-1] = np.mean(np.sum(found.leading >= 0, axis=1))
    return row


def measured(
    name: str, model: ReviewClassifier, train: Encoded, test: Encoded, words: Vocabulary, further: int
) -> Arrays:
    """Measure a classifier on the test reviews, as arrays with names that begin with its name.

    For each test review: the logits with the softmax and the hardmax layer; the number of leaders up to layer K and
    at layer 0 (by value and by index); whether all follower sets are certain in spite of rounding; whether the tokens
    are distinct and nonzero; the largest distance of a token at layer K from its value `further` layers later, the
    movement in the last of these layers, and the largest norm of a token. For the classifier: the words of leaders far
    from the separating hyperplane in correctly classified test reviews, with the number of such reviews, and two
    reviews with their tokens at all layers.
    """
    found = forward_pass(model, test.ids)
    hard = forward_pass_logits(model, found)
    far, movement = further_layers(found, model.layer, further)
    filled = found.groups.counts > 0
    chosen, often = leader_words(model, found, (hard > 0) == (test.labels == 1), words)
    zero = (found.groups.counts > 0) & np.all(found.groups.values == 0, axis=2)
    arrays = {
        "alpha": np.array(float(model.alpha)),
        "decoder": np.append(np.asarray(model.weight, float), float(model.bias)),
        "softmax logits": softmax_logits(model, test.ids),
        "hardmax logits": hard,
        "softmax training logits": softmax_logits(model, train.ids),
        "hardmax training logits": hardmax_logits(model, train.ids),
        **_leaders(found),
        "certain": found.certain,
        "distinct and nonzero": np.all(found.groups.counts <= 1, axis=1) & ~np.any(zero, axis=1),
        "distance to the limit": np.linalg.norm(far - found.final, axis=2).max(axis=1, initial=0.0, where=filled),
        "last step": movement,
        "longest token": np.linalg.norm(found.final, axis=2).max(axis=1, initial=0.0, where=filled),
        "leader words": chosen,
        "leader word counts": often,
        **_shown(model, found, test, hard, words),
    }
    return {f"{name}: {key}": value for key, value in arrays.items()}


def _leaders(found: ForwardPass) -> Arrays:
    counts = {"by value": np.ones_like(found.by_index), "by index": found.by_index}
    by_kind = {}
    for kind, counted in counts.items():
        by_kind[f"leaders {kind}"] = np.sum((found.leading >= 0) & counted, axis=1)
        by_kind[f"initial leaders {kind}"] = np.sum((found.leading == 0) & counted, axis=1)
    return by_kind


def leader_words(
    model: ReviewClassifier, found: ForwardPass, chosen: np.ndarray, words: Vocabulary
) -> tuple[np.ndarray, np.ndarray]:
    """Count the words of leaders with $|\\mathcal H(z)| \\ge 2$ in chosen reviews.

    Source: HARDMAX, Figure 10.
    """
    far = np.abs(decision_values(model, found.final)) >= FAR
    counted = (found.leading >= 0) & far & chosen[:, None]
    often = Counter(found.groups.words[counted].tolist()).most_common()
    names = [words.words[number] or f"#{number}" for number, _ in often]
    return np.array(names or [""], str)[: len(names)], np.array([count for _, count in often], int)


def _shown(model: ReviewClassifier, found: ForwardPass, test: Encoded, logits: np.ndarray, words: Vocabulary) -> Arrays:
    """Find the positive and the negative review with the most extreme logits: words, states, layers of leaders."""
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
