"""Energies and hemispheres: closed forms, invariances, exact probabilities."""

import functools
import math
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.tokens.consensus import diameter, min_inner_product, misalignment
from analysis.tokens.energies import (
    alignment_potential,
    consensus_potential,
    consensus_potential_gradient,
    hemisphere_lyapunov,
    hemisphere_lyapunov_rate,
    metric_factors,
    rate_along,
    upper_dini,
)
from analysis.tokens.hemispheres import (
    hemisphere_axis,
    hemisphere_margin,
    margin_along,
    printed_wendel_probability,
    wendel_probability,
)
from dynsim.integrators import Scipy
from dynsim.simulation.simulate import simulate
from dynsim.spaces import Sphere
from dynsim.systems.tokens.flow import TokenFlow
from dynsim.systems.tokens.published import GRADIENT_MATRIX, published_gradient_flow

P = jnp.asarray(GRADIENT_MATRIX)


@functools.cache
def tokens():
    return published_gradient_flow().space.sample(jax.random.key(0), (6, 3))


@functools.cache
def turn():
    return jnp.asarray(np.linalg.qr(np.asarray(jax.random.normal(jax.random.key(1), (3, 3))))[0])


def test_the_potential_has_its_closed_form_gradient_and_its_least_value():
    np.testing.assert_allclose(
        consensus_potential_gradient(tokens(), P), jax.grad(lambda x: consensus_potential(x, P))(tokens()), atol=1e-13
    )
    same = jnp.broadcast_to(tokens()[:1], tokens().shape)
    np.testing.assert_allclose(consensus_potential(same, P), -0.5 * 36 * np.e, rtol=1e-14)
    assert consensus_potential(tokens(), P) > consensus_potential(same, P)
    np.testing.assert_allclose(metric_factors(same, P), np.sqrt(3) * 6 * np.e, rtol=1e-14)


def test_the_rate_of_the_potential_is_minus_the_squared_speed_in_the_metric():
    flow = published_gradient_flow()
    v = flow.vector_field(0.0, tokens())
    speed = jnp.sum(metric_factors(tokens(), P) * jnp.einsum("id,de,ie->i", v, P, v))
    np.testing.assert_allclose(rate_along(flow, 0.0, tokens(), lambda x: consensus_potential(x, P)), -speed, rtol=1e-12)


def test_the_dini_derivative_of_a_maximum_takes_the_active_indices():
    found = upper_dini(jnp.array([1.0, 3.0, 3.0]), jnp.array([9.0, -1.0, 2.0]))
    assert float(found.rate) == 2.0
    assert list(np.asarray(found.active)) == [False, True, True]
    close = upper_dini(jnp.array([2.9, 3.0]), jnp.array([9.0, -1.0]), tolerance=0.2)
    assert float(close.rate) == 9.0


def test_the_dini_derivative_is_the_one_sided_slope_of_the_maximum():
    flow, v = TokenFlow(np.eye(3)), jnp.array([1.0, 0.0, 0.0])
    x = Sphere().sample(jax.random.key(2), (5, 3))
    h = 1e-6
    later = simulate(flow, x, [0.0, h], integrator=Scipy()).final
    slope = (hemisphere_lyapunov(later, v) - hemisphere_lyapunov(x, v)) / h
    np.testing.assert_allclose(hemisphere_lyapunov_rate(flow, 0.0, x, v).rate, slope, atol=1e-5)


def test_the_alignment_potential_and_its_ends():
    assert float(alignment_potential(jnp.asarray(1.0))) == pytest.approx(0.0, abs=1e-15)
    np.testing.assert_allclose(alignment_potential(jnp.asarray(-1.0)), 4 / 3)
    np.testing.assert_allclose(jax.grad(alignment_potential)(0.3), 0.09 - 1)


def test_e_sees_no_signs_but_the_others_do():
    x = jnp.asarray(np.outer([1.0, -1, 1, -1], [0.6, 0.8]))
    np.testing.assert_allclose(misalignment(x), 0.0, atol=1e-15)
    np.testing.assert_allclose(diameter(x), 2.0)
    np.testing.assert_allclose(min_inner_product(x), -1.0)


