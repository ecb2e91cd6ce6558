"""The slow manifold of encoder and prototypes, the error of the reduction, symmetry modes, and measures of the bank."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from analysis.dynamics.convergence import observed_order
from analysis.fast_slow.reductions import ReductionErrors
from analysis.prototypes import slow_manifold
from analysis.prototypes.bank import bank_along, bank_measures
from analysis.prototypes.hessian import hessian_blocks
from analysis.prototypes.slow_manifold import (
    _largest_distance,
    effective_loss,
    effective_loss_hessian,
    manifold_distances,
    relaxed_prototypes,
    tikhonov_errors,
)
from analysis.prototypes.symmetries import permuted, symmetry_modes
from dynsim.integrators import Scipy
from dynsim.keys import random_key
from dynsim.simulation.simulate import simulate
from dynsim.systems.fast_slow.flow import FastSlowFlow
from dynsim.systems.prototypes.encoders import AffineEncoder, FreeEmbeddings, LinearEncoder, MLPEncoder
from dynsim.systems.prototypes.flow import Coupled, CoupledFlow, PrototypeFlow
from dynsim.systems.prototypes.losses import PrototypeLoss
from dynsim.systems.prototypes.temperatures import Annealing

N, K, M, D = 8, 2, 2, 3
X = jnp.asarray(np.random.default_rng(14).normal(size=(N, D)) + np.repeat([[2.0], [0.0]], N // 2, axis=0))
THETA = jnp.asarray([[0.8, 0.1, 0.3], [0.2, 0.5, -0.4]])


@functools.cache
def coupled(gradient="full", reduction="mean"):
    loss = PrototypeLoss(gradient, ridge=0.05, reduction=reduction)
    return CoupledFlow(X, LinearEncoder(D, M), 0.6, loss=loss, encoder_rate=0.2, prototype_rate=2.0)


START = jnp.asarray([[1.8, 0.6], [0.0, 0.0]])


B = np.arange(12.0).reshape(4, 3) / 7
LINEAR = FastSlowFlow(lambda x, y: 3 * ((jnp.asarray(B) @ y).reshape(2, 2) - x), lambda x, y: -y, 0.1)


@pytest.mark.parametrize(("time", "entry", "sign"), [(1, (0, 0), 1), (2, (1, 1), -1), (3, (0, 1), -1)])
def test_the_distance_from_a_slow_manifold_is_the_largest_after_the_start(time, entry, sign):
    """Of x' = 3 (B y - x) it is |x - B y|; the start may be anywhere."""
    rng = np.random.default_rng(1)
    ys = rng.normal(size=(4, 1, 3))
    away = 0.1 * rng.uniform(-1, 1, size=(4, 2, 2))
    away[0], away[(time, *entry)] = 5.0, 0.7 * sign
    found = _largest_distance(LINEAR, Coupled(jnp.asarray(ys), jnp.asarray((ys[:, 0] @ B.T).reshape(4, 2, 2) + away)))
    assert float(found) == pytest.approx(0.7)


def test_one_prototype_rests_at_the_mean_embedding_and_its_effective_loss_is_a_square_form():
    """Its loss is the mean of |A x - p|^2 plus ridge / 2 |p|^2, least at p = A x_mean / (1 + ridge / 2)."""
    ridge, x = 0.5, np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 1.0]])
    loss = PrototypeLoss("full", ridge=ridge, reduction="mean")
    flow = CoupledFlow(jnp.asarray(x), LinearEncoder(2, 1), 0.6, loss=loss, encoder_rate=0.2, prototype_rate=2.0)
    A, start = jnp.asarray([[0.7, -0.3]]), jnp.zeros((1, 1))
    share, mean = 1 / (1 + ridge / 2), np.mean(x, axis=0)
    P, rate = relaxed_prototypes(flow, A, start)
    np.testing.assert_allclose(P, share * A @ mean[:, None], rtol=1e-9)
    assert rate == pytest.approx(2 + ridge)
    form = 2 * (x.T @ x / 3 - share * np.outer(mean, mean))  # twice the loss is A form A^T
    assert effective_loss(flow, A, start) == pytest.approx(float((A @ form @ A.T)[0, 0]) / 2)
    np.testing.assert_allclose(effective_loss_hessian(flow, A, start), form, rtol=1e-9)


