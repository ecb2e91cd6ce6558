"""Verify an instance that refutes Lemma 17 (iii) of "DDCL-INCRT".

Printed: under eta_T < T_min^3 / (3 sigma_max) and for sigma_s >= sigma_0, T_{s+1} = T_s - eta_T sigma_s / T_s^2
reaches T_min in at most ceil(t*) + 1 steps, t* = (T_init^3 - T_min^3) / (3 eta_T sigma_0).

Instance: constant sigma. T - eta_T sigma / T^2 increases with T > 0, so that temperatures rounded down after every
step stay below the true ones.
"""

import math
from fractions import Fraction

from analysis.verifiers.frames.cooling import cooled, slow_cooling

STATEMENT = "growing/lemma-17-iii"
WITNESS = {"T_init": "10", "T_min": "1", "sigma": "1", "eta_T": "19/60"}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    start, least, sigma, rate = (Fraction(witness[name]) for name in ("T_init", "T_min", "sigma", "eta_T"))
    yield from slow_cooling(start, least, sigma, rate)

    steps = math.ceil((start**3 - least**3) / (3 * rate * sigma)) + 1
    T = cooled(start, least, sigma, rate, steps)
    yield "steps allowed: ceil(t*) + 1", steps, True
    yield "T after them, rounded down, is above T_min", f"{float(T):.12f}", least < T
