"""Verify an instance that refutes Corollary 13 of "DDCL-INCRT".

Printed: under (55), dW/dt <= -(c_0 - C_1 eps_1 - C_2 eps_2 - C_3 eps_3) (|grad_theta L_q|^2 + |grad_P W|^2 + sum sigma)
at all times of a dwell interval, and sigma = 0 at limit points.

Instance: tokens at -z and z, fixed embeddings, and a head along them at T_min, where it stays, with prototypes at -p
and p; a second one across them, at rest. p' = eta (-p + v z + lambda / (4 p^3)), losses as means over tokens, with v =
tanh(x/2) + x / (2 cosh^2(x/2)), x = 4 z p / T; 0 <= v <= 3/2, since cosh^2(x/2) >= 1 + x^2/4, and v = 0 across. p' has
opposite signs at the ends of an interval, so that there is a rest point in it, where dW/dt = 0, and sigma = (4 z p)^2
/ (4 cosh^2(x/2)) >= (4 z p)^2 / (4 e^x) > 0. c_0 = eta_P mu_P / 2 and C_i = eta_P c_i; the embeddings are fixed, C_3 =
0.
"""

import math
from fractions import Fraction

from analysis.verifiers.frames.barriers import invariant_interval

STATEMENT = "growing/corollary-13"
WITNESS = {
    "z": "1/4",
    "lambda": "9/4",
    "eta_P": "9/16",
    "least p": "1/2",
    "largest p": "1",
    "T_min": "7/16",
    "c_1": "1",
    "c_2": "2",
    "mu_P": "1",
    "eps": ["1/10", "1/16"],
}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    z, lam, eta, low, high, coldest, c1, c2, mu = (Fraction(witness[k]) for k in list(WITNESS)[:9])
    first, second = (Fraction(v) for v in witness["eps"])
    yield "lambda - 2 eta_P C(2, 2), positive", str(lam - 2 * eta), lam > 2 * eta > 0
    yield from invariant_interval(witness)
    yield "eps_1 and eps_2, positive and at most 1/10", f"{first}, {second}", 0 < min(first, second) <= Fraction(1, 10)
    left = eta * (mu / 2 - c1 * first - c2 * second)
    yield "(55): c_0 - C_1 eps_1 - C_2 eps_2, positive", str(left), left > 0 < min(c1, c2, mu)
    largest = math.ceil(4 * z * high / coldest)
    sigma = (4 * z * low) ** 2 / (4 * 3**largest)
    yield "sigma at the rest point, at least, positive", str(sigma), sigma > 0 < coldest
    yield "the bound of dW/dt = 0 there, negative", str(-left * sigma), -left * sigma < 0
