"""Homoclinic orbits of the Bogdanov-Takens normal form, from long periodic orbits that begin at its Hopf point."""

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.boundary_values.connecting import homoclinic_orbit
from analysis.dynamics.continuation.equilibria import continue_equilibria
from analysis.dynamics.continuation.orbits import orbit_of, orbits_from_hopf
from analysis.dynamics.continuation.steps import Steps
from dynsim.systems.base import FunctionFlow
from dynsim.systems.parameter import Parameter


def homoclinic_value(q):
    """Find the value of p at which x' = y, y' = p + q x + x^2 + x y has a homoclinic orbit."""
    normal = lambda t, s, p, q: jnp.stack([s[1], p + q * s[0] + s[0] ** 2 + s[0] * s[1]])
    flow = FunctionFlow(normal, parameters={"p": -0.1 * q**2, "q": q})
    p = Parameter(flow, "p", -0.3 * q**2, 0.1 * q**2)
    start = [-(q + abs(q) * np.sqrt(1.4)) / 2, 0.0]
    hopf = next(one for one in continue_equilibria(p, start).bifurcations if one.kind == "Hopf point")
    longest = 40 / abs(q) ** 0.5
    cycles = orbits_from_hopf(p, hopf, method="collocation", max_period=longest, steps=Steps(first=0.1 * q**2))
    orbit = orbit_of(p, cycles, -1)
    assert orbit.period > longest / 2
    moved = Parameter(p.at(cycles.parameters[-1]), "p", p.low, p.high)
    return homoclinic_orbit(moved, orbit).parameter


@pytest.mark.slow
def test_homoclinic_orbits_begin_on_their_parabola():
    """Of p = -6/25 q^2 the relative error shrinks with q.

    Source: Y. A. Kuznetsov, Elements of Applied Bifurcation Theory, theorem 8.4.
    """
    errors = [homoclinic_value(q) / q**2 + 6 / 25 for q in (-1.0, -0.25)]
    assert 0 < errors[1] < 0.4 * errors[0] < 0.02
