"""Verify an instance that refutes Corollary 16 of "DDCL-INCRT".

Printed: heads that tend to T_min give out prototypes, by hard assignments, and are finer, of larger lambda, than those
that tend to a temperature above it.

Instance: tokens (+-c_1, +-c_2, 0, 0), directed attention with lambda_1 in the plane (1, 3) and lambda_2 < lambda_1 in
(2, 4). Head h is born with the prototypes +-a e_h and sees the tokens along e_h. Losses are averaged, gradients go
through the assignments. With x = 2 a c / T, a' = -eta_P (a - c tanh x - c x / cosh^2 x) and sigma = 4 a^2 c^2 /
cosh^2 x for each head.

Head 1, of the larger lambda: 4 c_1^2 < T_min. As tanh x <= x, a' <= -kappa a, kappa = eta_P (1 - 4 c_1^2 / T_min), the
integral of sigma is at most 2 a^2 c_1^2 / kappa, and T_1^3 stays above T_init^3 - 6 eta_T a^2 c_1^2 / kappa: it is
global.

Head 2: c_2^2 >= T_init. At a = c_2 / 2, tanh x >= x / (1 + x) >= 1 / 2, so that a' > 0, and at a = 3 c_2 / 2, x /
cosh^2 x < 1 / 2, so that a' < 0: a stays between, sigma is bounded below, and T_2 reaches T_min in finite time: it is
local. Squared distances differ by 4 a c_2 <= 6 c_2^2, so that no assignment q falls below 1 / (1 + exp(6 c_2^2 /
T_min)) >= 1 / (1 + 2^m), m >= 9 c_2^2 / T_min, since e^2 < 8; an output is 2 a q >= c_2 q from the nearest prototype.
"""

import math
from fractions import Fraction

from analysis.verifiers.frames.cooling import second_head_cools

STATEMENT = "growing/corollary-16"
WITNESS = {
    "c": ["1/4", "1"],
    "a": "1/2",
    "T_init": "1",
    "T_min": "1/2",
    "eta_P": "1",
    "eta_T": "1/2",
    "lambda": ["2", "1"],
    "least assignment": "1/262145",
}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    yield from second_head_cools(witness)
    least, long = Fraction(witness["T_min"]), Fraction(witness["c"][1])
    bound = Fraction(1, 1 + 2 ** math.ceil(9 * long**2 / least))
    given = Fraction(witness["least assignment"])
    yield "no assignment of head 2 falls below", given, 0 < given <= bound
    yield "distance of its outputs from both prototypes, at least, positive", long * given, long * given > 0
