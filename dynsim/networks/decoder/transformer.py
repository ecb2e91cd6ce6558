"""A decoder-only transformer: blocks of causal attention and feed-forward layers with normalisation, also as a map."""

import math
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.typing import DTypeLike
from jaxtyping import Array, Float, Int

from dynsim._core.checked import check_fields, checked
from dynsim._core.types import ArrayLike, State, Step, Tokens
from dynsim._core.validation import choice, instance, integer, reals
from dynsim.errors import ArgumentError
from dynsim.spaces import AbstractSpace, Euclidean
from dynsim.systems.base import AbstractMap
from dynsim.systems.tokens.interactions.masks import Causal

Tree = TypeVar("Tree")
Heads = Float[Array, "heads n head_dim"]
PLACEMENTS = ("pre", "post", "peri", "none")
"""Where a layer's normalisation acts; see `Block`."""


class AbstractLayer(eqx.Module):
    """A layer of a network, whose arrays have the axes of their annotations."""

    def __check_init__(self):
        """Raise `ValueError` for arrays that do not fit together."""
        check_fields(self)


class LayerNorm(AbstractLayer):
    """Layer normalisation: each token minus its mean, over its standard deviation, times a gain, plus a bias."""

    gain: Float[Array, " d"]
    bias: Float[Array, " d"]
    epsilon: float = eqx.field(static=True, default=1e-5)

    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, "n d"]:
        """Normalised tokens."""
        z = x - jnp.mean(x, axis=-1, keepdims=True)
        variance = jnp.mean(z**2, axis=-1, keepdims=True)
        return z / jnp.sqrt(variance + self.epsilon) * self.gain[None] + self.bias[None]


class RMSNorm(AbstractLayer):
    """RMS normalisation: each token over its root mean square, times a gain."""

    gain: Float[Array, " d"]
    epsilon: float = eqx.field(static=True, default=1e-5)

    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, "n d"]:
        """Normalised tokens."""
        square = jnp.mean(x**2, axis=-1, keepdims=True)
        return x / jnp.sqrt(square + self.epsilon) * self.gain[None]


Norm = LayerNorm | RMSNorm | None


class Attention(eqx.Module):
    """Causal multi-head attention, with a rotary position embedding if `rotary_base` is given.

    As in llama2.c, the coordinates 2m and 2m + 1 of queries and keys are rotated in their plane by
    position * base^(-2m / head_dim) radians.
    """

    query: Float[Array, "heads head_dim d"]
    key: Float[Array, "heads head_dim d"]
    value: Float[Array, "heads head_dim d"]
    output: Float[Array, "heads d head_dim"]
    query_bias: Float[Array, "heads head_dim"] | None = None
    key_bias: Float[Array, "heads head_dim"] | None = None
    value_bias: Float[Array, "heads head_dim"] | None = None
    output_bias: Float[Array, " d"] | None = None
    rotary_base: float | None = eqx.field(static=True, default=None)

    def __check_init__(self):
        """Raise `ValueError` for arrays that do not fit together, or a rotary embedding of heads of odd size."""
        check_fields(self)
        width = self.query.shape[1]
        if self.rotary_base is not None and width % 2:
            raise ArgumentError(
                "query", "have heads of even size for the rotary embedding", f"has heads of size {width}"
            )

    def weights(self, x: Float[Array, "n d"]) -> Float[Array, "heads n n"]:
        """Attention weights, `weights[h, i, j]` from token i to token j in head h; rows sum to one."""
        q, k = projected(self.query, self.query_bias, x), projected(self.key, self.key_bias, x)
        if self.rotary_base is not None:
            q, k = rotated(q, self.rotary_base), rotated(k, self.rotary_base)
        scores = jnp.einsum("him,hjm->hij", q, k) / math.sqrt(q.shape[-1])
        return jax.nn.softmax(Causal().hide(scores), axis=-1)

    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, "n d"]:
        """Output of attention, which the block adds to the tokens."""
        mixed = jnp.einsum("hij,hjm->him", self.weights(x), projected(self.value, self.value_bias, x))
        out = jnp.einsum("him,hdm->id", mixed, self.output)
        return out if self.output_bias is None else out + self.output_bias[None]


