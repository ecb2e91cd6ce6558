"""The separation force of prototypes and its expansion along a direction, against autodiff and cases by hand."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from analysis.growing.separation import (
    assignment_derivatives,
    expanded,
    expansion,
    expansion_at_high_temperature,
    expansion_bound,
    expansion_derivatives,
    force_derivatives,
    residual_covariances,
    residual_forces,
    separation_force,
    splitting_form,
    trace_derivative,
)
from dynsim.systems.prototypes.assignments import assignment_covariance, assignments
from dynsim.systems.prototypes.losses import PrototypeLoss

N, K, M = 5, 3, 4
Z, P = (jnp.asarray(np.random.default_rng(seed).normal(size=(n, M))) for seed, n in ((0, N), (1, K)))
U = jnp.asarray([0.6, 0.0, 0.8, 0.0])
ALPHA = jnp.asarray(np.random.default_rng(2).normal(size=N))
T = jnp.asarray(0.9)


def test_the_force_of_two_prototypes_has_the_value_by_hand():
    p, z = jnp.asarray([[1.0, 0.0], [-1.0, 0.0]]), jnp.asarray([[0.0, 3.0]])
    np.testing.assert_allclose(residual_forces(p, z, T), [[0.5, 0.0], [-0.5, 0.0]], atol=1e-15)
    assert separation_force(p, z, T) == pytest.approx(2.0)


def test_the_force_is_the_square_of_twice_the_covariance_times_the_prototypes():
    found = 2 * assignment_covariance(assignments(Z, P, T)) @ P
    np.testing.assert_allclose(2 * residual_forces(P, Z, T), found, atol=1e-13)
    assert separation_force(P, Z, T) == pytest.approx(float(jnp.sum(found**2)))


def test_the_force_does_not_depend_on_the_place_or_the_order():
    shift = jnp.ones((1, M))
    assert separation_force(P + shift, Z + shift, T) == pytest.approx(float(separation_force(P, Z, T)))
    assert separation_force(P[::-1], Z[::-1], T) == pytest.approx(float(separation_force(P, Z, T)))


def test_an_expansion_doubles_the_component_along_a_unit_vector():
    found = expanded(Z, U, jnp.asarray(1.0))
    np.testing.assert_allclose(found @ U, 2 * (Z @ U), atol=1e-14)
    across = lambda z: z - jnp.outer(z @ U, U)
    np.testing.assert_allclose(across(found), across(Z), atol=1e-14)
    np.testing.assert_allclose(expanded(Z, U, jnp.asarray(0.5), ALPHA) @ U, Z @ U + ALPHA / 2, atol=1e-14)


@jax.jit
def both(projections):
    """Return the measures at one expansion, and what autodiff finds for them."""
    moved = lambda step: expanded(Z, U, step, projections)
    functions = (
        lambda step: assignments(moved(step), P, T),
        lambda step: jnp.trace(assignment_covariance(assignments(moved(step), P, T))),
        lambda step: residual_forces(P, moved(step), T),
        lambda step: expansion(P, Z, U, T, step, projections),
    )
    line = lambda step: [f(step) for f in functions]
    first = jax.jacfwd(line)
    given = (P, Z, U, T, projections)
    q, r, phi = assignment_derivatives(*given), force_derivatives(*given), expansion_derivatives(*given)
    found = ([q.first, trace_derivative(*given), r.first, phi[0]], [q.second, r.second, phi[1]])
    wanted = first(jnp.asarray(0.0)), jax.jacfwd(first)(jnp.asarray(0.0))
    return found, (wanted[0], [wanted[1][i] for i in (0, 2, 3)])


def test_the_derivatives_are_those_of_autodiff():
    for found, wanted in zip(*both(ALPHA), strict=True):
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-10), found, wanted)


def test_the_derivatives_of_the_force_are_difference_quotients():
    step = 1e-3
    at = [float(expansion(P, Z, U, T, jnp.asarray(s * step), ALPHA)) for s in (-2, -1, 0, 1, 2)]
    first, second = expansion_derivatives(P, Z, U, T, ALPHA)
    quotients = np.array([[1, -8, 0, 8, -1], [-1, 16, -30, 16, -1]]) @ at / (12 * step ** np.array([1, 2]))
    assert float(first) == pytest.approx(quotients[0], rel=1e-8)
    assert float(second) == pytest.approx(quotients[1], rel=1e-6)


def test_the_projections_are_those_of_the_embeddings_by_default():
    given = assignment_derivatives(P, Z, U, T, Z @ U)
    np.testing.assert_array_equal(assignment_derivatives(P, Z, U, T).first, given.first)
    np.testing.assert_array_equal(expanded(Z, U, T), expanded(Z, U, T, Z @ U))


def test_the_change_at_high_temperature_is_a_third_moment():
    projections = ALPHA
    hot = jnp.asarray(1e6)
    start, end = (expansion(P, Z, U, hot, jnp.asarray(step), projections) for step in (0.0, 1.0))
    limit = expansion_at_high_temperature(P, Z, U, projections)
    assert abs(limit) > 1e-2
    np.testing.assert_allclose(hot * (end - start), limit, atol=1e-3)


def test_the_covariances_and_the_bound_have_the_values_by_hand():
    p, z, u = jnp.asarray([[1.0], [-1.0]]), jnp.asarray([[0.0], [2.0]]), jnp.asarray([1.0])
    hot = jnp.asarray(8 / np.log(3.0))  # the second token has q = 3/4, 1/4 and the soft centroid 1/2
    np.testing.assert_allclose(residual_covariances(p, z, u, hot), [2 * (1 - 0.5), 2 * (-1 - 0.5)], atol=1e-14)
    found = expansion_bound(p, z, u, hot)
    assert found.variance == pytest.approx((1 + 0.75) / 2)
    assert found.correction == pytest.approx(4 * 1 * 2 * 1.5**2)
    one, dominant = jnp.asarray(2.0), jnp.asarray(30.0)
    assert found.value(one, dominant) == pytest.approx(float(32 / hot**2 * (30 * 0.875 - 18)))
    assert found.threshold(one) == pytest.approx(18 / 0.875)


def test_the_covariances_and_the_bound_of_given_projections():
    q = np.asarray(assignments(Z, P, T))
    along, mean = np.asarray(P @ U), q @ np.asarray(P @ U)
    covariances = [np.sum(ALPHA * (along[k] - mean)) for k in range(K)]
    np.testing.assert_allclose(residual_covariances(P, Z, U, T, ALPHA), covariances, rtol=1e-12)
    found, variances = expansion_bound(P, Z, U, T, ALPHA), q @ along**2 - mean**2
    away = np.linalg.norm(np.asarray(P)[None] - (q @ np.asarray(P))[:, None], axis=-1)
    assert found.variance == pytest.approx(np.mean(variances))
    assert found.correction == pytest.approx(np.max(np.abs(ALPHA)) ** 2 * np.max(variances) * N * np.max(away) ** 2)
    two, dominant = jnp.asarray(2.0), jnp.asarray(3e4)
    value = 32 / T**2 * (4 / K**2 * 3e4 * found.variance - found.correction)
    assert found.value(two, dominant) == pytest.approx(float(value))
    assert found.threshold(two) == pytest.approx(K**2 * found.correction / (4 * found.variance))


@pytest.mark.parametrize("gradient", ["full", "frozen"])
def test_the_form_of_a_splitting_is_that_of_a_small_difference(gradient):
    p, small = P.at[1].set(P[0]), 1e-5
    gradients = eqx.filter_jit(PrototypeLoss(gradient).gradients)
    form = splitting_form(p, Z, T, 0, gradient)
    for delta in (U, ALPHA[:M]):
        apart = gradients(Z, p.at[0].add(small * delta).at[1].add(-small * delta), T)[1]
        np.testing.assert_allclose((apart[1] - apart[0]) / (2 * small), -2 * form @ delta, atol=1e-7)
