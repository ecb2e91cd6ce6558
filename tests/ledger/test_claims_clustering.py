"""The instances behind the claims of Sections 4 to 6 of CONSENSUS, held against numbers worked out by hand."""

from fractions import Fraction

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.claims.consensus import section_05_causal as causal
from analysis.claims.consensus import section_06_value_matrix as value
from analysis.claims.consensus.instances.exceptional_start import bracket, exceptional_arc
from analysis.claims.consensus.section_04_wendel import sides
from analysis.claims.consensus.section_05_causal import _arc_trial
from dynsim.integrators import Diffrax, Scipy
from dynsim.keys import random_key
from dynsim.simulation.simulate import simulate
from dynsim.systems.tokens.flow import causal_identity_flow

pytestmark = pytest.mark.usefixtures("short_draws")

KEY = random_key(0, "claims by hand")
BOTH = pytest.mark.parametrize(
    "integrator", [Diffrax(), pytest.param(Scipy(), marks=pytest.mark.slow)], ids=["diffrax", "scipy"]
)


@BOTH
def test_the_exceptional_start_of_three_causal_tokens(integrator):
    flow = causal_identity_flow(np.zeros((1, 2, 2)))
    (low, high, *_), left, right = bracket(flow, np.array([0.0, 1.0]), integrator)
    assert high - low < 1e-9
    np.testing.assert_allclose(abs(right - left), 2 * np.pi, atol=0.1)
    assert low - np.pi > 0.1  # token 2, at 1 radian, draws token 3 to smaller angles: it must start beyond -y_1
    assert high < 3 * np.pi / 2  # the arc of the certified refutation
    angles = np.array([0.0, 1.0, (low + high) / 2])
    x0 = jnp.stack([jnp.cos(angles), jnp.sin(angles)], axis=1)
    late = simulate(flow, x0, np.linspace(0.0, 15.0, 121), integrator=integrator).final  # as many times as above
    np.testing.assert_allclose(late[2], [-1.0, 0.0], atol=0.2)  # still near -y_1, token 2 long since at y_1
    np.testing.assert_allclose(late[1], [1.0, 0.0], atol=0.01)


def test_two_causal_tokens_leave_no_exceptional_start_but_the_antipode():
    flow = causal_identity_flow(np.zeros((1, 2, 2)))
    (low, high, *_), _, _ = bracket(flow, np.array([0.0]), Diffrax())
    assert low <= np.pi + 1e-9
    assert high >= np.pi - 1e-9


def test_the_signs_that_certify_an_exceptional_start_fail_for_two_tokens():
    assert _arc_trial(KEY, 3).contradicts
    assert _arc_trial(KEY, 2).applies
    assert not _arc_trial(KEY, 2).contradicts
    assert not exceptional_arc(KEY, 2).low_turns_back


def test_the_decrease_of_the_potential_vanishes_only_at_the_open_end():
    assert causal.decrease_trial(KEY, Fraction(-1)).contradicts
    trial = causal.decrease_trial(KEY, Fraction(-99, 100))
    assert not trial.contradicts
    a = Fraction(-99, 100)
    assert trial.witness["infimum of the decrease"] == (1 - a * a) ** 2


def test_the_third_equilibrium_by_hand():
    trial = value._equilibria_trial(KEY, -1)
    lam, mu, root = trial.witness["lambda"], trial.witness["mu"], trial.witness["b*"]
    earlier, own = trial.witness["weights"]
    assert root == -earlier * lam / (own * (lam - mu))
    assert -1 < root < 0
    assert trial.contradicts
    assert not value._equilibria_trial(KEY, 0).contradicts


def test_three_points_of_the_plane_lie_in_a_half_plane_for_six_of_eight_choices_of_signs():
    found = sides([[1, 0], [0, 1], [1, 1]])
    assert len(found) == 6
    assert (1, 1, -1) not in found
    assert (-1, -1, 1) not in found
    assert len(sides([[1, 0, 2], [0, 1, 5]])) == 4
