"""Verify an instance that refutes Theorem 2 of "DDCL-INCRT".

Printed: at lambda_max(A_res) > theta_w, theta_w above the right side of (19), phi(1) >= phi(0) + phi'(0) + phi''(0) / 2
with phi'(0) >= 0 and phi''(0) >= (32/T^2) [s_0^2 theta_w Var / K^2 - C_0] > 0.

Instance: two prototypes at +-a u and two tokens at +-u, so warm that phi is concave. phi' and phi'' are negative.
"""

from fractions import Fraction

from analysis.verifiers.frames.assignments import assignments
from analysis.verifiers.frames.linear_algebra import dot, matrix, squared_distance, vector
from analysis.verifiers.frames.residuals import dominant_direction
from analysis.verifiers.frames.separation import assignment_series, force_series, separated_along, variance_bound

STATEMENT = "growing/theorem-2"
WITNESS = {
    "z": [["1", "0"], ["-1", "0"]],
    "p": [["1", "0"], ["-1", "0"]],
    "b": "9/8",
    "M": [["1", "10"], ["-10", "0"]],
    "captured": [],
    "u": ["1", "0"],
    "s": "10",
    "theta_w": "9",
}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    yield from dominant_direction(witness)
    z, p, b = matrix(witness["z"]), matrix(witness["p"]), Fraction(witness["b"])
    q, u, s = assignments(z, p, b), vector(witness["u"]), Fraction(witness["s"])
    alpha = [dot(x, u) for x in z]
    yield from separated_along(p, u, alpha)
    phi, level, s0 = force_series(assignment_series(q, p, u, alpha), p), Fraction(witness["theta_w"]), Fraction(2)
    variance, correction = variance_bound(q, p, u, alpha)
    yield "S(P) >= s_0 > 0: s_0", s0, squared_distance(*p) >= s0 > 0
    yield "lambda_max > theta_w", (str(s), str(level)), s > level
    least = s0**2 / len(p) ** 2 * level * variance - correction
    yield "the bound is positive, so that theta_w is above (19)", least, least > 0
    yield "T phi'(0) is negative", phi[1], phi[1] < 0
    yield "T^2 phi''(0) / 32 is below the bound", (str(phi[2] / 16), str(least)), phi[2] / 16 < least
