"""Small random multirate networks, all parameters away from their initial values, and their intermediate states."""

import math
from dataclasses import replace
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from dynsim._core.types import ArrayLike, Key
from dynsim.keys import numpy_rng
from dynsim.networks.multirate.config import MultirateConfig
from dynsim.networks.multirate.network import MultirateNetwork, draw_multirate, with_gates
from dynsim.networks.multirate.pooling import causal_upsample, leaking_upsample
from dynsim.systems.tokens.interactions.masks import AbstractMask

SMALL = MultirateConfig(vocabulary=11, width=16, query_heads=4, key_heads=2, hidden=24, layers_after=1, block=4)
TWO_ROUNDS = replace(SMALL, rounds=2, tied=False)
LENGTH = 10  # tokens: two blocks and a last block of two
GATES = (0.2, 0.9)  # range of random gates
SHAPE_KEY = jax.random.key(0)  # for tracing `draw_multirate`, of which only the shapes are used


class NetworkCase(NamedTuple):
    """A configuration and a number of tokens, with what makes it a hard instance."""

    name: str
    n: int
    config: MultirateConfig


GENERIC = NetworkCase("two rounds of different weights, a shorter last block", LENGTH, TWO_ROUNDS)
CASES = (
    NetworkCase("three rounds of the same weights", 9, replace(SMALL, rounds=3, shared_rounds=True, block=2)),
    NetworkCase(
        "two slow layers, a learned projector, three passes, whole blocks",
        8,
        replace(SMALL, slow_layers=2, projector="learned", projector_hidden=12, passes=3),
    ),
    NetworkCase("secant method of three passes", 7, replace(SMALL, block=3, passes=3, equilibrium="anderson")),
    NetworkCase("fewer tokens than a block", 3, SMALL),
    NetworkCase("blocks of one token", 5, replace(SMALL, block=1)),
    NetworkCase("one token", 1, replace(SMALL, block=1)),
)


def drawn_cases(key: Key, count: int) -> list[NetworkCase]:
    """Return a number of different random ones of `CASES`."""
    return [CASES[k] for k in numpy_rng(key, "cases").permutation(len(CASES))[:count]]


def network(
    key: Key, config: MultirateConfig = SMALL, *, gate: float | None = None, scale: float = 1.0
) -> MultirateNetwork:
    """Return a random float64 network, with gates at `gate`, or random ones in `GATES` that differ from round to round.

    Matrices have normal entries of variance `scale`^2 / fan-in, gains and biases are uniform in (0.3, 1.2).
    """
    rng = numpy_rng(key)

    def drawn(leaf: jax.ShapeDtypeStruct) -> Array:
        if not jnp.issubdtype(leaf.dtype, jnp.inexact):
            return jnp.array(False)
        if len(leaf.shape) > 1:
            return jnp.asarray(scale * rng.normal(size=leaf.shape) / math.sqrt(leaf.shape[-1]))
        return jnp.asarray(rng.uniform(0.3, 1.2, leaf.shape))

    shapes = eqx.filter_eval_shape(draw_multirate, SHAPE_KEY, config, dtype=jnp.float64)
    model = jax.tree.map(drawn, shapes)
    if gate is not None or not model.rounds:
        return model if gate is None else with_gates(model, gate)
    gates = [jnp.asarray(value) for value in numpy_rng(key, "gates").uniform(*GATES, len(model.rounds))]
    return eqx.tree_at(lambda m: [r.gate for r in m.rounds], model, gates)


def symbols(key: Key, n: int = LENGTH, config: MultirateConfig = SMALL) -> Int[np.ndarray, " n"]:
    """Return a random sequence of n symbols of the vocabulary."""
    return numpy_rng(key).integers(0, config.vocabulary, n)


@eqx.filter_jit
def scores(model: MultirateNetwork, ids: ArrayLike) -> Float[Array, "n vocabulary"]:
    """Return the logits of a network, compiled once for all weights, gates and symbols."""
    return model(ids)


@eqx.filter_jit
def before_training(key: Key) -> MultirateNetwork:
    """Return a float64 network of the configuration `TWO_ROUNDS` as it is before training."""
    return draw_multirate(key, TWO_ROUNDS, dtype=jnp.float64)


class NextSeen(AbstractMask):
    """The causal mask shifted by one: a token attends to the next token, too."""

    def __call__(self, n: int) -> Bool[Array, "n n"]:
        """Return a lower triangular matrix of ones with the first diagonal above it."""
        return jnp.tril(jnp.ones((n, n), bool), 1)


def with_slow_mask(model: MultirateNetwork, mask: AbstractMask) -> MultirateNetwork:
    """Return the network with another mask in its slow layers."""
    masked = lambda layer: replace(layer, attention=replace(layer.attention, mask=mask))
    rounds = tuple(replace(r, slow=tuple(map(masked, r.slow))) for r in model.rounds)
    return replace(model, rounds=rounds)


class RoundStates(NamedTuple):
    """The intermediate states of one round.

    x is the state before it, y the slow state, c the slow context of each token, `injected` the term added to x,
    `after` the state after the round, and `without_injection` that state if nothing is injected, Post(x).
    """

    x: Float[Array, "n d"]
    y: Float[Array, "blocks d"]
    c: Float[Array, "n d"]
    injected: Float[Array, "n d"]
    after: Float[Array, "n d"]
    without_injection: Float[Array, "n d"]


class Stages(NamedTuple):
    """The intermediate states of a network, round by round, and its logits."""

    rounds: tuple[RoundStates, ...]
    logits: Float[Array, "n vocabulary"]


@eqx.filter_jit
def stages(model: MultirateNetwork, ids: ArrayLike) -> Stages:
    """Return the intermediate states of a network, compiled once for all weights, gates and symbols."""
    x = model.embed(ids)
    for layer in model.before:
        x = layer(x)
    found = []
    for k in range(model.num_rounds):
        r = model.rounds[k % len(model.rounds)]
        y, after = r.slow_state(x), r(x)
        c = causal_upsample(y, x.shape[0], block=r.block)
        found.append(RoundStates(x, y, c, r.forcing(x), after, r.fast_map(x, jnp.zeros_like(x))))
        x = after
    return Stages(tuple(found), model(ids))


@eqx.filter_jit
def leaking_logits(model: MultirateNetwork, ids: ArrayLike) -> Float[Array, "n vocabulary"]:
    """Return the logits of a network in which each token reads the slow state of its own block."""
    x = model.embed(ids)
    for layer in model.before:
        x = layer(x)
    for k in range(model.num_rounds):
        r = model.rounds[k % len(model.rounds)]
        c = leaking_upsample(r.slow_state(x), x.shape[0], block=r.block)
        x = r.fast_map(x, r.gate * r.projector(r.injection_norm(c)))
    return model.logits(x)
