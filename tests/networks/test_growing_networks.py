"""The classifier with growing heads: its formulas, growth and pruning between steps, training, and refusals."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dynsim.keys import random_key
from dynsim.networks.growing.classifier import draw_classifier
from dynsim.networks.growing.growth import (
    directional_energies,
    grown,
    residual,
    revised,
    sample,
    with_random_head,
)
from dynsim.networks.growing.layer import draw_layer
from dynsim.networks.growing.training import growing_optimiser, logits, sentence_loss
from dynsim.networks.sentiment.reviews import Encoded
from dynsim.networks.training import train
from dynsim.systems.growing.residual import antisymmetric_part, dominant_plane, dominant_value
from dynsim.systems.growing.rules import GrowthRules
from dynsim.systems.prototypes.assignments import competitive_loss
from dynsim.systems.prototypes.losses import PrototypeLoss
from tests.support.draws import check_normal

KEY = random_key(0, "growing networks")
D, LENGTH, WORDS, HEADS = 6, 5, 12, 3
IDS = jnp.array([[3, 4, 0, 0, 0], [1, 2, 5, 7, 9], [11, 0, 0, 0, 0], [8, 8, 6, 0, 0]])
LABELS = jnp.array([0, 1, 1, 0])
RULES = GrowthRules(0.1, 0.05, capacity=HEADS, prototypes=4, dwell=1, first="random")


def classifier(dropout: float = 0.0):
    ours, theirs = jax.random.split(KEY)
    layer = draw_layer(ours, D, prototypes=4, capacity=HEADS, dtype=float)
    return draw_classifier(theirs, layer, words=WORDS, length=LENGTH, heads=2, dropout=dropout, scale=1.0, dtype=float)


def batches(step, key):
    return Encoded(IDS, LABELS)


@pytest.fixture(scope="module")
def two_heads():
    model = classifier()
    model = with_random_head(model, RULES, sample(model, IDS), KEY)
    return grown(model, RULES, sample(model, IDS), 1)


@pytest.mark.usefixtures("short_draws")
def test_all_parts_of_a_classifier_begin_with_numbers_of_their_own_and_the_variances_that_are_said():
    d = 16
    layer = draw_layer(KEY, d, prototypes=8, capacity=3, temperature=0.7, dtype=float)
    model = draw_classifier(random_key(1, "all"), layer, words=30, length=20, heads=4, scale=0.3, dtype=float)
    attention, inputs = model.attention, d**-0.5
    matrices = (attention.query, attention.key, attention.value, attention.output, layer.output)
    check_normal([
        (layer.prototypes, 1.0), (model.embedding, 0.3), (model.positions, 0.3), (model.weight, inputs),
        *((matrix, inputs) for matrix in matrices),
    ])  # fmt: skip
    assert np.all(np.asarray(layer.temperatures) == 0.7)
    assert not np.any(np.asarray(layer.growth.active))


@pytest.mark.slow
def test_the_layer_adds_the_soft_centroids_of_its_active_heads(two_heads):
    layer = two_heads.layer
    z = jax.random.normal(KEY, (LENGTH, D))
    expected = np.zeros((LENGTH, D))
    for h in (0, 1):
        p, T = layer.prototypes[h], float(layer.temperatures[h])
        d = np.sum((np.asarray(z)[:, None] - np.asarray(p)[None]) ** 2, axis=-1)
        q = np.exp(-d / T) / np.exp(-d / T).sum(axis=1, keepdims=True)
        expected += q @ np.asarray(p) @ np.asarray(layer.output[h]).T
    np.testing.assert_allclose(layer(z), expected, atol=1e-12)


@pytest.mark.slow
def test_the_losses_of_all_tokens_are_means_of_the_losses_that_ship(two_heads):
    layer, z = two_heads.layer, jax.random.normal(KEY, (LENGTH, D))
    rule = PrototypeLoss(barrier=0.05)
    losses = eqx.filter_jit(type(layer).losses)
    found = losses(layer, z, jnp.ones(LENGTH, bool), rule)
    for h in (0, 1):
        whole = competitive_loss(z, layer.prototypes[h], layer.temperatures[h])
        np.testing.assert_allclose(found.competitive[h], whole / LENGTH, rtol=1e-12)
        np.testing.assert_allclose(found.barrier[h], rule.penalty(layer.prototypes[h]), rtol=1e-12)
    assert (found.competitive[2], found.barrier[2]) == (0, 0)
    some = losses(layer, z, jnp.arange(LENGTH) < 2, rule)
    np.testing.assert_allclose(some.competitive, layer.losses(z[:2], jnp.ones(2, bool), rule).competitive, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("gradient", ["full", "frozen"])
def test_prototypes_learn_in_the_mode_of_the_loss(two_heads, gradient):
    layer, z, rule = two_heads.layer, jax.random.normal(KEY, (LENGTH, D)), PrototypeLoss(gradient)
    total = lambda one: jnp.sum(one.losses(z, jnp.ones(LENGTH, bool), rule).competitive)
    found = eqx.filter_jit(eqx.filter_grad(total))(layer).prototypes[1]
    ours = PrototypeLoss(gradient, reduction="mean").gradients(z, layer.prototypes[1], layer.temperatures[1])[1]
    np.testing.assert_allclose(found, ours, atol=1e-12)


def test_a_temperature_below_the_least_one_stays_there(two_heads):
    layer = eqx.tree_at(lambda one: one.temperatures, two_heads.layer, jnp.array([0.5, 0.02, 1.0]))
    assert np.array_equal(layer.clipped, [0.5, 0.1, 1.0])
    z = jax.random.normal(KEY, (LENGTH, D))
    total = lambda one: jnp.sum(one.losses(z, jnp.ones(LENGTH, bool), PrototypeLoss()).competitive)
    slope = eqx.filter_jit(eqx.filter_grad(total))(layer).temperatures
    assert slope[0] > 0
    assert slope[1] == 0
    assert slope[2] == 0  # an empty place


def test_the_answer_leaves_prototypes_and_growth_alone(two_heads):
    found = eqx.filter_jit(eqx.filter_grad(lambda model: model(IDS[1]).logit))(two_heads)
    still = (found.layer.prototypes, found.layer.temperatures, found.layer.growth.frames)
    assert all(np.all(np.asarray(leaf) == 0) for leaf in still)
    assert np.any(np.asarray(found.layer.output[1]) != 0)
    assert np.all(np.asarray(found.layer.output[2]) == 0)
    assert np.any(np.asarray(found.attention.query) != 0)


def test_padding_changes_no_answer(two_heads):
    answer = eqx.filter_jit(lambda model, ids: model(ids))
    read = answer(two_heads, IDS[0])
    weights = two_heads.attention.weights(read.inputs, read.counted)
    np.testing.assert_allclose(np.sum(weights, axis=-1), 1.0)
    assert np.all(np.asarray(weights)[:, :, 2:] == 0)
    other = eqx.tree_at(lambda model: model.embedding, two_heads, two_heads.embedding.at[0].add(3.0))
    np.testing.assert_allclose(answer(other, IDS[0]).logit, read.logit, atol=1e-12)
    assert np.isfinite(answer(two_heads, jnp.zeros(LENGTH, int)).logit)


def test_the_attention_product_is_that_of_the_scores(two_heads):
    attention, x = two_heads.attention, jax.random.normal(KEY, (LENGTH, D))
    q, k = (jnp.einsum("hmd,nd->nhm", matrix, x).reshape(LENGTH, -1) for matrix in (attention.query, attention.key))
    np.testing.assert_allclose(x @ attention.interaction @ x.T, q @ k.T, atol=1e-12)


def by_formulas(model, ids):
    """Return logit and embeddings z of a sentence whose words come first, in NumPy."""
    one = jax.tree.map(np.asarray, model)
    count, softmax = int(np.sum(ids > 0)), lambda s: np.exp(s) / np.exp(s).sum(axis=-1, keepdims=True)
    normed = lambda x, norm: (x - x.mean(1)[:, None]) / np.sqrt(x.var(1)[:, None] + 1e-5) * norm.gain + norm.bias
    x = one.embedding[ids[:count]] + one.positions[:count]
    inputs = normed(x, one.attention_norm)
    for query, key, value, out in zip(*jax.tree.leaves(one.attention), strict=True):
        x = x + softmax(inputs @ query.T @ key @ inputs.T / np.sqrt(len(query))) @ inputs @ value.T @ out.T
    z = normed(x, one.layer_norm)
    for h in np.flatnonzero(one.layer.growth.active):
        p = one.layer.prototypes[h]
        q = softmax(-np.sum((z[:, None] - p) ** 2, axis=-1) / one.layer.temperatures[h])
        x = x + q @ p @ one.layer.output[h].T
    return x.mean(axis=0) @ one.weight + one.bias, z


def test_logit_and_loss_are_those_of_the_formulas(two_heads):
    rng = np.random.default_rng(0)
    parts = lambda m: (*jax.tree.leaves((m.attention_norm, m.layer_norm)), m.bias, m.layer.temperatures)
    values = [*rng.normal(size=(4, D)), np.asarray(0.37), np.array([0.8, 1.7, 1.0])]
    model = eqx.tree_at(parts, two_heads, [jnp.asarray(value) for value in values])
    losses = [sentence_loss(0.3, 0.7, "full", 1.9), sentence_loss()]
    barrier = lambda m: sum(PrototypeLoss(barrier=1.0).penalty(p) for p in m.layer.prototypes[:2])
    run = lambda m: (m(IDS[0]).logit, [loss(m, Encoded(IDS, LABELS), KEY) for loss in losses], barrier(m))
    logit, found, penalty = eqx.filter_jit(run)(model)
    readings = [by_formulas(model, np.asarray(ids)) for ids in IDS]
    np.testing.assert_allclose(logit, readings[0][0], rtol=1e-10)
    entropy = np.mean(
        [np.log1p(np.exp(y if label == 0 else -y)) for (y, _), label in zip(readings, LABELS, strict=True)]
    )
    competitive = 0.0
    for p, T in zip(*(np.asarray(part)[:2] for part in (model.layer.prototypes, values[-1])), strict=True):
        for _, z in readings:
            d = np.sum((z[:, None] - p) ** 2, axis=-1)
            q = np.exp(-d / T) / np.exp(-d / T).sum(axis=1, keepdims=True)
            competitive += np.sum(q * d) / len(z) / len(readings)
    expected = [1.9 * entropy + 0.7 * competitive + 0.3 * penalty, entropy + competitive + 0.05 * penalty]
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_dropout_acts_with_a_key_alone_and_keeps_the_mean():
    model = classifier(dropout=0.4)
    called = eqx.filter_jit(model)
    assert called(IDS[1], KEY).logit != called(IDS[1]).logit
    dropped = np.asarray(eqx.filter_jit(model._dropped)(jnp.ones((200, 200)), KEY))
    assert set(np.unique(dropped)) == {0.0, 1 / 0.6}
    assert abs(dropped.mean() - 1) < 0.02  # 40,000 numbers of deviation 0.8


def test_a_head_is_born_along_the_dominant_direction_which_is_then_captured(two_heads):
    model = with_random_head(classifier(), RULES, sample(classifier(), IDS), KEY)
    tokens = sample(model, IDS)
    a = residual(model, tokens.inputs, "features")
    np.testing.assert_allclose(a, antisymmetric_part(model.attention.interaction), atol=1e-12)
    u, growth = dominant_plane(a)[0], two_heads.layer.growth
    np.testing.assert_allclose(growth.frames[1], [u, np.zeros(D)], atol=1e-12)
    assert np.array_equal(growth.active, [1, 1, 0])
    assert np.array_equal(growth.births, [0, 1, 0])
    np.testing.assert_allclose(growth.values, [0, dominant_value(a), 0])
    np.testing.assert_allclose(growth.last, dominant_value(a))
    centre = tokens.embeddings.mean(axis=0)
    np.testing.assert_allclose(two_heads.layer.prototypes[1], centre + np.outer([-1, -1 / 3, 1 / 3, 1], u), atol=1e-12)
    left = residual(two_heads, tokens.inputs, "features")
    np.testing.assert_allclose(left @ u, 0, atol=1e-12)
    np.testing.assert_allclose(dominant_value(left), np.linalg.svd(a)[1][2], rtol=1e-9)  # the plane has gone
    assert not np.allclose(residual(two_heads, tokens.inputs, "data"), left)


def test_growth_stops_at_the_threshold_at_the_capacity_and_in_disorder(two_heads):
    tokens = sample(two_heads, IDS)
    value = dominant_value(residual(two_heads, tokens.inputs, "features"))
    count = lambda model: int(jnp.sum(model.layer.growth.active))
    rules = lambda threshold, **more: GrowthRules(threshold, capacity=HEADS, prototypes=4, dwell=5, **more)
    assert count(revised(two_heads, rules(0.99 * value), tokens, 6)) == 3
    assert count(revised(two_heads, rules(0.99 * value), tokens, 5)) == 2  # the dwell time is not over
    assert count(revised(two_heads, rules(1.01 * value), tokens, 6)) == 2
    full = revised(two_heads, rules(1e-9), tokens, 6)
    assert count(revised(full, rules(1e-9), tokens, 12)) == 3
    low = eqx.tree_at(lambda m: m.layer.growth.last, two_heads, jnp.asarray(0.99 * value))
    assert count(revised(low, rules(0.5 * value, ordered=True), tokens, 6)) == 2
    assert count(revised(low, rules(0.5 * value), tokens, 6)) == 3


def test_a_collapsed_head_is_removed_and_its_direction_stays_captured(two_heads):
    tokens, u = sample(two_heads, IDS), two_heads.layer.growth.frames[1, 0]
    close = two_heads.layer.prototypes.at[1, 1].set(two_heads.layer.prototypes[1, 0] + 0.1 * jnp.eye(D)[0])
    model = eqx.tree_at(lambda m: m.layer.prototypes, two_heads, close)
    rules = GrowthRules(1e3, 0.05, capacity=HEADS, prototypes=4)
    after = revised(model, rules, tokens, 9)
    assert np.array_equal(after.layer.growth.active, [1, 0, 0])
    np.testing.assert_allclose(residual(after, tokens.inputs, "features") @ u, 0, atol=1e-12)
    assert after.layer.growth.event == 9
    assert np.array_equal(revised(model, GrowthRules(1e3, 0.005), tokens, 9).layer.growth.active, [1, 1, 0])
    released = revised(model, GrowthRules(1e3, 0.05, release="release"), tokens, 9)
    assert not np.allclose(residual(released, tokens.inputs, "features") @ u, 0)
    next_one = grown(after, RULES, tokens, 10).layer.growth
    assert np.array_equal(next_one.active, [1, 0, 1])  # a place that never had a head comes first
    np.testing.assert_allclose(next_one.frames[2, 0] @ u, 0, atol=1e-9)
    energies = directional_energies(two_heads)
    m = antisymmetric_part(two_heads.attention.interaction)
    np.testing.assert_allclose(energies[1], np.linalg.norm(m @ u) / np.linalg.norm(m))
    assert np.isinf(energies[[0, 2]]).all()
    weaker = [GrowthRules(1e3, share * float(energies[1]), prune_by="direction") for share in (1.01, 0.99)]
    assert [revised(two_heads, one, tokens, 9).layer.growth.active.tolist() for one in weaker] == [[1, 0, 0], [1, 1, 0]]


@pytest.mark.slow
def test_training_grows_heads_and_a_resumed_run_has_the_same_bits(tmp_path):
    model = classifier(dropout=0.2)
    model = with_random_head(model, RULES, sample(model, IDS), KEY)
    options = {
        "every": 5,
        "optimiser": growing_optimiser(20, 1e-2),
        "revise": lambda done, one: revised(one, RULES, sample(one, IDS), done),
    }
    run = lambda folder, steps: train(model, sentence_loss(), batches, KEY, num_steps=steps, folder=folder, **options)
    whole = run(tmp_path / "whole", 20)
    growth = whole.model.layer.growth
    assert np.array_equal(growth.active, [1, 1, 1])
    assert np.array_equal(growth.births, [0, 5, 10])
    assert np.all(np.asarray(whole.model.layer.temperatures[1:]) < 1)
    run(tmp_path / "parts", 10)
    run(tmp_path / "parts", 20)
    files = [(tmp_path / name / "checkpoint.npz").read_bytes() for name in ("whole", "parts")]
    assert files[0] == files[1]
    values = logits(whole.model, np.asarray(IDS))
    np.testing.assert_allclose(values[1], whole.model(IDS[1]).logit, rtol=1e-5)


@pytest.mark.parametrize("encoder", [True, False])
def test_a_frozen_encoder_stays_and_growth_is_never_trained(two_heads, encoder):
    rule, by_default = growing_optimiser(4, 1e-2, temperature_rate=0.5, encoder=encoder), growing_optimiser(4)
    weights = eqx.filter(two_heads, eqx.is_inexact_array)
    ones = jax.tree.map(np.ones_like, weights)

    def steps(found):
        first, state = rule.update(found, rule.init(weights), weights)
        return (
            first,
            rule.update(found, state, weights)[0],
            by_default.update(found, by_default.init(weights), weights)[0],
        )

    with jax.numpy_dtype_promotion("standard"):
        change, second, own = jax.jit(steps)(ones)
    moved = lambda leaf: bool(np.any(np.asarray(leaf) != 0))
    rest = (change.embedding, change.attention.query, change.layer.output, change.layer_norm.gain, change.bias)
    assert {moved(leaf) for leaf in rest} == {encoder}
    assert not any(moved(leaf) for leaf in jax.tree.leaves(change.layer.growth))
    assert np.all(np.asarray(change.layer.temperatures) == -0.5)  # plain gradient descent
    decay = 1e-2 * (1 + 1e-3 * two_heads.layer.prototypes)
    np.testing.assert_allclose(change.layer.prototypes, -decay, rtol=1e-6)  # the first step of AdamW
    cosine = (1 + np.cos(np.pi / 4)) / 2
    np.testing.assert_allclose(second.layer.prototypes, -cosine * decay, rtol=1e-6)  # the same gradient again
    np.testing.assert_allclose(own.layer.prototypes, -0.03 * decay, rtol=1e-6)
    assert np.all(np.asarray(own.layer.temperatures) == -0.01)
    assert moved(own.embedding)


@pytest.mark.parametrize(("call", "sentence"), [
    (lambda: draw_layer(KEY, 4, prototypes=1, capacity=2), "`prototypes` must be .*at least 2"),
    (lambda: draw_classifier(KEY, classifier().layer, words=5, length=3, heads=4), "`heads` must divide 6"),
    (lambda: draw_classifier(KEY, classifier().layer, words=5, length=3, dropout=1.0), r"`dropout` must be in"),
    (lambda: sentence_loss(-1.0), "must not be negative"),
    (lambda: growing_optimiser(10, 0.0), "`learning_rate` must be positive"),
    (lambda: logits(classifier(), np.zeros((0, LENGTH), int)), "`ids` must hold at least one sentence"),
])  # fmt: skip
def test_bad_numbers_are_one_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
