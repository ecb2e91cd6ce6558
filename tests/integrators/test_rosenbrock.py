"""Rodas5P: order, dense output, linear equations, lanes and kernel, beside SciPy's Radau on stiff problems."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dynsim.integrators import Diffrax, Event, Rodas5P, stiff
from dynsim.integrators.lanes.rosenbrock import RODAS5P, RodasPath, by_elimination, by_inverse, by_lapack, stages
from dynsim.simulation.ensemble import ensemble
from dynsim.simulation.simulate import simulate, simulate_until
from dynsim.systems.base import FunctionFlow
from tests.support.as_if_kernels import as_if_kernels
from tests.support.cuda_on_host import COMPILER, WHY_NOT

state = lambda t, x: x
relaxation = lambda t, x, mu: jnp.stack([x[1], mu * (1 - x[0] ** 2) * x[1] - x[0]])
VAN_DER_POL = [FunctionFlow(relaxation, parameters={"mu": mu}) for mu in (1000.0, 700.0, 500.0)]
STARTS = np.array([[2.0, 0.0], [-1.5, 0.3], [0.2, 0.1]])
SLOW = np.array([0.0, 300.0, 900.0])


class Pair(NamedTuple):
    a: Any
    b: Any


def robertson(t, x):
    """The chemical reaction of Robertson, with rates between 0.04 and 3e7."""
    fast = jnp.array([1e4 * x[1] * x[2] - 0.04 * x[0], 3e7 * x[1] ** 2])
    return jnp.stack([fast[0], -fast[0] - fast[1], fast[1]])


def test_the_order_is_five_and_that_of_the_dense_output_four():
    """A field that depends on time and state, over one step of several lengths, with the exact solution known."""
    exact = lambda t: jnp.stack([jnp.exp(jnp.sin(t)), jnp.cos(2 * t)])
    field = lambda t, y: jnp.stack([y[0] * jnp.cos(t), -2 * jnp.sin(2 * t) + y[1] ** 2 - jnp.cos(2 * t) ** 2])

    def errors(h):
        t, y = jnp.asarray(0.3), exact(0.3)
        ks, y1, error = stages(RODAS5P, field, t, t + h, y, field(t, y), by_lapack)
        inside = RodasPath(t0=t, t1=t + h, y0=y, y1=y1, k=jnp.stack(ks)).evaluate(t + 0.4 * h)
        gaps = y1 - exact(t + h), inside - exact(t + 0.4 * h), error
        return jnp.stack([jnp.max(jnp.abs(gap)) for gap in gaps])

    found = np.asarray(jax.jit(jax.vmap(errors))(jnp.array([0.2, 0.1, 0.05])))
    orders = np.log2(found[:-1] / found[1:])[-1]
    assert orders == pytest.approx([6.0, 5.0, 5.0], abs=0.5)
    ends = RodasPath(t0=0.0, t1=2.0, y0=jnp.ones(2), y1=jnp.zeros(2), k=jnp.ones((8, 2)))
    np.testing.assert_array_equal([ends.evaluate(jnp.asarray(t)) for t in (0.0, 2.0)], [[1, 1], [0, 0]])


def test_linear_equations_are_solved_with_exchanges_of_rows():
    rng = np.random.default_rng(0)
    matrices = np.concatenate([rng.normal(size=(6, 4, 4)), np.eye(4)[None, [1, 2, 3, 0]], np.eye(4)[None, ::-1] / 3])
    right = rng.normal(size=(8, 4))
    exact = np.linalg.solve(matrices, right[..., None])[..., 0]
    with jax.numpy_rank_promotion("allow"):
        together = jax.jit(lambda a, b: by_inverse(a)(b))(jnp.moveaxis(matrices, 0, -1), right.T).T
    np.testing.assert_allclose(together, exact, rtol=1e-9, atol=1e-12)
    for solver in (by_elimination, by_lapack):
        alone = jax.jit(jax.vmap(lambda a, b, solver=solver: solver(a)(b)))(matrices, right)
        np.testing.assert_allclose(alone, exact, rtol=1e-9, atol=1e-12)


@pytest.mark.slow
def test_stiff_members_are_what_radau_gives():
    found = ensemble(VAN_DER_POL, STARTS, SLOW, state, integrator=Diffrax(Rodas5P(), rtol=1e-8, atol=1e-10))
    assert found.solved == "in lanes, in JAX"
    for k, flow in enumerate(VAN_DER_POL):
        exact = simulate(flow, STARTS[k], SLOW, integrator=stiff(1e-10)).ys
        np.testing.assert_allclose(found.values[k], exact, rtol=1e-6, atol=1e-8)
    assert np.max(found.stats.num_steps) < 2000


def test_robertsons_reaction_over_ten_decades():
    ts, start = np.array([0.0, 40.0, 4e4, 4e8]), np.array([1.0, 0.0, 0.0])
    found = ensemble(
        FunctionFlow(robertson), start[None], ts, state, integrator=Diffrax(Rodas5P(), rtol=1e-7, atol=1e-12)
    )
    exact = simulate(FunctionFlow(robertson), start, ts, integrator=stiff(1e-10)).ys
    np.testing.assert_allclose(found.values[0], exact, rtol=2e-5, atol=1e-13)
    assert int(found.stats.num_steps[0]) < 400


def test_one_member_takes_the_steps_of_diffrax():
    solver = Diffrax(Rodas5P(), rtol=1e-6, atol=1e-8)
    lanes = ensemble(VAN_DER_POL, STARTS, SLOW, state, integrator=solver)
    alone = simulate(VAN_DER_POL[2], STARTS[2], SLOW, integrator=solver)
    np.testing.assert_allclose(lanes.values[2], alone.ys, rtol=1e-6)
    assert abs(int(lanes.stats.num_steps[2]) - int(alone.stats.num_steps)) <= 3


@pytest.mark.slow
def test_events_and_states_of_several_arrays():
    solver = Diffrax(Rodas5P(), rtol=1e-6, atol=1e-8)
    falls = Event(lambda t, x: x[0], direction=-1)
    end = simulate_until(VAN_DER_POL[2], STARTS[0], SLOW, [falls], integrator=solver).path.ts[-1]
    ended = ensemble(VAN_DER_POL[2], STARTS[:1], SLOW, state, integrator=solver, events=[falls])
    np.testing.assert_allclose(ended.stats.last_time[0], end, rtol=1e-7)
    pair = FunctionFlow(lambda t, x: Pair(-1e4 * (x.a - x.b), -x.b))
    path = simulate(pair, Pair(np.zeros((2, 1)), np.ones((2, 1))), [0.0, 1.0], integrator=solver)
    np.testing.assert_allclose(path.final.a, np.exp(-1) * (1 + 1e-4), rtol=1e-6)


def test_many_unknowns_keep_the_way_of_diffrax():
    decay = FunctionFlow(lambda t, x: -1e3 * x * jnp.arange(1.0, 16.0))
    found = ensemble(decay, np.ones((2, 15)), [0.0, 1e-3], state, integrator=Diffrax(Rodas5P(), rtol=1e-7))
    assert found.solved == "not in lanes, because a state has 15 entries, more than 12 for Rodas5P"
    np.testing.assert_allclose(found.final, np.exp(-np.arange(1.0, 16.0))[None].repeat(2, 0), rtol=1e-5)


@pytest.mark.skipif(COMPILER is None, reason=WHY_NOT)
def test_the_kernel_takes_the_steps_of_jax(monkeypatch):
    """The text of the kernel, run by the host."""
    run = lambda: ensemble(VAN_DER_POL, STARTS, SLOW, state, integrator=Diffrax(Rodas5P(), rtol=1e-6, atol=1e-8))
    exact = run()
    calls = as_if_kernels(monkeypatch)
    found = run()
    assert (calls, found.solved) == ([3], "in lanes, by a kernel")
    np.testing.assert_allclose(found.values, exact.values, rtol=1e-5)
    np.testing.assert_allclose(found.stats.num_steps, exact.stats.num_steps, atol=20)
