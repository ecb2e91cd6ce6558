"""Verify an instance that refutes Corollary 3 of "DDCL-INCRT".

Printed: heads are added in decreasing order of lambda; the first ones become local, and the last ones global.

Instance: tokens (+-c_1, +-c_2, 0, 0), directed attention with lambda_1 in the plane (1, 3) and lambda_2 < lambda_1 in
(2, 4). Head h is born with the prototypes +-a e_h and sees the tokens along e_h. Losses are averaged, gradients go
through the assignments. With x = 2 a c / T, a' = -eta_P (a - c tanh x - c x / cosh^2 x) and sigma = 4 a^2 c^2 /
cosh^2 x for each head.

Head 1: 4 c_1^2 < T_min. As tanh x <= x, a' <= -kappa a, kappa = eta_P (1 - 4 c_1^2 / T_min), the integral of sigma is
at most 2 a^2 c_1^2 / kappa, and T_1^3 stays above T_init^3 - 6 eta_T a^2 c_1^2 / kappa: it is global.

Head 2: c_2^2 >= T_init. At a = c_2 / 2, tanh x >= x / (1 + x) >= 1 / 2, so that a' > 0, and at a = 3 c_2 / 2, x /
cosh^2 x < 1 / 2, so that a' < 0: a stays between, sigma is bounded below, and T_2 reaches T_min in finite time: it is
local.
"""

from analysis.verifiers.frames.cooling import second_head_cools

STATEMENT = "growing/corollary-3"
WITNESS = {
    "c": ["1/4", "1"],
    "a": "1/2",
    "T_init": "1",
    "T_min": "1/2",
    "eta_P": "1",
    "eta_T": "1/2",
    "lambda": ["2", "1"],
}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    yield from second_head_cools(witness)
