"""A flow in other units has the solutions of the flow, in these units."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.continuation.equilibria import continue_equilibria
from analysis.dynamics.continuation.steps import Steps
from analysis.dynamics.periodic_orbits.shooting import periodic_orbit
from dynsim import FunctionFlow, NoisyFlow, RescaledFlow, Scipy, Sphere, load, save, simulate
from dynsim.systems.catalogue.oscillators import VanDerPol
from dynsim.systems.fast_slow.examples import van_der_pol_flow
from dynsim.systems.fast_slow.flow import FastSlow
from dynsim.systems.named import components, parameters, where
from dynsim.systems.parameter import Parameter
from dynsim.systems.schedules import PiecewiseConstant
from dynsim.systems.tokens.flow import TokenFlow


def cubic(t, x, mu, r):
    return mu + r * x - x**3


def relaxing(t, x, rate):
    return rate * jnp.asarray([1.0, 2.0]) * (jnp.cos(3e6 * t) * jnp.asarray([1e-9, 1e-7]) - x)


SMALL = FunctionFlow(cubic, parameters={"mu": 0.0, "r": 1e-12}, names=("x",), units=("M",), time_unit="s")
"""Equilibria of some 1e-6 M, parameters of some 1e-18 M/s, in times of 1e12 s."""
FORCED = FunctionFlow(relaxing, parameters={"rate": 2e6}, breaks=[5e-7, 3e-6], fastest_period=2e-6)


def test_solutions_and_times_are_those_of_the_flow_in_its_units():
    """X' = r (w cos(3e6 t) - x), in closed form for each component."""
    flow = RescaledFlow(FORCED, state=[1e-9, 1e-7], time=1e-6, parameters={"rate": 1e6})
    run = simulate(flow, [2.0, -1.0], [0.0, 0.4, 1.5], integrator=Scipy(rtol=1e-10, atol=1e-12))
    r, w, t = np.array([2.0, 4.0]), 3.0, np.array([[0.0], [0.4], [1.5]])
    forced = lambda t: r * (r * np.cos(w * t) + w * np.sin(w * t)) / (r**2 + w**2)
    expected = forced(t) + (np.array([2.0, -1.0]) - forced(0)) * np.exp(-r * t)
    np.testing.assert_allclose(run.ys, expected, atol=1e-8)
    np.testing.assert_allclose(flow.restored(run.ys), expected * [1e-9, 1e-7], rtol=1e-6, atol=1e-16)
    np.testing.assert_allclose(flow.rescaled(flow.restored(run.ys)), run.ys, rtol=1e-14)
    np.testing.assert_allclose(flow.breakpoints(0.0, 3.0), [0.5])
    np.testing.assert_allclose(flow.breakpoints(0.6, 3.5), [3.0])
    assert flow.step_limit() == pytest.approx(1.0)
    assert float(flow.flow.parameters["rate"]) == pytest.approx(2e6, rel=1e-15)


def test_pulls_of_particles_are_in_the_new_unit_of_time():
    flow = TokenFlow(np.diag([3.0, 1.0, 2.0]))
    x = np.eye(3)
    np.testing.assert_allclose(RescaledFlow(flow, time=0.2).pulls(0.0, x), 0.2 * flow.pulls(0.0, x), rtol=1e-14)
    assert RescaledFlow(SMALL).pulls(0.0, np.ones(1)).size == 0


def test_a_flow_that_ends_does_so_in_the_new_unit_of_time():
    layers = PiecewiseConstant(np.ones((2, 1, 2, 2)), periodic=False)
    flow = RescaledFlow(TokenFlow(layers), time=0.5)
    flow.check_horizon(0.0, 4.0)
    for t0, t1 in ((0.0, 4.1), (-0.1, 4.0)):
        with pytest.raises(ValueError, match="inside the schedule of `query_key`"):
            flow.check_horizon(t0, t1)


def test_folds_that_tolerances_would_hide_are_found():
    """Mu + r x - x^3 has folds at x^2 = r / 3, where mu = -+ 2 (r / 3)^(3/2)."""
    flow = RescaledFlow(SMALL, state=1e-6, time=1e12, parameters={"mu": 1e-18})
    branch = continue_equilibria(Parameter(flow, where(flow, "mu"), -1.0, 1.0), [-1.3])
    folds = [b for b in branch.bifurcations if b.kind == "fold"]
    assert sorted(b.parameter * 1e-18 for b in folds) == pytest.approx(
        [-2e-18 / 27**0.5, 2e-18 / 27**0.5], rel=1e-9, abs=0
    )
    states = [float(flow.restored(b.state)[0]) for b in sorted(folds, key=lambda b: b.parameter)]
    assert states == pytest.approx([1e-6 / 3**0.5, -1e-6 / 3**0.5], rel=1e-6, abs=0)
    with pytest.raises(ValueError, match="Argument `parameter` must have a range wider than 1e-06 of the first step"):
        continue_equilibria(Parameter(flow, where(flow, "mu"), -1.0, 1.0), [-1.3], steps=Steps(first=3e6))


