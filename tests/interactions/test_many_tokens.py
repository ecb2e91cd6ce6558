"""`dynsim simulate token-flow` with many tokens: densities instead of states, and what it refuses."""

import re

import numpy as np
import pytest

from dynsim.__main__ import main
from dynsim.cli.simulate.densities import told
from dynsim.io.npz import read_arrays

FEW = ("simulate", "token-flow", "--tokens", "300", "--end", "3", "--frames", "4", "--rtol", "1e-3")


@pytest.mark.slow
def test_densities_are_kept_drawn_and_summarised(tmp_path, capsys):
    out, figure, movie = (tmp_path / name for name in ("run.npz", "density.png", "density.gif"))
    options = ("--dimension", "2", "--beta", "9", "--density", "30", "--end", "12")  # at t = 3 none is dense enough
    files = ("--out", str(out), "--figure", str(figure), "--movie", str(movie))
    assert main([*FEW, *options, *files]) == 0
    said = capsys.readouterr().out
    assert "degrees of harmonics" in said  # what was chosen, and why
    assert re.search(r"^[2-9] clusters at t = 12 hold 1 of the tokens: 0\.", said, re.MULTILINE)
    assert " clusters over time; " in said
    assert figure.stat().st_size > 1000
    assert movie.read_bytes().startswith(b"GIF")
    stored = [a for a in read_arrays(out).values() if a.shape == (1, 4, 30)]
    np.testing.assert_allclose(stored[0].sum(axis=-1), 1.0, atol=1e-12)


@pytest.mark.parametrize(("options", "sentence"), [
    (("--density", "30", "--dimension", "4"), "`density` must be left out unless the system is a token flow on"),
    (("--density", "30", "--space", "euclidean"), "`density` must be left out unless the system is a token flow on"),
    (("--density", "30", "--members", "2"), "`density` must be left out for an ensemble, but there are 2 members"),
    (("--density", "3"), "`density` must be at least 8"),
    (("--tolerance", "1e-8"), "must be left out unless the density is kept"),
    (("--density", "30", "--movie", "density.mp4"), "`movie` must end in .gif"),
    (("--density", "30", "--tolerance", "-1"), "`tolerance` must be positive"),
])  # fmt: skip
def test_what_cannot_be_done_is_one_sentence(options, sentence, capsys):
    assert main([*FEW, *options]) == 2
    assert sentence in capsys.readouterr().err


def test_clusters_are_told_by_their_number():
    assert told(np.array([]), 2.0) == "no cluster at t = 2"
    assert told(np.array([0.5]), 2.0) == "1 cluster at t = 2 holds 0.5 of the tokens: 0.5"
    assert told(np.array([0.5, 0.25]), 2.0) == "2 clusters at t = 2 hold 0.75 of the tokens: 0.5, 0.25"
