"""Hessian blocks of prototype flows against autodiff, their spectra at two rates, and collapse in closed form."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from analysis.prototypes.collapse import collapse, collapse_spectrum, critical_temperature
from analysis.prototypes.hessian import (
    HessianBlocks,
    condition_bound,
    hessian_blocks,
    rate_condition,
    rate_jacobian,
    rate_spectrum,
)
from dynsim.keys import random_key
from dynsim.systems.prototypes.encoders import AffineEncoder, FreeEmbeddings
from dynsim.systems.prototypes.flow import Coupled, CoupledFlow, PrototypeFlow
from dynsim.systems.prototypes.losses import PrototypeLoss
from tests.support.differences import central_differences

N, K, M, D = 7, 3, 2, 3
MODES = [
    ("full", "mean"),
    ("frozen", "sum"),
    pytest.param("full", "sum", marks=pytest.mark.slow),
    pytest.param("frozen", "mean", marks=pytest.mark.slow),
]
X = jnp.asarray(np.random.default_rng(0).normal(size=(N, D)))
Z = jnp.asarray(np.random.default_rng(1).normal(size=(N, M)) * [1.5, 0.7] + 1.0)


@functools.cache
def coupled(gradient, reduction="sum", kind="affine"):
    encoder = AffineEncoder(D, M) if kind == "affine" else FreeEmbeddings(N, M)
    loss = PrototypeLoss(gradient, barrier=0.1, ridge=0.2, reduction=reduction)
    flow = CoupledFlow(X, encoder, 0.8, loss=loss, encoder_rate=0.3, prototype_rate=2.0)
    return flow, Coupled(encoder.draw(random_key(12, kind)), jax.random.normal(random_key(12, "p"), (K, M)))


@eqx.filter_jit
def potential_hessian(flow, x):
    """Return the Hessian of a flow's potential in the flat order of a state, by reverse and forward mode."""
    flat, restored = ravel_pytree(x)
    return jax.hessian(lambda y: flow.potential(0.0, restored(y)))(flat)


@eqx.filter_jit
def velocity_and_jacobian(flow, x):
    """Return the velocity and its Jacobian in the flat order of a state, by forward mode."""
    flat, restored = ravel_pytree(x)
    velocity = lambda y: ravel_pytree(flow.velocity(0.0, restored(y)))[0]
    return velocity(flat), jax.jacfwd(velocity)(flat)


@pytest.mark.parametrize(
    ("gradient", "reduction"),
    [
        ("full", "sum"),
        pytest.param("frozen", "mean", marks=pytest.mark.slow),
        pytest.param("full", "mean", marks=pytest.mark.slow),
        pytest.param("frozen", "sum", marks=pytest.mark.slow),
    ],
)
def test_the_blocks_are_the_hessian_of_the_potential(gradient, reduction):
    flow, x = coupled(gradient, reduction)
    blocks = hessian_blocks(flow, x)
    np.testing.assert_allclose(blocks.matrix, potential_hessian(flow, x), atol=1e-11)
    slopes = eqx.filter_jit(lambda flow, x: central_differences(lambda y: ravel_pytree(flow.gradient(0.0, y))[0], x))
    np.testing.assert_allclose(blocks.matrix, slopes(flow, x), atol=1e-6)
    assert blocks.encoder.shape == (M * D + M,) * 2
    assert blocks.mixed.shape == (M * D + M, K * M)


@pytest.mark.parametrize("gradient", ["full", "frozen"])
def test_the_spectrum_at_two_rates_is_that_of_the_linearisation(gradient):
    flow, x = coupled(gradient)
    J = rate_jacobian(flow, x)
    np.testing.assert_allclose(J, -velocity_and_jacobian(flow, x)[1], atol=1e-11)
    values = np.linalg.eigvals(J)
    np.testing.assert_allclose(np.max(np.abs(values.imag)), 0, atol=1e-10)
    np.testing.assert_allclose(rate_spectrum(flow, x), np.sort(values.real), atol=1e-9)