class GeluMLP(AbstractLayer):
    """A feed-forward layer: two affine maps with a GELU between them, exact or in GPT-2's tanh approximation."""

    inner: Float[Array, "hidden d"]
    inner_bias: Float[Array, " hidden"]
    outer: Float[Array, "d hidden"]
    outer_bias: Float[Array, " d"]
    exact: bool = eqx.field(static=True, default=False)

    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, "n d"]:
        """The contribution of the layer to the tokens."""
        z = jax.nn.gelu(x @ self.inner.T + self.inner_bias[None], approximate=not self.exact)
        return z @ self.outer.T + self.outer_bias[None]


class SwiGLU(AbstractLayer):
    """A feed-forward layer: a linear map of the product of silu(gate x) and up x."""

    gate: Float[Array, "hidden d"]
    up: Float[Array, "hidden d"]
    down: Float[Array, "d hidden"]

    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, "n d"]:
        """The contribution of the layer to the tokens."""
        return (jax.nn.silu(x @ self.gate.T) * (x @ self.up.T)) @ self.down.T


class Block(eqx.Module):
    r"""One layer: attention, then a feed-forward part, each with a residual connection and a normalisation.

    With $F$ for one of the two parts and $N$ for its normalisation, `placement` says where the normalisation acts:

    - "pre": $x + F(N(x))$, as in GPT-2 and Llama, the default;
    - "post": $N(x + F(x))$, as in the first transformer;
    - "peri": $x + N'(F(N(x)))$, where $N'$ is the part's normalisation of the output;
    - "none": $x + F(x)$, without any normalisation.

    Source: Xiong et al., On Layer Normalization in the Transformer Architecture, ICML 2020, Table 1 (post, pre); Kim et
    al., Peri-LN: Revisiting Normalization Layer in the Transformer Architecture, ICML 2025, arXiv:2502.02732 (peri).
    """

    attention_norm: LayerNorm | RMSNorm | None
    attention: Attention
    feedforward_norm: LayerNorm | RMSNorm | None
    feedforward: GeluMLP | SwiGLU
    placement: str = eqx.field(static=True, default="pre")
    attention_output_norm: LayerNorm | RMSNorm | None = None
    feedforward_output_norm: LayerNorm | RMSNorm | None = None

    def __check_init__(self):
        """Raise `ValueError` for an unknown placement, or norms that are missing, not used or of another size."""
        check_fields(self)
        choice("placement", self.placement, PLACEMENTS)
        d = self.attention.query.shape[-1]
        for part in ("attention", "feedforward"):
            for name, users in ((f"{part}_norm", ("pre", "post", "peri")), (f"{part}_output_norm", ("peri",))):
                norm, used = getattr(self, name), self.placement in users
                if (norm is not None) != used:
                    must = f"be {'given' if used else 'None'} for the placement `{self.placement}`"
                    raise ArgumentError(name, must, "is given" if norm is not None else "is None")
                if norm is not None and norm.gain.shape != (d,):
                    raise ArgumentError(name, f"have {d} gains, the width of the layer", f"has {norm.gain.shape[0]}")

    def __call__(self, x: Float[Array, "n d"], *, feedforward: bool = True) -> Float[Array, "n d"]:
        """Tokens after the layer, or after only its attention with `feedforward=False`."""
        x = self._after(x, self.attention, self.attention_norm, self.attention_output_norm)
        if not feedforward:
            return x
        return self._after(x, self.feedforward, self.feedforward_norm, self.feedforward_output_norm)

    def attention_weights(self, x: Float[Array, "n d"]) -> Float[Array, "heads n n"]:
        """Attention weights of tokens that enter the layer; rows sum to one."""
        return self.attention.weights(self._entering(x, self.attention_norm))

    def with_norms(self, placement: str) -> "Block":
        """The same layer with its normalisation elsewhere; see `Transformer.with_norms`."""
        choice("placement", placement, PLACEMENTS)
        first, second, outer = self.attention_norm, self.feedforward_norm, (None, None)
        if placement == "none":
            return Block(None, self.attention, None, self.feedforward, placement)
        if first is None or second is None:
            raise ArgumentError("placement", "be `none` for a layer without norms", f"is `{placement}`")
        if placement == "peri":
            outer = self.attention_output_norm or _plain(first), self.feedforward_output_norm or _plain(second)
        return Block(first, self.attention, second, self.feedforward, placement, *outer)

    def _after(
        self, x: Float[Array, "n d"], part: Attention | GeluMLP | SwiGLU, norm: Norm, output_norm: Norm
    ) -> Float[Array, "n d"]:
        change = part(self._entering(x, norm))
        x = x + (change if output_norm is None else output_norm(change))
        return norm(x) if self.placement == "post" and norm is not None else x

    def _entering(self, x: Float[Array, "n d"], norm: Norm) -> Float[Array, "n d"]:
        return x if norm is None or self.placement == "post" else norm(x)


