"""Verify an instance that refutes Lemma 26 of "DDCL-INCRT".

Printed: sum lambda^(h) / |M_a|_F^2 >= 1 - K theta_w / |M_a|_F^2 at the end of growth.

Instance: M_a with planes of coordinates of the given values: |M_a|_F^2 is twice the sum of their squares, and each
plane above theta_w gives one head, at its value.
"""

from fractions import Fraction

STATEMENT = "growing/lemma-26"
WITNESS = {"values": ["28", "21", "16"], "theta_w": "1/4"}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    s, threshold = [Fraction(v) for v in witness["values"]], Fraction(witness["theta_w"])
    yield "theta_w, positive and below all values", str(threshold), 0 < threshold < min(s)
    energy = 2 * sum(v * v for v in s)
    covered, least = sum(s) / energy, 1 - len(s) * threshold / energy
    yield "coverage, below the bound", f"{float(covered)} < {float(least)}", covered < least
