"""What the experiment on film reviews records and says: leaders, words, losses, checkpoints, published weights."""

import threading
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from analysis.experiments.hardmax import classifier_measures, reviews
from dynsim.keys import random_key
from dynsim.networks.sentiment.forward_pass import ForwardPass, WordGroups
from dynsim.networks.sentiment.reviews import Encoded
from dynsim.networks.sentiment.words import Vocabulary

KEY = random_key(0, "records")
WORDS = Vocabulary(("<PAD>", "good", "bad", "film"))
GROUPS = WordGroups(
    np.array([[1, 3, 0], [2, 3, 0]]), np.array([[1, 2, 0], [1, 1, 1]]), np.array([[0, 1, 1], [0, 1, 2]]),
    np.array([[[3.0], [1.0], [0.0]], [[-2.0], [0.5], [0.0]]]),
)  # fmt: skip
PASS = ForwardPass(GROUPS, GROUPS.values, np.array([[0, 2, -1], [0, -1, 1]]), np.array([True, False]))


def test_leaders_are_counted_by_value_and_by_index():
    """A token that occurs twice leads by its value, but by no index."""
    found = classifier_measures._leaders(PASS)
    assert {name: counts.tolist() for name, counts in found.items()} == {
        "leaders by value": [2, 2], "initial leaders by value": [1, 1],
        "leaders by index": [1, 2], "initial leaders by index": [1, 1],
    }  # fmt: skip


def test_words_of_leaders_are_those_at_the_distance_two_at_least_of_chosen_reviews(monkeypatch):
    monkeypatch.setattr(classifier_measures, "decision_values", lambda model, final: final[..., 0])
    network = reviews.draw_classifier(KEY, words=4, d=2)
    names, often = classifier_measures.leader_words(network, PASS, np.array([True, True]), WORDS)
    assert (names.tolist(), often.tolist()) == (["good", "bad"], [1, 1])  # of "film" the distance is 1
    names, often = classifier_measures.leader_words(network, PASS, np.array([False, True]), WORDS)
    assert (names.tolist(), often.tolist()) == (["bad"], [1])
    names, often = classifier_measures.leader_words(network, PASS, np.array([False, False]), WORDS)
    assert (len(names), len(often)) == (0, 0)


def test_a_row_of_table_1_and_the_summary_of_a_classifier():
    arrays = {
        "labels": np.array([1, 0, 1, 1]), "training labels": np.array([0, 1]),
        "distinct words before and after cleaning": np.array([20, 15]), "d=2: alpha": np.array(0.5),
        "d=2: softmax logits": np.array([1.0, 1.0, -1.0, 2.0]), "d=2: hardmax logits": np.array([1.0, -1.0, 1.0, 2.0]),
        "d=2: softmax training logits": np.array([-1.0, -1.0]), "d=2: hardmax training logits": np.array([-1.0, 1.0]),
        "d=2: softmax loss": np.array([0.7, 0.5]), "d=2: hardmax loss": np.array([0.8, 0.6, 0.4]),
        "d=2: leaders by value": np.array([4, 0, 2, 2]), "d=2: initial leaders by value": np.array([1, 0, 1, 2]),
        "d=2: leaders by index": np.array([0, 0, 0, 0]), "d=2: initial leaders by index": np.array([0, 0, 0, 0]),
        "d=2: mean leaders by value": np.array([1.5, 2.0]), "d=2: leader words": np.array([f"w{k}" for k in range(20)]),
        "d=2: distance to the limit": np.array([0.1, 0.2, 0.3, 0.8]),
        "d=2: longest token": np.array([1.0, 1.0, 1.0, 2.0]),
        "d=2: distinct and nonzero": np.array([True, True, False, True]),
    }  # fmt: skip
    np.testing.assert_allclose(reviews.table_1(arrays, "d=2"), [2, np.sqrt(2), 0, 4, (0.25 + 0.5 + 1) / 3])
    assert np.isnan(reviews.table_1(arrays, "d=2", "leaders by index")[-1])
    assert reviews.summarise_reviews(arrays).splitlines() == [
        "20 distinct words with stop words, 15 without",
        "d=2",
        "  softmax: accuracy 0.500 in training, 0.500 in the test, training loss 0.7000 -> 0.5000",
        "  hardmax: accuracy 1.000 in training, 1.000 in the test, training loss 0.8000 -> 0.4000",
        "  leaders by value: 2.000 +- 1.414, 0 to 4, 0.583 at layer 0",
        "  leaders by index: 0.000 +- 0.000, 0 to 0, nan at layer 0",
        "  leaders by value before training: 1.500",
        "  fraction of reviews with distinct nonzero tokens: 0.7500",
        "  distance to the limit over the largest norm: median 0.25, largest 0.4",
        f"  most frequent words of leaders far from the hyperplane: {', '.join(f'w{k}' for k in range(15))}",
    ]


