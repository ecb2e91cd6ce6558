"""Verify an instance that refutes line 20 of Algorithm 1 of "DDCL-Attention".

Printed: the assertion V >= -1e-8, with V := Lq - (1/B) sum_n min_k d_nk, checks the decomposition (3).

Instance: the assertion passes, and (3) does not hold. (It passes always: a weighted mean of the d_nk is at least their
least.)
"""

from fractions import Fraction

from analysis.verifiers.frames.assignments import assignments, losses, positive_assignments
from analysis.verifiers.frames.linear_algebra import matrix, vector

STATEMENT = "prototypes/algorithm-1-line-20"
WITNESS = {"z": [["0"], ["2"]], "p": [["1"], ["-1"]], "b": "2", "spacing": "1"}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    z, p, grid = matrix(witness["z"]), matrix(witness["p"]), vector(witness[k] for k in ("b", "spacing"))
    yield from positive_assignments(z, p, *grid)
    q = assignments(z, p, *grid)
    loss, hard, variance = (v / len(z) for v in losses(z, p, q))
    yield "the assertion passes: V by line 12", loss - hard, loss - hard >= Fraction(-1, 10**8)
    yield "(3) fails: Lq - M - V", loss - hard - variance, loss != hard + variance
