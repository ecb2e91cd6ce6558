"""Ranges and grids of parameters, in the one spelling of all commands."""

import numpy as np
import pytest

from dynsim.cli.parsing.ranges import Range, named_range, named_values, parameter_values
from dynsim.systems.catalogue.oscillators import DoubleWell
from tests.support.commands import answer, refused, run


def test_a_range_is_a_name_with_two_ends():
    assert named_range("step-size=-1:2.5", "parameter") == Range("step_size", -1.0, 2.5)
    assert named_range("h=2:1", "against").bounds == (2.0, 1.0)


def test_a_grid_is_a_range_with_a_count_or_the_usual_one():
    assert named_values("h=0:1", 3, "against") == ("h", [0.0, 0.5, 1.0])
    assert named_values("h=0:1:5", 3, "against") == ("h", [0.0, 0.25, 0.5, 0.75, 1.0])
    assert parameter_values("h=1:0:2", 9, DoubleWell(), "vary") == ("h", [1.0, 0.0])


@pytest.mark.parametrize(("word", "sentence"), [
    ("", "must be NAME=LOW:HIGH, such as `rho=0:30`, but is ``"),
    ("h", "must be NAME=LOW:HIGH, such as `rho=0:30`, but is `h`"),
    ("h=1", "must be NAME=LOW:HIGH, such as `rho=0:30`, but is `h=1`"),
    ("h=0:1:2:3", "must be NAME=LOW:HIGH, such as `rho=0:30`, but is `h=0:1:2:3`"),
    ("=0:1", "must hold two different finite numbers after a name, but is `=0:1`"),
    ("h=1:1", "must hold two different finite numbers after a name, but is `h=1:1`"),
    ("h=0:inf", "must hold two different finite numbers after a name, but is `h=0:inf`"),
    ("h=0:1:1", "must end in a count of at least 2, such as `rho=0:30:61`, but ends in `1`"),
    ("h=0:1:2.5", "must end in a count of at least 2, such as `rho=0:30:61`, but ends in `2.5`"),
    ("hh=0:1", "must name a parameter of DoubleWell"),
])  # fmt: skip
def test_what_is_no_grid_is_refused(word, sentence):
    with pytest.raises(ValueError, match=r"^Argument `against` ") as found:
        parameter_values(word, 3, DoubleWell(), "against")
    assert sentence in str(found.value)


def test_a_range_that_must_ascend_is_refused_where_it_descends():
    with pytest.raises(ValueError, match="`parameter` must hold the lower end first, but is `h=1:0`"):
        named_range("h=1:0", "parameter", ascending=True)


def test_a_sweep_takes_evenly_spaced_values(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("def square(beta, gamma):\n    return beta**2 + gamma\n")
    said = answer(capsys, "sweep", "--function", "mine.py:square", "--beta", "0:3:4", "--gamma", "1", "2")
    assert "8 points (beta 4 x gamma 2): 8 ok" in said
    assert "value: from 1 to 11" in said
    status, said, _ = run(capsys, "sweep", "--function", "mine.py:square", "--beta=0:1:3", "--gamma", "1")
    assert "3 points" in said
    assert "`beta` must end in a count of at least 2" in refused(
        capsys, "sweep", "--function", "mine.py:square", "--beta", "0:1:x"
    )


@pytest.mark.parametrize("line", [
    "continue lorenz --parameter rho=0:1 --largest 1",
    "continue lorenz --parameter rho=0:1 --points 9",
    "lyapunov logistic --against r=1:2 --values 9",
    "section logistic --against r=1:2 --values 9",
    "basins henon --sample 9 --against a=0:1 --values 9",
    "portrait van-der-pol --vary mu=0:3 --movie a.gif --frames 9",
])  # fmt: skip
def test_other_spellings_are_refused(capsys, monkeypatch, tmp_path, line):
    monkeypatch.chdir(tmp_path)
    assert "must be an option of `dynsim " in refused(capsys, *line.split())
    assert not np.any(list(tmp_path.iterdir()))
