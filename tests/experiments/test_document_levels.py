"""The experiment with two levels of prototypes on documents: its parts by hand, without a training."""

from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from analysis.experiments.prototypes import hierarchy
from analysis.experiments.prototypes.documents import Documents
from analysis.experiments.prototypes.epochs import Epochs
from analysis.experiments.prototypes.hierarchy import PAPER, Stack
from analysis.experiments.prototypes.kmeans import KMeans
from dynsim.keys import random_key
from dynsim.networks.prototypes.documents import TwoLevelReadout, draw_projected

KEY = random_key(0, "document levels")
TOKENS = np.random.default_rng(0).normal(size=(5, 4, 3)).astype(np.float32)
SHARES = np.array([[0.25] * 4, [0.5, 0.5, 0, 0], [1, 0, 0, 0], [0.5, 0.5, 0, 0], [0.25] * 4], np.float32)
TEST = Documents(TOKENS, SHARES, np.array([0, 1, 2, 1, 0]))
CONFIG = replace(
    PAPER, stacks=(Stack("one", True, 0.7, 0.25),), seeds=2, epochs=3, batch=2, prototype_rate=4e-3,
    temperature=1.5, least_temperature=0.4, time_constant=2.0, mapped=3,
)  # fmt: skip


@pytest.fixture(scope="module")
def model():
    draw = lambda key: (draw_projected(key, 3, 6, 4), draw_projected(key, 6, 2, 3))
    return TwoLevelReadout(*eqx.filter_jit(draw)(KEY), detached=True)


def level(z, p, T):
    """Soft centroids, assignments and entropy of one level, written out."""
    q = np.exp(-np.sum((z[:, None] - p) ** 2, axis=2) / T)
    q /= q.sum(axis=1, keepdims=True)
    return q @ p, q, -np.mean(np.sum(q * np.log(q), axis=1))


def by_hand(model, T):
    """What level 2 embeds, its assignments, and its entropy."""
    first, second = (np.asarray(part.matrix, float) for part in (model.first, model.second))
    z = TOKENS.astype(float) @ first.T
    pooled = [level(row, np.asarray(model.first.bank, float), T)[0] for row in z]
    read = np.einsum("nl,nld->nd", SHARES, np.array(pooled)) @ second.T
    return read, *level(read, np.asarray(model.second.bank, float), T)[1:]


def apart(p):
    return min(np.sum((p[i] - p[j]) ** 2) for i in range(len(p)) for j in range(i))


def test_tables_are_of_the_second_level_and_measures_of_both(model):
    labels = jnp.asarray(TEST.labels)
    T = jnp.asarray(0.9, jnp.float32)
    found = hierarchy._measured(model, (jnp.asarray(TOKENS), jnp.asarray(SHARES), labels), T, 3)
    _, q, entropy = by_hand(model, 0.9)
    table = np.zeros((3, 3), int)
    np.add.at(table, (TEST.labels, np.argmax(q, axis=1)), 1)
    np.testing.assert_array_equal(found["tables"], table)
    assert float(found["entropy"][1]) == pytest.approx(entropy, rel=1e-4)
    banks = [np.asarray(part.bank, float) for part in (model.first, model.second)]
    np.testing.assert_allclose(found["separation"], [apart(p) for p in banks], rtol=1e-4)


def test_some_documents_are_kept_as_the_second_level_embeds_them_at_the_last_temperature(model):
    kept = hierarchy._kept(CONFIG, TEST, model)
    read, q, _ = by_hand(model, 1.5 * np.exp(-2 / 2.0))  # two epochs after the first
    np.testing.assert_allclose(kept["mapped"], read[[0, 2, 4]], rtol=1e-3, atol=1e-5)
    np.testing.assert_array_equal(kept["mapped assignments"], np.argmax(q, axis=1)[[0, 2, 4]])
    assert kept["mapped labels"].tolist() == [0, 2, 0]


def test_temperatures_fall_from_two_to_three_tenths_with_the_time_constant():
    found = [float(hierarchy._annealing(PAPER)(jnp.asarray(float(epoch)))) for epoch in (0, 20, 1000)]
    assert found == pytest.approx([2.0, 2 / np.e, 0.3])


def test_a_stack_is_trained_with_its_barrier_and_both_rates(tmp_path, monkeypatch):
    given: list[Any] = []
    done = Epochs({}, np.zeros(1), None)
    monkeypatch.setattr(hierarchy, "_start", lambda *given: "start")
    monkeypatch.setattr(hierarchy, "two_rates", lambda *rates: rates)
    monkeypatch.setattr(hierarchy, "train_epochs", lambda *args, **options: given.extend([args, options]) or done)
    assert hierarchy._run(CONFIG, CONFIG.stacks[0], TEST, TEST, KEY, tmp_path, lambda count: None) is done
    (_, loss, batches, *_), options = given
    assert loss is hierarchy._loss(0.7)
    assert (batches.size, options["epochs"]) == (2, 3)
    assert options["optimiser"] == pytest.approx((4e-3, 1e-3))  # eta_P, and eta_theta a quarter of it
    assert float(batches.at(1)) == pytest.approx(1.5 * np.exp(-1 / 2), rel=1e-6)


