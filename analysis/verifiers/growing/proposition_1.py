"""Verify an instance that refutes Proposition 1 of "DDCL-INCRT".

Printed: phi''(0) >= (32/T^2) [(s_0^2/K^2) lambda_max(A_res) Var - C_0] under (A1), (A2') and S(P) >= s_0 > 0, with the
mean Var over n of Var_{q_n}[p*] and C_0 = |alpha|^2 Var_max N D^2, D = max_nk |p_k - mu_n|.

Instance: two prototypes at +-a u and two tokens at +-u, so warm that phi is concave. phi does not depend on M, with
which the right side grows. s_0 = 2 is a lower bound both of S(P) and of the distance.
"""

from fractions import Fraction

from analysis.verifiers.frames.assignments import assignments
from analysis.verifiers.frames.linear_algebra import dot, matrix, squared_distance, vector
from analysis.verifiers.frames.residuals import dominant_direction
from analysis.verifiers.frames.separation import assignment_series, force_series, separated_along, variance_bound

STATEMENT = "growing/proposition-1"
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
    least = s0**2 / len(p) ** 2 * level * variance - correction
    yield "T^2 phi''(0) / 32 is below the bound", (str(phi[2] / 16), str(least)), phi[2] / 16 < least
