"""The token flow and its schedules against the formulas of the paper, written out by hand."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dynsim.keys import random_key
from dynsim.spaces import Ellipsoid, Euclidean, Sphere
from dynsim.systems.master_equation.flow import MasterEquationFlow
from dynsim.systems.schedules import Constant, Modulated, PiecewiseConstant, Resampled, ScaledIdentity
from dynsim.systems.tokens.flow import (
    LayerMap,
    ProjectedValueFlow,
    TokenFlow,
    causal_identity_flow,
    causal_symmetric_flow,
    gradient_token_flow,
    identity_value_flow,
)
from dynsim.systems.tokens.initial import initial_tokens
from dynsim.systems.tokens.interactions.choice import Auto
from dynsim.systems.tokens.interactions.masks import Causal, Window
from dynsim.systems.tokens.normalised import with_norms
from dynsim.systems.tokens.published import published_hemisphere_flow, published_symmetric_flow
from dynsim.systems.tokens.scalar_driven import OjaFlow

W = np.array([[2.0, 0.3, 0.0], [0.3, 1.0, -0.2], [0.0, -0.2, 0.7]])


def _random(name, *shape):
    return np.asarray(jax.random.normal(random_key(1, name), shape))


def _by_hand(x, P, U, W, see):
    """(7) as printed, token by token."""
    n, d = x.shape
    v = np.zeros_like(x)
    for i in range(n):
        for Ph, Uh in zip(P, U, strict=True):
            Z = np.sqrt(d) * sum(np.exp(x[i] @ Ph @ x[k]) for k in range(n) if see(i, k))
            for j in range(n):
                if see(i, j):
                    a = np.exp(x[i] @ Ph @ x[j]) / Z
                    v[i] += a * (Uh @ x[j] - (x[i] @ W @ Uh @ x[j]) * x[i])
    return v


@pytest.mark.parametrize(
    ("mask", "see"),
    [(None, lambda i, j: True), (Causal(), lambda i, j: j <= i), (Window(2), lambda i, j: i - 1 <= j <= i)],
)
def test_the_field_is_equation_7(mask, see):
    P, U = _random("P", 2, 3, 3), _random("U", 2, 3, 3)
    flow = TokenFlow(P, U, space=Ellipsoid(W), mask=mask)
    x = np.asarray(flow.space.sample(random_key(1, "x"), (5, 3)))
    np.testing.assert_allclose(flow.vector_field(0.0, x), _by_hand(x, P, U, W, see), atol=1e-13)
    np.testing.assert_allclose(jnp.sum(flow.weights(0.0, x), -1), 1.0, atol=1e-14)


@pytest.mark.parametrize("value", [W, ScaledIdentity(0.7, 3), 0.7], ids=["a matrix", "a multiple of I", "a number"])
def test_one_value_matrix_is_that_of_all_heads(value):
    P, x = _random("P", 2, 3, 3), np.asarray(Sphere().sample(random_key(1, "x"), (4, 3)))
    flow = TokenFlow(P, value)
    U = W if np.ndim(value) == 2 else 0.7 * np.eye(3)
    exact = _by_hand(x, P, [U, U], np.eye(3), lambda i, j: True)
    np.testing.assert_allclose(flow.vector_field(0.0, x), exact, atol=1e-13)
    if np.ndim(value) == 0:  # a number or a multiple of I
        np.testing.assert_allclose(np.sum(flow.pulls(0.0, x), axis=1), exact, atol=1e-13)


def test_the_printed_schedule_of_the_hemisphere_experiment():
    t = 0.037
    c, s = np.cos, np.sin
    D1 = np.diag([2 * c(10 * np.pi * t), 2 * s(10 * np.pi * t), 2 * c(6 * np.pi * t)])
    D2 = np.diag([2 * c(6 * np.pi * t), 2 * s(6 * np.pi * t), 2 * c(4 * np.pi * t)])
    P = published_hemisphere_flow().query_key
    np.testing.assert_allclose(P(t), np.stack([D1 @ P.base[0], D2 @ P.base[1]]), atol=1e-14)
    np.testing.assert_allclose(published_hemisphere_flow().step_limit(), 0.1)
    np.testing.assert_allclose(
        published_symmetric_flow().query_key(t)[0], D1 @ published_symmetric_flow().query_key.base[0]
    )


SHEAR = np.array([[0.0, 1.0], [0.0, 0.0]])
SCHEDULES = {
    "constant": lambda: Constant(_random("c", 2, 3, 3)),
    "identity": lambda: ScaledIdentity([1.0, -0.5], 3),
    "modulated": lambda: Modulated(_random("m", 2, 3, 3), _random("a", 2, 3), _random("f", 2, 3), 0.3, rectified=True),
    "piecewise": lambda: PiecewiseConstant(_random("p", 3, 2, 3, 3), [0.5, 1.0, 0.25]),
    "resampled": lambda: Resampled(random_key(1, "key"), (2, 3, 3), 1.0, 0.5),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_schedule_applies_itself_as_its_matrices_do(name):
    M = SCHEDULES[name]()
    x, y, weights = _random("x", 4, 3), _random("y", 5, 3), jnp.asarray(_random("z", 2, 6, 5))
    for t in (0.0, 0.8, 1.9):
        full = np.asarray(M(t))
        assert full.shape == M.shape == (2, 3, 3)
        np.testing.assert_allclose(M.bilinear(t, x, y), np.einsum("nd,hde,me->hnm", x, full, y), atol=1e-13)
        expected = np.einsum("hij,hed,jd->ie", weights, full, y)
        np.testing.assert_allclose(M.mix(t, weights, y), expected, atol=1e-13)
        np.testing.assert_allclose(M.queries(t, x), np.einsum("hde,nd->hne", full, x), atol=1e-13)
        means = jnp.asarray(_random("means", 2, 5, 3))
        np.testing.assert_allclose(M.applied(t, means), np.einsum("hed,hid->ie", full, means), atol=1e-13)


def test_one_matrix_is_applied_to_the_sum_of_all_heads():
    U, means = _random("U", 3, 3), jnp.asarray(_random("means", 2, 5, 3))
    np.testing.assert_allclose(Constant(U).applied(0.0, means), np.einsum("ed,hid->ie", U, means), atol=1e-13)


def test_a_rectified_wave_has_half_the_period_and_layers_return():
    base, a, f, phase = np.ones((1, 2, 2)), [[1.5, -2.0]], [[-4.0, 3.0]], [[0.3, 0.1]]
    plain, rectified = (Modulated(base, a, f, phase, rectified=rectified) for rectified in (False, True))
    t = 0.7
    wave = np.array([1.5 * np.sin(0.3 - 4 * t), -2 * np.sin(0.1 + 3 * t)])
    np.testing.assert_allclose(plain(t)[0], np.stack([wave, wave], axis=1), atol=1e-14)
    np.testing.assert_allclose(rectified(t)[0], np.abs(np.stack([wave, wave], axis=1)), atol=1e-14)
    assert (plain.fastest_period(), rectified.fastest_period()) == pytest.approx((np.pi / 2, np.pi / 4))
    assert rectified.without_period().fastest_period() == np.inf
    np.testing.assert_array_equal(rectified.without_period()(t), rectified(t))
    layers = PiecewiseConstant(np.array([1.0, -3.0, 2.0]).reshape(3, 1, 1, 1) * np.eye(2), [0.5, 1.0, 0.25])
    assert [float(layers(1.75 + t)[0, 0, 0]) for t in (0.1, 0.6, 1.6)] == [1, -3, 2]
    assert layers.norm_bound() == pytest.approx(3)
    assert ScaledIdentity([-2.0, 1.0], 3).norm_bound() == pytest.approx(2)


def test_layers_change_at_their_breakpoints():
    once = PiecewiseConstant(
        np.arange(3.0).reshape(3, 1, 1, 1) * np.ones((3, 1, 2, 2)), [0.5, 1.0, 0.25], periodic=False
    )
    assert [float(once(t)[0, 0, 0]) for t in (0.0, 0.4999, 0.5, 1.4999, 1.5, 1.7)] == [0, 0, 1, 1, 2, 2]
    np.testing.assert_allclose(once.breakpoints(0.0, 1.75), [0.5, 1.5])
    assert once.end() == 1.75
    again = PiecewiseConstant(np.ones((3, 1, 2, 2)), [0.5, 1.0, 0.25])
    np.testing.assert_allclose(again.breakpoints(1.0, 4.0), [1.5, 1.75, 2.25, 3.25, 3.5])
    assert again.end() == np.inf


def test_layers_drawn_anew_are_distinct_and_reproducible():
    drawn = Resampled(random_key(1, "key"), (1, 3, 3), 0.02, 0.5)
    np.testing.assert_array_equal(drawn(0.1), drawn(0.4))
    assert not np.allclose(drawn(0.4), drawn(0.5))
    np.testing.assert_allclose(drawn.breakpoints(0.2, 1.7), [0.5, 1.0, 1.5])
    np.testing.assert_allclose(Resampled(drawn.key, drawn.shape, 0.02, 2.0).breakpoints(5.0, 9.0), [6.0, 8.0])
    many = np.stack([drawn(0.5 * k) for k in range(300)])
    assert abs(many.std() - 0.02) < 0.002  # 2700 entries: standard error 3e-4


def test_an_identity_value_needs_no_matrix():
    P = _random("P", 2, 3, 3)
    x = Sphere().sample(random_key(1, "x"), (5, 3))
    eye = np.broadcast_to(np.eye(3), (2, 3, 3))
    np.testing.assert_allclose(TokenFlow(P).vector_field(0.0, x), TokenFlow(P, eye).vector_field(0.0, x), atol=1e-14)


def test_named_flows_are_those_of_their_equations():
    P, P1, symmetric = _random("P", 2, 3, 3), _random("P1", 3, 3), _random("U", 3, 3) + _random("U", 3, 3).T
    x = np.asarray(Ellipsoid(W).sample(random_key(1, "x"), (5, 3)))
    y, I, later, all = (x / np.linalg.norm(x, axis=1, keepdims=True), np.eye(3), (lambda i, j: j <= i),
        (lambda i, j: True))  # fmt: skip
    for flow, tokens, given in (
        (identity_value_flow(P, space=Ellipsoid(W)), x, (P, [I, I], W, all)),
        (identity_value_flow(P), y, (P, [I, I], I, all)),
        (causal_identity_flow(P), y, (P, [I, I], I, later)),
        (causal_symmetric_flow(P1, symmetric), y, ([P1], [symmetric], I, later)),
        (gradient_token_flow(W), x, ([W], [I], W, all)),
    ):
        np.testing.assert_allclose(flow.vector_field(0.0, tokens), _by_hand(tokens, *given), atol=1e-13)


def test_the_projection_of_remark_5_1_gives_the_printed_right_hand_side():
    U, P = np.eye(3) + 0.3 * _random("U", 3, 3), _random("P", 1, 3, 3)
    flow = ProjectedValueFlow(P, U)
    x = np.asarray(flow.space.sample(random_key(1, "x"), (4, 3)))
    eye = np.eye(3)[None]
    np.testing.assert_allclose(flow.vector_field(0.0, x), _by_hand(x, P, eye, U.T @ U, lambda i, j: j <= i), atol=1e-12)


def test_a_flow_with_its_own_projection_has_the_jumps_the_period_and_the_end_of_its_head():
    U = np.eye(3) + 0.3 * _random("U", 3, 3)
    layers = ProjectedValueFlow(PiecewiseConstant(_random("p", 3, 1, 3, 3), [0.5, 1.0, 0.25], periodic=False), U)
    np.testing.assert_allclose(layers.breakpoints(0.0, 1.75), [0.5, 1.5])
    with pytest.raises(ValueError, match="query_key"):
        layers.check_horizon(0.0, 2.0)
    waves = ProjectedValueFlow(Modulated(_random("P", 1, 3, 3), 1.0, 3.0, 0.0), U)
    assert waves.step_limit() == pytest.approx(np.pi / 3)


def test_the_end_of_the_values_ends_a_flow_and_the_largest_constant_matrix_bounds_all():
    once = PiecewiseConstant(_random("u", 2, 2, 3, 3), periodic=False)
    flow = TokenFlow(_random("P", 2, 3, 3), once)
    flow.check_horizon(0.0, 2.0)
    with pytest.raises(ValueError, match="`value`"):
        flow.check_horizon(0.0, 2.5)
    assert Constant(np.stack([np.eye(3), -2 * np.eye(3)])).norm_bound() == pytest.approx(2)


def test_both_schedules_give_jumps_steps_and_an_end():
    fast, slow = (Modulated(_random("P", 1, 3, 3), 1.0, frequency, 0.0) for frequency in (4.0, 3.0))
    for P, U in ((fast, slow), (slow, fast), (fast, 1.0)):
        assert TokenFlow(P, U).step_limit() == pytest.approx(np.pi / 4)
    early, late = (PiecewiseConstant(_random("p", 2, 1, 3, 3), spans, periodic=False) for spans in ([1, 1], [0.5, 2]))
    for P, U, jumps in ((early, late, [0.5, 1.0]), (early, 1.0, [1.0]), (fast, late, [0.5]), (fast, slow, [])):
        np.testing.assert_array_equal(TokenFlow(P, U).breakpoints(0.0, 2.0), jumps)
    TokenFlow(fast, slow).check_horizon(-9.0, 9.0)
    TokenFlow(early, late).check_horizon(0.0, 2.0)
    for P, U, t0, t1, name in (
        (early, late, 0.0, 2.1, "query_key"), (late, early, 0.0, 2.1, "value"), (early, 1.0, -0.1, 1.0, "query_key"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=rf"schedule of `{name}`, \[0, 2.0\]"):
            TokenFlow(P, U).check_horizon(t0, t1)


@pytest.mark.parametrize("space", [Sphere(), Ellipsoid(W)], ids=["sphere", "ellipsoid"])
def test_the_pulls_of_all_tokens_add_up_to_the_field(space):
    flow = TokenFlow(_random("P", 2, 3, 3), ScaledIdentity([1.5, -0.4], 3), space=space, mask=Causal())
    x = np.asarray(space.sample(random_key(1, "x"), (5, 3)))
    pulls = flow.pulls(0.3, x)
    np.testing.assert_allclose(np.sum(pulls, axis=1), flow.vector_field(0.3, x), atol=1e-14)
    assert not np.any(pulls[np.triu_indices(5)])  # of itself, and of later tokens
    assert TokenFlow(np.eye(3), np.eye(3)).pulls(0.0, x).size == 0
    assert TokenFlow(np.eye(3), space=Euclidean()).pulls(0.0, x).size == 0


def test_large_scores_do_not_overflow():
    flow = TokenFlow(1e4 * np.eye(3))
    x = Sphere().sample(random_key(1, "x"), (5, 3))
    assert bool(jnp.all(jnp.isfinite(flow.vector_field(0.0, x))))
    np.testing.assert_allclose(flow.weights(0.0, x)[0], np.eye(5), atol=1e-12)


def test_the_layer_map_is_equation_6():
    P, U = _random("P", 1, 3, 3), _random("U", 1, 3, 3)
    flow = TokenFlow(P, U)
    x = np.asarray(Sphere().sample(random_key(1, "x"), (4, 3)))
    A = np.exp(x @ P[0] @ x.T)
    moved = x + 0.3 * (A / A.sum(1, keepdims=True)) @ x @ U[0].T / np.sqrt(3)
    np.testing.assert_allclose(
        LayerMap(flow, 0.3).step(0, x), moved / np.linalg.norm(moved, axis=1)[:, None], atol=1e-14
    )


@pytest.mark.parametrize(("make", "sentence"), [
    (lambda: TokenFlow(np.ones((2, 3))), r"`query_key` must have shape \(heads, d, d\), but has shape \(2, 3\)"),
    (lambda: TokenFlow(np.full((3, 3), np.inf)), "`query_key` must be finite"),
    (lambda: TokenFlow(np.eye(3), np.ones((2, 3, 3))), "`value` must have as many heads and dimensions"),
    (lambda: TokenFlow(np.eye(3), space=Ellipsoid(np.eye(2))), "`space` must have dimension 3, but has dimension 2"),
    (lambda: gradient_token_flow(-np.eye(3)), "`query_key` must be positive definite, but has the eigenvalue -1"),
    (lambda: causal_symmetric_flow(np.eye(2), SHEAR), "`value` must be symmetric, but differs from its transpose by 1"),
    (lambda: OjaFlow(SHEAR), "`matrix` must be symmetric, but differs from its transpose by 1"),
    (lambda: OjaFlow(np.ones((2, 3))), r"`matrix` must have shape \(d, d\), but has shape \(2, 3\)"),
    (lambda: causal_symmetric_flow(np.ones((2, 2, 2)), np.eye(2)), "must have one head, but has 2"),
    (lambda: ProjectedValueFlow(np.eye(2), np.zeros((2, 2))), "`value` must be an invertible matrix"),
    (lambda: LayerMap(TokenFlow(np.eye(2)), 0.0), "`step_size` must be positive"),
    (lambda: Window(0), "`width` must be at least 1"),
    (lambda: Modulated(np.eye(3), 1.0, np.ones(2), 0.0), r"`frequency` must have shape \(1, 3\)"),
    (lambda: PiecewiseConstant(np.ones((3, 3, 3))), r"`values` must have shape \(layers, heads, d, d\)"),
    (lambda: PiecewiseConstant(np.ones((2, 1, 3, 3)), [1.0, 0.0]), "`durations` must be one or 2 positive numbers"),
    (lambda: Resampled(random_key(0, "k"), (2, 3, 3), 1.0, 0.0), "`duration` must be positive"),
])  # fmt: skip
def test_bad_parameters_are_refused(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


def test_the_jumps_of_schedules_are_those_strictly_between_two_times():
    """The ends of layers, between any two of many times, among them the ends themselves."""
    values = np.ones((3, 1, 2, 2))
    once = PiecewiseConstant(values, [0.5, 1.0, 0.25], periodic=False)
    again = PiecewiseConstant(values, [0.5, 1.0, 0.25])
    drawn = Resampled(random_key(0, "jumps"), (1, 2, 2), duration=0.75)
    ends = np.array([0.0, 0.5, 1.5])
    for schedule, jumps in (
        (once, [0.0, 0.5, 1.5, 1.75]),
        (again, np.add.outer(1.75 * np.arange(-3, 4), ends).ravel()),
        (drawn, 0.75 * np.arange(-8, 9)),
    ):
        for t0, t1 in itertools.combinations([-1.75, -0.3, 0.0, 0.5, 0.75, 1.0, 1.5, 1.75, 2.25, 3.5, 3.6], 2):
            wanted = [t for t in jumps if t0 < t < t1]
            np.testing.assert_allclose(schedule.breakpoints(t0, t1), wanted, atol=1e-12)


def test_tokens_of_a_hemisphere_are_uniform_ones_reflected_by_the_first_coordinate():
    key = random_key(0, "half")
    whole, half = (np.asarray(initial_tokens(name, key, (40, 3))) for name in ("uniform", "hemisphere"))
    np.testing.assert_array_equal(half, whole * np.where(whole[:, :1] < 0, -1, 1))
    assert np.min(whole[:, 0]) < 0


@pytest.mark.usefixtures("short_draws")
@pytest.mark.parametrize("dimension", [2, 60])
def test_a_cluster_of_initial_tokens_has_the_same_radius_in_every_dimension(dimension):
    x = np.asarray(initial_tokens("cluster", random_key(0, "cluster"), (60, dimension), Euclidean()))
    assert np.sqrt(np.mean(np.sum((x - np.mean(x, axis=0)) ** 2, axis=1))) == pytest.approx(0.1, rel=0.2)


def test_a_cluster_on_the_sphere_lies_around_one_point_of_it():
    for seed in range(3):
        x = np.asarray(initial_tokens("cluster", random_key(seed, "cluster"), (20, 3)))
        assert np.min(x @ x.T) > 0.8


def test_a_flow_made_and_evaluated_in_a_program_is_the_one_made_before():
    """Bounds on traced matrices are unknown, so tokens are summed in pairs whatever the tolerance."""
    P, x = _random("P", 3, 3), np.asarray(Ellipsoid(W).sample(random_key(1, "x"), (4, 3)))
    made = lambda P, W, **options: TokenFlow(P, space=Ellipsoid(W), **options).vector_field(0.0, x)
    inside = jax.jit(lambda P, W: made(P, W, interaction=Auto(1e-9)))(P, W)
    np.testing.assert_allclose(inside, made(P, W), atol=1e-13)


def test_only_a_schedule_with_an_end_has_a_beginning():
    layers = PiecewiseConstant(np.ones((2, 1, 3, 3)), periodic=False)
    TokenFlow(np.eye(3)).check_horizon(-1.0, 5.0)
    MasterEquationFlow(np.array([[-1.0, 2.0], [1.0, -2.0]])).check_horizon(-1.0, 5.0)
    with pytest.raises(ValueError, match=r"inside the schedule of `query_key`, \[0, 2.0\], but begins at -1"):
        TokenFlow(layers).check_horizon(-1.0, 1.0)


def test_the_placement_of_the_normalisation_regulates_the_speed_on_the_sphere():
    """With r = |x| and m the output, the directions move as on the sphere, slower by r (pre), and by r |m| (peri)."""
    flow = TokenFlow(_random("P", 1, 3, 3), _random("U", 1, 3, 3), mask=Causal())
    x = 2.0 * _random("x", 4, 3)
    radius = np.linalg.norm(x, axis=1, keepdims=True)
    directions = x / radius
    size = np.linalg.norm(flow.velocity(0.0, directions), axis=1, keepdims=True)
    on_sphere = np.asarray(flow.vector_field(0.0, directions))
    for placement, slower in (("pre", radius), ("peri", radius * size)):
        made = with_norms(flow, placement)
        moved = made.space.tangent(x, made.vector_field(0.0, x))
        turned = (moved - np.sum(moved * directions, axis=1, keepdims=True) * directions) / radius
        np.testing.assert_allclose(turned * slower, on_sphere, atol=1e-13)
    np.testing.assert_allclose(np.linalg.norm(made.velocity(0.0, x), axis=1), 1.0, atol=1e-13)
    assert with_norms(flow, "post") is flow
    free = with_norms(flow, "none")
    assert (free.space, free.mask) == (Euclidean(), flow.mask)
    weights = np.asarray(free.weights(0.0, x))
    by_hand = weights[0] @ x @ _random("U", 1, 3, 3)[0].T / 3**0.5
    np.testing.assert_allclose(free.vector_field(0.0, x), by_hand, atol=1e-12)


def test_a_normalisation_that_does_not_fit_is_refused_in_a_sentence():
    flow = TokenFlow(np.eye(2))
    with pytest.raises(ValueError, match="`placement` must be one of pre, post, peri, none, but is 'before'"):
        with_norms(flow, "before")
    with pytest.raises(
        ValueError, match="`attention` must be a flow on the sphere or an ellipsoid, .*, but is on Eucl"
    ):
        with_norms(with_norms(flow, "none"), "pre")
    with pytest.raises(ValueError, match="`flow` must be a `TokenFlow`"):
        with_norms(with_norms(flow, "pre"), "none")
