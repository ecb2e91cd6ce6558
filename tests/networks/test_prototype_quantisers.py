"""The soft and the hard quantiser: outputs, losses, and which gradient each of their parts has."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dynsim.networks.prototypes.quantisers import HardQuantiser, SoftQuantiser, usage
from dynsim.systems.prototypes.assignments import assignments
from dynsim.systems.prototypes.losses import PrototypeLoss

Z = jnp.array([[0.1, 0.0], [0.9, 0.2], [1.2, -0.1], [-0.3, 0.1]])
P = jnp.array([[0.0, 0.0], [1.0, 0.0], [7.0, 7.0]])
T = jnp.asarray(0.6)


@pytest.mark.parametrize("mode", ["full", "frozen"])
def test_the_soft_quantiser_is_its_formula_in_both_modes(mode):
    loss = PrototypeLoss(mode, barrier=0.5, reduction="mean")
    quantised = lambda z, p: SoftQuantiser(p, barrier=0.5, gradient=mode)(z, T)

    @jax.jit
    def everything(z, p):
        slopes = jax.grad(lambda z, p: quantised(z, p).loss, argnums=(0, 1))(z, p)
        return quantised(z, p), slopes, assignments(z, p, T), loss.value(z, p, T), loss.gradients(z, p, T)

    found, by_both, q, value, gradients = everything(Z, P)
    assert np.max(np.abs(found.assignments - q)) < 1e-14
    assert np.max(np.abs(found.output - np.asarray(q) @ np.asarray(P))) < 1e-14
    assert abs(found.loss - value) < 1e-13
    for ours, expected in zip(by_both, gradients, strict=True):
        assert np.max(np.abs(ours - expected)) < 1e-12


def test_the_hard_quantiser_takes_the_nearest_prototype():
    found = HardQuantiser(P, commitment=0.25)(Z, T)
    assert np.array_equal(found.output, P[jnp.array([0, 1, 1, 0])])
    assert np.array_equal(usage(found.assignments), [2, 2, 0])
    squares = np.array([0.01, 0.05, 0.05, 0.1])  # by hand
    assert abs(found.loss - 1.25 * np.mean(squares)) < 1e-14


def test_the_straight_through_gradient_is_the_identity_for_embeddings_and_zero_for_prototypes():
    weights = jnp.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]])
    output = lambda z, p: jnp.sum(weights * HardQuantiser(p)(z, T).output)
    by_embeddings, by_prototypes = jax.grad(output, argnums=(0, 1))(Z, P)
    assert np.array_equal(by_embeddings, weights)
    assert np.array_equal(by_prototypes, np.zeros_like(P))


def test_the_hard_loss_moves_embeddings_by_the_commitment_and_used_prototypes_alone():
    loss = lambda z, p: HardQuantiser(p, commitment=0.25)(z, T).loss
    by_embeddings, by_prototypes = jax.grad(loss, argnums=(0, 1))(Z, P)
    z, p = np.asarray(Z), np.asarray(P)
    assert np.max(np.abs(by_embeddings - 0.25 * 2 * (z - p[[0, 1, 1, 0]]) / 4)) < 1e-15
    expected = np.stack([2 * np.sum(p[0] - z[[0, 3]], axis=0), 2 * np.sum(p[1] - z[[1, 2]], axis=0), np.zeros(2)]) / 4
    assert np.max(np.abs(by_prototypes - expected)) < 1e-15


def test_constants_of_quantisers_have_no_gradient():
    slope = jax.jit(jax.grad(lambda found: found(Z, T).loss))
    soft, hard = slope(SoftQuantiser(P, barrier=0.5)), slope(HardQuantiser(P))
    assert (float(soft.barrier), float(hard.commitment)) == (0.0, 0.0)


def test_numbers_that_make_no_quantiser_are_refused():
    for make, match in (
        (lambda: SoftQuantiser(P[0]), r"`codebook` must have shape \(k, m\)"),
        (lambda: HardQuantiser(np.zeros((0, 2))), r"`codebook` must have shape \(k, m\)"),
        (lambda: SoftQuantiser(P, barrier=-1.0), "`barrier` must not be negative"),
        (lambda: SoftQuantiser(P, gradient="hard"), "`gradient` must be one of"),
        (lambda: HardQuantiser(P, commitment=0.0), "`commitment` must be positive"),
        (lambda: SoftQuantiser(P)(Z, 0.0), "`temperature` must be positive"),
    ):
        with pytest.raises(ValueError, match=match):
            make()
