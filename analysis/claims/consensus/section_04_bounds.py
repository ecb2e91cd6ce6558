"""Claims of Lemmas 4.1 and 4.2: bounds of the attention weights, and uniform continuity of the rates f_i."""

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from analysis.claims.consensus.instances.hemispheres import (
    HEADS,
    IDENTITIES,
    D,
    in_hemisphere,
    longest_semi_axis,
    random_metric,
)
from analysis.claims.consensus.instances.printed_attention import before, everything, printed_field, printed_weights
from analysis.claims.consensus.instances.sizes import number_of_tokens
from analysis.ledger.claim import claim
from analysis.ledger.evidence import ROUNDING, Trial, agrees, at_least, at_most, equal
from dynsim._core.types import Key, Time
from dynsim.integrators import AbstractIntegrator
from dynsim.simulation.simulate import simulate
from dynsim.spaces import Ellipsoid
from dynsim.systems.schedules import AbstractSchedule
from dynsim.systems.tokens.flow import TokenFlow, identity_value_flow
from dynsim.systems.tokens.interactions.masks import Causal, Full


def _bounds_trial(key: Key, *, causal: bool, all_pairs: bool = True, share: float = 1.0) -> Trial:
    """Measure the weights at the ends of the longest axis of W, where the scores are -K^2 b and K^2 b.

    Token 1 is alone at one end: with P = b I the weight of the last token on it is the least that Lemma 4.1 allows, up
    to the factor l / (l - 1) at most.

    Args:
        key: random key.
        causal: causal attention, with the bounds for j <= i unless `all_pairs`.
        all_pairs: measure the weights for all i and j.
        share: of the printed exponent 2 K^2 b.
    """
    a, b, c = jax.random.split(key, 3)
    W = random_metric(a)
    values, vectors = np.linalg.eigh(W)
    K = longest_semi_axis(W)
    limit = float(jax.random.uniform(b, (), minval=1.0, maxval=2.0)) * 2 / K**2
    near_miss = share < 1 or (causal and all_pairs)
    n = max(int(jax.random.randint(c, (), 1, 6)), 2 if near_miss else 1)
    turn = np.asarray(jnp.linalg.qr(jax.random.normal(c, (D, D)))[0])
    top = vectors[:, 0] / np.sqrt(values[0])  # the end of the longest semi-axis
    x = np.stack([-top, *([top] * (n - 1))])
    P = np.stack([limit * np.eye(D), limit * turn])  # in the second head the norm is the same, the scores generic
    flow = TokenFlow(P, 1.0, space=Ellipsoid(W), mask=Causal() if causal else Full())
    alpha = np.asarray(flow.scale * flow.weights(0.3, jnp.asarray(x)))
    exponent = share * 2 * K * K * limit
    c1, c2 = math.exp(-exponent) / (math.sqrt(D) * n), math.exp(exponent)
    sees = before if causal else everything
    counted = alpha if all_pairs else alpha[:, np.tril(np.ones((n, n), bool))]
    sharp = math.exp(-2 * K * K * limit) / (n - 1 + math.exp(-2 * K * K * limit)) / math.sqrt(D)
    return Trial(
        hypotheses=(
            equal("largest token norm", np.max(np.linalg.norm(x, axis=1)), K, tolerance=ROUNDING),
            equal("sup |P_h|", np.max(np.linalg.norm(P, 2, axis=(1, 2))), limit, tolerance=ROUNDING),
        ),
        conclusions=(
            at_least("smallest alpha_ij / c_1", counted.min() / c1, 1.0, tolerance=ROUNDING),
            at_most("largest alpha_ij / c_2", counted.max() / c2, 1.0, tolerance=ROUNDING),
            equal(
                "row sums of the weights", np.max(np.abs(alpha.sum(axis=-1) * math.sqrt(D) - 1)), 0.0, tolerance=1e-11
            ),
            agrees("the weights, against the printed ones", alpha, np.stack([printed_weights(x, p, sees) for p in P])),
            agrees("the smallest weight, at extremal tokens", alpha[0, -1, 0], sharp),
        ),
        witness={"W": W, "P": P, "x": x, "c_1": c1, "c_2": c2},
        parameters={"n": n, "d": D, "heads": HEADS, "K^2 b": K * K * limit},
    )


weights_are_bounded = claim(
    "consensus/lemma-4.1",
    statement="""If |P_h(t)| <= b then c_1 <= alpha_ij <= c_2 for all i and j, with c_1 = e^{-2 K^2 b} / (l sqrt d) and
    c_2 = e^{2 K^2 b}, K being the longest semi-axis of E_W.

    Evaluated at tokens at both ends of the longest axis, P = b I, where the scores are as different as they can be.
    """,
    trial=partial(_bounds_trial, causal=False),
    control=partial(_bounds_trial, causal=False, share=0.75),  # Three quarters of the exponent.
    num_trials=16,
    note="for the full attention of Section 4; for the causal weights of Sections 5 and 6 only for j <= i (`/causal`); "
    "c_1 is attained up to the factor l / (l - 1) at most, c_2 never: the weights are at most 1 / sqrt(d)",
)


@claim("consensus/lemma-4.1/causal", variant="reading", num_trials=8)
def causal_weights_are_bounded(key: Key) -> Trial:
    """Read for the causal weights: c_1 <= alpha_ij <= c_2 for j <= i; the other weights are zero."""
    return _bounds_trial(key, causal=True, all_pairs=False)


