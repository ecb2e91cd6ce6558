"""Files of weights and vocabularies: three layouts, the tokenizers, and what a bad file is told."""

import contextlib
import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from dynsim.io.npz import read_arrays, write_arrays
from dynsim.networks.decoder.pretrained import load_transformer, read_tensors
from dynsim.networks.decoder.tokenizer import Tokenizer, decode_letters, load_tokenizer
from tests import data_or_skip
from tests.support.gpt2_layout import HEADS, IDS, POSITIONS, gpt2_states, gpt2_tensors


@pytest.mark.parametrize("text", ["", "Once upon a time, there was", "two  spaces\nand a line", "é, 木 and \x07"])
def test_what_is_encoded_is_decoded(text):
    tokenizer = load_tokenizer(data_or_skip("stories260k.npz"))
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
@pytest.mark.parametrize("suffix", [pytest.param(".npz", marks=pytest.mark.slow), ".safetensors"])
def test_the_gpt2_layout_gives_the_forward_pass_written_out(tmp_path, prefix, suffix):
    z = gpt2_tensors()
    arrays = {prefix + name: array for name, array in z.items()}
    arrays[f"{prefix}h.0.attn.bias"] = np.tril(np.ones((1, 1, POSITIONS, POSITIONS)))  # the mask, as it is stored there
    path = tmp_path / f"small{suffix}"
    if suffix == ".npz":
        np.savez(path, **arrays)
    else:
        pytest.importorskip("safetensors.numpy").save_file(arrays, path)
    network = load_transformer(path, heads=HEADS)
    states, logits = gpt2_states(z, IDS)
    x = network.embed(IDS)
    np.testing.assert_allclose(x, states[0], atol=1e-14)
    path = eqx.filter_jit(network.states)(x)
    np.testing.assert_allclose(path, states[1:], atol=1e-12)
    np.testing.assert_allclose(network.logits(path[-1]), logits, atol=1e-12)
    alone, _ = gpt2_states(z, IDS, feedforward=False)
    np.testing.assert_allclose(network.states(x, feedforward=False), alone[1:], atol=1e-12)


def test_weights_in_bfloat16_are_read(tmp_path):
    halves = {name: jnp.asarray(array, jnp.bfloat16) for name, array in gpt2_tensors().items()}
    numpy = pytest.importorskip("safetensors.numpy")
    numpy.save_file({name: np.asarray(array) for name, array in halves.items()}, tmp_path / "z.safetensors")
    network = load_transformer(tmp_path / "z.safetensors", heads=HEADS)
    np.testing.assert_array_equal(network.token_embedding, halves["wte.weight"].astype(float))


def test_float32_weights_stay_float32(tmp_path):
    np.savez(tmp_path / "z.npz", **gpt2_tensors())
    network = load_transformer(tmp_path / "z.npz", heads=HEADS, dtype=np.float32)
    assert {a.dtype for a in jax.tree.leaves(network)} == {np.dtype(np.float32)}
    assert network.embed(IDS).dtype == np.float32


def test_numbers_are_written_as_letters():
    assert decode_letters([2, 0, 1, 1, 0]) == "CABBA"
    with pytest.raises(ValueError, match=r"^Argument `ids` must lie between 0 and 2, .* but holds 3\.$"):
        decode_letters([0, 3])


