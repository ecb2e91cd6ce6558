"""The multirate network: pooling, the forward pass in NumPy, causality to the bit, gates, approximations, costs."""

import functools
import inspect
import math
from dataclasses import replace
from types import SimpleNamespace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.claims.multirate.instances.networks import SMALL, network
from analysis.claims.multirate.instances.numpy_forward_pass import logits
from analysis.networks import leaks
from analysis.networks.leaks import affected_positions, leak_matrix, worst_leak
from dynsim.keys import random_key
from dynsim.networks.multirate.config import MultirateConfig, dense, layer_equivalent_cost
from dynsim.networks.multirate.equilibrium import Anderson, FixedPointIteration
from dynsim.networks.multirate.flops import layer_equivalents, matmul_flops
from dynsim.networks.multirate.layers import draw_layer
from dynsim.networks.multirate.network import Round, draw_multirate, frozen, num_parameters, with_gates
from dynsim.networks.multirate.pooling import causal_pool, causal_upsample, leaking_upsample
from dynsim.systems.tokens.interactions.masks import Causal
from tests.support.draws import check_normal

KEY = random_key(0, "multirate")
IDS = np.array([9, 0, 7, 8, 0, 10, 6, 3, 6, 0])  # two blocks and a tail of two


def drawn(config=SMALL, *, gate=0.7, dtype=jnp.float64):
    """Return a network whose biases, gains and gates are not those of the start, so that each one is seen."""
    model = network(KEY, config, gate=gate)
    return jax.tree.map(lambda leaf: leaf.astype(dtype) if eqx.is_inexact_array(leaf) else leaf, model)


@functools.cache
def gated():
    return drawn()


@functools.cache
def single():
    return drawn(dtype=jnp.float32)


@functools.cache
def full_mask():
    return drawn(replace(SMALL, slow_mask="full"))


SCORES = leaks._scores  # compiled, as `affected_positions` calls it


@eqx.filter_jit
def slope(model):
    """Return the derivative of the first logit of the last position by the gate of a network of one round."""
    gate = model.rounds[0].gate
    logit = lambda gate: eqx.tree_at(lambda m: m.rounds[0].gate, model, gate)(IDS)[-1, 0]
    return jax.jvp(logit, (gate,), (jnp.ones_like(gate),))[1]


@pytest.mark.parametrize("change", [
    {},
    pytest.param({"slow_mask": "full"}, marks=pytest.mark.slow),
    {"rounds": 2},
    pytest.param({"rounds": 2, "shared_rounds": True}, marks=pytest.mark.slow),
], ids=["as in the proof", "full", "two rounds", "shared rounds"])  # fmt: skip
def test_the_network_is_the_one_written_again_in_numpy(change):
    model = drawn(replace(SMALL, **change))
    written = logits(model, IDS)
    assert np.max(np.abs(np.asarray(SCORES(model, IDS)) - written)) < 1e-12
    assert np.ptp(written) > 0.1


@pytest.mark.usefixtures("short_draws")
def test_the_matrices_of_a_layer_begin_with_the_variances_that_are_said():
    """Entries of variance 1 / inputs; those that add to the tokens, of 1 / (2 depth inputs)."""
    layer = draw_layer(KEY, 24, heads=2, key_heads=2, hidden=48, mask=Causal(), depth=8, rotary_base=1e4,
                       dtype=jnp.float64)  # fmt: skip
    attention, mlp = layer.attention, layer.feedforward
    for matrix, inputs in (
        (attention.query, 24), (attention.key, 24), (attention.value, 24), (attention.output, 24 * 2 * 8),
        (mlp.inner, 24), (mlp.outer, 48 * 2 * 8),
    ):  # fmt: skip
        assert np.std(np.asarray(matrix)) * math.sqrt(inputs) == pytest.approx(1.0, abs=0.15)


