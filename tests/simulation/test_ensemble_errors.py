"""Error estimates of ensembles: those of each member alone, kept with the run, resumed, and refused for noise."""

import importlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dynsim.integrators import Diffrax, Scipy
from dynsim.simulation.ensemble import ensemble
from dynsim.simulation.run_files import load, save
from dynsim.systems.base import FunctionFlow
from dynsim.systems.named import changed
from dynsim.systems.noisy import NoisyFlow
from tests.support.commands import run as command

TS = np.linspace(0.0, 0.8, 3)
STARTS = jnp.asarray([[-1.0], [0.25], [2.0], [-0.5]])  # the third one leaves at t = 1/2
ROUGH = Diffrax(rtol=1e-3, atol=1e-5)


def square(t, x):
    return x**2


def tenfold(t, x):
    return 10.0 * x[0]


FLOW = FunctionFlow(square)


@pytest.fixture(scope="module")
def run():
    return ensemble(FLOW, STARTS, TS, tenfold, integrator=ROUGH, error_estimate=True)


@pytest.mark.slow
def test_a_member_has_the_difference_to_a_tenth_of_the_tolerance_as_its_error(run):
    finer = ensemble(FLOW, STARTS, TS, tenfold, integrator=ROUGH.tightened())
    exact = -1 / (1 + TS)
    gaps = np.abs(np.asarray(run.values[0]) - np.asarray(finer.values[0]))
    assert np.allclose(run.stats.error.values[0], gaps, rtol=1e-6, atol=1e-12)
    assert np.allclose(run.stats.error.final[0, 0], gaps[-1] / 10, rtol=1e-6)
    off = np.abs(np.asarray(run.values[0]) / 10 - exact)
    assert np.all(np.asarray(run.stats.error.values[0])[1:] / 10 > 0.5 * off[1:])  # the finer solution errs much less
    assert np.max(off) > 1e-6


def test_a_pulse_that_all_members_step_over_shows_in_their_errors():
    """A pulse of width 0.2 at t = 35, whose place could depend on the state, so that it is not known."""
    sine = lambda t: 400 * jnp.sin((t - 35.0) / 40)
    flow = FunctionFlow(lambda t, x, a: -x + a * jnp.exp(-(sine(t + 1e-9 * x) ** 2)), parameters={"a": 5.0})
    flows = [changed(flow, {"a": a}) for a in (5.0, 1.0)]
    found = ensemble(flows, jnp.zeros((2, 1)), [0.0, 36.0], lambda t, x: x[0], error_estimate=True)
    assert np.max(np.abs(found.values)) < 1e-12
    late = 0.1 * np.sqrt(np.pi) * np.exp(0.05**2 - 1)  # of a pulse of height one, at the end
    assert np.asarray(found.stats.error.values)[:, -1] == pytest.approx([5 * late, late], rel=1e-3)


def test_a_member_that_fails_has_no_error_and_the_others_have_theirs(run):
    finite = np.isfinite(np.asarray(run.stats.error.final))[:, 0]
    assert finite.tolist() == [True, True, False, True]
    assert np.isfinite(run.stats.max_error)
    for said in (str(run), str(run.stats)):
        assert f"with a tenth of the tolerance differ by at most {run.stats.max_error:.2g}." in said
    looped = ensemble(FLOW, STARTS, TS, tenfold, integrator=Scipy(rtol=1e-3, atol=1e-5), error_estimate=True)
    assert np.isfinite(np.asarray(looped.stats.error.final))[:, 0].tolist() == [True, True, False, True]
    assert looped.stats.max_error > 0


def test_the_estimate_is_kept_in_the_run_file_and_left_out_unless_asked_for(run, tmp_path):
    save(tmp_path / "run.npz", run)
    again = load(tmp_path / "run.npz", trust=("tests.simulation.test_ensemble_errors",))
    assert np.array_equal(again.stats.error.values, run.stats.error.values, equal_nan=True)
    plain = ensemble(FLOW, STARTS, TS, tenfold, integrator=ROUGH)
    assert plain.stats.error is None
    assert np.isnan(plain.stats.max_error)
    assert np.array_equal(plain.values, run.values, equal_nan=True)
    for name in ("outcome", "num_steps", "num_rejected", "last_time"):  # of the run, not of the finer one
        assert np.array_equal(getattr(plain.stats, name), getattr(run.stats, name))


def test_both_solutions_are_resumed_from_their_folders(run, tmp_path, monkeypatch):
    options = {"integrator": ROUGH, "folder": tmp_path / "members", "error_estimate": True}
    ensemble(FLOW, STARTS, TS, tenfold, **options)
    assert len(list((tmp_path / "members" / "finer").glob("part-*.npz"))) == 1

    def nothing(*args):
        raise AssertionError("nothing is left to solve")

    monkeypatch.setattr(importlib.import_module("dynsim.simulation.ensemble"), "solve_together", nothing)
    again = ensemble(FLOW, STARTS, TS, tenfold, **options)
    assert np.array_equal(again.stats.error.values, run.stats.error.values, equal_nan=True)


def test_noise_without_a_resolution_is_refused():
    with pytest.raises(ValueError, match="`error_estimate` must be left out for noise without a `path_resolution`"):
        ensemble(NoisyFlow(FLOW, 0.1, calculus="ito"), STARTS, TS, tenfold, key=jax.random.key(0), error_estimate=True)


@pytest.mark.slow
def test_the_command_reports_the_error_of_its_members(capsys):
    words = ["van-der-pol", "--members", "3", "--end", "2", "--frames", "3", "--rtol", "1e-4", "--error-estimate"]
    status, said, _ = command(capsys, "simulate", *words)
    assert status == 0
    assert "3 of 3 members finished. Solutions with a tenth of the tolerance differ by at most " in said
