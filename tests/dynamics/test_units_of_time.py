"""Times, periods and rates of flows that are a million times faster are those of the slow ones in another unit."""

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.codim2.curves import critical_curve
from analysis.dynamics.continuation.equilibria import continue_equilibria
from analysis.dynamics.continuation.orbits import continue_orbits
from analysis.dynamics.continuation.steps import Steps
from analysis.dynamics.equilibria.search import equilibria_in_box
from analysis.dynamics.equilibria.settling import settle
from analysis.dynamics.periodic_orbits.shooting import periodic_orbit
from dynsim.systems.base import FunctionFlow
from dynsim.systems.parameter import Parameter

FAST = 1e6


def test_an_equilibrium_at_a_time_has_the_eigenvalue_of_that_time():
    flow = FunctionFlow(lambda t, x: FAST * (1 - (2 + jnp.cos(FAST * t)) * x))
    (found,), _ = equilibria_in_box(flow, np.array([0.0]), np.array([1.0]), 0.3 / FAST)
    rate = 2 + np.cos(0.3)
    assert found.state[0] == pytest.approx(1 / rate, rel=1e-12)
    assert found.spectrum.values == pytest.approx([-FAST * rate], rel=1e-12)
    assert 1e-9 * FAST < found.spectrum.tolerance < 1e-3 * FAST


def test_a_field_that_has_become_slow_and_stable_settles():
    """Before the time 5 / FAST the state 1 repels, and the field is driven."""

    def late(t, x):
        s = FAST * t
        return FAST * (jnp.exp(-s) - jnp.tanh(s - 5) * (x - 1))

    found = settle(FunctionFlow(late), [1.0], first_time=32 / FAST, max_time=128 / FAST)
    assert found.verdict == "stationary"
    assert found.state[0] == pytest.approx(1.0, abs=1e-8)


def test_a_branch_of_orbits_ends_at_the_longest_period_in_the_unit_of_the_flow():
    def clock(t, x, mu=1.0):  # on the unit circle, with the period 2 pi mu / FAST
        return FAST * ((1 - x @ x) * x + jnp.stack([-x[1], x[0]]) / mu)

    flow = FunctionFlow(clock, parameters={"mu": 1.0})
    orbit = periodic_orbit(flow, [1.0, 0.0], 2 * np.pi / FAST, segments=2)
    found = continue_orbits(
        Parameter(flow, "mu", 0.9, 9.0), orbit, steps=Steps(first=0.2, largest=0.4), max_period=4 * np.pi / FAST
    )
    assert found.ends == ("bounds", "period")
    assert np.allclose(found.states.period, 2 * np.pi / FAST * found.parameters, rtol=1e-6)
    assert 1.5 < found.parameters[-1] <= 2.0


def test_the_frequencies_along_a_curve_of_hopf_points_are_in_the_unit_of_the_flow():
    def field(t, x, a=-1.0, b=0.5):
        r = x @ x
        return FAST * jnp.stack([(a - r) * x[0] - (1 + b) * x[1], (1 + b) * x[0] + (a - r) * x[1]])

    flow = FunctionFlow(field, parameters={"a": -1.0, "b": 0.5})
    a, b = Parameter(flow, "a", -1.0, 1.0), Parameter(flow, "b", 0.0, 1.0)
    (hopf,) = continue_equilibria(a, jnp.zeros(2)).bifurcations
    assert hopf.frequency == pytest.approx(1.5 * FAST, rel=1e-9)
    found = critical_curve((a, b), hopf)
    assert np.allclose(found.frequencies, FAST * (1 + found.second), rtol=1e-9)
    assert np.ptp(found.second) == pytest.approx(1.0)