@pytest.mark.usefixtures("short_draws")
@pytest.mark.parametrize("projector", ["linear", "learned"])
def test_all_parts_of_a_network_begin_with_numbers_of_their_own(projector):
    """The layers before, slow and after of every round, the projectors, and both tables of symbols."""
    config = replace(SMALL, layers_before=2, rounds=2, layers_after=2, slow_layers=2, projector=projector, tied=False)
    model, d = draw_multirate(KEY, config, dtype=jnp.float64), config.width
    parts = [(model.token_embedding, 0.02), (model.unembedding, 0.02)]
    layers = list(model.before)
    for one in model.rounds:
        layers += [*one.slow, *one.after]
        ways = [(one.projector.matrix, d)] if projector == "linear" else [
            (one.projector.inner, d), (one.projector.outer, config.projector_hidden)
        ]  # fmt: skip
        parts += [(matrix, inputs**-0.5) for matrix, inputs in ways]
    additions = 2 * config.depth
    for layer in layers:
        a, mlp = layer.attention, layer.feedforward
        parts += [(matrix, d**-0.5) for matrix in (a.query, a.key, a.value, mlp.inner)]
        parts += [(a.output, (d * additions) ** -0.5), (mlp.outer, (config.hidden * additions) ** -0.5)]
    assert len(layers) == 2 + 2 * (2 + 2)
    check_normal(parts)


def test_the_depth_counts_the_layers_of_every_round_and_pass():
    config = replace(SMALL, layers_before=2, rounds=3, layers_after=4, slow_layers=5)
    assert [replace(config, passes=passes).depth for passes in (1, 2)] == [2 + 3 * 4, 2 + 3 * 2 * 4]


@given(n=st.integers(1, 40), block=st.integers(1, 12))
@settings(max_examples=5, deadline=None)
def test_blocks_are_means_over_the_tokens_that_they_have(n, block):
    x = np.arange(2.0 * n).reshape(n, 2) ** 2
    pool = jax.jit(lambda x: causal_pool(x, block=block))
    y = np.asarray(pool(x))
    means = [x[first : first + block].mean(axis=0) for first in range(0, n, block)]
    np.testing.assert_allclose(y, np.stack(means), rtol=1e-15)
    for upsample, shift in ((causal_upsample, 1), (leaking_upsample, 0)):
        c = np.asarray(jax.jit(lambda y, upsample=upsample: upsample(y, n, block=block))(y))
        for i in range(n):
            k = i // block - shift
            np.testing.assert_array_equal(c[i], np.zeros(2) if k < 0 else y[k])


def test_a_token_in_the_first_block_has_no_context_and_a_short_sequence_has_none_at_all():
    forcing = eqx.filter_jit(Round.forcing)(gated().rounds[0], gated().embed(IDS))
    assert not np.any(forcing[:4])
    assert np.all(np.any(np.asarray(forcing[4:]) != 0, axis=1))
    np.testing.assert_array_equal(SCORES(gated(), IDS[:3]), SCORES(frozen(gated()), IDS[:3]))
    assert jax.eval_shape(gated().rounds[0].slow_state, gated().embed(IDS[:3])).shape == (1, 16)


@settings(max_examples=25, deadline=None)
@given(position=st.integers(0, 9), shift=st.integers(1, 10), gate=st.sampled_from([0.0, 0.7, 1.0, 30.0]))
def test_no_logit_before_a_changed_symbol_changes_in_any_bit(position, shift, gate):
    for model in (gated(), single()):
        changed = affected_positions(with_gates(model, gate), IDS, position, int((IDS[position] + shift) % 11))
        assert not np.any(changed[:position])
        assert changed[position]


@pytest.mark.slow
def test_the_full_slow_mask_reads_the_future_beyond_the_first_block():
    matrix = np.asarray(leak_matrix(full_mask(), IDS))
    assert not np.any(np.triu(matrix, 1)[:4])
    assert np.all(matrix[4:] > 0)
    changed = affected_positions(full_mask(), IDS, 9, int((IDS[9] + 1) % 11))
    np.testing.assert_array_equal(changed, np.arange(10) >= 4)
    assert float(worst_leak(leak_matrix(with_gates(full_mask(), 0.0), IDS))) == 0


@pytest.mark.slow
def test_the_leak_matrix_is_the_jacobian_and_exactly_lower_triangular():
    matrix = np.asarray(leak_matrix(gated(), IDS))
    whole = eqx.filter_jit(jax.jacrev(lambda x: gated().logits(gated().apply_layers(x))))(gated().embed(IDS))
    np.testing.assert_allclose(matrix, np.max(np.abs(whole), axis=(1, 3)), rtol=1e-10, atol=1e-14)
    assert not np.any(np.triu(matrix, 1))
    assert float(worst_leak(jnp.asarray(matrix))) == 0
    assert np.all(np.diag(matrix) > 0)


