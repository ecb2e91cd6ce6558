"""The bound (15) and the threshold (19) in fractions, and expansions of two prototypes on either side of bounds."""

from fractions import Fraction
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from analysis.claims.growing.instances.expansions import (
    D,
    Expansion,
    expanding,
    least_separation,
    shipped,
    signed_permutation,
)
from analysis.claims.prototype_banks import RationalBank, distances
from analysis.claims.rational_instances import matrix
from analysis.ledger.evidence import Measurement, agrees, holds
from dynsim._core.types import Key
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
