"""What the records of the experiment on reviews contain, held against the definitions for the published classifier."""

from functools import partial

import numpy as np

from analysis.experiments.hardmax.classifier_measures import HISTORY, history_row, measured
from analysis.experiments.hardmax.reviews import table_1
from analysis.hardmax.certificate import Certificate
from analysis.hardmax.leaders import leader_layers_by_value
from analysis.ledger.evidence import NON_NEGATIVE, ROUNDING, Measurement, at_most
from dynsim.networks.sentiment.classifier import ReviewClassifier
from dynsim.networks.sentiment.reviews import Encoded
from dynsim.networks.sentiment.words import Vocabulary

BEYOND = 52  # layers after the last one, at which tokens are compared with the limits
FEW = 6  # reviews whose leaders are counted from the definition


def _errors(pairs: dict[str, tuple[object, object]]) -> tuple[Measurement, ...]:
    gap = lambda found, expected: np.max(np.abs(np.asarray(found, float) - np.asarray(expected, float)))
    return tuple(
        at_most(f"error of {name} in a record", gap(*both), 0.0, tolerance=100 * ROUNDING, within=NON_NEGATIVE)
        for name, both in pairs.items()
    )


def _layers(model: ReviewClassifier, ids: np.ndarray) -> list[np.ndarray]:
    """Return the tokens of a review at layers 0 to K and `BEYOND` further ones, (n, d) each, by the layer map alone."""
    states = [np.asarray(model.embedding)[ids].astype(float)]
    for k in range(model.depth + BEYOND):
        states.append(model.layer.step(k, states[-1]))
    return states


def history_measurements(
    model: ReviewClassifier, train: Encoded, logits: tuple[np.ndarray, np.ndarray]
) -> tuple[Measurement, ...]:
    """Measure a row of the training history, given the logits of the training reviews with both layers.

    The first `FEW` reviews stand for the test set.
    """
    few = Encoded(train.ids[:FEW], train.labels[:FEW])
    row = dict(zip(HISTORY, history_row(model, train, few, hard=True), strict=True))
    entropy = lambda s: np.mean(np.logaddexp(0.0, -np.where(train.labels == 1, 1.0, -1.0) * s))
    right = lambda s, count: np.mean((s[:count] > 0) == (train.labels[:count] == 1))
    leaders = []
    for ids in few.ids:
        states = _layers(model, ids)[: model.depth + 1]
        leading = leader_layers_by_value(model.layer, states) >= 0
        leaders.append(len({tuple(z) for z in states[0][leading]}))
    expected = {"mean leaders by value": np.mean(leaders)}
    for layer, s in zip(("softmax", "hardmax"), logits, strict=True):
        expected[f"{layer} loss"], expected[f"{layer} accuracy"] = entropy(s), right(s, len(s))
        expected[f"{layer} test accuracy"] = right(s, FEW)
    found = {**row}
    return _errors({name: (found[name], value) for name, value in expected.items()})


def review_measurements(
    model: ReviewClassifier, words: Vocabulary, ids: np.ndarray, end: Certificate
) -> tuple[Measurement, ...]:
    """Measure the measures of one review and its row of Table 1 against its certificate and the layer map."""
    one = Encoded(ids[None], np.array([1]))
    arrays = measured("one", model, one, one, words, BEYOND)
    states, depth = _layers(model, ids), model.depth
    within = partial(_count, states[0], depth=depth)
    led = {"by value": end.leader_layers_by_value, "by index": end.leader_layers}
    counts = {kind: within(layers, values=kind == "by value") for kind, layers in led.items()}
    first = _count(states[0], led["by value"], depth=0, values=True)
    logit = np.mean(states[depth], axis=0) @ np.asarray(model.weight, float) + float(model.bias)
    far = np.max(np.linalg.norm(states[-1] - states[depth], axis=1))
    size, m = np.max(np.linalg.norm(states[depth], axis=1)), counts["by value"]
    return _errors(
        {
            **{f"the number of leaders {kind}": (arrays[f"one: leaders {kind}"][0], n) for kind, n in counts.items()},
            "the number of leaders at layer 0": (arrays["one: initial leaders by value"][0], first),
            "the row of Table 1": (table_1(arrays, "one"), (m, 0.0, m, m, first / m)),
            "the logit with the hardmax layer": (arrays["one: hardmax logits"][0], logit),
            "the distance to the limit": (arrays["one: distance to the limit"][0], far),
            "the longest token": (arrays["one: longest token"][0], size),
        }
    )


def _count(tokens: np.ndarray, layers: np.ndarray, *, depth: int, values: bool) -> int:
    """Return how many tokens, or different values of tokens, lead at a layer up to `depth`."""
    leading = (layers >= 0) & (layers <= depth)
    return len({tuple(z) for z in tokens[leading]}) if values else int(np.sum(leading))
