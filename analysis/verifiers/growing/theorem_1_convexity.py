"""Verify an instance that refutes a step of the proof of Theorem 1 of "DDCL-INCRT".

Printed: phi is convex on [0, 1]: phi'' >= 0 whenever some derivative of r_k is not 0.

Instance: two prototypes at +-a u and two tokens at +-u. phi is 32 a^2 (2 x / (1 + x)^2)^2 with x = exp(-4 a (1 + eps) /
T), whose second derivative has the sign of 1 - 3 x + x^2: negative for 2/5 < x <= 1, and so at every higher T.
"""

from fractions import Fraction

from analysis.verifiers.frames.assignments import assignments
from analysis.verifiers.frames.linear_algebra import dot, matrix, vector
from analysis.verifiers.frames.residuals import dominant_direction
from analysis.verifiers.frames.separation import assignment_series, force_series, separated_along

STATEMENT = "growing/theorem-1-convexity"
WITNESS = {
    "z": [["1", "0"], ["-1", "0"]],
    "p": [["1", "0"], ["-1", "0"]],
    "b": "9/8",
    "M": [["1", "3"], ["-3", "0"]],
    "captured": [],
    "u": ["1", "0"],
    "s": "3",
}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    yield from dominant_direction(witness)
    z, p, b = matrix(witness["z"]), matrix(witness["p"]), Fraction(witness["b"])
    q, u = assignments(z, p, b), vector(witness["u"])
    alpha = [dot(x, u) for x in z]
    yield from separated_along(p, u, alpha)
    coefficients = assignment_series(q, p, u, alpha)
    phi = force_series(coefficients, p)
    moving = any(v for row in coefficients[1] for v in row)
    yield "assignments move", moving, moving
    yield "T^2 phi''(0) / 2 is negative", phi[2], phi[2] < 0
    x = min(min(row) / max(row) for row in q)
    yield "x > 2/5", x, x > Fraction(2, 5)
    sign = [1 - 3 * v + v * v for v in (Fraction(2, 5), Fraction(1))]
    yield "1 - 3 x + x^2 is negative at 2/5 and 1, and so between", [str(v) for v in sign], max(sign) < 0
