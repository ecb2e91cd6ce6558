"""Assignments, losses and flows of prototypes: derivatives by autodiff and differences, closed forms, bad input."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from dynsim.integrators import Scipy
from dynsim.keys import random_key
from dynsim.simulation.simulate import iterate, simulate
from dynsim.systems.euler import EulerMap
from dynsim.systems.prototypes import assignments as measures
from dynsim.systems.prototypes.descent import DescentMap, random_batches
from dynsim.systems.prototypes.encoders import (
    AffineEncoder,
    FreeEmbeddings,
    LinearEncoder,
    MLPEncoder,
    principal_components,
)
from dynsim.systems.prototypes.flow import Coupled, CoupledFlow, PrototypeFlow
from dynsim.systems.prototypes.hierarchy import TwoLevel, TwoLevelFlow
from dynsim.systems.prototypes.losses import PrototypeLoss
from dynsim.systems.prototypes.temperatures import Annealing, as_temperature
from tests.support.differences import central_differences

N, K, M, D = 7, 3, 2, 4
T = jnp.asarray(0.7)
MODES = [(g, r) for g in ("full", "frozen") for r in ("sum", "mean")]


DRAWN = np.random.default_rng(11)
Z, P, X = (jnp.asarray(DRAWN.normal(size=shape)) for shape in ((N, M), (K, M), (N, D)))


def _stopped(z, p, temperature, fixed):
    """Return the sum of q d at assignments that are constants."""
    return jnp.sum(measures.assignments(*fixed, temperature) * measures.squared_distances(z, p))


@pytest.mark.parametrize(("gradient", "reduction"), MODES)
def test_gradients_are_those_of_autodiff_in_both_modes(gradient, reduction):
    loss = PrototypeLoss(gradient, barrier=0.3, ridge=0.2, reduction=reduction)
    scale = 1.0 if reduction == "sum" else 1 / N

    def three(z, p):
        """Return the gradients, those by autodiff with assignments kept in the mode `frozen`, and of the potential."""
        by_loss = jax.grad(loss.value, (0, 1))(z, p, T)
        if gradient == "frozen":
            by_z, by_p = jax.grad(_stopped, (0, 1))(z, p, T, (z, p))
            by_loss = scale * by_z, scale * by_p + jax.grad(loss.penalty)(p)
        return loss.gradients(z, p, T), by_loss, jax.grad(loss.potential, (0, 1))(z, p, T)

    for mine, wanted, potential in zip(*jax.jit(three)(Z, P), strict=True):
        np.testing.assert_allclose(mine, wanted, atol=1e-12)
        np.testing.assert_allclose(mine, potential, atol=1e-12)


@pytest.mark.parametrize("gradient", ["full", "frozen"])
def test_gradients_are_those_of_finite_differences(gradient):
    loss = PrototypeLoss(gradient, barrier=0.3, ridge=0.2)
    slopes = jax.jit(lambda x: central_differences(lambda y: loss.potential(*y, T), x))((Z, P))
    found = eqx.filter_jit(loss.gradients)(Z, P, T)
    np.testing.assert_allclose(np.concatenate([np.ravel(part) for part in found]), slopes, atol=1e-7)


def test_the_loss_is_reconstruction_error_plus_variance_and_not_hard_loss_plus_variance():
    total, error = measures.competitive_loss(Z, P, T), measures.reconstruction_error(Z, P, T)
    variance, hard = measures.prototype_variance(Z, P, T), measures.hard_loss(Z, P)
    np.testing.assert_allclose(total, error + variance, rtol=1e-13)
    assert abs(float(total - hard - variance)) > 1e-3


def test_the_gradient_of_the_variance_at_fixed_assignments_is_twice_the_covariance_times_the_prototypes():
    q = measures.assignments(Z, P, T)
    variance = lambda p: jnp.sum(q * measures.squared_distances(measures.soft_centroids(q, p), p))
    np.testing.assert_allclose(jax.grad(variance)(P), 2 * measures.assignment_covariance(q) @ P, atol=1e-13)


def test_quantities_have_the_values_of_a_case_by_hand():
    """One embedding at 0, prototypes at 1 and -1 in one dimension: q = 1/2, L = 1, M = 1, R = 0, V = 1."""
    z, p, temperature = jnp.zeros((1, 1)), jnp.asarray([[1.0], [-1.0]]), jnp.asarray(2.0)
    q = measures.assignments(z, p, temperature)
    assert q.tolist() == [[0.5, 0.5]]
    found = [
        f(z, p, temperature)
        for f in (measures.competitive_loss, measures.reconstruction_error, measures.prototype_variance)
    ]
    assert [float(v) for v in found] == [1.0, 0.0, 1.0]
    assert float(measures.hard_loss(z, p)) == 1.0
    assert float(measures.separation(p)) == 4.0
    assert float(measures.inverse_square_barrier(p)) == 0.25
    np.testing.assert_allclose(measures.entropy(q), np.log(2), rtol=1e-15)
    np.testing.assert_allclose(measures.free_energy(z, p, temperature), 1 - 2 * np.log(2), rtol=1e-15)
    np.testing.assert_allclose(measures.assignment_covariance(q), [[0.25, -0.25], [-0.25, 0.25]], rtol=1e-15)
    assert float(measures.separation(p[:1])) == np.inf
    q = np.array([[1.0, 0.0, 0.0], [0.75, 0.25, 0.0], [0.5, 0.25, 0.25], [0.75, 0.25, 0.0]])
    for threshold, share in ((0.01, 1.0), (0.1, 2 / 3), (0.1875, 1 / 3), (0.5, 1 / 3), (0.9, 0.0)):  # of means
        assert float(measures.utilisation(jnp.asarray(q), threshold)) == pytest.approx(share)


def test_the_derivative_by_temperature_is_the_variance_of_distances():
    slope = jax.grad(measures.competitive_loss, 2)(Z, P, T)
    np.testing.assert_allclose(slope, measures.distance_variance(Z, P, T) / T**2, rtol=1e-12)
    by_differences = central_differences(lambda T: measures.competitive_loss(Z, P, T), T)[0]
    np.testing.assert_allclose(slope, by_differences, rtol=1e-7)
    assert float(measures.distance_variance(Z, jnp.zeros((K, M)), T)) < 1e-25


def test_small_temperatures_neither_overflow_nor_vanish():
    small = jnp.asarray(1e-3)
    assert np.isfinite(float(measures.entropy(measures.assignments(Z, P, small))))
    np.testing.assert_allclose(measures.free_energy(Z, P, jnp.asarray(1e-8)), measures.hard_loss(Z, P), rtol=1e-6)


@functools.cache
def _coupled(kind, gradient="full", **options):
    encoders = {"free": FreeEmbeddings(N, M), "linear": LinearEncoder(D, M), "affine": AffineEncoder(D, M),
        "mlp": MLPEncoder(D, 5, M)}  # fmt: skip
    encoder = encoders[kind]
    flow = CoupledFlow(X, encoder, T, loss=PrototypeLoss(gradient, **options), encoder_rate=0.2, prototype_rate=2.0)
    return flow, Coupled(encoder.draw(random_key(11, kind)), P)


@pytest.mark.parametrize(
    "kind", [*(pytest.param(kind, marks=pytest.mark.slow) for kind in ("free", "linear", "affine")), "mlp"]
)
@pytest.mark.parametrize("gradient", ["full", pytest.param("frozen", marks=pytest.mark.slow)])
def test_the_coupled_flow_descends_its_potential_at_two_rates(kind, gradient):
    flow, x = _coupled(kind, gradient, barrier=0.1)
    potential = functools.partial(flow.potential, 0.0)
    all_three = jax.jit(lambda x: (jax.grad(potential)(x), central_differences(potential, x), flow.velocity(0.0, x)))
    slope, by_differences, v = all_three(x)
    np.testing.assert_allclose(ravel_pytree(slope)[0], by_differences, atol=1e-6)
    np.testing.assert_allclose(v.prototypes, -2.0 * slope.prototypes, atol=1e-12)
    np.testing.assert_allclose(ravel_pytree(v.encoder)[0], -0.2 * ravel_pytree(slope.encoder)[0], atol=1e-12)
    assert float(flow.ratio) == pytest.approx(0.1)


def test_the_fast_slow_form_is_the_flow_in_the_time_of_the_encoder():
    flow, x = _coupled("mlp")
    system = flow.fast_slow(x.encoder)

    @jax.jit
    def of_both(x):
        theta = ravel_pytree(x.encoder)[0]
        return flow.velocity(0.0, x), system.fast(x.prototypes, theta), system.slow(x.prototypes, theta)

    v, f, g = of_both(x)
    np.testing.assert_allclose(f / system.epsilon, v.prototypes / flow.encoder_rate, rtol=1e-12)
    np.testing.assert_allclose(g, ravel_pytree(v.encoder)[0] / flow.encoder_rate, rtol=1e-12)
    assert float(flow.with_ratio(0.5).ratio) == 0.5
    assert float(flow.with_ratio(0.5).prototype_rate) == 2.0


def test_a_frozen_encoder_leaves_the_flow_of_the_prototypes():
    flow, x = _coupled("affine")
    alone = flow.frozen_encoder(x.encoder)
    mine, whole = jax.jit(lambda x: (alone.velocity(0.0, x.prototypes), flow.velocity(0.0, x).prototypes))(x)
    np.testing.assert_allclose(mine, whole, rtol=1e-13)


@pytest.mark.parametrize(("gradient", "detached"), [
    ("full", False),
    pytest.param("full", True, marks=pytest.mark.slow),
    pytest.param("frozen", False, marks=pytest.mark.slow),
    ("frozen", True),
])  # fmt: skip
@pytest.mark.parametrize("groups", [pytest.param(None, marks=pytest.mark.slow), [0, 1, 2, 0, 1, 2, 0]])
def test_the_two_levels_have_the_gradient_of_autodiff_and_differences(detached, gradient, groups):
    flow = TwoLevelFlow(X, LinearEncoder(D, M), T, detached=detached, loss=PrototypeLoss(gradient), groups=groups)
    rng = np.random.default_rng(12)
    x = TwoLevel(jnp.asarray(rng.normal(size=(M, D))), P, jnp.asarray(rng.normal(size=(2, M))))

    def inputs(at, p):
        mu = measures.assignments(X @ at.encoder.T, at.first, T) @ p
        return mu if groups is None else jnp.stack([mu[np.array(groups) == g].mean(0) for g in range(3)])

    def total(y):
        """Return the sum of the losses, what is constant being held at x."""
        at = x if gradient == "frozen" else y
        mu, seen = (inputs(at, y.first), inputs(at, at.first)) if not detached else (inputs(x, x.first),) * 2
        q = measures.assignments(X @ at.encoder.T, at.first, T)
        first = jnp.sum(q * measures.squared_distances(X @ y.encoder.T, y.first))
        q = measures.assignments(seen, at.second, T)
        return first + jnp.sum(q * measures.squared_distances(mu, y.second))

    def all_four(x):
        by_flow = flow.gradient(0.0, x), sum(flow.values(0.0, x))
        return by_flow, jax.value_and_grad(total)(x), central_differences(total, x)

    (slopes, value), (wanted, by_autodiff), by_differences = jax.jit(all_four)(x)
    np.testing.assert_allclose(ravel_pytree(slopes)[0], by_differences, atol=1e-6)
    for mine, slope in zip(slopes, by_autodiff, strict=True):
        np.testing.assert_allclose(mine, slope, atol=1e-12)
    np.testing.assert_allclose(value, wanted, rtol=1e-13)


def test_annealing_reaches_its_floor_when_it_says_and_has_a_kink_there():
    cooling = Annealing(2.0, 0.3, 20.0)
    assert cooling.arrival() == pytest.approx(20 * np.log(2 / 0.3))
    assert float(cooling(cooling.arrival() * 1.01)) == 0.3
    assert float(cooling(0.0)) == 2.0
    assert float(cooling(20.0)) == pytest.approx(2 / np.e)
    flow = PrototypeFlow(Z, cooling)
    assert flow.breakpoints(0.0, 100.0).tolist() == [cooling.arrival()]
    kink = cooling.arrival()
    for ends in ((50.0, 100.0), (kink, 100.0), (0.0, kink)):  # strictly between the ends
        assert flow.breakpoints(*ends).size == 0
    assert Annealing(0.3, 0.3, 20.0).breakpoints(0.0, 1.0).size == 0


def test_descent_is_the_euler_map_where_nothing_is_clipped_or_drawn():
    flow, x = _coupled("mlp", reduction="mean")
    euler, descent = EulerMap(flow, 1.0), DescentMap(flow)
    both = jax.jit(lambda x: [jax.tree.leaves(map.step(3, x)) for map in (descent, euler)])
    for mine, wanted in zip(*both(x), strict=True):
        np.testing.assert_allclose(mine, wanted, rtol=1e-13)
    loss = PrototypeLoss("full", barrier=0.1, ridge=0.2, reduction="mean")
    alone = PrototypeFlow(Z, T, loss=loss, rate=0.3)
    potential = lambda p: loss.potential(jnp.asarray(Z), p, jnp.asarray(T))
    slope, moved = jax.jit(lambda p: (jax.grad(potential)(p), DescentMap(alone).step(3, p)))(jnp.asarray(P))
    np.testing.assert_allclose(moved, P - 0.3 * slope, rtol=1e-12)


def test_descent_uses_the_rows_of_its_batch_and_clips_entries_and_norm():
    flow, x = _coupled("linear", reduction="sum")
    rows = np.array([[[0, 2], [3, 6]], [[1, 5], [4, 0]]])
    descent = DescentMap(flow, batches=rows)
    part = CoupledFlow(X[rows[1, 0]], LinearEncoder(D, M), T, loss=flow.loss, encoder_rate=0.2, prototype_rate=2.0)
    assert float(descent.epoch(2)) == 1.0
    both = jax.jit(lambda k, x: (descent.gradient(k, x), part.gradient(1.0, x)))
    for k in (2, 6):  # the epochs come again
        for mine, wanted in zip(*both(k, x), strict=True):
            np.testing.assert_allclose(mine, wanted, rtol=1e-12)
    g = both(0, x)[0]
    step = lambda **clipped: eqx.filter_jit(DescentMap(flow, batches=rows, **clipped).step)(0, x)
    moved = jax.tree.map(lambda a, b: b - a, x, step(clip_value=0.1))
    np.testing.assert_allclose(moved.prototypes, -2.0 * np.clip(g.prototypes, -0.1, 0.1), atol=1e-13)
    moved = jax.tree.map(lambda a, b: b - a, x, step(clip_norm=0.1))
    clipped = Coupled(moved.encoder / -0.2, moved.prototypes / -2.0)
    assert float(jnp.linalg.norm(ravel_pytree(clipped)[0])) == pytest.approx(0.1)
    whole = np.asarray(ravel_pytree(g)[0])
    for entry, norm in ((0.1, 0.2), (0.1, 1e3)):  # entries first, then the norm of what is left
        left = np.clip(whole, -entry, entry)
        both = DescentMap(flow, batches=rows, clip_value=entry, clip_norm=norm)._clipped(g)
        wanted = left * min(1.0, norm / np.linalg.norm(left))
        np.testing.assert_allclose(ravel_pytree(both)[0], wanted, rtol=1e-12)


def test_free_embeddings_move_in_their_batch_alone_and_batches_add_up_to_all():
    flow = CoupledFlow(X, FreeEmbeddings(N, M), T, loss=PrototypeLoss("full"))
    assert float(flow.ratio) == 1.0
    x, rows = Coupled(Z, P), [np.arange(0, 3), np.arange(3, N)]
    *parts, both = jax.jit(lambda x, *rows: [flow.gradient(0.0, x, some) for some in (*rows, None)])(x, *rows)
    for some, part in zip(rows, parts, strict=True):
        assert set(np.flatnonzero(np.any(np.asarray(part.encoder) != 0, axis=1))) == set(some)
    jax.tree.map(lambda a, b, whole: np.testing.assert_allclose(a + b, whole, atol=1e-12), *parts, both)


def test_losses_of_cold_prototypes_are_those_of_k_means():
    d = np.sum((np.asarray(Z)[:, None] - np.asarray(P)[None]) ** 2, axis=-1)
    assert float(measures.hard_loss(Z, P)) == pytest.approx(np.sum(d.min(axis=1)), rel=1e-14)
    assert float(measures.competitive_loss(Z, P, jnp.asarray(1e-3))) == pytest.approx(np.sum(d.min(axis=1)), rel=1e-9)


def test_a_temperature_has_a_limit_and_may_be_given_in_a_program():
    assert float(as_temperature(0.3).limit()) == 0.3
    assert float(Annealing(2.0, 0.5, 3.0).limit()) == 0.5
    at = jax.jit(lambda start: Annealing(start, 0.5, 3.0)(1.0))
    assert float(at(2.0)) == pytest.approx(2 * np.exp(-1 / 3))


def test_random_batches_are_orders_of_all_rows():
    rows = random_batches(random_key(0, "rows"), 10, 3, epochs=2)
    assert rows.shape == (2, 3, 3)
    assert all(len(set(epoch.ravel().tolist())) == 9 for epoch in rows)
    assert not np.array_equal(rows[0], rows[1])


def test_weights_are_drawn_with_the_variance_of_one_over_their_inputs():
    drawn = MLPEncoder(400, 50, 30).draw(random_key(0, "weights"))
    for weight, inputs in ((drawn.hidden.weight, 400), (drawn.output.weight, 50)):
        assert abs(inputs * float(jnp.var(weight)) - 1) < 6 * np.sqrt(2 / weight.size)
    assert not np.any(np.asarray(drawn.hidden.bias))


def test_principal_components_are_orthonormal_and_centred():
    W, b = principal_components(X, M)
    z = X @ W.T + b[None]
    np.testing.assert_allclose(W @ W.T, np.eye(M), atol=1e-13)
    np.testing.assert_allclose(jnp.mean(z, axis=0), 0, atol=1e-13)
    wanted = np.linalg.eigvalsh(np.cov(np.asarray(X).T, bias=True))[::-1][:M]
    np.testing.assert_allclose(np.cov(np.asarray(z).T, bias=True), np.diag(wanted), atol=1e-12)


def test_coincident_prototypes_run_and_stay_together():
    flow = PrototypeFlow(Z, T)
    path = simulate(flow, np.asarray(P)[[0, 0, 1]], [0.0, 1.0], integrator=Scipy())
    assert float(measures.separation(path.final)) < 1e-20
    descent = DescentMap(flow)
    assert float(measures.separation(iterate(descent, jnp.zeros((K, M)), 3).final)) == 0.0


@pytest.mark.parametrize("gradient", ["full", "frozen"])
def test_more_prototypes_than_points_run_and_come_together_at_the_points(gradient):
    z, p = jnp.asarray([[-1.0], [1.0]]), jnp.asarray([[-1.5], [-1.2], [0.4], [0.9], [1.3]])
    flow = PrototypeFlow(z, 0.5, loss=PrototypeLoss(gradient))
    final = np.asarray(simulate(flow, p, [0.0, 50.0], integrator=Scipy()).final)
    assert np.max(final[:2]) == pytest.approx(np.min(final[:2]), abs=1e-7)
    assert np.max(final[2:]) == pytest.approx(np.min(final[2:]), abs=1e-7)
    np.testing.assert_allclose(final[[0, 4]], z, atol=0.01)


BAD = [(lambda: Annealing(0.0, 0.3), "Argument `start` must be positive, but is 0."), (lambda: TwoLevelFlow(X,
    LinearEncoder(D, 2), -1.0, detached=True), "Argument `temperature` must be positive, but"), (lambda: CoupledFlow(X,
    LinearEncoder(D, 2), 1.0, encoder_rate=0), "Argument `encoder_rate` must be positive, but"), (lambda: CoupledFlow(X,
    LinearEncoder(D, 2), 1.0, prototype_rate=-1), "Argument `prototype_rate` must be positive"),
    (lambda: PrototypeFlow(Z, 0.0), "Argument `temperature` must be positive, but is 0."),
    (lambda: PrototypeFlow(Z[0], 1.0), "Argument `embeddings` must have shape (n, d) with n and d at least 1, but has"),
    (lambda: PrototypeFlow(Z * jnp.nan, 1.0), "Argument `embeddings` must be finite, but has an entry that is not."),
    (lambda: PrototypeFlow(Z, 1.0, rate=-1), "Argument `rate` must be positive, but is -1."),
    (lambda: PrototypeLoss("both"), "Argument `gradient` must be one of full, frozen, but is 'both'."),
    (lambda: PrototypeLoss(barrier=-1), "Argument `barrier` must not be negative, but is -1."),
    (lambda: PrototypeFlow(Z, 1.0).velocity(0.0, P[:, :1]), "Argument `prototypes` must have shape (k, 2), but have"),
    (lambda: Annealing(0.2, 0.3),
    "Argument `floor` must be at most `start`, 0.2, because annealing lowers the temperature, but"),
    (lambda: CoupledFlow(X, LinearEncoder(3, 2), 1.0), "Argument `data` must have 3 columns to match `encoder`, but"),
    (lambda: CoupledFlow(X, FreeEmbeddings(3, 2), 1.0), "Argument `data` must have 3 rows to match `encoder`, but"),
    (lambda: _coupled("linear")[0].velocity(0.0, P), "Argument `y0` must be a `Coupled(encoder, prototypes)`"),
    (lambda: principal_components(X, 9), "Argument `outputs` must be at most 4, the smaller side of `x`, but is 9."),
    (lambda: principal_components([[1.0, 2.0], [np.inf, 3.0]], 1), "Argument `x` must be finite, but has an entry"),
    (lambda: DescentMap(PrototypeFlow(Z, 1.0), batches=[[[0, N]]]), "Argument `batches` must hold row numbers from 0"),
    (lambda: DescentMap(PrototypeFlow(Z, 1.0), clip_value=0), "Argument `clip_value` must be positive, but is 0."),
    (lambda: TwoLevelFlow(X, LinearEncoder(D, 2), 1.0, detached=True, groups=[1] * N), "Argument `groups` must be"),
    (lambda: random_batches(random_key(0, "b"), 3, 4, epochs=1),
    "Argument `size` must be at most the number of rows, 3")]  # fmt: skip


@pytest.mark.parametrize(("act", "says"), BAD, ids=[says for _, says in BAD])
def test_bad_input_is_one_sentence(act, says):
    with pytest.raises(ValueError, match="Argument") as error:
        act()
    assert str(error.value).startswith(says)
