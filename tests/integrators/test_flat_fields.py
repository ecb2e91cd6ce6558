"""Fields and Jacobians of flat states: sparse for large systems, Python functions for small ones."""

import functools
import gc

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import DOP853
from scipy.sparse import issparse

from dynsim.integrators import Scipy
from dynsim.integrators.base import _apart, taken_apart
from dynsim.integrators.flat_fields import JOINED, flat_field, flat_jacobian, flattened, shortened
from dynsim.integrators.scipy_backend import StepOutput
from dynsim.programs import evaluate, scalar_program
from dynsim.programs.python_function import python_function
from dynsim.programs.sparsity import SMALLEST, sparse_pattern
from dynsim.simulation.simulate import simulate
from dynsim.spaces import Euclidean
from dynsim.systems.base import AbstractFlow, FunctionFlow

SIZE = 2 * SMALLEST


def diffusion(t, x, rate):
    """Diffusion with a reaction that starts at zero as a square root, which has no derivative there."""
    padded = jnp.pad(x, 1)
    return rate * (padded[2:] - 2 * x + padded[:-2]) - jnp.where(t > 1, x**3, jnp.sqrt(x))


def jacobian_of(rhs, x, t=0.5, **parameters):
    flow = FunctionFlow(rhs, parameters=parameters)
    flat, unravel = flattened(x)
    field = flat_field(flow, unravel, t, flat)
    return flat_jacobian(flow, unravel, field, t, flat), field


def test_a_large_jacobian_with_few_entries_is_sparse_and_that_of_the_field():
    x = jnp.asarray(np.random.default_rng(0).uniform(0.5, 2.0, SIZE))
    jacobian, _ = jacobian_of(diffusion, x, rate=3.0)
    found = jacobian(0.5, np.asarray(x))
    assert issparse(found)
    assert found.nnz == 3 * SIZE - 2
    np.testing.assert_allclose(found.toarray(), jax.jacfwd(lambda x: diffusion(0.5, x, 3.0))(x), rtol=1e-13)
    at_zero = np.asarray(x.at[5].set(0.0))  # no derivative there: a difference quotient
    assert np.all(np.isfinite(jacobian(0.5, at_zero).toarray()))
    assert jacobian(0.5, at_zero)[5, 5] < -1e3


def test_columns_that_share_no_row_share_a_derivative():
    program = scalar_program(lambda t, x: diffusion(t, x, 3.0), (), (SIZE,))
    assert len(sparse_pattern(program, SIZE).seeds) == 3


def test_a_choice_depends_on_each_case_and_not_on_its_condition():
    others = [np.roll(np.arange(SIZE), -k) for k in range(1, 4)]
    rhs = lambda t, x: jnp.where(x[others[0]] > 0, x[others[1]] ** 2, x[others[2]] ** 3)
    pattern = sparse_pattern(scalar_program(rhs, (), (SIZE,)), SIZE)
    used = set(zip(pattern.rows.tolist(), pattern.columns.tolist(), strict=True))
    assert used == {(row, int(other[row])) for other in others[1:] for row in range(SIZE)}


@pytest.mark.parametrize(
    "rhs",
    [
        lambda t, x: jnp.sum(x) - x,  # full
        lambda t, x: x * sum(x[np.random.default_rng(k).permutation(SIZE)] for k in range(4)),  # fills up
        lambda t, x: jnp.sort(x),  # without a program
    ],
)
def test_other_jacobians_are_full_matrices(rhs):
    x = jnp.linspace(1.0, 2.0, SIZE)
    found = jacobian_of(rhs, x)[0](0.5, np.asarray(x))
    np.testing.assert_allclose(found, jax.jacfwd(lambda x: rhs(0.5, x))(x), rtol=1e-12)


