"""Verify an instance that refutes Corollary 1 of "DDCL-INCRT".

Printed: phi''(0) > 0 whenever lambda_max(A_res) > K^2 C_0 / (s_0^2 Var), with the constants of Proposition 1.

Instance: two prototypes at +-a u and two tokens at +-u, so warm that phi is concave. lambda_max is as large
as one likes.
"""

from fractions import Fraction

from analysis.verifiers.frames.assignments import assignments
from analysis.verifiers.frames.linear_algebra import dot, matrix, squared_distance, vector
from analysis.verifiers.frames.residuals import dominant_direction
from analysis.verifiers.frames.separation import assignment_series, force_series, separated_along, variance_bound

STATEMENT = "growing/corollary-1"
WITNESS = {
    "z": [["1", "0"], ["-1", "0"]],
    "p": [["1", "0"], ["-1", "0"]],
    "b": "9/8",
    "M": [["1", "10"], ["-10", "0"]],
    "captured": [],
    "u": ["1", "0"],
    "s": "10",
}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    yield from dominant_direction(witness)
    z, p, b = matrix(witness["z"]), matrix(witness["p"]), Fraction(witness["b"])
    q, u, s = assignments(z, p, b), vector(witness["u"]), Fraction(witness["s"])
    alpha = [dot(x, u) for x in z]
    yield from separated_along(p, u, alpha)
    phi, level, s0 = force_series(assignment_series(q, p, u, alpha), p), s, Fraction(2)
    variance, correction = variance_bound(q, p, u, alpha)
    yield "S(P) >= s_0 > 0: s_0", s0, squared_distance(*p) >= s0 > 0
    threshold = len(p) ** 2 * correction / (s0**2 * variance)
    yield "lambda_max exceeds the right side of (19)", (str(level), str(threshold)), level > threshold
    yield "T^2 phi''(0) / 2 is not positive", phi[2], phi[2] <= 0
