"""Stages combined one by one: the steps, states and derivatives of diffrax's own methods."""

import dataclasses

import diffrax as dfx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dynsim.integrators.any_member import any_member
from dynsim.integrators.explicit import ByEntry, by_entry

TS = jnp.asarray([-3.0, -1.0, 0.3, 2.0])
STARTS = jnp.asarray([[0.01, 0.5], [0.3, 0.9], [0.1, 0.02]])
SOLVERS = {"last stage is the first": dfx.Tsit5(), "of order 8": dfx.Dopri8(), "of order 3": dfx.Bosh3(),
    "every stage anew": dfx.Heun()}  # fmt: skip


def field(t, y, rate):
    """The velocity of a logistic equation whose rate jumps at zero."""
    return jnp.where(t < 0, rate, -rate / 2) * y * (1 - y)


def steps(solver, y0, rate):
    """Return what two steps find, the second one beyond the jump of the field, which it is told of or not."""
    term = dfx.ODETerm(field)
    times = jnp.asarray([-0.5, -0.1, 0.1, 0.4])
    first = solver.step(term, times[0], times[1], y0, rate, solver.init(term, times[0], times[1], y0, rate), False)
    second = lambda jump: solver.step(term, times[2], times[3], first[0], rate, first[3], jnp.asarray(jump))
    return [(y1, error, dense["k"]) for y1, error, dense, _, _ in (first, second(False), second(True))]


def solved(solver, y0, rate, jumps=None):
    """Return states at `TS` and the numbers of steps."""
    control = dfx.PIDController(rtol=1e-4, atol=1e-6)
    solution = dfx.diffeqsolve(
        dfx.ODETerm(field), solver, TS[0], TS[-1], None, y0, rate, saveat=dfx.SaveAt(ts=TS), max_steps=2000,
        stepsize_controller=control if jumps is None else dfx.ClipStepSizeController(control, jump_ts=jumps),
        adjoint=dfx.ForwardMode(),
    )  # fmt: skip
    return solution.ys, (solution.stats["num_accepted_steps"], solution.stats["num_rejected_steps"])


@pytest.mark.parametrize("name", SOLVERS)
def test_a_step_is_that_of_diffrax(name):
    """All numbers of a step are at most one, and each is a sum of at most 14 products of coefficients up to 20."""
    solver, rate = SOLVERS[name], jnp.asarray(2.0)
    assert isinstance(by_entry(solver), ByEntry)
    run = lambda way: jax.jit(jax.vmap(lambda y0: steps(way, y0, rate)))(STARTS)
    bound = 14 * 20 * float(np.finfo(float).eps)
    close = lambda a, b: np.testing.assert_allclose(a, b, rtol=0, atol=bound)
    jax.tree.map(close, run(by_entry(solver)), run(dfx_forward(solver)))


def dfx_forward(solver):
    """Diffrax's method as `ForwardMode` has it, for steps outside of `diffeqsolve`."""
    return dataclasses.replace(solver, scan_kind="lax")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["last stage is the first", pytest.param("every stage anew", marks=pytest.mark.slow)])
def test_a_solve_takes_as_many_steps_as_that_of_diffrax(name):
    """Step sizes follow error estimates, whose rounding errors move the states by far less than the tolerance."""
    solver, jumps, rate = SOLVERS[name], jnp.asarray([0.0]), jnp.asarray(2.0)
    run = lambda way: jax.jit(jax.vmap(lambda y0: solved(way, y0, rate, jumps)))(STARTS)
    (found, counts), (expected, others) = run(by_entry(solver)), run(solver)
    np.testing.assert_array_equal(counts, others)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8)


@pytest.mark.slow  # the closed form of test_derivatives has these steps, too
def test_derivatives_forwards_are_those_of_diffrax():
    slope = lambda way: jax.jvp(lambda rate: solved(way, STARTS[0], rate)[0], (2.0,), (1.0,))[1]
    found, expected = slope(by_entry(dfx.Tsit5())), slope(dfx.Tsit5())
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-7)  # the tolerance is 1e-4
    assert float(jnp.max(jnp.abs(expected))) > 0.1


def test_states_keep_their_structure_and_type():
    field = lambda t, y, args: {"a": -y["a"], "b": -2 * y["b"]}
    y0 = {"a": jnp.ones(3, jnp.float32), "b": jnp.ones((2, 2), jnp.float32)}
    end = dfx.diffeqsolve(
        dfx.ODETerm(field), by_entry(dfx.Tsit5()), jnp.float32(0), jnp.float32(1), None, y0,
        stepsize_controller=dfx.PIDController(rtol=1e-4, atol=1e-6), adjoint=dfx.ForwardMode(),
    ).ys  # fmt: skip
    assert end["a"].dtype == end["b"].dtype == jnp.float32
    np.testing.assert_allclose(end["a"][0], np.full(3, np.exp(-1)), atol=1e-4)  # the tolerance of the solve
    np.testing.assert_allclose(end["b"][0], np.full((2, 2), np.exp(-2)), atol=1e-4)


@pytest.mark.parametrize("solver", [dfx.Kvaerno4(), dfx.HalfSolver(dfx.Tsit5())])
def test_methods_with_a_step_of_their_own_are_left_as_they_are(solver):
    assert by_entry(solver) is solver


def test_a_flag_of_any_member_keeps_a_branch_under_vmap():
    def chosen(flag, x):
        return jax.lax.cond(any_member(flag), lambda: jnp.cos(x), lambda: x)

    some, x = jnp.asarray([False, True, False]), jnp.arange(3.0)
    np.testing.assert_allclose(jax.vmap(chosen)(some, x), np.cos(np.arange(3.0)))
    np.testing.assert_array_equal(jax.vmap(chosen)(jnp.zeros(3, bool), x), x)
    nested = jax.vmap(jax.vmap(chosen))(jnp.stack([some, some & False]), jnp.stack([x, x]))
    np.testing.assert_allclose(nested, np.cos(np.stack([x, x])))
    assert "cond" in str(jax.make_jaxpr(jax.vmap(chosen))(some, x))