class Transformer(eqx.Module):
    """A decoder: embeddings of tokens and positions, a stack of layers, and an unembedding.

    Its state is the residual stream x, of shape (n, d). Weights are converted to the dtype of x. `Block` says where the
    normalisation of layers acts. As published, networks with "pre" and "peri" have a `final_norm` before the
    unembedding, and those with "peri" may have an `embedding_norm`; networks with "post" have neither.
    """

    token_embedding: Float[Array, "vocabulary d"]
    position_embedding: Float[Array, "positions d"] | None
    blocks: tuple[Block, ...]
    final_norm: LayerNorm | RMSNorm | None
    unembedding: Float[Array, "vocabulary d"]
    context: int = eqx.field(static=True)
    embedding_norm: LayerNorm | RMSNorm | None = None

    def __check_init__(self):
        """Raise `ValueError` for a network without layers, or with fewer positions than its context."""
        if not instance("blocks", self.blocks, tuple | list, "a sequence of blocks"):
            raise ArgumentError("blocks", "hold at least one layer", "is empty")
        for block in self.blocks:
            instance("blocks", block, Block, "a sequence of blocks")
        check_fields(self)
        table = self.position_embedding
        longest = math.inf if table is None else table.shape[0]
        if not 1 <= self.context <= longest:
            must = f"lie between 1 and {longest}, the number of positions"
            raise ArgumentError("context", must, f"is {self.context}")

    def embed(self, ids: ArrayLike) -> Float[Array, "n d"]:
        """Embed the tokens `ids`, at most `context` of them: the state before the first layer."""
        return self._embedded(self._checked("ids", ids))

    def apply_layers(self, x: Tokens, *, passes: Step = 1, feedforward: bool = True) -> Float[Array, "n d"]:
        """State after `passes` forward passes through all layers, with or without their feed-forward parts.

        The output of the last layer is the input of the first one. `embed` adds the positions only once.
        """
        _check_passes(passes)
        x = states_of_width("x", x, self.token_embedding.shape[1])
        blocks = _cast(self.blocks, x.dtype)

        def once(_, x: Array) -> Array:
            for block in blocks:
                x = block(x, feedforward=feedforward)
            return x

        return jax.lax.fori_loop(0, passes, once, x)

    @checked
    def states(self, x: Tokens, *, feedforward: bool = True) -> Float[Array, "layers n d"]:
        """State after every layer of one forward pass."""
        x, path = states_of_width("x", x, self.token_embedding.shape[1]), []
        for block in _cast(self.blocks, x.dtype):
            x = block(x, feedforward=feedforward)
            path.append(x)
        return jnp.stack(path)

    @checked
    def logits(self, x: Tokens) -> Float[Array, "n vocabulary"]:
        """Logits of the next token at every position."""
        x = states_of_width("x", x, self.token_embedding.shape[1])
        norm, U = _cast((self.final_norm, self.unembedding), x.dtype)
        return (x if norm is None else norm(x)) @ U.T

    @checked
    def greedy(
        self, prompt_ids: ArrayLike, num_tokens: int, *, passes: Step = 1, feedforward: bool = True
    ) -> Int[Array, " total"]:
        """Continue a prompt by `num_tokens` tokens, each the most likely next one.

        Every token takes `passes` forward passes. The prompt and all but the last new token must fit into `context`.
        Among equal logits the first counts. The function is compiled once for each total length. Traced prompts (under
        `vmap`) are not checked against the vocabulary.

        Raises:
            ValueError: if the prompt is empty or too long, has a token outside the vocabulary, or `num_tokens` or
                `passes` is out of range.
        """
        prompt = self._checked("prompt_ids", prompt_ids)
        most = self.context - prompt.shape[0] + 1  # the last new token is not an input
        if not 1 <= num_tokens <= most:
            must = f"lie between 1 and {most} for a context of {self.context} and a prompt of {prompt.shape[0]} tokens"
            raise ArgumentError("num_tokens", must, f"is {num_tokens}")
        _check_passes(passes)
        ids = jnp.concatenate([prompt, jnp.zeros(num_tokens, prompt.dtype)])
        return _continued(self, ids, jnp.asarray(prompt.shape[0]), jnp.asarray(passes), feedforward)

    @checked
    def with_norms(self, placement: str) -> "Transformer":
        """The same weights with the normalisation of every layer "pre", "post", "peri" or "none"; see `Block`.

        Norms keep their gains and biases where they move. New ones, of outputs for "peri" and before the unembedding,
        have gain 1 and bias 0. "post" and "none" drop the norm before the unembedding, as the layers' own norm, or
        none, ends them. A network that was trained with one placement has not been trained for another.

        Raises:
            ValueError: for another word, or norms asked of a network without any.

        Source: Xiong et al., ICML 2020, Table 1; Kim et al., ICML 2025, arXiv:2502.02732.
        """
        blocks = tuple(block.with_norms(placement) for block in self.blocks)
        last, final = blocks[-1].feedforward_norm, None
        if placement in ("pre", "peri") and last is not None:
            final = self.final_norm or _plain(last)
        entry = self.embedding_norm if placement == "peri" else None
        return Transformer(
            self.token_embedding, self.position_embedding, blocks, final, self.unembedding, self.context, entry
        )

    def _embedded(self, ids: Int[Array, " n"]) -> Float[Array, "n d"]:
        x = self.token_embedding[ids]
        x = x if self.position_embedding is None else x + self.position_embedding[: ids.shape[0]]
        return x if self.embedding_norm is None else self.embedding_norm(x)

    def _checked(self, name: str, ids: ArrayLike) -> Int[Array, " n"]:
        shape, vocabulary = reals(name, ids).shape, self.token_embedding.shape[0]
        if len(shape) != 1 or shape[0] == 0:
            raise ArgumentError(name, "be one sequence of at least one token", f"has shape {shape}")
        if shape[0] > self.context:
            raise ArgumentError(name, f"have at most {self.context} tokens, the context", f"has {shape[0]}")
        if not isinstance(ids, Tracer):
            check_ids(name, np.asarray(ids), vocabulary)
        return jnp.asarray(ids).astype(int)