def test_condition_14_has_the_value_of_a_case_by_hand():
    blocks = HessianBlocks(np.diag([2.0, 5.0]), np.asarray([[0.0, 3.0], [0.0, 0.0]]), np.diag([4.0, 7.0]))
    assert condition_bound(blocks) == pytest.approx(4 / (9 / 2 + 7))
    assert condition_bound(blocks._replace(mixed=blocks.mixed / 6)) == pytest.approx(4 / (1 / 8 + 7))
    assert condition_bound(blocks._replace(mixed=np.zeros((2, 2)))) == pytest.approx(4 / 7)
    assert condition_bound(blocks._replace(encoder=np.diag([0.0, 1.0]))) == 0.0
    flow, x = coupled("frozen")
    found = rate_condition(flow, x)
    assert found.ratio == pytest.approx(0.15)
    assert found.bound == condition_bound(hessian_blocks(flow, x))
    assert found.holds == (found.ratio < found.bound)


@pytest.mark.parametrize("ridge", [0.0, 0.6])
@pytest.mark.parametrize(("gradient", "reduction"), MODES)
def test_the_spectrum_at_collapse_is_that_of_the_hessian(gradient, reduction, ridge):
    loss = PrototypeLoss(gradient, ridge=ridge, reduction=reduction)
    for T in (0.4, 3.0, 30.0):
        p = jnp.asarray(collapse(Z, K, loss))
        flow = PrototypeFlow(Z, T, loss=loss)
        np.testing.assert_allclose(velocity_and_jacobian(flow, p)[0], 0, atol=1e-13)
        H = potential_hessian(flow, p)
        found = collapse_spectrum(Z, K, T, loss)
        np.testing.assert_allclose(found.values, np.linalg.eigvalsh(H), rtol=1e-10, atol=1e-10)
        assert found.index == int(np.sum(np.linalg.eigvalsh(H) < 0))


@pytest.mark.parametrize("ridge", [0.0, 0.6])
@pytest.mark.parametrize(("gradient", "reduction"), MODES)
def test_collapse_changes_its_stability_at_the_critical_temperature(gradient, reduction, ridge):
    loss = PrototypeLoss(gradient, ridge=ridge, reduction=reduction)
    T = critical_temperature(Z, loss, K)
    p = jnp.asarray(collapse(Z, K, loss))
    least = [
        np.linalg.eigvalsh(potential_hessian(PrototypeFlow(Z, T, loss=loss), p))[0]
        for T in (T * (1 - 1e-6), T, T * (1 + 1e-6))
    ]
    assert least[0] < -1e-8
    assert abs(least[1]) < 1e-12
    assert least[2] > 1e-8
    assert collapse_spectrum(Z, K, T / 2, loss).index in (K - 1, 2 * (K - 1))
    assert collapse_spectrum(Z, K, 2 * T, loss).index == 0


def test_the_critical_temperature_is_two_or_four_times_the_largest_variance():
    """The points (+-2, 0), (0, +-1) have the variances 2 and 1/2."""
    z = [[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.0]]
    assert critical_temperature(z, PrototypeLoss("frozen")) == pytest.approx(4.0)
    assert critical_temperature(z, PrototypeLoss("full")) == pytest.approx(8.0)
    found = collapse_spectrum(z, 4, 8.0, PrototypeLoss("full"))
    np.testing.assert_allclose(found.values, [0.0] * 3 + [1.5] * 3 + [2.0] * 2, atol=1e-14)


BAD = [
    (lambda: collapse(Z, 2, PrototypeLoss(barrier=1)), "Argument `loss` must have no barrier, which is infinite at"),
    (lambda: critical_temperature(Z, PrototypeLoss(), 1), "Argument `k` must be at least 2, but is 1."),
    (lambda: collapse_spectrum(Z, 2, 0.0, PrototypeLoss()), "Argument `temperature` must be positive, but is 0"),
    (lambda: collapse(Z[0], 2), "Argument `z` must have shape (n, d) with n and d at least 1, but has"),
]


@pytest.mark.parametrize(("act", "says"), BAD, ids=[says for _, says in BAD])
def test_bad_input_is_one_sentence(act, says):
    with pytest.raises(ValueError, match="Argument") as error:
        act()
    assert str(error.value).startswith(says)
