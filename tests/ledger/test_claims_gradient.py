"""The instances behind the claims of Sections 3, 5 and 6, held against numbers worked out by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from analysis.claims.consensus import section_03_equilibria as critical
from analysis.claims.consensus import section_03_general_metric as general
from analysis.claims.consensus.instances.equilibria import circle_configurations, configurations
from analysis.claims.rational_instances import (
    factor_and_points,
    identity,
    matrix,
    on_ellipsoid,
    rational_unit,
    tangent_part,
)
from dynsim.integrators import Diffrax, Scipy
from dynsim.keys import random_key
from dynsim.simulation.simulate import simulate
from dynsim.systems.tokens.flow import TokenFlow

pytestmark = pytest.mark.usefixtures("short_draws")

KEY = random_key(0, "claims by hand")


def test_rational_instances_are_exact():
    for index in range(20):
        key = random_key(0, "rational", index)
        P, y = on_ellipsoid(key, 3)
        assert y @ P @ y == 1
        assert np.all(P == P.T)
        u = rational_unit(key, 4)
        assert sum(u * u) == 1
        X = matrix(np.array([1, 2, 3]))
        assert y @ P @ tangent_part(P, y, X) == 0


def test_the_coordinates_of_a_factor_take_p_to_the_identity_and_no_others_do():
    lower, y = factor_and_points(KEY, 3, 4)
    assert np.all(general.exact_gap(KEY, lower, y, lower.T) == 0)
    assert np.any(general.exact_gap(KEY, lower, y, identity(3)) != 0)
    same, other = (general.conjugacy_gaps(KEY, Diffrax(), lower, y, into) for into in (lower.T, identity(3)))
    assert all(gap < 1e-6 for gap in same.values())
    assert all(gap > 1e-2 for gap in other.values())


@pytest.mark.parametrize("name", {**configurations(), **circle_configurations()})
def test_the_configurations_are_unit_vectors_at_rest(name):
    x = jnp.asarray({**configurations(), **circle_configurations()}[name])
    np.testing.assert_allclose(jnp.linalg.norm(x, axis=1), 1.0, atol=1e-14)
    assert jnp.max(jnp.abs(TokenFlow(np.eye(x.shape[1])).vector_field(0.0, x))) < 1e-14


def test_an_antipodal_split_is_attracting_if_the_lower_eigenvalues_of_u_are_below_tanh_1():
    x = jnp.asarray(configurations()["two against two"])
    below, above = (np.diag([1.0, np.tanh(1) + e, np.tanh(1) + e]) for e in (-0.01, 0.01))
    assert critical.growth_rate(TokenFlow(np.eye(3), below), x) < -1e-3
    assert critical.growth_rate(TokenFlow(np.eye(3), above), x) > 1e-3


def test_the_sum_of_the_hessian_over_common_directions_by_hand():
    y, z = matrix(np.array([1, 0, 0])), matrix(np.array([0, 1, 0]))  # c = 0 in R^3: (1 - 0)(0 + 2) = 2
    assert critical._pair_terms(y, z, identity(3)) == 2
    assert critical._pair_terms(y, -y, identity(3)) == 4  # c = -1: 2 (0 + 2)
    assert critical._pair_terms(y, y, identity(3)) == 0


@pytest.mark.slow
def test_an_antipodal_start_stays_to_the_bit():
    x = jnp.asarray(np.outer([1.0, 1, -1, -1], np.eye(3)[0]))
    for integrator in (Diffrax(), Scipy()):
        final = simulate(TokenFlow(np.eye(3)), x, [0.0, 200.0], integrator=integrator).final
        assert bool(jnp.all(final == x))
    assert jax.numpy.max(jnp.abs(TokenFlow(np.eye(3)).vector_field(0.0, x))) == 0
