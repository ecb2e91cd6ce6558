"""`dynsim simulate fast-slow`: what it says of a system, the files it writes, and its refusals."""

import pytest

from dynsim import load
from tests.cli.test_command_line import refused, run

OWN = "tests/support/fast_slow_system.py"


@pytest.mark.slow
def test_an_example_has_its_folds_its_file_and_its_figure(capsys, tmp_path):
    out, drawn = tmp_path / "run.npz", tmp_path / "run.pdf"
    words = ("--epsilon", 0.1, "--compare", 0, "--frames", 51, "--out", out, "--figure", drawn)
    status, said, _ = run(capsys, "simulate", "fast-slow", "van-der-pol", *words)
    assert status == 0
    assert "repelling at 107 of 109 points" in said
    assert "ends at a fold, x = -1, y = 0.666667" in said
    assert drawn.stat().st_size > 1000
    assert load(out).ys.fast.shape == (51,)
    status, said, _ = run(capsys, "simulate", out)
    assert status == 0
    assert "identical bit for bit" in said


@pytest.mark.slow
def test_several_epsilons_have_an_order_and_a_file_each(capsys, tmp_path):
    words = ("linear", "--epsilon", 3e-3, 1e-3, 3e-4, "--frames", 5, "--out", tmp_path / "run.npz")
    status, said, _ = run(capsys, "simulate", "fast-slow", *words)
    assert status == 0
    assert "The error of y has order 1.00" in said
    assert sorted(file.name for file in tmp_path.iterdir()) == ["run-0.0003.npz", "run-0.001.npz", "run-0.003.npz"]


@pytest.mark.parametrize("name", [pytest.param("given", marks=pytest.mark.slow), "by_epsilon"])
def test_a_system_of_the_users_is_followed_and_compared(capsys, tmp_path, name):
    out = tmp_path / "run.npz"
    words = ("--fast", 0.0, "--slow", 1.0, "--window", 0.5, 1.0, "--guess", 0.2, "--epsilon", 1e-3, "--out", out)
    status, said, _ = run(capsys, "simulate", "fast-slow", f"{OWN}:{name}", *words)
    assert status == 0
    assert "attracting at 161 of 161 points" in said
    assert "fewer than three epsilons" in said
    final = load(out, trust=("tests.support.fast_slow_system", OWN)).final
    assert float(final.slow) == pytest.approx(0.5, abs=1e-3)  # y' = -y^2
    assert float(final.fast) == pytest.approx(float(final.slow) ** 2, abs=1e-3)


@pytest.mark.slow
def test_a_run_that_does_not_reach_its_end_is_said_and_counts(capsys):
    words = ("saddle", "--epsilon", 1e-3, "--fast", 1.0, 2.0, "--end", 0.8, "--rtol", 1e-3)
    status, said, _ = run(capsys, "simulate", "fast-slow", *words)
    assert status == 1
    assert "saddle at 161 of 161 points" in said
    assert "only reached t = 0.7" in said


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("van-der-pool",), "did you mean `van-der-pol`"),
        (("--epsilon", "0"), "`epsilon` must be a positive number"),
        (("--epsilon", "-1e-3"), "`epsilon` must be a positive number"),
        (("--frames", "1"), "be at least 2"),
        (("--fast", "1", "2"), "`fast` must hold 1 numbers, but holds 2"),
        (("--window", "1"), "`window` must be two numbers"),
        (("linear", "--epsilon", "0.3"), "`epsilons` must be so small that the boundary layer ends before 0.5"),
        ((f"{OWN}:given",), "`fast` must be given for a system of yours"),
        ((f"{OWN}:given", "--fast", "0", "--slow", "1", "--figure", "a.pdf"), "be given with a `--window`"),
        ((f"{OWN}:wrong", "--fast", "0", "--slow", "1"), "be a `FastSlowFlow`, or a function of epsilon"),
        ((f"{OWN}:vectors", "--fast", "0", "--slow", "1"), "one number is a scalar), but line"),
        ((f"{OWN}:gone", "--fast", "0", "--slow", "1"), "does not exist"),
        (("--out", "/proc/nowhere/run.npz"), "must be a folder"),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence(capsys, words, sentence):
    assert sentence in refused(capsys, "simulate", "fast-slow", *words)


def test_the_name_is_listed(capsys):
    assert "fast-slow" in run(capsys, "list", "systems")[1]
