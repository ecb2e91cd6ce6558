"""The experiment on ratios of learning rates: the map that it iterates, its times, the same bytes when resumed."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from analysis.experiments import record
from analysis.experiments.prototypes import learning_rates
from analysis.experiments.prototypes.histories import History
from analysis.experiments.prototypes.learning_rates import (
    LEARNING_RATES,
    PAPER,
    LearningRatesConfig,
    RateStudy,
    TrainingOptions,
    descent_map,
    first_state,
    read_digits,
    separation_ratios,
    summarise_learning_rates,
)
from dynsim.errors import UnavailableError
from dynsim.keys import random_key
from dynsim.simulation.simulate import iterate
from dynsim.systems.prototypes.assignments import separation
from dynsim.systems.prototypes.flow import Coupled

KEY = random_key(6, "digits")
_SMALL = TrainingOptions("frozen", inputs=8, outputs=3, clusters=4, restarts=2, prototype_rate=0.1)
SMALL = LearningRatesConfig(
    (
        RateStudy("frozen", _SMALL, (0.1, 1.0), 2),
        RateStudy("batches", replace(_SMALL, batch=10), (1.0,), 1),
        RateStudy("equal encoder time", replace(_SMALL, batch=10, start=0.3), (0.1, 1.0), 1, 0.5),
    ),
    epochs=6,
    every=2,
    images=45,
    file="drawn.npz",
)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """A data file of ten blurred digits of 5 x 5 pixels."""
    folder, rng = tmp_path_factory.mktemp("data"), np.random.default_rng(1)
    labels = np.arange(50) % 10
    shapes = rng.integers(0, 200, (10, 5, 5))
    images = (shapes[labels] + rng.integers(0, 55, (50, 5, 5))).astype(np.uint8)
    parts = {"x_train": images[:30], "x_test": images[30:], "y_train": labels[:30], "y_test": labels[30:]}
    np.savez(folder / "drawn.npz", **parts)
    return folder


@pytest.fixture
def data(drawn, monkeypatch):
    monkeypatch.setenv("DYNSIM_DATA", str(drawn))


def test_digits_are_centred_pixels_of_both_sets(data):
    digits = read_digits(SMALL)
    assert digits.pixels.shape == (45, 25)
    np.testing.assert_allclose(digits.pixels.mean(axis=0), 0, atol=1e-15)
    assert np.max(np.ptp(digits.pixels, axis=0)) < 1
    assert digits.labels.tolist() == [k % 10 for k in range(45)]


def test_a_missing_data_file_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("DYNSIM_DATA", str(tmp_path))
    with pytest.raises(UnavailableError, match=r"drawn\.npz"):
        read_digits(SMALL)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["full", "frozen"])
def test_the_map_is_descent_on_the_mean_at_two_rates(data, mode):
    x = read_digits(SMALL).pixels[:, :8]
    training = replace(_SMALL, mode=mode, barrier=0.2)
    descent, start = descent_map(x, training, 0.25, 6, KEY), first_state(x, training, KEY)
    T = jnp.asarray(max(0.3, 2 * np.exp(-3 / 20)))

    def mean_loss(state):
        z, p = jnp.asarray(x) @ state.encoder.T, state.prototypes
        d = jnp.sum((z[:, None] - p[None]) ** 2, axis=-1)
        q = jax.nn.softmax(-d / T, axis=-1)
        q = jax.lax.stop_gradient(q) if mode == "frozen" else q
        return jnp.mean(jnp.sum(q * d, axis=-1)) + 0.2 * jnp.sum(
            1 / jnp.sum((p[jnp.array(LEFT)] - p[jnp.array(RIGHT)]) ** 2, axis=-1)
        )

    slope = jax.grad(mean_loss)(start)
    found = descent.step(3, start)
    np.testing.assert_allclose(found.encoder, start.encoder - 0.025 * slope.encoder, atol=1e-13)
    np.testing.assert_allclose(found.prototypes, start.prototypes - 0.1 * slope.prototypes, atol=1e-13)


@pytest.mark.parametrize(
    ("variant", "ratio", "steps", "every", "kept"),
    [(0, 0.1, 6, 1, {"every": 2}), (1, 1.0, 24, 4, {"every": 2}), (2, 0.1, 20, 20, {}), (2, 1.0, 2, 2, {})],
)
def test_a_history_has_the_epochs_or_the_encoder_time_of_its_variant(
    variant, ratio, steps, every, kept, tmp_path, monkeypatch
):
    """There are four batches of ten in 45 images, and half an epoch of encoder time at eps = .1 is five epochs."""
    asked, study = [], SMALL.variants[variant]
    monkeypatch.setattr(learning_rates, "iterate", lambda *given, **options: asked.append((given, options)) or "path")
    values = History(*(jnp.full(2, float(k)) for k in range(6)))
    monkeypatch.setattr(learning_rates, "history", lambda *given, **options: asked.append((given, options)) or values)
    first = Coupled(jnp.zeros((3, 8)), jnp.zeros((4, 3)))
    data = np.random.default_rng(2).normal(size=(45, 8)), np.arange(45) % 10, first
    for _ in range(2):  # a finished history is read
        found = learning_rates._kept(SMALL, study, ratio, data, KEY, tmp_path)
        np.testing.assert_array_equal(jnp.stack(found), jnp.stack(values))
    ((descent, start, count), options), (given, how) = asked
    assert start is first
    assert (count, options, how) == (steps, {"every": every}, kept)
    assert given[0] == "path"
    np.testing.assert_array_equal(given[1], data[1])
    flow, training = descent.flow, study.training
    assert float(flow.encoder_rate) == pytest.approx(ratio * training.prototype_rate)
    assert float(flow.prototype_rate) == training.prototype_rate
    assert (flow.loss.gradient, flow.loss.reduction) == ("frozen", "mean")
    if training.batch is None:
        assert descent.batches is None
    else:
        assert descent.batches.shape == (6, 4, 10)


LEFT, RIGHT = [0, 0, 0, 1, 1, 2], [1, 2, 3, 2, 3, 3]  # the pairs of four prototypes


def test_the_start_is_the_principal_components_and_the_centroids_of_their_clusters(data):
    x = read_digits(SMALL).pixels
    start = first_state(x, _SMALL, KEY)
    np.testing.assert_allclose(start.encoder @ start.encoder.T, np.eye(3), atol=1e-12)
    z = jnp.asarray(x) @ start.encoder.T
    np.testing.assert_allclose(np.cov(np.asarray(z).T, bias=True), np.diag(np.var(z, axis=0)), atol=1e-12)
    near = np.argmin(np.sum((np.asarray(z)[:, None] - np.asarray(start.prototypes)[None]) ** 2, axis=-1), axis=1)
    for k in range(4):
        np.testing.assert_allclose(start.prototypes[k], np.mean(np.asarray(z)[near == k], axis=0), atol=1e-12)


@pytest.fixture(scope="module")
def small(drawn, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DYNSIM_DATA", str(drawn))
        return record(replace(LEARNING_RATES, quick=SMALL), "quick", results=tmp_path_factory.mktemp("whole"))


@pytest.mark.slow
def test_the_record_has_every_variant_ratio_and_seed(small):
    arrays = small.arrays
    assert arrays["frozen: S"].shape == (2, 2, 7)
    assert arrays["frozen: V/N"].shape == (2, 2, 4)
    assert arrays["frozen: scores"].shape == (2, 2, 4, 3)
    assert arrays["batches: S"].shape == (1, 1, 7)
    assert arrays["equal encoder time: S"].shape == (2, 1, 2)
    for name in ("frozen", "batches"):
        assert np.all(arrays[f"{name}: tables"].sum(axis=(2, 3)) == 45)
        assert np.all(arrays[f"{name}: chance"][..., 1] <= arrays[f"{name}: chance"][..., 2])
    np.testing.assert_array_equal(separation_ratios(arrays, "frozen", epoch=50), separation_ratios(arrays, "frozen"))
    assert not np.allclose(separation_ratios(arrays, "frozen", epoch=1), separation_ratios(arrays, "frozen"))
    text = summarise_learning_rates(arrays)
    assert text.count("by chance") == 5
    assert "batches: S at the start" in text


@pytest.mark.slow
def test_at_equal_encoder_time_the_number_of_steps_is_inverse_to_the_ratio(data, small):
    """Half an epoch of encoder time, in batches of which there are four: 2 steps at eps = 1, 20 at eps = .1."""
    variant = SMALL.variants[2]
    x = read_digits(SMALL).pixels
    x = x @ np.asarray(learning_rates.principal_components(x, 8).weight).T
    key = jax.random.fold_in(random_key(0, LEARNING_RATES.name), 0)
    start = first_state(x, variant.training, jax.random.fold_in(key, 0))
    for k, (ratio, steps) in enumerate([(0.1, 20), (1.0, 2)]):
        descent = descent_map(x, variant.training, ratio, SMALL.epochs, jax.random.fold_in(key, 1))
        last = iterate(descent, start, steps, every=steps).final
        found = small.arrays["equal encoder time: S"][k, 0, 1]
        assert found == pytest.approx(float(separation(last.prototypes)), rel=1e-9)


@pytest.mark.slow
def test_the_run_that_was_killed_ends_with_the_same_bytes(data, small, tmp_path, monkeypatch):
    measured, calls = learning_rates.history, []

    def counted(*arguments, **options):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return measured(*arguments, **options)

    monkeypatch.setattr(learning_rates, "history", counted)
    with pytest.raises(KeyboardInterrupt):
        record(replace(LEARNING_RATES, quick=SMALL), "quick", results=tmp_path / "killed")
    again = record(replace(LEARNING_RATES, quick=SMALL), "quick", results=tmp_path / "killed")
    assert len(calls) == 8  # seven runs, of which three were not repeated
    for name, array in small.arrays.items():
        np.testing.assert_array_equal(again.arrays[name], array)


def test_the_sizes_of_the_paper_have_its_ratios_and_five_seeds():
    main = [variant for variant in PAPER.variants if variant.slow_epochs is None and variant.seeds > 1]
    assert {variant.training.mode for variant in main} == {"full", "frozen"}
    for variant in main:
        assert variant.ratios == (0.001, 0.01, 0.1, 0.5, 1.0)
        assert variant.seeds >= 5
    assert (PAPER.epochs, PAPER.images) == (300, None)
