"""Verify an instance that refutes Lemma 13 of "DDCL-INCRT".

Printed: K~ < K_INCRT almost surely. Instance: M_a = s (v u^T - u v^T), of rank two, and a row w of an MLP. Growth is
triggered; the dominant direction leaves nothing, and the row, which lies neither in the plane nor orthogonal to it,
leaves less than theta_w. So both numbers are 1, and they stay so for all rows near w.
"""

from fractions import Fraction

from analysis.verifiers.frames.linear_algebra import dot, vector
from analysis.verifiers.frames.residuals import remaining_value_squared

STATEMENT = "growing/lemma-13"
WITNESS = {
    "s": "1",
    "u": ["1", "0", "0", "0"],
    "v": ["0", "1", "0", "0"],
    "w": ["3", "0", "4", "0"],
    "theta_w": "19/20",
}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    s, u, v, w = Fraction(witness["s"]), *(vector(witness[name]) for name in "uvw")
    theta = Fraction(witness["theta_w"])
    yield "u and v are orthonormal", "yes", dot(u, u) == dot(v, v) == 1 and dot(u, v) == 0
    yield "growth is triggered: s over theta_w", str(s / theta), s > theta > 0
    by_ddcl, by_mlp = remaining_value_squared(s, u, v, u), remaining_value_squared(s, u, v, w)
    yield "one head leaves at most theta_w: the square of the value", str(by_ddcl), by_ddcl <= theta**2
    yield "one row leaves less than theta_w: the square of the value", str(by_mlp), 0 < by_mlp < theta**2
