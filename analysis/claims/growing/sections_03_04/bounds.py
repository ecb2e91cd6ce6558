"""Claims of Proposition 1, Corollary 1 and Theorem 2: lower bounds on the second derivative of F_sep."""

from fractions import Fraction
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.growing.instances.expansions import (
    D,
    Expansion,
    along_dominant,
    expanding,
    expansion_computed,
    force_of,
    least_separation,
    random_expansion,
    separated,
    shipped,
    signed_permutation,
)
from analysis.claims.growing.instances.lines import LINE, centred, symmetric_expansion
from analysis.claims.prototype_banks import RationalBank, distances
from analysis.claims.rational_instances import matrix
from analysis.claims.rational_logarithms import logarithm
from analysis.growing.separation import expansion, expansion_derivatives
from analysis.ledger.claim import certified, claim
from analysis.ledger.evidence import Measurement, Trial, agrees, at_least, at_most, holds
from dynsim._core.types import Key, Scalar
from dynsim.keys import numpy_rng


class Bound(NamedTuple):
    """The mean variance of the projections, C_0, and the lower bound s_0 of the separation."""

    variance: Fraction
    correction: Fraction
    separation: Fraction

    def value(self, bank: RationalBank, dominant: Fraction) -> Fraction:
        """Return s_0^2 lambda Var / K^2 - C_0, which is T^2 / 32 times the bound (15)."""
        return self.separation**2 / len(bank.p) ** 2 * dominant * self.variance - self.correction

    def threshold(self, bank: RationalBank) -> Fraction:
        """Return the right side of (19)."""
        return len(bank.p) ** 2 * self.correction / (self.separation**2 * self.variance)


def bound_of(at: Expansion, separation: Fraction = Fraction(2)) -> Bound:
    """Return the parts of (15) of an expansion for given s_0, exactly."""
    q, alpha = at.bank.q, at.projections
    delta = at.starred[None] - (q @ at.starred)[:, None]
    variances = np.sum(q * delta**2, axis=1)
    widest = np.max(distances(at.bank.parts.centroids, at.bank.p))
    return Bound(np.sum(variances) / len(q), max(alpha**2) * max(variances) * len(q) * widest, separation)


def bound_computed(at: Expansion, dominant: Fraction, separation: Fraction = Fraction(2)) -> tuple[Measurement, ...]:
    """Measure that s_0 bounds S(P), and that the toolkit computes the bound (15) and the threshold (19) as they are."""
    exact, T, found = bound_of(at, separation), at.bank.temperature, shipped(*at.floats).bound
    s, level = jnp.asarray(float(separation)), jnp.asarray(float(dominant))
    value, threshold = float(exact.value(at.bank, dominant)), float(exact.threshold(at.bank))
    return (
        holds("S(P) >= s_0 > 0", least_separation(at.bank) >= separation > 0),
        agrees("the bound that ships, times T^2 / 32", found.value(s, level) * T**2 / 32, value),
        agrees("the threshold that ships", found.threshold(s), threshold),
    )


def cold_expansion(key: Key) -> Expansion:
    """Return two prototypes that differ along u, and four tokens, so cold that q_n1 q_n2 are below 1/6.

    All differences of squared distances are odd, so that they are at least 1, and the base is large.
    """
    rng = numpy_rng(key, "cold")
    axes = signed_permutation(rng, D)
    z, second = matrix(rng.integers(-2, 3, (4, D))), matrix(rng.integers(-1, 2, D))
    z[0] = z[0] + (z[0] @ axes[0] == 0) * axes[0]
    p = np.stack([second + (1 + 2 * int(rng.integers(2))) * axes[0], second])
    return expanding(key, RationalBank(z, p, Fraction(str(rng.choice(["4", "5", "9"]))), name="cold"), axes)


def cancelling_expansion(key: Key) -> Expansion:
    """Return tokens at equal distances from the bisector of two prototypes, two on each side, that move alike.

    Their q_n1 q_n2 lie between 1/6 and 1/5, and the derivatives of these cancel.
    """
    rng = numpy_rng(key, "cancelling")
    axes = signed_permutation(rng, D)
    z = np.stack([axes[0], axes[0] - 2 * axes[1]] * 2) + int(rng.integers(-2, 3)) * axes[2]
    p = np.stack([axes[0], -axes[1]])
    return expanding(
        key, RationalBank(z, p, Fraction(str(rng.choice(["16/9", "7/4", "9/5"]))), name="cancelling"), axes
    )


