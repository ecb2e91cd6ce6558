"""Trained decoders against the activations and the text that came with them, and what a bad prompt is told."""

import itertools
import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Float

import dynsim
from dynsim._core.checked import check_fields
from dynsim.errors import ArgumentError
from dynsim.keys import random_key
from dynsim.networks.decoder.attention_flow import attention_flow, attention_schedules
from dynsim.networks.decoder.pretrained import load_transformer
from dynsim.networks.decoder.tokenizer import decode_letters, load_tokenizer
from dynsim.networks.decoder.transformer import (
    Attention,
    Block,
    GeluMLP,
    LayerNorm,
    RMSNorm,
    Transformer,
    TransformerMap,
)
from dynsim.spaces import Sphere
from dynsim.systems.tokens.interactions.masks import Causal
from tests import data_or_skip
from tests.support.gpt2_layout import HEADS, IDS, LAYERS, VOCABULARY, D, gpt2_states, gpt2_tensors, random


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    path = tmp_path_factory.mktemp("weights") / "small.npz"
    np.savez(path, **gpt2_tensors())
    return load_transformer(path, heads=HEADS)


def test_gpt_nano_gives_its_reference_activations():
    path = data_or_skip("gpt_nano_sort.npz")
    z, network = np.load(path), load_transformer(path)
    first = network.blocks[0]

    def seen(ids):
        x, states = network.embed(ids), network.states(network.embed(ids))
        return first.attention_weights(x), states, network.logits(states[-1])

    weights, states, logits = jax.jit(jax.vmap(seen))(z["ref_idx"].astype(int))
    np.testing.assert_allclose(weights, z["ref_attSm"], atol=1e-6)
    for i in range(3):
        np.testing.assert_allclose(states[:, i], z[f"ref_block{i}"], atol=5e-6)  # the exact GELU is off by 1e-4
    np.testing.assert_allclose(logits, z["ref_lm_head"], atol=1e-5)
    np.testing.assert_allclose(jax.nn.softmax(logits), z["ref_probs"], atol=1e-6)


@pytest.mark.slow
def test_gpt_nano_sorts():
    network = load_transformer(data_or_skip("gpt_nano_sort.npz"))
    words = np.array(list(itertools.product(range(3), repeat=6)))
    assert decode_letters(words[-2]) == "CCCCCB"
    sorted_words = jax.vmap(lambda word: network.greedy(word, 6))(words)
    np.testing.assert_array_equal(sorted_words[:, :6], words)
    np.testing.assert_array_equal(sorted_words[:, 6:], np.sort(words))


@pytest.mark.slow
def test_stories260k_tells_its_story_to_the_letter():
    path = data_or_skip("stories260k.npz")
    story = bytes(np.load(path)["greedy_sample"])
    tokenizer, network = load_tokenizer(path), load_transformer(path)
    ids = network.greedy([1], 256)
    assert ids.shape == (257,)
    assert tokenizer.decode_bytes(np.asarray(ids)) == story
    assert len(story) == 565
    np.testing.assert_array_equal(tokenizer.encode(story.decode()), ids)
    again = network.greedy(tokenizer.encode("Once upon a time"), 20)
    np.testing.assert_array_equal(again, ids[: again.size])


def test_an_unembedding_of_its_own_is_used(tmp_path, small):
    own = random("own", VOCABULARY, D)
    np.savez(tmp_path / "own.npz", **gpt2_tensors(), **{"lm_head.weight": own})
    np.testing.assert_array_equal(load_transformer(tmp_path / "own.npz", heads=HEADS).unembedding, own)
    np.testing.assert_array_equal(small.unembedding, small.token_embedding)


@eqx.filter_jit
def passed(network, x, passes, feedforward=True):
    """Return the state after any number of passes, an array, by one program."""
    return network.apply_layers(x, passes=passes, feedforward=feedforward)


layer_by_layer = eqx.filter_jit(Transformer.states)


