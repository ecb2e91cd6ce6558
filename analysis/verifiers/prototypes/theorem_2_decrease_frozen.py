"""Verify an instance that refutes Theorem 2, read for the gradient with fixed assignments of "DDCL-Attention".

Read: W = L_q + barrier is non-increasing along the flow whose gradient takes the assignments q as constants.

Instance: one fixed embedding at 0, prototypes at 0 and b, T = b^2 / 2, q = 1 / (1 + e^2) the far assignment. The
derivative of L_q by b is 2 w b, w = q (1 - 2 (1 - q)), but the flow takes 2 q b. With c = 2 lambda / b^3

    dW/dt / eta = (2 w b - c)(c - 2 q b) - c^2 >= (2 u b + c)(2 l b - c) - c^2,    -w >= u > 0, q >= l.
"""

import math
from fractions import Fraction

STATEMENT = "prototypes/theorem-2-decrease/frozen"
WITNESS = {"b": "4", "lambda": "7/8", "eta_P": "1/4"}


def exponential(x):
    """A lower and an upper bound of e^x, 0 <= x <= 10, by its series to x^60 / 60! and a bound of the rest."""
    terms = [x**n / math.factorial(n) for n in range(61)]
    return sum(terms), sum(terms) + 2 * terms[-1]


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    b, lam, eta = (Fraction(witness[k]) for k in ("b", "lambda", "eta_P"))
    yield "lambda - 2 eta_P C(2, 2), positive", str(lam - 2 * eta), lam > 2 * eta > 0
    below, above = exponential(Fraction(2))
    low, high, c = 1 / (1 + above), 1 / (1 + below), 2 * lam / b**3
    u = 2 * low * (1 - high) - high
    yield "u, positive", float(u), u > 0
    yield "2 l b - c, positive", float(2 * low * b - c), 2 * low * b > c
    bound = (2 * u * b + c) * (2 * low * b - c) - c**2
    yield "lower bound of dW/dt / eta_P, positive", float(bound), bound > 0
