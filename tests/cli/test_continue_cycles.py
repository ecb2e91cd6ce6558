"""`dynsim continue --from RUN` and `--cycle`: the periodic orbit that a simulation has reached is continued."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from analysis.dynamics.continuation.branches import Branch
from analysis.dynamics.continuation.orbit_curve import Cycle
from analysis.dynamics.diagrams import Diagram
from dynsim.cli.building.systems import found
from dynsim.cli.continuation.cycles import as_in_run
from dynsim.cli.continuation.ends import say_ends
from dynsim.cli.continuation.options import Continue
from tests.support.commands import answer, refused

MINE = """
import jax.numpy as jnp

def turning(t, x, mu=1.0):
    return jnp.stack([-x[1], x[0]]) + x * (mu - x @ x)

def halved(t, x, mu=1.0):
    return -mu * x
"""
SHORT = ("--end", 1, "--frames", 3, "--integrator", "scipy")
OWN = ("simulate", "mine.py:turning", "--mu", 2, "--start", 1, 0, *SHORT)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(MINE)
    return tmp_path


def test_the_run_gives_the_parameters_that_are_not_given(capsys, folder):
    answer(capsys, "simulate", "lorenz", "--rho", 160, "--sigma", 9, *SHORT, "--out", "run.npz")
    o = Continue("lorenz", parameters=("sigma=10",), from_=Path("run.npz"))
    made = as_in_run(o, found(o, "continue"))
    assert (float(made.system.rho), float(made.system.sigma)) == (160, 10)
    assert made.start.shape == (3,)


@pytest.mark.parametrize(("words", "sentence"), [
    ("lorenz --from run.npz --parameter rho=1:2", "`from` must be a run of `lorenz`, but `run.npz` is a run of o"),
    ("mine.py:halved --from run.npz --parameter mu=1:3", "be a run of `mine.py:halved`, but `run.npz` is a run of o"),
    ("mine.py:turning --from run.npz --parameter mu=3:4", "be a range that contains the value 2 at which the solution"),
    ("mine.py:turning --from many.npz --parameter mu=1:3", "`from` must be the run of one trajectory, but `many.npz`"),
    ("mine.py:turning --from mine.py --parameter mu=1:3", "`from` must be a complete npz file, but `mine.py` is not"),
    ("mine.py:turning --from no.npz --parameter mu=1:3", "`from` must be a file, but `no.npz` is not one"),
    ("mine.py:turning --from --parameter mu=1:3", "`from` must be given with a value, but is given without"),
    ("henon --cycle --parameter a=1:2", "`cycle` must be left out for a map, whose cycles are continued from it"),
    ("lorenz --cycle --box 0 1 0 1 0 1 --parameter rho=1:2", "`box` must be left out with `--cycle`, but is (0.0, 1"),
    ("lorenz --parameter rho=1:2 --atol 0", "`atol` must be a positive number, but is 0.0"),
    ("lorenz --parameter rho=1:2 --method collocation --atol 1e-9",
     "`atol` must be left out with `--method collocation`, which has no solver, but is 1e-09"),
    ("lorenz --cycle --cycles --parameter rho=1:2", "`cycles` must be left out with `--cycle`, but is given"),
])  # fmt: skip
def test_what_leads_to_no_cycle_is_one_sentence(capsys, folder, words, sentence):
    answer(capsys, *OWN, "--out", "run.npz")
    if "many" in words:
        answer(capsys, "simulate", "mine.py:turning", "--dimension", 2, "--members", 2, *SHORT, "--out", "many.npz")
    assert sentence in refused(capsys, "continue", *words.split())


@pytest.mark.parametrize(
    ("times", "words"), [(None, "try more `--segments`"), (np.zeros((2, 3)), "from a `periodic_orbit` with")]
)
def test_the_end_of_orbits_that_are_not_resolved_says_how_to_go_on(capsys, times, words):
    """By shooting with other options; by collocation from the other side of a canard explosion."""
    states = Cycle(np.zeros((2, 3, 2)), np.ones(2), times)
    orbits = Branch(states, np.array([0.0, 1.0]), np.array([0.0, 1.0]), np.zeros((2, 1)), ("stable",) * 2, (),
                    ("Hopf point", "accuracy"))  # fmt: skip
    say_ends("a", Diagram("a", (), (), (orbits,)))
    said = capsys.readouterr().out
    assert said.startswith("a branch ends where")
    assert words in said


@pytest.mark.slow
def test_the_cycle_of_a_run_is_continued_written_drawn_and_extended(capsys, folder):
    answer(capsys, *OWN, "--out", "run.npz")
    words = ("continue", "mine.py:turning", "--segments", 3, "--out", "cycles.npz", "--figure", "cycles.png", "--force")
    said = answer(capsys, *words, "--from", "run.npz", "--parameter", "mu=1.5:2.5")
    assert said.startswith("stable periodic orbit of period 6.2831853 with the multipliers")
    assert "1 branch of periodic orbits in mu: no bifurcation" in said
    said = answer(capsys, *words, "--start", 1, 0, "--resume", "cycles.npz", "--parameter", "mu=1:4")
    assert "parameter 1 to 4: no bifurcation; ends: bounds" in said
    said = answer(capsys, *words, "--cycle", "--start", 1, 0, "--parameter", "mu=0.5:2.5")
    assert "parameter 0.5 to 2.5" in said
    assert "leads to another limit" in refused(
        capsys, "continue", "mine.py:halved", "--cycle", "--start", 1, 0, "--parameter", "mu=0.5:2.5"
    )


@pytest.mark.slow
def test_the_equilibrium_of_a_run_is_continued(capsys, folder):
    answer(capsys, "simulate", "mine.py:halved", "--start", 0.1, 0, *SHORT, "--out", "run.npz")
    said = answer(capsys, "continue", "mine.py:halved", "--from", "run.npz", "--parameter", "mu=0.5:2.5")
    assert said.startswith("stable equilibrium at")
    assert "parameter 0.5 to 2.5: no bifurcation; ends: bounds" in said


@pytest.mark.parametrize(("law", "kind"), [
    (lambda d: -2 * np.log(d), "homoclinic or heteroclinic orbit"),
    (lambda d: 2 / np.sqrt(d), "saddle-node on a cycle"),
    (lambda d: 5 - d, ""),
])  # fmt: skip
def test_the_longest_periods_of_a_branch_tell_their_limit(capsys, law, kind):
    d, none = np.geomspace(1e-7, 1.0, 40), np.empty(0)
    periods = law(d)
    orbits = Branch(Cycle(np.zeros((40, 1, 2)), periods), 0.25 - d, d, none, ("",) * 40, (), ("period", "bounds"))
    say_ends("mu", SimpleNamespace(branches=(), orbits=(orbits,)))
    said = capsys.readouterr().out
    assert said.startswith("a branch ends at the longest period")
    grows = f"the longest periods of a branch grow as towards a {kind}, at about mu = 0.25\n"
    assert said.endswith(grows) if kind else "grow" not in said
