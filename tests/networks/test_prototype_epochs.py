"""Training by epochs: every row once an epoch, the temperature of the epoch, and the same bits when resumed."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from analysis.experiments.prototypes.epochs import ShuffledRows, train_epochs
from analysis.experiments.prototypes.quantisation import epochs_to_full
from dynsim.keys import random_key
from dynsim.systems.prototypes.temperatures import Annealing

KEY = random_key(0, "epochs")
ROWS = ShuffledRows(jnp.arange(7.0), KEY, Annealing(2.0, 0.3, 1.0), 3)
RULE = optax.sgd(0.1)


def test_an_epoch_has_every_row_at_most_once_at_one_temperature():
    draw = eqx.filter_jit(ROWS)
    batches = [draw(jnp.asarray(step), KEY) for step in range(2 * ROWS.steps)]
    assert ROWS.steps == 2
    epochs = [np.concatenate([np.asarray(batch.rows) for batch in batches[k : k + 2]]) for k in (0, 2)]
    assert all(len(set(rows.tolist())) == 6 for rows in epochs)
    assert not np.array_equal(epochs[0], epochs[1])
    expected = np.array([2.0, 2.0, 2 / np.e, 2 / np.e], np.float32)
    assert np.allclose([float(batch.temperature) for batch in batches], expected, rtol=1e-6)


def loss(model, batch, key):
    return jnp.mean((model - batch.rows) ** 2) * batch.temperature.astype(float)


def measured(model, temperature):
    return {"model": model, "temperature": temperature}


def trained(folder, epochs: int, seen: list):
    return train_epochs(jnp.asarray(0.0), loss, ROWS, measured, KEY, epochs=epochs, optimiser=RULE, folder=folder,
        digest="run", advance=seen.append)  # fmt: skip


def test_measures_follow_each_epoch_and_a_resumed_run_has_the_same_bits(tmp_path):
    seen = []
    whole = trained(tmp_path / "whole", 3, seen)
    assert whole.measures["model"].shape == (4,)
    assert whole.measures["model"][0] == 0
    assert whole.measures["model"][-1] == whole.model
    assert np.allclose(whole.measures["temperature"], [2, 2, 2 / np.e, 0.3])
    assert (seen, len(whole.losses)) == ([0, 1, 1, 1], 6)
    trained(tmp_path / "parts", 1, [])
    again = trained(tmp_path / "parts", 3, [])
    assert np.array_equal(again.measures["model"], whole.measures["model"])
    assert np.array_equal(again.losses, whole.losses)
    with pytest.raises(ValueError, match="`epochs` must be at least 1"):
        trained(tmp_path / "none", 0, [])


def test_the_first_epoch_of_full_utilisation_is_counted_from_one():
    values = np.array([[1, 1, 0.5], [1, 0.5, 1], [0, 0.5, 0.5]])  # the first column is before training
    assert np.array_equal(epochs_to_full(values), [1, 2, np.inf])
