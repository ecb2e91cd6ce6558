"""`dynsim spectrum`, `recurrence` and `chaos`: what they print, the files they write, and what they refuse."""

import numpy as np
import pytest

from tests.support.commands import answer, refused


def test_a_spectrum_of_a_cycle_of_four_steps_has_its_peaks(capsys, tmp_path):
    out, figure = tmp_path / "a.csv", tmp_path / "a.svg"
    said = answer(capsys, "spectrum", "logistic", "--r", 3.5, "--count", 512, "--out", out, "--figure", figure)
    assert said.splitlines()[0] == "highest peaks at 0.5, 0.25"
    assert (len(out.read_text().splitlines()), figure.is_file()) == (258, True)


def test_a_recurrence_plot_of_a_cycle_is_all_lines(capsys, tmp_path):
    out = tmp_path / "a.npz"
    said = answer(capsys, "recurrence", "logistic", "--r", 3.5, "--count", 512, "--transient", 300, "--threshold", 0.01,
                  "--out", out)  # fmt: skip
    assert "determinism       1\n" in said
    assert "threshold 0.01: rate 0.2485" in said
    assert len(np.load(out)["t"]) == 512 * 512 / 4


@pytest.mark.parametrize(("r", "k"), [(3.5, 0.0), (4.0, 1.0)])
def test_the_0_1_test_tells_regular_from_chaotic(capsys, r, k):
    said = answer(capsys, "chaos", "logistic", "--r", r, "--count", 512, "--start", 0.3, "--frequencies", 30)
    assert float(said.split("K = ")[1].split()[0]) == pytest.approx(k, abs=0.05)


@pytest.mark.parametrize(("line", "sentence"), [
    ("spectrum logistic --spacing 0.1", "`spacing` must be left out for a map"),
    ("spectrum logistic --count 4", "`count` must be at least 8"),
    ("spectrum logistic --rtol 1e-5", "`rtol` must be left out for a map"),
    ("spectrum logistic --count 64 --component y", "`component` must name a component of the state, x, but is `y`"),
    ("recurrence lorenz --spacing 0", "`spacing` must be a positive number"),
    ("chaos logistic --count 64", "`data` must have at least 100 values"),
    ("chaos logistic --out a.txt", "`out` must end in"),
])  # fmt: skip
def test_options_that_do_not_fit_are_refused(capsys, line, sentence):
    assert sentence in refused(capsys, *line.split())
