"""Small random multirate networks, all parameters away from their initial values, and their intermediate states."""

import math
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from numpy.typing import ArrayLike

from analysis.claims.multirate.instances.random_numbers import numpy_rng
from dynsim._types import Key
from dynsim.networks.multirate.config import MultirateConfig
from dynsim.networks.multirate.network import MultirateNetwork, draw_multirate, with_gates
from dynsim.networks.multirate.pooling import causal_upsample

SMALL = MultirateConfig(vocabulary=11, width=16, query_heads=4, key_heads=2, hidden=24, layers_after=1, block=4)
LENGTH = 10  # tokens: two blocks and a last block of two
OPEN = 1.0  # value of an open gate
SHAPE_KEY = jax.random.key(0)  # for tracing `draw_multirate`, of which only the shapes are used


def network(key: Key, config: MultirateConfig = SMALL, *, gate: float = OPEN, scale: float = 1.0) -> MultirateNetwork:
    """Return a random float64 network with gates at `gate`.

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
    return with_gates(jax.tree.map(drawn, shapes), gate)


def symbols(key: Key, n: int = LENGTH, config: MultirateConfig = SMALL) -> Int[np.ndarray, " n"]:
    """Return a random sequence of n symbols of the vocabulary."""
    return numpy_rng(key).integers(0, config.vocabulary, n)


class Stages(NamedTuple):
    """The intermediate states of a network of one round.

    x is the state before the round, y the slow state, c the slow context of each token, `injected` the term added to x,
    `after` the state after the round, `without_injection` that state if nothing is injected, Post(x), and `logits` the
    output.
    """

    x: Float[Array, "n d"]
    y: Float[Array, "blocks d"]
    c: Float[Array, "n d"]
    injected: Float[Array, "n d"]
    after: Float[Array, "n d"]
    without_injection: Float[Array, "n d"]
    logits: Float[Array, "n vocabulary"]


@eqx.filter_jit
def stages(model: MultirateNetwork, ids: ArrayLike) -> Stages:
    """Return the intermediate states of a network of one round, compiled once for all weights, gates and symbols."""
    x = model.embed(ids)
    for layer in model.before:
        x = layer(x)
    (exchange,) = model.rounds
    y, injected = exchange.slow_state(x), exchange.forcing(x)
    without_injection = exchange.fast_map(x, jnp.zeros_like(x))
    c = causal_upsample(y, x.shape[0], block=exchange.block)
    return Stages(x, y, c, injected, exchange(x), without_injection, model(ids))
