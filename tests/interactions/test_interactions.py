"""Every interaction gives the sums of the dense one; harmonics keep their bounds, and refuse what they cannot do."""

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special

from dynsim.keys import random_key
from dynsim.spaces import Ellipsoid, Euclidean, Sphere
from dynsim.systems.schedules import Constant, Modulated, Resampled, ScaledIdentity
from dynsim.systems.tokens.flow import TokenFlow
from dynsim.systems.tokens.interactions.base import AbstractInteraction, Dense
from dynsim.systems.tokens.interactions.blocked import Blocked, BlockSizes, _means_of_all
from dynsim.systems.tokens.interactions.choice import DENSE_MOST, TIMES, Auto, costs
from dynsim.systems.tokens.interactions.expansions import over_degrees, ratios
from dynsim.systems.tokens.interactions.harmonic import Harmonic, _first, _log_first, needed_degree, reach_of
from dynsim.systems.tokens.interactions.masks import AbstractMask, Causal, Full, Window
from dynsim.systems.tokens.interactions.pairs import means_by_pairs, pairs_suffice
from dynsim.systems.tokens.interactions.shards import Shard
from dynsim.systems.tokens.interactions.tiles import CHUNK
from dynsim.systems.tokens.interactions.truncation import degree_for, left_out
from tests.support.zoo import FLOWS, TOKEN_FLOWS

pytestmark = pytest.mark.retraced

MASKS = {"full": Full(), "causal": Causal(), "window": Window(3)}


class _Ahead(AbstractMask):
    """Every token but the last attends to the next one alone, the last to the first: not reflexive, no spans."""

    def __call__(self, n):
        return jnp.roll(jnp.eye(n, dtype=bool), 1, axis=1)


def _random(name, *shape):
    return np.asarray(jax.random.normal(random_key(3, name), shape))


def _flow(d, mask=None, space=None, size=2.0, **options):
    return TokenFlow(size * _random("P", 2, d, d), _random("U", 2, d, d), mask=mask, space=space, **options)


@eqx.filter_jit
def velocity(flow, x):
    return flow.velocity(0.0, x)


@eqx.filter_jit
def field(flow, x):
    return flow.vector_field(0.3, x)


SPECIAL = (
    "published 7.1",
    "published 7.2",
    "published 7.3",
    "published 7.4, small",
    "resampled",
    "repulsive",
)  # of what the others have in general


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in SPECIAL else []) for name in TOKEN_FLOWS]
)
def test_every_token_flow_of_the_zoo_has_the_same_field_by_every_interaction(name):
    make, shape = FLOWS[name]
    flow = make()
    x = flow.space.sample(random_key(7, name), shape)
    ways: list[AbstractInteraction] = [Blocked(2, 3)]
    if not isinstance(flow.mask, Window):
        ways.append(Harmonic(1e-14, reach=8.0))  # one reach: one program for all flows of as many heads
    expected = field(flow.computed_by(Dense()), x)
    np.testing.assert_array_equal(field(flow, x), expected)  # few tokens: `Auto` is dense
    for way in ways:
        np.testing.assert_allclose(field(flow.computed_by(way), x), expected, atol=2e-13)


@pytest.mark.parametrize(
    "mask", [*(pytest.param(name, marks=pytest.mark.slow) for name in ("full", "causal")), "window"]
)
def test_blocks_of_any_size_have_the_dense_answer_and_its_derivatives(mask):
    P, U, x = _random("P", 2, 4, 4), _random("U", 2, 4, 4), Sphere().sample(random_key(3, "x"), (11, 4))
    flow = TokenFlow(P + np.swapaxes(P, 1, 2), U, mask=MASKS[mask])  # symmetric, which only the full mask may use
    loss = jax.jit(jax.value_and_grad(lambda x, flow: jnp.sum(jnp.sin(flow.vector_field(0.0, x)))))
    found = [loss(x, f) for f in (flow, flow.computed_by(Blocked(3, 4)))]
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_means_in_pairs_of_blocks_and_their_derivatives_are_those_of_a_softmax():
    """Of two batches, and derivatives with respect to tokens and to entries of P, two of which share the weights."""
    P, xs = _random("P", 3, 3), Sphere().sample(random_key(3, "x"), (2, 11, 3))
    in_pairs = lambda P, x: _means_of_all(BlockSizes(3, 2), False, P[None], (x @ P)[None], x)[0]
    dense = lambda P, x: jax.nn.softmax(x @ P @ x.T, axis=-1) @ x
    loss = lambda means: lambda P, x: jnp.sum(jnp.sin(means(P, x)))
    both = lambda means, P, xs: (jax.vmap(means, (None, 0))(P, xs), jax.grad(loss(means), (0, 1))(P, xs[0]))
    values = jax.jit(lambda P, xs: [both(means, P, xs) for means in (in_pairs, dense)])
    for matrix in (P + P.T, P):
        for a, b in zip(*map(jax.tree.leaves, values(matrix, xs)), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-13)


