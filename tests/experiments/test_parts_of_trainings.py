"""What experiments hand on to trainings: losses, starts, batches, rates and what is measured; nothing is trained."""

import dataclasses
import os
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from analysis.experiments import RESULTS, _loaded, use_results
from analysis.experiments.growing import outcomes
from analysis.experiments.prototypes import hierarchy, learning_rates, quantisation, text
from analysis.experiments.prototypes.documents import Documents
from analysis.experiments.prototypes.epochs import Epochs
from analysis.experiments.tokens import noise
from analysis.growing.separation import separation_force
from analysis.tokens.noise import polarisation
from dynsim.errors import ArgumentError
from dynsim.systems.prototypes.assignments import separation
from tests.figures.test_own_axes import heads


def stub(**parts: Any) -> Any:
    return SimpleNamespace(**parts)


def test_losses_of_documents_and_images_are_those_of_their_networks(monkeypatch):
    of = lambda name: lambda *given: (name, *given)
    monkeypatch.setattr(text, "classification_loss", of("labels"))
    monkeypatch.setattr(quantisation, "reconstruction_loss", of("images"))
    monkeypatch.setattr(hierarchy, "two_level_loss", of("levels"))
    model, batch = stub(readout=lambda *given: stub(loss=("readout", *given))), stub(rows="abc", temperature=0.5)
    of_loss = lambda loss: getattr(loss, "__wrapped__", loss)(model, batch, None)  # without looking at annotations
    assert of_loss(text._loss.__wrapped__(2.0, True)) == ("labels", model, "a", "b", "c", 0.5, 2.0)
    assert of_loss(text._loss.__wrapped__(2.0, False)) == ("readout", "a", "b", 0.5)
    assert of_loss(quantisation._loss.__wrapped__(3.0)) == ("images", model, "abc", 0.5, 3.0)
    assert of_loss(hierarchy._loss.__wrapped__(4.0)) == ("levels", model, "a", "b", 0.5, 4.0)


def trained(monkeypatch, module):
    """Replace what trains in a module, and return what it is called with."""
    asked = {}
    none: Any = None
    kept = lambda *given, **options: asked.update(options, given=given) or Epochs(none, {}, none)
    monkeypatch.setattr(module, "train_epochs", kept)
    monkeypatch.setattr(module, "ShuffledRows", lambda rows, key, annealing, batch: (rows, key, annealing, batch))
    monkeypatch.setattr(module, "two_rates", lambda *rates: rates)
    monkeypatch.setattr(module, "_start" if hasattr(module, "_start") else "start", lambda *given: given)
    return asked


def test_trainings_have_the_options_the_keys_and_the_numbers_by_which_they_are_resumed(monkeypatch, tmp_path):
    key = jax.random.key(3)
    draw, order, steps = jax.random.split(key, 3)
    rows = Documents(np.ones((2, 3, 4), np.float32), np.ones((2, 3), np.float32), np.arange(2))
    images = np.ones((2, 4, 4, 1), np.float32)
    cases = (
        (text, text.QUICK, text.QUICK.tasks[0], rows, lambda c, one: (c.prototype_rate, c.other_rate)),
        (hierarchy, hierarchy.QUICK, hierarchy.QUICK.stacks[1], rows,
         lambda c, one: (c.prototype_rate, one.ratio * c.prototype_rate)),
        (quantisation, quantisation.QUICK, quantisation.QUICK.codebooks[0], images,
         lambda c, one: (c.prototype_rate, c.other_rate)),
    )  # fmt: skip
    same = lambda a, b: np.array_equal(jax.random.key_data(a), jax.random.key_data(b))
    for module, config, one, data, rates in cases:
        asked = trained(monkeypatch, module)
        given = (jnp.asarray(data),) * 2 if module is quantisation else (data, data)
        module._run(config, one, *given, key, tmp_path, lambda epoch: None)
        begun, _, batches, _, of_steps = asked["given"]
        assert begun[:2] == (config, one)
        assert same(begun[-1], draw)
        assert same(batches[1], order)
        assert same(of_steps, steps)
        cooling = batches[2]
        assert [float(cooling.start), float(cooling.floor), float(cooling.time_constant), batches[3]] == [
            config.temperature, config.least_temperature, config.time_constant, config.batch,
        ]  # fmt: skip
        assert (asked["epochs"], asked["optimiser"], asked["folder"]) == (config.epochs, rates(config, one), tmp_path)
        digest = asked["digest"]
        module._run(dataclasses.replace(config, seeds=99), one, *given, key, tmp_path, lambda epoch: None)
        assert asked["digest"] == digest
        module._run(dataclasses.replace(config, batch=99), one, *given, key, tmp_path, lambda epoch: None)
        assert asked["digest"] != digest


def test_measures_of_heads_are_those_of_their_inputs():
    phase = heads().phases[0]
    x: Any = jax.tree.map(lambda a: jnp.asarray(a[1]), phase.ys)
    T, activity, force, S, variance = outcomes._measures(phase.system, x)
    np.testing.assert_allclose(outcomes._activity(phase.system, x), activity)
    z = np.asarray(phase.system.head_inputs(x))  # pyright: ignore
    np.testing.assert_allclose(T, np.cbrt(x.cubes))
    away = z[0] - z[0].mean(axis=0)
    assert variance[0] == pytest.approx(np.max(np.linalg.eigvalsh(away.T @ away)) / len(away))
    assert force[0] == pytest.approx(float(separation_force(x.prototypes[0], jnp.asarray(z[0]), T[0])))
    assert S[0] == pytest.approx(float(separation(x.prototypes[0])))


def test_inputs_of_digits_are_pixels_or_their_principal_components():
    pixels = np.sin(np.arange(40.0) ** 2).reshape(10, 4)
    of = lambda count: learning_rates._inputs(
        learning_rates.Digits(pixels, np.arange(10)), learning_rates.TrainingOptions("full", inputs=count)
    )
    assert of(None) is pixels
    values = np.linalg.eigvalsh(np.cov(pixels.T, bias=True))[::-1]
    np.testing.assert_allclose(np.cov(of(2).T, bias=True), np.diag(values[:2]), atol=1e-12)


def test_records_are_in_the_folder_that_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv(RESULTS, "elsewhere")
    use_results(None)
    assert os.environ[RESULTS] == "elsewhere"
    use_results(tmp_path)
    assert os.environ[RESULTS] == str(tmp_path)
    with pytest.raises(ArgumentError, match="`results` must be a folder of records of experiments"):
        use_results(tmp_path / "none")
    np.savez(tmp_path / "a.npz", x=np.ones(2))
    with pytest.raises(ArgumentError, match="`results` must hold records of experiments, but `.*a.npz` is not a"):
        _loaded(tmp_path / "a.npz", text.TEXT, "quick", 0, {})
    x = jnp.eye(3)[:2]
    np.testing.assert_allclose(noise._observed(jnp.zeros(()), x), polarisation(x))