def _trial(at: Expansion, hypotheses: tuple[Measurement, ...], conclusions: tuple[Measurement, ...]) -> Trial:
    measured = (*along_dominant(at), *separated(at), *hypotheses)
    return Trial(measured, conclusions, at.witness(), parameters=at.parameters)


def _strong(key: Key, *, copies: int = 1) -> Expansion:
    """Return an expansion with concave phi, whose residual is so strong that the bounds claim the contrary."""
    weak = symmetric_expansion(key, hot=True, length=1, copies=copies)
    needed = bound_of(weak).threshold(weak.bank)
    return symmetric_expansion(key, hot=True, length=1, copies=copies, strength=int(needed) + 2)


def _bound_trial(at: Expansion, dominant: Fraction, *hypotheses: Measurement) -> Trial:
    """Measure (15) with a value in place of lambda_max, times T^2 / 32."""
    bound, phi = bound_of(at), at.force()
    return _trial(
        at,
        (*hypotheses, *centred(at), *bound_computed(at, dominant), *expansion_computed(at)),
        (holds("T^2 phi''(0) / 32 is at least the bound", phi[2] / 16 >= bound.value(at.bank, dominant)),),
    )


@certified(
    "growing/proposition-1",
    num_trials=4,
    note="the right side grows with lambda_max(A_res), and so with M, of which phi does not depend; s_0 = 2 is a lower "
    "bound both of S(P) and of the distance. With lambda_max = |Z u|^2, as in the proof, it fails too, see `variance`",
)
def second_derivative_has_the_bound(key: Key) -> Trial:
    """Under (A1), (A2') and S(P) >= s_0 > 0: phi''(0) >= (32/T^2) [(s_0^2/K^2) lambda_max(A_res) Var - C_0], with the
    mean Var over n of Var_{q_n}[p*], and C_0 = |alpha|^2 Var_max N D^2, D = max_nk |p_k - mu_n|.
    """
    at = _strong(key)
    return _bound_trial(at, Fraction(at.strength))


@certified(
    "growing/proposition-1/variance",
    variant="reading",
    num_trials=4,
    note="the terms <r, r''> grow with N^2, C_0 and |Z u|^2 with N: four tokens are enough, and more are worse",
)
def second_derivative_has_the_bound_of_the_variance(key: Key) -> Trial:
    """The same. Read: lambda_max is |Z u|^2 = sum_n alpha_n^2, as in the proof."""
    at = symmetric_expansion(key, hot=True, length=1, copies=int(numpy_rng(key, "copies").integers(1, 3)))
    return _bound_trial(at, np.sum(at.projections**2))


def _lower_trial(at: Expansion, factor: int) -> Trial:
    """Measure T^2 phi''(0) / 32 >= T^2 sum_k |r'_k|^2 / 4 - factor C_0."""
    bound, phi, r = bound_of(at), at.force(), at.forces()
    least = np.sum(r[1] ** 2) / 4 - factor * bound.correction
    return _trial(
        at,
        (),
        (
            holds("T^2 phi''(0) / 32 is at least the bound", phi[2] / 16 >= least),
            *expansion_computed(at),
            agrees("C_0 that ships", shipped(*at.floats).bound.correction, float(bound.correction)),
            *bound_computed(at, Fraction(at.strength), Fraction(1)),
        ),
    )


@certified(
    "growing/proposition-1/corrected",
    # C_0 as printed, and many equal tokens.
    control=lambda key: _lower_trial(symmetric_expansion(key, hot=True, length=1, copies=2), 1),
    num_trials=12,
    note="|r_k| <= N D, and sum_k |r''_k| <= (24/T^2) D sum_n alpha_n^2 Var_{q_n}[p*]; lambda_max does not occur. "
    "Instances: random ones, and many equal tokens, for which the order N^2 is attained",
)
def second_derivative_has_another_bound(key: Key) -> Trial:
    """phi''(0) >= 8 sum_k |r'_k|^2 - (32/T^2) 6 N C_0. Changed: the exact first term of the proof in place of the one
    with lambda_max, and 6 N C_0 in place of C_0.
    """
    copies = int(numpy_rng(key, "many").integers(0, 3))
    at = symmetric_expansion(key, hot=True, copies=copies) if copies else random_expansion(key)
    return _lower_trial(at, 6 * len(at.bank.z))


