"""Chetaev, exponential stability, Barbalat, inputs and supplies: known results and near misses of one condition."""

import numpy as np
import pytest

import dynsim as ds
from analysis import theorems as th
from tests.theorems.reports import flow, not_holding

ORIGIN = [0.0, 0.0]
BOX = [(-1.0, 1.0), (-1.0, 1.0)]
SQUARES = lambda x: x @ x


def driven(text, most=0.5):
    return ds.Parameter(flow(text, u=0.0), "u", -most, most)


def energy(x):
    return x[1] ** 2 / 2 + x[0] ** 2 / 2 + x[0] ** 4 / 4


FORCED = "x' = y; y' = -x - x^3 + u"
ADAPTIVE = "x' = -x + a*sin(t); a' = -x*sin(t)"
APPLIES = {
    "a saddle": lambda: th.chetaev(  # Khalil, example 4.7
        flow("x' = x + y^2; y' = -y + x^2"), lambda x: x[0] ** 2 - x[1] ** 2, th.ball(ORIGIN, 0.5), ORIGIN
    ),
    "half a saddle, whose eigenvalues are 0 and -1": lambda: th.chetaev(
        flow("x' = x^2; y' = -y"), lambda x: x[0] - x[1] ** 2, BOX, ORIGIN
    ),
    "a rate": lambda: th.chetaev(flow("x' = x; y' = -y"), lambda x: x[0] ** 2, BOX, ORIGIN, rate=2.0),
    "exponential stability": lambda: th.exponential_stability(
        flow("x' = -x + y^2/4; y' = -2*y"), SQUARES, th.ball(ORIGIN, 1.0), ORIGIN
    ),
    "adaptation of a parameter": lambda: th.barbalat(flow(ADAPTIVE), SQUARES, th.ball(ORIGIN, 2.0), period=2 * np.pi),
    "Barbalat without time": lambda: th.barbalat(flow("x' = -x^3; y' = -y"), SQUARES, BOX),
    "an input": lambda: th.input_to_state(
        driven("x' = -x - x^3 + u"), SQUARES, [(-1.0, 1.0)], [0.0], rate=0.5, gain=0.9
    ),
    "a force supplies power": lambda: th.dissipative(driven(FORCED), energy, lambda x, u: x[1] * u, BOX),
    "a gain of one": lambda: th.dissipative(  # of x' = -x + u, from u to x
        driven("x' = -x + u"), lambda x: x[0] ** 2, lambda x, u: u**2 - x[0] ** 2, [(-1.0, 1.0)]
    ),
}
GROWS, LARGER = "V grows along solutions where it is larger", "V is larger at points arbitrarily near"
MISSES = {
    "a function without larger values": (
        lambda: th.chetaev(flow("x' = -x; y' = -y"), lambda x: -(x @ x), BOX, ORIGIN), (LARGER, "fails"),
    ),
    "a sink": (
        lambda: th.chetaev(flow("x' = -x; y' = -y"), lambda x: x[0] ** 2 - x[1] ** 2, BOX, ORIGIN), (GROWS, "fails"),
    ),
    "a rate that is too large by a rounding error": (
        lambda: th.chetaev(flow("x' = x; y' = -y"), lambda x: x[0] ** 2, BOX, ORIGIN, rate=2.0 * (1 + 2**-52)),
        (GROWS, "fails"),
    ),
    "a decay that is not exponential": (
        lambda: th.exponential_stability(flow("x' = -x^3; y' = -y"), SQUARES, BOX, ORIGIN, budget=2000),
        ("V falls at least as the square", "undecided"),
    ),
    "a function that grows": (
        lambda: th.exponential_stability(flow("x' = x/10; y' = -y"), SQUARES, BOX, ORIGIN),
        ("V falls at least as the square", "fails"),
    ),
    "a box that is left": (
        lambda: th.barbalat(flow(ADAPTIVE), SQUARES, BOX, period=2 * np.pi),
        ("the field points into the region on its boundary", "fails"),
    ),
    "a function that grows now and then": (
        lambda: th.barbalat(flow("x' = -x*(2 + cos(t))"), lambda x: x[0], [(-1.0, 1.0)], period=2 * np.pi),
        ("V does not grow along solutions", "fails"),
    ),
    "an input that is too strong": (
        lambda: th.input_to_state(driven("x' = -x + u", 2.0), SQUARES, [(-1.0, 1.0)], [0.0], rate=1.0, gain=1.0),
        ("the input does not drive states out of the region", "undecided"),
    ),
    "a gain that is too small": (
        lambda: th.input_to_state(driven("x' = -x + u", 0.1), SQUARES, [(-1.0, 1.0)], [0.0], rate=1.0, gain=0.99),
        ("V falls unless the input is large", "fails"),
    ),
    "a friction that is negative by a rounding error": (
        lambda: th.dissipative(driven(FORCED + " + (0.1*3 - 0.3)*y"), energy, lambda x, u: x[1] * u, BOX),
        ("no more is stored than is supplied", "fails"),
    ),
    "a storage that is negative": (
        lambda: th.dissipative(driven("x' = -x + u"), lambda x: -(x[0] ** 2), lambda x, u: 9 + u * x[0], [(-1, 1)]),
        ("the storage is not negative", "fails"),
    ),
}  # fmt: skip


