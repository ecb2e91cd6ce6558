"""Verify an instance that refutes Lemma 17 (i) of "DDCL-INCRT".

Printed: under eta_T < T_min^3 / (3 sigma_max) all temperatures of T_{s+1} = T_s - eta_T sigma_s / T_s^2 are at least
T_min.

Instance: T_init just above T_min, sigma = sigma_max, one step.
"""

from fractions import Fraction

from analysis.verifiers.frames.cooling import slow_cooling

STATEMENT = "growing/lemma-17-i"
WITNESS = {"T_init": "101/100", "T_min": "1", "sigma": "1", "eta_T": "33/100"}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    start, least, sigma, rate = (Fraction(witness[name]) for name in ("T_init", "T_min", "sigma", "eta_T"))
    yield from slow_cooling(start, least, sigma, rate)
    after = start - rate * sigma / start**2
    yield "T_1 is below T_min", after, after < least
