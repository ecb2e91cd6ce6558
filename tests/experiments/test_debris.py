"""The experiment on orbital debris: orbits by hand, the same bytes when resumed, where errors are, bad input."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.experiments import record
from analysis.experiments.prototypes import debris
from analysis.experiments.prototypes.debris import (
    DEBRIS,
    PAPER,
    QUICK,
    best_epoch,
    confusions,
    error_share,
    summarise_debris,
)
from analysis.experiments.prototypes.histories import history
from analysis.experiments.prototypes.kmeans import KMeans
from analysis.experiments.prototypes.orbits import FEATURES, REGIMES, Catalogue, draw_objects, period, standardised
from analysis.experiments.prototypes.scores import matched_accuracy
from dynsim.errors import Outcome
from dynsim.integrators import Stats
from dynsim.keys import random_key
from dynsim.simulation.trajectory import Trajectory
from dynsim.systems.prototypes.assignments import competitive_loss, prototype_variance, separation
from dynsim.systems.prototypes.descent import DescentMap
from dynsim.systems.prototypes.flow import PrototypeFlow
from dynsim.systems.prototypes.temperatures import Annealing

KEY = random_key(5, "debris")
_QUICK = replace(QUICK, catalogue=Catalogue(30), descent=replace(QUICK.descent, epochs=20))
SMALL = replace(
    _QUICK, changes=(("LEO at 98 degrees", replace(_QUICK, catalogue=Catalogue(30, inclinations=(98, 55, 0, 63.4)))),)
)


def test_a_geostationary_orbit_takes_a_sidereal_day_and_a_molniya_orbit_half():
    assert period(np.array([42_164.0]))[0] == pytest.approx(86_164, abs=2)
    assert period(np.array([26_560.0]))[0] == pytest.approx(43_082, rel=1e-3)


def test_features_are_those_of_the_regimes_with_their_noise():
    objects = draw_objects(KEY, Catalogue(4000))
    at = lambda feature, regime: objects.features[objects.labels == REGIMES.index(regime), FEATURES.index(feature)]
    assert np.mean(at("a / a_max", "LEO")) == pytest.approx(7200 / 42_164, abs=3e-3)
    assert np.mean(at("T_orb / T_max", "HEO")) == pytest.approx((26_560 / 42_164) ** 1.5, abs=3e-3)
    assert np.mean(at("e", "HEO")) == pytest.approx(0.74, abs=3e-3)
    assert np.mean(at("cos i", "GEO")) == pytest.approx(1, abs=3e-3)
    assert np.mean(at("sin i", "HEO")) == pytest.approx(np.sin(np.radians(63.4)), abs=3e-3)
    assert np.std(at("sin Omega", "MEO")) == pytest.approx(np.sqrt(0.5), abs=0.02)
    assert np.std(at("RCS / RCS_max", "GEO")) == pytest.approx(np.sqrt(1 / 12), abs=0.02)
    for k, regime in enumerate(REGIMES):
        assert np.std(at("e", regime)) == pytest.approx(objects.deviations[k], rel=0.05)
    assert np.all((objects.deviations >= 0.02) & (objects.deviations <= 0.04))


@pytest.mark.parametrize("name", [name for name, _ in PAPER.changes])
def test_every_change_changes_one_choice(name):
    case = dict(PAPER.changes)[name]
    different = [
        field
        for mine, theirs in ((case.catalogue, PAPER.catalogue), (case.descent, PAPER.descent))
        for field in vars(theirs)
        if getattr(mine, field) != getattr(theirs, field)
    ]
    assert len(different) == 1
    objects = draw_objects(KEY, replace(case.catalogue, objects=50))
    assert objects.features.shape == (200, 7)
    assert np.all(np.isfinite(standardised(objects.features)))


def test_elements_with_noise_stay_consistent():
    objects = draw_objects(KEY, Catalogue(100, noise_on="elements", largest="data"))
    x = dict(zip(FEATURES, objects.features.T, strict=True))
    np.testing.assert_allclose(x["sin i"] ** 2 + x["cos i"] ** 2, 1, atol=1e-12)
    np.testing.assert_allclose(x["T_orb / T_max"], x["a / a_max"] ** 1.5, rtol=1e-12)
    assert np.max(x["a / a_max"]) == 1


def test_standardised_columns_have_mean_zero_and_variance_one():
    x = standardised(np.column_stack([np.arange(5.0), np.ones(5)]))
    np.testing.assert_allclose(x[:, 0], (np.arange(5) - 2) / np.sqrt(2), rtol=1e-14)
    assert np.all(x[:, 1] == 0)


def path_of(system, states):
    return Trajectory(
        np.arange(len(states)), jnp.asarray(states), system, Stats(True, Outcome.FINISHED.value, 1, 0, 0.0, 1.0)
    )


def test_the_measures_along_a_descent_are_those_of_its_states():
    rng = np.random.default_rng(0)
    z, p = rng.normal(size=(12, 2)), rng.normal(size=(7, 3, 2))
    flow = PrototypeFlow(z, Annealing(2.0, 0.3, 4.0), rate=0.05)
    path = path_of(DescentMap(flow), p)
    found = history(path, np.arange(12) % 4, 4, every=3)
    assert found.separation.shape == (7,)
    assert found.variance.shape == (3,)
    T = flow.temperature(jnp.asarray(3.0))
    np.testing.assert_allclose(found.variance[1], prototype_variance(z, path.ys[3], T) / 12, rtol=1e-12)
    np.testing.assert_allclose(found.loss[1], competitive_loss(z, path.ys[3], T) / 12, rtol=1e-12)
    np.testing.assert_allclose(found.separation[4], separation(path.ys[4]), rtol=1e-13)
    np.testing.assert_allclose(found.spread, np.full(3, np.sum(np.var(z, axis=0))), rtol=1e-12)
    q = np.exp(-np.sum((np.asarray(z)[:, None] - np.asarray(path.ys)[3]) ** 2, axis=2) / float(T))
    q /= q.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found.entropy[1], -np.mean(np.sum(q * np.log(q), axis=1)), rtol=1e-10)
    table = np.zeros((4, 3), int)
    np.add.at(table, (np.arange(12) % 4, np.argmax(q, axis=1)), 1)  # the nearest prototype has the largest share
    np.testing.assert_array_equal(np.asarray(found.tables)[1], table)
    assert np.asarray(found.tables).sum(axis=(1, 2)).tolist() == [12] * 3
    assert np.asarray(found.tables)[0].sum(axis=1).tolist() == [3] * 4
    with pytest.raises(ValueError, match="labels` must hold one class for each of 12 points"):
        history(path, np.zeros(3, int), 4)
    with pytest.raises(ValueError, match="path` must be one of a `DescentMap`, but is one of PrototypeFlow"):
        history(path_of(flow, p), np.zeros(12, int), 4)


def test_both_baselines_are_tabled_and_both_descents_have_the_options(monkeypatch):
    options = debris.Descent(9, 0.07, 1.5, 0.4, 11.0, 2.5, "sum", components=3, restarts=2)
    objects, seen, given = draw_objects(KEY, Catalogue(30)), [], []

    def clustered(key, z, count, *, restarts):
        seen.append((z, restarts))
        return KMeans(z[:count], jnp.asarray(objects.labels), jnp.zeros(()))

    monkeypatch.setattr(debris, "kmeans", clustered)
    monkeypatch.setattr(debris, "iterate", lambda *arguments: arguments)
    monkeypatch.setattr(debris, "history", lambda path, labels, classes: given.append(path) or labels)
    found = debris.debris_outcome(KEY, objects, options)
    x = standardised(objects.features)
    np.testing.assert_array_equal(seen[0][0], x)
    values = np.linalg.svd(x, compute_uv=False) ** 2
    np.testing.assert_allclose(np.linalg.svd(seen[1][0], compute_uv=False) ** 2, values[:3])
    assert float(found.explained) == pytest.approx(np.sum(values[:3]) / np.sum(values))
    assert found.baselines.tolist() == [np.diag([30] * 4).tolist()] * 2
    assert [one[1] for one in seen] == [2, 2]
    for mode, (descent, start, epochs) in zip(debris.MODES, given, strict=True):
        flow, cooling = descent.flow, descent.flow.temperature
        assert (flow.loss.gradient, flow.loss.reduction, epochs) == (mode, "sum", 9)
        assert (float(flow.rate), float(descent.clip_value)) == (0.07, 2.5)
        assert [float(cooling(jnp.asarray(t))) for t in (0.0, 1e3)] == pytest.approx([1.5, 0.4])
        assert float(cooling(jnp.asarray(5.5))) == pytest.approx(1.5 / np.sqrt(np.e))
        np.testing.assert_array_equal(start, seen[1][0][:4])
    np.testing.assert_array_equal(found.descents, [objects.labels] * 2)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return record(replace(DEBRIS, quick=SMALL), "quick", results=tmp_path_factory.mktemp("whole"))


@pytest.mark.slow
def test_k_means_merges_regimes_of_similar_inclination_and_prototypes_do_not_undo_it(small):
    arrays = small.arrays
    for mode in debris.MODES:
        accuracy = arrays[f"reference: {mode}: scores"][:, :, 0]
        assert accuracy.shape == (2, 21)
        assert np.all((accuracy > 0.7) & (accuracy < 0.85))
        np.testing.assert_allclose(accuracy[:, 0], arrays["reference: k-means, PCA: scores"][:, 0], atol=1e-15)
        assert [error_share(table, "MEO", "LEO") for table in arrays[f"reference: {mode}: tables"]] == [1, 1]
        assert [error_share(table, "LEO", "HEO") for table in arrays[f"reference: {mode}: tables"]] == [0, 0]
        assert np.all(arrays[f"LEO at 98 degrees: {mode}: scores"] == pytest.approx(1, abs=1e-12))
        assert np.isnan(error_share(arrays[f"LEO at 98 degrees: {mode}: tables"][0], "LEO", "HEO"))
    text = summarise_debris(arrays)
    assert "LEO at 98 degrees: 1.0000; full 1.0000" in text
    assert text.count("final epoch: ACC 0.") == 2


@pytest.mark.slow
def test_the_run_that_was_killed_ends_with_the_same_bytes(small, tmp_path, monkeypatch):
    experiment, run, calls = replace(DEBRIS, quick=SMALL), debris.debris_outcome, []

    def counted(*arguments):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return run(*arguments)

    monkeypatch.setattr(debris, "debris_outcome", counted)
    with pytest.raises(KeyboardInterrupt):
        record(experiment, "quick", results=tmp_path)
    again = record(experiment, "quick", results=tmp_path)
    assert len(calls) == 5  # four seeds, of which two were not run again
    for name, array in small.arrays.items():
        np.testing.assert_array_equal(again.arrays[name], array)


def test_the_best_epoch_is_the_first_of_the_highest_accuracy_after_the_start():
    accuracy = np.array([[0.9, 0.5, 0.7, 0.7], [0.1, 0.3, 0.2, 0.2]])
    scores = np.stack([accuracy, 1 - accuracy, np.zeros_like(accuracy)], axis=-1)
    assert best_epoch(scores).tolist() == [2, 1]
    with pytest.raises(ValueError, match="`scores` must have shape .* with two epochs at least, but has"):
        best_epoch(scores[:, :1])


def test_confusions_are_counted_by_matched_regime():
    table = np.array([[0, 5, 1, 0], [6, 0, 0, 0], [0, 0, 0, 6], [0, 0, 6, 0]])
    assert confusions(table).tolist() == [[5, 0, 0, 1], [0, 6, 0, 0], [0, 0, 6, 0], [0, 0, 0, 6]]
    assert matched_accuracy(table) == 23 / 24
    assert error_share(table, "LEO", "HEO") == 1


def test_noise_that_is_no_range_is_refused():
    with pytest.raises(ValueError, match="Argument `noise` must be a range of non-negative numbers, but is"):
        draw_objects(KEY, Catalogue(3, noise=(0.4, 0.2)))
