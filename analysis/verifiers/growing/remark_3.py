"""Verify an instance that refutes Remark 3 of "DDCL-INCRT".

Printed: for T_init = 1, T_min = 0.1, eta_T = 0.01 and sigma_0 = 0.1, t* = (T_init^3 - T_min^3) / (3 eta_T sigma_0) is
about 33.
"""

from fractions import Fraction

STATEMENT = "growing/remark-3"
WITNESS = {"T_init": "1", "T_min": "1/10", "eta_T": "1/100", "sigma_0": "1/10"}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    start, least, rate, sigma = (Fraction(witness[name]) for name in ("T_init", "T_min", "eta_T", "sigma_0"))
    yield "the values are positive", (str(start), str(least), str(rate), str(sigma)), min(start, least, rate, sigma) > 0
    found = (start**3 - least**3) / (3 * rate * sigma)
    yield "t* is not between 30 and 36", found, not 30 <= found <= 36