@causal_weights_are_bounded.with_control
def causal_weights_are_bounded(key: Key) -> Trial:
    """The bounds for all i and j, as in the lemma, although alpha_ij = 0 for j > i."""
    return _bounds_trial(key, causal=True)


class RootWave(AbstractSchedule):
    """P(t) = (|sin t|^(1/2) + c [t >= 1]) P': uniformly continuous for c = 0, though not Lipschitz; else it jumps."""

    base: Array
    jump: Array

    def __call__(self, t: Time) -> Array:
        """Return P(t)."""
        return (jnp.sqrt(jnp.abs(jnp.sin(t))) + jnp.where(jnp.asarray(t) >= 1, self.jump, 0.0)) * self.base

    @property
    def shape(self) -> tuple[int, int, int]:
        """The shape (heads, d, d)."""
        heads, d, _ = self.base.shape
        return heads, d, d

    def breakpoints(self, t0: float, t1: float) -> np.ndarray:
        """Return t = 1, where it may jump, and the multiples of pi, where its derivative is infinite."""
        edges = np.array([1.0, math.pi, 2 * math.pi])
        return edges[(edges > t0) & (edges < t1)]


LAGS = (1e-8, 1e-6, 1e-4, 1e-2)
PLACES = (0.0, 0.4, 1.0, 2.0, math.pi)
"""Times about which differences of f are taken; P has roots at 0 and pi."""


def _modulus_trial(key: Key, integrator: AbstractIntegrator, jump: float) -> Trial:
    """Measure |f(t + s) - f(t)| against the modulus that the proof of Lemma 4.2 gives.

    With r = h / sqrt(d), in the norm of W tokens move at speed r at most; a factor g_j is bounded by 2 K^2 and changes
    by 4 K^2 r s at most, a score by K^2 w(s) + 2 b K^2 r s, w(s) the modulus of P, and the weights of a row, in sum, by
    twice that over sqrt(d). Here w(s) = sqrt(s) max |P_h'|.
    """
    a, b, c = jax.random.split(key, 3)
    W = random_metric(a)
    base = jax.random.uniform(c, (HEADS, D, D), minval=-0.5, maxval=0.5)
    size = float(np.max(np.linalg.norm(np.asarray(base), 2, axis=(1, 2))))
    K2, r = longest_semi_axis(W) ** 2, HEADS / math.sqrt(D)
    schedule = RootWave(base, jnp.asarray(jump))
    flow = identity_value_flow(schedule, space=Ellipsoid(W))
    n = 3 if jump else number_of_tokens(key, (1, 2, 3))
    v, x0 = in_hemisphere(b, W, n)
    # each pair of times has one in its middle as well, so that those about t = 1 lie on either side of it
    pairs = [(max(t - s / 2, 0.0), max(t - s / 2, 0.0) + s) for t in PLACES for s in LAGS]
    ts = np.unique([t for pair in pairs for t in pair])
    path = simulate(flow, x0, ts, integrator=integrator)
    f = np.stack([np.asarray(flow.vector_field(t, x) @ v) for t, x in zip(path.ts, path.ys, strict=True)])
    printed = [
        printed_field(x, float(math.sqrt(abs(math.sin(t))) + jump * (t >= 1)) * np.asarray(base), IDENTITIES, W)
        for t, x in zip(ts[::7], np.asarray(path.ys)[::7], strict=True)
    ]
    at = {float(t): k for k, t in enumerate(ts)}
    excess = []
    for early, late in pairs:
        s = late - early
        modulus = r * (4 * K2 * r * s + 4 * K2 * (K2 * math.sqrt(s) * size + 2 * size * K2 * r * s))
        excess.append(float(np.max(np.abs(f[at[late]] - f[at[early]])) - modulus))
    continuous = at_most("modulus of continuity of P at 1e-8", 1e-4 * size + jump * size, 2e-4, tolerance=0.0)
    return Trial(
        hypotheses=(
            at_most("sup |P_h|", (1 + jump) * size, 10.0, tolerance=ROUNDING),
            *((continuous,) if not jump else ()),
        ),
        conclusions=(
            at_most("largest |f|", np.max(np.abs(f)), 2 * K2 * r, tolerance=ROUNDING),
            at_most("difference of f beyond the modulus of the proof", max(excess), 0.0, tolerance=1e-9),
            agrees("f, against the printed sum", f[::7], np.stack(printed) @ np.asarray(v)),
        ),
        witness={"W": W, "P'": np.asarray(base), "v": np.asarray(v), "x0": np.asarray(x0)},
        parameters={"n": n, "d": D, "heads": HEADS, "differences of t": f"{LAGS[0]:g} to {LAGS[-1]:g}"},
    )


rates_are_uniformly_continuous = claim(
    "consensus/lemma-4.2",
    statement="""
    For bounded and uniformly continuous P_h the functions f_i = v^T y_i-dot along solutions of (11) are bounded and
    uniformly continuous.

    Read: with the bound and the modulus that its proof gives. Evaluated for P(t) proportional to |sin t|^(1/2), whose
    modulus is a square root, about its roots and elsewhere.
    """,
    trial=partial(_modulus_trial, jump=0.0),
    control=partial(_modulus_trial, jump=3.0),  # The same P(t) with a jump at t = 1: bounded, but not continuous.
    num_trials=8,
)
