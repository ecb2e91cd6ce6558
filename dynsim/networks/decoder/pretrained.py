"""Load trained weights from files in three layouts, recognised by the names of their tensors."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike
from jaxtyping import Array, Float

from dynsim._core.checked import checked
from dynsim.errors import ArgumentError, reason
from dynsim.io.npz import read_arrays
from dynsim.networks.decoder.transformer import Attention, Block, GeluMLP, LayerNorm, RMSNorm, SwiGLU, Transformer

Weights = Float[Array, "..."]

STORIES = ("dim", "hidden", "layers", "heads", "kv_heads", "vocab", "seq_len")  # the entries of `config`
NANO = ("layers", "heads", "dim", "vocab", "block")


@dataclass(frozen=True)
class Tensors:
    """Tensors of a file by name; methods raise `ValueError` for a missing, misshapen or non-finite tensor."""

    arrays: Mapping[str, np.ndarray]
    file: str
    dtype: DTypeLike = np.float64

    def raw(self, name: str, *shape: int | None) -> np.ndarray:
        """The tensor `name` as stored, with the given shape, in which None stands for any size."""
        must = f"be a file with a tensor `{name}` of shape {_written(shape)}"
        if name not in self.arrays:
            raise ArgumentError("path", must, f"`{self.file}` has none of this name")
        array = self.arrays[name]
        if len(array.shape) != len(shape) or any(b not in (None, a) for a, b in zip(array.shape, shape, strict=True)):
            raise ArgumentError("path", must, f"in `{self.file}` it has shape {_written(array.shape)}")
        return array

    def take(self, name: str, *shape: int | None) -> Weights:
        """The tensor `name` as finite numbers of dtype `dtype`."""
        array = self.raw(name, *shape)
        must = f"be a file with finite numbers in the tensor `{name}`"
        # bfloat16 counts as floating
        if not any(jnp.issubdtype(array.dtype, kind) for kind in (jnp.floating, jnp.integer)):
            raise ArgumentError("path", must, f"in `{self.file}` it is of type {array.dtype}")
        if not np.all(np.isfinite(array)):
            raise ArgumentError("path", must, f"in `{self.file}` it has an entry that is not")
        return jnp.asarray(array, self.dtype)

    def sizes(self, names: tuple[str, ...]) -> dict[str, int]:
        """Entries of the tensor `config`, positive integers, by the given names."""
        values = np.asarray(self.take("config", len(names)))
        if np.any(values < 1) or np.any(values != np.floor(values)):
            must = "be a file with positive whole numbers in the tensor `config`"
            raise ArgumentError("path", must, f"in `{self.file}` it is {values.tolist()}")
        return dict(zip(names, values.astype(int).tolist(), strict=True))


def read_tensors(path: str | Path, *, dtype: DTypeLike = np.float64) -> Tensors:
    """Read the tensors of an `.npz` or `.safetensors` file; raise `ValueError` if this fails."""
    path = Path(path)
    if path.suffix not in (".npz", ".safetensors"):
        raise ArgumentError("path", "end in `.npz` or `.safetensors`", f"is `{path}`")
    if not path.is_file():
        raise ArgumentError("path", "be a file", f"there is none at `{path}`")
    arrays = read_arrays(path) if path.suffix == ".npz" else _read_safetensors(path)
    return Tensors(arrays, path.name, dtype)


@checked
def load_transformer(path: str | Path, *, heads: int | None = None, dtype: DTypeLike = np.float64) -> Transformer:
    """Load a transformer from an `.npz` or `.safetensors` file.

    Three layouts are supported: llama2.c's "stories260K" (`tok_emb`, `wq`, ...), minGPT's "gpt-nano" (`wte_w`,
    `h_0_attn_c_attn_w`, ...), and GPT-2 as on Hugging Face (`wte.weight`, `h.0.attn.c_attn.weight`, ..., with or
    without the prefix `transformer.`).

    Args:
        path: the file.
        heads: the number of heads, which a file in the GPT-2 layout does not contain; by default d // 64, at least 1.
        dtype: the dtype of all weights.

    Raises:
        ValueError: if the file is missing, damaged or of another layout, or a tensor is missing, misshapen or not
            finite.

    Example:
        >>> import tempfile
        >>> import dynsim as ds
        >>> import numpy as np
        >>> sizes = {"ln_1": (2,), "attn.c_attn": (2, 6), "attn.c_proj": (2, 2), "ln_2": (2,)}
        >>> sizes = {f"h.0.{name}": size for name, size in sizes.items()} | {"ln_f": (2,)}
        >>> sizes |= {"h.0.mlp.c_fc": (2, 8), "h.0.mlp.c_proj": (8, 2)}
        >>> tensors = {f"{name}.weight": np.ones(size) for name, size in sizes.items()}
        >>> tensors |= {f"{name}.bias": np.zeros(size[-1]) for name, size in sizes.items()}
        >>> tensors |= {"wte.weight": np.ones((3, 2)), "wpe.weight": np.ones((4, 2))}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     np.savez(f"{folder}/tiny.npz", **tensors)
        ...     network = ds.networks.load_transformer(f"{folder}/tiny.npz", heads=1)
        >>> len(network.blocks), network.context, network.token_embedding.shape
        (1, 4, (3, 2))
    """
    tensors = read_tensors(path, dtype=dtype)
    bare = {name.removeprefix("transformer."): array for name, array in tensors.arrays.items()}
    tensors = Tensors(bare, tensors.file, dtype)
    for name, build in LAYOUTS.items():
        if name in bare:
            return build(tensors, heads)
    known = ", ".join(f"{layout} (with `{name}`)" for name, layout in zip(LAYOUTS, NAMES, strict=True))
    found = ", ".join(f"`{name}`" for name in sorted(tensors.arrays)[:4]) or "no tensors"
    raise ArgumentError("path", f"be a file in the layout of {known}", f"`{tensors.file}` holds {found}")


def _stories(tensors: Tensors, heads: int | None) -> Transformer:
    c = tensors.sizes(STORIES)
    d, L, hidden = c["dim"], c["layers"], c["hidden"]
    m = _head_size(tensors, d, c["heads"], heads)
    if c["heads"] % c["kv_heads"]:
        must = f"be a file whose number of key and value heads divides {c['heads']}, its number of heads"
        raise ArgumentError("path", must, f"`{tensors.file}` has {c['kv_heads']}")
    narrow = m * c["kv_heads"]
    q, o = tensors.take("wq", L, d, d), tensors.take("wo", L, d, d)
    k, v = tensors.take("wk", L, narrow, d), tensors.take("wv", L, narrow, d)
    gains = tensors.take("rms_att", L, d), tensors.take("rms_ffn", L, d)
    gate, up = tensors.take("w1", L, hidden, d), tensors.take("w3", L, hidden, d)
    down = tensors.take("w2", L, d, hidden)

    def block(i: int) -> Block:
        keys, values = (jnp.repeat(_rows(a[i], m), c["heads"] // c["kv_heads"], axis=0) for a in (k, v))
        attention = Attention(_rows(q[i], m), keys, values, _columns(o[i], m), rotary_base=10000.0)
        return Block(RMSNorm(gains[0][i]), attention, RMSNorm(gains[1][i]), SwiGLU(gate[i], up[i], down[i]))

    embedding = tensors.take("tok_emb", c["vocab"], d)
    norm = RMSNorm(tensors.take("rms_final", d))
    return Transformer(embedding, None, tuple(block(i) for i in range(L)), norm, embedding, c["seq_len"])


def _nano(tensors: Tensors, heads: int | None) -> Transformer:
    c = tensors.sizes(NANO)
    d = c["dim"]
    m = _head_size(tensors, d, c["heads"], heads)

    def affine(name: str, rows: int, columns: int) -> tuple[Weights, Weights]:
        return tensors.take(f"{name}_w", rows, columns), tensors.take(f"{name}_b", rows)

    def norm(name: str) -> LayerNorm:
        return LayerNorm(tensors.take(f"{name}_w", d), tensors.take(f"{name}_b", d))

    embedding, positions = tensors.take("wte_w", c["vocab"], d), tensors.take("wpe_w", c["block"], d)
    blocks = tuple(_gpt_block(f"h_{i}_", "_", d, m, affine, norm) for i in range(c["layers"]))
    unembedding = tensors.take("lm_head_w", c["vocab"], d)
    return Transformer(embedding, positions, blocks, norm("ln_f"), unembedding, c["block"])


def _gpt2(tensors: Tensors, heads: int | None) -> Transformer:
    embedding, positions = tensors.take("wte.weight", None, None), tensors.take("wpe.weight", None, None)
    vocabulary, d = embedding.shape
    tensors.raw("wpe.weight", None, d)
    heads = max(1, d // 64) if heads is None else heads
    if heads < 1 or d % heads:
        raise ArgumentError("heads", f"divide {d}, the width of the network", f"is {heads}")

    def affine(name: str, rows: int, columns: int) -> tuple[Weights, Weights]:  # stored transposed, for x W + b
        return tensors.take(f"{name}.weight", columns, rows).T, tensors.take(f"{name}.bias", rows)

    def norm(name: str) -> LayerNorm:
        return LayerNorm(tensors.take(f"{name}.weight", d), tensors.take(f"{name}.bias", d))

    numbers = [int(found[1]) for name in tensors.arrays if (found := re.match(r"h\.(\d+)\.", name))]
    layers = max(numbers, default=0) + 1
    blocks = tuple(_gpt_block(f"h.{i}.", ".", d, d // heads, affine, norm) for i in range(layers))
    own = "lm_head.weight" in tensors.arrays
    unembedding = tensors.take("lm_head.weight", vocabulary, d) if own else embedding
    return Transformer(embedding, positions, blocks, norm("ln_f"), unembedding, positions.shape[0])


def _gpt_block(
    prefix: str,
    dot: str,
    d: int,
    m: int,
    affine: Callable[[str, int, int], tuple[Weights, Weights]],
    norm: Callable[[str], LayerNorm],
) -> Block:
    W, b = affine(f"{prefix}attn{dot}c_attn", 3 * d, d)
    q, k, v = (_rows(part, m) for part in jnp.split(W, 3))
    output, output_bias = affine(f"{prefix}attn{dot}c_proj", d, d)
    bq, bk, bv = b.reshape(3, -1, m)
    attention = Attention(q, k, v, _columns(output, m), bq, bk, bv, output_bias)
    hidden = 4 * d
    inner, inner_bias = affine(f"{prefix}mlp{dot}c_fc", hidden, d)
    outer, outer_bias = affine(f"{prefix}mlp{dot}c_proj", d, hidden)
    mlp = GeluMLP(inner, inner_bias, outer, outer_bias)
    return Block(norm(f"{prefix}ln_1"), attention, norm(f"{prefix}ln_2"), mlp)


LAYOUTS = {"tok_emb": _stories, "wte_w": _nano, "wte.weight": _gpt2}
NAMES = ("stories260K", "gpt-nano", "GPT-2")


def _rows(W: Weights, m: int) -> Float[Array, "heads m d"]:
    return W.reshape(-1, m, W.shape[1])


def _columns(W: Weights, m: int) -> Float[Array, "heads d m"]:
    return W.reshape(W.shape[0], -1, m).transpose(1, 0, 2)


def _head_size(tensors: Tensors, d: int, stored: int, heads: int | None) -> int:
    if heads not in (None, stored):
        raise ArgumentError("heads", f"be {stored} to match `{tensors.file}`, or be left out", f"is {heads}")
    if d % stored:
        must = f"be a file whose number of heads divides {d}, its width"
        raise ArgumentError("path", must, f"`{tensors.file}` has {stored}")
    return d // stored


def _written(shape: tuple[int | None, ...]) -> str:
    return "(" + ", ".join("any" if size is None else str(size) for size in shape) + ")"


def _read_safetensors(path: Path) -> dict[str, np.ndarray]:
    try:
        from safetensors import SafetensorError
        from safetensors.numpy import load_file
    except ImportError:
        must = "be an `.npz` file where `safetensors` is not installed (`pip install dynsim[weights]`)"
        raise ArgumentError("path", must, f"is `{path.name}`") from None
    try:
        return load_file(path)
    # the last three are raised for unknown dtypes
    except (SafetensorError, OSError, KeyError, TypeError, AttributeError) as error:
        but = f"`{path}` is not ({reason(error)})"
        raise ArgumentError("path", "be a complete safetensors file", but) from None
