"""The training loop: it minimises, resumes to the same bits, and refuses what is not its own."""

import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from dynsim.errors import TrainingError
from dynsim.io.npz import read_arrays
from dynsim.keys import random_key
from dynsim.networks import training
from dynsim.networks.training import train
from tests.support.full_disk import fill_the_disk

KEY = random_key(0, "training")
TRUE = jnp.array([1.0, -2.0, 0.5])


class Linear(eqx.Module):
    weight: jax.Array
    name: str = eqx.field(static=True, default="line")


def batches(step, key):
    x = jax.random.normal(key, (16, 3))
    return x, x @ TRUE


class Broken(eqx.Module):
    """Batches that are not finite from a step on; all share a compiled program."""

    first: jax.Array

    def __call__(self, step, key):
        return tuple(jnp.where(step < self.first, part, jnp.nan) for part in batches(step, key))


def loss(model, batch, key):
    x, y = batch
    return jnp.mean((x @ model.weight - y) ** 2)


def run(**options):
    return train(Linear(jnp.zeros(3)), loss, batches, KEY, **{"num_steps": 50, "every": 20, **options})


def test_a_linear_model_is_found_and_the_loss_falls():
    found = run(num_steps=400, every=100, optimiser=optax.adam(5e-2))
    np.testing.assert_allclose(found.model.weight, TRUE, atol=1e-2)
    assert found.losses.shape == (400,)
    assert found.losses[-1] < 1e-3 * found.losses[0]


def test_a_revision_changes_the_model_and_leaves_the_moments_of_the_optimiser():
    """One that changes nothing gives the same run; one that begins anew has the loss of the start after it."""
    seen = []
    plain, same = run(), run(revise=lambda done, model: seen.append(done) or model)
    assert np.array_equal(same.losses, plain.losses)
    assert np.array_equal(same.model.weight, plain.model.weight)
    assert seen == [20, 40, 50]
    anew = run(revise=lambda done, model: eqx.tree_at(lambda m: m.weight, model, jnp.zeros(3)))
    assert np.array_equal(anew.losses[:20], plain.losses[:20])
    y = batches(20, jax.random.split(jax.random.fold_in(KEY, 20))[0])[1]
    assert anew.losses[20] == pytest.approx(np.mean(y**2))


def test_the_first_step_is_plain_gradient_descent():
    found = run(num_steps=1, optimiser=optax.sgd(0.1))
    x, y = batches(0, jax.random.split(jax.random.fold_in(KEY, 0))[0])
    np.testing.assert_allclose(found.model.weight, 0.1 * 2 * y @ x / 16, atol=1e-14)


def test_every_step_has_its_own_batch_and_key():
    scaled = lambda step, key: tuple(part * jnp.asarray(step + 1, float) for part in batches(step, key))
    found = train(Linear(jnp.zeros(3)), loss, scaled, KEY, num_steps=3, every=2, optimiser=optax.sgd(0.02))
    weight = np.zeros(3)
    for k in range(3):
        x, y = (np.asarray(part) for part in scaled(k, jax.random.split(jax.random.fold_in(KEY, k))[0]))
        weight -= 0.02 * 2 * (x @ weight - y) @ x / 16
    np.testing.assert_allclose(found.model.weight, weight, atol=1e-14)


def test_the_default_is_adam_with_the_rate_of_a_thousandth():
    found = run(num_steps=1, every=1)
    np.testing.assert_allclose(np.abs(found.model.weight), 1e-3, rtol=1e-6)  # whose first step is the rate


def test_a_killed_run_ends_with_the_same_bits(tmp_path, monkeypatch):
    whole = run(folder=tmp_path / "whole")
    keep, kept = training._save, []

    def killed(*arguments):
        keep(*arguments)
        kept.append(1)
        if len(kept) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(training, "_save", killed)
    with pytest.raises(KeyboardInterrupt):
        run(folder=tmp_path / "killed")
    monkeypatch.setattr(training, "_save", keep)
    again = run(folder=tmp_path / "killed")
    np.testing.assert_array_equal(again.model.weight, whole.model.weight)
    np.testing.assert_array_equal(again.losses, whole.losses)
    files = (tmp_path / name / "checkpoint.npz" for name in ("whole", "killed"))
    assert len({file.read_bytes() for file in files}) == 1