def _strict_trial(at: Expansion, dominant: Fraction, separation: Fraction, *hypotheses: Measurement) -> Trial:
    """Measure phi''(0) > 0 where a value in place of lambda_max exceeds the threshold (19)."""
    bound, phi = bound_of(at, separation), at.force()
    return _trial(
        at,
        (
            *centred(at),
            *hypotheses,
            holds("lambda_max exceeds the right side of (19)", dominant > bound.threshold(at.bank)),
            *bound_computed(at, dominant, separation),
            *expansion_computed(at),
        ),
        (holds("phi''(0) > 0", phi[2] > 0),),
    )


@certified("growing/corollary-1", num_trials=4, note="as Proposition 1: any large multiple of M meets the condition")
def large_residuals_make_the_second_derivative_positive(key: Key) -> Trial:
    """phi''(0) > 0 whenever lambda_max(A_res) > K^2 C_0 / (s_0^2 Var)."""
    at = _strong(key)
    return _strict_trial(at, Fraction(at.strength), Fraction(2))


@certified(
    "growing/corollary-1/variance",
    variant="reading",
    num_trials=4,
    note="s_0 = S(P), a squared distance; for a lower bound s_0 of the distance no bank meets the condition: s_0 <= 2 "
    "D, and |Z u|^2 Var <= N |alpha|^2 Var_max",
)
def large_variances_make_the_second_derivative_positive(key: Key) -> Trial:
    """The same. Read: lambda_max is |Z u|^2 = sum_n alpha_n^2, as in the proof."""
    at = symmetric_expansion(key, hot=True, length=2)
    return _strict_trial(at, np.sum(at.projections**2), Fraction(16))


def _hard_trial(at: Expansion, bound: Fraction) -> Trial:
    """Measure phi''(0) > 0 for two prototypes whose q_n1 q_n2 are below a bound."""
    phi = at.force()
    return _trial(
        at,
        (
            holds(f"q_n1 q_n2 < {bound} for all n", max(np.prod(at.bank.q, axis=1)) < bound),
            holds("some projection is not 0", bool(np.any(at.projections != 0))),
        ),
        (holds("phi''(0) > 0", phi[2] > 0), *expansion_computed(at)),
    )


@certified(
    "growing/corollary-1/corrected",
    # The condition q_n1 q_n2 < 1/5, that for equal tokens; here they have opposite first derivatives.
    control=lambda key: _hard_trial(cancelling_expansion(key), Fraction(1, 5)),
    num_trials=16,
    note="F_sep = 8 |p_1 - p_2|^2 (sum_n q_n1 q_n2)^2, and each product is convex where it is at most 1/6; sharp",
)
def hard_assignments_make_the_second_derivative_positive(key: Key) -> Trial:
    """Two prototypes that differ along u, and some alpha_n not 0: phi''(0) > 0. Changed: K = 2, and the condition
    q_n1 q_n2 < 1/6 for all n in place of the one on lambda_max.
    """
    return _hard_trial(cold_expansion(key), Fraction(1, 6))


@certified(
    "growing/theorem-2",
    num_trials=4,
    note="phi'(0) < 0, phi''(0) < 0 and phi(1) < phi(0), whatever theta_w: phi does not depend on M, so that no gain "
    "scales with lambda_max. Where assignments are hard phi falls like exp(-4 y eps), which is below its Taylor "
    f"polynomial: (20) fails, too, whatever the signs. {LINE}",
)
def amplification_is_complete(key: Key) -> Trial:
    """Under (A1), (A2') and lambda_max > theta_w, theta_w above the right side of (19): phi(1) >= phi(0) + phi'(0) +
    phi''(0) / 2 with phi'(0) >= 0 and phi''(0) >= (32/T^2) [s_0^2 theta_w Var / K^2 - C_0] > 0.
    """
    at, hard = _strong(key), _strong_and_hard(key)
    bound, phi, threshold = bound_of(at), at.force(), Fraction(at.strength) - Fraction(1, 2)
    trial = _trial(
        at,
        (
            *centred(at),
            holds("lambda_max > theta_w", at.strength > threshold),
            holds("theta_w is above the right side of (19)", threshold > bound.threshold(at.bank)),
            holds("the bound is positive", bound.value(at.bank, threshold) > 0),
            *bound_computed(at, threshold),
            *expansion_computed(at),
            *_triggered(hard),
        ),
        (
            holds(
                "phi(1) >= phi(0) + phi'(0) + phi''(0) / 2, of hard assignments", force_of(hard.end) >= _taylor(hard)
            ),
            holds("phi'(0) >= 0", phi[1] >= 0),
            holds("T^2 phi''(0) / 32 is at least the bound", phi[2] / 16 >= bound.value(at.bank, threshold)),
        ),
    )
    return Trial(trial.hypotheses, trial.conclusions, {**trial.witness, "theta_w": threshold}, parameters=at.parameters)