@pytest.mark.parametrize("heads", [0, 5])
def test_heads_must_divide_the_width(tmp_path, heads):
    np.savez(tmp_path / "z.npz", **gpt2_tensors())
    sentence = rf"^Argument `heads` must divide 12, the width of the network, but is {heads}\.$"
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
    arrays = {name: array for name, array in (gpt2_tensors() | change).items() if array is not None}
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
    np.savez(tmp_path / "whole.npz", **gpt2_tensors())
    whole = (tmp_path / "whole.npz").read_bytes()
    pytest.importorskip("safetensors.numpy").save_file(gpt2_tensors(), tmp_path / "whole.safetensors")
    packed = (tmp_path / "whole.safetensors").read_bytes()
    broken = {"cut.npz": whole[: len(whole) // 2], "empty.npz": b"", "text.npz": b"no weights", "void.npz": whole[:3]}
    broken |= {"flipped.npz": whole[:900] + bytes([whole[900] ^ 1]) + whole[901:]}
    broken |= {"cut.safetensors": packed[:-9], "text.safetensors": b"no weights", "empty.safetensors": b""}
    for name, content in broken.items():
        (tmp_path / name).write_bytes(content)
        kind = name.rsplit(".")[-1]
        sentence = rf"^Argument `path` must be a complete {kind} file, but `.*{name}` is not \(.*[^.]\)\.$"
        with pytest.raises(ValueError, match=sentence):
            load_transformer(tmp_path / name)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.integers(0, 541), bit=st.integers(0, 7))
@example(place=426, bit=5)  # in the directory at the end, a flag: "compressed patched data"
@example(place=426, bit=0)  # the flag "encrypted"
@example(place=428, bit=1)  # a compression that does not exist
@example(place=451, bit=0)  # the length of the first entry's comment: the second entry would be a part of it
@example(place=450, bit=6)
@example(place=464, bit=0)  # the first name: not the one that stands before the array
@example(place=464, bit=1)
def test_one_flipped_bit_gives_the_same_arrays_or_one_sentence(tmp_path, place, bit):
    arrays = {"a": np.arange(6.0).reshape(2, 3), "b": np.array("x")}
    write_arrays(tmp_path / "z.npz", arrays)
    whole = bytearray((tmp_path / "z.npz").read_bytes())
    assert len(whole) == 542
    whole[place] ^= 1 << bit
    (tmp_path / "z.npz").write_bytes(whole)
    refusal = pytest.raises(
        ValueError, match=r"^Argument `path` must be a complete npz file, but `.*` is not \(.*\)\.$"
    )
    with contextlib.suppress(ValueError):
        found = read_arrays(tmp_path / "z.npz")
        assert [(name, a.dtype, a.tolist()) for name, a in found.items()] == [
            (name, a.dtype, a.tolist()) for name, a in arrays.items()
        ]
        return
    with refusal:
        read_arrays(tmp_path / "z.npz")


@pytest.mark.parametrize(
    ("at", "offset", "bit", "but"),
    [
        # the rest as a comment
        (b"PK\1\2", 33, 7, "its directory does not have the number of members that its end record states"),
        (b"PK\1\2", 46, 0, "File name in directory .* and header .* differ"),  # the name of its neighbour
        (b"(5000,)", 1, 2, "`0.npy` is not as long as its array"),  # (1000,)
    ],
)
def test_a_flipped_bit_that_hides_numbers_is_refused(tmp_path, at, offset, bit, but):
    write_arrays(tmp_path / "z.npz", {str(i): np.arange(5000.0) for i in range(10)})
    whole = bytearray((tmp_path / "z.npz").read_bytes())
    whole[whole.index(at) + offset] ^= 1 << bit
    (tmp_path / "z.npz").write_bytes(whole)
    with pytest.raises(ValueError, match=rf"must be a complete npz file, but `.*z.npz` is not \({but}\)\.$"):
        read_arrays(tmp_path / "z.npz")


def test_a_pickle_is_not_opened(tmp_path):
    np.savez(tmp_path / "z.npz", wte_w=np.array([{}], object))
    with pytest.raises(ValueError, match=r"must be a complete npz file, but `.*z.npz` is not \(Object arrays cannot"):
        read_tensors(tmp_path / "z.npz")


def test_safetensors_without_the_package_says_what_to_install(tmp_path, monkeypatch):
    (tmp_path / "z.safetensors").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "safetensors", None)
    sentence = r"must be an `.npz` file where `safetensors` is not installed \(`pip install dynsim\[weights\]`\)"
    with pytest.raises(ValueError, match=sentence):
        load_transformer(tmp_path / "z.safetensors")


@pytest.mark.parametrize(("file", "change", "heads", "sentence"), [
    ("stories260k.npz", {}, 4, r"`heads` must be 8 to match `z.npz`, or be left out, but is 4\."),
    ("gpt_nano_sort.npz", {}, 4, r"`heads` must be 3 to match `z.npz`, or be left out, but is 4\."),
    ("gpt_nano_sort.npz", {"config": [3, 5, 48, 3, 11]}, None,
     r"`path` must be a file whose number of heads divides 48, its width, but `z.npz` has 5\."),
    ("gpt_nano_sort.npz", {"config": [3, 0, 48, 3, 11]}, None,
     r"`path` must be a file with positive whole numbers in the tensor `config`, but in `z.npz` it is \[3.0,"),
    ("stories260k.npz", {"config": [64, 172, 5, 8, 3, 512, 512]}, None,
     r"`path` must be a file whose number of key and value heads divides 8, its number of heads, but `z.npz`"),
    ("stories260k.npz", {"config": [64, 172, 6, 8, 4, 512, 512]}, None,
     r"`path` must be a file with a tensor `wq` of shape \(6, 64, 64\), but in `z.npz` it has shape \(5,"),
])  # fmt: skip
def test_sizes_that_contradict_the_tensors_are_refused(tmp_path, file, change, heads, sentence):
    np.savez(tmp_path / "z.npz", **{**np.load(data_or_skip(file)), **change})
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