class TransformerMap(AbstractMap):
    """The layers of a network as a discrete-time map: step k applies layer k modulo the number of layers."""

    transformer: Transformer
    feedforward: bool = eqx.field(static=True, default=True)
    space: AbstractSpace = Euclidean()

    def __check_init__(self):
        """Raise `ValueError` for anything else than a network."""
        instance("transformer", self.transformer, Transformer, "a `Transformer`")

    def step(self, k: Step, x: State) -> State:
        """State after layer `k`."""
        blocks = _cast(self.transformer.blocks, x.dtype)
        layers = [lambda x, block=block: block(x, feedforward=self.feedforward) for block in blocks]
        return jax.lax.switch(jnp.asarray(k) % len(layers), layers, x)


def check_ids(name: str, ids: np.ndarray, vocabulary: int) -> None:
    """Raise `ValueError` unless `ids` are integers from 0 to `vocabulary` - 1."""
    if not np.issubdtype(ids.dtype, np.integer):
        raise ArgumentError(name, "be whole numbers", f"has entries of type {ids.dtype}")
    unknown = ids[(ids < 0) | (ids >= vocabulary)]
    if unknown.size:
        must = f"lie between 0 and {vocabulary - 1}, the numbers of the vocabulary"
        raise ArgumentError(name, must, f"holds {unknown[0]}")


