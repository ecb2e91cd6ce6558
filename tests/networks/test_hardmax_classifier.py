"""The classifier of reviews: exact layers, the authors' own weights, gradients, training, and the experiment."""

import threading
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.experiments import names_in, record
from analysis.experiments.hardmax import reviews as hardmax
from analysis.experiments.hardmax.classifier_measures import HISTORY, leader_words
from analysis.experiments.hardmax.reviews import REVIEWS, ReviewsConfig, concurrently, read_data, table_1
from analysis.hardmax.leaders import leader_layers, leader_layers_by_value
from dynsim.io.npz import read_arrays, write_arrays
from dynsim.keys import random_key
from dynsim.networks.sentiment.classifier import (
    EpochBatches,
    ReviewClassifier,
    accuracy,
    batch_loss,
    draw_classifier,
    forward_pass,
    hardmax_logits,
    load_classifier,
    mean_loss,
    softmax_logits,
    train_classifier,
)
from dynsim.networks.sentiment.forward_pass import further_layers
from dynsim.networks.sentiment.reviews import Encoded, Selection, read_reviews
from dynsim.networks.sentiment.words import PADDING, Cleaning, Vocabulary
from dynsim.systems.hardmax.examples import EXAMPLE_5_2
from dynsim.systems.hardmax.maps import HardmaxMap
from tests import data_or_skip

KEY = random_key(0, "hardmax classifier")
ROWS = st.lists(st.lists(st.integers(0, 8), min_size=6, max_size=6), min_size=1, max_size=4)


def classifier(embedding, alpha=1.0, depth=8, **options):
    embedding = jnp.asarray(embedding, float)
    d = embedding.shape[1]
    return ReviewClassifier(embedding, jnp.log(alpha), jnp.ones(d), jnp.asarray(0.5), depth, **options)


def lattice(seed=0, d=2):
    """Return nine words on a lattice, where scores tie, of which the last two are equal."""
    rng = np.random.default_rng(seed)
    embedding = rng.integers(-2, 3, (9, d)).astype(float)
    embedding[8] = embedding[7]
    return embedding


def states(model, row):
    found = [np.asarray(model.embedding, float)[row]]
    for k in range(model.depth):
        found.append(model.layer.step(k, found[-1]))
    return found


@settings(max_examples=60, deadline=None)
@given(ROWS, st.integers(0, 10), st.sampled_from([0.1, 1.0]), st.sampled_from([1, 3]))
def test_many_reviews_at_once_are_each_review_alone_ties_and_repeated_words_included(rows, seed, scale, depth):
    model = classifier(scale * lattice(seed), 0.5, depth)
    ids = np.array(rows)
    found = forward_pass(model, ids)
    for r, row in enumerate(ids):
        path, slots = states(model, row), found.groups.which[r]
        leading, single = found.leading[r][slots], found.by_index[r][slots]
        np.testing.assert_array_equal(leading == 0, leader_layers_by_value(model.layer, path[:1]) == 0)
        np.testing.assert_array_equal(single & (leading == 0), leader_layers(model.layer, path[:1]) == 0)
        if found.certain[r]:
            np.testing.assert_array_equal(leading, leader_layers_by_value(model.layer, path))
        if found.certain[r] or depth == 1:  # later, rounding may break a tie in either
            np.testing.assert_allclose(found.final[r][slots], path[-1], atol=1e-13)
            assert hardmax_logits(model, ids)[r] == pytest.approx(path[-1].mean(axis=0).sum() + 0.5, abs=1e-12)


def test_generic_tokens_are_certain_and_a_tie_is_not():
    ids = np.arange(8)[None]
    assert forward_pass(classifier(np.random.default_rng(1).normal(size=(8, 3))), ids).certain.tolist() == [True]
    cross = np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1], [0, 0], [2, 2], [-2, 2], [0, 3]])
    assert forward_pass(classifier(cross), ids).certain.tolist() == [False]


def test_a_review_is_certain_while_the_rounding_of_its_layers_cannot_close_the_gap_of_its_scores():
    """Two leaders that do not move, whose scores 30 ulp of displacement change; a layer rounds by 8 of each entry."""
    noise, moved = 16 * 5 * np.sqrt(2), 2 * (1 + np.sqrt(2)) * np.sqrt(2)  # ulp of a score by rounding, and by motion
    tokens = np.array([[1.0, 0.0], [1 - (noise + 30 * moved) * 2.0**-52, 1.0]])
    found = [forward_pass(classifier(tokens, depth=k), np.array([[0, 1]])).certain[0] for k in (1, 2, 3)]
    assert found == [True, True, False]  # 8 k sqrt(2) is 11, 23, 34


