"""Verify an instance that refutes Lemma 24 of "DDCL-INCRT".

Printed: |T(t) - T_inf| <= C_temp eps_2 for all t >= t* = (T_init^3 - T_min^3) / (3 eta_T sigma_0), C_temp independent
of the rates; the only rest point of T at fixed P is T_min here.

Instance: tokens at -z and z, prototypes at -p and p on a line. p' = eta (-p + v z + lambda / (4 p^3)), losses as means
over tokens, with v = tanh(x/2) + x / (2 cosh^2(x/2)), x = 4 z p / T; 0 <= v <= 3/2, since cosh^2(x/2) >= 1 + x^2/4.
sigma = y^2 / (4 cosh^2(y / 2 T)) with y = 4 z p. At the start y = y_0, the least one, and T_init is the largest y, so
that 4 cosh^2 <= 4 cosh^2(1/2) < 5.1. For T <= y_0 / 30, sigma <= y^2 e^{-y/T} <= y_0^2 e^{-30}, since y^2 e^{-y/T}
decreases in y >= 2 T. From y_0 / 30 to y_0 / 60 it takes at least the difference of the cubes over 3 eta_T times this
bound, and that is more than t*.
"""

import math
from fractions import Fraction

from analysis.verifiers.frames.barriers import invariant_interval

STATEMENT = "growing/lemma-24"
WITNESS = {"z": "5/8", "lambda": "3/4", "least p": "1/2", "largest p": "2", "C_temp": "745", "eps_2": "1/143040"}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    yield from invariant_interval(witness)
    z, low, high, C, epsilon = (Fraction(witness[k]) for k in ("z", "least p", "largest p", "C_temp", "eps_2"))
    y, hot = 4 * z * low, 4 * z * high
    warm, cool, coldest = y / 30, y / 60, y / 120
    e = sum(Fraction(1, math.factorial(n)) for n in range(12))
    above = e + Fraction(1, math.factorial(11))
    yield "4 cosh^2(1/2) = 2 + e + 1/e, below 5.1", float(2 + above + 1 / e), 2 + above + 1 / e < Fraction(51, 10)
    first, small = y * y / Fraction(51, 10), y * y / e**30
    arrival = (hot**3 - coldest**3) / (3 * first)
    longer = (warm**3 - cool**3) / (3 * small)
    yield "eta_T t*, at most", float(arrival), arrival > 0
    yield "eta_T times the time from y_0 / 30 to y_0 / 60, at least, above it", float(longer), longer > arrival
    yield "C_temp eps_2, below T - T_min at t*", str(C * epsilon), 0 < C * epsilon < cool - coldest