SLOW = (
    "a saddle", "an input",
    "half a saddle, whose eigenvalues are 0 and -1", "exponential stability", "Barbalat without time", "a sink",
    "a gain of one", "a decay that is not exponential", "a function that grows", "a box that is left",
    "a gain that is too small", "an input that is too strong", "a function that grows now and then",
    "a function without larger values",
)  # fmt: skip


def cases(names):
    return [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in names]


@pytest.mark.parametrize("name", cases(APPLIES))
def test_a_theorem_applies_where_it_is_known_to(name):
    found = APPLIES[name]()
    assert not_holding(found) == []
    assert found.is_certified


@pytest.mark.parametrize("name", cases(MISSES))
def test_a_near_miss_names_the_one_condition(name):
    call, expected = MISSES[name]
    found = call()
    assert not_holding(found) == [expected]


@pytest.mark.slow
def test_the_constants_of_a_linear_flow_are_the_known_ones():
    found = th.exponential_stability(flow("x' = -x; y' = -3*y"), lambda x: x[0] ** 2 + 4 * x[1] ** 2, BOX, ORIGIN)
    numbers = found.numbers
    assert 0.95 < numbers["c1"] <= 1
    assert 4 <= numbers["c2"] < 4.2
    assert 1.9 < numbers["c3"] <= 2
    assert numbers["gain"] == pytest.approx((numbers["c2"] / numbers["c1"]) ** 0.5)
    assert numbers["rate"] == pytest.approx(numbers["c3"] / (2 * numbers["c2"]))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: th.chetaev(flow("x' = x"), SQUARES, [(-1, 1)], [2.0]), "`equilibrium` must be inside the region"),
        (lambda: th.chetaev(flow("x' = x"), SQUARES, [(-1, 1)], [0.0], rate=-1.0), "`rate` must be at least 0"),
        (lambda: th.barbalat(flow("x' = -x*sin(t)"), SQUARES, [(-1, 1)]), "`flow` must be autonomous"),
        (lambda: th.barbalat(flow("x' = -x"), SQUARES, [(-1, 1)], period=-1.0), "`period` must be positive"),
        (
            lambda: th.dissipative(
                ds.Parameter(flow("x' = -x + u", u=1.0), "u", 0.5, 1.0), SQUARES, lambda x, u: u, [(-1, 1)]
            ),
            "`parameter` must have a range that holds zero",
        ),
    ],
)
def test_bad_input_is_named(call, said):
    with pytest.raises(ValueError, match=said):
        call()
