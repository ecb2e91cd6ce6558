"""Positive matrices and chains: Perron and Frobenius, detailed balance, Foster's criterion."""

from fractions import Fraction

import jax.numpy as jnp
import numpy as np
import pytest

import dynsim as ds
from analysis import theorems as th
from analysis.theorems.chains.foster import DEPTH, _not_negative, _shifted
from tests.theorems.reports import flow, not_holding

SMALL = 0.1 * 3 - 0.3  # 5.6e-17


def generator(rates):
    Q = np.array(rates, dtype=object)
    return Q - np.diag(Q.sum(axis=0))


def queue(deaths):
    return lambda: th.foster([[1], [-1]], lambda x: jnp.array([3.0, deaths * x[0]]), lambda x: x[0], beyond=4)


CYCLE = [[0, 2, 3], [5, 0, 7], [Fraction(15, 2), 7, 0]]
PAIR = lambda x: jnp.array([2.0, x[0], x[0], x[1] * (x[1] - 1)])
PAIR_JUMPS = [[1, 0], [-1, 1], [-1, 0], [0, -2]]
HALVES = [[0.0, 0.5], [1.0, 0.5]]
APPLIES = {
    "Fibonacci's numbers": lambda: th.perron_frobenius(flow("x[n+1] = y; y[n+1] = x + y"), primitive=True),
    "a Metzler matrix": lambda: th.perron_frobenius(flow("x' = -5*x + y; y' = 2*x - y")),
    "a cycle of rates": lambda: th.detailed_balance(generator([[0, 2, 3], [4, 0, 6], [5, 5, 0]])),
    "a master equation": lambda: th.detailed_balance(
        ds.chains.MasterEquationFlow(np.array([[-1.0, 2.0], [1.0, -2.0]]))
    ),
    "a queue": queue(1.0),
    "molecules that decay in pairs": lambda: th.foster(
        PAIR_JUMPS, PAIR, lambda x: 3 * x[0] + x[1], beyond=12, drift=0.5
    ),
}


def test_a_flow_has_no_powers_that_could_be_positive():
    found = th.perron_frobenius(flow("x' = -5*x + y; y' = 2*x - y"), primitive=True)
    assert [row.words for row in found.hypotheses if "primitive" in row.words] == []
    assert "modulus" not in str(found)


MISSES = {
    "a negative rate between components": (
        lambda: th.perron_frobenius(flow("x' = -5*x + y; y' = -2*x - y")),
        ("no entry off the diagonal is negative", "fails"),
    ),
    "a map with a negative entry on its diagonal": (
        lambda: th.perron_frobenius(np.array([[-1.0, 1.0], [1.0, 1.0]])), ("no entry is negative", "fails"),
    ),
    "two blocks": (lambda: th.perron_frobenius(np.eye(2)), ("the matrix is irreducible", "fails")),
    "a negative entry by a rounding error": (
        lambda: th.perron_frobenius(np.array([[1.0, -SMALL, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]])),
        ("no entry is negative", "fails"),
    ),
    "a permutation": (
        lambda: th.perron_frobenius([[0, 1], [1, 0]], primitive=True), ("the matrix is primitive", "fails"),
    ),
    "a logistic map": (lambda: th.perron_frobenius(flow("x[n+1] = x*(1 - x)")), ("the system is linear", "fails")),
    "a current round a cycle": (
        lambda: th.detailed_balance(generator([[0, 1, 2], [2, 0, 1], [1, 2, 0]])),
        ("rates agree both ways round every cycle", "fails"),
    ),
    "a cycle that is off by one part in 2^60": (
        lambda: th.detailed_balance(generator([[0, 2, 3], [4, 0, 6], [5, 5 + Fraction(1, 2**60), 0]])),
        ("rates agree both ways round every cycle", "fails"),
    ),
    "a one-way street": (
        lambda: th.detailed_balance(generator([[0, 1, 1], [1, 0, 1], [0, 1, 0]])),
        ("each transition has a reverse", "fails"),
    ),
    "probability that is lost": (
        lambda: th.detailed_balance([[-0.3, 0.2], [0.1 + 0.2, -0.2]]), ("probability is kept", "fails"),
    ),
    "a queue that serves nobody": (
        lambda: th.foster([[1], [-1]], lambda x: jnp.array([2.0, 3.0 + 0 * x[0]]), lambda x: x[0], beyond=4),
        ("no jump makes a component negative", "fails"),
    ),
    "a finite set that is too small": (
        lambda: th.foster([[1], [-1]], lambda x: jnp.array([3.0, x[0]]), lambda x: x[0], beyond=3),
        ("V falls in the mean outside a finite set", "fails"),
    ),
    "a function that falls at first": (
        lambda: th.foster([[1], [-1]], lambda x: jnp.array([3.0, x[0]]), lambda x: x[0] ** 2 - 4 * x[0], beyond=5),
        ("V grows beyond all bounds", "undecided"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", APPLIES)
def test_a_theorem_applies_where_it_is_known_to(name):
    found = APPLIES[name]()
    assert not_holding(found) == []
    assert found.is_certified


@pytest.mark.parametrize("name", MISSES)
def test_a_near_miss_names_the_one_condition(name):
    call, expected = MISSES[name]
    assert not_holding(call()) == [expected]


def test_the_dominant_eigenvalue_and_the_stationary_distribution_are_the_known_ones():
    numbers = APPLIES["Fibonacci's numbers"]().numbers
    assert numbers["r_low"] <= (1 + 5**0.5) / 2 <= numbers["r_high"]
    assert numbers["r_high"] - numbers["r_low"] < 1e-12
    numbers = APPLIES["a Metzler matrix"]().numbers
    assert numbers["r_low"] <= -3 + 6**0.5 <= numbers["r_high"]
    Q = generator([[0, 2, 3], [4, 0, 6], [5, 5, 0]]).astype(float)
    p = np.array(list(APPLIES["a cycle of rates"]().numbers.values()))
    np.testing.assert_allclose(Q @ p, 0, atol=1e-14)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: th.perron_frobenius(np.ones((2, 3))), "`system` must be a square matrix"),
        (lambda: th.perron_frobenius("lorenz"), "`system` must be a linear system"),
        (lambda: th.foster([[0.5]], lambda x: x, lambda x: x[0], beyond=1), "`jumps` must be integers"),
        (lambda: th.foster([[1], [-1]], lambda x: x, lambda x: x[0], beyond=1), "`rates` must give one rate"),
    ],
)
def test_bad_input_is_named(call, said):
    with pytest.raises(ValueError, match=said):
        call()