def _strong_and_hard(key: Key) -> Expansion:
    """Return an expansion as strong as that of `_strong`, with T = 1 / log 2 and tokens at least twice as far out."""
    weak = symmetric_expansion(key)
    bank = weak.bank._replace(base=Fraction(2))
    strength = int(bound_of(weak._replace(bank=bank)).threshold(bank)) + 2
    return symmetric_expansion(key, strength=strength)._replace(bank=bank)


def _triggered(at: Expansion) -> tuple[Measurement, ...]:
    """Measure the hypotheses of Theorem 2 for an expansion, and that what ships is as it is."""
    threshold = Fraction(at.strength) - Fraction(1, 2)
    return (
        *along_dominant(at),
        *separated(at),
        *centred(at),
        holds("theta_w < lambda_max is above the right side of (19)", threshold > bound_of(at).threshold(at.bank)),
        *bound_computed(at, threshold),
        *expansion_computed(at),
        agrees("phi(1) that ships", shipped(*at.floats).end, float(force_of(at.end))),
    )


def _taylor(at: Expansion) -> Fraction:
    """Return a lower bound of phi(0) + phi'(0) + phi''(0) / 2: a polynomial in 1 / T = log b, of negative slope."""
    phi, log = at.force(), logarithm(at.bank.base)
    return phi[0] + min(phi[1] * log.low, phi[1] * log.high) + min(phi[2] * log.low**2, phi[2] * log.high**2)


@jax.jit
def _remainder(p: jax.Array, z: jax.Array, u: jax.Array, T: Scalar, share: Scalar) -> Scalar:
    """Return phi(1) - phi(0) - phi'(0) - share phi''(0)."""
    start, end = (expansion(p, z, u, T, jnp.asarray(step, float)) for step in (0.0, 1.0))
    first, second = expansion_derivatives(p, z, u, T)
    return end - start - first - share * second


WARM = (200.0, 400.0, 1600.0)


def _order_trial(key: Key, share: float) -> Trial:
    """Measure that the remainder of an expansion, times T^3, does not grow with the temperature."""
    at = random_expansion(key)
    p, z, u, *_ = at.floats
    size = 1e-13 * (1 + float(at.force(0)[0]))  # rounding of the forces
    found = [T**3 * abs(float(_remainder(p, z, u, jnp.asarray(T), jnp.asarray(share)))) for T in WARM]
    largest, noise = max(found[:2]), WARM[2] ** 3 * size
    return _trial(
        at,
        (at_least("T^3 times the remainder, at T = 200 or 400", largest, 0.0, tolerance=10 * noise),),
        (at_most("that at T = 1600 over it", found[2] / largest, 2.0, tolerance=noise / largest),),
    )


expansion_holds_to_third_order = claim(
    "growing/theorem-2/corrected",
    statement="phi(1) = phi(0) + phi'(0) + phi''(0) / 2 + O(1/T^3) as T tends to infinity. Changed: an equality up to "
    "the third order in place of the inequality, without the signs of the derivatives.",
    trial=partial(_order_trial, share=0.5),
    control=partial(_order_trial, share=1.0),  # The second derivative without its factor 1/2.
    num_trials=12,
    note="the force is a polynomial of degree j in Z at the order 1/T^j. The sign of the first terms is that of "
    "`theorem-1/corrected`; none of them depends on lambda_max",
)
