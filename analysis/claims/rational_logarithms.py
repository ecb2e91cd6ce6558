"""Rational interval arithmetic for logarithms of fractions, and enclosures of entropies."""

import functools
import math
from collections.abc import Iterable
from fractions import Fraction
from typing import NamedTuple

from analysis.claims.rational_instances import Exact

BITS = 160  # precision of arguments and results; enclosures have a width of about 2^-157 times the binary exponent


class Enclosure(NamedTuple):
    """An interval with rational ends that contains a number."""

    low: Fraction
    high: Fraction

    def times(self, factor: Fraction) -> "Enclosure":
        """Return the enclosure of the number times `factor`."""
        ends = (factor * self.low, factor * self.high)
        return Enclosure(min(ends), max(ends))


def total(terms: Iterable[Enclosure]) -> Enclosure:
    """Return the enclosure of a sum."""
    pairs = list(terms)
    return Enclosure(sum((t.low for t in pairs), Fraction(0)), sum((t.high for t in pairs), Fraction(0)))


def logarithm(x: Fraction) -> Enclosure:
    """Return an enclosure of the natural logarithm of a positive fraction."""
    halvings = math.floor(math.log2(x.numerator) - math.log2(x.denominator) + 0.5)
    scaled = x / Fraction(2) ** halvings
    y = _rounded(scaled, scaled)  # about 2^-1/2 to 2^1/2
    near = Enclosure(_near_one(y.low).low, _near_one(y.high).high)
    return total([near, _near_one(Fraction(2)).times(Fraction(halvings))])


@functools.lru_cache(maxsize=1024)
def _near_one(y: Fraction) -> Enclosure:
    """Return an enclosure of log y = 2 atanh z, z = (y - 1) / (y + 1)."""
    z = (y - 1) / (y + 1)
    if z == 0:
        return Enclosure(z, z)
    return _rounded(*twice_atanh(z, math.ceil(BITS / (-2 * math.log2(abs(z))))))


def twice_atanh(z: Fraction, terms: int) -> Enclosure:
    """Return an enclosure of 2 atanh z, |z| < 1, from `terms` terms of the series and a geometric bound of the rest."""
    value = 2 * sum((z ** (2 * n + 1) / (2 * n + 1) for n in range(terms)), Fraction(0))
    rest = 2 * z ** (2 * terms + 1) / ((2 * terms + 1) * (1 - z * z))
    return Enclosure(min(value, value + rest), max(value, value + rest))


def _rounded(low: Fraction, high: Fraction) -> Enclosure:
    """Return an enclosure with both ends rounded outwards to multiples of 2^-BITS."""
    return Enclosure(Fraction(math.floor(low * 2**BITS), 2**BITS), Fraction(math.ceil(high * 2**BITS), 2**BITS))


def divergence(p: Exact, q: Exact) -> Enclosure:
    """Return an enclosure of the relative entropy D(p || q) in nats, for a positive q, with 0 log 0 = 0."""
    return total(logarithm(a / b).times(a) for a, b in zip(p, q, strict=True) if a > 0)


def entropy(p: Exact) -> Enclosure:
    """Return an enclosure of the entropy of a distribution in nats."""
    return total(logarithm(a).times(-a) for a in p if a > 0)
