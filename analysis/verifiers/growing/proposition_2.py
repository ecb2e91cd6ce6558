"""Verify an instance that refutes Proposition 2 of "DDCL-INCRT".

Printed: I_MLP - I_DDCL >= s_1^2 / |M_a|_F^2 (1 - max_i <v_1, w_i>^2).

Instance: d = 3, M_a maps e_2 to a e_1 and e_1 to -a e_2, so that s_1^2 / |M_a|_F^2 = 1/2, v_1 = e_1, and nothing is
left once it is captured: I_DDCL = 0. Of 4d = 12 rows the best aligned one is w = (p, q, r), |w| < 1, and the MLP has
captured it. The share of the squared norm that is left, I_MLP^2, is below the square of the bound.
"""

from fractions import Fraction

from analysis.verifiers.frames.residuals import remaining_square

STATEMENT = "growing/proposition-2"
WITNESS = {
    "a": "1",
    "w": ["1/16", "3/4", "1/16"],
    "other rows": [
        ["1/32", "11/16", "10/16"],
        ["-1/32", "12/16", "11/16"],
        ["0/32", "13/16", "12/16"],
        ["1/32", "11/16", "13/16"],
        ["0/32", "12/16", "10/16"],
        ["-1/32", "13/16", "11/16"],
        ["1/32", "11/16", "12/16"],
        ["0/32", "12/16", "13/16"],
        ["1/32", "13/16", "10/16"],
        ["-1/32", "11/16", "11/16"],
        ["0/32", "12/16", "12/16"],
    ],
}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    a, w, zero = Fraction(witness["a"]), [Fraction(v) for v in witness["w"]], Fraction(0)
    yield "a > 0", a, a > 0
    yield "0 < |w|^2 < 1", sum(v * v for v in w), 0 < sum(v * v for v in w) < 1
    rows, square = [[Fraction(v) for v in row] for row in witness["other rows"]], sum(v * v for v in w)
    less = [r[0] ** 2 < w[0] ** 2 and r[0] ** 2 * square < w[0] ** 2 * sum(v * v for v in r) for r in rows]
    yield "w is the best aligned of 12 rows, as they are and normalised", len(rows) + 1, len(rows) == 11 and all(less)
    m, total = [[zero, a, zero], [-a, zero, zero], [zero, zero, zero]], 2 * a * a
    adaptive = remaining_square(m, [Fraction(1), zero, zero])
    yield "I_DDCL^2 = 0", adaptive / total, adaptive == 0

    gain, bound = remaining_square(m, w) / total, a * a / total * (1 - w[0] ** 2)
    yield "the printed bound is positive", bound, bound > 0
    yield "I_MLP^2 is below its square", gain, gain < bound**2
