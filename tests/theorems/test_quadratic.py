"""Quadratic Lyapunov functions: known basins, near misses of one condition, and what a sample does not see."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import dynsim as ds
from analysis import theorems as th
from analysis.theorems.quadratic import ellipsoid, is_unstable, lyapunov_matrix, lyapunov_solution, rounded
from dynsim.exact import rationals
from tests.theorems.reports import flow, not_holding

CUBIC = flow("x' = -x + x^3")
VAN_DER_POL = flow("x' = -y; y' = x - y + x^2*y")  # backwards in time; the basin ends at the cycle
PENDULUM = flow("x' = y; y' = -sin(x) - 0.5*y")
WELL = flow("x' = y; y' = x - x^3 - 0.5*y")


def test_the_box_of_an_ellipsoid_holds_it():
    """The extent in a direction is the square root of the level times the entry of the inverse, (1, 3; 3, 16) / 7."""
    found = ellipsoid(np.array([[16.0, -3.0], [-3.0, 1.0]]), np.array([5.0, -2.0]), 28.0)
    np.testing.assert_allclose(found.sides, [[5 - 2.02, 5 + 2.02], [-2 - 8.08, -2 + 8.08]])
    (inside,) = found.inside
    assert inside(np.array([7.0, 4.0])) == pytest.approx(0.0)
    ring = ellipsoid(np.diag([1.0, 4.0]), np.zeros(2), 9.0, 1.0)
    assert [float(g(np.array([0.0, 1.0]))) for g in ring.inside] == [5.0, 3.0]
    assert (found.is_convex, ring.is_convex) == (True, False)


def test_instability_is_shown_beyond_a_thousandth_of_the_largest_entry_where_eigenvalues_sum_to_zero():
    turn = [[0.0, 1.0], [-1.0, 0.0]]
    for matrix, unstable in (
        (np.diag([1.0, -2.0]), True), (np.diag([-1.0, -2.0]), False), (np.diag([1.0, -1.0]), True), (turn, False),
        (np.diag([0.01, -0.01, -5.0]), True), (np.diag([0.002, -0.002, -5.0]), False),
        ([[1.0, 8.0], [0.0, -2.0]], True), ([[-1.0, 8.0], [0.0, -2.0]], False),
    ):  # fmt: skip
        assert is_unstable(rationals("matrix", np.array(matrix))) == unstable


def test_equations_of_lyapunov_are_solved_or_shifted():
    A, Q = np.array([[-1.0, 2.0], [0.0, -0.5]]), np.array([[2.0, 0.5], [0.5, 1.0]])
    P, shift = lyapunov_solution(A, Q)  # pyright: ignore[reportGeneralTypeIssues]
    np.testing.assert_allclose(A.T @ P + P @ A, -Q, atol=1e-6)
    assert shift == 0
    np.testing.assert_allclose(lyapunov_matrix(A) @ [1.0, 0.0], np.array([1.5, 2.0]) / 3, atol=1e-6)
    for size, expected in ((1.0, 2.0**-10), (8.0, 2.0**-7)):
        P, shift = lyapunov_solution(np.diag([size, -size]))  # pyright: ignore[reportGeneralTypeIssues]
        assert shift == expected
        np.testing.assert_allclose(P, np.diag([-0.5 / (size - shift), 0.5 / (size + shift)]), rtol=1e-5)
    assert lyapunov_solution(np.array([[0.0, 1.0], [-1.0, 0.0]])) is None
    assert lyapunov_matrix(np.diag([1.0, -1.0 - 1e-9])) is None
    assert lyapunov_matrix(np.diag([1.0, -1.0 - 1e-6])) is not None


def test_matrices_are_rounded_to_short_fractions_of_their_largest_entry():
    found = rounded(np.array([[1 / 3, 2.0], [0.0, 100 / 3]]))
    np.testing.assert_allclose(found, [[1 / 3, 1.0], [1.0, 100 / 3]], atol=2.0**-19)
    assert found[0, 1] == found[1, 0] == 1.0
    assert float(found[1, 1] * 2**18).is_integer()  # of 24 bits
    assert not float(found[1, 1] * 2**17).is_integer()


@pytest.mark.parametrize(
    ("system", "near", "least", "most"),
    [
        (CUBIC, [0.01], 0.49, 0.5),  # V = x^2 / 2 falls exactly where |x| < 1
        (VAN_DER_POL, [0.0, 0.0], 2.2, 2.31),  # Khalil, example 8.9
        pytest.param(PENDULUM, [0.0, 0.0], 9.0, 9.3, marks=pytest.mark.slow),
        pytest.param(WELL, [0.9, 0.1], 0.17, 0.177, marks=pytest.mark.slow),
    ],
)
def test_a_part_of_the_basin_is_certified_up_to_where_the_function_does_not_fall(system, near, least, most):
    found = th.lyapunov_quadratic(system, near)
    assert not_holding(found) == []
    assert found.is_certified
    assert least < found.numbers["c"] < found.numbers["beyond"] < 1.01 * most
    assert found.numbers["c"] < most


@pytest.mark.slow
def test_the_level_is_the_one_up_to_which_the_general_theorem_holds():
    found = th.lyapunov_quadratic(VAN_DER_POL, [0.0, 0.0])
    P = np.array([[found.numbers["P11"], found.numbers["P12"]], [found.numbers["P12"], found.numbers["P22"]]])
    V = lambda x: x @ P @ x
    for level, status in ((found.numbers["c"], "holds"), (found.numbers["beyond"] * 1.01, "fails")):
        region = th.where([(-3.0, 3.0)] * 2, lambda x, c=level: c - V(x), bounds=False)
        assert th.lyapunov(VAN_DER_POL, V, region, [0.0, 0.0]).status == status


@pytest.mark.slow
def test_a_linear_flow_is_certified_as_far_as_it_is_asked_for():
    found = th.lyapunov_quadratic(flow("x' = -x + 4*y; y' = -2*y"), [0.0, 0.0], reach=3.0)
    assert found.applies
    assert "beyond" not in found.numbers
    assert found.region is not None
    assert np.max(found.region.sides) == pytest.approx(3.0, rel=0.05)


def test_a_narrow_gap_that_a_sample_misses_ends_the_level():
    found = th.lyapunov_quadratic(flow("x' = -x*(1 - 1e-6/((x - 0.3)^2 + 1e-7))"), [0.0])
    assert found.applies
    assert found.numbers["c"] < 0.3**2 / 2 < 1.01 * found.numbers["beyond"]


@pytest.mark.parametrize(
    "text", ["x' = x; y' = -y", pytest.param("x' = 0.02*x - y; y' = x + x*y", marks=pytest.mark.slow)]
)
def test_at_an_unstable_equilibrium_exactly_the_sign_of_the_function_fails(text):
    found = th.lyapunov_quadratic(flow(text), [0.0, 0.0])
    assert not_holding(found) == [("V = (x - x*)' P (x - x*) is positive definite", "fails")]
    assert found.is_certified


def test_at_a_centre_nothing_is_decided():
    found = th.lyapunov_quadratic(flow("x' = y; y' = -x - x^2*y"), [0.0, 0.0])
    assert not_holding(found) == [("V = (x - x*)' P (x - x*) is positive definite", "undecided")]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: th.lyapunov_quadratic(CUBIC, [0.0], weights=[-1.0]), "`weights` must be positive"),
        (lambda: th.lyapunov_quadratic(CUBIC, [0.0], reach=0.0), "`reach` must be positive"),
        (lambda: th.lyapunov_quadratic(flow("x' = 1 + x^2"), [0.0]), "`near` must be near a regular equilibrium"),
        (lambda: th.lyapunov_quadratic(flow("x[n+1] = x/2"), [0.0]), "`flow` must be a flow"),
    ],
)
def test_bad_input_is_named(call, said):
    with pytest.raises(ValueError, match=said):
        call()


@pytest.mark.slow
def test_a_part_of_the_basin_of_an_equilibrium_of_lorenz_is_certified():
    lorenz: Any = ds.catalogue.Lorenz(rho=jnp.array(10.0))
    found = th.lyapunov_quadratic(lorenz, [4.9, 4.9, 9.0])
    assert not_holding(found) == []
    assert 1.8 < found.numbers["c"] < found.numbers["beyond"] < 1.9
