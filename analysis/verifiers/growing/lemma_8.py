"""Verify an instance that refutes Lemma 8 of "DDCL-INCRT".

Printed: of two heads on orthogonal directions with sigma_1(0) > sigma_2(0), sigma_1 - sigma_2 does not decrease.

Instance: tokens at 0, prototypes 0 and a e_1 of head 1, +-e_2 of head 2, T = a^2 / log b. Head 2 is equidistant for
ever: sigma_2 = 0. With q = b / (1 + b), the assignment to the prototype at 0, and s = log b, sigma_1 = a^4 q (1 - q),
its derivative by T is a^6 q (1 - q) (2 q - 1) / T^2 and that by a is 2 a^3 q (1 - q) (2 - s (2 q - 1)). T falls at
the rate eta_T sigma_1 / T^2, and a at 2 eta_P a (1 - q) (1 - s q) or, at fixed assignments, 2 eta_P a (1 - q). As log
b < 1 for b <= 8/3 < 1 + 1 + 1/2 + 1/6 + 1/24 < e, all signs are known.
"""

from fractions import Fraction

STATEMENT = "growing/lemma-8"
WITNESS = {"a": "1", "b": "2", "eta_P": "1", "eta_T": "1"}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    a, b, eta_P, eta_T = (Fraction(witness[name]) for name in ("a", "b", "eta_P", "eta_T"))
    yield "a > 0: the prototypes are distinct", a, a > 0
    yield "1 < b <= 8/3, so that 0 < log b < 1", b, 1 < b <= Fraction(8, 3)
    yield "eta_T > 0, eta_P >= 0", (str(eta_T), str(eta_P)), eta_T > 0 and eta_P >= 0

    q = b / (1 + b)
    sigma = a**4 * q * (1 - q)
    yield "sigma_1(0) > 0 = sigma_2(0)", sigma, sigma > 0
    yield "sigma_1 increases with T: a^6 q (1 - q) (2 q - 1)", a**2 * sigma * (2 * q - 1), 2 * q - 1 > 0
    yield "sigma_1 increases with a: 2 - s (2 q - 1) is at least", 2 - (2 * q - 1), 2 - (2 * q - 1) > 0
    yield "a does not increase: 1 - s q is at least", 1 - q, 1 - q > 0
