"""Eigenvalues of products of matrices that rounding errors of the product would hide."""

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.continuation.orbits import continue_orbits
from analysis.dynamics.periodic_orbits import multipliers
from analysis.dynamics.periodic_orbits.limit_cycles import _orbit
from analysis.dynamics.periodic_orbits.multipliers import product_eigenvalues, return_factors
from analysis.dynamics.periodic_orbits.shooting import periodic_orbit
from dynsim.systems.base import FunctionFlow
from dynsim.systems.parameter import Parameter

RANDOM = np.random.default_rng(3)


@pytest.mark.parametrize("values", [[1e20, 1.0, 1e-15], [1e9, 1.0, 1 - 1e-3], [-1e12, 0.5, -1e-8], [2.0, 1.0, 0.1]])
def test_eigenvalues_of_a_product_are_exact_beside_far_larger_ones(values):
    # factors S_(k + 1) D S_k^-1, whose product is similar to D^8 = diag(values)
    S = [RANDOM.normal(size=(3, 3)) for _ in range(8)]
    D = np.diag(np.abs(values) ** (1 / 8))
    signs = np.diag(np.sign(values))
    factors = np.stack([S[(k + 1) % 8] @ D @ (signs if k == 0 else np.eye(3)) @ np.linalg.inv(S[k]) for k in range(8)])
    found = product_eigenvalues(factors)
    assert np.allclose(found, sorted(values, key=lambda v: -abs(v)), rtol=1e-9)


def test_a_complex_pair_beside_a_large_eigenvalue_keeps_its_modulus_and_angle(monkeypatch):
    turn = 0.9 * np.array([[np.cos(0.3), -np.sin(0.3)], [np.sin(0.3), np.cos(0.3)]])
    one = np.zeros((3, 3))
    one[0, 0], one[1:, 1:] = 1e5, turn
    S = [RANDOM.normal(size=(3, 3)) for _ in range(4)]
    sweeps, triangular = [], multipliers.dgeqrf
    monkeypatch.setattr(multipliers, "dgeqrf", lambda A: sweeps.append(1 / 4) or triangular(A))
    found = product_eigenvalues(np.stack([S[(k + 1) % 4] @ one @ np.linalg.inv(S[k]) for k in range(4)]))
    assert sum(sweeps) <= 3  # no further one separates the pair
    assert found[0] == pytest.approx(1e20, rel=1e-9)
    assert np.allclose(np.sort_complex(found[1:]), 0.9**4 * np.exp([-1.2j, 1.2j]), rtol=1e-9)


def test_factors_across_the_velocity_have_all_eigenvalues_but_the_trivial_one():
    velocity = RANDOM.normal(size=(3, 2))
    factors = []
    for k in range(3):
        along, other = velocity[k], RANDOM.normal(size=2)
        image = np.column_stack([velocity[(k + 1) % 3], RANDOM.normal(size=2)])
        factors.append(image @ np.linalg.inv(np.column_stack([along, other])))
    whole = np.linalg.eigvals(factors[2] @ factors[1] @ factors[0])
    (left,) = product_eigenvalues(return_factors(np.stack(factors), velocity))
    assert np.min(np.abs(whole - 1)) < 1e-9
    assert left == pytest.approx(whole[np.argmax(np.abs(whole - 1))], rel=1e-9)


@pytest.mark.slow
def test_a_strongly_repelling_cycle_has_its_multiplier():
    def field(t, x):  # r' = r (1 - r^2) (4 - r^2), angle' = 2 - r^2: at r = 2 the multiplier is exp(24 pi)
        r = x[0] ** 2 + x[1] ** 2
        grow, turn = (1 - r) * (4 - r), 2 - r
        return jnp.stack([x[0] * grow - x[1] * turn, x[1] * grow + x[0] * turn])

    orbit = _orbit(FunctionFlow(field), np.array([2.02, 0.0]), 3.1, "unstable")
    assert orbit is not None
    assert (orbit.stability, orbit.period) == ("unstable", pytest.approx(np.pi))
    assert np.allclose(np.linalg.norm(orbit.nodes, axis=1), 2.0)
    assert orbit.multipliers == pytest.approx(np.exp(24 * np.pi), rel=1e-5)
    angles = np.unwrap(np.arctan2(orbit.nodes[:, 1], orbit.nodes[:, 0]))
    assert np.all(np.diff(angles) < 0)  # in the order of the flow, whose velocity there turns clockwise
    assert _orbit(FunctionFlow(field), np.array([2.02, 0.0]), 3.1, "stable") is None


@pytest.mark.parametrize("rates", [(60.0,), (1e4, 0.5), (60.0, 80.0)])
def test_decay_that_intervals_do_not_resolve_is_that_of_the_divergence(rates):
    """The circle r' = r (1 - r^2) with components that follow x y at some rates; only the product of two is known."""

    def field(t, s, mu=1.0):
        x, y = s[0], s[1]
        growth = mu - x * x - y * y
        return jnp.concatenate([jnp.stack([growth * x - y, growth * y + x]), -jnp.asarray(rates) * (s[2:] - x * y)])

    flow = FunctionFlow(field, parameters={"mu": 1.0})
    orbit = periodic_orbit(flow, np.array([1.0, 0.0, *(0 * one for one in rates)]), 6.28, method="collocation")
    branch = continue_orbits(Parameter(flow, "mu", 0.9, 1.0), orbit, method="collocation")
    assert branch.ends == ("bounds", "bounds")
    assert set(branch.kinds) == {orbit.stability} == {"stable"}
    for mu, values in ((1.0, orbit.multipliers), (0.9, branch.eigenvalues[0])):
        expected = -np.sort(np.multiply([2 * mu, *rates], 2 * np.pi))
        found = np.log(np.abs(values))
        resolved = int(np.sum(np.array(rates) < 10)) + 1
        assert np.allclose(found[:resolved], expected[:resolved], rtol=1e-7)
        if np.min(expected) > -700:  # otherwise they underflow
            assert np.sum(found) == pytest.approx(np.sum(expected), rel=1e-9)
        else:
            assert np.min(found) < -690
