"""Powers, conversions and derivatives of rational functions, by values in fractions."""

from fractions import Fraction

import jax.numpy as jnp
import numpy as np
import pytest

import dynsim as ds
from analysis.theorems.algebra import is_zero, rational
from analysis.theorems.switching.common_lyapunov import _linear


def at(entries, *values):
    given = {f"x{k}": value for k, value in enumerate(values)}
    return [Fraction(str(one.as_expr().subs(given))) for one in entries]


def test_powers_with_computed_exponents_are_rational_if_they_are_integers():
    powers = lambda x: jnp.stack([x[0] ** jnp.asarray(3.0), x[1] ** jnp.asarray(-2.0), x[0] ** jnp.asarray(0.0)])
    found = rational(powers, 2)
    assert found is not None
    assert at(found, 2, 3) == [8, Fraction(1, 9), 1]
    assert rational(lambda x: jnp.stack([x[0] ** jnp.asarray(1.5)]), 1) is None
    assert rational(lambda x: jnp.stack([x[0] ** x[1]]), 2) is None
    assert rational(lambda x: jnp.stack([x[0] ** (x[1] / x[0])]), 2) is None


def test_integers_and_truth_values_made_of_floats_are_not_rational():
    assert rational(lambda x: x.astype(jnp.int32).astype(float), 1) is None
    half = rational(lambda x: x.astype(jnp.float32).astype(float) / 2, 1)
    assert half is not None
    assert at(half, 3) == [Fraction(3, 2)]


def test_what_is_zero_is_told_from_what_is_not_and_from_what_is_not_known():
    assert is_zero(lambda x: (x + 1) ** 2 - x**2 - 2 * x - 1, 1) is True
    assert is_zero(lambda x: (x + 1) ** 2 - x**2 - 2 * x, 1) is False
    assert is_zero(lambda x: jnp.sin(-x) * jnp.cos(x) + jnp.cos(-x) * jnp.sin(x), 1) is True
    assert is_zero(lambda x: jnp.cos(-x) + jnp.cos(x), 1) is None
    assert is_zero(lambda x: jnp.sin(x) ** 2 + jnp.cos(x) ** 2 - 1, 1) is None
    assert is_zero(lambda x: jnp.sort(jnp.append(x, 0.0)), 1) is None


def test_the_linear_part_of_a_field_is_its_derivative_without_zeros():
    field = lambda x: jnp.stack([2 * x[0] + jnp.sin(x[1] - 1), 3 * x[0] ** 2 + 0.5 * x[1]])
    assert _linear(field, np.array([1.0, 1.0])) == [{(1, 0): 2, (0, 1): 1}, {(1, 0): 6, (0, 1): Fraction(1, 2)}]
    assert _linear(field, np.array([0.0, 1.0])) == [{(1, 0): 2, (0, 1): 1}, {(0, 1): Fraction(1, 2)}]


def test_a_quadratic_function_is_found_for_the_linear_parts_of_modes_in_a_region():
    pytest.importorskip("clarabel")
    from analysis.theorems import common_lyapunov

    modes = [ds.system("x' = -x + 0.1*x*y; y' = -2*y + x^2"), ds.system("x' = -2*x + sin(y)/4; y' = -y")]
    found = common_lyapunov(modes, [0.0, 0.0], region=[(-0.5, 0.5), (-0.5, 0.5)])
    assert found.applies
    assert {"V[2,0]", "V[0,2]", "c"} <= set(found.numbers)
