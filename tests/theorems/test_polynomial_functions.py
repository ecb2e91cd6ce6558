"""Polynomial Lyapunov functions by sums of squares: known results, near misses, and what rounding hides."""

import sys
from fractions import Fraction
from typing import Any

import pytest

import dynsim as ds
from analysis import theorems as th
from analysis.theorems.squares import MatrixFamily, is_positive, weights_of_squares
from tests.theorems.reports import flow, not_holding

ONE = Fraction(1)
JOINT = "V is larger elsewhere and falls along solutions"


def lorenz(rho: Any) -> Any:
    return ds.catalogue.Lorenz(rho=rho)


def test_a_missing_solver_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "clarabel", None)
    with pytest.raises(ValueError, match=r"the package clarabel: install `dynsim\[certificates\]`"):
        th.lyapunov_polynomial(flow("x' = -x"), [0.0])


class TestWithASolver:
    """What needs clarabel."""

    @pytest.fixture(autouse=True)
    def solver(self):
        pytest.importorskip("clarabel", reason="sums of squares need clarabel, of the extra `certificates`")

    @pytest.mark.parametrize(
        ("system", "equilibrium", "options"),
        [
            (lorenz(0.9), [0.0, 0.0, 0.0], {}),
            (lorenz(0.9), [0.0, 0.0, 0.0], {"V": lambda x: x[0] ** 2 / 10 + x[1] ** 2 + x[2] ** 2}),
            (flow("x' = -x^3 + y; y' = -x - y^3"), [0.0, 0.0], {}),  # its linear part is a centre
            (flow("x' = y; y' = -x - x^3 - 0.5*y"), [0.0, 0.0], {"degree": 4}),
            (flow("x' = -y; y' = x - y + x^2*y"), [0.0, 0.0], {"radius": 1.2}),
            (flow("x' = 1 - x; y' = x - y^3"), [1.0, 1.0], {"radius": 1.0}),
        ],
    )
    def test_a_function_is_proved_where_one_is_known(self, system, equilibrium, options):
        found = th.lyapunov_polynomial(system, equilibrium, **options)
        assert not_holding(found) == []
        assert found.is_certified

    @pytest.mark.slow
    def test_the_sublevel_set_in_a_ball_is_one_by_intervals_too(self):
        system = flow("x' = -y; y' = x - y + x^2*y")
        numbers = th.lyapunov_polynomial(system, [0.0, 0.0], radius=1.2).numbers
        a, b, d = (numbers[f"V[{powers}]"] / 1.44 for powers in ("2,0", "1,1", "0,2"))
        V = lambda x: a * x[0] ** 2 + b * x[0] * x[1] + d * x[1] ** 2
        assert numbers["c"] > 0.5
        found = th.lyapunov(system, V, th.ball([0.0, 0.0], 1.2), [0.0, 0.0])
        assert found.numbers["c"] == pytest.approx(numbers["c"], rel=0.02)

    def test_a_global_function_that_cannot_exist_is_not_found(self):
        """Ahmadi, Krstic and Parrilo, IEEE CDC 2011: all solutions tend to the origin, and no polynomial shows it."""
        found = th.lyapunov_polynomial(flow("x' = -x + x*y; y' = -y"), [0.0, 0.0], degree=4)
        assert not_holding(found) == [(JOINT, "undecided")]

    @pytest.mark.parametrize(
        ("system", "options", "expected"),
        [
            (lorenz(1.01), {}, (JOINT, "fails")),
            (flow("x' = (0.1*3 - 0.3)*x - x^3; y' = -y; z' = -z"), {}, (JOINT, "fails")),  # an eigenvalue of 6e-17
            (flow("x' = -x + sin(y); y' = -y; z' = -z"), {}, ("the field is a polynomial", "fails")),
            (flow("x' = -x + 1e-12; y' = -y; z' = -z"), {}, ("the point is an equilibrium", "fails")),
            (flow("x' = -x + x^3; y' = -y; z' = -z"), {"V": lambda x: x @ x}, ("V falls along solutions", "fails")),
            (
                flow("x' = x; y' = -y; z' = -z"), {"V": lambda x: x @ x - 1.0000001 * x[0] ** 2, "radius": 1.0},
                ("V is larger elsewhere", "fails"),
            ),
        ],
    )  # fmt: skip
    def test_a_near_miss_names_the_one_condition(self, system, options, expected):
        found = th.lyapunov_polynomial(system, [0.0, 0.0, 0.0], **options)
        bad = [row for row in not_holding(found) if row[1] == "fails"]
        assert bad == [expected]

    @pytest.mark.parametrize(
        ("coefficient", "holds"), [(1.0 - 2**-6, True), (1.0, False), (1.0 + 2**-50, False), (-1.0 - 2**-50, False)]
    )
    def test_a_form_that_is_not_definite_is_not_proved(self, coefficient, holds):
        assert is_positive({(2, 0): ONE, (1, 1): 2 * Fraction(coefficient), (0, 2): ONE}, 2) == holds

    def test_weights_are_rounded_finely_enough_to_be_proved(self):
        """The weight is left an interval of 2e-5 around a third, which 12 bits miss."""
        square, third, gap = {(2,): ONE}, Fraction(1, 3), Fraction(1, 10**5)
        above = MatrixFamily({(2,): gap - third}, (square,))
        below = MatrixFamily({(2,): gap + third}, ({(2,): -ONE},))
        found = weights_of_squares([above, below], 1)
        assert found is not None
        assert abs(found[0] - third) < gap

    def test_a_positive_form_without_squares_is_not_proved(self):
        motzkin = {(4, 2, 0): ONE, (2, 4, 0): ONE, (2, 2, 2): -3 * ONE, (0, 0, 6): ONE}
        assert not is_positive(motzkin, 3)
        assert is_positive({(4, 0): ONE, (2, 2): -ONE, (0, 4): ONE}, 2)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"degree": 3}, "`degree` must be even, but is 3"),
        ({"radius": -1.0}, "`radius` must be positive"),
    ],
)
def test_bad_input_is_named(options, said):
    with pytest.raises(ValueError, match=said):
        th.lyapunov_polynomial(flow("x' = -x; y' = -y"), **{"equilibrium": [0.0, 0.0]} | options)
