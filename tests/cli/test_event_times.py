"""`dynsim simulate --event`: times at which components pass values."""

import csv

import numpy as np
import pytest
import scipy.special

from dynsim.cli.simulate.events import events_of
from dynsim.systems.named import Components
from tests.support.commands import answer, refused

KNOWN = Components(("v", "w"), ("mV", ""))


def test_events_of_words():
    up, both = (one.event for one in events_of(["w=0.5:up", "v=-1e-3"], KNOWN))
    assert (up.direction, both.direction) == (1, 0)
    assert (up.fn(0.0, np.array([1.0, 2.0])), both.fn(0.0, np.array([1.0, 2.0]))) == (1.5, 1.001)
    for bad in ("v", "v=", "v=x", "v=inf", "v=0:left"):
        with pytest.raises(
            ValueError, match="`event` must be NAME=VALUE, NAME=VALUE:up or NAME=VALUE:down with one of v"
        ):
            events_of([bad], KNOWN)
    with pytest.raises(ValueError, match="`event` must name a component of the state, v, w, but is `u`"):
        events_of(["u=0"], KNOWN)


def test_an_angle_passes_a_value_in_every_turn(capsys, tmp_path):
    """The phase of a neuron that fires (Ermentrout, Kopell, 1986) passes pi once in a period of pi / sqrt(I)."""
    neuron, words = (
        "th' = 1 - cos(th) + (1 + cos(th))*I",
        ("--I", "0.25", "--start", "0", "--end", "20", "--rtol", "1e-10"),
    )
    asked = ("--angle", "th", "--event", f"th={np.pi}:up", f"th={np.pi}:down", "--events-out", tmp_path / "times.csv")
    said = answer(capsys, "simulate", neuron, *words, *asked)
    assert ":up: 3 events" in said
    assert ":down: 0 events" in said
    times = [float(row[1]) for row in csv.reader((tmp_path / "times.csv").read_text().splitlines()[1:])]
    assert times == pytest.approx(np.pi * np.array([1.0, 3.0, 5.0]), abs=1e-7)


@pytest.mark.slow
def test_a_pendulum_passes_its_rest_after_a_quarter_period(capsys, tmp_path):
    words = ("simulate", "pendulum", "--start", "1", "0", "--end", "9", "--integrator", "scipy", "--rtol", "1e-10")
    said = answer(capsys, *words, "--event", "angle=0:down", "--events-out", tmp_path / "times.csv")
    assert "angle=0:down: 2 events at t = 1.67499, 8.37497" in said
    (_, first, second) = csv.reader((tmp_path / "times.csv").read_text().splitlines())
    quarter = scipy.special.ellipk(np.sin(0.5) ** 2)
    assert [float(first[1]), float(second[1])] == pytest.approx([quarter, 5 * quarter], rel=1e-8)


@pytest.mark.parametrize(("words", "sentence"), [
    ("lorenz --events-out a.csv", "`events_out` must be left out without `--event`"),
    ("lorenz --event x=0 --events-out a.txt", "`events_out` must end in .npz, .csv or .parquet"),
    ("logistic --event x=0.5", "`event` must be left out for a map"),
    ("lorenz --event x=0 --members 2", "`event` must be left out for an ensemble"),
    ("lorenz --event x=0 --noise 0.1", "`noise` must be left out with `--event`"),
    ("oja --event x=0", "`event` must be left out for a state that is no vector"),
])  # fmt: skip
def test_events_are_refused_where_there_are_none(capsys, tmp_path, monkeypatch, words, sentence):
    monkeypatch.chdir(tmp_path)
    assert sentence in refused(capsys, "simulate", *words.split())
