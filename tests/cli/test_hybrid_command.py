"""`dynsim simulate` of equations with transitions `when(...)`."""

import csv

import numpy as np
import pytest

from dynsim.simulation.hybrid_trajectory import HybridTrajectory
from dynsim.simulation.run_files import load
from tests.support.commands import answer, refused

NEURON = "v' = I - v  # [mV]\nwhen(v > 1, v = 0)\nwhen(t > 2.5, stop)"


def test_transitions_of_a_text_are_simulated_printed_and_written(capsys, tmp_path):
    out, times = tmp_path / "run.npz", tmp_path / "times.csv"
    words = ("simulate", NEURON, "--I", "2", "--start", "0", "--end", "3", "--integrator", "scipy", "--frames", "7")
    said = answer(capsys, *words, "--out", out, "--events-out", times)
    assert "The run ended at t = 2.5 after 4 transitions: a terminal transition occurred." in said
    assert "when1, v > 1: 3 transitions at t = 0.693147, 1.38629, 2.07944, 0.693147 apart on average" in said
    assert "when2, t > 2.5: 1 transition at t = 2.5" in said
    head, *rows = csv.reader(times.read_text().splitlines())
    assert (head, [row[0] for row in rows]) == (["event", "t", "v (mV)"], ["when1", "when1", "when1", "when2"])
    assert [float(row[1]) for row in rows[:3]] == pytest.approx(np.log(2) * np.arange(1, 4), rel=1e-8)
    run = load(out)
    assert isinstance(run, HybridTrajectory)
    assert len(run.phases) == 4


def test_a_file_of_xppaut_with_events_is_simulated(capsys, tmp_path):
    (tmp_path / "cell.ode").write_text("par b=1\nm'=b*m\ninit m=1\nglobal 1 m-2 {m=m/2}\n@ total=1\ndone")
    said = answer(capsys, "simulate", tmp_path / "cell.ode", "--b", "2", "--integrator", "scipy")
    assert "The run ended at t = 1 after" in said
    assert "when1, m-2 > 0: 2 transitions at t = 0.346574, 0.693147" in said


@pytest.mark.parametrize(("words", "sentence"), [
    ("--members 3", "`members` must be left out for equations with transitions `when(...)`, but is 3"),
    ("--event v=0.5", "`event` must be left out for equations with transitions"),
    ("--movie a.gif", "`movie` must be left out for equations with transitions"),
    ("--end -1", "`end` must be after the initial time, 0, with transitions, but is -1"),
    ("--J 1", "`J` must be an option of `dynsim simulate` or a parameter of"),
])  # fmt: skip
def test_options_without_effect_on_transitions_are_refused(capsys, words, sentence):
    assert sentence in refused(capsys, "simulate", "v' = 2 - v; when(v > 1, v = 0)", "--start", "0", *words.split())
