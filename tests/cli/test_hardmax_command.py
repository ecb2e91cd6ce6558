"""`dynsim simulate hardmax`: what it says of a run, the files it writes, and its refusals."""

import numpy as np
import pytest

from dynsim import load
from tests.cli.test_command_line import refused, run


@pytest.fixture
def example(tmp_path):
    """Return Example 5.2 as a user would type it."""
    file = tmp_path / "points.csv"
    file.write_text("# three tokens\n-1, 1\n0, 3\n12, 4\n")
    return file


def test_an_exact_run_ends_with_leaders_and_a_certificate(capsys, tmp_path, example):
    out, drawn = tmp_path / "run.npz", tmp_path / "run.pdf"
    words = ("--arithmetic", "exact", "--layers", 8, "--initial", example, "--out", out, "--figure", drawn)
    status, said, _ = run(capsys, "simulate", "hardmax", *words)
    assert status == 0
    assert "The hypotheses of Theorem 1.1 hold." in said
    assert "token 0 at (-2/3, 5/3)" in said
    assert "Certified: the follower sets are constant from layer 1 on" in said
    assert drawn.stat().st_size > 1000
    final = load(out).final
    assert str(final[0, 0]) == "-2/3"
    status, said, _ = run(capsys, "simulate", out)
    assert status == 0
    assert "identical bit for bit" in said


def test_fractions_and_decimals_of_a_file_are_taken_as_they_are_written(capsys, tmp_path):
    file = tmp_path / "points.csv"
    file.write_text("1/3,0.1\n-0.3,0.3\n1e1,2\n")
    out = tmp_path / "run.npz"
    assert (
        run(capsys, "simulate", "hardmax", "--arithmetic", "exact", "--initial", file, "--layers", 2, "--out", out)[0]
        == 0
    )
    assert [str(entry) for entry in load(out).initial.ravel()] == ["1/3", "1/10", "-3/10", "3/10", "10", "2"]


def test_a_float_run_says_up_to_where_it_is_certain(capsys, tmp_path, example):
    out = tmp_path / "run.npz"
    status, said, _ = run(
        capsys, "simulate", "hardmax", "--layers", 6, "--every", 3, "--initial", example, "--out", out
    )
    assert status == 0
    assert "follower sets proved equal to exact arithmetic from the same start in the first 6 layers" in said
    np.testing.assert_array_equal(np.asarray(load(out).ts), [0, 3, 6])
    tie = tmp_path / "tie.csv"
    tie.write_text("1,1\n1,-1\n0.3,0\n0.1,0.7\n")
    status, said, _ = run(capsys, "simulate", "hardmax", "--layers", 6, "--initial", tie)
    assert "start in the first 1 layers" in said


def test_a_softmax_run_and_a_given_matrix(capsys, tmp_path, example):
    matrix = tmp_path / "A.npy"
    np.save(matrix, np.array([[2.0, 1.0], [1.0, 1.0]]))
    words = ("--arithmetic", "softmax", "--temperature", 0.1, "--attention", matrix, "--initial", example)
    assert run(capsys, "simulate", "hardmax", *words)[0] == 0
    skew = tmp_path / "skew.csv"
    skew.write_text("1,2\n0,1\n")
    status, said, _ = run(capsys, "simulate", "hardmax", "--attention", skew, "--initial", example)
    assert status == 0
    assert "A is not symmetric" in said
    status, said, _ = run(
        capsys, "simulate", "hardmax", "--attention", skew, "--initial", example, "--arithmetic", "exact"
    )
    assert status == 0
    assert "ertified" not in said


@pytest.mark.parametrize(
    ("text", "words", "sentence"),
    [
        ("1,2\n3,x\n", (), "line 2 of"),
        ("1,2\n3\n", (), "holds 1, not 2"),
        ("1,2\n1/0,3\n", ("--arithmetic", "exact"), "line 2 of"),
        ("# nothing\n", (), "is empty"),
        ("1,nan\n", (), "be finite"),
        ("1,2,3\n", ("--figure", "x.pdf"), "be given only for tokens in the plane"),
        ("1,2\n", ("--alpha", "-1"), "`alpha` must not be -1"),
        ("1,2\n", ("--alpha", "half"), "`alpha` must be a finite number"),
        ("1,2\n", ("--arithmetic", "softmax", "--temperature", "0"), "`temperature` must be positive"),
        ("1,2\n", ("--layers", "0"), "be at least 1"),
        ("1,2\n", ("--layers", "5", "--every", "2"), "be a multiple of `--every` (2)"),
        ("1,2\n", ("--attention", "missing.npy"), "be a file that can be read"),
        ("1,2\n", ("--out", "/proc/nowhere/run.npz"), "must be a folder"),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence(capsys, tmp_path, text, words, sentence):
    file = tmp_path / "points.csv"
    file.write_text(text)
    assert sentence in refused(capsys, "simulate", "hardmax", "--initial", file, *words)


def test_a_matrix_of_another_dimension_is_refused_and_the_name_is_listed(capsys, tmp_path, example):
    matrix = tmp_path / "A.csv"
    matrix.write_text("1,0,0\n0,1,0\n0,0,1\n")
    assert "have the dimension 3" in refused(capsys, "simulate", "hardmax", "--attention", matrix, "--initial", example)
    assert "did you mean `hardmax`" in refused(capsys, "simulate", "hardmx")
    assert "hardmax" in run(capsys, "list", "systems")[1]
