"""Claims of Section 5.2 on the activity sigma as temperatures fall: Lemma 8."""

import math
from fractions import Fraction
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.growing.instances.boxes import rates_of_change, two_heads
from analysis.growing.temperatures import activity
from analysis.ledger.claim import certified, claim
from analysis.ledger.evidence import ROUNDING, Trial, agrees, at_least, at_most, equal, holds
from dynsim._core.types import Key, Scalar
from dynsim.keys import numpy_rng
from dynsim.papers import GROWING
from dynsim.systems.growing.flow import Growing, GrowingFlow


@certified(
    "growing/lemma-8",
    GROWING.at("Lemma 8"),
    num_trials=4,
    note="sigma tends to 0 with T at every token without a tie, and so does the difference: the limit in the proof is "
    "not that of the variance. Any eta_P >= 0, modes full and frozen, sum or mean; no control: the corrected claim is "
    "the positive case",
)
def scale_separation_is_amplified(key: Key) -> Trial:
    """Of heads on orthogonal directions with sigma_1(0) > sigma_2(0), sigma_1 - sigma_2 does not decrease.

    The instance: tokens at 0, prototypes 0 and a e_1 of head 1, +-e_2 of head 2, so that sigma_2 = 0 for ever, and T =
    a^2 / log b with 1 < b <= 8/3 < e. With q = b / (1 + b), s = log b < 1, sigma_1 = a^4 q (1 - q) decreases with T,
    since its derivative by T is a^6 q (1 - q) (2 q - 1) / T^2 > 0, and with a, which shrinks as 1 - s q > 0 (full), and
    whose derivative 2 a^3 q (1 - q) (2 - s (2 q - 1)) is positive.
    """
    rng = numpy_rng(key, "instance")
    a, b = Fraction(int(rng.integers(2, 9)), 4), Fraction(8, 3) - Fraction(int(rng.integers(0, 20)), 15)
    eta_P, eta_T = (Fraction(int(k), 8) for k in rng.integers(1, 9, 2))
    q, s = b / (1 + b), math.log(b)
    T, square = float(a**2) / s, a**2
    m = np.zeros((4, 4))
    m[0, 2], m[2, 0], m[1, 3], m[3, 1] = 2, -2, 1, -1
    flow, x = two_heads(np.zeros((4, 4)), m, spread=1.0, temperatures=(T, T / 4), rates=(float(eta_P), float(eta_T)))
    x = x._replace(prototypes=x.prototypes.at[0].set(jnp.zeros((2, 4)).at[1, 0].set(float(a))))
    sigma, third = square**2 * q * (1 - q), square**3 * q * (1 - q) * (2 * q - 1)
    by_temperature = -float(eta_T * sigma * third) / T**4
    shrinking = -2 * float(eta_P * (1 - q) * a) * (1 - s * float(q))
    by_prototypes = 2 * float(a**3 * q * (1 - q)) * (2 - s * float(2 * q - 1)) * shrinking
    found = np.asarray(activity_slopes(flow, x))
    return Trial(
        hypotheses=(
            holds("1 < b <= 8/3, so that 0 < log b < 1", 1 < b <= Fraction(8, 3)),
            holds("sigma_1(0) > sigma_2(0) = 0, and S(P) > 0", sigma > 0 and a > 0),
            equal("<u_1, u_2>", jnp.dot(*flow.frames[:, 0]), 0.0, tolerance=ROUNDING),
            agrees("sigma that ships", rates_of_change(flow, x)[1], np.array([float(sigma), 0.0])),
            agrees("d sigma/dt that ships", found, np.array([by_temperature + by_prototypes, 0.0])),
        ),
        conclusions=(
            holds("d(sigma_1 - sigma_2)/dt is not negative at t = 0", not (2 * q - 1 > 0 and 1 - q > 0 and third > 0)),
        ),
        witness={"a": a, "b": b, "eta_P": eta_P, "eta_T": eta_T},
    )


