"""Scalar programs of the library's flows and maps, and of random expressions, against JAX."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynsim.programs import ProgramError, evaluate, jacobian_program, scalar_program
from dynsim.systems.base import AbstractFlow
from dynsim.systems.catalogue.entries import CATALOGUE
from tests.support.zoo import FLOWS, MAPS, flow_and_start, map_and_start

BY_NAME = {
    "piecewise": "`lt_to`",  # the schedule's search for the time
    "resampled": "`random_fold_in`",
    "projected value": "`custom_linear_solve`",
    "reduced": "`unvmap_any`",  # a check of the state
    "gradient descent": "`dynamic_slice` at an index that depends on the input",  # the batch of the step
}
"""Systems of the zoo without a program, and why."""
ON_HOST = ("hardmax", "exact hardmax", "two hard heads", "forward Euler of a chain")  # maps that JAX does not trace


def moving(system):
    """Return the field of a flow or the step of a map, a function of time and state."""
    return lambda t, x: system.vector_field(t, x) if isinstance(system, AbstractFlow) else system.step(t, x)


def compare(fn, program, *arguments):
    found, expected = evaluate(program, *arguments), jax.jit(fn)(*arguments)
    for one, exact in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        size = 1e-12 * (1e-3 + np.max(np.abs(exact), initial=0.0))
        assert one.dtype == exact.dtype
        assert np.allclose(one, exact, rtol=1e-12, atol=size, equal_nan=True)


@pytest.mark.parametrize("name", CATALOGUE)
def test_the_catalogue_has_the_values_and_derivatives_of_jax(name):
    system, x = CATALOGUE[name].system(), jnp.asarray(CATALOGUE[name].start)
    t = jnp.asarray(0.3 if isinstance(system, AbstractFlow) else 1)
    fn = moving(system)
    compare(fn, scalar_program(fn, t, x), t, x)
    along = lambda x, t: fn(t, x)
    compare(jax.jacfwd(along), jacobian_program(along, x, t), x, t)


@pytest.mark.parametrize("name", [n for n in (*FLOWS, *MAPS) if n not in ON_HOST])
def test_the_systems_of_the_papers_agree_with_jax_or_are_refused_by_name(name):
    system, x = (flow_and_start if name in FLOWS else map_and_start)(name)
    t, fn = jnp.asarray(0.1 if name in FLOWS else 1), moving(system)
    if name in BY_NAME:
        with pytest.raises(ProgramError, match=re.escape(BY_NAME[name])):
            scalar_program(fn, t, x)
        return
    compare(fn, scalar_program(fn, t, x), t, x)


def test_parameters_can_be_inputs():
    kind = CATALOGUE["lorenz"].kind
    fn = lambda rho, x: kind(rho=rho).vector_field(0.0, x)
    program = scalar_program(lambda flow, x: flow.vector_field(0.0, x), kind(), (3,))
    x, rows = np.array([1.0, 2.0, 3.0]), np.array([1.0, 28.0, 100.0])
    at = lambda rho: evaluate(program, kind(rho=rho), x)
    for rho in rows:
        assert np.allclose(at(rho), fn(rho, x), rtol=1e-13)


UNARY = (jnp.sin, jnp.tanh, jnp.exp, jnp.abs, jnp.sqrt, jnp.square, jnp.log1p, jnp.floor, jnp.sign, lambda a: -a)
BINARY = (jnp.add, jnp.subtract, jnp.multiply, jnp.divide, jnp.maximum, jnp.arctan2)
LEAVES = st.sampled_from([lambda x: x[0], lambda x: x[1], lambda x: jnp.asarray(0.7), lambda x: jnp.asarray(-2.0)])


def trees(inner):
    """Return a strategy of expressions whose parts are given ones."""
    one = lambda f, a: lambda x: f(a(x))
    two = lambda f, a, b: lambda x: f(a(x), b(x))
    either = lambda a, b: lambda x: jnp.where(a(x) > b(x), a(x), b(x) * x[0])
    return st.one_of(
        st.builds(one, st.sampled_from(UNARY), inner),
        st.builds(two, st.sampled_from(BINARY), inner, inner),
        st.builds(either, inner, inner),
    )


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.recursive(LEAVES, trees, max_leaves=12), st.lists(st.floats(-3, 3, width=32), min_size=2, max_size=2))
def test_random_expressions_agree_with_jax(expression, values):
    """JAX computes them one by one: compiled, XLA may join operations, and jumps then lie elsewhere."""
    x = jnp.asarray(values)
    found, expected = evaluate(scalar_program(expression, (2,)), x), np.asarray(expression(x))
    assert np.allclose(found, expected, rtol=1e-9, atol=1e-12, equal_nan=True)


def test_many_states_are_those_of_vmap():
    system = CATALOGUE["lorenz"].system()
    many, field = np.random.default_rng(1).normal(size=(50, 3)), lambda x: system.vector_field(0.0, x)
    expected = jax.vmap(field)(jnp.asarray(many))
    assert np.allclose(evaluate(scalar_program(field, (3,)), many), expected, rtol=1e-13, atol=1e-13)
