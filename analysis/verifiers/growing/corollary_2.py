"""Verify an instance that refutes Corollary 2 of "DDCL-INCRT".

Printed: every expansion guided by lambda_max(A_res) > theta_w preserves and amplifies the separation force.

Instance: two prototypes at +-a u and centred tokens along u, theta_w = 1. F_sep falls when the components double.
"""

from fractions import Fraction

from analysis.verifiers.frames.assignments import assignments
from analysis.verifiers.frames.linear_algebra import dot, matrix, vector
from analysis.verifiers.frames.residuals import dominant_direction
from analysis.verifiers.frames.separation import displaced, separated_along, separation_force

STATEMENT = "growing/corollary-2"
WITNESS = {
    "z": [["1", "0"], ["-1", "0"]],
    "p": [["1", "0"], ["-1", "0"]],
    "b": "2",
    "M": [["1", "3"], ["-3", "0"]],
    "captured": [],
    "u": ["1", "0"],
    "s": "3",
    "alpha": ["1", "-1"],
}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    yield from dominant_direction(witness)
    z, p, b = matrix(witness["z"]), matrix(witness["p"]), Fraction(witness["b"])
    q, u, s = assignments(z, p, b), vector(witness["u"]), Fraction(witness["s"])
    alpha, along = vector(witness["alpha"]), [dot(x, u) for x in z]
    yield "alpha is what tokens have along u, or will gain", [str(a) for a in along], along in (alpha, [0] * len(z))
    yield from separated_along(p, u, alpha)
    yield "lambda_max > theta_w = 1", s, s > 1
    start, end = separation_force(q, p), separation_force(assignments(displaced(z, u, alpha), p, b), p)
    yield "phi(1) < phi(0)", (str(start), str(end)), end < start