def states_of_width(name: str, x: Any, width: int) -> Float[Array, "n d"]:
    """Convert the states of tokens to an array; raise `ValueError` unless it has the shape (n, width)."""
    found = jnp.asarray(reals(name, x))
    if found.ndim != 2 or found.shape[1] != width:
        raise ArgumentError(name, f"have shape (n, {width}), a row for each token", f"has {found.shape}")
    return found if jnp.issubdtype(found.dtype, jnp.floating) else found.astype(float)


@eqx.filter_jit
def _continued(
    transformer: Transformer, ids: Int[Array, " total"], start: Step, passes: Step, feedforward: bool
) -> Int[Array, " total"]:
    """Fill `ids` with tokens generated from `start` on; since attention is causal, later zeros have no effect."""

    def extend(i: Array, ids: Array) -> Array:
        x = transformer.apply_layers(transformer._embedded(ids[:-1]), passes=passes, feedforward=feedforward)
        scores = transformer.logits(jax.lax.dynamic_slice_in_dim(x, i - 1, 1))
        return ids.at[i].set(jnp.argmax(scores[0]))

    return jax.lax.fori_loop(start, ids.shape[0], extend, ids)


def projected(W: Float[Array, "heads head_dim d"], b: Float[Array, "heads head_dim"] | None, x: Tokens) -> Heads:
    """Queries, keys or values of all heads, W_h x_i + b_h."""
    y = jnp.einsum("hmd,nd->hnm", W, x)
    return y if b is None else y + b[:, None]


def rotated(x: Heads, base: float) -> Heads:
    """Queries or keys with the rotary embedding applied; see `Attention`."""
    n, width = x.shape[1:]
    angle = np.arange(n)[:, None] * base ** (-np.arange(0, width, 2) / width)
    c, s = (jnp.asarray(turn, x.dtype)[None] for turn in (np.cos(angle), np.sin(angle)))
    a, b = x[..., 0::2], x[..., 1::2]
    return jnp.stack([a * c - b * s, a * s + b * c], axis=-1).reshape(x.shape)


def _plain(norm: LayerNorm | RMSNorm) -> LayerNorm | RMSNorm:
    """A norm of the same kind, with gain 1 and bias 0."""
    one = jnp.ones_like(norm.gain)
    return RMSNorm(one, norm.epsilon) if isinstance(norm, RMSNorm) else LayerNorm(one, 0 * one, norm.epsilon)


def _cast(tree: Tree, dtype: DTypeLike) -> Tree:
    return jax.tree.map(lambda a: a.astype(dtype), tree)


def _check_passes(passes: Step) -> None:
    if not isinstance(passes, Tracer):
        integer("passes", passes if not isinstance(passes, jax.Array) else np.asarray(passes)[()], least=1)