def test_the_shift_of_scores_stays_fixed_only_where_no_weight_can_overflow():
    """The bound is |q| max |x| - q.x <= 60, here 87 and 30 for the first token in two heads, as max |x| = 2."""
    x = jnp.array([[-1.0, 0.0], [0.0, 2.0]])
    q = jnp.array([[[29.0, 0.0], [0.0, 1.0]], [[10.0, 0.0], [0.0, 3.0]]])
    sums = BlockSizes(2, 2).no_sums(q, x, Full(), Shard())
    assert sums.fixed.tolist() == [False, True]
    np.testing.assert_allclose(sums.shift, [[-29, 2], [-10, 6]])
    assert sums.total.shape == (2, 2, 3)
    assert not np.any(sums.total)
    ahead = BlockSizes(2, 2).no_sums(q, x, _Ahead(), Shard())
    assert (ahead.fixed.tolist(), np.unique(ahead.shift).tolist()) == ([False, False], [-np.inf])


def test_pairs_of_blocks_are_for_symmetric_matrices_without_overflow():
    x = Sphere().sample(random_key(3, "x"), (11, 3)).astype(jnp.float32)
    one = np.eye(3)[None]
    almost = one + np.eye(3, k=1)[None] * 1e-15
    compiled = jax.jit(pairs_suffice)
    suffice = lambda P: bool(compiled(P, (np.asarray(x) @ P).astype(np.float32), x))
    assert [suffice(P) for P in (30 * one, 3e3 * one, -29 * one, -31 * one)] == [True, True, True, False]
    assert [suffice(P) for P in (np.concatenate([one, almost]), np.concatenate([one, -31 * one]))] == [False, False]
    q = np.concatenate([30 * np.asarray(x)[None], 3e3 * np.asarray(x)[None], -29 * np.asarray(x)[None]])
    means = scipy.special.softmax(np.asarray(q, float) @ np.asarray(x, float).T, axis=-1) @ np.asarray(x, float)
    np.testing.assert_allclose(jax.jit(means_by_pairs, static_argnums=2)(q, x, 3), means, atol=1e-4)


def test_a_mask_that_no_one_knows_is_read_in_blocks():
    x = Euclidean().sample(random_key(3, "x"), (7, 3))
    flow = _flow(3, _Ahead(), Euclidean(), size=1e4)
    means = np.roll(np.asarray(x), -1, axis=0)  # one token is seen
    np.testing.assert_allclose(
        velocity(flow.computed_by(Blocked(3, 2)), x), flow.scale * means @ np.sum(flow.value(0.0), axis=0).T, atol=1e-13
    )


@pytest.mark.parametrize("size", [1e4, -1e4, -200.0])
def test_blocks_neither_overflow_nor_underflow(size):
    x = np.asarray(Sphere().sample(random_key(3, "x"), (7, 3)))
    x = np.abs(np.concatenate([x, x[:1] + 1e-3]))  # for -1e4 all scores are far below their bound, and below zero
    x = (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)
    flow = TokenFlow(size * np.eye(3))
    np.testing.assert_allclose(velocity(flow.computed_by(Blocked(3, 3)), x), velocity(flow, x), atol=1e-5)


def test_blocks_do_not_overflow_where_tokens_are_longer_than_one():
    """The second token sees the longest one with a score that is larger by 800 than that of itself."""
    space = Ellipsoid(np.diag([1.0, 1e-2, 1e-4]))
    x = space.project(
        jnp.asarray([[0.6, 7.0, 40.0], [0.1, 9.8, 10.0], [0.01, 0.1, 100.0], [1.0, 0.1, 1.0]], jnp.float32)
    )
    flow = TokenFlow(np.eye(3), space=space).computed_by(Blocked(3, 3))
    y = np.asarray(x, float)
    means = scipy.special.softmax(y @ y.T, axis=1) @ y
    np.testing.assert_allclose(velocity(flow, x), flow.scale * means, rtol=1e-5)


