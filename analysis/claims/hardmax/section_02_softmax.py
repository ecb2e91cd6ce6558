"""Claims of Section 2.3 on the softmax limit: weights and layers as the temperature tends to zero."""

import math
from fractions import Fraction
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.hardmax.instances.clouds import ClusteringCase, invertible, lattice
from analysis.claims.hardmax.section_02_model import similarity
from analysis.claims.rational_instances import Exact, identity, matrix
from analysis.hardmax.exact_geometry import solved
from analysis.ledger.claim import certified
from analysis.ledger.evidence import NON_NEGATIVE, ROUNDING, Measurement, Trial, at_most, holds
from dynsim._core.types import Key
from dynsim.systems.hardmax.maps import SoftmaxMap


def softmax_weights(scores: Exact, m: int) -> Exact:
    """Return the softmax of one token's scores at temperature 1/(m ln 2), at which exponentials are powers of two.

    Every difference of two scores times m must be an integer.
    """
    powers = m * (scores - max(scores))
    raw = np.array([Fraction(2) ** power for power in powers], object)
    return raw / sum(raw)


def _limit_trial(key: Key, ties: bool) -> Trial:
    a, b = jax.random.split(key)
    d = 2
    y = np.concatenate([lattice(b, d), matrix([[3, 3], [3, -3], [1, 0], [0, 0]])])  # the third of these is in a tie
    factor = invertible(a, d)
    given = ClusteringCase(solved(factor, y.T).T, factor, Fraction(1, 2))  # the scores <y_i, y_j> are integers
    scores = given.tokens @ given.attention @ given.tokens.T
    hard = similarity(given.tokens, given.attention)
    if not ties:
        hard = np.array([[Fraction(int(j == np.argmax(row))) for j in range(len(row))] for row in hard], object)
    gaps = [max(row) - max((v for v in row if v != max(row)), default=max(row) - 1) for row in scores]
    others = [sum(v != max(row) for v in row) for row in scores]
    within, last, layers = True, Fraction(0), []
    for m in (Fraction(1, 16), Fraction(1, 2), 1, 64):
        if m < 1:  # temperatures at which no weight is near its limit, for the map alone
            layers.append(_soft_layer(given, given.attention, float(m), _weights(scores, float(m))))
            continue
        weights = [softmax_weights(s, int(m)) for s in scores]
        errors = [max(abs(w - h)) for w, h in zip(weights, hard, strict=True)]
        bounds = [count * Fraction(2) ** int(-m * gap) for count, gap in zip(others, gaps, strict=True)]
        within, last = within and all(e <= bound for e, bound in zip(errors, bounds, strict=True)), max(errors)
        layers.append(_soft_layer(given, given.attention, float(m), np.stack(weights).astype(float)))
    skew = given.attention + matrix([[0, 1], [0, 0]])
    layers.append(_soft_layer(given, skew, 0.5, _weights(given.tokens @ skew.T @ given.tokens.T, 0.5)))
    limit = given.map.step(0, given.tokens).astype(float)
    cold = SoftmaxMap(float(given.alpha), 1 / (64 * math.log(2)), given.attention.astype(float))
    return Trial(
        hypotheses=(
            *given.measured("symmetric", "definite"),
            holds("some token has a tie", any(sum(v == max(row) for v in row) > 1 for row in scores)),
        ),
        conclusions=(
            holds("the weights are within (n - |C_i|) exp(-gap_i / tau) of (2.3)", within),
            at_most(
                "largest error of a weight at tau = 1/(64 ln 2)", last, Fraction(1, 2**60), tolerance=0.0, within=(0, 1)
            ),
            *layers,
            at_most(
                "distance of that layer of `SoftmaxMap` from the hardmax layer",
                np.max(np.abs(np.asarray(cold.step(0, jnp.asarray(given.tokens.astype(float)))) - limit)),
                0.0,
                tolerance=ROUNDING,
                within=NON_NEGATIVE,
            ),
        ),
        witness=given.witness(),
        parameters=given.parameters("lattice"),
    )


def _weights(scores: Exact, m: float) -> np.ndarray:
    """Return the softmax of every row of scores at temperature 1/(m ln 2), in floats."""
    powers = np.exp2(m * np.array([[float(value - max(row)) for value in row] for row in scores]))
    return powers / np.sum(powers, axis=1, keepdims=True)


