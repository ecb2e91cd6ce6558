"""Verify an instance that refutes the gradient in Remark 3 of "DDCL-Attention".

Printed: the derivative of Lq by p_k is 2 sum_n q_nk (p_k - z_n) + 2 eta_P [Sigma_q P]_k.

Instance: rational embeddings, prototypes and eta_P on a lattice of spacing s, and T = s^2 / log b with a rational
base b > 1, so that assignments are rational. The derivative at fixed assignments is the first term, and the second is a
rational vector that is not zero. Through the assignments the derivative is the first term minus log b times a rational
vector. The printed one would be that only if log b were rational, which the logarithm of a rational number other than 1
is not (Lindemann).
"""

from fractions import Fraction

from analysis.verifiers.frames.assignments import assignments, positive_assignments, separation_gradient
from analysis.verifiers.frames.linear_algebra import matrix, vector

STATEMENT = "prototypes/remark-3-gradient"
WITNESS = {"z": [["0"], ["1"]], "p": [["-1"], ["2"]], "b": "2", "spacing": "1", "eta_P": "1/1000"}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    z, p, grid = matrix(witness["z"]), matrix(witness["p"]), vector(witness[k] for k in ("b", "spacing"))
    yield from positive_assignments(z, p, *grid)
    q = assignments(z, p, *grid)
    rate = Fraction(witness["eta_P"])
    yield "eta_P is positive", rate, rate > 0
    second = [[rate * v for v in row] for row in separation_gradient(q, p)]
    yield "the second term is not zero", [[*map(str, row)] for row in second], any(v for row in second for v in row)
