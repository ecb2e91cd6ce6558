"""The forward pass (10) to (18) in NumPy: an implementation independent of the network's own in JAX.

Sublayers are given as the vector fields that they add to the tokens, so that they can be composed as Euler steps.
"""

import math
from collections.abc import Callable, Iterator, Sequence

import jax
import numpy as np

from dynsim.errors import argument_error
from dynsim.networks.decoder.transformer import RMSNorm
from dynsim.networks.multirate.layers import GroupedLayer, LinearProjector
from dynsim.networks.multirate.network import MultirateNetwork, Round

Tokens = np.ndarray  # float, (n, d)
Field = Callable[[Tokens], Tokens]

_erf = np.vectorize(math.erf)


def in_numpy(model: MultirateNetwork) -> MultirateNetwork:
    """Return the network with its arrays converted to NumPy."""
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


def attention_field(layer: GroupedLayer, x: Tokens) -> Tokens:
    """Return the vector field of a layer's attention, which it adds to the tokens; a sum over heads."""
    a, z, n = layer.attention, normalised(layer.attention_norm, x), len(x)
    shared, seen = len(a.query) // len(a.key), np.asarray(a.mask(n))
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
    z = normalised(layer.feedforward_norm, x) @ f.inner.T + f.inner_bias
    return z * (1 + _erf(z / math.sqrt(2))) / 2 @ f.outer.T + f.outer_bias


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


def injection(r: Round, x: Tokens, *, shift: int = 1) -> Tokens:
    """Return alpha proj(RMSNorm(c)) of (15), with c from (12) to (14).

    Raises:
        ValueError: if proj is not linear.
    """
    if not isinstance(r.projector, LinearProjector):
        raise argument_error("r", "have a linear projector", f"has a {type(r.projector).__name__}")
    y = euler_steps(fields(r.slow), pooled(x, r.block))
    c = upsampled(y, len(x), r.block, shift=shift)
    return float(r.gate) * normalised(r.injection_norm, c) @ r.projector.matrix.T


def logits(model: MultirateNetwork, ids: np.ndarray, *, shift: int = 1) -> np.ndarray:
    """Return the logits (18), (n, vocabulary), with the context read from the block `shift` before a token's own."""
    model = in_numpy(model)
    x = euler_steps(fields(model.before), np.asarray(model.token_embedding)[ids])
    for k in range(model.num_rounds):
        r = model.rounds[k % len(model.rounds)]
        x = euler_steps(fields(r.after), x + injection(r, x, shift=shift))
    unembedding = model.token_embedding if model.unembedding is None else model.unembedding
    return normalised(model.final_norm, x) @ unembedding.T
