"""Verify an instance that refutes Theorem 1 of "DDCL-INCRT".

Printed: under (A1), (A2') and for T sufficiently large, phi(1) >= phi(0) for u = v_1(A_res).

Instance: two prototypes at +-a u and centred tokens along u. F_sep = 32 a^2 (sum_n q_n1 q_n2)^2, where q_n1 q_n2 = x /
(1 + x)^2 with x = exp(-4 a |alpha_n| / T) < 1; the expansion doubles alpha_n, so that x becomes x^2 and the product
falls, at every T.
"""

from fractions import Fraction

from analysis.verifiers.frames.assignments import assignments
from analysis.verifiers.frames.linear_algebra import dot, matrix, vector
from analysis.verifiers.frames.polynomials import product
from analysis.verifiers.frames.residuals import dominant_direction
from analysis.verifiers.frames.separation import displaced, separated_along, separation_force

STATEMENT = "growing/theorem-1"
WITNESS = {
    "z": [["1", "0"], ["-1", "0"]],
    "p": [["1", "0"], ["-1", "0"]],
    "b": "2",
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
    start, end = separation_force(q, p), separation_force(assignments(displaced(z, u, alpha), p, b), p)
    yield "phi(1) < phi(0)", (str(start), str(end)), end < start
    a = dot(p[0], u)
    yield "prototypes are +-a u from their mean", a, [v - w for v, w in zip(*p, strict=True)] == [2 * a * v for v in u]
    polynomial = [1, -1, 0, -1, 1]  # (1 + x^2)^2 - x (1 + x)^2, the leading coefficient first
    factors = [1, -2, 1], [1, 1, 1]  # (1 - x)^2 and 1 + x + x^2
    same = polynomial == product(*factors)
    yield "it falls at every T: (1 + x^2)^2 - x (1 + x)^2 = (1 - x)^2 (1 + x + x^2)", polynomial, same
