"""Scores of clusterings and k-means: cases by hand, all matchings, scikit-learn, chance, bad input."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from analysis.experiments.prototypes.kmeans import _spread_out, kmeans, nearest, spread
from analysis.experiments.prototypes.scores import (
    chance_band,
    contingency,
    matched_accuracy,
    matching,
    mutual_information,
    rand_index,
    scores,
)
from dynsim.keys import random_key

KEY = random_key(3, "clustering")


def _partitions(k, count=60, classes=4, clusters=5):
    rng = np.random.default_rng(k)
    labels = rng.integers(0, classes, count)
    return labels, np.where(rng.random(count) < 0.5, labels, rng.integers(0, clusters, count))


@pytest.mark.parametrize(("classes", "clusters"), [(4, 5), (5, 3), (3, 3)])
def test_the_accuracy_is_the_best_over_all_matchings(classes, clusters):
    table = np.random.default_rng(classes).integers(0, 20, (classes, clusters))
    wide = table if classes <= clusters else table.T
    best = max(
        sum(wide[row, column] for row, column in enumerate(columns))
        for columns in itertools.permutations(range(wide.shape[1]), wide.shape[0])
    )
    assert matched_accuracy(table) == best / table.sum()
    found = matching(table)
    assert sum(table[k, j] for j, k in enumerate(found) if k >= 0) == best
    assert sorted(found[found >= 0]) == sorted(set(found[found >= 0]))


@pytest.mark.parametrize("k", range(5))
def test_information_and_rand_index_are_those_of_scikit_learn(k):
    metrics = pytest.importorskip("sklearn.metrics")
    labels, clusters = _partitions(k)
    table = contingency(labels, clusters, 4, 5)
    assert mutual_information(table) == pytest.approx(metrics.normalized_mutual_info_score(labels, clusters), abs=1e-12)
    assert rand_index(table) == pytest.approx(metrics.adjusted_rand_score(labels, clusters), abs=1e-12)


def test_scores_of_cases_by_hand():
    np.testing.assert_allclose(scores(np.array([[0, 3], [3, 0]])), [1, 1, 1], atol=1e-15)
    np.testing.assert_allclose(scores(np.array([[2, 2], [2, 2]])), [0.5, 0, -1 / 6], atol=1e-15)
    assert contingency([0, 1, 1], [2, 0, 2], 2, 3).tolist() == [[0, 0, 1], [1, 0, 1]]
    assert scores(np.array([[4, 0], [0, 0]])).tolist() == [1, 1, 1]
    assert matching(np.array([[5, 3, 0], [4, 0, 0]])).tolist() == [1, 0, -1]


def test_a_merged_and_a_split_class_have_the_scores_of_that():
    """Two classes merged and cut across: half of their points are matched; three quarters of four equal classes."""
    table = np.array([[50, 50, 0, 0], [50, 50, 0, 0], [0, 0, 100, 0], [0, 0, 0, 100]])
    by_chance = 19_800**2 / 79_800  # pairs of a class, pairs of a cluster, all pairs
    np.testing.assert_allclose(scores(table), [0.75, 0.75, (14_800 - by_chance) / (19_800 - by_chance)], atol=1e-12)


def test_the_chance_band_holds_what_labels_in_random_order_give():
    labels, clusters = _partitions(1, 400)
    table = contingency(labels, clusters, 4, 5)
    band = chance_band(KEY, table)
    assert 0.2 < band.low < band.mean < band.high < matched_accuracy(table)
    order = np.random.default_rng(9).permutation(labels)
    assert band.low - 0.03 < matched_accuracy(contingency(order, clusters, 4, 5)) < band.high + 0.03
    assert chance_band(KEY, table) == band


def test_the_chance_band_of_two_halves_is_that_of_the_hypergeometric_distribution():
    band = chance_band(KEY, np.array([[9, 8], [8, 9]]), orders=4000)
    matched = scipy.stats.hypergeom(34, 17, 17).pmf(np.arange(18)), np.maximum(np.arange(18), 17 - np.arange(18)) / 17
    assert (band.low, band.high) == (9 / 17, 12 / 17)  # where 96.2 and 99.5 per cent are at most 11 and 12 of 17
    assert band.mean == pytest.approx(float(np.sum(matched[0] * matched[1])), abs=0.005)


def test_k_means_starts_at_points_drawn_by_their_squared_distance():
    z = jnp.asarray([[0.0], [1.0], [3.0]])
    draw = jax.jit(jax.vmap(lambda key: _spread_out(key, z, 2)[:, 0]))
    pairs = np.asarray(draw(jax.random.split(KEY, 9000))).astype(int)
    expected = {(0, 1): 0.1, (0, 3): 0.9, (1, 0): 0.2, (1, 3): 0.8, (3, 0): 9 / 13, (3, 1): 4 / 13}
    for pair, share in expected.items():
        assert abs(np.mean(np.all(pairs == pair, axis=1)) - share / 3) < 6 * np.sqrt(share / 3 / 9000)


def test_k_means_finds_clusters_that_are_far_apart_and_a_fixed_point():
    centres = 10 * np.eye(3)
    z = jnp.asarray(np.repeat(centres, 5, axis=0) + 0.1 * np.asarray(jax.random.normal(KEY, (15, 3))))
    found = kmeans(KEY, z, 3)
    assert (
        np.sort(scores(contingency(np.repeat(np.arange(3), 5), np.asarray(found.clusters), 3, 3))).tolist() == [1] * 3
    )
    members = np.asarray(found.clusters)
    means = np.stack([np.asarray(z)[members == k].mean(axis=0) for k in range(3)])
    np.testing.assert_allclose(found.centroids, means, atol=1e-13)
    inertia = sum(float(spread(z[members == k])) * 5 for k in range(3))
    assert float(found.inertia) == pytest.approx(inertia, rel=1e-12)


@pytest.mark.slow
def test_more_restarts_are_no_worse_and_a_key_gives_one_result():
    z = jax.random.normal(KEY, (60, 2))
    one, many = (kmeans(KEY, z, 7, restarts=count) for count in (1, 30))
    assert float(many.inertia) < float(one.inertia)
    np.testing.assert_array_equal(kmeans(KEY, z, 7, restarts=1).centroids, one.centroids)


@pytest.mark.slow
def test_k_means_takes_coincident_points_and_as_many_clusters_as_points():
    z = jnp.zeros((4, 2))
    assert float(kmeans(KEY, z, 3).inertia) == 0.0
    z = jnp.asarray([[0.0], [1.0], [5.0]])
    assert float(kmeans(KEY, z, 3).inertia) == 0.0
    assert nearest(z, jnp.asarray([[0.5], [4.0]])).tolist() == [0, 0, 1]


BAD = [
    (lambda: contingency([0, 1], [0], 2, 2), "Argument `clusters` must hold 2 numbers to match `labels`, but holds 1."),
    (lambda: contingency([0, 2], [0, 1], 2, 2), "Argument `labels` must hold numbers from 0 to 1, but has 2."),
    (lambda: contingency([0, 1], [0, -1], 2, 2), "Argument `clusters` must hold numbers from 0 to 1, but has -1."),
    (lambda: contingency([0.5], [0], 1, 1), "Argument `labels` must hold one integer for each point, but has shape"),
    (lambda: scores([[1, 0]]), "Argument `table` must hold the counts of at least two points in shape"),
    (lambda: kmeans(KEY, jnp.zeros((2, 2)), 3), "Argument `num_clusters` must be at most 2, the number of points, but"),
    (lambda: kmeans(KEY, jnp.zeros((0, 2)), 1), "Argument `z` must have shape (n, d) with n and d at least 1, but"),
    (lambda: kmeans(KEY, jnp.zeros((2, 2)), 1, restarts=0), "Argument `restarts` must be"),
]


@pytest.mark.parametrize(("act", "says"), BAD, ids=[says for _, says in BAD])
def test_bad_input_is_one_sentence(act, says):
    with pytest.raises(ValueError, match="Argument") as error:
        act()
    assert str(error.value).startswith(says)