def test_polynomials_are_not_negative_at_integers_where_all_their_values_are_not():
    """Quadratic functions of two integers, at or above a corner, against their values at many integers."""
    drawn, shown = np.random.default_rng(3), {True: 0, False: 0}
    for _ in range(60):
        powers = ((0, 0), (1, 0), (0, 1), (2, 0), (0, 2))
        p = {
            q: Fraction(int(v))
            for q, v in zip(powers, [*drawn.integers(-9, 30, 3), *drawn.integers(1, 4, 2)], strict=True)
        }
        p = {q: v - (12 if sum(q) == 1 else 0) for q, v in p.items()}
        corner = tuple(drawn.integers(0, 3, 2).tolist())
        at = lambda x, p=p: sum(v * x[0] ** q[0] * x[1] ** q[1] for q, v in p.items())
        values = {(i, j): at((i, j)) for i in range(corner[0], 25) for j in range(corner[1], 25)}
        found = _not_negative(p, corner, DEPTH)
        holds = min(values.values()) >= 0
        assert found is True if holds else isinstance(found, tuple)
        assert holds or (values[found] < 0)
        moved = _shifted(p, corner)
        assert sum(v * 2 ** q[0] * 3 ** q[1] for q, v in moved.items()) == at((corner[0] + 2, corner[1] + 3))
        shown[holds] += 1
    assert min(shown.values()) > 10


@pytest.mark.parametrize(("n", "found"), [(DEPTH, True), (DEPTH + 1, None)])
def test_a_range_is_shifted_by_as_many_integers_as_is_said(n, found):
    """Of (x - n) (x - n + 1), which is 0 at two integers, no coefficient is negative from the corner n on."""
    assert (
        _not_negative({(2,): Fraction(1), (1,): Fraction(1 - 2 * n), (0,): Fraction(n * (n - 1))}, (0,), DEPTH) is found
    )


def test_a_negative_value_on_a_face_is_named_by_its_place():
    """The function is (y - 1)^2 - 6 (y - 1) + 8 + 100 (x - 2)^2 - 7 (x - 2), at or above (2, 1): it is -1 at (2, 4)."""
    numbers = {(2, 0): 100, (1, 0): -407, (0, 2): 1, (0, 1): -8, (0, 0): 429}
    assert _not_negative({powers: Fraction(v) for powers, v in numbers.items()}, (2, 1), DEPTH) == (2, 4)