def test_a_score_that_only_rounding_makes_the_best_is_not_followed():
    tokens = 0.1 * np.array([[-2, 5, 1], [1, 7, -3], [5, 3, -7]])
    assert HardmaxMap(1.0).follower_sets(tokens).lists() == [[1], [1], [2]]
    found = forward_pass(classifier(tokens, depth=1), np.array([[0, 1, 2]]))
    slots = found.groups.which[0]
    assert found.leading[0][slots].tolist() == [-1, 0, 0]
    np.testing.assert_allclose(found.final[0][slots][0], (tokens[0] + tokens[1]) / 2, atol=1e-15)


def test_example_5_2_has_a_leader_from_the_last_layer_on_and_one_from_the_start():
    found = forward_pass(classifier(np.array(EXAMPLE_5_2, float), 0.5, depth=1), np.array([[0, 1, 2]]))
    assert found.leading[0][found.groups.which[0]].tolist() == [1, -1, 0]
    np.testing.assert_allclose(
        found.final[0][found.groups.which[0]], [[-2 / 3, 5 / 3], [4, 10 / 3], [12, 4]], atol=1e-14
    )


def test_order_and_rotation_change_no_logit_of_the_hardmax_layer():
    rng = np.random.default_rng(2)
    model = classifier(rng.normal(size=(20, 2)), 2.0)
    ids = rng.integers(0, 20, (5, 12))
    turned = np.array([[0.6, -0.8], [0.8, 0.6]])
    other = classifier(np.asarray(model.embedding) @ turned.T, 2.0)
    other = ReviewClassifier(other.embedding, other.log_alpha, jnp.asarray(turned @ np.ones(2)), other.bias)
    shuffled = np.stack([rng.permutation(row) for row in ids])
    np.testing.assert_allclose(hardmax_logits(model, shuffled), hardmax_logits(model, ids), atol=1e-13)
    np.testing.assert_allclose(hardmax_logits(other, ids), hardmax_logits(model, ids), atol=1e-12)


def test_a_lower_temperature_brings_the_softmax_layer_to_the_hardmax_layer():
    rng = np.random.default_rng(3)
    ids = rng.integers(0, 30, (70, 10))  # more than one block
    embedding = rng.normal(size=(30, 2))
    hard = hardmax_logits(classifier(embedding), ids)
    errors = [np.median(abs(softmax_logits(classifier(embedding, temperature=t), ids) - hard)) for t in (0.1, 0.01)]
    assert errors[1] < 0.1 * errors[0]
    assert softmax_logits(classifier(embedding), ids).shape == (70,)


def test_the_far_state_of_two_leaders_is_where_they_are():
    model = classifier([[2.0, 0.1], [-2.0, 0.1], [1.0, 0.0], [-1.0, 0.0]], 1.0)
    found = forward_pass(model, np.array([[0, 1, 2, 3]]))
    far, movement = further_layers(found, model.layer, 60)
    np.testing.assert_allclose(far[0][found.groups.which[0]], [[2, 0.1], [-2, 0.1], [2, 0.1], [-2, 0.1]], atol=1e-12)
    assert movement[0] < 1e-15
    near = np.linalg.norm(found.final[0][found.groups.which[0]][2] - [2.0, 0.1])
    assert near == pytest.approx(np.hypot(1, 0.1) / 2**8)


def test_loss_and_accuracy_in_closed_form():
    logits, labels = np.array([0.0, 2.0, -3.0, 800.0]), np.array([1, 1, 1, 1])
    terms = [np.log(2), np.log1p(np.exp(-2)), np.log1p(np.exp(3)), 0.0]
    assert mean_loss(logits, labels) == pytest.approx(np.mean(terms), abs=1e-12)
    assert accuracy(logits, labels) == 0.5
    assert accuracy(logits, 1 - labels) == 0.5


def small_batch(model):
    ids = jnp.asarray(np.random.default_rng(4).integers(0, len(model.embedding), (3, 6)))
    return ids, jnp.array([1, 0, 1]), jnp.array([True, True, False])


