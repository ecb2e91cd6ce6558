"""Verify an instance that refutes the convergence in Theorem 3 of "DDCL-Attention".

Printed: for any decreasing T(t) with limit T_min > 0 the flow of Theorem 2 converges to the critical set at T_min.

Instance: one free embedding and two prototypes on a line. The region below, for the first temperature T, is one for
every lower temperature, at which x is larger. The argument is that of `escape`.
"""

from fractions import Fraction

from analysis.verifiers.frames.barriers import escape

STATEMENT = "prototypes/theorem-3-convergence"
WITNESS = {
    "mode": "full",
    "lambda": "3",
    "eta_P": "1",
    "eta_theta": "1/2",
    "T": "1",
    "T_min": "1/4",
    "a_0": "3/8",
    "b_0": "2",
}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    yield from escape(witness)
    slow, T = Fraction(witness["eta_theta"]), Fraction(witness["T"])
    floor = Fraction(witness["T_min"])
    yield "eta_theta, not negative", str(slow), slow >= 0
    yield "T_min, positive and below T", str(floor), 0 < floor < T
