"""Logarithms of fractions between two fractions, and the signs of entropies that follow from them."""

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import NamedTuple

from analysis.claims.rational import Exact

BITS = 160  # kept of an argument; the width of an enclosure is about 2^-155
TERMS = 32  # of the series of atanh at |z| < 1/5: what is left out is below 5^-65


class Enclosure(NamedTuple):
    """Two fractions with a number between them."""

    low: Fraction
    high: Fraction

    def times(self, factor: Fraction) -> "Enclosure":
        """Return the enclosure of a multiple."""
        ends = (factor * self.low, factor * self.high)
        return Enclosure(min(ends), max(ends))


def total(terms: Iterable[Enclosure]) -> Enclosure:
    """Return the enclosure of a sum."""
    pairs = list(terms)
    return Enclosure(sum((t.low for t in pairs), Fraction(0)), sum((t.high for t in pairs), Fraction(0)))


def logarithm(x: Fraction) -> Enclosure:
    """Return an enclosure of the natural logarithm of a positive fraction."""
    halvings = math.floor(math.log2(x.numerator) - math.log2(x.denominator) + 0.5)
    y = x / Fraction(2) ** halvings  # about 2^-1/2 to 2^1/2
    scaled = y * 2**BITS
    below, above = Fraction(math.floor(scaled), 2**BITS), Fraction(math.ceil(scaled), 2**BITS)
    near = Enclosure(_near_one(below).low, _near_one(above).high)
    return total([near, _twice_atanh(Fraction(1, 3)).times(Fraction(halvings))])


def _near_one(y: Fraction) -> Enclosure:
    return _twice_atanh((y - 1) / (y + 1))


def _twice_atanh(z: Fraction) -> Enclosure:
    """Return an enclosure of 2 atanh z = log((1 + z) / (1 - z)): the series, and a geometric bound of its rest."""
    value = 2 * sum((z ** (2 * n + 1) / (2 * n + 1) for n in range(TERMS)), Fraction(0))
    rest = 2 * z ** (2 * TERMS + 1) / ((2 * TERMS + 1) * (1 - z * z))
    return Enclosure(min(value, value + rest), max(value, value + rest))


def divergence(p: Exact, law: Exact) -> Enclosure:
    """Return the relative entropy D(p || law) in nats, for a positive law; zero times its logarithm is zero."""
    return total(logarithm(a / b).times(a) for a, b in zip(p, law, strict=True) if a > 0)


def entropy(p: Exact) -> Enclosure:
    """Return the entropy of a distribution in nats."""
    return total(logarithm(a).times(-a) for a in p if a > 0)
