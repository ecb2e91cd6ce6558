"""Verify an instance that refutes Theorem 1 of "DDCL-INCRT".

Read: z_n^(K) is the projection of a token on V^(K), without a component along u, and alpha_n is what it gains.

Instance: two prototypes at +-a u. At the start all assignments are 1/2, where F_sep = 32 a^2 (sum_n q_n1 q_n2)^2 is
largest; it falls at every T.
"""

from fractions import Fraction

from analysis.verifiers.frames.assignments import assignments
from analysis.verifiers.frames.linear_algebra import dot, matrix, vector
from analysis.verifiers.frames.residuals import dominant_direction
from analysis.verifiers.frames.separation import displaced, separated_along, separation_force

STATEMENT = "growing/theorem-1/projected"
WITNESS = {
    "z": [["0", "0"], ["0", "0"]],
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
    q, u = assignments(z, p, b), vector(witness["u"])
    alpha = vector(witness["alpha"])
    yield from separated_along(p, u, alpha)
    yield "no embedding has a component along u", [str(dot(x, u)) for x in z], not any(dot(x, u) for x in z)
    yield "all assignments are 1/2", str(q[0][0]), all(w == Fraction(1, 2) for row in q for w in row)
    start, end = separation_force(q, p), separation_force(assignments(displaced(z, u, alpha), p, b), p)
    yield "phi(1) < phi(0)", (str(start), str(end)), end < start
