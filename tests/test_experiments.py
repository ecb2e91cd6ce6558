"""Experiments leave one record, resume to the same bits, and say in one sentence what they cannot use."""

import os
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dynsim.ensembles
from analysis.consensus import effective_rank
from analysis.experiments import Experiment, best_record, experiments, record
from analysis.experiments.consensus import ENSEMBLE, EnsembleConfig, measures, passed, redrawn
from dynsim.__main__ import main
from dynsim.archive import read_arrays
from dynsim.data import data_file
from dynsim.keys import stream
from dynsim.networks.pretrained import load_transformer
from dynsim.papers import CONSENSUS

SMALL = EnsembleConfig(members=40, tokens=4, dimension=8, end=40.0)
needs_data = pytest.mark.skipif("DYNSIM_DATA" not in os.environ, reason="DYNSIM_DATA is not set")


@dataclass(frozen=True)
class Counted:
    numbers: int


def counting(runs):
    def run(config, key, folder):
        runs.append(config.numbers)
        return {"x": np.asarray(jax.random.normal(key, (config.numbers,)))}

    describe = lambda arrays: f"{len(arrays['x'])} numbers"
    return Experiment("consensus/count", CONSENSUS.at("nowhere"), "numbers", Counted(3), Counted(5), run, describe)


def test_a_record_is_made_once_for_each_size_and_seed(tmp_path):
    runs = []
    experiment = counting(runs)
    first = record(experiment, "quick", 0, tmp_path)
    again = record(experiment, "quick", 0, tmp_path)
    np.testing.assert_array_equal(first.arrays["x"], again.arrays["x"])
    assert first.config == again.config == {"numbers": 3}
    assert not np.array_equal(first.arrays["x"], record(experiment, "quick", 1, tmp_path).arrays["x"])
    assert runs == [3, 3]


def test_the_papers_size_is_preferred_where_it_is_finished(tmp_path):
    experiment = counting([])
    assert best_record(experiment, 0, tmp_path).size == "quick"
    record(experiment, "paper", 0, tmp_path)
    assert best_record(experiment, 0, tmp_path).size == "paper"


def test_a_record_of_another_configuration_is_refused(tmp_path):
    experiment = counting([])
    record(experiment, "quick", 0, tmp_path)
    with pytest.raises(ValueError, match="hold records of `consensus/count` as it is configured now"):
        record(replace(experiment, quick=Counted(4)), "quick", 0, tmp_path)
    (tmp_path / "consensus/count/quick-0.npz").write_bytes(b"no archive")
    with pytest.raises(ValueError, match="be a complete npz file"):
        record(experiment, "quick", 0, tmp_path)


def test_the_ensemble_that_was_killed_ends_with_the_same_bytes(tmp_path, monkeypatch):
    small = replace(ENSEMBLE, quick=SMALL)  # two parts of twenty members
    record(small, "quick", 0, tmp_path / "whole")
    solve, calls = dynsim.ensembles._together, []

    def counted(*arguments):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return solve(*arguments)

    monkeypatch.setattr(dynsim.ensembles, "_together", counted)
    with pytest.raises(KeyboardInterrupt, match="20 of 40 members"):
        record(small, "quick", 0, tmp_path / "killed")
    record(small, "quick", 0, tmp_path / "killed")
    assert len(calls) == 3  # the first part is not solved again
    file = "consensus/7.4/quick-0.npz"
    assert (tmp_path / "whole" / file).read_bytes() == (tmp_path / "killed" / file).read_bytes()
    arrays = read_arrays(tmp_path / "whole" / file)
    assert arrays["E"].shape == (40, 201)
    assert np.median(arrays["E"][:, -1]) < 0.1 * np.median(arrays["E"][:, 0])


def test_an_experiment_is_run_and_reported_from_the_command_line(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("analysis.experiments.consensus.EXPERIMENTS", (replace(ENSEMBLE, quick=SMALL),))
    assert main(["experiment", "7.4", "--out", str(tmp_path), "--seeds", "2"]) == 0
    said = capsys.readouterr().out
    assert said.count("40 of 40 members finished at t = 40") == 2
    assert main(["experiment", "7.5", "--out", str(tmp_path)]) == 2
    assert "did you mean `7.4`?" in capsys.readouterr().err
    (tmp_path / "file").write_text("")
    assert main(["experiment", "7.4", "--out", str(tmp_path / "file")]) == 2
    assert "be a folder that can be written" in capsys.readouterr().err


def test_missing_data_is_named(monkeypatch, tmp_path, capsys):
    monkeypatch.delenv("DYNSIM_DATA", raising=False)
    with pytest.raises(ValueError, match=r"name the folder that holds `x.npz` \(`--data` or DYNSIM_DATA\)"):
        data_file("x.npz")
    with pytest.raises(ValueError, match="name a folder that holds `x.npz`, but"):
        data_file("x.npz", tmp_path)
    assert main(["experiment", "7.5", "--out", str(tmp_path), "--data", str(tmp_path)]) == 2
    assert "`stories260k.npz`" in capsys.readouterr().err


def test_every_experiment_has_a_name_of_its_own_and_says_what_it_does():
    names = [experiment.name for experiment in experiments()]
    assert len(set(names)) == len(names)
    assert all(len(experiment.text) > 20 for experiment in experiments())


def test_the_effective_rank_of_known_spectra():
    assert float(effective_rank(jnp.eye(4))) == pytest.approx(4.0)
    assert float(effective_rank(jnp.outer(jnp.arange(1.0, 6), jnp.ones(3)))) == pytest.approx(1.0)
    p = np.array([4.0, 1.0]) / 5
    assert float(effective_rank(jnp.diag(jnp.array([2.0, 1.0, 0.0])))) == pytest.approx(np.exp(-np.sum(p * np.log(p))))


def test_the_measures_of_antipodal_tokens():
    x = jnp.array([[2.0, 0.0], [-3.0, 0.0]])
    np.testing.assert_allclose(measures(x), [0.0, -1.0, 1.0], atol=1e-12)


@needs_data
def test_redrawn_weights_are_gaussian_with_plain_norms_and_passes_are_the_networks_own():
    network = load_transformer(data_file("stories260k.npz"))
    drawn = redrawn(network, stream(0, "draw"), 0.02)
    sizes = np.concatenate([np.ravel(a) for a in jax.tree.leaves(drawn.blocks) if a.ndim > 1])
    assert abs(sizes.std() - 0.02) < 2e-4
    assert all(bool(jnp.all(block.attention_norm.gain == 1)) for block in drawn.blocks)
    x = network.embed(np.arange(1, 9))
    found = passed(network, x, jax.random.split(stream(0, "passes"), 2), True, None)
    np.testing.assert_allclose(found[2], measures(network.apply_layers(x, passes=2)), atol=1e-10)
    new = passed(network, x, jax.random.split(stream(0, "passes"), 2), True, 0.02)
    assert not np.allclose(new[2], found[2])
