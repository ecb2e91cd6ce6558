"""Claims of Sections 3.1 to 3.3 on the read-out layer: its output, its heads and its cost."""

from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from analysis.claims.prototype_banks import Parts, RationalBank, distances, hard_bank, parts, random_bank, soft
from analysis.claims.rational_instances import Exact, matrix
from analysis.ledger.claim import certified
from analysis.ledger.evidence import Measurement, Trial, agrees, holds
from dynsim._core.types import Key
from dynsim.keys import numpy_rng
from dynsim.networks.decoder.transformer import LayerNorm
from dynsim.networks.multirate.flops import matmul_flops
from dynsim.networks.prototypes.layer import PrototypeReadout, draw_readout

HEADS, TOKENS, WIDTH = 2, 4, 2


def _normalised(x: np.ndarray, gain: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """Return LayerNorm(x): each row minus its mean, over its standard deviation, times a gain, plus a bias."""
    centred = x - np.mean(x, axis=1, keepdims=True)
    return centred / np.sqrt(np.mean(centred**2, axis=1, keepdims=True) + 1e-5) * gain + bias


@eqx.filter_jit
def _outputs(layer: PrototypeReadout, z: Array, temperature: Array) -> tuple[Array, Array]:
    return layer.soft_centroids(z, temperature), layer(z, temperature)


def _output_trial(key: Key, bank: RationalBank, expected: Exact) -> Trial:
    """Measure o_n and h_n of a layer with one head against the rows of `expected`."""
    rng, m = numpy_rng(key, "output"), bank.z.shape[1]
    W, gain, bias = rng.normal(size=(m, m)), rng.uniform(0.5, 2, m), rng.normal(size=m)
    z, p, T = bank.floats
    layer = PrototypeReadout(p[None], None, W, LayerNorm(jnp.asarray(gain), jnp.asarray(bias)))
    before, after = _outputs(layer, z, T)
    mu = expected.astype(float)
    return Trial(
        soft(bank),
        (
            holds("mu_n of (3) is what (4) says", bool(np.all(bank.q @ bank.p == expected))),
            agrees("the output of the layer before W_O", before, mu),
            agrees("the output with residual", after, _normalised(np.asarray(z) + mu @ W.T, gain, bias)),
        ),
        bank.witness(),
        parameters=bank.parameters,
    )


@certified(
    "prototypes/remark-1",
    num_trials=12,
    note="true by (4), which defines the output; measured on the layer that ships",
)
def output_is_the_soft_centroid(key: Key) -> Trial:
    """The output of the layer is o_n = mu_n, the soft centroid of (3), and h_n = LayerNorm(z_n + W_O mu_n)."""
    bank = hard_bank(key)
    return _output_trial(key, bank, bank.parts.centroids)


@output_is_the_soft_centroid.with_control
def output_is_the_soft_centroid(key: Key) -> Trial:
    """The nearest prototype in place of the soft centroid."""
    bank = random_bank(key)
    return _output_trial(key, bank, bank.p[np.argmin(distances(bank.z, bank.p).astype(float), axis=1)])


class _Heads(NamedTuple):
    """A layer with several heads, its tokens, and the bank of each head, all with one temperature."""

    layer: PrototypeReadout
    tokens: Exact
    projections: Exact
    banks: tuple[RationalBank, ...]


def _heads(key: Key) -> _Heads:
    """Return a layer whose projections are integers, so that the assignments of each head are rational."""
    rng, drawn = numpy_rng(key, "heads"), random_bank(key)
    m = HEADS * WIDTH
    x, W = matrix(rng.integers(-1, 2, (TOKENS, m))), matrix(rng.integers(-1, 2, (HEADS, WIDTH, m)))
    x = drawn.spacing * x
    shift = drawn.spacing * matrix([[1, 0]])
    banks = tuple(drawn._replace(z=x @ W[h].T, p=(drawn.p, drawn.p[:, ::-1] + shift)[h]) for h in range(HEADS))
    prototypes = np.stack([bank.p.astype(float) for bank in banks])
    norm = LayerNorm(jnp.ones(m), jnp.zeros(m))
    layer = PrototypeReadout(prototypes, W.astype(float), rng.normal(size=(m, m)), norm)
    return _Heads(layer, x, W, banks)


def _joined_output(given: _Heads) -> Measurement:
    """Measure the output of a layer against the centroids of its heads side by side, W_O applied once."""
    x, layer = given.tokens.astype(float), given.layer
    mu = np.concatenate([bank.parts.centroids.astype(float) for bank in given.banks], axis=1)
    unit = np.ones(x.shape[1]), np.zeros(x.shape[1])
    _, after = _outputs(layer, jnp.asarray(x), jnp.asarray(given.banks[0].temperature))
    return agrees("the output that ships", after, _normalised(x + mu @ np.asarray(layer.output).T, *unit))


def _diagnostics(given: _Heads) -> tuple[Measurement, Measurement]:
    """Measure the separation and the entropy of each head, of its own prototypes and assignments."""
    layer, x = given.layer, jnp.asarray(given.tokens.astype(float))
    q, p = ([getattr(bank, name).astype(float) for bank in given.banks] for name in "qp")
    apart = [min((a - b) @ (a - b) for i, a in enumerate(of) for b in of[:i]) for of in p]
    nats = [-np.sum(of * np.log(of)) / len(of) for of in q]
    return (
        agrees("the separation of each head that ships", layer.separation(), apart),
        agrees("the entropy of each head that ships", layer.entropy(x, given.banks[0].temperature), nats),
    )


def _heads_trial(given: _Heads, found: list[Parts], *, hard: bool) -> Trial:
    """Measure the decomposition with M or R, and V, of each head: V and the subtracted term may be another's."""
    losses = given.layer.losses(jnp.asarray(given.tokens.astype(float)), given.banks[0].temperature)
    exact = [bank.parts for bank in given.banks]
    name = "M" if hard else "R"
    sums = [(part.hard if hard else part.error) + part.variance for part in found]
    shipped = {"competitive": "loss", "reconstruction": "error", "variance": "variance", "hard": "hard"}
    facts = tuple(
        agrees(f"the {word} loss of each head that ships", getattr(losses, word), [float(getattr(e, n)) for e in exact])
        for word, n in shipped.items()
    )
    equal = all(e.loss == total for e, total in zip(exact, sums, strict=True))
    facts = (*facts, _joined_output(given), *_diagnostics(given))
    return Trial(
        tuple(m for bank in given.banks for m in soft(bank)),
        (holds(f"Lq = {name} + V in each head", equal), *(() if hard else facts)),
        {
            "x": given.tokens,
            "W": given.projections,
            "p": [bank.p for bank in given.banks],
            "b": given.banks[0].base,
            "spacing": given.banks[0].spacing,
        },
        parameters={"heads": HEADS, "n": TOKENS, "m": HEADS * WIDTH, "T": given.banks[0].temperature},
    )


@certified("prototypes/claim-multihead", num_trials=4)
def decomposition_holds_for_each_head(key: Key) -> Trial:
    """The decomposition (3) holds for each head: Lq = M + V with embeddings W_h z_n and the prototypes of head h."""
    given = _heads(key)
    return _heads_trial(given, [bank.parts for bank in given.banks], hard=True)


@certified("prototypes/claim-multihead/corrected", num_trials=12)
def corrected_decomposition_holds_for_each_head(key: Key) -> Trial:
    """For each head Lq = R + V, independently. Changed: R = sum_n |z_n - mu_n|^2 of the head in place of L_OLS."""
    given = _heads(key)
    return _heads_trial(given, [bank.parts for bank in given.banks], hard=False)


@corrected_decomposition_holds_for_each_head.with_control
def corrected_decomposition_holds_for_each_head(key: Key) -> Trial:
    """The assignments of one head with the embeddings and prototypes of the other."""
    given = _heads(key)
    first, second = given.banks
    return _heads_trial(given, [parts(first.z, first.p, second.q), parts(second.z, second.p, first.q)], hard=False)


def operations(tokens: int, k: int, m: int, heads: int) -> int:
    """Return the operations in the matrix products of the layer that ships, which is only traced."""
    layer = jax.tree.map(
        lambda leaf: jnp.zeros(leaf.shape, leaf.dtype),
        jax.eval_shape(lambda: draw_readout(jax.random.key(0), m, k, heads=heads)),
    )
    return matmul_flops(lambda z: layer(z, 1.0), jnp.zeros((tokens, m)))


@certified(
    "prototypes/claim-complexity",
    num_trials=4,
    note="multiplications and additions in the matrix products of the layer that ships, which multiplies in the "
    "cheaper order; W_O costs 2 min(T, K) m^2 with one head, and the projections W_h cost 2 T m^2 with several",
)
def cost_is_linear_in_the_dimension(key: Key) -> Trial:
    """The layer takes O(T K m) operations. Read: for fixed T and K the number grows no faster than m."""
    rng = numpy_rng(key, "sizes")
    T, K, heads, m = (int(v) for v in (rng.choice([4, 16, 64]), rng.choice([2, 8]), rng.choice([1, 2]), 8))
    counts = [operations(T, K, j * m, heads) for j in (1, 2, 3)]
    second = counts[2] - 2 * counts[1] + counts[0]
    C = int(rng.integers(2, 9))
    large = C * max(T, K) + 8  # a dimension from which the part in m^2 is more than the constant allows, even
    found, allowed = operations(T, K, large, heads), 2 * C * T * K * large  # a multiplication and an addition each
    return Trial(
        (holds("T, K and m are positive", min(T, K, m) > 0),),
        (
            holds("the number of operations has no part in m^2", second == 0),
            holds("it is at most C T K m multiplications and as many additions", found <= allowed),
        ),
        {"T": T, "K": K, "C": C, "m": large, "heads": heads, "operations": found, "allowed": allowed},
        parameters={"T": T, "K": K, "heads": heads, "m": large},
    )


def _cost_trial(key: Key, heads: int) -> Trial:
    """Measure the operations of a layer with m up to the larger of T and K, that number included."""
    rng = numpy_rng(key, "sizes")
    T, K = int(rng.choice([8, 16, 64])), int(rng.choice([1, 2, 8, 32]))
    m = int(rng.choice([2, max(T, K) // 2, max(T, K)]))
    found, unit = operations(T, K, m, heads), T * K * m
    return Trial(
        (holds("m is at most the larger of T and K", m <= max(T, K)),),
        (
            holds("at most 6 T K m operations", found <= 6 * unit),
            holds("they are 4 T K m + 2 min(T, K) m^2", found == 4 * unit + 2 * min(T, K) * m**2),
        ),
        {"T": T, "K": K, "m": m, "heads": heads, "operations": found},
        parameters={"T": T, "K": K, "m": m, "operations over T K m": found / unit},
    )


cost_is_linear_for_many_tokens = certified(
    "prototypes/claim-complexity/corrected",
    statement="""A layer with one head takes O(T K m) operations: at most 6 T K m.

    Added: one head without projection, m <= max(T, K), and W_O multiplied in the cheaper order.
    """,
    trial=partial(_cost_trial, heads=1),
    control=partial(_cost_trial, heads=2),  # Two heads with projections.
    num_trials=8,
    note="matrix products alone; equality at m = max(T, K). W_O is applied to the prototypes, K m^2, where K < T",
)
