"""Every special case, to t = 20: two integrators agree to 1e-8 times the growth of the linearised flow."""

import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.linearisation import tangent_basis
from dynsim.integrators import Diffrax, Scipy
from dynsim.keys import stream
from dynsim.simulation import simulate
from tests.zoo import FLOWS, flow_and_start

TS = np.linspace(0.0, 20.0, 11)
CASES = [name for name in FLOWS if "user" not in name]
PUSH = 1e-6


def distance(left, right):
    """Return the largest difference of two states, or of two paths of them."""
    gaps = jax.tree.map(lambda a, b: float(jnp.max(jnp.abs(a - b))), left, right)
    return max(jax.tree.leaves(gaps))


def growth(flow, path):
    """Return how much a small displacement grows between any two of the times, over a few directions; at least 1."""
    largest, follow = 1.0, Diffrax(rtol=1e-10)
    for begin in (0, 5):
        x, ts = jax.tree.map(lambda leaf, i=begin: leaf[i], path.ys), np.linspace(TS[begin], TS[-1], len(TS))
        basis, undisturbed = jnp.asarray(tangent_basis(flow.space, x)), simulate(flow, x, ts, integrator=follow).ys
        flat, unravel = jax.flatten_util.ravel_pytree(x)
        for direction in jax.random.normal(stream(0, "directions", begin), (3, basis.shape[1])):
            pushed = unravel(flat + PUSH * basis @ direction / jnp.linalg.norm(direction))
            moved = simulate(flow, flow.space.project(pushed), ts, integrator=follow).ys
            largest = max(largest, distance(moved, undisturbed) / PUSH)
    return largest


@pytest.mark.parametrize("name", CASES)
def test_both_integrators_agree_up_to_the_growth_of_the_linearised_flow(name):
    flow, x = flow_and_start(name)
    first = simulate(flow, x, TS, integrator=Diffrax(rtol=1e-11, atol=1e-13))
    second = simulate(flow, x, TS, integrator=Scipy())
    assert distance(first.ys, second.ys) < 1e-8 * growth(flow, first)
