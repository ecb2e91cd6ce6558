"""The instances behind the claims of Sections 3, 5 and 6, held against numbers worked out by hand."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from analysis.claims.consensus import section_3_equilibria as critical
from analysis.claims.consensus import section_3_gradient_flow as gradient
from analysis.claims.consensus import section_5_causal as causal
from analysis.claims.consensus import section_6_value_matrix as value
from analysis.claims.rational_instances import matrix, on_ellipsoid, rational_unit, tangent_part
from dynsim.integrators import Diffrax, Scipy
from dynsim.keys import stream
from dynsim.simulation import simulate
from dynsim.systems.tokens.flow import TokenFlow, causal_identity_flow

KEY = stream(0, "claims by hand")


def test_rational_instances_are_exact():
    for index in range(20):
        key = stream(0, "rational", index)
        P, y = on_ellipsoid(key, 3)
        assert y @ P @ y == 1
        assert np.all(P == P.T)
        u = rational_unit(key, 4)
        assert sum(u * u) == 1
        X = matrix(np.array([1, 2, 3]))
        assert y @ P @ tangent_part(P, y, X) == 0


def test_the_coordinates_of_the_square_root_take_p_to_the_identity():
    assert gradient.conjugacy_gap(KEY, "P")[0] < 1e-14
    assert gradient.conjugacy_gap(KEY, "I")[0] > 1e-2


@pytest.mark.parametrize("name", critical.configurations())
def test_the_configurations_are_unit_vectors_and_all_but_one_are_at_rest(name):
    x = jnp.asarray(critical.configurations()[name])
    np.testing.assert_allclose(jnp.linalg.norm(x, axis=1), 1.0, atol=1e-15)
    speed = jnp.max(jnp.abs(TokenFlow(np.eye(3)).vector_field(0.0, x)))
    assert (speed > 1e-2) == (name == "triangle about a pole")


@pytest.mark.parametrize("integrator", [Diffrax(), Scipy()], ids=["diffrax", "scipy"])
def test_the_exceptional_start_of_three_causal_tokens(integrator):
    flow = causal_identity_flow(np.zeros((1, 2, 2)))
    (low, high, *_), left, right = causal._bracket(flow, np.array([0.0, 1.0]), integrator)
    assert high - low < 1e-9
    np.testing.assert_allclose(abs(right - left), 2 * np.pi, atol=0.1)
    assert low - np.pi > 0.1  # token 2, at 1 radian, draws token 3 to smaller angles: it must start beyond -y_1
    angles = np.array([0.0, 1.0, (low + high) / 2])
    x0 = jnp.stack([jnp.cos(angles), jnp.sin(angles)], axis=1)
    late = simulate(flow, x0, np.linspace(0.0, 15.0, 121), integrator=integrator).final  # as many times as above
    np.testing.assert_allclose(late[2], [-1.0, 0.0], atol=0.2)  # still near -y_1, token 2 long since at y_1
    np.testing.assert_allclose(late[1], [1.0, 0.0], atol=0.01)


def test_two_causal_tokens_leave_no_exceptional_start_but_the_antipode():
    flow = causal_identity_flow(np.zeros((1, 2, 2)))
    (low, high, *_), _, _ = causal._bracket(flow, np.array([0.0]), Diffrax())
    assert low <= np.pi + 1e-9
    assert high >= np.pi - 1e-9


def test_the_third_equilibrium_by_hand():
    trial = value._equilibria_trial(KEY, -1, 1)
    lam, mu, root = trial.witness["lambda"], trial.witness["mu"], trial.witness["b*"]
    assert root == -lam / (lam - mu)  # both weights one half
    assert -1 < root < 0
    assert trial.contradicts
    assert not value._equilibria_trial(KEY, 0, 1).contradicts


def test_the_decrease_of_the_potential_vanishes_only_at_the_open_end():
    assert causal._iss_trial(KEY, Fraction(0), Fraction(0)).contradicts
    assert not causal._iss_trial(KEY, Fraction(1, 100), Fraction(0)).contradicts
    a = Fraction(-99, 100)
    assert causal._iss_trial(KEY, Fraction(1, 100), Fraction(0)).witness["infimum of the decrease"] == (1 - a * a) ** 2


def test_an_antipodal_start_stays_to_the_bit():
    x = jnp.asarray(np.outer([1.0, 1, -1, -1], np.eye(3)[0]))
    for integrator in (Diffrax(), Scipy()):
        final = simulate(TokenFlow(np.eye(3)), x, [0.0, 200.0], integrator=integrator).final
        assert bool(jnp.all(final == x))
    assert jax.numpy.max(jnp.abs(TokenFlow(np.eye(3)).vector_field(0.0, x))) == 0
