"""Trained decoders against the activations and the text that came with them, and what a bad file is told."""

import itertools
import math
import os
import sys
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dynsim
from dynsim.keys import stream
from dynsim.networks.pretrained import load_transformer, read_tensors
from dynsim.networks.schedules import attention_flow, attention_schedules
from dynsim.networks.tokenizer import Tokenizer, encode_letters, load_tokenizer
from dynsim.networks.transformer import Attention, GeluMLP, Transformer, TransformerMap
from dynsim.spaces import Sphere
from dynsim.systems.interactions.masks import Causal

D, HEADS, LAYERS, VOCABULARY, POSITIONS = 12, 3, 2, 7, 9


def _data(name):
    folder = os.environ.get("DYNSIM_DATA")
    if not folder:
        pytest.skip("DYNSIM_DATA is not set")
    return Path(folder) / name


def _random(name, *shape):
    return np.asarray(jax.random.normal(stream(1, name), shape))


def _gpt2_tensors():
    """A small network in the GPT-2 layout: weights for x W + b."""
    shapes = {"wte.weight": (VOCABULARY, D), "wpe.weight": (POSITIONS, D), "ln_f.weight": (D,), "ln_f.bias": (D,)}
    for i in range(LAYERS):
        for part, shape in (("attn.c_attn", (D, 3 * D)), ("attn.c_proj", (D, D)), ("mlp.c_fc", (D, 4 * D))):
            shapes |= {f"h.{i}.{part}.weight": shape, f"h.{i}.{part}.bias": shape[1:]}
        shapes |= {f"h.{i}.mlp.c_proj.weight": (4 * D, D), f"h.{i}.mlp.c_proj.bias": (D,)}
        shapes |= {f"h.{i}.ln_{j}.{part}": (D,) for j in (1, 2) for part in ("weight", "bias")}
    return {name: 0.4 * _random(name, *shape) for name, shape in shapes.items()}


def _gpt2_states(z, ids, feedforward=True):
    """The states of a forward pass in plain NumPy, the embedding first."""

    def norm(x, name):
        x = x - x.mean(-1, keepdims=True)
        return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5) * z[f"{name}.weight"] + z[f"{name}.bias"]

    def affine(x, name):
        return x @ z[f"{name}.weight"] + z[f"{name}.bias"]

    x = z["wte.weight"][ids] + z["wpe.weight"][: len(ids)]
    states, m = [x], D // HEADS
    for i in range(LAYERS):
        q, k, v = np.split(affine(norm(x, f"h.{i}.ln_1"), f"h.{i}.attn.c_attn"), 3, axis=-1)
        mixed = np.zeros_like(x)
        for h, j in itertools.product(range(HEADS), range(len(ids))):
            part = slice(h * m, (h + 1) * m)
            a = np.exp(k[: j + 1, part] @ q[j, part] / math.sqrt(m))
            mixed[j, part] = a / a.sum() @ v[: j + 1, part]
        x = x + affine(mixed, f"h.{i}.attn.c_proj")
        if feedforward:
            u = affine(norm(x, f"h.{i}.ln_2"), f"h.{i}.mlp.c_fc")
            u = 0.5 * u * (1 + np.tanh(math.sqrt(2 / math.pi) * (u + 0.044715 * u**3)))
            x = x + affine(u, f"h.{i}.mlp.c_proj")
        states.append(x)
    return states, norm(x, "ln_f") @ z["wte.weight"].T


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    path = tmp_path_factory.mktemp("weights") / "small.npz"
    np.savez(path, **_gpt2_tensors())
    return load_transformer(path, heads=HEADS)


IDS = np.array([3, 0, 6, 6, 1])


def test_gpt_nano_gives_its_reference_activations():
    path = _data("gpt_nano_sort.npz")
    z, network = np.load(path), load_transformer(path)
    x = jax.vmap(network.embed)(z["ref_idx"].astype(int))
    first = network.blocks[0]
    weights = jax.vmap(lambda x: first.attention.weights(first.attention_norm(x)))(x)
    np.testing.assert_allclose(weights, z["ref_attSm"], atol=1e-6)
    states = jax.vmap(network.states)(x)
    for i in range(3):
        np.testing.assert_allclose(states[:, i], z[f"ref_block{i}"], atol=5e-6)  # the exact GELU is off by 1e-4
    logits = jax.vmap(network.logits)(states[:, -1])
    np.testing.assert_allclose(logits, z["ref_lm_head"], atol=1e-5)
    np.testing.assert_allclose(jax.nn.softmax(logits), z["ref_probs"], atol=1e-6)


