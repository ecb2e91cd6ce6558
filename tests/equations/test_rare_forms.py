"""Forms of equations that few models have: indices with sums, letters that touch, files of XPPAUT without an end."""

from typing import Any

import numpy as np
import pytest

import dynsim as ds
from dynsim.equations import ode
from dynsim.equations.characters import source
from dynsim.programs import braces
from dynsim.programs.program import Operation


@pytest.mark.parametrize("index", ["i+1", "1+i", "2+i-1", "i+3-2", "(0+1)+i", "i-(-1)"])
def test_an_index_is_that_of_the_family_plus_whole_numbers(index):
    flow: Any = ds.system(f"x[i=1..3]' = 2*x[{index}]; x[4]' = x[1]")
    assert flow.velocity(0.0, np.array([1.0, 2.0, 4.0, 8.0])).tolist() == [4.0, 8.0, 16.0, 1.0]


@pytest.mark.parametrize("index", ["i+0.5", "2*i", "1-i", "i*1"])
def test_another_index_is_refused(index):
    with pytest.raises(ValueError, match=r"have indices that are `i`, `i\+1`, `i-1`, ... or whole numbers"):
        ds.system(f"x[i=1..3]' = x[{index}]")


def test_greek_letters_beside_latin_ones_are_names_of_their_own():
    assert [source(text).plain for text in ("aβ", "βa", "aβγb", "β1", "2β", "a β")] == [
        "a beta", "beta a", "a betagamma b", "beta1", "2beta", "a beta",
    ]  # fmt: skip


def test_powers_are_written_as_powers_and_steps_and_functions_in_latex():
    assert ds.export(ds.system("x' = -power(x, 3)"), "latex").count("^{3}") == 1
    found = ds.export(ds.system("x[n+1] = r*f(x[n]); f(u) = u*(1 - u); r = 3.5"), "latex")
    assert "x_{n+1}" in found.replace(" ", "")
    assert r"f(u)" in found.replace(" ", "")
    second = ds.export(ds.system("x'' = -x"), "latex").replace(" ", "")
    assert second.count(r"\frac{\mathrm{d}^2x}{\mathrm{d}t^2}") == 1
    assert r"\frac{\mathrm{d}y}{\mathrm{d}t}" in ds.export(ds.system("y' = -y"), "latex").replace(" ", "")


def test_a_chosen_case_is_written_with_conditions():
    operation, cases = Operation("select_n", (0, 1, 2, 3), np.dtype(float)), ["k", "a", "b", "c"]
    text = braces._selected(operation, cases, np.dtype(int), str)
    assert text == "(k <= 0 ? a : (k <= 1 ? b : c))"
    assert braces._selected(operation, ["k", "a", "b"], np.dtype(bool), str) == "k ? b : a"


def test_the_last_line_of_a_file_of_xppaut_may_be_continued():
    rows = list(ode._rows("a \\\n b\nc \\\n d \\"))
    assert rows == [(1, "a  b"), (3, "c  d")]
    assert list(ode._rows("a\nb")) == [(1, "a"), (2, "b")]


def test_arrays_of_xppaut_are_written_out_at_indices_in_both_directions():
    text = "%[1..3]\nx[j]'=-x[j-1]+x[j+1]\n%\nx0'=0\n%[3..2]\ny[j]'=j*y[j]+2*[j]\n%\nz[1..2]'=[j]*z[j+1]\ndone\n"
    assert [line for _, line in ode._lines(text)] == [
        "x1'=-x0+x2", "x2'=-x1+x3", "x3'=-x2+x4", "x0'=0", "y3'=j*y3+2*3", "y2'=j*y2+2*2", "z1'=1*z2", "z2'=2*z3",
        "done",
    ]  # fmt: skip
    assert [number for number, _ in ode._lines(text)] == [1, 1, 1, 4, 5, 5, 8, 8, 9]


def test_brackets_and_whole_numbers_of_xppaut():
    assert [ode._closing(text, 1) for text in ("(a)", "(a(b)c)", "(a", "()")] == [2, 6, 2, 1]
    texts = ("3", "2*3-1", "7/2", "-4", "a", "3.5", "2^3", "(1+2)*3", "+")
    assert [ode._whole(text) for text in texts] == [3, 5, None, -4, None, None, 8, 9, None]
