"""The forward pass (10) to (18) in NumPy: an implementation independent of the network's own in JAX.

Sublayers are given as the vector fields that they add to the tokens, so that they can be composed as Euler steps.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import jax
import numpy as np

from dynsim.errors import ArgumentError
from dynsim.networks.decoder.transformer import RMSNorm
from dynsim.networks.multirate.equilibrium import AbstractFixedPointMethod, Anderson
from dynsim.networks.multirate.layers import GroupedLayer, LearnedProjector, LinearProjector
from dynsim.networks.multirate.network import MultirateNetwork, Round
from dynsim.systems.tokens.interactions.masks import AbstractMask, Causal, Full

Tokens = np.ndarray  # float, (n, d)
Field = Callable[[Tokens], Tokens]
Part = TypeVar("Part")

_erf = np.vectorize(math.erf)


def in_numpy(model: Part) -> Part:
    """Return a network, or a part of it, with its arrays converted to NumPy."""
    return jax.tree.map(np.asarray, model)


def normalised(norm: RMSNorm, x: Tokens) -> Tokens:
    """Return RMSNorm of the tokens: each over the root of its mean square, times the gain."""
    return x / np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + norm.epsilon) * norm.gain


def rotary(x: np.ndarray, base: float) -> np.ndarray:
    """Return the rotary position embedding of rows (n, width): adjacent pairs rotated by position times frequency."""
    n, width = x.shape
    angles = np.outer(np.arange(n), base ** (-np.arange(0, width, 2) / width))
    z = (x[:, 0::2] + 1j * x[:, 1::2]) * np.exp(1j * angles)
    return np.stack([z.real, z.imag], axis=-1).reshape(n, width)


def attended(mask: AbstractMask, n: int) -> np.ndarray:
    """Return which of n tokens each token attends to, (n, n), for the causal and the full mask.

    Raises:
        ValueError: for another mask.
    """
    if not isinstance(mask, Causal | Full):
        raise ArgumentError("mask", "be causal or full", f"is {type(mask).__name__}")
    return np.tri(n, dtype=bool) if isinstance(mask, Causal) else np.ones((n, n), bool)


def attention_field(layer: GroupedLayer, x: Tokens) -> Tokens:
    """Return the vector field of a layer's attention, which it adds to the tokens; a sum over heads."""
    a, z, n = layer.attention, normalised(layer.attention_norm, x), len(x)
    shared, seen = len(a.query) // len(a.key), attended(a.mask, n)
    total = np.tile(np.asarray(a.output_bias), (n, 1))
    for h in range(len(a.query)):
        g = h // shared
        q = rotary(normalised(a.query_norm, z @ a.query[h].T + a.query_bias[h]), a.rotary_base)
        k = rotary(normalised(a.key_norm, z @ a.key[g].T + a.key_bias[g]), a.rotary_base)
        scores = np.where(seen, q @ k.T / math.sqrt(q.shape[1]), -np.inf)
        weights = np.exp(scores - np.max(scores, axis=1, keepdims=True))
        weights = weights / np.sum(weights, axis=1, keepdims=True)
        total = total + weights @ (z @ a.value[g].T + a.value_bias[g]) @ a.output[h].T
    return total


def feedforward_field(layer: GroupedLayer, x: Tokens) -> Tokens:
    """Return the vector field of a layer's feed-forward sublayer, which it adds to the tokens."""
    f = layer.feedforward
    return gelu(normalised(layer.feedforward_norm, x) @ f.inner.T + f.inner_bias) @ f.outer.T + f.outer_bias


def gelu(z: np.ndarray) -> np.ndarray:
    """Return the exact GELU, z times the normal distribution function at z."""
    return z * (1 + _erf(z / math.sqrt(2))) / 2


def fields(layers: Sequence[GroupedLayer]) -> Iterator[Field]:
    """Yield the vector fields of the sublayers in order: attention and feed-forward of each layer."""
    for layer in layers:
        yield lambda x, layer=layer: attention_field(layer, x)
        yield lambda x, layer=layer: feedforward_field(layer, x)


def euler_steps(steps: Iterator[Field] | Sequence[Field], x: Tokens) -> Tokens:
    """Return the state after one forward-Euler step of length one for each field in turn."""
    for field in steps:
        x = x + field(x)
    return x


def pooled(x: Tokens, block: int) -> Tokens:
    """Return the block means (4) of tokens (n, d), shape (ceil(n / block), d)."""
    return np.stack([np.mean(x[first : first + block], axis=0) for first in range(0, len(x), block)])


def upsampled(y: Tokens, n: int, block: int, *, shift: int = 1) -> Tokens:
    """Return (7): for each token the row of y `shift` blocks before its own, or zero if there is none."""
    before = np.arange(n) // block - shift
    return np.where((before >= 0)[:, None], y[before], 0.0)


def slow_state(r: Round, x: Tokens) -> Tokens:
    """Return y of (12) and (13), the slow layers on the block means of x."""
    return euler_steps(fields(r.slow), pooled(x, r.block))


def injection(r: Round, x: Tokens, *, shift: int = 1) -> Tokens:
    """Return alpha proj(RMSNorm(c)) of (15), with c from (12) to (14), or from (33) for a learned projector."""
    c = normalised(r.injection_norm, upsampled(slow_state(r, x), len(x), r.block, shift=shift))
    return float(r.gate) * projected(r.projector, c)


def projected(projector: LinearProjector | LearnedProjector, c: Tokens) -> Tokens:
    """Return proj(c): a linear map, or the two maps (33) with a GELU between them."""
    if isinstance(projector, LinearProjector):
        return c @ projector.matrix.T
    return gelu(c @ projector.inner.T) @ projector.outer.T


def equilibrium(method: AbstractFixedPointMethod, G: Field, x: Tokens) -> Tokens:
    """Return the approximation of the fixed point of G from x: iterates (Section 11.2), or secant steps (11.3)."""
    if not isinstance(method, Anderson):
        for _ in range(method.passes):
            x = G(x)
        return x
    axes = -1 if method.span == "token" else None
    before, x = x, G(x)
    for _ in range(method.passes - 1):
        r, last = G(x) - x, G(before) - before
        theta = np.sum(r * (r - last), axis=axes, keepdims=True) / np.sum((r - last) ** 2, axis=axes, keepdims=True)
        before, x = x, x + r - theta * (x + r - before - last)
    return x


def after_round(r: Round, x: Tokens, *, shift: int = 1) -> Tokens:
    """Return the state after a round, (15) and (16), with the round's approximation of its fixed point."""
    forcing = injection(r, x, shift=shift)
    return equilibrium(r.method, lambda z: euler_steps(fields(r.after), z + forcing), x)


def states(model: MultirateNetwork, ids: np.ndarray, *, shift: int = 1) -> list[Tokens]:
    """Return the state before the first round and after each round, a list of one more states than rounds."""
    model = in_numpy(model)
    found = [euler_steps(fields(model.before), np.asarray(model.token_embedding)[ids])]
    for k in range(model.num_rounds):
        found.append(after_round(model.rounds[k % len(model.rounds)], found[-1], shift=shift))
    return found


def logits(model: MultirateNetwork, ids: np.ndarray, *, shift: int = 1) -> np.ndarray:
    """Return the logits (18), (n, vocabulary), with the context read from the block `shift` before a token's own."""
    x, model = states(model, ids, shift=shift)[-1], in_numpy(model)
    unembedding = model.token_embedding if model.unembedding is None else model.unembedding
    return normalised(model.final_norm, x) @ unembedding.T
