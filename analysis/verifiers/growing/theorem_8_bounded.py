"""Verify an instance that refutes Theorem 8 (ii) of "DDCL-INCRT".

Printed: for lambda > 2 eta_P C(K, 2) and a coercive regulariser every trajectory is bounded.

Instance: one token at 0, for every linear encoder, and two prototypes at -a and b on a line, at any temperature
between T_min and T_init. With x = (b^2 - a^2) / T, q = 1 / (1 + e^x) and w = q (1 - (1 - q) x), the weight of the far
prototype in the gradient of L_q through the assignments, and g = a + b: da/dt = -2 eta (1 - w) a + 2 eta lambda / g^3
and db/dt = -2 eta w b + 2 eta lambda / g^3. For x >= 2, (1 - q) x >= 2 - 2 e^-2 > 1, so that w < 0. At a = a_0 and b
>= b_0 with a_0 b_0^3 >= lambda, da/dt < 0; so the region 0 <= a <= a_0, b >= b_0 is invariant, and (b + a_0)^3 db/dt
>= 2 eta lambda in it: b is unbounded.
"""

import math
from fractions import Fraction

STATEMENT = "growing/theorem-8-bounded"
WITNESS = {"lambda": "33/8", "eta_P": "1", "T_init": "2", "a_0": "33/256", "b_0": "4"}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    lam, eta, T, a, b = (Fraction(witness[k]) for k in ("lambda", "eta_P", "T_init", "a_0", "b_0"))
    yield "lambda - 2 eta_P C(2, 2), positive", str(lam - 2 * eta), lam > 2 * eta > 0
    yield "0 < a_0 < b_0", f"{a}, {b}", 0 < a < b
    yield "x at b_0, at least 2", str((b * b - a * a) / T), b * b - a * a >= 2 * T > 0
    square = sum(Fraction(2**n, math.factorial(n)) for n in range(8))
    yield "e^2, at least, above 2", float(square), square > 2
    yield "a_0 b_0^3 - lambda, not negative", str(a * b**3 - lam), a * b**3 >= lam
