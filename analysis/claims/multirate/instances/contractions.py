"""Maps with known fixed points: rounds of the network whose Post is a contraction, and piecewise linear maps."""

import math
from fractions import Fraction
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.multirate.instances.numpy_forward_pass import in_numpy, injection
from analysis.claims.rational_instances import Exact, identity, matrix, rational_matrix
from dynsim._core.types import Key
from dynsim.keys import numpy_rng
from dynsim.networks.decoder.transformer import GeluMLP, RMSNorm
from dynsim.networks.multirate.equilibrium import AbstractFixedPointMethod, FixedPointIteration
from dynsim.networks.multirate.layers import GroupedAttention, GroupedLayer, LinearProjector
from dynsim.networks.multirate.network import Round
from dynsim.systems.tokens.interactions.masks import Causal

WIDTH = 4  # of the tokens of contracting rounds
EPSILON = 1.0  # of their RMSNorm
HEADS = 2
SWEEPS = 12  # in which the injection, the fixed point and the initial state are made to agree

KINDS = ("one token", "three tokens")


class ContractingRound(NamedTuple):
    """A round whose Post is a contraction, an initial state, the fixed point, and a Lipschitz constant.

    Post is composed of the maps x -> x - a phi(x) of attention and x -> x - b phi(x) + c of the feed-forward part, with
    phi(x) = x / sqrt(|x|^2 / d + EPSILON) and a, b in (0, 1). The derivative of phi has the eigenvalues s^-1 and
    EPSILON s^-3, s being the square root, so that x -> x - a phi(x) has Lipschitz constant 1 - a EPSILON s^-3 in a
    ball about 0 with that s at its boundary. `lipschitz` is that of Post in a ball about 0 which contains the initial
    state and all later ones, the injection added.
    """

    round: Round
    start: np.ndarray
    fixed_point: np.ndarray
    lipschitz: float

    def with_method(self, method: AbstractFixedPointMethod) -> Round:
        """Return the round with another approximation of its fixed point."""
        r = self.round
        return Round(r.slow, r.injection_norm, r.projector, r.gate, r.gate_frozen, r.after, r.block, method)


def contracting_round(key: Key, kind: str, *, distance: float, radial: bool = False) -> ContractingRound:
    """Return a random round of one of `KINDS`, with an initial state at about `distance` from the fixed point.

    "one token" has attention and a feed-forward part, and no injection; "three tokens" has no attention and blocks of
    one token, so that each token but the first has an injection. If `radial`, the largest token differs from its fixed
    point, in the direction of itself with its injection: at small distances the direction of slowest convergence.
    """
    rng, n = numpy_rng(key, kind), 1 if kind == "one token" else 3
    attention, feedforward = (rng.uniform(0.2, 0.6) if n == 1 else 0.0), rng.uniform(0.2, 0.6)
    first = rng.normal(size=(1, WIDTH)) / 3
    offset = (attention * _phi(first) + feedforward * _phi(first - attention * _phi(first)))[0]
    layer = _layer(rng, attention, feedforward, offset)
    gate, projector = feedforward * rng.uniform(0.1, 0.4), rng.normal(size=(WIDTH, WIDTH)) / 4
    norm, unscaled = RMSNorm(jnp.ones(WIDTH), EPSILON), rng.normal(size=(n, WIDTH))
    r = Round((), norm, LinearProjector(jnp.asarray(projector)), jnp.asarray(gate), jnp.array(False), (layer,), 1)
    wanted = fixed_point = start = np.tile(first, (n, 1))  # wanted is the fixed point plus the injection
    for _ in range(SWEEPS if n > 1 else 1):
        sizes = np.linalg.norm(wanted, axis=1, keepdims=True)
        away = wanted * (sizes == np.max(sizes)) if radial else unscaled
        start = fixed_point + distance * away / np.linalg.norm(away)
        forcing = injection(in_numpy(r), start)
        if n > 1:  # -feedforward phi(wanted) + offset + forcing = 0
            wanted = _phi_inverse((offset + forcing) / feedforward)
        fixed_point = wanted - forcing
    ball = np.linalg.norm(wanted, axis=1).max() + np.linalg.norm(start - fixed_point)
    s = math.sqrt(ball**2 / WIDTH + EPSILON)
    inner = math.sqrt((ball * (1 - attention / s)) ** 2 / WIDTH + EPSILON)  # s of the image of the ball under attention
    factors = [1 - rate * EPSILON / at**3 for rate, at in ((attention, s), (feedforward, inner))]
    return ContractingRound(r, start, fixed_point, math.prod(factors))


