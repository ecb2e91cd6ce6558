"""Symbolic computations end at a count of their work, with one sentence."""

import re
import time

import pytest
import sympy as sp

import dynsim as ds
from analysis import dynamics as ad
from analysis.dynamics.symbolic import effort
from analysis.dynamics.symbolic.algebra import solve_polynomials
from analysis.dynamics.symbolic.effort import bounded_effort, check_size
from dynsim.errors import ArgumentError
from tests.support.commands import answer

HARD = "x' = x^4 + a*y^3*x - b*x*y + 1; y' = y^4 + b*x^3*y - a + x; a = 1; b = 2"
"""Within the limits of degree and terms; sympy alone needs many minutes."""
X, Y, A = sp.symbols("x y a")


def work(most: int) -> int:
    with bounded_effort(most=most):
        assert solve_polynomials([X**2 + A * Y**2 - 1, A * X - Y], [], (X, Y)).count == 2
        return most - effort._LEFT.get()[0]  # pyright: ignore[reportOptionalSubscript]


def test_the_same_work_is_allowed_each_time():
    counts = [work(100_000) for _ in range(3)]
    assert len({*counts}) == 1
    assert work(counts[0]) == counts[0]
    with pytest.raises(ArgumentError, match=re.escape(f"within {counts[0] - 1:,} comparisons of monomials")):
        work(counts[0] - 1)


def test_limits_hold_in_the_innermost_context():
    big = sp.Add(*(X**k * Y**j for k in range(60) for j in range(60)))
    assert check_size(big) is big  # no context, no limit
    with bounded_effort(most=10**9):
        with pytest.raises(ArgumentError, match="`system` must have results .* within 5 comp"), bounded_effort(most=5):
            check_size(big)
        assert work(100_000) > 0


@pytest.mark.slow
def test_an_elimination_of_many_minutes_ends_with_a_sentence(capsys):
    before = time.process_time()
    with pytest.raises(ArgumentError, match="needs more: give more parameters their numbers"):
        ad.equilibrium_formulas(ds.system(HARD))
    assert time.process_time() - before < 30  # 1 s
    said = answer(capsys, "symbolic", HARD, "--degree", 1)
    assert "equilibria in the parameters: Argument `system` must have results that are found within 1,000,000" in said
