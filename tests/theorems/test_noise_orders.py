"""Orders of stochastic integrators: known methods, near misses of one coefficient, and equations that ask for more."""

import dataclasses
from fractions import Fraction

import pytest

import dynsim as ds
from analysis import theorems as th
from analysis.theorems.noise.tableaux import METHODS, trees
from analysis.theorems.noise.words import expectation, product
from tests.theorems.reports import not_holding

NAMES = {"strong": (0.5, 1.0, 1.5), "weak": (1, 2)}


@pytest.mark.parametrize(
    ("method", "strong", "weak"),
    [
        ("euler-maruyama", 0.5, 1), ("milstein", 1.0, 1), ("euler-heun", 1.0, 1), ("stochastic-heun", 1.0, 1),
        ("sriw1", 1.5, 1), ("platen-weak-2", 1.0, 2),
    ],
)  # fmt: skip
def test_the_known_orders_are_found_and_no_higher_ones(method, strong, weak):
    """Kloeden and Platen 1992, sections 10.2, 11.1 and 15.1; Roessler 2010, table 6.2."""
    assert [p for p in NAMES["strong"] if th.order_conditions(method, strong=p).applies][-1] == strong
    assert [p for p in NAMES["weak"] if th.order_conditions(method, weak=p).applies][-1] == weak


def test_noise_that_does_not_depend_on_the_state_needs_fewer_conditions():
    """Euler and Maruyama's method has strong order 1 then, and SRA1 has 1.5."""
    constant, varying = ds.system("x' = -x + sin(y) + 0.2*dW1; y' = -y + 0.1*dW2"), ds.system("x' = -x + 0.2*x*dW1")
    found = th.order_conditions("euler-maruyama", constant, strong=1)
    assert not_holding(found) == []
    assert found.numbers["L"] == pytest.approx(2.0)  # the sum of a row
    assert not_holding(th.order_conditions("euler-maruyama", varying, strong=1)) == [("strong order 1, b'(b)", "fails")]
    inside = th.order_conditions("sra1", constant, [(-2.0, 2.0)] * 2, strong=1.5)
    assert not_holding(inside) == []
    assert inside.numbers["L"] == pytest.approx(2.0)
    correlated = ds.system("x' = -x + dW1 + dW2; y' = -y + dW2")
    assert not_holding(th.order_conditions("sra1", correlated, strong=1.5)) == []


def test_how_many_derivatives_must_be_bounded_depends_on_the_order():
    """As many as twice the order and one; and drift and noise themselves for strong orders, not with constant noise."""
    bounded = ds.system("x' = -tanh(x) + 0.1*sin(x)*dW1")
    constant = ds.system("x' = -tanh(x) + 0.1*dW1")
    words, both = "the coefficients of the expansion do not grow too fast", ", and so are drift and noise"
    for method, flow, order, said in (
        ("euler-maruyama", bounded, {"strong": 0.5}, []), ("euler-maruyama", constant, {"strong": 1}, [(3, "")]),
        ("milstein", bounded, {"strong": 1}, [(3, both)]), ("sra1", constant, {"strong": 1.5}, [(4, both)]),
        ("euler-maruyama", bounded, {"weak": 1}, [(3, "")]),
    ):  # fmt: skip
        rows = th.order_conditions(method, flow, **order).hypotheses
        found = [row.inequality for row in rows if row.words == words]
        assert found == [f"derivatives up to order {count} are bounded{rest}" for count, rest in said]


def test_the_bound_of_derivatives_is_in_proportion_to_them():
    words = "the coefficients of the expansion do not grow too fast"
    margins = []
    for size in (0.001, 0.01):
        rows = th.order_conditions("euler-maruyama", ds.system(f"x' = {size}*tanh(x) + dW1"), strong=1).hypotheses
        margins += [row.margin for row in rows if row.words == words]
    assert 0.001 <= margins[0] < 0.1  # 64 times the size, by intervals
    assert margins[1] == pytest.approx(10 * margins[0])


def test_several_processes_need_no_more_for_weak_order_1():
    several = ds.system("x' = -x + y*dW1; y' = -y + dW2")
    assert not_holding(th.order_conditions("euler-maruyama", several, weak=1)) == []


