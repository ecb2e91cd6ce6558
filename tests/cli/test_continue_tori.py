"""`dynsim continue --tori`: tori from Neimark-Sacker points, in files, figures and reports."""

import csv

import pytest

from analysis.dynamics import load_diagram
from tests.support.commands import answer, refused

DELAYED = ("continue", "x[n+1] = r*x*(1 - y); y[n+1] = x", "--parameter")
START = ("--start", 0.47, 0.47)


def test_invariant_circles_of_a_map_are_continued_drawn_and_stored(capsys, tmp_path):
    """Maynard Smith's map turns by a sixth where its circles begin, at r = 2."""
    out, figure, last = (tmp_path / name for name in ("a.npz", "a.png", "circle.png"))
    words = (*DELAYED, "r=1.5:2.05", *START, "--r", 1.9, "--tori", "--max-tori", 3)
    said = answer(capsys, *words, "--out", out, "--figure", figure, "--torus-figure", last)
    assert "3 attracting tori, r from 2.0" in said
    assert "a branch of tori ends at the largest number of tori (`--max-tori` sets it)" in said
    assert figure.exists()
    assert last.exists()
    diagram = load_diagram(out)
    assert str(diagram) == "1 branch, 1 of tori in r: 1 Neimark-Sacker point"
    (known,) = diagram.tori
    assert known.rotations[0] == pytest.approx(1 / 6, abs=1e-3)
    said = answer(capsys, *words, "--resume", out, "--out", tmp_path / "a.csv", "--figure", figure, "--force")
    assert said.count("3 attracting tori") == 1
    rows = list(csv.DictReader((tmp_path / "a.csv").read_text().splitlines()))
    tori = [row for row in rows if row["solution"] == "torus"]
    assert [float(row["rotation"]) for row in tori] == pytest.approx(known.rotations)
    assert [float(row["x_max"]) for row in tori] == pytest.approx(
        [one.circle()[:, 0].max() for one in known.tori], rel=1e-3
    )


def test_a_point_without_tori_is_named_with_its_reason(capsys):
    """The eigenvalues of a turn by a quarter are +-i: a strong resonance."""
    turn = "x[n+1] = -(1 + a)*y; y[n+1] = (1 + a)*x*(1 - x^2)"
    words = ("continue", turn, "--a", -0.1, "--parameter", "a=-0.2:0.2", "--start", 0, 0, "--tori")
    said = answer(capsys, *words)
    assert "no torus is continued from the Neimark-Sacker point at a = 0" in said
    assert "which must have no strong resonance" in said


def test_no_point_is_said(capsys):
    assert "there is no Neimark-Sacker point" in answer(capsys, *DELAYED, "r=1.5:1.8", *START, "--r", 1.6, "--tori")


@pytest.mark.parametrize(("words", "sentence"), [
    (("lorenz", "--parameter", "rho=1:2", "--tori"), "`tori` must be given with `--cycles`, `--cycle` or `--from`"),
    ((*DELAYED[1:], "r=1:2", "--torus-figure", "a.png"), "`tori` must be given with `--torus-figure`, but is not"),
    ((*DELAYED[1:], "r=1:2", "--tori", "--torus-figure", "a.txt"), "`torus_figure` must end in"),
    ((*DELAYED[1:], "r=1:2", "--tori", "--max-tori", 1), "`max_tori` must be"),
])  # fmt: skip
def test_options_that_do_not_fit_are_refused(capsys, words, sentence):
    assert sentence in refused(capsys, "continue", *words)


LANGFORD = "x' = (z - 0.7)*x - 3.5*y; y' = 3.5*x + (z - 0.7)*y; z' = 0.6 + z - z^3/3 - (x^2 + y^2)*(1 + p*z)"


@pytest.mark.slow
def test_the_torus_of_langford_is_drawn_as_a_surface(capsys, tmp_path):
    figures = ("--figure", tmp_path / "a.png", "--torus-figure", tmp_path / "torus.png")
    words = ("continue", LANGFORD, "--p", 0.7, "--parameter", "p=0.4:0.8", "--cycle", "--start", 0.9, 0, 0.7)
    said = answer(capsys, *words, "--tori", "--max-tori", 4, *figures)
    assert "Neimark-Sacker point at 0.615447" in said
    assert "4 attracting tori, p from" in said
    assert (tmp_path / "torus.png").exists()
