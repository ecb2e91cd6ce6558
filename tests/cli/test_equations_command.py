"""Equations as text wherever a command names a system."""

import re

import numpy as np
import pytest

from dynsim.__main__ import main
from tests.support.commands import answer, refused

SPRING = "x' = y; y' = -k*x - c*y"


def test_a_text_is_simulated_with_its_parameters(capsys):
    assert (
        main(["simulate", SPRING, "--k", "4", "--c", "0", "--start", "1", "0", "--end", "1", "--integrator", "scipy"])
        == 0
    )
    said = capsys.readouterr().out
    assert f"to ({np.cos(2):.6g}, {-2 * np.sin(2):.6g}) at t = 1" in said


def test_a_division_by_zero_at_the_start_is_told(capsys):
    assert main(["simulate", "x' = 1/x; x(0) = 0", "--end", "1", "--integrator", "scipy"]) == 1
    assert "the vector field is not finite" in capsys.readouterr().err


def test_a_text_with_a_start_and_a_map_need_no_options(capsys):
    assert main(["simulate", "x[n+1] = r*x*(1 - x); x[0] = 0.5; r = 4", "--end", "2", "--r", "2"]) == 0
    assert "2 steps, from (0.5) to (0.5)" in capsys.readouterr().out


def test_noise_of_a_text_is_simulated(capsys):
    words = ["simulate", "x' = s*x*dW; x(0) = 1", "--s", "0.5", "--end", "0.1", "--step-size", "0.05", "--frames", "2"]
    assert main(words) == 0
    ito = capsys.readouterr().out
    assert main([*words, "--calculus", "stratonovich"]) == 0
    assert capsys.readouterr().out != ito
    assert main([*words, "--noise", "0.1"]) == 2
    assert "`noise` must be left out for equations with noise" in capsys.readouterr().err


GROWTH = "x' = x; y' = -2*y; x(0) = 1; y(0) = 1\n# simulate: bounds=4\n# t: 0..3"


def test_a_run_ends_where_it_leaves_its_bounds(capsys, tmp_path):
    scipy = ("--integrator", "scipy", "--frames", 4)
    said = answer(capsys, "simulate", GROWTH, *scipy, "--out", tmp_path / "run.npz")
    assert "the run ends at t = 1.38629, where |x| exceeds 4 (`--bounds`)" in said
    assert "to (4, 0.0625) at t = 1.38629" in said
    assert "identical bit for bit" in answer(capsys, "simulate", tmp_path / "run.npz")
    assert "`--bounds`" not in answer(capsys, "simulate", GROWTH, *scipy, "--bounds", 21)
    assert "`bounds` must exceed all components of the start, at most 1, but is 0.5" in refused(
        capsys, "simulate", GROWTH, *scipy, "--bounds", 0.5
    )


def test_maps_and_transitions_end_at_their_bounds(capsys, tmp_path):
    (tmp_path / "a.ode").write_text("x'=2*x\ninit x=1\n@ total=20,bounds=100,meth=discrete,maxstor=9\ndone")
    said = answer(capsys, "simulate", tmp_path / "a.ode")
    assert "options of the file that are not used: maxstor\n" in said
    assert "the run ends at step 7, where |x| exceeds 100" in said
    fires = "v' = 1; u' = 1; v(0) = 0; when(v > 1, v = 0); # simulate: bounds=2.5"
    said = answer(capsys, "simulate", fires, "--end", 9, "--integrator", "scipy", "--frames", 3)
    assert "bounds, a component exceeds 2.5 (`--bounds`): 1 transition at t = 2.5" in said


@pytest.mark.slow
def test_noise_and_solutions_that_become_infinite_end_at_their_bounds(capsys):
    scipy = ("--integrator", "scipy", "--frames", 4)
    # a solution that becomes infinite ends at its bounds as well: tan(t) is 9 at 1.460139
    assert "at t = 1.46014, where |x| exceeds 9" in answer(
        capsys, "simulate", "x' = 1 + x^2; x(0) = 0", *scipy, "--end", 2, "--bounds", 9
    )
    drift = "x' = 1 + 0*dW; x(0) = 0; # simulate: step_size=0.25, bounds=1.7"
    said = answer(capsys, "simulate", drift, "--end", 4, "--frames", 5)
    assert "the run ends at t = 2, where |x| exceeds 1.7" in said
    assert "after 8 steps" in said  # of 0.25


@pytest.mark.slow
def test_a_varied_parameter_needs_no_value(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["continue", "x' = mu - x^2", "--parameter", "mu=0.5:1", "--start", "1", "--figure", "a.png"]) == 0
    assert "mu" in capsys.readouterr().out