def test_expectations_count_half_an_order_farther():
    slow = dataclasses.replace(METHODS["euler-maruyama"], alpha=["1/2"])
    fails = [row.words for row in th.order_conditions(slow, strong=0.5).failing]
    assert fails == ["strong order 0.5, a on average"]


def test_one_coefficient_that_is_off_by_little_is_found():
    """A third as a float is a binary fraction; the conditions that it breaks are named."""
    rough = dataclasses.replace(METHODS["sra1"], alpha=[1 / 3, "2/3"])
    fails = th.order_conditions(rough, ds.system("x' = -x + dW1"), strong=1).failing
    assert [row.words for row in fails] == ["strong order 1, a"]
    assert "-1/54043195528445952" in fails[0].inequality or 0 < -fails[0].margin < 1e-30
    third = Fraction(1, 3)
    off = dataclasses.replace(METHODS["euler-heun"], beta={"I1": [third, 1 - third]})
    assert not_holding(th.order_conditions(off, strong=1)) == [("strong order 1, b'(b)", "fails")]


LINEAR = "x' = -x + 0.1*x*dW1"


@pytest.mark.parametrize(
    ("method", "text", "calculus", "expected"),
    [
        ("milstein", "x' = x - x^3 + 0.1*x*dW1", "ito", [("drift and noise are Lipschitz continuous", "fails")]),
        ("milstein", LINEAR, "stratonovich", [("the integral is Ito's", "fails")]),
        (
            "euler-maruyama", "x' = -x*y + dW1; y' = -y + dW2", "ito",
            [("drift and noise are Lipschitz continuous", "fails")],
        ),
        (
            "milstein", "x' = -x + y*dW1; y' = -y + dW2", "ito",
            [("each component has noise of its own, which depends only on it", "fails")],
        ),
        (
            "euler-heun", "x' = -x + y*dW1; y' = -y + dW2", "stratonovich",
            [("the directions of the noise commute", "fails")],
        ),
        pytest.param(
            "milstein", "x' = -x + x*dW1 + 1e-30*y*dW2; y' = -y + dW2", "ito",
            [("each component has noise of its own, which depends only on it", "fails")], marks=pytest.mark.slow,
        ),
        (
            "milstein", "x' = -x*tanh(x) + 0.1*dW1 + 0*x*dW1", "ito",
            [("drift and noise are Lipschitz continuous", "undecided")],
        ),
    ],
)  # fmt: skip
def test_a_near_miss_of_the_equation_names_the_one_condition(method, text, calculus, expected):
    assert not_holding(th.order_conditions(method, ds.system(text, calculus=calculus), strong=1)) == expected


def test_products_of_integrals_are_those_of_ito_and_of_stratonovich():
    """W I(1,1) = 3 I(1,1,1) + I(1,0) + I(0,1), E J(1,1)^2 = 3/4, and 27 trees of order 5/2."""
    one, two = {(1,): Fraction(1)}, {(1, 1): Fraction(1)}
    assert product(one, two, is_ito=True) == {(1, 1, 1): 3, (0, 1): 1, (1, 0): 1}
    assert expectation(product(two, two, is_ito=False), is_ito=False) == Fraction(3, 4)
    assert [len(trees(size)) for size in range(1, 6)] == [1, 2, 4, 10, 27]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: th.order_conditions("milstein"), "`strong` must be given, or `weak`, but not both"),
        (lambda: th.order_conditions("milstein", strong=2), "`strong` must be 0.5, 1 or 1.5"),
        (lambda: th.order_conditions("milsten", strong=1), "milstein"),
        (lambda: th.order_conditions("milstein", ds.system("x' = -x"), strong=1), "`flow` must be"),
        (
            lambda: th.order_conditions("milstein", ds.system("x' = -x + t*dW1"), strong=1),
            "`flow` must have noise that does not depend on time",
        ),
        (lambda: th.StochasticTableau([1], {"I2": [1]}), "`beta` must name variables"),
        (lambda: th.StochasticTableau([1], {"I1": [1, 0]}), "`beta` must have 1 entries"),
        (lambda: th.StochasticTableau(["a"], {"I1": [1]}), "`alpha` must hold numbers or fractions"),
        (lambda: th.StochasticTableau([1], {"I1": [1]}, [[0, 1]]), "`A0` must have 1 rows of 1 entries"),
    ],
)  # fmt: skip
def test_bad_input_is_named(call, said):
    with pytest.raises(ValueError, match=said):
        call()
