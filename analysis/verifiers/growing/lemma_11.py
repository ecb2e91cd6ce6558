"""Verify instances that refute Lemma 11 of "DDCL-INCRT".

Printed: Delta_DDCL >= Delta_MLP - O(I_DDCL), so that a gap lambda_1 - lambda_2 of at least delta_0 persists.

Instances: M_a = s (v u^T - u v^T), of rank two. With u captured nothing is left, so that I_DDCL = 0 and the gap is 0;
with a row w of an MLP captured a positive value and gap are left. Of values with pairs s_1, s_2, s_3 the gap is s_1 -
s_2, and s_2 - s_3 once the dominant direction is captured.
"""

from fractions import Fraction

from analysis.verifiers.frames.linear_algebra import dot, vector
from analysis.verifiers.frames.residuals import remaining_value_squared

STATEMENT = "growing/lemma-11"
WITNESS = {
    "s": "1",
    "u": ["1", "0", "0", "0"],
    "v": ["0", "1", "0", "0"],
    "w": ["3", "0", "4", "0"],
    "values": ["2", "1", "1"],
}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    s, u, v, w = Fraction(witness["s"]), *(vector(witness[name]) for name in "uvw")
    yield "u and v are orthonormal, and s > 0", str(s), dot(u, u) == dot(v, v) == 1 and dot(u, v) == 0 < s
    by_ddcl, by_mlp = remaining_value_squared(s, u, v, u), remaining_value_squared(s, u, v, w)
    yield "with u captured nothing is left: the square of the value", str(by_ddcl), by_ddcl == 0
    yield "with w captured a gap is left: the square of the value", str(by_mlp), by_mlp > 0
    first, second, third = vector(witness["values"])
    yield "values decrease, with a positive gap", str(first - second), first > second >= third > 0
    yield "the next gap is smaller", str(second - third), second - third < first - second