@pytest.mark.parametrize(
    ("d", "causal"),
    [*(pytest.param(*case, marks=pytest.mark.slow) for case in ((2, False), (3, False), (3, True))), (2, True)],
)
def test_harmonics_have_the_dense_answer_and_its_derivatives(d, causal):
    n = 300 if d == 3 else 40  # more than one block on the sphere
    space = Ellipsoid(np.eye(d) + 0.4) if causal else Sphere()
    x = space.sample(random_key(3, "x"), (n, d))
    push = jax.jit(jax.value_and_grad(lambda x, flow: jnp.sum(jnp.sin(flow.vector_field(0.0, x)))))
    for size in (2.0, 1e-3):
        flow = _flow(d, Causal() if causal else None, space, size)
        for a, b in zip(push(x, flow), push(x, flow.computed_by(Harmonic(1e-14, reach=12.0))), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-11)


def test_a_value_for_all_heads_is_applied_to_the_mean_of_each():
    U, means = _random("U", 1, 3, 3), _random("means", 2, 5, 3)
    expected = np.einsum("ed,hid->ie", U[0], means)
    for value in (U, np.concatenate([U, U])):
        np.testing.assert_allclose(Constant(value).applied(0.0, jnp.asarray(means)), expected, rtol=1e-13)


@pytest.mark.slow
def test_a_value_for_all_heads_is_that_of_each():
    P, U, x = _random("P", 2, 3, 3), _random("U", 1, 3, 3), Sphere().sample(random_key(3, "x"), (6, 3))
    each, shared = TokenFlow(P, np.concatenate([U, U])), TokenFlow(P, U)
    for way in (Dense(), Blocked(4, 4)):
        np.testing.assert_allclose(shared.computed_by(way).velocity(0.0, x), each.velocity(0.0, x), atol=1e-13)
    number = TokenFlow(P, ScaledIdentity([0.5], 3))
    np.testing.assert_allclose(number.velocity(0.0, x), TokenFlow(P, 0.5).velocity(0.0, x), atol=1e-15)


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("r", [0.3, 5.0, 60.0])
def test_the_bound_on_what_is_left_out_is_close_to_the_truth(d, r):
    k = np.arange(400)
    order = k + (d - 2) / 2
    terms = scipy.special.ive(order, r) * (np.where(k == 0, 1, 2) if d == 2 else (2 * k + 1) * np.sqrt(np.pi / 2 / r))
    truth, bound = np.cumsum(terms[::-1])[::-1][1:], left_out(d, r, 150)
    some = [k for k in (3, 10, 20, 40, 60) if truth[k] > 1e-14]
    for degree in some:
        assert truth[degree] * (1 - 1e-9) <= bound[degree] <= (1.5 if degree < r else 8) * truth[degree]
    degree = degree_for(d, r, 1e-10, 150)
    assert bound[degree] <= 1e-10 < bound[degree - 1]
    smaller = left_out(d, r / 2, 150)
    assert np.all(smaller <= bound)  # the largest norm decides
    assert left_out(d, 0.0, 5).tolist() == [0] * 6
    assert left_out(d, 256.1, 5).tolist() == [1] * 6  # no bound is computed for so few degrees
    assert 0.5 < left_out(d, 256.0, 5)[-1] < 1


@pytest.mark.parametrize("d", [2, 3])
def test_the_scaled_bessel_functions_are_accurate(d):
    r, degree = np.array([1e-3, 1.0, 7.0]), 24
    sigma = np.asarray(jax.jit(ratios, static_argnums=(1, 2))(r**2, degree, d))
    order = np.arange(degree + 1)[:, None] + (d - 2) / 2
    exact = scipy.special.ive(order[1:], r) / scipy.special.ive(order[:-1], r) / r
    np.testing.assert_allclose(sigma[:10], exact[:10], rtol=1e-13)


def test_the_harmonics_satisfy_the_addition_theorem():
    u = Sphere().sample(random_key(3, "u"), (2, 3))
    of_degrees = jax.jit(lambda v: over_degrees(v, jnp.ones((9, 2)), (), lambda c, z, _: (c, z), jnp.zeros(10))[1])
    cosine = float(np.dot(*np.asarray(u)))
    products = [float(zl[:, 0] @ zl[:, 1]) for zl in np.asarray(of_degrees(np.asarray(u).T))]
    np.testing.assert_allclose(products, [scipy.special.eval_legendre(l, cosine) for l in range(10)], atol=1e-13)


