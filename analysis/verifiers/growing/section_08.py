"""Verifiers of refuted statements of Section 8 of "DDCL-INCRT"."""

from fractions import Fraction

from analysis.verifiers.frames.linear_algebra import dot, vector
from analysis.verifiers.frames.residuals import remaining_value_squared
from analysis.verifiers.frames.script import verifies


@verifies(
    "growing/lemma-11",
    {
        "s": "1",
        "u": ["1", "0", "0", "0"],
        "v": ["0", "1", "0", "0"],
        "w": ["3", "0", "4", "0"],
        "values": ["2", "1", "1"],
    },
)
def lemma_11(witness):
    """Verify instances that refute Lemma 11 of "DDCL-INCRT".

    Printed: Delta_DDCL >= Delta_MLP - O(I_DDCL), so that a gap lambda_1 - lambda_2 of at least delta_0 persists.

    Instances: M_a = s (v u^T - u v^T), of rank two. With u captured nothing is left, so that I_DDCL = 0 and the gap is
    0; with a row w of an MLP captured a positive value and gap are left. Of values with pairs s_1, s_2, s_3 the gap is
    s_1 - s_2, and s_2 - s_3 once the dominant direction is captured.
    """
    s, u, v, w = Fraction(witness["s"]), *(vector(witness[name]) for name in "uvw")
    yield "u and v are orthonormal, and s > 0", str(s), dot(u, u) == dot(v, v) == 1 and dot(u, v) == 0 < s
    by_ddcl, by_mlp = remaining_value_squared(s, u, v, u), remaining_value_squared(s, u, v, w)
    yield "with u captured nothing is left: the square of the value", str(by_ddcl), by_ddcl == 0
    yield "with w captured a gap is left: the square of the value", str(by_mlp), by_mlp > 0
    first, second, third = vector(witness["values"])
    yield "values decrease, with a positive gap", str(first - second), first > second >= third > 0
    yield "the next gap is smaller", str(second - third), second - third < first - second


def values_left(witness):
    """Yield the checks that growth is triggered; return the squares of what u and the row w leave, and theta_w."""
    s, u, v, w = Fraction(witness["s"]), *(vector(witness[name]) for name in "uvw")
    theta = Fraction(witness["theta_w"])
    yield "u and v are orthonormal", "yes", dot(u, u) == dot(v, v) == 1 and dot(u, v) == 0
    yield "growth is triggered: s over theta_w", str(s / theta), s > theta > 0
    return remaining_value_squared(s, u, v, u), remaining_value_squared(s, u, v, w), theta


WITNESS_1 = {
    "s": "1",
    "u": ["1", "0", "0", "0"],
    "v": ["0", "1", "0", "0"],
    "w": ["3", "0", "4", "0"],
    "theta_w": "19/20",
}


@verifies("growing/lemma-13", WITNESS_1)
def lemma_13(witness):
    """Printed: K~ < K_INCRT almost surely. Instance: M_a = s (v u^T - u v^T), of rank two, and a row w of an MLP.
    Growth is triggered; the dominant direction leaves nothing, and the row, which lies neither in the plane nor
    orthogonal to it, leaves less than theta_w. So both numbers are 1, and they stay so for all rows near w.
    """
    by_ddcl, by_mlp, theta = yield from values_left(witness)
    yield "one head leaves at most theta_w: the square of the value", str(by_ddcl), by_ddcl <= theta**2
    yield "one row leaves less than theta_w: the square of the value", str(by_mlp), 0 < by_mlp < theta**2


@verifies("growing/corollary-5", WITNESS_1)
def corollary_5(witness):
    """Printed: with DDCL-INCRT the spectral gap is improved and the growth count reduced. Instance: M_a = s (v u^T - u
    v^T), of rank two, and a row w of an MLP. Growth is triggered; the dominant direction leaves no value and no gap,
    and the row, which lies neither in the plane nor orthogonal to it, leaves a positive one, less than theta_w. So the
    gap is smaller, and one direction suffices for both; it stays so for all rows near w.
    """
    by_ddcl, by_mlp, theta = yield from values_left(witness)
    yield "one head leaves no value and no gap: the square of the value", str(by_ddcl), by_ddcl == 0
    yield "one row leaves a gap, and less than theta_w: the square of the value", str(by_mlp), 0 < by_mlp < theta**2
