"""Attention weights and outputs of the token flow and of the network for scores that are logarithms of fractions."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from analysis.claims.rational_instances import Exact
from analysis.ledger.evidence import ROUNDING, Measurement, equal
from dynsim.systems.tokens.flow import TokenFlow
from dynsim.systems.tokens.interactions.masks import AbstractMask, Full


def weights(scores: Float[np.ndarray, "n n"], mask: AbstractMask | None = None) -> Float[np.ndarray, "n n"]:
    """Return the attention weights of the token flow for given scores: n unit vectors as tokens, the scores as P."""
    flow = TokenFlow(np.asarray(scores, float)[None], mask=Full() if mask is None else mask)
    return np.asarray(_applied(flow, jnp.eye(len(scores)))[0][0])


def weights_of(A: Exact, mask: AbstractMask) -> Measurement:
    """Measure that the weights of the token flow for the scores log A, where the mask allows, are A."""
    error = np.max(abs(weights(np.log(np.where(A > 0, A, 1).astype(float)), mask) - A.astype(float)))
    return equal("largest error of the weights of the token flow", error, 0.0, tolerance=ROUNDING)


def output(
    query_key: Float[np.ndarray, "heads d d"],
    value: Float[np.ndarray, "heads d d"],
    x: Float[np.ndarray, "n d"],
    mask: AbstractMask,
) -> tuple[Float[np.ndarray, "heads n n"], Float[np.ndarray, "n d"]]:
    """Return the weights of the heads of the token flow, and their output, the sum over heads of weights times values.

    The output is that of the flow with `scale` 1 in place of 1 / sqrt(d).
    """
    found = _applied(TokenFlow(query_key, value, mask=mask, scale=1.0), jnp.asarray(x))
    return np.asarray(found[0]), np.asarray(found[1])


@eqx.filter_jit
def _applied(flow: TokenFlow, x: Float[Array, "n d"]) -> tuple[Any, Any]:
    return flow.weights(0.0, x), flow.velocity(0.0, x)