def test_the_gradient_is_that_of_central_differences():
    rng = np.random.default_rng(5)
    model = jax.tree.map(np.asarray, classifier(rng.normal(size=(7, 2)), 0.7, depth=3, temperature=0.5))
    batch = small_batch(model)
    value = jax.jit(lambda m: batch_loss(m, batch, KEY))
    slope = jax.jit(jax.grad(lambda m: batch_loss(m, batch, KEY)))(model)
    for leaf in range(4):
        flat, rebuild = jax.tree.flatten(model)
        direction = rng.normal(size=flat[leaf].shape)
        ahead, behind = (
            rebuild.unflatten([a + h * direction if k == leaf else a for k, a in enumerate(flat)])
            for h in (1e-5, -1e-5)
        )
        numeric = (value(ahead) - value(behind)) / 2e-5
        assert float(np.sum(jax.tree.leaves(slope)[leaf] * direction)) == pytest.approx(float(numeric), rel=1e-6)


def test_a_review_of_weight_zero_counts_for_nothing():
    model = classifier(np.random.default_rng(6).normal(size=(7, 2)))
    ids, labels, counted = small_batch(model)
    fewer = mean_loss(softmax_logits(model, np.asarray(ids[:2])), np.asarray(labels[:2]))
    assert float(batch_loss(model, (ids, labels, counted), KEY)) == pytest.approx(fewer, abs=1e-12)


def test_an_epoch_visits_each_review_once_in_its_own_order():
    batches = EpochBatches(jnp.arange(10)[:, None], jnp.zeros(10, jnp.int32), KEY, 4)
    assert batches.steps == 3
    seen = [
        [int(i) for i, w in zip(ids[:, 0], weight, strict=True) if w]
        for ids, _, weight in (batches(jnp.asarray(k), KEY) for k in range(6))
    ]
    first, second = sum(seen[:3], []), sum(seen[3:], [])
    assert sorted(first) == sorted(second) == list(range(10))
    assert first != second


def opinions(count=240, length=8):
    """Return reviews of words 2 to 9 with one telling word each, 0 in bad ones and 1 in good ones."""
    rng = np.random.default_rng(7)
    labels = np.arange(count, dtype=np.int32) % 2
    ids = rng.integers(2, 10, (count, length)).astype(np.int32)
    ids[np.arange(count), rng.integers(0, length, count)] = labels
    return Encoded(ids, labels)


@pytest.mark.slow
def test_training_finds_the_telling_words_and_resumes_to_the_same_bits(tmp_path):
    data = opinions()
    start = draw_classifier(KEY, words=10, d=2, depth=2)
    assert start.embedding.dtype == jnp.float32
    run = lambda epochs, folder, callback=None: train_classifier(
        start, data, KEY, epochs=epochs, batch=16, folder=folder, callback=callback
    )
    seen = []
    whole = run(150, tmp_path / "whole", lambda epoch, model: seen.append((epoch, float(model.alpha))))
    assert [epoch for epoch, _ in seen] == list(range(151))
    assert seen[0][1] == 1.0
    assert seen[-1][1] == float(whole.model.alpha) > 0
    logits = hardmax_logits(whole.model, data.ids)
    assert accuracy(logits, data.labels) > 0.9  # 0.5 before
    assert mean_loss(logits, data.labels) < 0.25  # log 2 before
    assert len(whole.losses) == 2250
    run(20, tmp_path / "parts")
    again = []
    parts = run(150, tmp_path / "parts", lambda epoch, model: again.append((epoch, float(model.alpha))))
    assert again == seen[20:]
    for ours, theirs in zip(jax.tree.leaves(whole.model), jax.tree.leaves(parts.model), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_what_cannot_be_a_classifier_is_refused(tmp_path):
    for options, said in (
        ({"words": 0, "d": 2}, "`words` must be at least 1, but is 0"),
        ({"words": 3, "d": 0}, "`d` must be at least 1"),
        ({"words": 3, "d": 2, "depth": 0}, "`depth` must be at least 1"),
        ({"words": 3, "d": 2, "temperature": 0.0}, "`temperature` must be positive, but is 0.0"),
    ):
        with pytest.raises(ValueError, match=said):
            draw_classifier(KEY, **options)
    model = draw_classifier(KEY, words=3, d=2)
    for logits in (softmax_logits, hardmax_logits):
        with pytest.raises(ValueError, match="`ids` must lie between 0 and 2"):
            logits(model, np.array([[0, 3]]))
    with pytest.raises(ValueError, match="`epochs` must be at least 1, but is 0"):
        train_classifier(model, opinions(), KEY, epochs=0)


def stored(**changes):
    arrays = {
        "embedding": np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]], np.float32),
        "alpha": np.array([0.5], np.float32),
        "decoder_w": np.ones(2, np.float32),
        "decoder_b": np.zeros(1, np.float32),
        "depth": np.array(8),
        "temperature": np.array(0.001),
        "word": np.array([b"fine"]),
        "word_id": np.array([2]),
    }
    return {**arrays, **changes}


