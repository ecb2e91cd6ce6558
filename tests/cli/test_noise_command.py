"""`dynsim simulate --noise`: tokens and a function of the user's, run files, ensembles, refusals."""

from typing import Any

import numpy as np
import pytest

from dynsim.simulation.run_files import load
from tests.support.commands import refused, run

MINE = """
import jax.numpy as jnp


def field(t, x):
    return -x


def sigma(t, x):
    return 0.5 * x


def wrong(t, x):
    return jnp.ones(7)
"""
OWN = ("mine.py:field", "--space", "euclidean", "--dimension", "2", "--end", "1", "--frames", "3")


@pytest.fixture
def here(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(MINE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_tokens_and_functions_run_with_noise_and_run_files_repeat_to_the_bit(here, capsys):
    tokens = ("token-flow", "--tokens", "4", "--noise", "0.3", "--step-size", "0.1", "--end", "1", "--frames", "3")
    assert run(capsys, "simulate", *tokens, "--out", "n.npz")[0] == 0
    assert "n.npz: identical bit for bit" in run(capsys, "simulate", "n.npz")[1]
    stored: Any = load(here / "n.npz")
    assert (stored.system.calculus, float(stored.system.noise)) == ("stratonovich", 0.3)
    assert int(stored.stats.num_steps) == 10
    own = (*OWN, "--noise", "mine.py:sigma", "--calculus", "ito", "--members", "2", "--out", "m.npz")
    status, said, _ = run(capsys, "simulate", *own)
    assert (status, said.splitlines()[0]) == (0, "2 of 2 members finished.")
    kept: Any = load(here / "m.npz", trust=("mine.py:field", "mine.py:sigma"))
    assert type(kept.integrator).__name__ == "EulerMaruyama"
    assert np.all(np.isfinite(kept.values))


@pytest.mark.slow
@pytest.mark.parametrize(("words", "sentence"), [
    (("token-flow", "--noise", "loud"), "`noise` must be a number, or `file.py:name` of a function, but is `loud`"),
    ((*OWN, "--noise", "mine.py:sigm"), "`noise` must name an object in `mine.py`, but `sigm` does not exist, did"),
    ((*OWN, "--noise", "mine.py:wrong"), "with one more axis, but has shape (7,)"),
    (("token-flow", "--noise", "0.1", "--rtol", "1e-3"), "`rtol` must be left out with noise, but is 0.001"),
    (("token-flow", "--calculus", "ito"), "`calculus` must be left out without noise"),
])  # fmt: skip
def test_noise_that_does_not_fit_is_refused_in_one_sentence(here, capsys, words, sentence):
    assert sentence in refused(capsys, "simulate", *words)


@pytest.mark.slow
def test_noise_that_leaves_the_space_ends_the_run_with_a_sentence(here, capsys):
    words = ("mine.py:field", "--space", "simplex", "--dimension", "3", "--noise", "2")
    status, said, error = run(capsys, "simulate", *words)
    assert status == 1
    assert "the noise left the domain" in error
    assert "files hold the part of the run up to t = 0.04" in said or "nothing is written" in said


def test_members_with_noise_begin_at_the_given_start(here, capsys):
    words = ("double-well", "--noise", "0.1", "--step-size", "0.5", "--end", "1", "--frames", "3", "--start", "0.25")
    status, said, _ = run(capsys, "simulate", *words, "--members", "2", "--out", "m.npz")
    assert (status, said.splitlines()[:2]) == (0, ["2 of 2 members finished.", "2 steps each"])
    made = load("m.npz")
    assert np.asarray(made.initial).tolist() == [[0.25], [0.25]]
    assert len(set(np.ravel(made.final).tolist())) == 2
