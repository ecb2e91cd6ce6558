"""The multirate network: layers on tokens, layers on means of blocks of them, and a gate from the slow to the fast."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.typing import DTypeLike
from jaxtyping import Array, Bool, Float
from numpy.typing import ArrayLike

from dynsim._types import Key, Scalar
from dynsim.errors import argument_error
from dynsim.networks.decoder.transformer import RMSNorm, check_ids
from dynsim.networks.multirate.config import MultirateConfig
from dynsim.networks.multirate.equilibrium import AbstractApproximation, Anderson, Passes
from dynsim.networks.multirate.layers import (
    GroupedLayer,
    LearnedProjector,
    LinearProjector,
    draw_layer,
    draw_matrix,
    unit_norm,
)
from dynsim.networks.multirate.pooling import causal_pool, causal_upsample
from dynsim.systems.tokens.masks import AbstractMask, Causal, Full

Tokens = Float[Array, "n d"]


class Round(eqx.Module):
    r"""One exchange between the two rates: pool, slow layers, upsample, inject, fast layers.

    $$
        y = \mathrm{Slow}(\mathrm{pool}_P(x)), \quad c_i = y_{\lfloor i/P \rfloor - 1}, \quad
        x \leftarrow \mathrm{Post}\bigl(x + \alpha\, \mathrm{proj}(\mathrm{RMSNorm}(c))\bigr)
    $$

    Source: MULTIRATE, Proposition 9, (12) to (16).

    Attributes:
        slow: the layers on the pooled sequence.
        injection_norm: RMSNorm of the context; no context stays none.
        projector: proj, or the learned projector of Section 11.5.
        gate: alpha.
        held: whether the gate gets no gradient. An array, so that both variants are one compiled program.
        after: Post.
        block: P.
        approximation: how Post and injection are applied towards x = Post(x + injection).
    """

    slow: tuple[GroupedLayer, ...]
    injection_norm: RMSNorm
    projector: LinearProjector | LearnedProjector
    gate: Float[Array, ""]
    held: Bool[Array, ""]
    after: tuple[GroupedLayer, ...]
    block: int = eqx.field(static=True)
    approximation: AbstractApproximation = Passes()

    def slow_state(self, x: Tokens) -> Float[Array, "blocks d"]:
        """Return y, one row for each block of tokens."""
        return _through(self.slow, causal_pool(x, block=self.block))

    def forcing(self, x: Tokens) -> Tokens:
        """Return what is injected, the gate included; zero in the first block."""
        c = causal_upsample(self.slow_state(x), x.shape[0], block=self.block)
        gate = jnp.where(self.held, jax.lax.stop_gradient(self.gate), self.gate)
        return gate * self.projector(self.injection_norm(c))

    def once(self, x: Tokens, forcing: Tokens) -> Tokens:
        """Return Post(x + forcing), one pass with the context held."""
        return _through(self.after, x + forcing)

    def __call__(self, x: Tokens) -> Tokens:
        """Return the tokens after the round."""
        forcing = self.forcing(x)
        return self.approximation(lambda z: self.once(z, forcing), x)

    def with_residual(self, x: Tokens) -> tuple[Tokens, Scalar]:
        """Return the tokens after the round, and the mean square of what one more pass would change in a coordinate.

        Source: MULTIRATE, Section 11.4.
        """
        forcing = self.forcing(x)
        x = self.approximation(lambda z: self.once(z, forcing), x)
        return x, jnp.mean((self.once(x, forcing) - x) ** 2)


class Read(NamedTuple):
    """Scores of the next symbol at every token, and the mean residual of the rounds (0 without rounds)."""

    logits: Float[Array, "n vocabulary"]
    residual: Scalar


class MultirateNetwork(eqx.Module):
    """A causal language model with two rates.

    Everything works on one sequence, of any length from one symbol on; batches are for `jax.vmap`. A sequence shorter
    than a block has no context: its network is the frozen one. `rounds` holds one round if all share their weights.

    Source: MULTIRATE, Proposition 9.
    """

    token_embedding: Float[Array, "vocabulary d"]
    before: tuple[GroupedLayer, ...]
    rounds: tuple[Round, ...]
    final_norm: RMSNorm
    unembedding: Float[Array, "vocabulary d"] | None
    num_rounds: int = eqx.field(static=True)

    def embed(self, ids: ArrayLike) -> Tokens:
        """Return the state in which the network starts on the symbols `ids`.

        Raises:
            ValueError: if `ids` is not one sequence of symbols of the vocabulary; traced ones are not looked at.
        """
        shape = np.shape(ids)
        if len(shape) != 1 or shape[0] == 0:
            raise argument_error("ids", "be one sequence of at least one symbol", f"has shape {shape}")
        if not isinstance(ids, Tracer):
            check_ids("ids", np.asarray(ids), self.token_embedding.shape[0])
        return self.token_embedding[jnp.asarray(ids).astype(int)]

    def apply_layers(self, x: Tokens) -> Tokens:
        """Return the state after all layers and rounds."""
        x = _through(self.before, x)
        for k in range(self.num_rounds):
            x = self.rounds[k % len(self.rounds)](x)
        return x

    def logits(self, x: Tokens) -> Float[Array, "n vocabulary"]:
        """Return the scores of the next symbol that every token reads out of its state."""
        U = self.token_embedding if self.unembedding is None else self.unembedding
        return self.final_norm(x) @ U.T

    def __call__(self, ids: ArrayLike) -> Float[Array, "n vocabulary"]:
        """Return the scores of the next symbol at every token."""
        return self.logits(self.apply_layers(self.embed(ids)))

    def read(self, ids: ArrayLike) -> Read:
        """Return the scores, and how far the rounds are from rest."""
        x, residuals = _through(self.before, self.embed(ids)), []
        for k in range(self.num_rounds):
            x, residual = self.rounds[k % len(self.rounds)].with_residual(x)
            residuals.append(residual)
        mean = jnp.mean(jnp.stack(residuals)) if residuals else jnp.zeros((), x.dtype)
        return Read(self.logits(x), mean)

    @property
    def gates(self) -> Float[Array, " rounds"]:
        """The gates of the rounds; one number if all rounds share their weights."""
        return jnp.stack([r.gate for r in self.rounds]) if self.rounds else jnp.zeros(0, self.token_embedding.dtype)


def with_gates(model: MultirateNetwork, gate: float) -> MultirateNetwork:
    """Return the network with all gates at a value."""
    if not model.rounds:
        return model
    new = [jnp.full_like(r.gate, gate) for r in model.rounds]
    return eqx.tree_at(lambda m: [r.gate for r in m.rounds], model, new)


def frozen(model: MultirateNetwork) -> MultirateNetwork:
    """Return the network without coupling: its gates are zero and get no gradient.

    Source: MULTIRATE, Proposition 23.
    """
    closed = with_gates(model, 0.0)
    if not model.rounds:
        return closed
    return eqx.tree_at(lambda m: [r.held for r in m.rounds], closed, [jnp.array(True) for _ in model.rounds])


def num_parameters(model: MultirateNetwork) -> int:
    """Return how many floating numbers there are, gates included."""
    return sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(model, eqx.is_inexact_array)))


def draw_multirate(
    key: Key, config: MultirateConfig = MultirateConfig(), *, dtype: DTypeLike = jnp.float32
) -> MultirateNetwork:
    """Return a network before training, its gates at zero.

    Matrices are normal with the reciprocal of their inputs as variance, those that add to the tokens smaller by the
    number of additions; the embedding has deviation 0.02, so that the first guess is nearly uniform; biases are zero
    and gains one. The paper does not say how it starts.
    """
    c, (embedding, fast, slow, head) = config, jax.random.split(key, 4)
    mask = Causal() if c.slow_mask == "causal" else Full()
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
        Anderson(c.passes) if c.equilibrium == "anderson" else Passes(c.passes),
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
