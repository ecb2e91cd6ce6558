"""Fast-slow flows against closed forms: both time scales, stiff integration for any epsilon, and the reduced flow."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
from hypothesis import given, settings
from hypothesis import strategies as st

from dynsim.errors import IntegrationError
from dynsim.integrators import Scipy, stiff
from dynsim.simulation.run_files import rerun, save
from dynsim.simulation.simulate import simulate
from dynsim.spaces import Euclidean, Simplex, Sphere
from dynsim.systems.fast_slow.examples import (
    EXAMPLES,
    generator,
    linear_flow,
    michaelis_menten_flow,
    saddle_flow,
    switching_flow,
    van_der_pol_flow,
)
from dynsim.systems.fast_slow.flow import FastSlow, FastSlowFlow, FastSubsystem, FastTimeFlow
from dynsim.systems.fast_slow.reduced import ReducedFlow, nearby_root


def state(fast, slow):
    return FastSlow(jnp.asarray(fast, float), jnp.asarray(slow, float))


def linear_solution(epsilon, start, t):
    """Return x(t), y(t) of eps x' = y - x, y' = -x by its two modes, the slow one without cancellation."""
    root = np.sqrt(1 - 4 * epsilon)
    slow, fast = -2 / (1 + root), -(1 + root) / (2 * epsilon)
    # a mode exp(m t) has y = c exp(m t) and x = -m y
    a, b = np.linalg.solve([[1.0, 1.0], [-slow, -fast]], [float(start.slow), float(start.fast)])
    modes = a * np.exp(slow * t), b * np.exp(fast * t)
    return -slow * modes[0] - fast * modes[1], modes[0] + modes[1]


def test_each_variable_has_its_own_space():
    plain, parts = (lambda x, y: x), {"fast_space": Simplex(), "slow_space": Sphere()}
    for given_ in ({}, *({name: space} for name, space in parts.items()), parts):
        found = FastSlowFlow(plain, plain, 0.1, **given_).space.parts
        expected = (given_.get("fast_space", Euclidean()), given_.get("slow_space", Euclidean()))
        assert (type(found.fast), type(found.slow)) == tuple(map(type, expected))


@settings(max_examples=8, deadline=None)
@given(st.floats(-8, -0.7), st.floats(-3, 3), st.floats(-3, 3))
def test_the_linear_system_is_solved_at_every_epsilon(exponent, fast, slow):
    epsilon, start = 10**exponent, state(fast, slow)
    ts = np.linspace(0.0, 1.0, 5)
    path = simulate(linear_flow(epsilon), start, ts, integrator=stiff())
    x, y = linear_solution(epsilon, start, ts)
    np.testing.assert_allclose(path.ys.fast, x, atol=1e-7)
    np.testing.assert_allclose(path.ys.slow, y, atol=1e-7)
    assert int(path.stats.num_steps) < 600


@pytest.mark.parametrize("epsilon", [1e-2, 1e-8])
def test_relaxation_oscillations_need_no_tuning_and_two_methods_agree(epsilon):
    start, ts = state(2.0, 1.0), np.linspace(0.0, 2.0, 11)
    path = simulate(van_der_pol_flow(epsilon), start, ts, integrator=stiff())
    other = simulate(van_der_pol_flow(epsilon), start, ts, integrator=Scipy(method="LSODA", rtol=1e-9, atol=1e-10))
    assert int(path.stats.num_steps) < 2500
    assert np.min(path.ys.fast) < -1.0  # it has jumped
    np.testing.assert_allclose(path.ys.fast, other.ys.fast, atol=1e-5)  # a jump multiplies errors
    np.testing.assert_allclose(path.ys.slow, other.ys.slow, atol=1e-6)


def test_at_the_smallest_epsilon_a_start_off_the_manifold_is_on_it_at_once():
    for name in ("linear", "michaelis-menten"):
        flow = EXAMPLES[name].flow(1e-8)
        path = simulate(flow, EXAMPLES[name].start, [0.0, 0.5, 1.0], integrator=stiff())
        residual = path.along(lambda x, flow=flow: jnp.max(jnp.abs(flow.fast(*x))))
        assert float(residual[0]) > 0.1
        assert np.max(residual[1:]) < 1e-7


def test_fast_time_is_slow_time_over_epsilon():
    flow, start = van_der_pol_flow(0.05), state(2.0, 0.5)
    slow = simulate(flow, start, [0.0, 0.2, 1.0], integrator=Scipy())
    fast = simulate(FastTimeFlow(flow), start, np.array([0.0, 4.0, 20.0]), integrator=Scipy())
    np.testing.assert_allclose(fast.ys.fast, slow.ys.fast, atol=1e-9)
    np.testing.assert_allclose(fast.ys.slow, slow.ys.slow, atol=1e-9)


def test_a_layer_holds_y_and_goes_to_the_manifold():
    flow = FastSubsystem(michaelis_menten_flow(1e-3), 2.0)
    end = simulate(flow, jnp.asarray(0.0), [0.0, 20.0], integrator=Scipy()).final
    assert float(end) == pytest.approx(2 - np.sqrt(2), abs=1e-11)  # x^2 - 4 x + 2 = 0


def test_the_reduced_flow_of_van_der_pol_is_its_closed_form_and_ends_at_the_fold():
    flow = ReducedFlow(van_der_pol_flow(0.1))
    start = flow.space.project(state(2.0, 2 / 3))
    np.testing.assert_allclose(start.fast, 2.0, atol=1e-14)
    path = simulate(flow, start, np.linspace(0.0, 0.8, 9), integrator=Scipy())
    invariant = path.ys.fast**2 / 2 - np.log(path.ys.fast) + path.ts  # (x^2 - 1) x' = -x
    np.testing.assert_allclose(invariant, invariant[0], atol=1e-8)
    np.testing.assert_allclose(path.ys.slow, path.ys.fast**3 / 3 - path.ys.fast, atol=1e-12)
    until = 2 - np.log(2) - 0.5
    with pytest.raises(IntegrationError, match=f"only reached t = {until:.6f}.* may end at a fold"):
        simulate(flow, start, np.linspace(0.0, 2.0, 9), integrator=Scipy())


def test_the_reduced_enzyme_is_its_closed_form():
    flow = ReducedFlow(michaelis_menten_flow(0.1))
    path = simulate(flow, flow.space.project(state(0.5, 2.0)), np.linspace(0.0, 2.0, 5), integrator=Scipy())
    x = np.asarray(path.ys.fast)
    np.testing.assert_allclose(
        x, (2 + path.ys.slow - np.sqrt((2 + path.ys.slow) ** 2 - 4 * path.ys.slow)) / 2, atol=1e-12
    )
    clock = -(2 * np.log(x) - np.log(1 - x) + 1 / (1 - x))  # of y = x + x / (1 - x), y' = -x
    np.testing.assert_allclose(clock - clock[0], path.ts, atol=1e-10)


def stationary(y):
    kernel = np.linalg.svd(np.asarray(generator(jnp.asarray(y))))[2][-1]
    return kernel / kernel.sum()


@pytest.mark.slow
def test_the_reduced_chain_has_the_stationary_law_at_every_time():
    flow = ReducedFlow(switching_flow(0.1))
    path = simulate(flow, state(stationary(1.0), 1.0), [0.0, 0.5, 1.0], integrator=Scipy())
    assert float(path.final.slow) < 0.9  # it moves
    for p, y in zip(path.ys.fast, path.ys.slow, strict=True):
        np.testing.assert_allclose(p, stationary(y), atol=1e-12)


def test_a_probability_stays_one_and_the_rates_of_the_chain_conserve_it():
    flow = switching_flow(1e-4)
    start = EXAMPLES["switching"].start
    rate = flow.velocity(0.0, jax.tree.map(jnp.asarray, start))
    assert abs(float(jnp.sum(rate.fast))) < 1e-9 * float(jnp.max(jnp.abs(rate.fast)))
    path = simulate(flow, start, np.linspace(0.0, 1.0, 5), integrator=stiff())
    assert np.min(path.ys.fast) >= 0
    assert float(path.stats.max_defect) < 1e-9


@eqx.filter_jit
def on_manifold(space, start, move):
    """Return the defect of a projected start, and a move there by `tangent` and by the derivative of `project`."""
    x = space.project(start)
    return space.defect(x), space.tangent(x, move), jax.jvp(space.project, (x,), (move,))[1]


@pytest.mark.parametrize("name", ["van-der-pol", "switching"])
def test_the_tangent_of_the_manifold_is_the_derivative_of_its_projection(name):
    space, start = ReducedFlow(EXAMPLES[name].flow(0.1)).space, EXAMPLES[name].start
    move = FastSlow(0.3 * np.ones_like(start.fast), np.asarray(0.7))
    defect, direct, other = on_manifold(space, start, move)
    assert float(defect) < 1e-14
    np.testing.assert_allclose(direct.fast, other.fast, atol=1e-12)
    np.testing.assert_allclose(direct.slow, other.slow, atol=1e-15)


@pytest.mark.parametrize(("name", "x", "y", "fast", "slow"), [
    ("linear", 2.0, 0.5, -1.5, -2.0),
    ("van-der-pol", 1.5, 0.25, 0.625, -1.5),
    ("michaelis-menten", 0.5, 2.0, 0.25, -0.5),
    ("switching", [0.5, 0.25, 0.25], 0.0, [-0.75, 0.5, 0.25], 0.25),
    ("transcritical", 0.5, 2.0, 0.75, 1.0),
    ("saddle", [0.5, -1.0], 2.0, [1.5, -3.0], -0.5),
])  # fmt: skip
def test_an_example_has_the_field_of_its_equations(name, x, y, fast, slow):
    velocity = EXAMPLES[name].flow(0.5).velocity(0.0, FastSlow(jnp.asarray(x), jnp.asarray(y)))
    np.testing.assert_allclose(velocity.fast, np.asarray(fast) / 0.5, rtol=1e-15)
    np.testing.assert_allclose(velocity.slow, slow, rtol=1e-15)


def test_another_epsilon_changes_nothing_else():
    flow = switching_flow(0.1)
    other = flow.with_epsilon(1e-3)
    assert other.fast is flow.fast
    x = jax.tree.map(jnp.asarray, EXAMPLES["switching"].start)
    np.testing.assert_allclose(other.velocity(0.0, x).fast, 100 * flow.velocity(0.0, x).fast, rtol=1e-14)
    np.testing.assert_array_equal(other.velocity(0.0, x).slow, flow.velocity(0.0, x).slow)
    assert isinstance(FastSlowFlow(flow.fast, flow.slow, 0.1).space.parts.fast, Euclidean)
    assert isinstance(other.space.parts.fast, Simplex)


def test_a_root_is_found_whatever_the_unit_of_the_field():
    """At roots a field with rates of 1e9 has values of rounding up to 1e-6, which no Newton step makes less."""
    fast = lambda x, y: 1e9 * (x * jnp.exp(x) - y)
    ys = jnp.linspace(1.0, 2.0, 40)
    find = jax.jit(jax.vmap(lambda x, y: nearby_root(fast, Euclidean(), x, y)))
    roots = scipy.special.lambertw(np.asarray(ys)).real
    np.testing.assert_allclose(find(jnp.asarray(roots) + 0.01, ys), roots, rtol=1e-14)
    assert np.all(np.isnan(find(jnp.full(40, 0.1), -ys)))  # x e^x is at least -1 / e


@pytest.mark.parametrize(
    "make",
    [lambda: switching_flow(1e-3), pytest.param(lambda: ReducedFlow(switching_flow(1.0)), marks=pytest.mark.slow)],
)
def test_a_run_is_stored_and_made_again_to_the_bit(tmp_path, make):
    flow = make()
    start = flow.space.project(jax.tree.map(jnp.asarray, EXAMPLES["switching"].start))
    path = simulate(flow, start, [0.0, 0.1, 0.2], integrator=stiff())
    save(tmp_path / "run.npz", path)
    again = rerun(tmp_path / "run.npz")
    assert isinstance(again.ys, FastSlow)
    np.testing.assert_array_equal(again.ys.fast, path.ys.fast)
    np.testing.assert_array_equal(again.ys.slow, path.ys.slow)


def test_a_jacobian_that_overflows_is_a_cause_and_no_error_of_linear_algebra():
    start = state([1.0, 1.5], 1.0)
    path = simulate(saddle_flow(1e-3), start, [0.0, 1.0], integrator=stiff(1e-3), throw=False)
    assert not bool(path.stats.succeeded)
    assert "not finite" in str(path.stats)


@pytest.mark.parametrize("epsilon", [0.0, -1e-3, np.nan, np.inf, [0.1, 0.2]])
def test_a_ratio_that_is_no_positive_number_is_refused(epsilon):
    with pytest.raises(
        ValueError, match="Argument `epsilon` must be (positive|finite|a positive number), but (is|has)"
    ):
        linear_flow(np.asarray(epsilon))
    with pytest.raises(ValueError, match="Argument `epsilon`"):
        linear_flow(0.1).with_epsilon(np.asarray(epsilon))


def test_functions_and_states_of_the_wrong_kind_are_refused():
    minus = lambda x, y: -x
    wide, start = (lambda x, y: jnp.stack([x, x])), state(1.0, 1.0)
    with pytest.raises(ValueError, match=r"`fast` must return the shape of its variable, \(\), but returns \(2,\)"):
        simulate(FastSlowFlow(wide, minus, 0.1), start, [0.0, 1.0])
    with pytest.raises(ValueError, match=r"`slow` must return the shape of its variable, \(\), but returns \(2,\)"):
        simulate(FastSlowFlow(minus, wide, 0.1), start, [0.0, 1.0])
    with pytest.raises(ValueError, match="`y0` must be finite"):
        simulate(linear_flow(0.1), state(np.nan, 1.0), [0.0, 1.0])
    with pytest.raises(ValueError, match="`y0` must lie on the space, Product"):
        simulate(switching_flow(0.1), state([1.0, 1.0, 1.0], 0.0), [0.0, 1.0])
    with pytest.raises(ValueError, match="`y0` must be a `FastSlow"):
        linear_flow(0.1).velocity(0.0, jnp.ones(2))


def test_a_rate_that_is_no_function_is_refused():
    with pytest.raises(ValueError, match=r"Argument `slow` must be a function of \(x, y\), but is float"):
        FastSlowFlow(lambda x, y: -x, 1.0, 0.1)


def test_a_start_off_the_manifold_or_above_none_of_it_is_refused():
    flow = ReducedFlow(van_der_pol_flow(0.1))
    with pytest.raises(ValueError, match="`y0` must lie on the space, CriticalManifold"):
        simulate(flow, state(2.0, 0.0), [0.0, 0.1])
    with pytest.raises(ValueError, match="is off it by nan"):
        simulate(ReducedFlow(FastSlowFlow(lambda x, y: x**2 + y, lambda x, y: y, 0.1)), state(0.5, 1.0), [0.0, 0.1])