def _soft_layer(given: ClusteringCase, A: Exact, m: float, weights: np.ndarray) -> Measurement:
    """Compare a layer of `SoftmaxMap` with A at temperature 1/(m ln 2) with (2.5) for these weights."""
    x, a = given.tokens.astype(float), float(given.alpha)
    layer = SoftmaxMap(a, 1 / (m * math.log(2)), A.astype(float)).step(0, jnp.asarray(x))
    error = np.max(np.abs(np.asarray(layer) - (x + a * weights @ x) / (1 + a)))
    kind = "" if np.all(A == A.T) else ", A not symmetric"
    what = f"error of the layer of `SoftmaxMap` at tau = 1/({m:g} ln 2){kind}"
    return at_most(what, error, 0.0, tolerance=ROUNDING, within=NON_NEGATIVE)


softmax_tends_to_hardmax = certified(
    "hardmax/claim-softmax-limit",
    statement="""
    For all tokens Z and every A, the weights (2.6) tend to (2.3) as tau -> 0: to 1 / |C_i| on each maximiser.

    The error is at most (n - |C_i|) exp(-gap_i / tau), gap_i being the gap between the largest score and the next.
    """,
    trial=partial(_limit_trial, ties=True),
    control=partial(_limit_trial, ties=False),  # A single maximiser in place of the set C_i.
    num_trials=8,
    note="`formally` is read as: for fixed tokens. Fixed tokens need no compact set, and over a compact set the limit "
    "is not uniform, see `uniform`. Weights are exact at temperatures at which the exponentials are powers of two; the "
    "layers of `SoftmaxMap` are compared with them, and with the hardmax layer, up to rounding",
)


def _uniform_trial(key: Key, separated: bool) -> Trial:
    """Measure the weights of token 0, which follows token 1; the score of token 2 is smaller by `gap`."""
    m = 2 ** int(jax.random.randint(key, (), 6, 12))
    gap = Fraction(1, 4) if separated else Fraction(1, m)
    z = matrix([[Fraction(1, 2), 0], [1, 1], [1 - 2 * gap, -1]])
    scores = z @ z[0]
    error = softmax_weights(scores, m) - similarity(z, identity(2))[0]
    return Trial(
        hypotheses=(
            holds("the tokens are in the square [-1, 1]^2", all(abs(entry) <= 1 for entry in z.flat)),
            holds("the temperature 1/(m ln 2) is below 1/40", m >= 64),
        ),
        conclusions=(
            at_most(
                "error of the weights of token 0", max(abs(error)), Fraction(1, 1000), tolerance=0.0, within=(0, 1)
            ),
            at_most(
                "error of its weighted average",
                max(abs(error @ z)),
                Fraction(1, 1000),
                tolerance=0.0,
                within=(0, 2),  # of a difference of two averages of tokens in the square
            ),
        ),
        witness={"tokens": z, "m": [m], "gap times m": gap * m},
        parameters={"n": 3, "d": 2, "gap": float(gap), "temperature": 1 / (m * math.log(2))},
    )


@certified(
    "hardmax/claim-softmax-limit/uniform",
    variant="reading",
    num_trials=4,
    note="at every temperature some tokens of a compact set are nearly tied; no control: tokens with a fixed gap are "
    "measured by the same function",
)
def softmax_tends_to_hardmax_uniformly(key: Key) -> Trial:
    """Read: for tokens in a compact set the limit is uniform: there is a temperature below which all weights, and the
    weighted averages, are within 1/1000 of their limits.
    """
    return _uniform_trial(key, False)


softmax_tends_to_hardmax_off_ties = certified(
    "hardmax/claim-softmax-limit/gap",
    statement="""
    The limit is uniform over tokens in a compact set for which the gap between the two largest scores is bounded
    below.

    Added: the lower bound of the gap, here 1/4. The weights of token 0 of three tokens are measured.
    """,
    trial=partial(_uniform_trial, separated=True),
    control=partial(_uniform_trial, separated=False),  # A gap that tends to zero with the temperature.
    variant="special case",
    num_trials=4,
)
