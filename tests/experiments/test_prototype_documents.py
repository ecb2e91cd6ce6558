"""Read-outs of documents: pooling with padding, losses by their formulas, and what detaching level 2 changes."""

import gzip

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from analysis.experiments.prototypes import text
from analysis.experiments.prototypes.documents import DocumentCorpus, Documents, logistic_accuracy, read_corpus
from analysis.experiments.prototypes.epochs import Epochs
from analysis.experiments.prototypes.kmeans import KMeans
from analysis.experiments.prototypes.text import _measured, some_tokens, table
from dynsim.keys import random_key
from dynsim.networks.decoder.transformer import LayerNorm
from dynsim.networks.prototypes.documents import (
    DocumentClassifier,
    ProjectedReadout,
    TwoLevelReadout,
    classification_loss,
    draw_projected,
    two_level_loss,
    with_bank,
)
from dynsim.networks.prototypes.layer import PrototypeReadout

KEY = random_key(0, "documents")
T = jnp.asarray(0.7, jnp.float32)
TOKENS = jnp.asarray(np.random.default_rng(0).normal(size=(3, 4, 5)), jnp.float32)
SHARES = jnp.asarray([[0.25] * 4, [0.5, 0.5, 0, 0], [1.0, 0, 0, 0]], jnp.float32)


@pytest.fixture(scope="module")
def levels():
    draw = lambda key: (draw_projected(key, 5, 6, 3), draw_projected(key, 6, 4, 2))
    return eqx.filter_jit(draw)(KEY)


def test_a_reading_pools_the_words_of_each_document_and_no_padding(levels):
    first = levels[0]
    found = eqx.filter_jit(first)(TOKENS, SHARES, T)
    matrix, p = np.asarray(first.matrix), np.asarray(first.bank)
    norm = lambda x: (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + 1e-5)
    loss, variance, entropy = 0.0, 0.0, 0.0
    for row, count in enumerate((4, 2, 1)):
        z = np.asarray(TOKENS)[row, :count] @ matrix.T
        d = np.sum((z[:, None] - p) ** 2, axis=2)
        q = np.exp(-d / float(T)) / np.sum(np.exp(-d / float(T)), axis=1, keepdims=True)
        mu = q @ p
        assert np.max(np.abs(np.asarray(found.assignments)[row] - np.mean(q, axis=0))) < 1e-5
        assert np.max(np.abs(np.asarray(found.centroids)[row] - np.mean(mu, axis=0))) < 1e-5
        output = norm(z + mu @ np.asarray(first.layer.output).T)
        assert np.max(np.abs(np.asarray(found.output)[row] - np.mean(output, axis=0))) < 1e-5
        loss += np.sum(q * d) / count / 3
        variance += np.sum(q * np.sum((p - mu[:, None]) ** 2, axis=2)) / count / 3
        entropy -= np.sum(q * np.log(q)) / count / 3
    assert abs(float(found.loss) - loss) < 1e-4
    assert abs(float(found.variance) - variance) < 1e-4
    assert abs(float(found.entropy) - entropy) < 1e-5


def test_the_second_level_reads_centroids_of_documents_and_both_losses_have_a_barrier(levels):
    first, second = levels
    evaluated = eqx.filter_jit(lambda model: (model(TOKENS, SHARES, T), two_level_loss(model, TOKENS, SHARES, T, 0.5)))
    (below, above), total = evaluated(TwoLevelReadout(first, second, detached=True))
    p, z = np.asarray(second.bank), np.asarray(below.centroids) @ np.asarray(second.matrix).T
    d = np.sum((z[:, None] - p) ** 2, axis=2)
    q = np.exp(-d / float(T)) / np.sum(np.exp(-d / float(T)), axis=1, keepdims=True)
    np.testing.assert_allclose(above.centroids, q @ p, rtol=1e-4, atol=1e-5)
    assert abs(float(above.loss) - np.mean(np.sum(q * d, axis=1))) < 1e-4
    apart = lambda p: np.sum((p[:, None] - p) ** 2, axis=2)[np.triu_indices(len(p), 1)]
    barriers = sum(0.5 * np.sum(1 / apart(np.asarray(level.bank))) for level in levels)
    np.testing.assert_allclose(total, below.loss + above.loss + barriers, rtol=1e-5)