@pytest.mark.parametrize("mask", [Full(), Causal()])
def test_the_error_of_a_coarse_expansion_is_below_its_reported_bound(mask, monkeypatch):
    monkeypatch.setitem(CHUNK, 2, 8)
    flow = TokenFlow(3 * np.eye(2), mask=mask)
    x = Sphere().sample(random_key(3, "x"), (30, 2))
    coarse = flow.computed_by(Harmonic(1e-3))
    way: Any = coarse.interaction
    bound = np.asarray(jax.jit(lambda x: way.bounds(coarse, 0.0, x)[0])(x))
    error = np.linalg.norm(velocity(coarse, x) - velocity(flow, x), axis=1) / float(flow.scale)
    assert way.truncation <= 1e-3
    assert np.all(error <= bound)
    assert np.max(error) > 0.01 * np.max(bound)
    weights, seen = np.exp(3 * np.asarray(x) @ np.asarray(x).T - 3), np.asarray(mask(30))
    np.testing.assert_allclose(bound, 2 * way.truncation * np.sum(seen, 1) / np.sum(weights * seen, 1), rtol=0.02)


def test_a_query_beyond_the_reach_gives_nan():
    x = Sphere().sample(random_key(3, "x"), (5, 2))
    assert np.all(np.isnan(velocity(TokenFlow(3 * np.eye(2), interaction=Harmonic(1e-2, reach=2.5)), x)))


def test_a_query_whose_weights_are_all_below_the_tolerance_gives_nan():
    same = np.tile([[0.6, 0.8]], (5, 1))
    flow = lambda size: TokenFlow(size * np.eye(2), interaction=Harmonic(1e-2, reach=2.5))
    assert np.all(np.isnan(velocity(flow(-2.4), same)))  # e^(-4.8) of the largest weight
    np.testing.assert_allclose(velocity(flow(-0.3), same), flow(-0.3).scale * same, rtol=0.1)


@pytest.mark.parametrize("d", [2, 3])
def test_the_first_coefficient_is_the_scaled_bessel_function(d):
    r = np.array([0.0, 1e-5, 5e-5, 3e-3, 9.9e-3, 0.3, 20.0])
    exact = scipy.special.ive(0, r) if d == 2 else np.append(1.0, -np.expm1(-2 * r[1:]) / (2 * r[1:]))
    first, logarithm = jax.jit(lambda r, squares: (_first(r, d), _log_first(squares, d)))(r, r**2)
    np.testing.assert_allclose(first, exact, rtol=1e-8)
    np.testing.assert_allclose(logarithm, np.log(exact) + r, rtol=1e-12, atol=2e-15)


def test_the_reach_is_the_largest_norm_of_a_query_in_coordinates_of_unit_tokens():
    W, P = np.array([[0.5, 0.3], [0.3, 2.0]]), _random("P", 3, 2, 2)
    angles = np.linspace(0, np.pi, 2000)
    lower = np.linalg.cholesky(W)  # x^T W x = |lower^T x|^2
    tokens = np.linalg.solve(lower.T, np.stack([np.cos(angles), np.sin(angles)]))
    longest = lambda P: np.max(np.linalg.norm(np.linalg.solve(lower, np.swapaxes(P, 1, 2) @ tokens), axis=1))
    assert reach_of(Constant(P), Ellipsoid(W)) == pytest.approx(longest(P), rel=1e-5)
    assert reach_of(Constant(P), Sphere()) == pytest.approx(np.max(np.linalg.norm(P, 2, axis=(1, 2))))
    moving = Modulated(P[0], _random("a", 1, 2), 5.0, 0.3)
    assert max(longest(np.asarray(moving(t))) for t in (0.1, 0.5, 0.9)) <= reach_of(moving, Ellipsoid(W))


def test_degrees_are_even_so_that_nearby_matrices_share_a_program():
    degrees = {needed_degree(3, r, 1e-10, np.float64) for r in np.linspace(1.0, 9.0, 40)}
    assert {degree % 2 for degree in degrees} == {0}
    assert needed_degree(2, 40.0, 1e-10, np.float64) in (degree_for(2, 40.0, 1e-10, 99) + k for k in (0, 1))


def test_the_choice_says_what_and_why():
    said = lambda flow, n: str(flow.interaction.chosen(flow, n))
    tolerant: Any
    exact, tolerant = TokenFlow(5 * np.eye(3)), TokenFlow(5 * np.eye(3), interaction=Auto(1e-10))
    assert said(exact, 10) == (
        "Dense: 10 tokens are few enough for all weights at once, and no tolerance is given for harmonics."
    )
    assert said(exact, DENSE_MOST).startswith("Dense: 256 tokens are few enough")
    assert said(exact, DENSE_MOST + 1).startswith("Blocked: 257 tokens are too many for all weights")
    assert said(tolerant, 10**5).startswith(f"Harmonic, degree {tolerant.interaction.harmonic.degree}: its")
    assert said(tolerant, 10).startswith("Dense: the pairs of 10 tokens are less work than")
    assert "must not be `Harmonic` unless the dimension is 2 or 3" in said(_flow(4, interaction=Auto(1e-10)), 10**5)
    assert (
        "must be at least 1e-06 for harmonics in float32"
        in tolerant.interaction.chosen(tolerant, 10**5, np.float32).reason
    )