def test_a_full_disk_keeps_the_checkpoint_before_and_the_run_goes_on(tmp_path, monkeypatch):
    whole = run(folder=tmp_path / "whole")
    with monkeypatch.context() as change:
        fill_the_disk(change, after=7)  # in the middle of the second checkpoint
        with pytest.raises(
            ValueError, match=r"be a file that can be written, but `.*full.checkpoint\.npz` is not \(No sp"
        ):
            run(folder=tmp_path / "full")
    assert [file.name for file in (tmp_path / "full").iterdir()] == ["checkpoint.npz"]
    assert len(read_arrays(tmp_path / "full" / "checkpoint.npz")["losses"]) == 20
    np.testing.assert_array_equal(run(folder=tmp_path / "full").model.weight, whole.model.weight)
    files = (tmp_path / name / "checkpoint.npz" for name in ("whole", "full"))
    assert len({file.read_bytes() for file in files}) == 1


def test_a_finished_run_goes_on_when_more_steps_are_asked_for(tmp_path):
    run(num_steps=40, folder=tmp_path)
    more = run(num_steps=60, folder=tmp_path)
    np.testing.assert_array_equal(more.losses, run(num_steps=60).losses)
    with pytest.raises(
        ValueError, match="num_steps` must be at least 60, the number of steps in the checkpoint, but is 40"
    ):
        run(num_steps=40, folder=tmp_path)


def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    run(folder=tmp_path)
    with pytest.raises(ValueError, match="holds one of another"):
        train(Linear(jnp.ones(3)), loss, batches, KEY, num_steps=50, every=20, folder=tmp_path)
    with pytest.raises(ValueError, match="holds one of another"):
        run(folder=tmp_path, optimiser=optax.sgd(0.1))
    (tmp_path / "checkpoint.npz").write_bytes(b"half")
    with pytest.raises(ValueError, match="be a complete npz file"):
        run(folder=tmp_path)


@pytest.mark.parametrize("bad", [0, 19, 20, 33])
def test_the_step_at_which_a_loss_is_not_finite_is_said(bad):
    broken = Broken(jnp.asarray(bad))
    with pytest.raises(TrainingError, match=f"The loss at step {bad} is not finite"):
        train(Linear(jnp.zeros(3)), loss, broken, KEY, num_steps=40, every=20)


def test_bad_numbers_and_a_diverging_loss_are_one_sentence(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="`num_steps` and `every` must be at least 1, but `num_steps` is 0"):
        run(num_steps=0)
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="be a folder that can be written"):
        run(folder=tmp_path / "file")
    with pytest.raises(TrainingError, match="is not finite: try a smaller learning rate; the checkpoint of step 20"):
        run(num_steps=4000, optimiser=optax.sgd(3.0), folder=tmp_path / "run")
    monkeypatch.setitem(sys.modules, "optax", None)
    training._adam.cache_clear()
    with pytest.raises(ValueError, match=r"pip install dynsim\[train\]"):
        run()


@pytest.mark.slow
def test_a_revision_changes_the_model_before_each_checkpoint_and_not_once_more_when_resumed(tmp_path):
    seen = []

    def revise(done, model):
        seen.append(done)
        return Linear(model.weight + 1)

    whole = run(revise=revise, optimiser=optax.set_to_zero(), folder=tmp_path)
    assert seen == [20, 40, 50]
    np.testing.assert_array_equal(whole.model.weight, jnp.full(3, 3.0))
    again = run(revise=revise, optimiser=optax.set_to_zero(), folder=tmp_path, num_steps=60)
    assert seen == [20, 40, 50, 60]
    np.testing.assert_array_equal(again.model.weight, jnp.full(3, 4.0))