def test_a_leak_is_the_largest_slope_of_a_logit_in_a_component():
    """For logits W x R the slopes are W_ij R_kl; no network is compiled."""
    W, R = np.array([[2, 0, -1], [0.5, 1, 0], [-3, 0.25, 4]]), np.array([[1, -2, 0.5], [0, 1.5, 1]])
    model = SimpleNamespace(apply_layers=lambda x: W @ x, logits=lambda y: y @ R)
    matrix = inspect.unwrap(leaks._leaks)(model, jnp.ones((3, 2)))
    np.testing.assert_allclose(matrix, 2 * np.abs(W))
    assert float(worst_leak(matrix)) == 2.0


def test_reading_the_own_block_would_leak():
    slopes = lambda upsample: jax.jit(jax.jacobian(lambda x: upsample(causal_pool(x, block=4), 10, block=4)))
    causal, leaking = (slopes(one)(gated().embed(IDS)) for one in (causal_upsample, leaking_upsample))
    feels = lambda J: np.max(np.abs(J), axis=(1, 3))
    assert not np.any(np.triu(feels(causal), 1))
    assert feels(leaking)[4, 7] == 0.25


def test_a_gate_at_zero_is_the_frozen_network_to_the_bit_and_its_gradient_is_not_zero():
    closed = with_gates(gated(), 0.0)
    np.testing.assert_array_equal(SCORES(closed, IDS), SCORES(frozen(gated()), IDS))
    assert np.any(np.asarray(SCORES(gated(), IDS)) != np.asarray(SCORES(closed, IDS)))
    assert abs(float(slope(closed))) > 1e-6
    assert float(slope(frozen(gated()))) == 0
    step = 1e-6
    moved = [float(SCORES(with_gates(gated(), gate), IDS)[-1, 0]) for gate in (step, -step)]
    assert abs((moved[0] - moved[1]) / (2 * step) - float(slope(closed))) < 1e-8  # central difference


def counted(config):
    """Return how many numbers a network has, without drawing them."""
    leaves = jax.tree.leaves(eqx.filter_eval_shape(draw_multirate, KEY, config))
    return sum(math.prod(leaf.shape) for leaf in leaves if leaf.dtype == jnp.float32)


@pytest.mark.slow
def test_a_network_starts_with_closed_gates_and_a_nearly_uniform_guess():
    model = draw_multirate(KEY, SMALL)
    assert np.all(model.gates == 0)
    assert np.max(np.abs(jax.nn.log_softmax(SCORES(model, IDS)) + math.log(11))) < 0.5
    assert num_parameters(model) == counted(SMALL)


def test_the_networks_of_the_paper_have_the_printed_number_of_parameters():
    assert counted(MultirateConfig()) == 775_681  # printed: 0.78M
    layer = 128 * (2 * 128 + 2 * 64 + 2 * 512) + (2 * 128 + 2 * 64) + (512 + 128) + 2 * 128 + 2 * 32
    assert counted(MultirateConfig()) == 4 * layer + 128 * 256 + 128 + 128**2 + 128 + 1
    assert counted(dense(MultirateConfig(), 4)) == 4 * layer + 128 * 256 + 128
    assert counted(replace(SMALL, tied=False)) - counted(SMALL) == 11 * 16
    assert counted(replace(SMALL, rounds=3, shared_rounds=True)) == counted(SMALL)


def test_passes_apply_the_layers_with_the_same_context():
    thrice = replace(gated().rounds[0], method=FixedPointIteration(3))
    model, x = replace(gated(), rounds=(thrice,)), gated().embed(IDS)
    forcing, (after, residual), whole, parts = _of_a_round(model, x)
    once = lambda z: eqx.filter_jit(Round.fast_map)(gated().rounds[0], z, forcing)
    z = once(once(once(x)))
    np.testing.assert_allclose(after, z, rtol=1e-12)
    assert abs(float(residual) - float(jnp.mean((once(z) - z) ** 2))) < 1e-12
    np.testing.assert_allclose(whole, parts, rtol=1e-12)


@eqx.filter_jit
def _of_a_round(model, x):
    (r,) = model.rounds
    return r.forcing(x), r.with_residual(x), model.apply_layers(x), r.with_residual(model.before[0](x))[0]


