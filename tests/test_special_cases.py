"""Every special case, to t = 20: two integrators agree to 1e-8 times the growth of the linearised flow."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from analysis.linearisation import tangent_basis
from dynsim.integrators import Diffrax, Scipy
from dynsim.keys import stream
from dynsim.simulation import simulate
from tests.zoo import FLOWS, flow_and_start

TS = np.linspace(0.0, 20.0, 11)
CASES = [name for name in FLOWS if "user" not in name]
PUSH = 1e-6


def growth(flow, path):
    """Return how much a small displacement grows between any two of the times, over a few directions; at least 1."""
    largest = 1.0
    for begin in (0, 5):
        x = path.ys[begin]
        basis = jnp.asarray(tangent_basis(flow.space, x))
        for direction in jax.random.normal(stream(0, "directions", begin), (3, basis.shape[1])):
            v = (basis @ direction / jnp.linalg.norm(direction)).reshape(x.shape)
            moved = simulate(flow, flow.space.project(x + PUSH * v), TS[begin:], integrator=Diffrax(rtol=1e-10)).ys
            largest = max(largest, float(jnp.max(jnp.abs(moved - path.ys[begin:]))) / PUSH)
    return largest


@pytest.mark.parametrize("name", CASES)
def test_both_integrators_agree_up_to_the_growth_of_the_linearised_flow(name):
    flow, x = flow_and_start(name)
    first = simulate(flow, x, TS, integrator=Diffrax(rtol=1e-11, atol=1e-13))
    second = simulate(flow, x, TS, integrator=Scipy())
    gap = float(jnp.max(jnp.abs(first.ys - second.ys)))
    assert gap < 1e-8 * growth(flow, first)
