"""Verify an instance that refutes the convergence in Theorem 2 of "DDCL-Attention".

Printed: for lambda > 2 eta_P C(K, 2) the flow of encoder and prototypes converges to critical points with distinct
prototypes, for any ratio of rates.

Instance: one free embedding and two prototypes on a line, at any rate eta_theta > 0 of the embedding. The argument
is that of `escape`.
"""

from fractions import Fraction

from analysis.verifiers.frames.barriers import escape

STATEMENT = "prototypes/theorem-2-convergence"
WITNESS = {"mode": "full", "lambda": "3", "eta_P": "1", "eta_theta": "1/2", "T": "1", "a_0": "3/8", "b_0": "2"}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    yield from escape(witness)
    slow = Fraction(witness["eta_theta"])
    yield "eta_theta, positive", str(slow), slow > 0
