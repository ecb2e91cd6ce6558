"""Attention heads P_h(t) that are sinusoids or that jump, and solutions held against the printed field."""

import math
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool

from analysis.claims.consensus.instances.printed_attention import Sees, before, printed_field
from analysis.ledger.evidence import ROUNDING, Measurement, agrees, at_most
from dynsim._core.types import ArrayLike, Key
from dynsim.simulation.trajectory import Trajectory
from dynsim.systems.schedules import Modulated, PiecewiseConstant
from dynsim.systems.tokens.interactions.masks import AbstractMask

BOUND = 10.0
"""The bound b of sup |P_h(t)| that the hypotheses of the theorems name."""


def modulated_heads(key: Key, heads: int, d: int) -> Modulated:
    """Return random heads, neither symmetric nor diagonal, with amplitude 2 and a frequency and phase for each row."""
    a, b, c = jax.random.split(key, 3)
    base = jax.random.uniform(a, (heads, d, d), minval=-0.5, maxval=0.5)
    frequency = jax.random.uniform(b, (heads, d), minval=0.5, maxval=2.0)
    return Modulated(base, 2.0, frequency, jax.random.uniform(c, (heads, d), maxval=2 * math.pi))


SPANS = (1.7, 2.6, 0.9)
"""The durations of three matrices that alternate."""

Heads = Modulated | PiecewiseConstant


def jumping_heads(key: Key, heads: int, d: int) -> PiecewiseConstant:
    """Return random heads that take three values in turn: bounded, but not continuous."""
    return PiecewiseConstant(jax.random.uniform(key, (len(SPANS), heads, d, d), minval=-1.0, maxval=1.0), SPANS)


def growing_heads(heads: int, d: int, end: int) -> PiecewiseConstant:
    """Return P_h(t) = 16^k I for k <= t < k + 1, up to t = `end`: without a bound as time grows."""
    levels = 16.0 ** np.arange(end + 1)
    return PiecewiseConstant(levels[:, None, None, None] * np.stack([np.eye(d)] * heads), periodic=False)


def printed_heads(P: Heads, t: float) -> np.ndarray:
    """Return D_h(t) P_h', entry by entry, or the value of the layer at time t, (heads, d, d)."""
    if isinstance(P, PiecewiseConstant):
        turn = t % P.edges[-1] if P.periodic else t
        return np.asarray(P.values)[next(k for k, edge in enumerate(P.edges) if turn < edge)]
    base, amplitude = np.asarray(P.base), np.asarray(P.amplitude)
    frequency, phase = np.asarray(P.frequency), np.asarray(P.phase)
    heads = []
    for h in range(len(base)):
        rows = [amplitude[h, k] * math.sin(frequency[h, k] * t + phase[h, k]) * base[h, k] for k in range(len(base[h]))]
        heads.append(np.stack(rows))
    return np.stack(heads)


def stored(P: Heads) -> np.ndarray:
    """Return P_h', or the values of all layers."""
    return np.asarray(P.base if isinstance(P, Modulated) else P.values)


def query_key_bound(P: Heads) -> float:
    """Return an upper bound of sup |P_h(t)|, the largest |D_h| |P_h'| or |P_h| in the spectral norm."""
    if isinstance(P, PiecewiseConstant):
        return float(np.max(np.linalg.norm(np.asarray(P.values), 2, axis=(-2, -1))))
    norms = np.linalg.norm(np.asarray(P.base), 2, axis=(1, 2))
    return float(np.max(norms * np.max(np.abs(np.asarray(P.amplitude)), axis=1)))


def is_bounded(P: Heads, bound: float = BOUND) -> Measurement:
    """Measure that sup |P_h(t)| is at most the bound."""
    return at_most("sup |P_h(t)|", query_key_bound(P), bound, tolerance=ROUNDING)


def has_the_printed_field(
    path: Trajectory, P: Callable[[float], ArrayLike], U: ArrayLike, W: ArrayLike, sees: Sees = before
) -> Measurement:
    """Measure that the flow of a trajectory has the printed field at four of its states.

    They are the first, the middle and the last one, and one after a fifth of the time, when tokens still differ enough
    for their weights to count.
    """
    last = len(path.ts) - 1
    chosen = sorted({0, last // 5, last // 2, last})
    fields = [path.system.vector_field(path.ts[k], path.ys[k]) for k in chosen]  # pyright: ignore[reportAttributeAccessIssue]
    printed = [printed_field(path.ys[k], P(float(path.ts[k])), U, W, sees) for k in chosen]
    return agrees("the field along the solution, against the printed one", np.stack(fields), np.stack(printed))


class OneAhead(AbstractMask):
    """A causal mask off by one: a token also attends to the next one."""

    ahead: int = eqx.field(static=True, default=1)

    def __call__(self, n: int) -> Bool[Array, "n n"]:
        """Return a lower triangular matrix of ones with one more diagonal."""
        return jnp.tril(jnp.ones((n, n), bool), self.ahead)
