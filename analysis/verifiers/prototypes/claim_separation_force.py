"""Verify an instance that refutes a sentence of Section 2.2 of "DDCL-Attention".

Printed: grad_P V = 2 P Sigma_q acts as a separation force in the descent on Lq. Read: the contribution -2 P Sigma_q to
the descent does not decrease the sum of |p_j - p_k|^2 over all pairs.

Instance: rational assignments of two embeddings to three prototypes. The derivative of the sum is negative. (It is
-8 K V in general, twice the sum of 2 (p_j - p_k) . (p_j' - p_k').)
"""

from fractions import Fraction

from analysis.verifiers.frames.assignments import assignments, losses, positive_assignments, separation_gradient
from analysis.verifiers.frames.linear_algebra import matrix, vector

STATEMENT = "prototypes/claim-separation-force"
WITNESS = {"z": [["0", "0"], ["1", "2"]], "p": [["1", "0"], ["-1", "1"], ["0", "2"]], "b": "2", "spacing": "1"}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    z, p, grid = matrix(witness["z"]), matrix(witness["p"]), vector(witness[k] for k in ("b", "spacing"))
    yield from positive_assignments(z, p, *grid)
    q = assignments(z, p, *grid)
    speed = [[-v for v in row] for row in separation_gradient(q, p)]
    rate = Fraction(0)
    for x, v in zip(p, speed, strict=True):
        for y, w in zip(p, speed, strict=True):
            rate += 2 * sum((a - b) * (c - d) for a, b, c, d in zip(x, y, v, w, strict=True))
    yield "it is -8 K V", rate, rate == -8 * len(p) * losses(z, p, q)[2]
    yield "the pairs approach each other: the derivative", rate, rate < 0