def _phi(x: np.ndarray) -> np.ndarray:
    return x / np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + EPSILON)


def _phi_inverse(u: np.ndarray) -> np.ndarray:
    return u * np.sqrt(EPSILON / (1 - np.mean(u**2, axis=-1, keepdims=True)))


def _layer(rng: np.random.Generator, attention: float, feedforward: float, offset: np.ndarray) -> GroupedLayer:
    """Return a layer that is linear in the normalised token, with random factors: gelu(u) - gelu(-u) = u, and a single
    token attends to itself.
    """
    gains, (V, M) = rng.uniform(0.5, 1.5, (2, WIDTH)), rng.normal(size=(2, WIDTH, WIDTH))
    O, N = (-rate * np.linalg.inv(W * g) for rate, W, g in ((attention, V, gains[0]), (feedforward, M, gains[1])))
    heads = lambda W: jnp.asarray(W.reshape(HEADS, -1, WIDTH))
    size = WIDTH // HEADS
    zeros, norm = jnp.zeros((HEADS, size)), RMSNorm(jnp.ones(size))
    query, key = (heads(rng.normal(size=(WIDTH, WIDTH))) for _ in range(2))
    output = jnp.asarray(np.moveaxis(O.reshape(WIDTH, HEADS, size), 1, 0))
    mixing = GroupedAttention(query, key, heads(V), output, zeros, zeros, zeros, jnp.zeros(WIDTH), norm, norm, Causal())
    inner, outer = np.concatenate([M, -M]), np.concatenate([N, -N], axis=1)
    mlp = GeluMLP(jnp.asarray(inner), jnp.zeros(2 * WIDTH), jnp.asarray(outer), jnp.asarray(offset), exact=True)
    first, second = (RMSNorm(jnp.asarray(gain), EPSILON) for gain in gains)
    return GroupedLayer(first, mixing, second, mlp)


def one_parameter_round(rate: float, epsilon: float) -> Round:
    """Return a round on tokens in the plane whose Post is x -> x - `rate` x / sqrt(|x|^2 / 2 + `epsilon`)."""
    eye, zeros = np.eye(2), jnp.zeros((1, 2))
    head, norm = jnp.asarray(eye[None]), RMSNorm(jnp.ones(2))
    mixing = GroupedAttention(head, head, head, 0 * head, zeros, zeros, zeros, jnp.zeros(2), norm, norm, Causal())
    inner, outer = jnp.asarray(np.concatenate([eye, -eye])), jnp.asarray(-rate * np.concatenate([eye, -eye], axis=1))
    mlp = GeluMLP(inner, jnp.zeros(4), outer, jnp.zeros(2), exact=True)
    wide = RMSNorm(jnp.ones(2), epsilon)
    layer = GroupedLayer(wide, mixing, wide, mlp)
    no_injection = (jnp.asarray(0.5), jnp.array(False))
    return Round((), norm, LinearProjector(jnp.asarray(eye)), *no_injection, (layer,), 1, FixedPointIteration())


class AbsoluteValueMap(NamedTuple):
    """The map x -> W |x| + b in R^d, given by W and a fixed point, in fractions.

    It is nonlinear, and its Lipschitz constant in the maximum norm is max_i sum_j |W_ij|.
    """

    W: Exact
    fixed_point: Exact

    def __call__(self, x: Exact) -> Exact:
        """Return the image of a state."""
        return self.W @ (abs(x) - abs(self.fixed_point)) + self.fixed_point

    @property
    def lipschitz(self) -> Fraction:
        """Its Lipschitz constant in the maximum norm."""
        return max(sum(abs(row), Fraction(0)) for row in self.W)


def random_absolute_value_map(key: Key, lipschitz: Fraction, d: int = 3) -> AbsoluteValueMap:
    """Return a random map with Lipschitz constant `lipschitz`."""
    a, b = jax.random.split(key)
    W = rational_matrix(a, d, d) + 9 * identity(d)  # no row is zero
    return AbsoluteValueMap(matrix(np.stack([lipschitz * row / sum(abs(row)) for row in W])), rational_matrix(b, d))


def maximum_norm(x: Exact) -> Fraction:
    """Return the maximum norm."""
    return max(abs(x))