def test_a_file_of_weights_is_read_and_a_bad_one_named(tmp_path):
    path = tmp_path / "model.npz"
    write_arrays(path, stored())
    model, words = load_classifier(path)
    assert float(model.alpha) == pytest.approx(0.5, abs=1e-15)
    assert (model.depth, model.temperature) == (8, 0.001)
    assert words == Vocabulary((PADDING, "", "fine"))
    for changes, said in (
        (
            {"alpha": np.array([-0.5])},
            "positive numbers `alpha`, `depth` and `temperature`, but in `model.npz` one is -0.5",
        ),
        ({"decoder_w": np.ones(3)}, r"a tensor `decoder_w` of shape \(2\)"),
        ({"embedding": np.full((3, 2), np.nan)}, "finite numbers in the tensor `embedding`"),
        ({"word_id": np.array([3])}, "`word_id` must lie between 0 and 2"),
    ):
        write_arrays(path, stored(**changes))
        with pytest.raises(ValueError, match=said):
            load_classifier(path)
    with pytest.raises(ValueError, match="must be a file"):
        load_classifier(tmp_path / "none.npz")


@pytest.mark.slow
def test_the_authors_classifier_gives_its_published_logits():
    path = data_or_skip("hardmax_imdb_d2.npz")
    kept = read_arrays(path)
    model, words = load_classifier(path)
    for part, right in (("test", 0.860), ("train", 0.857)):
        found = hardmax_logits(model, kept[f"ids_{part}"])
        np.testing.assert_allclose(found, kept[f"logit_hardmax_{part}"], atol=1e-12)
        labels = read_reviews(data_or_skip(f"imdb_{part}.csv.gz"), Selection("")).labels
        assert accuracy(found, labels) == pytest.approx(right, abs=5e-4)
    soft = softmax_logits(model, kept["ids_test"][:100])
    np.testing.assert_allclose(soft, kept["logit_softmax_test"][:100], atol=1e-9)
    found = forward_pass(model, kept["ids_test"])
    chosen, often = leader_words(model, found, np.ones(2000, bool), words)
    assert {"great", "awful", "waste"} <= set(chosen[:20].tolist())
    assert np.all(np.diff(often) <= 0)
    assert found.certain.all()


TINY = ReviewsConfig(train=Selection("train.csv"), test=Selection("test.csv"), dimensions=(2, 3), epochs=4, every=2,
    length=12, batch=8, depth=2)  # fmt: skip
GOOD, BAD, OTHER = ("great", "fine"), ("awful", "dull"), ("film", "plot", "scene", "camera", "music", "light")


def written(folder, monkeypatch):
    rng = np.random.default_rng(8)
    for name, count in (("train.csv", 30), ("test.csv", 20)):
        lines = ["text,label"]
        for k in range(count):
            words = [*rng.choice(OTHER, 4), rng.choice(GOOD if k % 2 else BAD)]
            lines.append(f"{' '.join(rng.permutation(words))},{k % 2}")
        (folder / name).write_text("\n".join(lines))
    monkeypatch.setenv("DYNSIM_DATA", str(folder))


