"""Rational bounds of logarithms."""

from fractions import Fraction


def logarithm(x, terms):
    """Bounds of log x, x > 1: terms of the series of 2 atanh z, z = (x - 1) / (x + 1), and one of the rest."""
    z, n = (x - 1) / (x + 1), 2 * terms + 1
    low = 2 * sum(z**k / k for k in range(1, n, 2))
    return low, low + 2 * z**n / (n * (1 - z * z))


def log_2_is_within(low, high):
    """Whether low < log 2 < high."""
    bounds = logarithm(Fraction(2), 8)
    return low < bounds[0] and bounds[1] < high
