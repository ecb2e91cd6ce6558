"""Small networks to try statements on, every number away from where it starts, and what their parts return."""

import math
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from numpy.typing import ArrayLike

from dynsim._types import Key
from dynsim.networks.multirate.config import MultirateConfig
from dynsim.networks.multirate.network import MultirateNetwork, draw_multirate, with_gates
from dynsim.networks.multirate.pooling import causal_upsample

SMALL = MultirateConfig(vocabulary=11, width=16, query_heads=4, key_heads=2, hidden=24, layers_after=1, block=4)
LENGTH = 10  # two blocks and a tail of two
OPEN = 1.0
START = jax.random.key(0)  # of shapes alone


def network(key: Key, config: MultirateConfig = SMALL, *, gate: float = OPEN, scale: float = 1.0) -> MultirateNetwork:
    """Return a float64 network, its entries normal with variance `scale` squared over the inputs, gains in (0.3, 1.2).

    NumPy draws, since JAX would compile a draw for each shape.
    """
    rng = generator(key)

    def drawn(leaf: jax.ShapeDtypeStruct) -> Array:
        if not jnp.issubdtype(leaf.dtype, jnp.inexact):
            return jnp.array(False)
        if len(leaf.shape) > 1:
            return jnp.asarray(scale * rng.normal(size=leaf.shape) / math.sqrt(leaf.shape[-1]))
        return jnp.asarray(rng.uniform(0.3, 1.2, leaf.shape))

    shapes = eqx.filter_eval_shape(draw_multirate, START, config, dtype=jnp.float64)
    return with_gates(jax.tree.map(drawn, shapes), gate)


def symbols(key: Key, n: int = LENGTH, config: MultirateConfig = SMALL) -> Int[np.ndarray, " n"]:
    """Return a sequence of symbols."""
    return generator(key).integers(0, config.vocabulary, n)


def generator(key: Key) -> np.random.Generator:
    """Return NumPy's generator, seeded by a key."""
    return np.random.default_rng(np.asarray(jax.random.key_data(key)))


class Stages(NamedTuple):
    """What a network of one round passes through.

    That is the state x before the round, the slow state y, the context c of each token, what is injected, the state
    after the round, Post of x alone, and the logits.
    """

    x: Float[Array, "n d"]
    y: Float[Array, "blocks d"]
    c: Float[Array, "n d"]
    injected: Float[Array, "n d"]
    after: Float[Array, "n d"]
    alone: Float[Array, "n d"]
    logits: Float[Array, "n vocabulary"]


@eqx.filter_jit
def stages(model: MultirateNetwork, ids: ArrayLike) -> Stages:
    """Return the stages of a network of one round; one program for all weights, gates and symbols."""
    x = model.embed(ids)
    for layer in model.before:
        x = layer(x)
    (exchange,) = model.rounds
    y, injected = exchange.slow_state(x), exchange.forcing(x)
    alone = exchange.once(x, jnp.zeros_like(x))
    c = causal_upsample(y, x.shape[0], block=exchange.block)
    return Stages(x, y, c, injected, exchange(x), alone, model(ids))
