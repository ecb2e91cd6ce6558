"""Switched systems: common Lyapunov functions and dwell times, known results and near misses of one condition."""

import math
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import dynsim as ds
from analysis import theorems as th
from tests.theorems.reports import flow, not_holding

JOINT = "V is larger elsewhere and falls in every mode"
ORIGIN = [0.0, 0.0]
BOX = [(-1.0, 1.0), (-1.0, 1.0)]
SPIRALS = [np.array([[-0.1, 1.0], [-2.0, -0.1]]), np.array([[-0.1, 2.0], [-1.0, -0.1]])]  # Liberzon, example 2.1


def linear(A) -> Any:
    (a, b), (c, d) = np.asarray(A, float)
    return flow("x' = a*x + b*y; y' = c*x + d*y", a=a, b=b, c=c, d=d)


class TestCommonFunctions:
    """What needs clarabel."""

    @pytest.fixture(autouse=True)
    def solver(self):
        pytest.importorskip("clarabel", reason="sums of squares need clarabel, of the extra `certificates`")

    def test_triangular_modes_have_a_common_function(self):
        """Liberzon, section 2.2.3: stable upper triangular matrices always have one."""
        found = th.common_lyapunov([linear([[-1, 5], [0, -2]]), linear([[-3, -7], [0, -0.5]])], ORIGIN)
        assert not_holding(found) == []
        assert found.is_certified

    @pytest.mark.slow
    def test_nonlinear_modes_have_one_for_all_states_and_in_a_region(self):
        modes = [flow("x' = -x - x^3 + y; y' = -y"), flow("x' = -x; y' = -y - y^3 - x")]
        assert th.common_lyapunov(modes, ORIGIN, V=lambda x: x @ x).applies
        assert th.common_lyapunov(modes, ORIGIN, region=BOX).numbers["c"] > 0

    def test_a_function_is_found_just_as_long_as_there_is_one(self):
        """X' = [[-1, -1], [1, -1]] x and its image under x1 -> a x1: a common one exists below 3 + sqrt(8)."""
        for ratio, status in ((5.82, "holds"), (5.84, "fails")):
            modes = [linear([[-1, -1], [1, -1]]), linear([[-1, -ratio], [1 / ratio, -1]])]
            found = th.common_lyapunov(modes, ORIGIN)
            assert found.status in (status, "undecided")
            assert (found.status == "holds") == (status == "holds")

    def test_a_mixture_that_is_unstable_excludes_one(self):
        modes = [linear([[-1, 9], [0, -1]]), linear([[-1, 0], [9, -1]])]
        assert not_holding(th.common_lyapunov(modes, ORIGIN)) == [(JOINT, "fails")]

    def test_an_equilibrium_that_is_not_common_is_named(self):
        modes = [flow("x' = -x; y' = -y"), flow("x' = -x + 1e-15; y' = -y")]
        assert not_holding(th.common_lyapunov(modes, ORIGIN)) == [("mode 2 rests", "fails")]


def test_dwell_times_make_switching_stable_and_fast_switching_is_not():
    found = th.dwell_time([linear(A) for A in SPIRALS])
    assert not_holding(found) == []
    assert found.numbers["dwell"] == pytest.approx(math.log(found.numbers["mu"]) / found.numbers["rate"])
    times = np.linspace(0.1, 1.5 * found.numbers["dwell"], 60)
    radius = lambda t: np.max(
        np.abs(np.linalg.eigvals(np.linalg.multi_dot([scipy.linalg.expm(A * t) for A in SPIRALS])))
    )
    assert max(radius(t) for t in times) > 1  # switching may be unstable,
    assert all(radius(t) < 1 for t in times if t > found.numbers["dwell"])  # but not slower than that
    slow, fast = (th.dwell_time(SPIRALS, time=share * found.numbers["dwell"]) for share in (1.01, 0.99))
    assert slow.applies
    assert not_holding(fast) == [("the modes are switched slowly enough", "undecided")]


@pytest.mark.parametrize(
    ("modes", "expected"),
    [
        ([SPIRALS[0], [[0.001, 1.0], [-1.0, 0.0]]], ("mode 2 is stable", "fails")),
        ([[[0.1 * 3 - 0.3]], [[-1.0]]], ("mode 1 is stable", "fails")),  # an eigenvalue of 6e-17
        ([SPIRALS[0], [[0.0, 1.0], [-1.0, 0.0]]], ("mode 2 is stable", "undecided")),
        ([flow("x' = -x - x^3"), flow("x' = -x")], ("all modes are linear", "fails")),
    ],
)
def test_a_near_miss_names_the_one_condition(modes, expected):
    assert not_holding(th.dwell_time(modes)) == [expected]


def test_a_function_with_a_slope_at_the_equilibrium_is_no_lyapunov_function():
    """Its Hessian is definite near the equilibrium, and it is larger farther off, but not beside it."""
    modes = [flow("x' = -x + 0*u", u=0.0), flow("x' = -2*x")]
    V = lambda x: x[0] + 1000 * x[0] ** 2
    assert ("V is stationary there", "fails") in not_holding(
        th.common_lyapunov(modes, [0.0], V=V, region=[(-1.0, 1.0)])
    )
    driven = ds.Parameter(modes[0], "u", -0.1, 0.1)
    assert ("V is stationary there", "fails") in not_holding(
        th.input_to_state(driven, V, [(-1.0, 1.0)], [0.0], rate=0.5, gain=1.0)
    )


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: th.dwell_time([SPIRALS[0]]), "`modes` must be two or more"),
        (lambda: th.dwell_time([[[-1.0]], SPIRALS[0]]), "`modes` must have equally many components"),
        (lambda: th.dwell_time([np.ones((2, 3)), SPIRALS[0]]), "`modes` must be a square matrix"),
        (lambda: th.common_lyapunov([flow("x' = -x")], [0.0]), "`modes` must be two or more"),
    ],
)
def test_bad_input_is_named(call, said):
    with pytest.raises(ValueError, match=said):
        call()