@pytest.mark.slow  # tests of periodic orbits look at sizes, too
def test_the_period_and_the_multiplier_of_an_orbit_are_those_of_the_flow():
    flow = RescaledFlow(VanDerPol(mu=1.0), state=[0.01, 100.0], time=0.5)
    orbit = periodic_orbit(flow, flow.rescaled(jnp.asarray([2.0, 0.0])), 13.4)
    assert 0.5 * orbit.period == pytest.approx(6.66328685932, abs=1e-8)
    assert np.min(np.abs(orbit.multipliers)) == pytest.approx(8.59695e-4, rel=1e-3)


def test_names_units_and_parameters_are_declared():
    flow = RescaledFlow(SMALL, state=1e-6, time=1e12, parameters={"mu": 1e-18})
    assert components(flow, jnp.ones(1)).headings() == ("x (1e-06 M)",)
    assert (flow.time_unit, RescaledFlow(SMALL).units, RescaledFlow(SMALL).time_unit) == ("1e+12 s", ("M",), "s")
    assert RescaledFlow(FORCED, state=1e-9).units == ()
    assert parameters(flow).keys() == {"scale", "mu", "r"}
    named = FunctionFlow(relaxing, parameters={"rate": 1.0}, names=("u", "v"), units=("", "mV"))
    assert RescaledFlow(named, state=[2.0, 3.0]).units == ("2", "3 mV")
    assert RescaledFlow(named, state=2.0).units == ("2", "2 mV")


def test_named_tuples_have_units_part_by_part():
    inner = van_der_pol_flow(0.1)
    flow, x = RescaledFlow(inner, state=FastSlow(2.0, 0.5), time=3.0), FastSlow(jnp.asarray(0.4), jnp.asarray(1.2))
    expected = inner.velocity(0.0, FastSlow(jnp.asarray(0.8), jnp.asarray(0.6)))
    found: FastSlow = flow.velocity(0.0, x)
    assert float(found.fast) == pytest.approx(1.5 * float(expected.fast))
    assert float(found.slow) == pytest.approx(6.0 * float(expected.slow))
    assert jax.tree.leaves(RescaledFlow(inner, state=2.0).restored(x)) == pytest.approx([0.8, 2.4])
    with pytest.raises(
        ValueError, match="Argument `state` must have the same structure as the flow's state, but has a different one"
    ):
        flow.velocity(0.0, jnp.ones(2))
    with pytest.raises(ValueError, match="Argument `state` must have a unit for each of 3 components, but has 2"):
        RescaledFlow(SMALL, state=[1.0, 2.0]).rescaled(jnp.ones(3))


def test_a_run_is_stored_with_its_units(tmp_path):
    flow = RescaledFlow(van_der_pol_flow(0.1), state=2.0, time=3.0, parameters={"epsilon": 0.2})
    run = simulate(flow, FastSlow(jnp.asarray(0.4), jnp.asarray(1.2)), [0.0, 0.1])
    save(tmp_path / "run.npz", run)
    again = load(tmp_path / "run.npz")
    assert float(again.system.flow.epsilon) == pytest.approx(0.1)
    assert (again.system.time, again.system.moved) == (3.0, (("epsilon", ("epsilon",), 0.2),))


@pytest.mark.parametrize(("options", "sentence"), [
    ({"state": -1.0}, "`state` must be a positive number, or one for each component, but is -1.0"),
    ({"state": [1.0, 0.0]}, "`state` must be a positive number, or one for each component"),
    ({"state": np.ones((2, 2))}, "`state` must be a positive number, or one for each component"),
    ({"time": 0}, "`time` must be positive, but is 0"),
    ({"parameters": {"nu": 1.0}}, "`parameters` must name a parameter of FunctionFlow, mu, r, but is `nu`"),
    ({"parameters": {"mu": "x"}}, r"`parameters\['mu'\]` must be"),
    ({"parameters": ["mu"]}, "`parameters` must be a mapping of names to positive numbers"),
    ({"flow": FunctionFlow(lambda t, x: x, Sphere()), "state": 2.0},
     "`flow` must be on a flat space if its state has a unit, but is on Sphere"),
    ({"flow": FunctionFlow(lambda t, x: x, Sphere()), "state": [1.0, 2.0, 1.0]},
     "`flow` must be on a flat space if its state has a unit, but is on Sphere"),
    ({"flow": NoisyFlow(SMALL, 0.1, calculus="ito")}, "`flow` must be a flow without noise"),
    ({"flow": 3}, "`flow` must be a flow, but is"),
])  # fmt: skip
def test_bad_units_are_refused_in_one_sentence(options, sentence):
    with pytest.raises(ValueError, match=f"Argument {sentence}"):
        RescaledFlow(options.pop("flow", SMALL), **options)
