"""`dynsim phase`: what it prints, the files it writes, and what it refuses."""

import numpy as np
import pytest

from tests.support.commands import answer, refused


@pytest.mark.slow
def test_responses_and_isochrons_are_printed_and_written(capsys, tmp_path):
    out, figure = tmp_path / "a.npz", tmp_path / "a.svg"
    said = answer(capsys, "phase", "van-der-pol", "--mu", 1, "--points", 21, "--out", out, "--figure", figure)
    assert "stable periodic orbit of period 6.663286" in said
    assert "phase response of an orbit of period 6.663286" in said
    assert (len(np.load(out)["Z_x"]), figure.is_file()) == (21, True)


@pytest.mark.parametrize(("line", "sentence"), [
    ("phase logistic", "`system` must be a flow for `dynsim phase`"),
    ("phase duffing", "`system` must be autonomous: the phase of a forced orbit is fixed, but depends on time."),
    ("phase van-der-pol --points 4", "`points` must be at least 8"),
    ("phase van-der-pol --box 0 1 0 1", "`box` must be left out without `--isochrons`"),
    ("phase van-der-pol --isochrons 4 --unit cycles", "`unit` must be left out with `--isochrons`"),
])  # fmt: skip
def test_options_that_do_not_fit_are_refused(capsys, line, sentence):
    assert sentence in refused(capsys, *line.split())
