"""Verify an instance that refutes Corollary 15 of "DDCL-INCRT", the part on the local/global boundary.

Printed: the boundary of local and global heads is determined by the spectrum of M_a.

Instance: tokens (+-c_1, +-c_2, 0, 0), directed attention with lambda_1 in the plane (1, 3) and lambda_2 < lambda_1 in
(2, 4). Head h is born with the prototypes +-a e_h and sees the tokens along e_h. Losses are averaged, gradients go
through the assignments. With x = 2 a c / T, a' = -eta_P (a - c tanh x - c x / cosh^2 x) and sigma = 4 a^2 c^2 /
cosh^2 x for each head. The tokens (+-c_2, +-c_1, 0, 0) exchange the heads, and leave M_a as it is.

The head along c_1: c_1^2 >= T_init. At a = c_1 / 2, tanh x >= x / (1 + x) >= 1 / 2, so that a' > 0, and at a =
3 c_1 / 2, x / cosh^2 x < 1 / 2, so that a' < 0: a stays between, sigma is bounded below, and T reaches T_min in finite
time: it is local.

The head along c_2: 4 c_2^2 < T_min. As tanh x <= x, a' <= -kappa a, kappa = eta_P (1 - 4 c_2^2 / T_min), the integral
of sigma is at most 2 a^2 c_2^2 / kappa, and T^3 stays above T_init^3 - 6 eta_T a^2 c_2^2 / kappa: it is global.
"""

from fractions import Fraction

STATEMENT = "growing/corollary-15/boundary"
WITNESS = {
    "c": ["1", "1/4"],
    "a": "1/2",
    "T_init": "1",
    "T_min": "1/2",
    "eta_P": "1",
    "eta_T": "1/2",
    "lambda": ["2", "1"],
}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    a, start, least, eta_P, eta_T = (Fraction(witness[n]) for n in ("a", "T_init", "T_min", "eta_P", "eta_T"))
    (long, short), (first, second) = ([Fraction(v) for v in witness[n]] for n in ("c", "lambda"))
    yield "lambda_1 > lambda_2 > 0", (str(first), str(second)), first > second > 0
    yield "T_init > T_min > 0", (str(start), str(least)), start > least > 0
    yield "all rates are positive", (str(eta_P), str(eta_T)), eta_P > 0 and eta_T > 0
    yield "a, c_2 > 0", (str(a), str(short)), a > 0 and short > 0

    yield "along c_1: c_1^2 >= T_init", long**2, long**2 >= start
    yield "along c_1: c_1 / 2 <= a <= 3 c_1 / 2", a, long / 2 <= a <= 3 * long / 2
    yield "along c_2: 4 c_2^2 < T_min", 4 * short**2, 4 * short**2 < least
    kappa = eta_P * (1 - 4 * short**2 / least)
    left = start**3 - 6 * eta_T * a**2 * short**2 / kappa if kappa else Fraction(0)
    yield "along c_2: T^3 stays above T_min^3", left, left > least**3