SETS = reviews.ReviewData(
    Encoded(np.array([[1, 3]]), np.array([1])), Encoded(np.array([[2, 3]]), np.array([0])), WORDS, (5, 3)
)
REVIEWS = replace(reviews.QUICK, dimensions=(2, 4), epochs=5, every=2)


def test_a_classifier_is_measured_after_every_epoch_and_stopped_when_it_is_asked(monkeypatch, tmp_path):
    rows, asked, moved, stopped = [], [], [], threading.Event()
    drawn = reviews.draw_classifier(KEY, words=4, d=2)

    def train(start, data, order, *, callback, **options):
        asked.append(options | {"order": order})
        for epoch in range(options["epochs"] + 1):
            callback(epoch, drawn)
        return SimpleNamespace(model=drawn)

    def row(found, train, test, *, hard):
        rows.append((found, hard))
        return np.full(7, float(len(rows)))

    monkeypatch.setattr(reviews, "train_classifier", train)
    monkeypatch.setattr(reviews, "history_row", row)
    monkeypatch.setattr(reviews, "draw_classifier", lambda key, **options: asked.append(options) or drawn)
    found, history = reviews._trained(REVIEWS, SETS, KEY, tmp_path, 2, stopped, moved.append)
    assert found is drawn
    assert [hard for _, hard in rows] == [True, False, True, False, True, True]
    assert history[:, 0].tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    assert moved == [0, 1, 1, 1, 1, 1]
    assert asked[0] == {"words": 4, "d": 2, "depth": 8, "temperature": 1e-3}
    assert (asked[1]["epochs"], asked[1]["batch"], asked[1]["shown"]) == (5, 2, False)
    reviews._trained(REVIEWS, SETS, KEY, tmp_path, 2, stopped, moved.append)
    assert len(rows) == 6  # those of the first run are read
    stopped.set()
    with pytest.raises(KeyboardInterrupt):
        reviews._trained(REVIEWS, SETS, KEY, tmp_path, 2, stopped, moved.append)


@pytest.mark.parametrize("published", ["", "weights.npz"])
def test_classifiers_of_all_dimensions_are_measured_beside_the_published_one(published, monkeypatch, tmp_path):
    asked = []
    trained = lambda config, data, key, folder, d, stopped, advance: (
        f"model {d}", np.arange(14.0).reshape(2, 7) + d)  # fmt: skip
    monkeypatch.setattr(reviews, "read_data", lambda config: SETS)
    monkeypatch.setattr(reviews, "_trained", trained)
    monkeypatch.setattr(reviews, "_published", lambda config, data: {"published: alpha": np.array(1.0)})

    def measured(name, found, train, test, words, further):
        asked.append((name, found, further))
        return {f"{name}: alpha": 0.5}

    monkeypatch.setattr(reviews, "measured", measured)
    arrays = reviews.run_reviews(replace(REVIEWS, published=published), KEY, tmp_path)
    assert asked == [("d=2", "model 2", 52), ("d=4", "model 4", 52)]
    assert arrays["d=4: softmax loss"].tolist() == [4.0, 11.0]
    assert arrays["d=4: mean leaders by value"].tolist() == [10.0, 17.0]
    assert (arrays["labels"].tolist(), arrays["training labels"].tolist()) == ([0], [1])
    assert arrays["distinct words before and after cleaning"].tolist() == [5, 3]
    assert ("published: alpha" in arrays) == bool(published)