def test_both_levels_start_on_k_means_the_second_one_of_what_the_first_reads(model, monkeypatch):
    parts, asked = iter([model.first, model.second]), []
    monkeypatch.setattr(hierarchy, "draw_projected", lambda key, *sizes, gradient: asked.append(sizes) or next(parts))
    monkeypatch.setattr(hierarchy, "some_tokens", lambda documents, key: jnp.asarray(documents.tokens[:, 0]))
    monkeypatch.setattr(hierarchy, "kmeans", lambda key, z, count: KMeans(z[:count], jnp.zeros(5, int), jnp.zeros(())))
    start = hierarchy._start(replace(CONFIG, counts=(4, 3), outputs=(6, 2)), CONFIG.stacks[0], TEST, KEY)
    assert (asked, start.detached) == ([(3, 6, 4), (6, 2, 3)], True)
    first = TOKENS[:4, 0] @ np.asarray(model.first.matrix).T
    np.testing.assert_allclose(start.first.bank, first, rtol=1e-4, atol=1e-5)
    moved = TwoLevelReadout(start.first, model.second, detached=True)
    np.testing.assert_allclose(start.second.bank, by_hand(moved, 1.5)[0][:3], rtol=1e-3, atol=1e-5)


def test_records_have_the_scores_of_every_epoch_and_the_chance_of_the_last(tmp_path, monkeypatch):
    perfect, mixed = np.array([[3, 0], [0, 3]]), np.array([[3, 0], [3, 0]])
    asked: list[Any] = []
    run = lambda config, stack, train, test, key, folder, advance: Epochs(
        {"tables": np.stack([mixed, perfect]), "entropy": np.ones((2, 2))}, np.zeros(1), None
    )
    monkeypatch.setattr(hierarchy, "read_corpus", lambda corpus: (TEST, TEST))
    monkeypatch.setattr(hierarchy, "kmeans_scores", lambda *given: asked.append(given[2]) or np.ones((2, 3)))
    monkeypatch.setattr(hierarchy, "_run", run)
    monkeypatch.setattr(hierarchy, "_kept", lambda *given: {})
    monkeypatch.setattr(hierarchy, "chance_band", lambda key, table: asked.append(table.tolist()) or (0.5, 0.4, 0.6))
    found = hierarchy.run_hierarchy(replace(CONFIG, counts=(7, 2)), jax.random.key(0), tmp_path)
    assert asked == [2, perfect.tolist()]  # k-means with the number of prototypes of level 2
    assert found["one: scores"].shape == (2, 2, 3)
    np.testing.assert_allclose(found["one: scores"][0], [[0.5, 0, 0], [1, 1, 1]], atol=1e-12)


def test_the_summary_has_final_and_best_epochs_and_both_levels():
    scores = np.array(
        [[[0.1, 0.2, 0.3], [0.9, 0.4, 0.3], [0.5, 0.6, 0.7]], [[0.1, 0.2, 0.3], [0.1, 0.4, 0.3], [0.7, 0.6, 0.7]]]
    )
    rows = lambda low, high: np.tile(np.array([[low, high], [2 * low, 2 * high]]), (2, 1, 1))
    arrays = {
        "k-means": np.full((2, 3), 0.25),
        "one: scores": scores,
        "one: chance": np.array([0.1, 0.05, 0.15]),
        "one: entropy": rows(1.0, 2.0),
        "one: separation": rows(3.0, 5.0),
        "one: variance": rows(0.5, 0.25),
    }
    assert hierarchy.summarise_hierarchy(arrays).splitlines() == [
        "k-means on mean word vectors: ACC, NMI, ARI 0.250 +- 0.000, 0.250 +- 0.000, 0.250 +- 0.000",
        "one: 0.600 +- 0.100, 0.600 +- 0.000, 0.700 +- 0.000 in the final epoch",
        "  0.800 +- 0.100, 0.600 +- 0.000, 0.700 +- 0.000 in the best epoch of each score, chosen on the test set",
        "  ACC by chance 0.100 (0.050 to 0.150)",
        "  level 1: H from 1.000 to 2.000, S from 3 to 6, V 1",
        "  level 2: H from 2.000 to 4.000, S from 5 to 10, V 0.5",
    ]


def test_the_settings_of_table_6_are_what_their_names_say():
    assert [(one.name.startswith("detached"), one.barrier, one.ratio) for one in PAPER.stacks] == [
        (one.detached, 1.5 if "lambda 1.5" in one.name else 0.5, 0.05 if "ratio .05" in one.name else 0.1)
        for one in PAPER.stacks
    ]
    assert (PAPER.counts, PAPER.outputs, PAPER.epochs) == ((32, 20), (128, 64), 15)
    assert (PAPER.temperature, PAPER.least_temperature) == (2.0, 0.3)