def test_gpt_nano_sorts():
    network = load_transformer(_data("gpt_nano_sort.npz"))
    words = np.array(list(itertools.product(range(3), repeat=6)))
    np.testing.assert_array_equal(words[-2], encode_letters("CCCCCB"))
    sorted_words = jax.vmap(lambda word: network.greedy(word, 6))(words)
    np.testing.assert_array_equal(sorted_words[:, :6], words)
    np.testing.assert_array_equal(sorted_words[:, 6:], np.sort(words))


def test_stories260k_tells_its_story_to_the_letter():
    path = _data("stories260k.npz")
    story = bytes(np.load(path)["greedy_sample"])
    tokenizer, network = load_tokenizer(path), load_transformer(path)
    ids = network.greedy([1], 256)
    assert ids.shape == (257,)
    assert tokenizer.decode_bytes(np.asarray(ids)) == story
    assert len(story) == 565
    np.testing.assert_array_equal(tokenizer.encode(story.decode()), ids)
    again = network.greedy(tokenizer.encode("Once upon a time"), 20)
    np.testing.assert_array_equal(again, ids[: again.size])


@pytest.mark.parametrize("text", ["", "Once upon a time, there was", "two  spaces\nand a line", "é, 木 and \x07"])
def test_what_is_encoded_is_decoded(text):
    tokenizer = load_tokenizer(_data("stories260k.npz"))
    ids = tokenizer.encode(text)
    assert ids[0] == 1
    assert tokenizer.decode(ids) == text


def test_pieces_merge_by_score_and_bytes_stand_in_for_strange_letters():
    letters = [b" ", b"a", b"b", b"ab", b" a", b"ba", b"bab"]
    pieces = (b"<unk>", b"<s>", b"</s>", *(b"<0x%02X>" % i for i in range(256)), *letters)
    scores = (0.0,) * 259 + (-9.0, -9.0, -9.0, -2.0, -3.0, -1.0, 0.0)
    tokenizer = Tokenizer(pieces, scores)
    assert [pieces[i] for i in tokenizer.encode("abab")] == [b"<s>", b" a", b"bab"]  # ba, then bab, then " a"
    assert tokenizer.encode("é").tolist() == [1, 259, 3 + 0xC3, 3 + 0xA9]
    assert tokenizer.decode([3 + 0xC3]) == "\ufffd"
    assert tokenizer.decode_bytes([]) == b""
    with pytest.raises(ValueError, match=r"Argument `ids` must lie between 0 and 265, .* but holds 266\."):
        tokenizer.decode([266])
    with pytest.raises(ValueError, match=r"Argument `ids` must be one sequence of tokens, but has shape \(\)\."):
        tokenizer.decode(3)
    with pytest.raises(ValueError, match=r"Argument `pieces` must have one score for each of at least 259 pieces"):
        Tokenizer((b"a",), (0.0,))


@pytest.mark.parametrize("prefix", ["", "transformer."])
@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
def test_the_gpt2_layout_gives_the_forward_pass_written_out(tmp_path, prefix, suffix):
    z = _gpt2_tensors()
    arrays = {prefix + name: array for name, array in z.items()}
    arrays[f"{prefix}h.0.attn.bias"] = np.tril(np.ones((1, 1, POSITIONS, POSITIONS)))  # the mask, as it is stored there
    path = tmp_path / f"small{suffix}"
    if suffix == ".npz":
        np.savez(path, **arrays)
    else:
        pytest.importorskip("safetensors.numpy").save_file(arrays, path)
    network = load_transformer(path, heads=HEADS)
    states, logits = _gpt2_states(z, IDS)
    x = network.embed(IDS)
    np.testing.assert_allclose(x, states[0], atol=1e-14)
    path = eqx.filter_jit(network.states)(x)
    np.testing.assert_allclose(path, states[1:], atol=1e-12)
    np.testing.assert_allclose(network.logits(path[-1]), logits, atol=1e-12)
    alone, _ = _gpt2_states(z, IDS, feedforward=False)
    np.testing.assert_allclose(network.states(x, feedforward=False), alone[1:], atol=1e-12)


def test_an_unembedding_of_its_own_is_used(tmp_path, small):
    own = _random("own", VOCABULARY, D)
    np.savez(tmp_path / "own.npz", **_gpt2_tensors(), **{"lm_head.weight": own})
    np.testing.assert_array_equal(load_transformer(tmp_path / "own.npz", heads=HEADS).unembedding, own)
    np.testing.assert_array_equal(small.unembedding, small.token_embedding)