@given(
    slopes=st.lists(st.floats(-3, 0.9), min_size=3, max_size=3),
    shifts=st.lists(st.floats(-5, 5), min_size=3, max_size=3),
)
@settings(max_examples=12, deadline=None)
def test_a_secant_finds_the_rest_of_an_affine_map_of_each_token(slopes, shifts):
    a, b = jnp.array(slopes)[:, None], jnp.outer(jnp.array(shifts), jnp.array([1.0, -2.0]))
    x = Anderson()(lambda x: a * x + b, jnp.ones((3, 2)))
    np.testing.assert_allclose(x, b / (1 - a), atol=1e-11)


@pytest.mark.slow
def test_a_secant_of_equal_residuals_is_a_plain_step_and_one_over_the_sequence_sees_the_future():
    np.testing.assert_array_equal(Anderson()(lambda x: x + 1, jnp.zeros((2, 2))), np.full((2, 2), 2.0))
    assert np.all(np.isfinite(jax.grad(lambda x: jnp.sum(Anderson()(lambda z: z + 1, x)))(jnp.zeros((2, 2)))))
    bent = lambda x: jnp.tanh(x) - 0.3 * x**2
    slope = lambda span: jax.jacobian(lambda x: Anderson(2, span)(bent, x)[0])(jnp.array([[0.3, 0.1], [0.5, -0.2]]))
    assert not np.any(slope("token")[:, 1])
    assert np.any(slope("sequence")[:, 1] != 0)


def test_a_rotation_takes_two_points_per_dimension_and_more_passes_come_nearer():
    angle = 0.5
    R = 0.9 * jnp.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    G = lambda x: x @ R.T + 1
    rest = jnp.linalg.solve(jnp.eye(2) - R, jnp.ones(2))
    far = [float(jnp.max(jnp.abs(Anderson(k)(G, jnp.zeros((1, 2))) - rest[None]))) for k in (2, 4, 8)]
    plain = float(jnp.max(jnp.abs(FixedPointIteration(8)(G, jnp.zeros((1, 2))) - rest[None])))
    assert far[0] > far[1] > far[2]
    assert far[2] < plain


@pytest.mark.parametrize("change", [
    pytest.param({"passes": 2}, marks=pytest.mark.slow),
    {"equilibrium": "anderson", "passes": 2},
    {"projector": "learned"},
], ids=str)  # fmt: skip
def test_every_approximation_is_causal_to_the_bit_and_starts_as_the_frozen_network(change):
    model = drawn(replace(SMALL, **change))
    changed = np.where(np.arange(10) == 6, (IDS + 1) % 11, IDS)
    np.testing.assert_array_equal(SCORES(model, changed)[:6], SCORES(model, IDS)[:6])
    assert np.all(np.asarray(SCORES(model, changed)[6:] != SCORES(model, IDS)[6:]).any(axis=1))
    np.testing.assert_array_equal(SCORES(with_gates(model, 0.0), IDS), SCORES(frozen(model), IDS))
    assert np.any(np.asarray(SCORES(model, IDS) != SCORES(frozen(model), IDS)))


def test_the_printed_cost_and_the_counted_one():
    assert layer_equivalent_cost(MultirateConfig()) == 1 + 2 + 1 / 64
    assert layer_equivalent_cost(replace(SMALL, rounds=3, slow_layers=2, passes=2)) == 1 + 3 * (2 + 2 / 16)
    assert dense(MultirateConfig()) == MultirateConfig(layers_before=3, rounds=0)
    n, d, F, h, k, m = 12, 16, 24, 4, 2, 4
    layer = lambda n: 2 * n * d * m * (2 * h + 2 * k) + 4 * h * m * n**2 + 4 * n * d * F
    model = single()
    assert matmul_flops(model.before[0], jnp.zeros((n, d), jnp.float32)) == layer(n)
    whole = 2 * layer(n) + layer(3) + 2 * n * d * d
    assert layer_equivalents(model, n) == whole / layer(n)
    assert matmul_flops(model, IDS) == layer(10) * 2 + layer(3) + 2 * 10 * d * (d + 11)
    assert layer_equivalents(draw_multirate(KEY, dense(SMALL, 5)), n) == 5
    twice = drawn(replace(SMALL, passes=2), dtype=jnp.float32)
    assert layer_equivalents(twice, n) == (whole + layer(n)) / layer(n)


