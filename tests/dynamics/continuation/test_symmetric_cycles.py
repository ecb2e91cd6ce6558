"""Pitchforks and transcritical bifurcations of periodic orbits, and the branches that leave them."""

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.continuation.orbits import continue_orbits, switch_orbits
from analysis.dynamics.continuation.steps import Steps
from analysis.dynamics.periodic_orbits.shooting import periodic_orbit
from dynsim.systems.base import FunctionFlow
from dynsim.systems.parameter import Parameter


def cycle_with_height(t, s, mu=-0.5, power=3.0):
    """The unit circle in the plane z = 0, off which z' = mu z - z^3 (or z^2) leads; the period depends on z."""
    x, y, z = s
    growth, speed = 1 - x**2 - y**2, 1 + z**2
    away = jnp.where(power > 2.5, z**3, z**2)
    return jnp.stack([growth * x - speed * y, speed * x + growth * y, mu * z - away])


@pytest.mark.slow
def test_a_symmetric_cycle_has_a_pitchfork_from_which_asymmetric_ones_leave():
    mu = Parameter(FunctionFlow(cycle_with_height, parameters={"mu": -0.5, "power": 3.0}), "mu", -0.6, 0.5)
    orbit = periodic_orbit(mu.system, [1.0, 0.0, 0.0], 6.28, segments=3)
    options = {"method": "shooting", "steps": Steps(first=0.2)}
    (at,) = continue_orbits(mu, orbit, **options).bifurcations
    assert at.title == "supercritical pitchfork"
    assert at.parameter == pytest.approx(0.0, abs=1e-6)
    assert at.coefficient == pytest.approx(-1.0, rel=1e-4)
    left = switch_orbits(mu, at, **options)
    assert len(left) == 2
    for branch in left:
        z = branch.states.nodes[..., 2]
        assert np.allclose(z**2, branch.parameters[:, None], atol=1e-5)
        assert branch.kinds[-1] == "stable"
    assert left[0].states.nodes[-1, 0, 2] * left[1].states.nodes[-1, 0, 2] < 0


@pytest.mark.slow
def test_cycles_that_cross_without_a_symmetry_are_transcritical():
    mu = Parameter(FunctionFlow(cycle_with_height, parameters={"mu": -0.5, "power": 2.0}), "mu", -0.6, 0.5)
    orbit = periodic_orbit(mu.system, [1.0, 0.0, 0.0], 6.28, segments=3)
    (at,) = continue_orbits(mu, orbit, steps=Steps(first=0.2)).bifurcations
    assert at.title == "transcritical bifurcation"
    assert np.isnan(at.coefficient)
