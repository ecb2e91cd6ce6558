"""All equilibria of rational systems, against the certified count in a box and by substitution."""

from decimal import Decimal
from typing import Any

import numpy as np
import pytest
import sympy as sp

import dynsim as ds
from analysis import dynamics as ad
from analysis.dynamics.symbolic.fields import rational

PREY = "u' = u*(1 - u)*(u - a) - u*v/(h + u); v' = v*(c*u/(h + u) - m); a = 0.1; h = 0.3; c = 0.7; m = 0.2"


def equations(text, **values) -> Any:
    return ds.system(text, **values)


@pytest.mark.parametrize(
    ("value", "fraction"),
    [
        (0.1, "1/10"),
        (1 / 3, "1/3"),
        (-2.5, "-5/2"),
        (np.pi, "3.141592653589793"),
        (1e-17, "1e-17"),
        (6.02e23, "6.02e23"),
    ],
)
def test_a_number_is_the_simplest_fraction_with_its_value(value, fraction):
    assert rational(value) == sp.Rational(fraction)
    assert float(rational(value)) == value


def test_every_equilibrium_in_a_box_is_found_with_its_kind():
    flow = equations("x' = 0.3 + 1.7*x - 1.1*x^3 + 0.4*y; y' = x^2 - 2.3*y + 0.9*x*y - 1.3 + 0.2*x^3*y")
    exact = ad.exact_equilibria(flow)
    counted = ad.certified_count(flow, [(-1.5, 1.0), (-1.0, 0.5)])
    assert counted.exact
    key = lambda one: tuple(one.state.tolist())
    for one, other in zip(exact.found, sorted(counted.found, key=key), strict=True):
        assert one.kind == other.kind
        assert one.radius < 1e-15
        assert np.all(np.abs(one.state - other.state) <= one.radius + other.radius)


def test_a_rational_system_has_exact_states_and_no_zeros_of_denominators():
    exact = ad.exact_equilibria(equations(PREY))
    assert [str(one) for one in exact.found] == [
        "(0, 0): stable", "(1/10, 0): saddle", "(3/25, 231/31250): unstable", "(1, 0): saddle",
    ]  # fmt: skip
    assert exact.count == 4
    assert str(exact).startswith("4 real equilibria (u, v), and no other; 4 complex")
    assert r"\frac{231}{31250}" in exact.latex
    assert ad.exact_equilibria(equations("x' = (x^2 - x)/x")).states.tolist() == [[1.0]]


def test_square_roots_are_kept_and_enclosed():
    henon = ad.exact_equilibria(ds.catalogue.Henon())
    states = [[float(e) for e in one.formula] for one in henon.found]
    np.testing.assert_allclose(henon.states, states, atol=1e-15)
    assert [one.kind for one in henon.found] == ["saddle", "saddle"]
    x = henon.states[1]
    np.testing.assert_allclose(ds.catalogue.Henon().step(0, x), x, atol=1e-14)


def test_multiple_and_complex_solutions_are_told_apart():
    multiple = ad.exact_equilibria(equations("x' = x^2*(x - 2)*y; y' = y - x"))
    assert [(one.kind, *one.state.tolist()) for one in multiple.found] == [("degenerate", 0, 0), ("unstable", 2, 2)]
    assert multiple.count == 4
    away = ad.exact_equilibria(equations("x' = (x - 3)^2*(x + 2) + y; y' = y + (x - 3)^3"))  # parts of det cancel at 3
    assert [one.kind for one in away.found if np.array_equal(one.state, [3.0, 0.0])] == ["degenerate"]
    none = ad.exact_equilibria(equations("x' = x^2 + 1"))
    assert (none.found, none.count, none.states.shape) == ((), 2, (0, 1))
    centre = ad.exact_equilibria(equations("x' = y; y' = -x - x^3"))
    assert [one.kind for one in centre.found] == ["undecided"]


def test_the_radius_bounds_the_rounding_of_the_largest_component():
    exact = (Decimal(2).sqrt(), 1_000_000 * Decimal(2).sqrt())
    found = ad.exact_equilibria(equations("x' = x^2 - 2; y' = y - 1000000*x")).found[-1]
    errors = [abs(Decimal(value) - true) for value, true in zip(found.state.tolist(), exact, strict=True)]
    assert 0 < max(errors) <= Decimal(found.radius) < Decimal("1e-9")