@pytest.mark.slow
def test_two_passes_are_one_pass_twice(small):
    x, one = small.embed(IDS), np.asarray(1)
    once = passed(small, x, one)
    np.testing.assert_allclose(once, layer_by_layer(small, x)[-1], atol=1e-12)
    np.testing.assert_allclose(small.apply_layers(x, passes=2), passed(small, once, one), atol=1e-12)
    assert np.all(np.isfinite(passed(small, x, np.asarray(1000))))
    attention_only = passed(small, x, one, False)
    np.testing.assert_allclose(attention_only, layer_by_layer(small, x, feedforward=False)[-1], atol=1e-12)
    single = jax.eval_shape(small.apply_layers, x.astype(np.float32))
    assert single.dtype == np.float32


@pytest.mark.slow
@pytest.mark.parametrize("feedforward", [True, False])
def test_the_map_goes_through_the_layers_over_and_over(small, feedforward):
    x = small.embed(IDS)
    path = dynsim.iterate(TransformerMap(small, feedforward), x, 3 * LAYERS)
    states = layer_by_layer(small, x, feedforward=feedforward)
    np.testing.assert_allclose(path.ys[1 : LAYERS + 1], states, atol=1e-12)
    expected = passed(small, x, np.asarray(3), feedforward)
    np.testing.assert_allclose(path.final, expected, atol=1e-11)


def test_a_prompt_is_continued_by_the_likeliest_token(small):
    z, ids = gpt2_tensors(), list(IDS)
    for _ in range(5):
        ids.append(int(np.argmax(gpt2_states(z, np.array(ids))[1][-1])))
    assert small.greedy(IDS, 5).tolist() == ids
    x = passed(small, small.embed(IDS), np.asarray(4), False)
    twice = small.greedy(IDS, 1, passes=4, feedforward=False)
    assert int(twice[-1]) == int(jnp.argmax(small.logits(x)[-1]))


def test_rotation_turns_pairs_by_their_relative_position():
    W = [jnp.asarray(random(f"rotary {i}", 1, 4, 4)) for i in range(4)]
    turned, plain = Attention(*W, rotary_base=10000.0), Attention(*W)
    x = jnp.asarray(np.tile(random("token", 1, 4), (6, 1)))  # six times the same token: only position tells
    A = np.asarray(turned.weights(x)[0])
    np.testing.assert_allclose(A[5, 4] / A[5, 5], A[3, 2] / A[3, 3], rtol=1e-13)
    np.testing.assert_allclose(plain.weights(x)[0, 5], 1 / 6, atol=1e-14)
    q, k = (np.asarray(M)[0] @ np.asarray(x)[0] for M in W[:2])
    qz, kz = (v[0::2] + 1j * v[1::2] for v in (q, k))  # a pair of coordinates as a complex number
    scores = [np.real(qz * np.exp(1j * lag * np.array([1, 0.01])) @ np.conj(kz)) / 2 for lag in (1, 0)]
    np.testing.assert_allclose(A[5, 4] / A[5, 5], np.exp(scores[0] - scores[1]), rtol=1e-13)