@pytest.mark.parametrize(("change", "sentence"), [
    ({"block": 0}, "`block` must be at least 1, but is 0"),
    ({"rounds": -1}, "`rounds` must be at least 0, but is -1"),
    ({"layers_before": 0, "rounds": 0}, "must leave at least one layer on the tokens, but leaves none"),
    ({"width": 18}, "`width` must be a multiple of 8, twice the number of heads, for the rotary embedding, but is 18"),
    ({"key_heads": 3}, "`key_heads` must divide 4, the query heads, but is 3"),
    ({"passes": 0}, "`passes` must be at least 1 for `passes`, but is 0"),
    ({"equilibrium": "anderson"}, "`passes` must be at least 2 for `anderson`, but is 1"),
    ({"slow_mask": "half"}, "`slow_mask` must be causal or full, but is `half`"),
    ({"projector": "none"}, "`projector` must be linear or learned, but is `none`"),
])  # fmt: skip
def test_numbers_that_make_no_network_are_refused(change, sentence):
    with pytest.raises(ValueError, match=sentence):
        replace(SMALL, **change)


def test_bad_sequences_are_refused_in_one_sentence():
    x = jnp.zeros((10, 2))
    for call, sentence in (
        (lambda: gated()([]), r"`ids` must be one sequence of at least one symbol, but has shape \(0,\)"),
        (lambda: gated()(IDS[None]), r"has shape \(1, 10\)"),
        (lambda: gated()([1, 11]), "`ids` must lie between 0 and 10, the numbers of the vocabulary, but holds 11"),
        (lambda: gated()([0.5]), "`ids` must be whole numbers"),
        (lambda: causal_pool(x, block=0), "`block` must be at least 1, but is 0"),
        (lambda: causal_pool(x[:0], block=4), "`n` must be at least 1, but is 0"),
        (
            lambda: causal_upsample(x[:2], 10, block=4),
            "`y` must have 3 rows, one for each block of 4 among 10 tokens, bu",
        ),
        (lambda: leaking_upsample(x[:4], 10, block=4), "among 10 tokens, but has 4"),
        (lambda: FixedPointIteration(0), "`passes` must be at least 1, but is 0"),
        (lambda: Anderson(1), "`passes` must be at least 2 for a secant, but is 1"),
        (lambda: Anderson(2, "all"), "`span` must be token or sequence, but is `all`"),
        (lambda: dense(SMALL, 0), "`layers` must be at least 1, but is 0"),
        (lambda: layer_equivalents(gated(), 0), "`n` must be at least 1, but is 0"),
        (lambda: affected_positions(gated(), IDS, 10, 0), "`position` must lie between 0 and 9, but is 10"),
        (lambda: affected_positions(gated(), IDS, 0, 11), "`symbol` must lie between 0 and 10"),
        (lambda: affected_positions(gated(), IDS, 0, int(IDS[0])), "`symbol` must differ from the one at position 0"),
    ):
        with pytest.raises(ValueError, match=sentence):
            call()


def test_heads_that_cannot_be_shared_are_refused():
    layer = gated().before[0].attention
    shared = lambda a: (a.key, a.value, a.key_bias, a.value_bias)
    three = eqx.tree_at(shared, layer, [jnp.zeros((3, 4, 16))] * 2 + [jnp.zeros((3, 4))] * 2)
    with pytest.raises(ValueError, match="`key` must have a number of heads that divides 4, but has 3"):
        replace(three)
    sized = lambda a: (a.query, *shared(a), a.output, a.query_bias)
    shapes = [(4, 3, 16), (2, 3, 16), (2, 3, 16), (2, 3), (2, 3), (4, 16, 3), (4, 3)]
    odd = eqx.tree_at(sized, layer, [jnp.zeros(shape) for shape in shapes])
    with pytest.raises(
        ValueError, match="`query` must have heads of even size for the rotary embedding, but has heads of size 3"
    ):
        replace(odd)


def test_attention_gives_rows_that_sum_to_one():
    attention = full_mask().rounds[0].slow[0].attention
    weights = np.asarray(eqx.filter_jit(type(attention).weights)(attention, full_mask().embed(IDS)))
    assert weights.shape == (4, 10, 10)
    assert np.all(weights > 0)
    np.testing.assert_allclose(np.sum(weights, axis=2), 1, atol=1e-14)