def test_equations_are_exported(tmp_path, capsys):
    assert main(["export", SPRING, "--k", "4", "--c", "0.5", "--to", "xpp"]) == 0
    assert capsys.readouterr().out == "x'=y\ny'=-k*x-c*y\npar k=4\npar c=0.5\ndone\n"
    out = tmp_path / "spring.ode"
    assert main(["export", SPRING, "--k", "4", "--c", "0.5", "--out", str(out)]) == 0
    assert main(["export", str(out), "--c", "1", "--to", "latex"]) == 0
    assert "-k \\, x - c \\, y" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["portrait", "x' = nu*y; y' = -x", "--box", "-1", "1", "-1", "1"], "`system` must define `nu`.* at column 6"),
        (["portrait", "x' = 2y; y' = -x"], "`system` must have an operator between factors"),
        (["portrait", SPRING, "--k", "1", "--c", "1", "--q", "2"], "`q` must be an option of .* is neither"),
        (["simulate", SPRING, "--k", "1", "--c", "a"], "`c` must be a finite number"),
        (["simulate", SPRING, "--k", "1", "--c", "1", "--names", "a", "b"], "`names` must be left out unless"),
        (["simulate", "missing.ode"], "`missing.ode` cannot"),
        (["export", "lorenz"], "be equations without noise"),
        (["portrait", "x' = 1; when(x > 1, x = 0)"], "must be read by `hybrid_system` or `dynsim simulate` if it has"),
        (["portrait", "x' = y; y' = -x", "--box", "-3", "3"], "`box` must have 4 numbers"),
        (["simulate", "x' = -x", "--start", "1", "2"], "`start` must have 1 number, one for each component, but has 2"),
        (["basins", "x' = y; y' = -x", "--box", "-3", "3"], "`box` must have two bounds for each of 2 axes"),
        (["portrait", "x[n+1] = x"], "`system` must be a flow for `dynsim portrait`"),
    ],
)  # fmt: skip
def test_bad_texts_are_refused_in_one_sentence(words, sentence, capsys):
    assert main(words) == 2
    said, *shown = capsys.readouterr().err.splitlines()
    assert re.search(sentence, said)
    assert len(shown) == (2 if "column" in said else 0)  # the line of the text that is wrong, and a caret below it
    assert not shown or shown[1].strip() == "^"


def test_the_first_word_may_be_missing_in_the_file_of_options(capsys, tmp_path):
    (tmp_path / "run.toml").write_text('to = "xpp"\nk = 3\n')
    assert main(["export", "x' = -k*x", "--config", str(tmp_path / "run.toml")]) == 0
    assert "par k=3" in capsys.readouterr().out
    assert "`system` must be given as the first word" in refused(capsys, "export", "--config", tmp_path / "run.toml")


def test_an_option_that_has_the_name_of_a_parameter_is_told(capsys):
    assert main(["export", "x' = -seed*x; seed = 2", "--seed", "3"]) == 0
    said = capsys.readouterr()
    assert "the parameter `seed` of the system is set by `--parameters seed=VALUE`" in said.err
    assert "par seed=2" in said.out
    assert main(["export", "x' = -seed*x; seed = 2", "--seed", "3", "--parameters", "seed=4"]) == 0
    said = capsys.readouterr()
    assert not said.err
    assert "par seed=4" in said.out


def test_formulas_need_no_values_of_parameters(capsys):
    assert main(["symbolic", "x' = r*x - x^3", "--degree", "1"]) == 0
    free = capsys.readouterr().out
    assert "(sqrt(r))" in free
    assert free.count("equilibri") == 1
    assert main(["symbolic", "x' = r*x - x^3", "--degree", "1", "--r", "4"]) == 0
    assert capsys.readouterr().out.count("equilibri") == 2


@pytest.mark.slow
def test_formulas_of_equations_are_printed_and_written(tmp_path, capsys):
    text = "x' = a - (b + 1)*x + x^2*y; y' = b*x - x^2*y; a = 1; b = 3"
    assert main(["symbolic", text, "--curve", "a", "b", "--b", "2.5"]) == 0
    said = capsys.readouterr().out
    for part in (
        "(1, 5/2): unstable", "(a, b/a)", "x' = 0: y = (-a + b*x + x)/x^2", "conserved polynomials up to degree 4",
        "a^2 - b + 1 > 0", "first Lyapunov coefficient", "b = a^2 + 1, x = a, y = a + 1/a, where a^2 > 0",
    ):  # fmt: skip
        assert part in said
    out = tmp_path / "formulas.tex"
    assert main(["symbolic", "pendulum", "--to", "latex", "--out", str(out)]) == 0
    assert r"\sin" in out.read_text(encoding="utf-8")
    assert main(["symbolic", "lorenz", "--curve", "rho"]) == 2
    assert "`curve` must name two parameters, but names 1" in capsys.readouterr().err
    assert main(["symbolic", "lorenz", "--curve", "rho", "sigm"]) == 2
    assert "has `sigm`, did you mean `sigma`?" in capsys.readouterr().err


def test_parameters_with_names_of_options_of_the_papers_are_parameters(capsys, tmp_path):
    """The rate `beta` of an epidemic is no temperature of attention, also where it has that one's default value."""
    (tmp_path / "own.py").write_text("def decay(t, x, beta=3.0, scale=1.0):\n    return -beta * scale * x\n")
    run = ["--start", "1", "--end", "1", "--integrator", "scipy"]
    for words in (
        ["x' = -beta*x; beta = 3", "--beta", "1"],
        ["x' = -value*x", "--value=1"],
        [f"{tmp_path / 'own.py'}:decay", "--beta", "2", "--scale", "0.5"],
    ):
        assert main(["simulate", *words, *run]) == 0
        assert f"to ({np.exp(-1):.6g}) at t = 1" in capsys.readouterr().out
    assert "`beta` must be left out" in refused(capsys, "simulate", "x' = -k*x", "--k", "1", "--beta", "2", *run)