@pytest.mark.parametrize("measure", [misalignment, diameter, min_inner_product])
def test_measures_of_consensus_do_not_see_rotation_or_the_order_of_later_tokens(measure):
    x = Sphere().sample(jax.random.key(3), (6, 3))
    np.testing.assert_allclose(measure(x @ turn().T), measure(x), atol=1e-14)
    np.testing.assert_allclose(measure(x[np.array([0, 3, 1, 5, 4, 2])]), measure(x), atol=1e-14)
    same = jnp.broadcast_to(x[:1], x.shape)
    np.testing.assert_allclose(measure(same), measure(same * 1.0))
    if measure is not min_inner_product:
        np.testing.assert_allclose(measure(same), 0.0, atol=1e-15)


def test_the_margin_of_two_tokens_is_that_of_their_bisector():
    angle = 1.1
    x = np.array([[np.cos(angle), np.sin(angle)], [np.cos(angle), -np.sin(angle)]])
    np.testing.assert_allclose(hemisphere_margin(x), np.cos(angle), atol=1e-12)
    np.testing.assert_allclose(hemisphere_axis(x), [1.0, 0.0], atol=1e-12)
    assert hemisphere_margin(np.vstack([x, [[-1.0, 0.0]]])) == 0.0
    assert hemisphere_axis(np.eye(2)[[0, 0]] * [[1], [-1]]) is None


@pytest.mark.parametrize("margin", [1e-14, 1e-12, 1e-9, 1e-8, 1e-4])
def test_small_margins_are_found_to_rounding(margin):
    """Corners of a simplex at the height of the margin over the plane through the origin, and a token above it."""
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    corners = np.array([[np.cos(a), np.sin(a)] for a in (0.0, 2.0, 4.0)]) * np.cos(margin)
    for tokens in (
        [[math.sin(margin), math.cos(margin)], [math.sin(margin), -math.cos(margin)]],
        np.vstack([np.column_stack([corners, [math.sin(margin)] * 3]), [0.6, 0.0, 0.8]]) @ turn,
    ):
        assert hemisphere_margin(tokens) == pytest.approx(math.sin(margin), rel=1e-9, abs=1e-15)
        assert hemisphere_margin(np.array(tokens) * [[1e3]]) == pytest.approx(math.sin(margin), rel=1e-9, abs=1e-15)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 6), st.integers(1, 12))
def test_the_margin_decides_as_a_linear_program_does(seed, d, n):
    import scipy.optimize

    x = np.random.default_rng(seed).normal(size=(n, d))
    x = x / np.linalg.norm(x, axis=1, keepdims=True)
    rows = np.hstack([-x, np.ones((n, 1))])
    lp = scipy.optimize.linprog([0.0] * d + [-1.0], A_ub=rows, b_ub=np.zeros(n), bounds=[(-1, 1)] * (d + 1))
    margin = hemisphere_margin(x)
    assert (margin > 1e-9) == (-lp.fun > 1e-9)
    if margin > 0:
        wide = lambda a: jnp.asarray(np.pad(a, (*[(0, 0)] * (a.ndim - 1), (0, 6 - d))))
        again = x[np.arange(12) % n]  # one shape for all: neither repeated tokens nor zeros change a margin
        np.testing.assert_allclose(margin_along(wide(again), wide(hemisphere_axis(x))), margin, atol=1e-12)
        np.testing.assert_allclose(hemisphere_margin(3 * x @ np.linalg.qr(np.eye(d)[::-1])[0]), margin, atol=1e-9)


def test_wendel_counts_half_spaces():
    assert wendel_probability(2, 2) == 1
    assert wendel_probability(3, 2) == Fraction(3, 4)
    assert wendel_probability(4, 3) == Fraction(7, 8)
    assert printed_wendel_probability(2, 1) == Fraction(1, 2)
    shared = [hemisphere_margin(jax.random.normal(jax.random.key(k), (4, 3))) > 0 for k in range(400)]
    assert abs(np.mean(shared) - 7 / 8) < 0.07  # four standard errors


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: hemisphere_margin([[0.0, 0.0], [1.0, 0.0]]), "`x` must be finite without a zero token"),
        (lambda: hemisphere_margin([1.0, 2.0]), r"`x` must have shape \(n, d\)"),
        (lambda: wendel_probability(0, 2), "`num_tokens` must be at least 1"),
    ],
)
def test_bad_input_is_refused(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