def test_a_projection_is_drawn_with_the_variance_of_one_over_its_inputs():
    matrix = np.asarray(draw_projected(KEY, 400, 50, 3).matrix)
    assert abs(400 * np.var(matrix) - 1) < 6 * np.sqrt(2 / matrix.size)


def test_measures_of_a_test_set_count_documents(levels):
    head = np.random.default_rng(1).normal(size=(3, 6)).astype(np.float32)
    model = DocumentClassifier(levels[0], jnp.asarray(head), jnp.zeros(3, jnp.float32))
    labels = jnp.array([2, 0, 2])
    reading, found = eqx.filter_jit(
        lambda m: (m.readout(TOKENS, SHARES, T), _measured(m, (TOKENS, SHARES, labels), T))
    )(model)
    likeliest = np.argmax(np.asarray(reading.centroids) @ head.T, axis=1)
    assert found["classified"] == pytest.approx(np.mean(likeliest == np.asarray(labels)))
    first = np.argmax(np.asarray(reading.assignments), axis=1)
    assert np.asarray(found["tables"]).sum() == 3
    assert all(found["tables"][label, k] > 0 for label, k in zip(labels.tolist(), first, strict=True))
    p = np.asarray(levels[0].bank)
    assert found["separation"] == pytest.approx(np.min(np.sum((p[[0, 0, 1]] - p[[1, 2, 2]]) ** 2, axis=1)), rel=1e-4)
    assert found["utilisation"] == pytest.approx(np.mean(np.asarray(reading.assignments).mean(axis=0) > 0.01))
    assert float(found["entropy"]) == pytest.approx(float(reading.entropy), rel=1e-5)


def test_words_on_which_k_means_starts_are_drawn_without_padding():
    documents = Documents(np.asarray(TOKENS), np.asarray(SHARES), np.zeros(3, int))
    found = np.asarray(some_tokens(documents, KEY))
    real = np.asarray(TOKENS)[np.asarray(SHARES) > 0]
    np.testing.assert_array_equal(np.sort(found, axis=0), np.sort(real, axis=0))


def two_kinds(count=6):
    """Build documents of one word each, of two kinds far apart, which are their labels."""
    labels = np.arange(count) % 2
    at = np.array([[1.0, 0, 0, 0, 0], [0, 3.0, 0, 0, 0]], np.float32)[labels]
    words = at + np.random.default_rng(2).normal(size=(count, 5)).astype(np.float32) / 100
    return Documents(words[:, None], np.ones((count, 1), np.float32), labels)


@pytest.fixture
def first_rows(monkeypatch):
    """The rows that k-means is given; its centroids are the first ones."""
    given = []
    monkeypatch.setattr(
        text, "kmeans", lambda key, z, count: given.append(z) or KMeans(z[:count], jnp.arange(len(z)), jnp.zeros(()))
    )
    return given


