"""`dynsim continue --against`: the branches for many values of a second parameter, in one call."""

import csv

import pytest

from tests.support.commands import answer, refused

LORENZ = ("continue", "lorenz", "--rho", 10, "--parameter", "rho=0.5:30")


def test_branches_for_many_values_are_printed_and_listed(capsys, tmp_path):
    """Both equilibria of the field of a - b x^2 lie on one branch, with a fold at 0 for each b."""
    words = ("continue", "x' = a - b*x^2", "--a", 1, "--b", 1, "--start", 1, "--parameter", "a=-1:1")
    out = tmp_path / "a.csv"
    said = answer(capsys, *words, "--against", "b=-0.5:2:6", "--out", out)
    assert "2 values of b where an equilibrium is not found again: its curve in b does not reach them" in said
    assert "4 branches in a over b" in said
    assert "  4 folds: a = 0, b from 0.5 to 2\n" in said
    with out.open() as file:
        assert {float(row["b"]) for row in csv.DictReader(file)} == {0.5, 1.0, 1.5, 2.0}


@pytest.mark.slow
def test_equilibria_on_one_branch_are_continued_once_and_drawn(capsys, tmp_path):
    figure = tmp_path / "a.png"
    said = answer(capsys, *LORENZ, "--against", "sigma=9:11:3", "--component", "z", "--figure", figure)
    assert figure.stat().st_size > 1000
    assert "6 branches in rho over sigma" in said  # through zero, and through both others
    assert "  6 supercritical pitchforks: rho = 1, sigma from 9 to 11" in said
    assert "  6 subcritical Hopf points: rho from 24.7368 to 25, sigma from 9 to 11" in said


@pytest.mark.parametrize(("words", "sentence"), [
    (("--against", "sigma"), "`against` must be NAME=LOW:HIGH, such as `rho=0:30`, but is `sigma`"),
    (("--against", "rho=1:2"), "`against` must name a parameter other than `--parameter`, but also names `rho`"),
    (("--against", "sigme=1:2:3"), "`against` must name a parameter of Lorenz"),
    (("--against", "sigma=1:2:1"), "`against` must end in a count of at least 2"),
    (("--against", "sigma=1:2", "--cycles"), "`cycles` must be left out with `--against`"),
    (("--against", "sigma=1:2", "--mark", "x"), "`mark` must be left out with `--against`"),
    (("--against", "sigma=1:2", "--from", "a.npz"), "`from` must be left out with `--against`"),
])  # fmt: skip
def test_bad_values_are_refused_in_one_sentence(capsys, words, sentence):
    assert sentence in refused(capsys, *LORENZ, *words)