def test_distances_are_measured_after_the_layer_in_the_time_of_the_encoder(monkeypatch):
    flow, runs = coupled(), []

    def solved(system, x0, ts, *, integrator):
        runs.append((float(system.encoder_rate / system.prototype_rate), np.asarray(ts) * float(system.encoder_rate)))
        return type("Path", (), {"ys": len(runs)})

    monkeypatch.setattr(slow_manifold, "simulate", solved)
    monkeypatch.setattr(slow_manifold, "_largest_distance", lambda system, ys: 0.1 * ys)
    found = manifold_distances(flow, Coupled(THETA, START), (2e-3, 1e-3), 0.4, layer=0.25)
    np.testing.assert_allclose(found, [0.1, 0.2])
    assert [ratio for ratio, _ in runs] == pytest.approx([2e-3, 1e-3])
    np.testing.assert_allclose(runs[1][1], [0.0, *np.linspace(0.1, 0.4, 9)])
    none, given = ReductionErrors(*[np.zeros(0)] * 6, 1.0), []
    monkeypatch.setattr(slow_manifold, "reduction_error", lambda *arguments, **_: given.extend(arguments[1:]) or none)
    assert tikhonov_errors(flow, Coupled(THETA, START), (1e-2, 1e-3), 0.7) is none
    start, horizon, ratios = given
    np.testing.assert_array_equal(start.fast, START)
    np.testing.assert_array_equal(start.slow, np.ravel(THETA))
    assert (horizon, ratios) == (0.7, (1e-2, 1e-3))


@pytest.mark.slow
@pytest.mark.parametrize("gradient", ["full", "frozen"])
def test_prototypes_relax_at_the_rate_of_the_least_eigenvalue(gradient):
    flow = coupled(gradient)
    P, rate = relaxed_prototypes(flow, THETA, START)
    alone = flow.frozen_encoder(THETA)
    np.testing.assert_allclose(eqx.filter_jit(alone.gradient)(0.0, jnp.asarray(P)), 0, atol=1e-12)
    start = P + 1e-3 * np.random.default_rng(14).normal(size=P.shape)
    path = simulate(alone, start, [0.0, 8.0, 12.0], integrator=Scipy(rtol=1e-12, atol=1e-16))
    away = [float(np.linalg.norm(p - P)) for p in np.asarray(path.ys)]
    assert np.log(away[1] / away[2]) / (4 * 2.0) == pytest.approx(rate, rel=0.02)  # per unit of eta_P t
    assert rate > 0.05


@pytest.mark.slow
@pytest.mark.parametrize("gradient", ["full", "frozen"])
def test_the_hessian_of_the_effective_loss_is_that_of_finite_differences(gradient):
    flow, h = coupled(gradient), 3e-4
    H = effective_loss_hessian(flow, THETA, START)
    flat, restored = ravel_pytree(THETA)
    value = lambda y: effective_loss(flow, restored(y), START)
    steps = h * np.eye(len(flat))
    for i, j in ((0, 0), (0, 4), (2, 3), (5, 5)):
        corners = [value(flat + a * steps[i] + b * steps[j]) * a * b for a in (1, -1) for b in (1, -1)]
        assert sum(corners) / (4 * h**2) == pytest.approx(H[i, j], abs=2e-5)


@pytest.mark.slow
def test_the_distance_from_the_slow_manifold_is_of_first_order_in_the_time_of_the_encoder():
    flow, ratios = coupled(), (2e-3, 1e-3, 5e-4)
    found = manifold_distances(flow, Coupled(THETA, START), ratios, 0.4)
    order = observed_order(np.array(ratios), found)
    assert order.rate == pytest.approx(1, abs=0.03)
    assert np.all(found > 1e-5)


@pytest.mark.slow
def test_the_errors_of_the_reduction_are_of_first_order():
    found = tikhonov_errors(coupled(), Coupled(THETA, START), (4e-4, 2e-4, 1e-4), 0.5)
    for errors in (found.fast_errors, found.slow_errors, found.distances):
        assert np.all(errors > 1e-6)
        assert found.order(errors).rate == pytest.approx(1, abs=0.1)
    assert found.order(found.corrected_distances).rate == pytest.approx(2, abs=0.3)


def test_an_annealed_temperature_has_no_slow_manifold():
    flow = CoupledFlow(X, LinearEncoder(D, M), Annealing())
    with pytest.raises(ValueError, match="Argument `flow` must have a constant temperature, but has Annealing"):
        relaxed_prototypes(flow, THETA, START)


ENCODERS = {  # translations, rotations in the plane, redundant directions
    "free": (FreeEmbeddings(N, M), (2, 1, 0)),
    "linear": (LinearEncoder(D, M), (0, 1, 0)),
    "affine": (AffineEncoder(D, M), (2, 1, 0)),
    "mlp": (MLPEncoder(D, 1, M), (2, 1, 0)),
}