def test_two_passes_are_one_pass_twice(small):
    x = small.embed(IDS)
    once = small.apply_layers(x)
    np.testing.assert_allclose(once, small.states(x)[-1], atol=1e-12)
    np.testing.assert_allclose(small.apply_layers(x, passes=2), small.apply_layers(once), atol=1e-12)
    many = jax.jit(lambda k: small.apply_layers(x, passes=k))(jnp.asarray(1000))
    assert np.all(np.isfinite(many))
    attention_only = small.apply_layers(x, feedforward=False)
    np.testing.assert_allclose(attention_only, small.states(x, feedforward=False)[-1], atol=1e-12)
    assert small.apply_layers(x.astype(np.float32)).dtype == np.float32


def test_weights_in_bfloat16_are_read(tmp_path):
    halves = {name: jnp.asarray(array, jnp.bfloat16) for name, array in _gpt2_tensors().items()}
    numpy = pytest.importorskip("safetensors.numpy")
    numpy.save_file({name: np.asarray(array) for name, array in halves.items()}, tmp_path / "z.safetensors")
    network = load_transformer(tmp_path / "z.safetensors", heads=HEADS)
    np.testing.assert_array_equal(network.token_embedding, halves["wte.weight"].astype(float))


def test_float32_weights_stay_float32(tmp_path):
    np.savez(tmp_path / "z.npz", **_gpt2_tensors())
    network = load_transformer(tmp_path / "z.npz", heads=HEADS, dtype=np.float32)
    assert {a.dtype for a in jax.tree.leaves(network)} == {np.dtype(np.float32)}
    assert network.embed(IDS).dtype == np.float32


@pytest.mark.parametrize("feedforward", [True, False])
def test_the_map_goes_through_the_layers_over_and_over(small, feedforward):
    x = small.embed(IDS)
    path = dynsim.iterate(TransformerMap(small, feedforward), x, 3 * LAYERS)
    np.testing.assert_allclose(path.ys[1 : LAYERS + 1], small.states(x, feedforward=feedforward), atol=1e-12)
    expected = small.apply_layers(x, passes=3, feedforward=feedforward)
    np.testing.assert_allclose(path.final, expected, atol=1e-11)


def test_a_prompt_is_continued_by_the_likeliest_token(small):
    z, ids = _gpt2_tensors(), list(IDS)
    for _ in range(3):
        ids.append(int(np.argmax(_gpt2_states(z, np.array(ids))[1][-1])))
    assert small.greedy(IDS, 3).tolist() == ids
    x = small.apply_layers(small.embed(IDS), passes=4, feedforward=False)
    twice = small.greedy(IDS, 1, passes=4, feedforward=False)
    assert int(twice[-1]) == int(jnp.argmax(small.logits(x)[-1]))


