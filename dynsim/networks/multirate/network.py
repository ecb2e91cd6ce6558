"""The multirate network: fast layers on tokens, slow layers on block means, and a gated coupling of both."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.typing import DTypeLike
from jaxtyping import Array, Bool, Float

from dynsim._core.checked import checked
from dynsim._core.types import ArrayLike, Key, Scalar
from dynsim._core.validation import float_dtype, reals
from dynsim.errors import ArgumentError
from dynsim.networks.decoder.transformer import RMSNorm, check_ids, states_of_width
from dynsim.networks.multirate.config import MultirateConfig
from dynsim.networks.multirate.equilibrium import AbstractFixedPointMethod, Anderson, FixedPointIteration
from dynsim.networks.multirate.layers import (
    GroupedLayer,
    LearnedProjector,
    LinearProjector,
    draw_layer,
    draw_matrix,
    unit_norm,
)
from dynsim.networks.multirate.pooling import causal_pool, causal_upsample
from dynsim.systems.tokens.interactions.masks import AbstractMask, Causal, Full

Tokens = Float[Array, "n d"]


class Round(eqx.Module):
    r"""One round of slow-fast coupling: pooling, slow layers, upsampling, injection, fast layers.

    $$
        y = \mathrm{Slow}(\mathrm{pool}_P(x)), \quad c_i = y_{\lfloor i/P \rfloor - 1}, \quad
        x \leftarrow \mathrm{Post}\bigl(x + \alpha\, \mathrm{proj}(\mathrm{RMSNorm}(c))\bigr)
    $$

    Source: MULTIRATE, Proposition 9, (12) to (16).

    Attributes:
        slow: the layers on the pooled sequence.
        injection_norm: RMSNorm of the context, which maps a zero context to zero.
        projector: proj, or the learned projector of Section 11.5.
        gate: alpha.
        gate_frozen: whether the gradient of the gate is zero; an array, so that both cases share a compiled program.
        after: the layers of Post.
        block: P.
        method: the method that approximates the fixed point of x = Post(x + injection).
    """

    slow: tuple[GroupedLayer, ...]
    injection_norm: RMSNorm
    projector: LinearProjector | LearnedProjector
    gate: Float[Array, ""]
    gate_frozen: Bool[Array, ""]
    after: tuple[GroupedLayer, ...]
    block: int = eqx.field(static=True)
    method: AbstractFixedPointMethod = FixedPointIteration()

    def slow_state(self, x: Tokens) -> Float[Array, "blocks d"]:
        """Output y of the slow layers, one row for each block of tokens."""
        return _through(self.slow, causal_pool(x, block=self.block))

    def forcing(self, x: Tokens) -> Tokens:
        """Gated injection into each token, which is zero in the first block."""
        c = causal_upsample(self.slow_state(x), x.shape[0], block=self.block)
        gate = jnp.where(self.gate_frozen, jax.lax.stop_gradient(self.gate), self.gate)
        return gate * self.projector(self.injection_norm(c))

    def fast_map(self, x: Tokens, forcing: Tokens) -> Tokens:
        """One pass through the fast layers with a fixed injection, Post(x + forcing)."""
        return _through(self.after, x + forcing)

    def __call__(self, x: Tokens) -> Tokens:
        """Tokens after the round."""
        forcing = self.forcing(x)
        return self.method(lambda z: self.fast_map(z, forcing), x)

    def with_residual(self, x: Tokens) -> tuple[Tokens, Scalar]:
        """Tokens after the round, and the mean squared entry of the fixed-point residual.

        Source: MULTIRATE, Section 11.4.
        """
        forcing = self.forcing(x)
        x = self.method(lambda z: self.fast_map(z, forcing), x)
        return x, jnp.mean((self.fast_map(x, forcing) - x) ** 2)


class LogitsAndResidual(NamedTuple):
    """Logits of the next symbol at every position, and the mean squared residual of the rounds, or 0."""

    logits: Float[Array, "n vocabulary"]
    residual: Scalar


class MultirateNetwork(eqx.Module):
    """A causal language model with fast and slow layers.

    Methods take one sequence of at least one symbol; use `jax.vmap` for batches. In a sequence no longer than a block
    no token has a context, so the network acts like the frozen one. `rounds` contains a single round if all rounds
    share their weights, and `num_rounds` is their number.

    Source: MULTIRATE, Proposition 9.
    """

    token_embedding: Float[Array, "vocabulary d"]
    before: tuple[GroupedLayer, ...]
    rounds: tuple[Round, ...]
    final_norm: RMSNorm
    unembedding: Float[Array, "vocabulary d"] | None
    num_rounds: int = eqx.field(static=True)

    def embed(self, ids: ArrayLike) -> Tokens:
        """Embed the symbols `ids`: the state before the first layer.

        Raises:
            ValueError: if `ids` is not one sequence of symbols of the vocabulary, unless it is traced.
        """
        shape = reals("ids", ids).shape
        if len(shape) != 1 or shape[0] == 0:
            raise ArgumentError("ids", "be one sequence of at least one symbol", f"has shape {shape}")
        if not isinstance(ids, Tracer):
            check_ids("ids", np.asarray(ids), self.token_embedding.shape[0])
        return self.token_embedding[jnp.asarray(ids).astype(int)]

    def apply_layers(self, x: Tokens) -> Tokens:
        """State after all layers and rounds."""
        x = _through(self.before, states_of_width("x", x, self.token_embedding.shape[1]))
        for k in range(self.num_rounds):
            x = self.rounds[k % len(self.rounds)](x)
        return x

    def logits(self, x: Tokens) -> Float[Array, "n vocabulary"]:
        """Logits of the next symbol at every position, from the state after all layers."""
        U = self.token_embedding if self.unembedding is None else self.unembedding
        x = states_of_width("x", x, U.shape[1])
        return self.final_norm(x) @ U.T

    def __call__(self, ids: ArrayLike) -> Float[Array, "n vocabulary"]:
        """Logits of the next symbol at every position."""
        return self.logits(self.apply_layers(self.embed(ids)))

    def logits_and_residual(self, ids: ArrayLike) -> LogitsAndResidual:
        """Logits, and the mean squared fixed-point residual of the rounds."""
        x, residuals = _through(self.before, self.embed(ids)), []
        for k in range(self.num_rounds):
            x, residual = self.rounds[k % len(self.rounds)].with_residual(x)
            residuals.append(residual)
        mean = jnp.mean(jnp.stack(residuals)) if residuals else jnp.zeros((), x.dtype)
        return LogitsAndResidual(self.logits(x), mean)

    @property
    def gates(self) -> Float[Array, " rounds"]:
        """The gates alpha of the rounds; a single one if all rounds share their weights."""
        return jnp.stack([r.gate for r in self.rounds]) if self.rounds else jnp.zeros(0, self.token_embedding.dtype)


@checked
def with_gates(model: MultirateNetwork, gate: float) -> MultirateNetwork:
    """The network with all gates set to `gate`.

    Args:
        model: the network.
        gate: the value of all gates.

    Example:
        >>> import dynsim as ds
        >>> config = ds.networks.MultirateConfig(vocabulary=3, width=8, hidden=4, block=2)
        >>> model = ds.networks.draw_multirate(ds.random_key(0, "model"), config)
        >>> [float(part.gate) for part in ds.networks.with_gates(model, 0.5).rounds]
        [0.5]
    """
    new = [jnp.full_like(r.gate, gate) for r in model.rounds]
    return eqx.tree_at(lambda m: [r.gate for r in m.rounds], model, new)


def frozen(model: MultirateNetwork) -> MultirateNetwork:
    """The network without coupling: its gates are zero and are not trained.

    Source: MULTIRATE, Proposition 23.
    """
    uncoupled = with_gates(model, 0.0)
    return eqx.tree_at(lambda m: [r.gate_frozen for r in m.rounds], uncoupled, [jnp.array(True) for _ in model.rounds])


def num_parameters(model: MultirateNetwork) -> int:
    """Number of trainable parameters, including gates."""
    return sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(model, eqx.is_inexact_array)))


@checked
def draw_multirate(
    key: Key, config: MultirateConfig = MultirateConfig(), *, dtype: DTypeLike = jnp.float32
) -> MultirateNetwork:
    """Initialise a network with all gates zero.

    Matrices have independent normal entries of variance 1 / (number of inputs). For matrices whose outputs are added to
    the tokens, the variance is divided by the number of additions. Embeddings have standard deviation 0.02, so that
    predictions are nearly uniform. Biases are zero and gains one. The paper does not specify its initialisation.

    Args:
        key: the random key.
        config: the sizes of the network.
        dtype: the dtype of all parameters.

    Example:
        >>> import dynsim as ds
        >>> config = ds.networks.MultirateConfig(vocabulary=3, width=8, hidden=4, block=2)
        >>> model = ds.networks.draw_multirate(ds.random_key(0, "model"), config)
        >>> model.token_embedding.shape, [float(part.gate) for part in model.rounds]
        ((3, 8), [0.0])
    """
    c, (embedding, fast, slow, head) = config, jax.random.split(key, 4)
    mask = Causal() if c.slow_mask == "causal" else Full()
    dtype = float_dtype("dtype", dtype)
    table = lambda key: 0.02 * jax.random.normal(key, (c.vocabulary, c.width), dtype)
    before = tuple(_layer(jax.random.fold_in(fast, k), c, Causal(), dtype) for k in range(c.layers_before))
    distinct = min(c.rounds, 1) if c.shared_rounds else c.rounds
    rounds = tuple(_round(jax.random.fold_in(slow, r), c, mask, dtype) for r in range(distinct))
    unembedding = None if c.tied else table(head)
    return MultirateNetwork(table(embedding), before, rounds, unit_norm(c.width, dtype), unembedding, c.rounds)


def _round(key: Key, c: MultirateConfig, mask: AbstractMask, dtype: DTypeLike) -> Round:
    slow, projector, after = jax.random.split(key, 3)
    return Round(
        tuple(_layer(jax.random.fold_in(slow, k), c, mask, dtype) for k in range(c.slow_layers)),
        unit_norm(c.width, dtype),
        _projector(projector, c, dtype),
        jnp.zeros((), dtype),
        jnp.array(False),
        tuple(_layer(jax.random.fold_in(after, k), c, Causal(), dtype) for k in range(c.layers_after)),
        c.block,
        Anderson(c.passes) if c.equilibrium == "anderson" else FixedPointIteration(c.passes),
    )


def _projector(key: Key, c: MultirateConfig, dtype: DTypeLike) -> LinearProjector | LearnedProjector:
    d, hidden = c.width, c.projector_hidden
    if c.projector == "linear":
        return LinearProjector(draw_matrix(key, (d, d), inputs=d, dtype=dtype))
    inner, outer = jax.random.split(key)
    return LearnedProjector(
        draw_matrix(inner, (hidden, d), inputs=d, dtype=dtype),
        draw_matrix(outer, (d, hidden), inputs=hidden, dtype=dtype),
    )


def _layer(key: Key, c: MultirateConfig, mask: AbstractMask, dtype: DTypeLike) -> GroupedLayer:
    return draw_layer(
        key,
        c.width,
        heads=c.query_heads,
        key_heads=c.key_heads,
        hidden=c.hidden,
        mask=mask,
        depth=c.depth,
        rotary_base=c.rotary_base,
        dtype=dtype,
    )


def _through(layers: tuple[GroupedLayer, ...], x: Tokens) -> Tokens:
    for layer in layers:
        x = layer(x)
    return x