@pytest.mark.parametrize(
    "kind", ["free", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("linear", "affine", "mlp"))]
)
def test_an_encoder_has_the_zero_modes_of_the_motions_it_can_follow(kind):
    encoder, counts = ENCODERS[kind]
    flow = CoupledFlow(X, encoder, 0.6, loss=PrototypeLoss("full", barrier=0.1))
    x = Coupled(encoder.draw(random_key(14, kind)), START)
    found = symmetry_modes(flow, x)
    assert (found.translations, found.rotations, found.redundant) == counts
    assert found.rank == sum(counts)
    flat, restored = ravel_pytree(x)
    slope = ravel_pytree(flow.gradient(0.0, x))[0]
    np.testing.assert_allclose(slope @ found.modes, 0, atol=1e-11)
    np.testing.assert_allclose(found.modes.T @ found.modes, np.eye(found.rank), atol=1e-12)


def test_a_ridge_leaves_rotations_only_and_idle_data_add_redundant_directions():
    flow = CoupledFlow(X, AffineEncoder(D, M), 0.6, loss=PrototypeLoss(ridge=0.1))
    x = Coupled(AffineEncoder(D, M).draw(random_key(14, "affine")), START)
    found = symmetry_modes(flow, x)
    assert (found.translations, found.rotations, found.redundant) == (0, 1, 0)
    flat = CoupledFlow(X.at[:, 2].set(0.0), LinearEncoder(D, M), 0.6)
    found = symmetry_modes(flat, Coupled(THETA, START))
    assert (found.translations, found.rotations, found.redundant) == (0, 1, M)


def test_symmetry_modes_are_zero_modes_of_an_equilibrium_and_not_of_other_states():
    """Four free embeddings on two prototypes, two on each: every gradient vanishes, in any place and direction."""
    p = jnp.asarray([[3.0, 4.0], [-3.0, -4.0]])
    flow = CoupledFlow(jnp.zeros((4, 1)), FreeEmbeddings(4, 2), 0.5, loss=PrototypeLoss("frozen"))
    found = symmetry_modes(flow, Coupled(jnp.concatenate([p, p]), p))
    assert (found.translations, found.rotations, found.rank) == (2, 1, 3)
    assert found.curvature < 1e-12
    away = symmetry_modes(flow, Coupled(jnp.concatenate([p, p]), 0.8 * p))
    assert away.curvature > 1e-2
    H = hessian_blocks(flow, Coupled(jnp.concatenate([p, p]), 0.8 * p)).matrix
    sizes = np.linalg.norm(H @ away.modes, axis=0) / np.linalg.norm(H, 2)
    assert away.curvature == pytest.approx(np.max(sizes))
    assert np.ptp(sizes) > 1e-3


def test_the_order_of_prototypes_does_not_matter():
    flow, x = coupled(), Coupled(THETA, START)
    other = permuted(x, np.array([1, 0]))
    np.testing.assert_allclose(flow.potential(0.0, x), flow.potential(0.0, other), rtol=1e-14)
    np.testing.assert_allclose(flow.velocity(0.0, other).prototypes, flow.velocity(0.0, x).prototypes[::-1], rtol=1e-12)
    with pytest.raises(ValueError, match="Argument `order` must hold each of 0 to 1 once"):
        permuted(x, np.array([1, 1]))


def test_a_bank_has_the_measures_of_a_case_by_hand():
    """Embeddings +-1, each twice, on prototypes +-1, and a third prototype out of their reach, at a low temperature."""
    z, p = jnp.asarray([[-1.0, 0.0], [1.0, 0.0]] * 2), jnp.asarray([[-1.0, 0.0], [1.0, 0.0], [9.0, 0.0]])
    found = bank_measures(z, p, jnp.asarray(0.1))
    assert float(found.entropy) < 1e-10
    assert float(found.separation) == 4.0
    assert float(found.variance) < 1e-10
    assert float(found.spread) == pytest.approx((16 + 4 + 36) / 3)
    assert float(found.utilisation) == pytest.approx(2 / 3)
    assert found.covariance.tolist() == [[1.0, 0.0], [0.0, 0.0]]
    warm = bank_measures(z, p[:2], jnp.asarray(1e9))
    assert float(warm.entropy) == pytest.approx(np.log(2))
    assert float(warm.variance) == pytest.approx(1.0)


def test_a_bank_is_measured_along_a_path_at_its_temperature():
    flow = PrototypeFlow(X, Annealing(2.0, 0.5, 1.0))
    path = simulate(flow, X[:K], [0.0, 1.0, 3.0], integrator=Scipy())
    found = bank_along(path)
    assert found.covariance.shape == (3, D, D)
    entropy = jax.jit(lambda t, p: bank_measures(X, p, flow.temperature(t)).entropy)
    wanted = [entropy(t, p) for t, p in zip(np.asarray(path.ts), np.asarray(path.ys), strict=True)]
    np.testing.assert_allclose(found.entropy, wanted, rtol=1e-13)
    np.testing.assert_allclose(found.covariance[1], np.cov(np.asarray(X).T, bias=True), atol=1e-12)
