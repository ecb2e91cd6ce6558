"""Verify an instance that refutes line 12 of Algorithm 1 of "DDCL-Attention".

Printed: V := Lq - (1/B) sum_n min_k d_nk is (1/B) sum_nk q_nk |p_k - mu_n|^2, Lq being the mean (1/B) sum_nk q_nk d_nk.

Instance: a batch of two embeddings, all numbers rational.
"""

from analysis.verifiers.frames.assignments import assignments, losses, positive_assignments
from analysis.verifiers.frames.linear_algebra import matrix, vector

STATEMENT = "prototypes/algorithm-1-line-12"
WITNESS = {"z": [["0"], ["2"]], "p": [["1"], ["-1"]], "b": "2", "spacing": "1"}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    z, p, grid = matrix(witness["z"]), matrix(witness["p"]), vector(witness[k] for k in ("b", "spacing"))
    yield from positive_assignments(z, p, *grid)
    q = assignments(z, p, *grid)
    loss, hard, variance = (v / len(z) for v in losses(z, p, q))
    yield "Lq - (1/B) sum min and the mean variance differ", (str(loss - hard), str(variance)), loss - hard != variance