def test_solutions_that_no_component_separates_are_separated_by_a_linear_form():
    found = ad.exact_equilibria(equations("x' = x^2 - 2; y' = y^2 - 3"))
    np.testing.assert_allclose(np.abs(found.states), np.sqrt([[2.0, 3.0]] * 4), rtol=1e-15)
    assert len({tuple(np.sign(x)) for x in found.states}) == 4


def test_fixed_points_of_a_map_are_called_so():
    logistic = equations("x[n+1] = r*x*(1 - x)", r=2.5)
    assert str(ad.exact_equilibria(logistic)).startswith("2 real fixed points (x), and no other")
    assert str(ad.equilibrium_formulas(logistic)).startswith("fixed points (x)\n")


def test_formulas_are_not_complex_for_all_parameters():
    assert str(ad.equilibrium_formulas(equations("x' = 1 + x^2"))) == "equilibria (x): none"
    assert len(ad.equilibrium_formulas(equations("x' = a + x^2", a=1.0)).found) == 2


def test_formulas_hold_for_other_parameters():
    flow = equations(PREY)
    found = ad.equilibrium_formulas(flow)
    assert len(found.found) == 4
    other = {"a": 0.23, "h": 0.41, "c": 0.87, "m": 0.19}
    inside = [float(e.subs({sp.Symbol(k, real=True): v for k, v in other.items()})) for e in found.found[3].state]
    np.testing.assert_allclose(equations(PREY, **other).vector_field(0.0, np.array(inside)), 0.0, atol=1e-14)


def test_a_polynomial_stands_for_its_roots():
    (cubic,) = ad.equilibrium_formulas(ds.catalogue.FitzHughNagumo(), ["current"]).found
    assert str(cubic) == "(v, (10*v + 7)/8) for each root v of -24*current + 8*v^3 + 6*v + 21"
    assert "8 v^{3}" in ad.equilibrium_formulas(ds.catalogue.FitzHughNagumo(), ["current"]).latex


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("x' = y - x*y; y' = 0*x", "must have isolated equilibria, but has infinitely many, the zeros of -x\\*y \\+ y"),
        ("x' = sin(x) + x", "must have a rational right-hand side for equilibria, but that of `x` has `sin\\(x\\)`"),
        ("x' = abs(x) - 1", "must be smooth, .* but uses `abs`"),
        ("x' = heaviside(x) - 1", "must be smooth, .* but compares by `>=`"),
        ("x[n+1] = x; y[n+1] = y/2", "must have isolated fixed points, but has infinitely many, the zeros of -y"),
        ("x[n+1] = sin(x)", "must have a rational right-hand side for fixed points"),
        ("x' = sin(t) - x", "must be autonomous, but depends on the time"),
        ("x' = x^37 - 1", "degrees have a product of at most 36, with 400 terms, but has a product of 37"),
    ],
)
def test_what_has_no_exact_equilibria_is_said(text, sentence):
    with pytest.raises(ValueError, match=sentence):
        ad.exact_equilibria(equations(text))


def test_systems_without_expressions_are_refused():
    with pytest.raises(ValueError, match="must be on a flat space, but is on Sphere"):
        ad.symbolic_field(ds.FunctionFlow(lambda t, x: -x, space=ds.spaces.Sphere(), names=("a", "b")))
    with pytest.raises(ValueError, match="`state` must be given for a system without names"):
        ad.symbolic_field(ds.FunctionFlow(lambda t, x: -x))
    with pytest.raises(ValueError, match="`parameters` must name parameters .* has `rh`, did you mean `rho`"):
        ad.equilibrium_formulas(ds.catalogue.Lorenz(), ["rh"])
    with pytest.raises(ValueError, match="`parameters` must be a sequence of names, but is `rho`"):
        ad.equilibrium_formulas(ds.catalogue.Lorenz(), "rho")
    assert str(ad.symbolic_field(ds.FunctionFlow(lambda t, x: 0.1 - x / 3), state=[0.0])) == "x_1' = 1/10 - x_1/3"