def test_the_chosen_way_is_the_cheaper_one():
    flow: Any = TokenFlow(5 * np.eye(3), interaction=Auto(1e-10))
    degree = flow.interaction.harmonic.degree
    for n in (2**k for k in range(6, 20)):
        found = costs(n, 3, 1, degree, np.float64, causal=False)
        harmonic = isinstance(flow.interaction.chosen(flow, n).interaction, Harmonic)
        assert harmonic == (found.harmonic < found.exact)


def test_predicted_times_grow_with_pairs_or_with_tokens_and_degrees():
    def cost(n=10**5, d=3, heads=2, degree=20, dtype: Any = np.float64, causal=False):
        return np.array(costs(n, d, heads, degree, dtype, causal=causal))

    assert cost(n=2 * 10**5) / cost() == pytest.approx([4, 2], rel=1e-2)
    assert cost(degree=41) / cost() == pytest.approx([1, 4], rel=1e-2)
    assert cost(d=2, degree=41) / cost(d=2) == pytest.approx([1, 2], rel=1e-2)
    assert cost(heads=5) / cost() == pytest.approx([5 / 2, 2], rel=1e-2)
    assert cost(dtype=np.float32) / cost() == pytest.approx([TIMES["cpu"].single] * 2, rel=1e-2)
    assert cost(causal=True)[0] / cost()[0] == pytest.approx(1 / 2)
    assert cost(causal=True)[1] > cost()[1]  # pairs within blocks


def test_matrices_without_harmonics_share_a_program():
    ways: list[Any] = [TokenFlow(size * np.eye(3), interaction=Auto(1e-12)).interaction for size in (1e5, 2e5)]
    assert ways[0].obstacle.words != ways[1].obstacle.words
    assert jax.tree.structure(ways[0]) == jax.tree.structure(ways[1])


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: _flow(4, interaction=Harmonic()),
         r"the dimension is 2 or 3 \(use `Blocked\(\)`\), but is for 4"),
        (lambda: _flow(3, Window(2), interaction=Harmonic()), "unless the mask is `Full` or `Causal`"),
        (lambda: _flow(3, space=Euclidean(), interaction=Harmonic()), "unless tokens live on a sphere or an ellipsoid"),
        (lambda: _flow(3, interaction=Harmonic(0.25)), "`tolerance` must be below 1/4, because no mean is determined"),
        (lambda: Auto(2.0), "`tolerance` must be below 1/4, because no mean is determined above, but is 2"),
        (lambda: _flow(3, interaction=Harmonic(1e-16)), "`tolerance` must be at least 2e-15 for harmonics in float64"),
        (
            lambda: TokenFlow(1e5 * np.eye(3), interaction=Harmonic()),
            r"`query_key` must need at most 256 degrees for harmonics \(use `Blocked\(\)`, or a larger tolerance\)",
        ),
        (
            lambda: TokenFlow(Resampled(random_key(0, "k"), (1, 3, 3)), interaction=Harmonic()),
            "`interaction` must have a `reach`, the largest norm of a query, because the matrices P have no known",
        ),
        (lambda: Blocked(0), "`rows` must be at least 1"),
        (lambda: Harmonic(0.0), "`tolerance` must be positive"),
        (
            lambda: TokenFlow(np.eye(3), interaction=Harmonic(1e-12)).velocity(0.0, jnp.eye(3, dtype=jnp.float32)),
            "`tolerance` must be at least 1e-06 for harmonics in float32",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_refused(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


def test_a_modulated_matrix_is_bounded_by_its_amplitudes():
    P = Modulated(_random("P", 2, 3, 3), _random("a", 2, 3), 5.0, 0.3)
    norms = np.linalg.norm(jax.jit(jax.vmap(P))(np.linspace(0, 2, 200)), 2, axis=(2, 3)).max(axis=1)
    assert max(norms) <= P.norm_bound() < 3 * max(norms)
    assert math.isinf(Resampled(random_key(0, "k"), (1, 3, 3)).norm_bound())
