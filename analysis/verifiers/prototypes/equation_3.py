"""Verify an instance that refutes (3) of "DDCL-Attention".

Printed: Lq = L_OLS + V, with L_OLS = M = sum_n min_k |z_n - p_k|^2 and V = sum_nk q_nk |p_k - mu_n|^2.

Instance: one embedding at 0 and two prototypes at 1 and -1. By symmetry q = (1/2, 1/2) at every temperature and mu = 0,
so that Lq = 1, M = 1 and V = 1.
"""

from analysis.verifiers.frames.assignments import assignments, losses, positive_assignments
from analysis.verifiers.frames.linear_algebra import matrix, vector

STATEMENT = "prototypes/equation-3"
WITNESS = {"z": [["0"]], "p": [["1"], ["-1"]], "b": "2", "spacing": "1"}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    z, p, grid = matrix(witness["z"]), matrix(witness["p"]), vector(witness[k] for k in ("b", "spacing"))
    yield from positive_assignments(z, p, *grid)
    q = assignments(z, p, *grid)
    loss, hard, variance = losses(z, p, q)
    yield "Lq, M, V", (str(loss), str(hard), str(variance)), True
    yield "Lq is not M + V: Lq - M - V", loss - hard - variance, loss != hard + variance