SHORT = {
    "arithmetic": lambda t, x: jnp.stack([-(x[0] ** 3) / (1 + x[1] ** 2) - 2.5, x[0] ** -2 + x[1] ** 7 * t]),
    "functions": lambda t, x: jnp.stack([jnp.exp(-x[0]) * jnp.tanh(x[1]), jnp.log1p(x[0] ** 2) + x[0] ** t]),
    "logic": lambda t, x: jnp.where((t > 0.2) & ~(x > 1) | (x < 0), jnp.abs(x), jnp.sign(x) * jnp.clip(x, 0.2, 0.8)),
    "extremes": lambda t, x: jnp.stack([jnp.maximum(x[0], x[1]), jnp.minimum(x[0], t) + jnp.floor(3 * x[1])]),
}


@pytest.mark.parametrize("name", SHORT)
def test_a_short_program_is_a_python_function(name):
    program = scalar_program(SHORT[name], (), (2,))
    function = python_function(program)
    for t, a, b in np.random.default_rng(0).uniform(0.1, 2.0, (20, 3)).tolist():
        np.testing.assert_allclose(function([t, a, b]), evaluate(program, t, np.array([a, b])), rtol=1e-14)


def test_what_has_no_python_function_is_compiled():
    assert python_function(scalar_program(lambda x: jnp.cumsum(jnp.sin(x)), (200,))) is None  # long
    assert python_function(scalar_program(lambda x: x.astype(int) * 2, (2,))) is None
    assert python_function(scalar_program(jnp.sin, (2,), dtype=np.float32)) is None


def test_the_compiled_functions_decide_where_a_number_is_not_finite():
    rhs = lambda t, x: jnp.stack([jnp.sqrt(x[0]) + jnp.exp(x[1])])[:1] * jnp.ones(2)
    x = jnp.array([0.0, 1.0])
    jacobian, compiled = jacobian_of(rhs, x)
    flow = FunctionFlow(rhs)
    field, derivative = shortened(flow, flattened(x)[1], compiled, jacobian)
    assert field is not compiled
    for y in (np.array([4.0, 0.5]), np.array([-1.0, 0.0]), np.array([1.0, 1e4])):
        np.testing.assert_allclose(field(0.0, y), compiled(0.0, y), rtol=1e-14)
    np.testing.assert_allclose(derivative(0.0, np.array([4.0, 0.0])), [[0.25, 1.0]] * 2)
    assert np.all(np.isfinite(derivative(0.0, np.zeros(2))))  # a difference quotient


def test_infinities_and_nan_of_a_short_field_are_those_of_numpy():
    rhs = lambda t, x: jnp.stack([1 / x[0], jnp.log(x[1]), jnp.exp(x[0]) * t])
    with np.errstate(all="ignore"):
        otherwise = lambda t, y: np.array([1 / y[0], np.log(y[1]), np.exp(y[0]) * t])
        field, _ = shortened(FunctionFlow(rhs), flattened(jnp.ones(3))[1], otherwise)
        for y in np.array([[2.0, 0.5, 1.0], [0.0, 1.0, 1.0], [1.0, -1.0, 0.0], [800.0, 0.0, 0.0], [np.nan, 1.0, 0.0]]):
            np.testing.assert_allclose(field(2.0, y), otherwise(2.0, y), rtol=1e-15)


def test_the_dense_output_of_a_step_is_evaluated_once_for_its_check_and_its_states():
    start = functools.partial(
        lambda t, y, end, **options: DOP853(lambda t, y: -y, t, y, end, **options), rtol=1e-9, atol=1e-11
    )
    solver = start(0.0, np.ones(2), 3.0)
    solver.step()
    output, calls = StepOutput(start, solver, np.ones(2)), []
    dense = output.dense
    output.dense = lambda ts: calls.append(ts) or dense(ts)  # pyright: ignore[reportAttributeAccessIssue]
    ts = np.linspace(0.0, output.ends[1], 5)[1:]
    np.testing.assert_allclose(output(ts), np.exp(-ts)[:, None] * np.ones(2), rtol=1e-8)
    assert (output.solves, len(calls)) == (True, 1)