@pytest.mark.slow
def test_the_experiment_ends_with_the_same_bytes_after_a_kill(tmp_path, monkeypatch):
    written(tmp_path, monkeypatch)
    small = replace(REVIEWS, quick=TINY)
    arrays = record(small, "quick", 0, tmp_path / "whole").arrays
    row, calls = hardmax.history_row, []

    def killed(*arguments, **options):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return row(*arguments, **options)

    monkeypatch.setattr(hardmax, "history_row", killed)
    with pytest.raises(KeyboardInterrupt):
        record(small, "quick", 0, tmp_path / "killed")
    monkeypatch.setattr(hardmax, "history_row", row)
    record(small, "quick", 0, tmp_path / "killed")
    files = [tmp_path / name / "hardmax/reviews/quick-0.npz" for name in ("whole", "killed")]
    assert files[0].read_bytes() == files[1].read_bytes()
    files[1].unlink()
    with pytest.raises(ValueError, match="parts of another"):
        record(replace(small, quick=replace(TINY, every=1)), "quick", 0, tmp_path / "killed")
    _check_record(arrays)


def _check_record(arrays):
    assert names_in(arrays, "alpha") == ["d=2", "d=3"]
    said = REVIEWS.summary(arrays)
    assert said.count("leaders by value:") == 2
    for name in ("d=2", "d=3"):
        history = np.stack([arrays[f"{name}: {column}"] for column in HISTORY])
        assert history.shape == (7, 5)
        np.testing.assert_array_equal(np.isnan(history).any(axis=0), [False, True, False, True, False])
        assert np.all(np.isfinite(history[0]))
        by_value, by_index = (arrays[f"{name}: leaders {kind}"] for kind in ("by value", "by index"))
        assert np.all(by_index <= by_value)
        assert np.any(by_index < by_value)  # the padding leads somewhere
        assert history[-1, -1] == table_1(arrays, name)[0] == by_value.mean()
        assert arrays[f"{name}: positive review states"].shape[:2] == (3, 12)
        # Twelve words of which seven are padding cannot be distinct.
        assert not arrays[f"{name}: distinct and nonzero"].any()


def test_calls_in_threads_are_told_when_one_fails():
    begun, told = threading.Event(), []

    def fails(stopped):
        assert begun.wait(10)
        raise ValueError("the first")

    def waits(stopped):
        begun.set()
        told.append(stopped.wait(5))

    with pytest.raises(ValueError, match="the first"):
        concurrently([fails, waits], 2)
    assert told == [True]
    assert concurrently([lambda stopped: 1, lambda stopped: 2], 1) == [1, 2]


def test_the_row_of_table_1_leaves_reviews_without_leaders_out_of_the_share():
    arrays = {"d=2: leaders by index": np.array([2, 0, 4]), "d=2: initial leaders by index": np.array([1, 0, 4])}
    np.testing.assert_allclose(table_1(arrays, "d=2", "leaders by index"), [2, np.std([2, 0, 4]), 0, 4, 0.75])
    none = {"d=2: leaders by index": np.zeros(2), "d=2: initial leaders by index": np.zeros(2)}
    assert np.isnan(table_1(none, "d=2", "leaders by index")[-1])


def test_words_of_the_test_set_can_be_left_out(tmp_path, monkeypatch):
    (tmp_path / "train.csv").write_text("text,label\nfine film,1\ndull film,0\n")
    (tmp_path / "test.csv").write_text("text,label\nsplendid the film,1\n")
    monkeypatch.setenv("DYNSIM_DATA", str(tmp_path))
    both = read_data(replace(TINY, cleaning=Cleaning()))
    train = read_data(replace(TINY, words_of="train"))
    assert "splendid" in both.words.numbers
    assert "splendid" not in train.words.numbers
    assert [int((part.test.ids > 0).sum()) for part in (both, train)] == [2, 1]
    assert both.sizes == (5, 4)
    monkeypatch.setenv("DYNSIM_DATA", str(tmp_path / "none"))
    with pytest.raises(ValueError, match="name a folder that holds `train.csv`"):
        read_data(TINY)


def test_a_decoder_is_drawn_uniformly_up_to_the_inverse_root_of_its_inputs():
    model = draw_classifier(random_key(0, "drawn"), words=30, d=400)
    size = np.abs(np.asarray(model.weight)) * np.sqrt(400)
    assert 0.98 < np.max(size) <= 1
    assert abs(np.mean(size) - 0.5) < 6 * np.sqrt(1 / 12 / 400)
    assert abs(np.var(np.asarray(model.embedding)) - 1) < 6 * np.sqrt(2 / 12_000)
    assert (float(model.alpha), model.depth, model.temperature) == (1.0, 8, 1e-3)
