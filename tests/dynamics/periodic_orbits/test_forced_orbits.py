"""Orbits of a forced flow and their doubled ones followed in a parameter, against closed forms."""

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.continuation.orbits import continue_orbits, switch_orbits
from analysis.dynamics.continuation.steps import Steps
from analysis.dynamics.periodic_orbits.shooting import PeriodicOrbit
from dynsim.spaces import Euclidean
from dynsim.systems.base import AbstractFlow
from dynsim.systems.catalogue.parameters import parameter
from dynsim.systems.parameter import Parameter

TURN = 2 * np.pi
BOUNDS = (-0.05, 0.1)
OPTIONS = {"steps": Steps(first=0.1, largest=0.1), "rtol": 1e-8}


class HalfTurn(AbstractFlow):
    """y' = (p y_1 - y_1^3, -y_2 / 2), seen from a frame that makes half a turn in the time 2 pi, as a forced flow.

    0 has the multipliers -exp(2 pi p) and -exp(-pi); the equilibria y_1 = +-sqrt p are one orbit of the period 4 pi.
    """

    p: object = parameter("p", -0.02)
    space: Euclidean = Euclidean()

    def velocity(self, t, x):
        c, s = jnp.cos(t / 2), jnp.sin(t / 2)
        y = jnp.stack([c * x[0] - s * x[1], s * x[0] + c * x[1]])
        v = jnp.stack([self.p * y[0] - y[0] ** 3, -y[1] / 2])
        return jnp.stack([c * v[0] + s * v[1] + x[1] / 2, -s * v[0] + c * v[1] - x[0] / 2])


def where(flow):
    return flow.p


def forcing(flow):
    return TURN + 0 * flow.p


@pytest.fixture(scope="module")
def single():
    rest = PeriodicOrbit(np.zeros(2), TURN, np.zeros((1, 2)), np.empty(0, complex), 0.0, 0.0, "stable")
    return continue_orbits(Parameter(HalfTurn(), where, *BOUNDS), rest, forcing=forcing, **OPTIONS)


@pytest.mark.slow
def test_a_forced_orbit_keeps_its_period_and_has_its_multipliers(single):
    assert single.ends == ("bounds", "bounds")
    assert (min(single.parameters), max(single.parameters)) == pytest.approx(BOUNDS)
    assert np.allclose(single.states.period, TURN)
    expected = [sorted([-np.exp(TURN * p), -np.exp(-np.pi)]) for p in single.parameters]
    assert np.allclose(single.eigenvalues, expected, rtol=1e-5)
    assert list(single.kinds) == ["saddle" if p > 0 else "stable" for p in single.parameters]
    (doubling,) = single.bifurcations
    assert (doubling.kind, doubling.parameter) == ("period doubling", pytest.approx(0.0, abs=1e-6))


@pytest.mark.slow
def test_a_doubled_orbit_of_a_forced_flow_has_twice_its_period(single):
    (double,) = switch_orbits(Parameter(HalfTurn(), where, *BOUNDS), single.bifurcations[0], forcing=forcing, **OPTIONS)
    assert double.ends == ("period doubling", "bounds")
    assert np.allclose(double.states.period, 2 * TURN)
    first, second = double.states.nodes[:, 0], double.states.nodes[:, 1]
    assert np.allclose(first, -second, atol=1e-6)
    assert np.allclose(first[:, 0] ** 2, double.parameters, atol=1e-6)
    p = double.parameters[-1]
    assert np.allclose(double.eigenvalues[-1], [np.exp(-4 * TURN * p), np.exp(-TURN)], rtol=1e-4)
    assert set(double.kinds[1:]) == {"stable"}