def test_one_unknown_has_a_matrix_of_one_entry():
    rhs = lambda t, x: -3.0 * x
    jacobian, field = jacobian_of(rhs, jnp.ones(1))
    assert shortened(FunctionFlow(rhs), flattened(jnp.ones(1))[1], field, jacobian)[1](0.0, np.ones(1)).shape == (1, 1)


def test_a_field_alone_is_shortened():
    compiled = lambda t, y: np.full(1, np.nan)  # not called where the numbers are finite
    field, jacobian = shortened(FunctionFlow(lambda t, x: t - 2 * x), flattened(jnp.ones(1))[1], compiled)
    assert jacobian is None
    assert field(1.0, np.array([3.0])).tolist() == [-5.0]
    untraceable = FunctionFlow(lambda t, x: np.asarray(float(x[0]))[None])
    assert shortened(untraceable, flattened(jnp.ones(1))[1], compiled)[0] is compiled


class _Keyed(AbstractFlow):
    """Decay with a random push in each unit of time."""

    key: jax.Array

    @property
    def space(self):
        return Euclidean()

    def velocity(self, t, x):
        push = jax.random.normal(jax.random.fold_in(self.key, jnp.floor(t).astype(int)), x.shape)
        return push - x


def test_a_flow_with_a_random_key_is_solved_by_scipy():
    flow = _Keyed(jax.random.key(0))  # pyright: ignore[reportCallIssue]
    push = np.asarray(jax.random.normal(jax.random.fold_in(jax.random.key(0), 0), (2,)))
    found = simulate(flow, jnp.ones(2), [0.0, 0.5], integrator=Scipy(rtol=1e-9, atol=1e-11)).final
    assert np.asarray(found) == pytest.approx(push + (1 - push) * np.exp(-0.5), abs=1e-7)


def test_a_flow_is_taken_apart_again_after_its_parameters_changed_and_forgotten_with_it():
    """Its own parts are remembered by identity, so a dictionary in it that changes must be looked at each time."""
    flow = FunctionFlow(lambda t, x, a: -a * x, parameters={"a": jnp.asarray(1.0)})
    first = taken_apart(flow)
    assert taken_apart(flow) is first
    flow.parameters["a"] = jnp.asarray(2.0)
    assert [float(leaf) for leaf in taken_apart(flow).leaves] == [2.0]
    place = id(flow)
    assert place in _apart
    del flow
    gc.collect()
    assert place not in _apart


def test_small_arrays_of_a_flow_travel_with_the_state_and_others_apart():
    """An evaluation copies the small ones beside the state, and large ones are arguments of their own."""
    scale, large = np.array([2.0, 3.0]), np.arange(float(JOINED + 1))
    flow = FunctionFlow(
        lambda t, x, scale, large: scale * x + large[-1] + t,
        parameters={"scale": jnp.asarray(scale), "large": jnp.asarray(large)},
    )
    flat, unravel = flattened(jnp.asarray([1.0, 10.0]))
    field = flat_field(flow, unravel, 0.0, flat)
    np.testing.assert_array_equal(field(0.5, flat), scale * flat + JOINED + 0.5)


@pytest.mark.parametrize("size", [1e-12, 1.0, 1e9])
def test_a_column_without_a_derivative_is_a_quotient_over_a_part_of_the_state(size):
    """The field |x| + x^2 / s has no derivative at x = 0 in this form; near it the slope is 1 beside y = s."""
    bent = lambda t, x, s: jnp.stack([jnp.sqrt(x[0] ** 2) + x[0] ** 2 / s, 2 * x[1]])
    jacobian, _ = jacobian_of(bent, jnp.array([0.0, size]), s=size)
    assert jacobian is not None
    np.testing.assert_allclose(jacobian(0.5, np.array([0.0, size])), [[1.0, 0.0], [0.0, 2.0]], atol=1e-6)
