"""Verify an instance that refutes Fact 1 of "DDCL-Attention".

Printed: for lambda > 2 eta_P C(K, 2) the flow of the prototypes with the barrier (lambda / 2) sum |p_j - p_k|^-2
(ordered pairs) converges to critical points with distinct prototypes.

Instance: one fixed embedding and two prototypes on a line (eta_theta = 0). The argument is that of `escape`.
"""

from fractions import Fraction

from analysis.verifiers.frames.barriers import escape

STATEMENT = "prototypes/fact-1"
WITNESS = {"mode": "full", "lambda": "3", "eta_P": "1", "eta_theta": "0", "T": "1", "a_0": "3/8", "b_0": "2"}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    yield from escape(witness)
    slow = Fraction(witness["eta_theta"])
    yield "the embedding is fixed: eta_theta", str(slow), slow == 0
