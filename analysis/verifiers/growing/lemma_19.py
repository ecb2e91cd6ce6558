"""Verify an instance that refutes Lemma 19 of "DDCL-INCRT".

Printed: N_min > max(N_gate, s*), s* = ceil(t*) + 1, t* = (T_init^3 - T_min^3) / (3 eta_T sigma_0), ensures that gate
and temperatures have settled after N_min steps.

Instance: constant sigma, N_min = max(N_gate, s*) + 1. T - eta_T sigma / T^2 increases with T > 0, so that temperatures
rounded down after every step stay below the true ones.
"""

import math
from fractions import Fraction

from analysis.verifiers.frames.cooling import cooled, slow_cooling

STATEMENT = "growing/lemma-19"
WITNESS = {"T_init": "25", "T_min": "1", "sigma": "1", "eta_T": "5208/16447", "N_gate": 1}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    start, least, sigma, rate = (Fraction(witness[name]) for name in ("T_init", "T_min", "sigma", "eta_T"))
    yield from slow_cooling(start, least, sigma, rate)

    steps = max(int(witness["N_gate"]), math.ceil((start**3 - least**3) / (3 * rate * sigma)) + 1) + 1
    T = cooled(start, least, sigma, rate, steps)
    yield "steps made: max(N_gate, ceil(t*) + 1) + 1", steps, True
    yield "T after them, rounded down, is above T_min", f"{float(T):.12f}", least < T
