"""Verify an instance that refutes Corollary 5 of "DDCL-INCRT".

Printed: with DDCL-INCRT the spectral gap is improved and the growth count reduced. Instance: M_a = s (v u^T - u v^T),
of rank two, and a row w of an MLP. Growth is triggered; the dominant direction leaves no value and no gap, and the row,
which lies neither in the plane nor orthogonal to it, leaves a positive one, less than theta_w. So the gap is smaller,
and one direction suffices for both; it stays so for all rows near w.
"""

from fractions import Fraction

from analysis.verifiers.frames.linear_algebra import dot, vector
from analysis.verifiers.frames.residuals import remaining_value_squared

STATEMENT = "growing/corollary-5"
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
    yield "one head leaves no value and no gap: the square of the value", str(by_ddcl), by_ddcl == 0
    yield "one row leaves a gap, and less than theta_w: the square of the value", str(by_mlp), 0 < by_mlp < theta**2
