"""Verifiers of refuted statements of Sections 6 and 7 of "DDCL-INCRT"."""

from fractions import Fraction

from analysis.verifiers.frames.cooling import both_heads_cool
from analysis.verifiers.frames.linear_algebra import bilinear_form, matrix, rank
from analysis.verifiers.frames.residuals import remaining_square
from analysis.verifiers.frames.script import verifies


@verifies(
    "growing/corollary-4", {"c": ["1", "2"], "a": "1", "T_init": "1", "T_min": "1/2", "eta_P": "1", "eta_T": "1/100"}
)
def corollary_4(witness):
    """Printed, as one of three properties that hold jointly under (A1), (A2'), (B1)-(B3), (C1): temperatures
    specialise, some to T_min and some to values above it.

    Instance: tokens (+-c_1, +-c_2), head h sees them along the axis h and has the prototypes +-a there, losses
    averaged, gradients through the assignments. With x = 2 a c / T, a' = -eta_P (a - c tanh x - c x / cosh^2 x) and
    sigma = 4 a^2 c^2 / cosh^2 x for each head.

    If c^2 >= T_init, then at a = c / 2 tanh x >= x / (1 + x) >= 1 / 2, so that a' > 0, and at a = 3 c / 2 x / cosh^2 x
    < 1 / 2, so that a' < 0. So a stays between, S(P) = 4 a^2 > 0, and sigma >= c^4 / cosh^2(3 c^2 / T_min) >= c^4 /
    2^m, m >= 9 c^2 / T_min, since e^2 < 8: the head reaches T_min by the time (T_init^3 - T_min^3) 2^m / (3 eta_T c^4).

    The first bank may be tilted along the axis 2, +-(a, b): for tokens on the axis 1 both distances grow by b^2, so
    that neither assignments nor sigma change, and (A2') holds.
    """
    yield from both_heads_cool(witness)


@verifies("growing/definition-1/tokens", {"t": "1/2"})
def definition_1_tokens(witness):
    """Verify an instance that refutes a reading of Definition 1 of "DDCL-INCRT".

    Read: the directional loss |X P M_a P X^T|_F / |X M_a X^T|_F of tokens X is at most 1 for every projection P on the
    complement of captured directions.

    Instance: M_a has the entries (1, 2) = 1 and (1, 3) = t, the tokens are e_1 and e_2 - e_3, and e_3 is captured. Two
    tokens interact through the one number x_1^T M_a x_2, and the ratio of the norms is that of its sizes.
    """
    t, zero, one = Fraction(witness["t"]), Fraction(0), Fraction(1)
    m = [[zero, one, t], [-one, zero, zero], [-t, zero, zero]]
    antisymmetric = all(m[i][j] == -m[j][i] for i in range(3) for j in range(3))
    yield "M_a is antisymmetric", antisymmetric, antisymmetric
    tokens = [[one, zero, zero], [zero, one, -one]]
    seen = [[x, y, zero] for x, y, _ in tokens]  # without the captured e_3

    before, after = abs(bilinear_form(tokens[0], m, tokens[1])), abs(bilinear_form(seen[0], m, seen[1]))
    yield "the tokens interact: |x_1^T M_a x_2|", before, before > 0
    yield "|x_1^T P M_a P x_2| is larger", after, after > before


@verifies("growing/theorem-4/span", {"a": "2", "b": "1", "W": [[1, 0, 0, 0], [1, 2, 0, 1], [0, 0, 3, 1], [0, 1, 1, 1]]})
def theorem_4_span(witness):
    """Verify an instance that refutes a reading of Theorem 4 of "DDCL-INCRT".

    Read: I_DDCL <= I_MLP, where the MLP has captured the span of the rows of W_1.

    Instance: d = 4, M_a maps e_2 to a e_1, e_1 to -a e_2, e_4 to b e_3 and e_3 to -b e_4 with a > b > 0, so that e_1 is
    a dominant direction. If it is captured the second plane is left. Some rows of W_1 span everything, and nothing is
    left.
    """
    a, b = Fraction(witness["a"]), Fraction(witness["b"])
    yield "a > b > 0", (str(a), str(b)), a > b > 0
    m = [[0, a, 0, 0], [-a, 0, 0, 0], [0, 0, 0, b], [0, 0, -b, 0]]
    found = rank(matrix(witness["W"]))
    yield "the rows span, so that I_MLP = 0: their rank", found, found == 4

    left = [[0 if 0 in (i, j) else m[i][j] for j in range(4)] for i in range(4)]  # e_1 is captured
    share = sum(v * v for row in left for v in row) / sum(v * v for row in m for v in row)
    yield "I_DDCL^2 is positive", share, share > 0