SOME = Encoded(np.array([[1, 3, 0], [2, 3, 3], [1, 2, 3], [2, 0, 0], [1, 1, 0]]), np.array([1, 0, 1, 0, 1]))


def test_a_classifier_is_measured_on_its_reviews_with_both_layers():
    """The test reviews are those of the training set but one, so that losses and accuracies of both sets differ."""
    network = reviews.draw_classifier(KEY, words=4, d=2, depth=3, temperature=0.1)
    test = Encoded(SOME.ids[:4], SOME.labels[:4])
    found = classifier_measures.measured("d=2", network, SOME, test, WORDS, 20)
    of = lambda name: found[f"d=2: {name}"]
    soft, hard = of("softmax logits"), of("hardmax logits")
    np.testing.assert_allclose(of("softmax training logits")[:4], soft, rtol=1e-6)
    np.testing.assert_allclose(of("hardmax training logits")[:4], hard, rtol=1e-6)
    assert not np.allclose(soft, hard)
    assert of("decoder").shape == (3,)
    assert of("distinct and nonzero").tolist() == [True, False, True, False]
    kept = [np.unique(row).size for row in test.ids]
    assert np.all(of("leaders by index") <= of("leaders by value"))
    assert np.all(of("leaders by value") <= kept)
    assert np.all((of("longest token") > 0) & (of("distance to the limit") >= 0) & (of("last step") >= 0))
    for kind, label in (("positive", 1), ("negative", 0)):
        sign = 1 if label else -1
        rows = [k for k in range(4) if test.labels[k] == label]
        best = max(rows, key=lambda k: sign * hard[k])
        assert int(of(f"{kind} review")) == best
        words = [WORDS.words[number] if number else classifier_measures.PADDING for number in test.ids[best]]
        assert of(f"{kind} review words").tolist() == words
        states = of(f"{kind} review states")
        assert states.shape == (4, 3, 2)
        np.testing.assert_allclose(states[0], np.asarray(network.embedding)[test.ids[best]])
        np.testing.assert_allclose(states[2], network.layer.step(1, states[1]))
        assert of(f"{kind} review leading").shape == (3,)
    row = classifier_measures.history_row(network, SOME, test, hard=True)
    loss = lambda logits, labels: np.mean(np.log1p(np.exp(-np.where(labels == 1, 1, -1) * np.asarray(logits, float))))
    share = lambda logits, labels: np.mean((np.asarray(logits) > 0) == (labels == 1))
    trained = of("softmax training logits"), of("hardmax training logits")
    assert row[:2] == pytest.approx([loss(one, SOME.labels) for one in trained], rel=1e-5)
    assert row[2:4] == pytest.approx([share(one, SOME.labels) for one in trained])
    assert row[4:6] == pytest.approx([share(one, test.labels) for one in (soft, hard)])
    assert row[6] == pytest.approx(np.mean(of("leaders by value")))
    short = classifier_measures.history_row(network, SOME, test, hard=False)
    assert short[0] == row[0]
    assert np.all(np.isnan(short[1:]))


def test_published_weights_are_measured_on_their_own_numbers_of_the_chosen_reviews(monkeypatch):
    tensors = SimpleNamespace(raw=lambda name, *axes: np.arange(12).reshape(6, 2) % 4 + (name == "ids_test"))
    asked = []
    monkeypatch.setattr(reviews, "data_file", lambda name: name)
    monkeypatch.setattr(reviews, "load_classifier", lambda path: ("weights", ("a", "b", "c", "d", "e")))
    monkeypatch.setattr(reviews, "read_tensors", lambda path: tensors)
    monkeypatch.setattr(reviews, "measured", lambda *given: asked.append(given) or {})
    first = lambda part, begin, end: replace(part, first=begin, last=end)
    config = replace(REVIEWS, train=first(REVIEWS.train, 1, 2), test=first(REVIEWS.test, 2, 3), further=9)
    reviews._published(config, SETS)
    ((name, model, train, test, words, further),) = asked
    assert (name, model, further, len(words)) == ("published", "weights", 9, 5)
    assert (train.ids.tolist(), test.ids.tolist()) == ([[2, 3]], [[1, 2]])
    assert (train.labels.tolist(), test.labels.tolist()) == ([1], [0])
