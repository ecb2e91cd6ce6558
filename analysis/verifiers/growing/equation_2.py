"""Verify an instance that refutes the decomposition after (2) of "DDCL-INCRT".

Printed: Lq = L_OLS + V exactly, with L_OLS = sum_n min_k |z_n - p_k|^2 and V = sum_nk q_nk |p_k - mu_n|^2.

Instance: one embedding and two prototypes on a line, all numbers rational. (Lq = R + V with the distances from the soft
centroids in place of L_OLS.)
"""

from fractions import Fraction

from analysis.verifiers.frames.assignments import assignments, centroids, losses, on_lattice
from analysis.verifiers.frames.linear_algebra import matrix, squared_distance

STATEMENT = "growing/equation-2"
WITNESS = {"z": [["0"]], "p": [["1"], ["-1"]], "b": "2", "spacing": "1"}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    h, b = Fraction(witness["spacing"]), Fraction(witness["b"])
    z, p = ([[v / h for v in row] for row in matrix(witness[name])] for name in ("z", "p"))
    yield (
        "T = h^2 / log b is positive, and coordinates are multiples of h, their unit: b",
        b,
        h > 0 and on_lattice([z, p], b),
    )
    q = assignments(z, p, b)
    loss, hard, variance = losses(z, p, q)
    error = sum(squared_distance(x, mu) for x, mu in zip(z, centroids(q, p), strict=True))
    yield "Lq = R + V with the soft centroids: R", error, loss == error + variance
    yield "Lq is not L_OLS + V: the two", (str(loss), str(hard + variance)), loss != hard + variance
