"""Verify an instance that refutes Lemma 2, (5), of "DDCL-INCRT".

Printed: under z_n -> z_n + eps alpha_n u the derivative of tr Sigma_q at eps = 0 is (2/T) sum_nk q_nk (1 - 2 q_nk)
<mu_n - p_k, u> alpha_n.

Instance: one embedding and two prototypes, all numbers rational. T times the derivative, from the power series of the
assignments, has the opposite sign.
"""

from fractions import Fraction

from analysis.verifiers.frames.assignments import assignments, centroids, on_lattice
from analysis.verifiers.frames.linear_algebra import dot, matrix, vector
from analysis.verifiers.frames.separation import assignment_series

STATEMENT = "growing/lemma-2"
WITNESS = {"z": [["1", "0"]], "p": [["1", "0"], ["-1", "0"]], "b": "2", "u": ["1", "0"]}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    z, p, b = matrix(witness["z"]), matrix(witness["p"]), Fraction(witness["b"])
    yield "T = 1 / log b is positive, and coordinates are integers: b", b, on_lattice([z, p], b)
    q = assignments(z, p, b)
    u = vector(witness["u"])
    alpha = [dot(x, u) for x in z]
    moving = assignment_series(q, p, u, alpha)[1]
    slope = sum((1 - 2 * w) * v for row, speed in zip(q, moving, strict=True) for w, v in zip(row, speed, strict=True))
    formula = Fraction(0)
    for row, mu, a in zip(q, centroids(q, p), alpha, strict=True):
        formula += 2 * sum(w * (1 - 2 * w) * (dot(mu, u) - dot(y, u)) * a for w, y in zip(row, p, strict=True))
    yield (
        "T times the derivative is not that of (5), but its negative",
        (str(slope), str(formula)),
        slope == -formula != 0,
    )
