"""Lienard's theorem for forces that are no polynomials: where it applies, near misses, and what rounding gets wrong."""

import math

import jax.numpy as jnp
import numpy as np
import pytest

import dynsim as ds
from analysis import theorems as th
from analysis.theorems.plane.smooth_oscillator import EnclosedIntegral, sign_beyond
from tests.theorems.reports import not_holding

ZERO = "the integrated damping has exactly one positive zero a"


def lienard(text, **options):
    return th.lienard(ds.system(text), **options)


@pytest.mark.parametrize(
    ("text", "zero"),
    [
        ("x'' = (1 - x^2)*x' - sinh(x)", 3**0.5),
        pytest.param(
            "x'' = (2*exp(-x^2) - 0.5)*x' - x/(1 + x^2)^2", math.pi**0.5 * 2, marks=pytest.mark.slow
        ),  # a force that decays, and F(oo) = oo by damping that tends to a constant
        pytest.param("x' = y/3 - (x - 2*tanh(x)); y' = -x^3", 1.9150080482, marks=pytest.mark.slow),
    ],
)
def test_an_oscillator_that_is_no_polynomial_has_one_periodic_orbit(text, zero):
    found = lienard(text)
    assert not_holding(found) == []
    assert found.is_certified
    assert found.numbers["a"] == pytest.approx(zero, rel=1e-4)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "x'' = (1 - x^2)*x' - sin(x)",
            [("the restoring force pulls back", "fails"), ("the restoring force pulls back at infinity", "undecided")],
            marks=pytest.mark.slow,
        ),
        ("x'' = (1 - x^2 + 1e-30*sin(x))*x' - x", [("the damping is even", "fails")]),
        pytest.param("x'' = (1 - x^2)*x' - x - 1e-30*x^2*exp(-x^2)", [("the restoring force is odd", "fails")],
                     marks=pytest.mark.slow),
        pytest.param("x' = y - (x + tanh(x)); y' = -x", [(ZERO, "fails")], marks=pytest.mark.slow),
        pytest.param("x'' = (1 - x^2 + 1e-3*cosh(x))*x' - x", [(ZERO, "fails")], marks=pytest.mark.slow),
        pytest.param("x'' = (1 - x^2 + 11*exp(-4*(x - 3)^2) + 11*exp(-4*(x + 3)^2))*x' - x",
                     [("the integrated damping does not fall beyond a", "fails")], marks=pytest.mark.slow),
        pytest.param("x'' = cos(x'^2)*x' - x", [("the flow is a Lienard system", "fails")], marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_a_near_miss_names_the_one_condition(text, expected):
    assert not_holding(lienard(text)) == expected


@pytest.mark.slow
def test_what_enclosures_do_not_decide_stays_undecided():
    """The damping touches zero beyond a, and its sign far away is that of a small difference."""
    assert lienard("x'' = (1 - x^2 + 0*cosh(x))*x' - x*abs(x)").status == "undecided"
    touching = lienard("x'' = (exp(-x^2) - (1 - cos(x))/4)*x' - x")
    assert touching.status == "undecided"


def test_enclosures_of_integrals_hold_the_antiderivative():
    found = EnclosedIntegral(lambda x: (1 - x) * jnp.exp(-x), 6.0, 100)
    exact = found.ends * np.exp(-found.ends)
    assert np.all(found.sums[:, 0] <= exact)
    assert np.all(exact <= found.sums[:, 1])
    assert 1e-16 < np.max(found.sums[:, 1] - found.sums[:, 0]) < 1e-4
    cells = found.over_cells
    inner = 0.5 * (found.ends[1:] + found.ends[:-1])
    assert np.all(cells[:, 0] <= inner * np.exp(-inner))
    assert np.all(inner * np.exp(-inner) <= cells[:, 1])


@pytest.mark.parametrize(
    ("fn", "far", "sign"),
    [
        (lambda x: x**4 - x**2, 2.0, 1),  # in 1/x
        (lambda x: jnp.sin(x) + 1, 4.0, 0),
        (lambda x: jnp.exp(x) - x**3, 5.0, 1),  # by derivatives
        (lambda x: jnp.exp(x) - x**3, 4.0, 0),  # negative at 4, and not for ever
        (lambda x: -x / (1 + x**2) ** 2, 1.0, -1),
        (lambda x: x * (x - 5) / (x - 5), 4.0, 0),  # undefined at 5
        (lambda x: x - x**2 * jnp.tanh(x), 1.0, 0),  # positive at 1, but not far away
        (lambda x: x - x**2 * jnp.tanh(x), 4.0, -1),
    ],
)
def test_a_sign_that_holds_up_to_infinity(fn, far, sign):
    assert sign_beyond(fn, far, powers=4) == sign


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="`reach` must be positive"):
        lienard("x'' = (1 - x^2)*x' - x", reach=-1.0)