def test_prototypes_start_on_k_means_of_projected_words_which_is_scored_itself(levels, monkeypatch, first_rows):
    monkeypatch.setattr(text, "draw_projected", lambda *_, **__: levels[0])
    documents, task = two_kinds(), text.TextTask("one", DocumentCorpus("a", "b", classes=4), 3, True, "tokens")
    model = text._start(text.TextConfig((task,), outputs=6), task, documents, KEY)
    z = np.asarray(levels[0].embed(jnp.asarray(documents.tokens[:, 0])))
    np.testing.assert_allclose(np.sort(first_rows[0], axis=0), np.sort(z, axis=0), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(model.readout.bank, first_rows[0][:3])
    assert (model.head.shape, model.from_centroids) == ((4, 6), False)
    test = two_kinds(8)._replace(labels=np.array([0, 1, 0, 1, 0, 1, 1, 1]))
    found = text.kmeans_scores(documents, test, 2, 2, [KEY, KEY])
    assert found[:, 0].tolist() == [7 / 8, 7 / 8]
    np.testing.assert_array_equal(first_rows[1], documents.means)


def test_each_task_is_run_for_each_seed_on_what_it_reads_and_scored_after_each_epoch(
    tmp_path, monkeypatch, levels, first_rows
):
    model = DocumentClassifier(levels[0], jnp.zeros((2, 6)), jnp.zeros(2))
    tables, seen, good = np.array([[[1, 1], [1, 1]], [[3, 0], [0, 1]]]), [], two_kinds()

    def run(config, task, train, test, key, folder, advance):
        seen.append((task.name, train.tokens.shape[1], str(folder.relative_to(tmp_path))))
        return Epochs({"tables": tables, "classified": np.zeros(2), "loss": np.arange(2.0)}, np.zeros(4), model)

    monkeypatch.setattr(text, "_run", run)
    monkeypatch.setattr(text, "logistic_accuracy", lambda train, test, classes: len(train.labels) / classes)
    monkeypatch.setattr(text, "read_corpus", lambda corpus: (documents, documents))
    documents = Documents(np.repeat(good.tokens, 2, axis=1), np.full((6, 2), 0.5, np.float32), good.labels)
    tasks = [
        text.TextTask(name, DocumentCorpus("a", "b"), 2, name == "one", "tokens" if name == "one" else "mean")
        for name in ("one", "two")
    ]
    found = text.run_text(text.TextConfig(tuple(tasks), seeds=2, epochs=1), KEY, tmp_path)
    assert seen == [("one", 2, "one/0"), ("one", 2, "one/1"), ("two", 1, "two/0"), ("two", 1, "two/1")]
    assert "one: classified" in found
    assert "two: classified" not in found
    assert found["two: loss"].tolist() == [[0.0, 1.0]] * 2
    assert found["one: scores"][..., 0].tolist() == [[0.5, 1.0]] * 2
    assert found["one: codebook"].shape == (2, 3, 6)
    assert found["one: k-means"][:, 0].tolist() == [1.0, 1.0]
    assert float(found["two: logistic regression"]) == 3.0
    assert len(first_rows) == 4


def by_first(model):
    gradient = eqx.filter_jit(eqx.filter_grad(lambda model: two_level_loss(model, TOKENS, SHARES, T, 0.5)))
    return gradient(model).first


@pytest.mark.slow
def test_only_without_detaching_the_second_level_moves_the_first(levels):
    attached, detached = (by_first(TwoLevelReadout(levels[0], levels[1], detached)) for detached in (False, True))
    other = with_bank(levels[1], levels[1].bank + 1)
    moved = [by_first(TwoLevelReadout(levels[0], other, detached)) for detached in (False, True)]
    assert np.max(np.abs(np.asarray(moved[0].bank) - np.asarray(attached.bank))) > 1e-2
    assert np.max(np.abs(np.asarray(moved[0].matrix) - np.asarray(attached.matrix))) > 1e-2
    assert np.array_equal(moved[1].bank, detached.bank)
    assert np.array_equal(moved[1].matrix, detached.matrix)


def test_the_classifier_reads_centroids_and_adds_the_weighted_loss(levels):
    head = np.arange(12, dtype=np.float32).reshape(2, 6) / 6
    model = DocumentClassifier(levels[0], jnp.asarray(head), jnp.asarray([0.5, -0.5], jnp.float32))
    labels = jnp.array([0, 1, 1])
    losses = lambda model: [classification_loss(model, TOKENS, SHARES, labels, T, *given) for given in ((0.3,), ())]
    parts = eqx.filter_jit(lambda model: (model.readout(TOKENS, SHARES, T), losses(model)))
    reading, (found, by_default) = parts(model)
    logits = np.asarray(reading.centroids) @ head.T + np.array([0.5, -0.5])
    entropy = np.mean([np.log(np.sum(np.exp(row))) - row[label] for row, label in zip(logits, (0, 1, 1), strict=True)])
    assert abs(float(found) - entropy - 0.3 * float(reading.loss)) < 1e-5
    assert abs(float(by_default) - entropy - 0.1 * float(reading.loss)) < 1e-5
    other = DocumentClassifier(levels[0], model.head, model.head_bias, from_centroids=False)
    assert np.max(np.abs(np.asarray(other.logits(reading)) - logits)) > 0.1


def test_a_layer_with_several_heads_is_refused():
    norm = LayerNorm(jnp.ones(6), jnp.zeros(6))
    layer = PrototypeReadout(np.zeros((2, 3, 3)), np.zeros((2, 3, 6)), np.zeros((6, 6)), norm)
    with pytest.raises(ValueError, match="`layer` must have one head, but has 2"):
        ProjectedReadout(jnp.zeros((6, 5), jnp.float32), jnp.zeros(6, jnp.float32), layer)


def test_tables_count_the_largest_assignments():
    q = jnp.asarray([[0.9, 0.1], [0.2, 0.8], [0.3, 0.7]])
    assert np.array_equal(table(q, jnp.array([2, 0, 2]), 3), [[0, 1], [0, 0], [1, 1]])


def corpus(folder, monkeypatch, labels: str = "10"):
    vec = np.array([[1.0, 0], [-1, 0], [0, 3]])
    np.savez(folder / "vectors.npz", word=np.array([b"good", b"bad", b"film"]), vec=vec)
    for name in ("a.csv.gz", "b.csv.gz"):
        with gzip.open(folder / name, "wt", encoding="utf-8") as file:
            file.write(f"text,label\nGOOD unheard film good,{labels[0]}\nbad,{labels[1]}\n")
    monkeypatch.setenv("DYNSIM_DATA", str(folder))
    return read_corpus(DocumentCorpus("a.csv.gz", "b.csv.gz", length=2), "vectors.npz")


def test_documents_are_standardised_vectors_of_known_words(tmp_path, monkeypatch):
    train, _ = corpus(tmp_path, monkeypatch)
    assert np.array_equal(train.shares, np.array([[0.5, 0.5], [1, 0]], np.float32))
    assert np.array_equal(train.labels, [1, 0])
    known = np.concatenate([train.tokens[0], train.tokens[1, :1]])
    assert np.max(np.abs(known.mean(axis=0))) < 1e-6
    assert np.max(np.abs(known.std(axis=0) - 1)) < 1e-6
    assert np.allclose(train.pooled().tokens[0, 0], (known[0] + known[1]) / 2)


def test_one_file_is_split_thinned_evenly_and_read_word_for_word(tmp_path, monkeypatch):
    words, vec = ["the", "a", "film", "fine", "never"], np.array([[1.0, 0], [0, 2], [3, 1], [2, 5], [90, -70]])
    np.savez(tmp_path / "vectors.npz", word=np.array(words, "S"), vec=vec)
    train = ["The film", "fine", "a film a", "fine", "fine film"]  # of five the first, third and last
    test = ["unheard", "Fine", "never", "film", "the a"]
    with gzip.open(tmp_path / "all.csv.gz", "wt", encoding="utf-8") as file:
        file.write("text,label,split\n")
        for k, (a, b) in enumerate(zip(train, test, strict=True)):
            file.write(f"{a},{k % 2},train\n{b},{(k + 1) % 2},test\n")
    monkeypatch.setenv("DYNSIM_DATA", str(tmp_path))
    split = DocumentCorpus("all.csv.gz", "all.csv.gz", by_split=True, length=4, limit=3)
    first, second = read_corpus(split, "vectors.npz")
    used = vec[[0, 2, 1, 2, 1, 3, 2]]  # the film, a film a, fine film
    scaled = (vec - used.mean(axis=0)) / used.std(axis=0)
    np.testing.assert_allclose(
        first.means, [scaled[[0, 2]].mean(0), scaled[[1, 2, 1]].mean(0), scaled[[3, 2]].mean(0)], rtol=1e-5, atol=1e-6
    )
    np.testing.assert_allclose(second.means, [[0, 0], scaled[4], scaled[[0, 1]].mean(0)], rtol=1e-5, atol=1e-6)
    assert (first.labels.tolist(), second.labels.tolist()) == ([0, 0, 0], [1, 1, 1])
    np.testing.assert_array_equal(second.shares.sum(axis=1), [1, 1, 1])  # a document without a word is a zero vector
    np.testing.assert_allclose(first.pooled().means, first.means)


def test_labels_beyond_the_classes_are_refused(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="`classes` must be above 7, a label in `a.csv.gz`, but is 2"):
        corpus(tmp_path, monkeypatch, "17")


def test_logistic_regression_separates_what_a_line_separates():
    rng = np.random.default_rng(0)
    labels = np.arange(60) % 3
    x = np.eye(3, dtype=np.float32)[labels] * 4 + rng.normal(size=(60, 3)).astype(np.float32) / 4
    documents = Documents(x[:, None], np.ones((60, 1), np.float32), labels)
    assert logistic_accuracy(documents, documents, 3) == 1
    shuffled = documents._replace(labels=np.roll(labels, 1))
    assert logistic_accuracy(documents, shuffled, 3) == 0
