"""Verify an instance that refutes Corollary 12 of "DDCL-INCRT".

Printed: the conditions (60), and (61) with (E2), are jointly satisfiable by rates.

Instance: one free embedding at 0 and prototypes at -a and a on the first axis, lambda = 4 a^4, kappa = 4 a^2 / T. To
second order L_q = (|z - p_1|^2 + |z - p_2|^2) / 2 - D^2 / (4 T), D = |z - p_1|^2 - |z - p_2|^2. On the first axis its
second derivatives by z, p_1, p_2 are H_zz = 2 - 2 kappa, H_zp = -1 + kappa; on the second 2 and -1. So |H|^2 = 2
max(1, (1 - kappa)^2), L_theta = 2, mu_theta = 2 (1 - kappa), L_P >= 1. Since c_0 <= eta_theta mu_theta, the third of
(60) needs 3 |H| < L_theta mu_theta, whatever the rates, and the third of (61) eta_P > 3 |H| / (L_theta mu_theta),
against eta_P < 2 / L_P.
"""

from fractions import Fraction

STATEMENT = "growing/corollary-12"
WITNESS = {"a": "5/4", "lambda": "625/64", "kappa": "23/32"}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    a, lam, kappa = (Fraction(witness[k]) for k in ("a", "lambda", "kappa"))
    yield "0 < kappa < 1", str(kappa), 0 < kappa < 1
    force = a - lam / (4 * a**3)
    yield "derivative of W by a prototype", str(force), force == 0
    cross = 2 * max(1, (1 - kappa) ** 2)
    least, largest = min(2 - 2 * kappa, 2), max(2 - 2 * kappa, 2)
    yield "mu_theta and L_theta, positive", f"{least}, {largest}", 0 < least <= largest
    needed, given = 9 * cross, (largest * least) ** 2
    yield "9 |H|^2 - (L_theta mu_theta)^2, not negative: (60) fails", str(needed - given), needed >= given
    yield (
        "9 |H|^2 - (2 L_theta mu_theta)^2, not negative: (61) fails for eta_P < 2",
        str(needed - 4 * given),
        needed >= 4 * given,
    )