@eqx.filter_jit
def activity_slopes(flow: GrowingFlow, x: Growing) -> jax.Array:
    """Return the derivatives of the activities along the flow."""
    return jax.jvp(flow.activity, (x,), (flow.velocity(jnp.zeros(()), x),))[1]


@jax.jit
def _activity_and_slope(z: jax.Array, p: jax.Array, T: Scalar) -> tuple[jax.Array, jax.Array]:
    return jax.value_and_grad(activity, 2)(z, p, T)


def _third_moments(z: np.ndarray, p: np.ndarray, T: float) -> float:
    """Return the mean over tokens of the third central moment of the squared distances."""
    d = np.sum((z[:, None] - p[None]) ** 2, axis=-1)
    q = np.exp(-(d - np.min(d, axis=1, keepdims=True)) / T)
    q = q / np.sum(q, axis=1, keepdims=True)
    return float(np.mean(np.sum(q * (d - np.sum(q * d, axis=1, keepdims=True)) ** 3, axis=1)))


def _amplification_trial(key: Key, chill: float) -> Trial:
    """Compare d(sigma_1 - sigma_2)/dt at fixed prototypes with third moments, for heads in which these have signs."""
    rng = numpy_rng(key, "skewed")
    a = rng.uniform(0.7, 1.4)
    b = a * rng.uniform(0.3, 0.5)
    z = 0.02 * rng.normal(size=(4, 4))
    wide = a * np.array([[0.0, 0, 0, 0], [1, 0, 0, 0], [-1, 0, 0, 0]])  # q = (1, r, r) / (1 + 2 r)
    other = b * np.array([[0.0, 0, 0, 0], [0, 1, 0, 0], [0, 30, 0, 0]])  # in effect two prototypes
    hot = a**2 / rng.uniform(0.2, 0.5)
    temperatures = np.array([hot * chill, hot])
    states = [
        _activity_and_slope(*map(jnp.asarray, (z, p, T))) for p, T in zip((wide, other), temperatures, strict=True)
    ]
    sigma, by_temperature = (np.array([float(s[j]) for s in states]) for j in range(2))
    third = np.array([_third_moments(z, p, T) for p, T in zip((wide, other), temperatures, strict=True)])
    slopes = -by_temperature * sigma / temperatures**2  # eta_T = 1
    skew, scale = _third_moments(z, wide, hot), 1 + float(np.max(np.abs(third)))
    return Trial(
        hypotheses=(
            at_least("sigma_1 - sigma_2", sigma[0] - sigma[1], 0.0, tolerance=ROUNDING),
            at_most("third moment of head 1, hot", skew, 0.0, tolerance=ROUNDING),
            at_least("third moment of head 2", third[1], 0.0, tolerance=ROUNDING),
        ),
        conclusions=(
            agrees("T^2 d sigma/dT over its size", by_temperature * temperatures**2 / scale, third / scale),
            at_least("d(sigma_1 - sigma_2)/dt", slopes[0] - slopes[1], 0.0, tolerance=ROUNDING),
            at_least("d sigma_1/dt, strictly", slopes[0], 1e-6, tolerance=ROUNDING),
        ),
        witness={"z": z, "a": a, "b": b, "T": temperatures, "third moments": third},
        parameters={"a^2 / T": float(a**2 / temperatures[0])},
    )


scale_separation_is_amplified_while_hot = claim(
    "growing/lemma-8/corrected",
    GROWING.at("Lemma 8"),
    statement="""
    At fixed prototypes T^2 d sigma/dT is the mean third central moment k, so that d sigma/dt = -eta_T sigma k / T^4.

    So sigma_1 - sigma_2 does not decrease while k_1 <= 0 <= k_2. Instances: head 1 with one near and two far prototypes
    at equal distances, hot; head 2 in effect with two.
    """,
    trial=partial(_amplification_trial, chill=1.0),
    control=partial(_amplification_trial, chill=1 / 6),  # Head 1 at a sixth of that temperature.
    num_trials=8,
    note="added: prototypes at rest, and third central moments of the squared distances, averaged over tokens, at most "
    "0 for head 1 and at least 0 for head 2; the former needs three prototypes, and ends when T_1 is low enough",
)