def test_the_schedules_hold_the_scores_and_values_of_the_network(small):
    P, U = attention_schedules(small, duration=0.5)
    assert P.shape == (HEADS, D, D)
    assert P.values.shape == (LAYERS, HEADS, D, D)
    x = random("x", 5, D)
    for i, block in enumerate(small.blocks):
        a = block.attention
        q, k, v = (np.einsum("hmd,nd->hnm", W, x) for W in (a.query, a.key, a.value))
        scores = np.einsum("him,hjm->hij", q, k) / math.sqrt(D // HEADS)
        np.testing.assert_allclose(P.bilinear(0.5 * i, x, x), scores, atol=1e-13)
        values = np.einsum("hdm,hjm->hjd", a.output, v)
        np.testing.assert_allclose(np.einsum("hde,je->hjd", U(0.5 * i), x), values, atol=1e-13)


def test_attention_without_biases_is_the_attention_of_the_flow(small):
    x = Sphere().sample(random_key(1, "sphere"), (5, D))
    flow = attention_flow(small, scale=1.0)
    for i, block in enumerate(small.blocks):
        a = block.attention
        plain = Attention(a.query, a.key, a.value, a.output)
        np.testing.assert_allclose(flow.weights(float(i), x), plain.weights(x), atol=1e-13)
        np.testing.assert_allclose(flow.velocity(float(i), x), plain(x), atol=1e-13)


def test_the_flow_of_a_network_jumps_from_layer_to_layer(small):
    flow = attention_flow(small, duration=0.5)
    assert isinstance(flow.mask, Causal)
    assert type(flow.space) is type(Sphere())
    assert float(flow.scale) == 1 / math.sqrt(D)
    np.testing.assert_allclose(flow.breakpoints(0.0, 1.75), [0.5, 1.0, 1.5])
    np.testing.assert_array_equal(flow.query_key(1.1), flow.query_key(0.1))
    once = attention_flow(small, periodic=False)
    assert once.query_key.end() == once.value.end() == LAYERS
    np.testing.assert_allclose(once.breakpoints(0.0, 2.0), [1.0])
    with pytest.raises(ValueError, match="stay inside the schedule"):
        once.check_horizon(0.0, 2.5)


def with_output_norms(network):
    """The network with "peri" norms, those of outputs with gains and biases of their own."""
    around, z = network.with_norms("peri"), gpt2_tensors(output_norms=True)
    parts = ("attention_output_norm", "feedforward_output_norm")
    names = [f"h.{i}.out_{j}" for i in range(LAYERS) for j in (1, 2)]
    norms = [LayerNorm(jnp.asarray(z[f"{name}.weight"]), jnp.asarray(z[f"{name}.bias"])) for name in names]
    return eqx.tree_at(lambda n: [getattr(b, part) for b in n.blocks for part in parts], around, norms)


@pytest.mark.parametrize("placement", ["post", "peri", "none"])
def test_norms_before_after_and_around_the_parts_are_the_published_formulas(small, placement):
    network = with_output_norms(small) if placement == "peri" else small.with_norms(placement)
    states, scores = gpt2_states(gpt2_tensors(output_norms=True), IDS, placement=placement)
    x = network.embed(IDS)
    found = network.states(x)
    np.testing.assert_allclose(found, states[1:], rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(network.logits(found[-1]), scores, rtol=1e-11, atol=1e-11)
    weights = network.blocks[0].attention_weights(x)
    seen = small.blocks[0].attention_norm(x) if placement == "peri" else x
    np.testing.assert_array_equal(weights, small.blocks[0].attention.weights(seen))


def test_norms_that_move_keep_their_gains_and_new_ones_are_plain(small):
    around = small.with_norms("peri")
    assert around.blocks[1].attention_norm is small.blocks[1].attention_norm
    assert around.final_norm is small.final_norm
    assert around.blocks[0].placement == "peri"
    new: Any = around.blocks[0].feedforward_output_norm
    np.testing.assert_array_equal(new.gain, np.ones(D))
    np.testing.assert_array_equal(new.bias, np.zeros(D))
    after = around.with_norms("post")
    assert after.final_norm is None
    assert after.blocks[0].feedforward_output_norm is None
    assert after.blocks[0].feedforward_norm is small.blocks[0].feedforward_norm
    final: Any = after.with_norms("pre").final_norm
    np.testing.assert_array_equal(final.gain, np.ones(D))
    gain = jnp.arange(1.0, D + 1)
    entry = eqx.tree_at(lambda n: n.embedding_norm, around, RMSNorm(gain), is_leaf=lambda one: one is None)
    x = np.asarray(small.embed(IDS))
    size = np.sqrt(np.mean(x**2, axis=1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(entry.embed(IDS), x / size * np.asarray(gain), rtol=1e-13)
    assert entry.with_norms("peri").embedding_norm is entry.embedding_norm
    assert entry.with_norms("pre").embedding_norm is None


def test_norms_that_do_not_fit_are_refused(small):
    block = small.blocks[0]
    norm, parts = block.attention_norm, (block.attention, block.feedforward_norm, block.feedforward)
    cases: tuple[tuple[Any, str], ...] = (
        ((norm, *parts, "around"), "`placement` must be"),
        ((None, *parts), "`attention_norm` must be given for the placement `pre`, but is None"),
        ((norm, *parts, "none"), "`attention_norm` must be None for the placement `none`, but is given"),
        ((norm, *parts, "peri", norm), "`feedforward_output_norm` must be given for the placement `peri`, but is None"),
        ((norm, *parts, "post", None, norm), "`feedforward_output_norm` must be None for the placement `post`"),
        ((RMSNorm(jnp.ones(D + 1)), *parts), f"`attention_norm` must have {D} gains, the width of the layer, but has"),
    )
    for given, said in cases:
        with pytest.raises(ArgumentError, match=said):
            Block(*given)
    with pytest.raises(ArgumentError, match="`placement` must be `none` for a layer without norms, but is `pre`"):
        small.with_norms("none").with_norms("pre")
    with pytest.raises(ArgumentError, match="`placement` must be"):
        small.with_norms("before")


def test_the_two_forms_of_the_gelu_differ(small):
    tanh = small.blocks[0].feedforward
    exact = GeluMLP(tanh.inner, tanh.inner_bias, tanh.outer, tanh.outer_bias, exact=True)
    x = jnp.asarray(random("x", 5, D))
    assert 1e-5 < float(jnp.max(jnp.abs(exact(x) - tanh(x)))) < 1e-2


@pytest.mark.parametrize(("ids", "sentence"), [
    ([], r"must be one sequence of at least one token, but has shape \(0,\)\."),
    ([[1, 2]], r"must be one sequence of at least one token, but has shape \(1, 2\)\."),
    ([0] * 10, r"must have at most 9 tokens, the context, but has 10\."),
    ([0, 7], r"must lie between 0 and 6, the numbers of the vocabulary, but holds 7\."),
    ([0, -1], r"must lie between 0 and 6, the numbers of the vocabulary, but holds -1\."),
    ([0.5], r"must be whole numbers, but has entries of type float64\."),
])  # fmt: skip
def test_a_bad_prompt_is_refused(small, ids, sentence):
    with pytest.raises(ValueError, match=f"^Argument `prompt_ids` {sentence}$"):
        small.greedy(np.array(ids), 1)
    with pytest.raises(ValueError, match=f"^Argument `ids` {sentence}$"):
        small.embed(np.array(ids))


def test_bad_numbers_are_refused(small):
    sentence = (
        r"^Argument `num_tokens` must lie between 1 and 5 for a context of 9 and a prompt of 5 tokens, but is 6\.$"
    )
    with pytest.raises(ValueError, match=sentence):
        small.greedy(IDS, 6)
    assert small.greedy(IDS, 5).shape == (10,)
    with pytest.raises(ValueError, match=r"^Argument `passes` must be at least 1, but is 0\.$"):
        small.greedy(IDS, 1, passes=0)
    with pytest.raises(ValueError, match=r"^Argument `passes` must be at least 1, but is -1\.$"):
        small.apply_layers(small.embed(IDS), passes=-1)
    parts = small.token_embedding, small.position_embedding
    with pytest.raises(ValueError, match=r"^Argument `context` must lie between 1 and 9, the number of positions, but"):
        Transformer(*parts, small.blocks, small.final_norm, small.unembedding, 10)
    with pytest.raises(ValueError, match=r"^Argument `blocks` must hold at least one layer, but is empty\.$"):
        Transformer(*parts, (), small.final_norm, small.unembedding, 9)
    with pytest.raises(
        ValueError, match=r"^Argument `query` must have heads of even size for the rotary embedding, but has heads"
    ):
        Attention(*(jnp.ones((1, 3, 3)) for _ in range(4)), rotary_base=1e4)


def test_states_have_the_width_of_the_network(small):
    x = small.embed(IDS)
    said = rf"^Argument `x` must have shape \(n, {x.shape[1]}\), a row for each token, but has \({len(IDS)}, 1\)"
    for of in (small.states, small.logits, small.apply_layers):
        with pytest.raises(ValueError, match=said):
            of(x[:, :1])


def test_fields_that_are_lists_become_arrays():
    class Table(eqx.Module):
        rows: Float[Array, "n d"]

        def __check_init__(self):
            check_fields(self)

    listed: Any = [[1.0, 2.0]]
    assert Table(listed).rows.shape == (1, 2)
    with pytest.raises(ValueError, match="`rows` must"):
        Table(listed[0])


def test_the_scores_of_a_network_can_be_differentiated(small):
    x = small.embed(IDS)
    slope = jax.jit(jax.grad(lambda x: jnp.sum(small.logits(small.apply_layers(x, passes=2)))))(x)
    assert float(jnp.max(jnp.abs(slope))) > 0
