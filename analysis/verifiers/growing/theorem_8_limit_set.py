"""Verify an instance that refutes Theorem 8 (iii) of "DDCL-INCRT".

Printed: at every limit point sigma = 0.

Instance: tokens at -z and z, prototypes at -p and p on a line, T between T_min and T_init. p' = eta (-p + v z + lambda
/ (4 p^3)), losses as means over tokens, with v = tanh(x/2) + x / (2 cosh^2(x/2)), x = 4 z p / T; 0 <= v <= 3/2, since
cosh^2(x/2) >= 1 + x^2/4. sigma = (4 z p)^2 / (4 cosh^2(x/2)) >= (4 z p)^2 / (4 e^x) > 0 on an invariant interval, at
all times.
"""

import math
from fractions import Fraction

from analysis.verifiers.frames.barriers import invariant_interval

STATEMENT = "growing/theorem-8-limit-set"
WITNESS = {"z": "1/4", "lambda": "9/4", "eta_P": "9/16", "least p": "1/2", "largest p": "1", "T_min": "7/16"}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    lam, eta, coldest = (Fraction(witness[k]) for k in ("lambda", "eta_P", "T_min"))
    yield "lambda - 2 eta_P C(2, 2), positive", str(lam - 2 * eta), lam > 2 * eta > 0
    yield from invariant_interval(witness)
    z, low, high = (Fraction(witness[k]) for k in ("z", "least p", "largest p"))
    yield "T_min, positive", str(coldest), coldest > 0
    largest = math.ceil(4 * z * high / coldest)
    sigma = (4 * z * low) ** 2 / (4 * 3**largest)
    yield "sigma, at least, positive", str(sigma), sigma > 0