@verifies("growing/theorem-4/best-row", {"a": "1", "w": ["1", "2", "3", "4"]})
def theorem_4_best_row(witness):
    """Verify an instance that refutes a reading of Theorem 4 of "DDCL-INCRT".

    Read: I_DDCL < I_MLP, where the MLP has captured its best aligned row w alone, unless w is a multiple of v_1.

    Instance: d = 4 and M_a maps e_2 to a e_1, e_1 to -a e_2, e_4 to a e_3 and e_3 to -a e_4, so that v_1 = e_1 is a
    dominant direction. For a unit vector u the projected matrix has the squared norm |M_a|_F^2 - 2 |M_a u|^2, since u^T
    M_a u = 0.
    """
    a, w, zero = Fraction(witness["a"]), [Fraction(v) for v in witness["w"]], Fraction(0)
    yield "a > 0", a, a > 0
    yield "w is no multiple of e_1", [str(v) for v in w], any(v != 0 for v in w[1:])
    m = [[zero, a, zero, zero], [-a, zero, zero, zero], [zero, zero, zero, a], [zero, zero, -a, zero]]

    adaptive, fixed = remaining_square(m, [Fraction(1), zero, zero, zero]), remaining_square(m, w)
    yield "squared norm left by e_1", adaptive, True
    yield "that left by w is not larger", fixed, fixed <= adaptive


@verifies(
    "growing/proposition-2",
    {
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
    },
)
def proposition_2(witness):
    """Printed: I_MLP - I_DDCL >= s_1^2 / |M_a|_F^2 (1 - max_i <v_1, w_i>^2).

    Instance: d = 3, M_a maps e_2 to a e_1 and e_1 to -a e_2, so that s_1^2 / |M_a|_F^2 = 1/2, v_1 = e_1, and nothing is
    left once it is captured: I_DDCL = 0. Of 4d = 12 rows the best aligned one is w = (p, q, r), |w| < 1, and the MLP
    has captured it. The share of the squared norm that is left, I_MLP^2, is below the square of the bound.
    """
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


BOUND = Fraction(899, 1000)


@verifies("growing/experiment-1-coverage", {"lambda_1": "2", "rho": "7/10", "pairs": "32", "heads": "11"})
def experiment_1_coverage(witness):
    """Verify an instance that refutes Experiment 1 (iii) of "DDCL-INCRT".

    Printed: the sum of the lambda^(h) over |M_a|_F^2 is at least .899.

    Instance: an antisymmetric M_a with the printed eigenvalues in conjugate pairs, +-i lambda_1 rho^(k-1), all numbers
    rational; a head takes the largest pair that is left, so that lambda^(h) = lambda_1 rho^(h-1). Then |M_a|_F^2 is
    twice the sum of the squares. No number of heads reaches .899, and none would if every eigenvalue counted once in
    |M_a|_F^2.
    """
    largest, rho = Fraction(witness["lambda_1"]), Fraction(witness["rho"])
    pairs, heads = int(witness["pairs"]), int(witness["heads"])
    values = [largest * rho**k for k in range(pairs)]
    printed = (largest, rho) == (2, Fraction(7, 10))
    yield "lambda_1 is 2 and rho .7, as printed", f"{largest}, {rho}", printed
    above = sum(value > Fraction(1, 20) for value in values)
    yield "heads are at most the pairs above theta_w = .05: pairs", above, 0 < heads <= above

    square = 2 * sum(value**2 for value in values)
    covered = sum(values[:heads]) / square
    yield "the coverage is below .899", float(covered), covered < BOUND
    every = sum(values) / square
    yield "so is that of all pairs", float(every), every < BOUND
    yield "so is twice that, with every eigenvalue counted once", float(2 * every), 2 * every < BOUND