def test_rotation_turns_pairs_by_their_relative_position():
    W = [jnp.asarray(_random(f"rotary {i}", 1, 4, 4)) for i in range(4)]
    turned, plain = Attention(*W, rotary_base=10000.0), Attention(*W)
    x = jnp.asarray(np.tile(_random("token", 1, 4), (6, 1)))  # six times the same token: only position tells
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
    x = _random("x", 5, D)
    for i, block in enumerate(small.blocks):
        a = block.attention
        q, k, v = (np.einsum("hmd,nd->hnm", W, x) for W in (a.query, a.key, a.value))
        scores = np.einsum("him,hjm->hij", q, k) / math.sqrt(D // HEADS)
        np.testing.assert_allclose(P.bilinear(0.5 * i, x, x), scores, atol=1e-13)
        values = np.einsum("hdm,hjm->hjd", a.output, v)
        np.testing.assert_allclose(np.einsum("hde,je->hjd", U(0.5 * i), x), values, atol=1e-13)


def test_attention_without_biases_is_the_attention_of_the_flow(small):
    x = Sphere().sample(stream(1, "sphere"), (5, D))
    flow = attention_flow(small, scale=1.0)
    for i, block in enumerate(small.blocks):
        a = block.attention
        plain = Attention(a.query, a.key, a.value, a.output)
        np.testing.assert_allclose(flow.weights(float(i), x), plain.weights(x), atol=1e-13)
        np.testing.assert_allclose(flow.attention(float(i), x), plain(x), atol=1e-13)


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


def test_the_two_forms_of_the_gelu_differ(small):
    tanh = small.blocks[0].feedforward
    exact = GeluMLP(tanh.inner, tanh.inner_bias, tanh.outer, tanh.outer_bias, exact=True)
    x = jnp.asarray(_random("x", 5, D))
    assert 1e-5 < float(jnp.max(jnp.abs(exact(x) - tanh(x)))) < 1e-2


@pytest.mark.parametrize(
    ("ids", "sentence"),
    [
        ([], r"must be one sequence of at least one token, but has shape \(0,\)\."),
        ([[1, 2]], r"must be one sequence of at least one token, but has shape \(1, 2\)\."),
        ([0] * 10, r"must have at most 9 tokens, the context, but has 10\."),
        ([0, 7], r"must lie between 0 and 6, the numbers of the vocabulary, but holds 7\."),
        ([0, -1], r"must lie between 0 and 6, the numbers of the vocabulary, but holds -1\."),
        ([0.5], r"must be whole numbers, but has entries of type float64\."),
    ],
)
def test_a_bad_prompt_is_refused(small, ids, sentence):
    with pytest.raises(ValueError, match=f"^Argument `prompt_ids` {sentence}$"):
        small.greedy(np.array(ids), 1)
    with pytest.raises(ValueError, match=f"^Argument `ids` {sentence}$"):
        small.embed(np.array(ids))


def test_bad_numbers_are_refused(small):
    sentence = (
        r"^Argument `num_tokens` must lie between 1 and 5, what a context of 9 leaves after 5 tokens, but is 6\.$"
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
        ValueError, match=r"^Argument `query` must have heads of even size to be rotated, but has heads"
    ):
        Attention(*(jnp.ones((1, 3, 3)) for _ in range(4)), rotary_base=1e4)


@pytest.mark.parametrize(("text", "but"), [("ABD", "holds 'D'"), ("a", "holds 'a'"), ("", "is empty")])
def test_other_letters_are_refused(text, but):
    with pytest.raises(ValueError, match=rf"^Argument `text` must be a word in the letters A, B and C, but {but}\.$"):
        encode_letters(text)


@pytest.mark.parametrize("heads", [None, 0, 5])
def test_heads_must_divide_the_width(tmp_path, heads):
    np.savez(tmp_path / "z.npz", **_gpt2_tensors())
    sentence = rf"^Argument `heads` must be a divisor of 12, the width of the network, but is {heads or 0}\.$"
    with pytest.raises(ValueError, match=sentence):
        load_transformer(tmp_path / "z.npz", heads=heads)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"h.1.ln_2.bias": None},
            r"must be a file with a tensor `h.1.ln_2.bias` of shape \(12\), but `z.npz` has none of this name\.",
        ),
        (
            {"h.0.attn.c_attn.weight": np.ones((36, 12))},
            r"must be a file with a tensor `h.0.attn.c_attn.weight` of shape \(12, 36\), "
            r"but in `z.npz` it has shape \(36, 12\)\.",
        ),
        (
            {"wpe.weight": np.ones((9, 11))},
            r"must be a file with a tensor `wpe.weight` of shape \(any, 12\), but in `z.npz` it has shape \(9, 11\)\.",
        ),
        (
            {"ln_f.bias": np.full(12, np.inf)},
            r"must be a file with finite numbers in the tensor `ln_f.bias`, but in `z.npz` it has an entry that is",
        ),
        (
            {"ln_f.bias": np.full(12, "a")},
            r"must be a file with finite numbers in the tensor `ln_f.bias`, but in `z.npz` it is of type <U1\.",
        ),
        (
            {"wte.weight": None},
            r"must be a file in the layout of stories260K \(with `tok_emb`\), gpt-nano \(with `wte_w`\), "
            r"GPT-2 \(with `wte.weight`\), but `z.npz` holds `h.0.attn.c_attn.bias`, `h.0.attn.c_attn.weight`, .*\.",
        ),
    ],
)
def test_a_bad_tensor_is_named(tmp_path, change, sentence):
    arrays = {name: array for name, array in (_gpt2_tensors() | change).items() if array is not None}
    np.savez(tmp_path / "z.npz", **arrays)
    with pytest.raises(ValueError, match=f"^Argument `path` {sentence}"):
        load_transformer(tmp_path / "z.npz", heads=HEADS)


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"^Argument `path` must be a file, but there is none at `.*none\.npz`\.$"):
        load_transformer(tmp_path / "none.npz")
    with pytest.raises(
        ValueError, match=r"^Argument `path` must end in `\.npz` or `\.safetensors`, but is `.*x\.pt`\.$"
    ):
        load_transformer(tmp_path / "x.pt")
    np.savez(tmp_path / "whole.npz", **_gpt2_tensors())
    whole = (tmp_path / "whole.npz").read_bytes()
    pytest.importorskip("safetensors.numpy").save_file(_gpt2_tensors(), tmp_path / "whole.safetensors")
    packed = (tmp_path / "whole.safetensors").read_bytes()
    broken = {"cut.npz": whole[: len(whole) // 2], "empty.npz": b"", "text.npz": b"no weights", "void.npz": whole[:3]}
    broken |= {"flipped.npz": whole[:900] + bytes([whole[900] ^ 1]) + whole[901:]}
    broken |= {"cut.safetensors": packed[:-9], "text.safetensors": b"no weights", "empty.safetensors": b""}
    for name, content in broken.items():
        (tmp_path / name).write_bytes(content)
        sentence = rf"^Argument `path` must be a readable file of arrays, but `{name}` is not: .*[^.]\.$"
        with pytest.raises(ValueError, match=sentence):
            load_transformer(tmp_path / name)


def test_a_pickle_is_not_opened(tmp_path):
    np.savez(tmp_path / "z.npz", wte_w=np.array([{}], object))
    with pytest.raises(
        ValueError, match=r"must be a readable file of arrays, but `z.npz` is not: Object arrays cannot"
    ):
        read_tensors(tmp_path / "z.npz")


def test_safetensors_without_the_package_says_what_to_install(tmp_path, monkeypatch):
    (tmp_path / "z.safetensors").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "safetensors", None)
    sentence = r"must be an `.npz` file where `safetensors` is not installed \(`pip install dynsim\[weights\]`\)"
    with pytest.raises(ValueError, match=sentence):
        load_transformer(tmp_path / "z.safetensors")


@pytest.mark.parametrize(
    ("file", "change", "heads", "sentence"),
    [
        ("stories260k.npz", {}, 4, r"`heads` must be 8, as `z.npz` says, or be left out, but is 4\."),
        ("gpt_nano_sort.npz", {}, 4, r"`heads` must be 3, as `z.npz` says, or be left out, but is 4\."),
        (
            "gpt_nano_sort.npz",
            {"config": [3, 5, 48, 3, 11]},
            None,
            r"`path` must be a file with a divisor of 48, its width, as number of heads, but `z.npz` has 5\.",
        ),
        (
            "gpt_nano_sort.npz",
            {"config": [3, 0, 48, 3, 11]},
            None,
            r"`path` must be a file with positive whole numbers in the tensor `config`, but in `z.npz` it is \[3.0,",
        ),
        (
            "stories260k.npz",
            {"config": [64, 172, 5, 8, 3, 512, 512]},
            None,
            r"`path` must be a file with a divisor of 8, its heads, as number of key and value heads, but `z.npz`",
        ),
        (
            "stories260k.npz",
            {"config": [64, 172, 6, 8, 4, 512, 512]},
            None,
            r"`path` must be a file with a tensor `wq` of shape \(6, 64, 64\), but in `z.npz` it has shape \(5,",
        ),
    ],
)
def test_sizes_that_contradict_the_tensors_are_refused(tmp_path, file, change, heads, sentence):
    np.savez(tmp_path / "z.npz", **{**np.load(_data(file)), **change})
    with pytest.raises(ValueError, match=f"^Argument {sentence}"):
        load_transformer(tmp_path / "z.npz", heads=heads)


def test_a_file_without_a_vocabulary_is_refused(tmp_path):
    np.savez(tmp_path / "none.npz", a=np.ones(1))
    with pytest.raises(
        ValueError, match=r"must be a file with a tensor `vocab` of shape \(any\), but `none.npz` has none"
    ):
        load_tokenizer(tmp_path / "none.npz")
    np.savez(tmp_path / "odd.npz", vocab=np.ones(3))
    with pytest.raises(
        ValueError, match=r"must be a file with byte strings in the tensor `vocab`, but in `odd.npz` it is"
    ):
        load_tokenizer(tmp_path / "odd.npz")


def test_the_scores_of_a_network_can_be_differentiated(small):
    x = small.embed(IDS)
    slope = jax.jit(jax.grad(lambda x: jnp.sum(small.logits(small.apply_layers(x, passes=2)))))(x)
    assert float(jnp.max(jnp.abs(slope))) > 0
