"""Whether a network reads the future: by its derivatives, and bit by bit."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int
from numpy.typing import ArrayLike

from dynsim.errors import argument_error
from dynsim.networks.decoder.transformer import check_ids
from dynsim.networks.multirate.network import MultirateNetwork


def leak_matrix(model: MultirateNetwork, ids: ArrayLike) -> Float[Array, "n n"]:
    r"""Return how much a logit at symbol s feels the embedding of symbol t; above the diagonal t is in its future.

    $$ L_{st} = \max_{v, m} \left| \frac{\partial\, \mathrm{logits}_{s v}}{\partial x_{t m}} \right| $$

    x is the embedded sequence. A causal network has exact zeros above the diagonal: a hidden symbol has weight exactly
    zero, and zero times its finite derivative is zero. The embeddings are not the symbols: where attention is flat in
    an embedding, symbols may still matter (`felt` changes them).

    Source: MULTIRATE, Proposition 21.
    """
    return _leaks(model, model.embed(ids))


@eqx.filter_jit
def _leaks(model: MultirateNetwork, x: Float[Array, "n d"]) -> Float[Array, "n n"]:
    read = lambda x: model.logits(model.apply_layers(x))
    n, d = x.shape

    def column(t: Array) -> Array:
        along = lambda m: jax.jvp(read, (x,), (jnp.zeros_like(x).at[t, m].set(1),))[1]
        return jnp.max(jnp.abs(jax.vmap(along)(jnp.arange(d))), axis=(0, 2))

    return jax.lax.map(column, jnp.arange(n)).T


def worst_leak(matrix: Float[Array, "n n"]) -> Float[Array, ""]:
    """Return the largest entry above the diagonal of a leak matrix; zero for a causal network."""
    return jnp.max(jnp.triu(matrix, 1))


def felt(model: MultirateNetwork, ids: ArrayLike, position: int, symbol: int) -> Bool[np.ndarray, " n"]:
    """Return at which symbols some bit of a logit changes when `symbol` is put at `position`.

    Both sequences go through one compiled program.

    Raises:
        ValueError: if the position is not in the sequence, or the symbol is not in the vocabulary or already there.
    """
    known = np.asarray(ids)
    model.embed(known)
    if not 0 <= position < len(known):
        raise argument_error("position", f"lie between 0 and {len(known) - 1}", f"is {position}")
    check_ids("symbol", np.asarray([symbol]), model.token_embedding.shape[0])
    if known[position] == symbol:
        raise argument_error("symbol", f"differ from the one at position {position}", f"is {symbol} as well")
    changed = known.copy()
    changed[position] = symbol
    before, after = (np.asarray(_scores(model, jnp.asarray(part))) for part in (known, changed))
    return np.any(_bits(before) != _bits(after), axis=1)


@eqx.filter_jit
def _scores(model: MultirateNetwork, ids: Int[Array, " n"]) -> Float[Array, "n vocabulary"]:
    return model(ids)


def _bits(array: np.ndarray) -> np.ndarray:
    """Return floats as whole numbers, so that -0 and 0 differ and NaN equals itself."""
    return array.view({2: np.uint16, 4: np.uint32, 8: np.uint64}[array.itemsize])
