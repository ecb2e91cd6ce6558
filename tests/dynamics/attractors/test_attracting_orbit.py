"""The stable periodic orbit that a run, a state or an attractor found by a search leads to, and what leads to none."""

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.attractors.attracting_orbit import attracting_orbit
from analysis.dynamics.attractors.limit_set import LimitSet
from analysis.dynamics.attractors.options import Search
from analysis.dynamics.periodic_orbits.limit_cycles import limit_cycles
from dynsim.integrators import Scipy
from dynsim.simulation.simulate import simulate
from dynsim.systems.base import FunctionFlow
from dynsim.systems.catalogue.maps import Henon
from dynsim.systems.catalogue.oscillators import DoubleWell, VanDerPol


def turning(t, x):
    """Turn around a stable circle of radius 1 with the period pi; outside of radius 3 states escape."""
    r = x @ x
    return 2 * jnp.stack([-x[1], x[0]]) + x * (1 - r) * (1 - r / 9)


CIRCLE = FunctionFlow(turning)


EXACT = LimitSet("periodic orbit", "stable", np.array([[0.0, 1.0]]), np.array([[0.0, 1.0]]), np.pi, np.ones(1))


def check(orbit):
    assert orbit.period == pytest.approx(np.pi, abs=1e-9)
    np.testing.assert_allclose(np.linalg.norm(orbit.nodes, axis=1), np.ones(3), rtol=1e-9)
    assert orbit.stability == "stable"


def test_an_attractor_is_refined_and_others_are_refused():
    check(attracting_orbit(CIRCLE, EXACT, segments=3))
    rest = EXACT._replace(kind="equilibrium", states=np.zeros((1, 2)), period=0.0)
    with pytest.raises(ValueError, match=r"`start` must lead to a stable periodic orbit, but .* stable equilibrium at"):
        attracting_orbit(CIRCLE, rest)
    run = simulate(CIRCLE, [0.1, 0.0], [0.0, 9.0], integrator=Scipy())
    with pytest.raises(ValueError, match="`start` must be a run of DoubleWell, or a state, but is a run of FunctionFl"):
        attracting_orbit(DoubleWell(), run)
    with pytest.raises(ValueError, match="`flow` must be a flow"):
        attracting_orbit(Henon(), [0.1, 0.1])


@pytest.mark.slow
def test_a_state_and_the_end_of_a_run_lead_to_the_orbit():
    run = simulate(CIRCLE, [0.1, 0.0], [0.0, 9.0], integrator=Scipy())
    for start in ([0.1, 0.0], run):
        check(attracting_orbit(CIRCLE, start, segments=3))
    with pytest.raises(ValueError, match="another limit: unstable equilibrium at"):
        attracting_orbit(CIRCLE, [0.0, 0.0])
    with pytest.raises(ValueError, match="must lead to a stable periodic orbit, but it has (escaped|left the domain)"):
        attracting_orbit(CIRCLE, [3.1, 0.0], search=Search(longest=256))


def oregonator(t, s):
    x, y, z = s
    return jnp.stack([77.27 * (y + x * (1 - 8.375e-6 * x - y)), (z - (1 + x) * y) / 77.27, 0.161 * (x - z)])


def test_stiff_relaxation_oscillations_are_found_from_afar():
    """Van der Pol's period is asymptotically (3 - 2 ln 2) mu + 7.01432 mu^(-1/3) - 22/9 ln mu / mu + 0.8 / mu.

    A. A. Dorodnicyn, Prikl. Mat. Mekh. 11 (1947). The Oregonator's is published as 302.9: E. Hairer and G. Wanner,
    Solving Ordinary Differential Equations II, section IV.10.
    """
    orbit = attracting_orbit(VanDerPol(mu=jnp.asarray(1000.0)), [2.0, 0.0])
    assert orbit.period == pytest.approx(1614.40, abs=0.01)
    assert orbit.stability == orbit.description == "stable"
    orbit = attracting_orbit(FunctionFlow(oregonator), [4.0, 1.1, 4.0])
    assert orbit.period == pytest.approx(302.858, abs=1e-3)
    assert np.max(np.abs(orbit.multipliers)) < 1e-6

    (orbit,) = limit_cycles(VanDerPol(mu=jnp.asarray(100.0)), np.array([[2.0, 0.0], [2.1, 0.1]]), backwards=False)
    assert orbit.period == pytest.approx(162.837, abs=1e-3)


def test_a_start_that_needs_more_time_is_told_which_option_gives_it():
    drift = FunctionFlow(lambda t, x: jnp.stack([1.0 + 0.0 * x[0], -100 * x[1]]))
    with pytest.raises(ValueError, match=r"not settled after .* \(a larger `longest` than 256 follows it further\)"):
        attracting_orbit(drift, [0.1, 0.0], search=Search(longest=256))
