"""Test the causality of a network: how logits depend on later positions, by derivatives and bit for bit."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from dynsim._core.checked import checked
from dynsim._core.types import ArrayLike
from dynsim.errors import ArgumentError
from dynsim.networks.decoder.transformer import check_ids
from dynsim.networks.multirate.network import MultirateNetwork


@checked
def leak_matrix(model: MultirateNetwork, ids: ArrayLike) -> Float[Array, "n n"]:
    r"""Compute the largest derivatives of the logits at position s by the embedding at position t, shape (n, n).

    $$ L_{st} = \max_{v, m} \left| \frac{\partial\, \mathrm{logits}_{s v}}{\partial x_{t m}} \right| $$

    Here x is the embedded sequence; above the diagonal, t is later than s. A causal network has exact zeros there,
    since a masked symbol has weight exactly zero. A zero derivative does not exclude a dependence on the symbol;
    `affected_positions` tests it by replacing the symbol.

    Args:
        model: the network.
        ids: symbols of one sequence, integers (n,).

    Raises:
        ValueError: for symbols outside the vocabulary.

    Source: MULTIRATE, Proposition 21.

    Example:
        >>> import dynsim as ds
        >>> from analysis.networks import leak_matrix, worst_leak
        >>> config = ds.networks.MultirateConfig(vocabulary=3, width=4, query_heads=1, key_heads=1, hidden=4, rounds=0)
        >>> model = ds.networks.draw_multirate(ds.random_key(0, "model"), config)
        >>> matrix = leak_matrix(model, [0, 1])
        >>> matrix.shape, float(worst_leak(matrix)), bool(matrix[1, 0] > 0)
        ((2, 2), 0.0, True)
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


@checked
def worst_leak(matrix: Float[Array, "n n"]) -> Float[Array, ""]:
    """Find the largest entry above the diagonal of a leak matrix, shape (n, n); it is zero for a causal network.

    Example:
        >>> import jax.numpy as jnp
        >>> from analysis.networks import worst_leak
        >>> float(worst_leak(jnp.array([[5.0, 2.0], [7.0, 6.0]])))
        2.0
    """
    return jnp.max(jnp.triu(matrix, 1))


@checked
def affected_positions(model: MultirateNetwork, ids: ArrayLike, position: int, symbol: int) -> Bool[np.ndarray, " n"]:
    """Find the positions at which some bit of a logit changes when the symbol at `position` becomes `symbol`.

    Both sequences go through the same compiled program, so that equal inputs give equal bits.

    Args:
        model: the network.
        ids: symbols of one sequence, integers (n,).
        position: index of the symbol to replace, from 0.
        symbol: its replacement.

    Raises:
        ValueError: if the position is not in the sequence, or the symbol is not in the vocabulary or already there.

    Example:
        >>> import dynsim as ds
        >>> from analysis.networks import affected_positions
        >>> config = ds.networks.MultirateConfig(vocabulary=3, width=4, query_heads=1, key_heads=1, hidden=4, rounds=0)
        >>> model = ds.networks.draw_multirate(ds.random_key(0, "model"), config)
        >>> affected_positions(model, [0, 1, 2], position=1, symbol=2).tolist()
        [False, True, True]
    """
    given = np.asarray(ids)
    jax.eval_shape(lambda: model.embed(given))  # raises for a symbol outside the vocabulary
    if not 0 <= position < len(given):
        raise ArgumentError("position", f"lie between 0 and {len(given) - 1}", f"is {position}")
    check_ids("symbol", np.asarray([symbol]), model.token_embedding.shape[0])
    if given[position] == symbol:
        raise ArgumentError("symbol", f"differ from the one at position {position}", f"is {symbol} as well")
    changed = given.copy()
    changed[position] = symbol
    before, after = (np.asarray(_scores(model, jnp.asarray(part))) for part in (given, changed))
    return np.any(_bits(before) != _bits(after), axis=1)


@eqx.filter_jit
def _scores(model: MultirateNetwork, ids: Int[Array, " n"]) -> Float[Array, "n vocabulary"]:
    return model(ids)


def _bits(array: np.ndarray) -> np.ndarray:
    """View floats as unsigned integers, so that -0 and 0 differ and NaN equals itself."""
    return array.view({2: np.uint16, 4: np.uint32, 8: np.uint64}[array.itemsize])
