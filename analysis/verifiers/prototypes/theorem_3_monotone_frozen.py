"""Verify an instance that refutes Theorem 3, read for the gradient with fixed assignments of "DDCL-Attention".

Read: F + barrier, the Lyapunov function of the flow with fixed assignments, is non-increasing for any decreasing
T(t).

Instance: one embedding at 0, prototypes at +-b: q = 1/2 at every T, and the gradient by b of each prototype is b - 2
lambda / (2 b)^3 = 0 for lambda = 4 b^4: the prototypes rest. F + barrier = b^2 - T log 2 + lambda / (2 b)^2, which
increases by (T_0 - T_1) log 2 as T falls from T_0 to T_1.
"""

from fractions import Fraction

STATEMENT = "prototypes/theorem-3-monotone/frozen"
WITNESS = {"b": "1", "lambda": "4", "eta_P": "1", "T": ["2", "1/2"]}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    b, lam, eta = (Fraction(witness[k]) for k in ("b", "lambda", "eta_P"))
    first, last = map(Fraction, witness["T"])
    yield "lambda - 2 eta_P C(2, 2), positive", str(lam - 2 * eta), lam > 2 * eta > 0
    yield "gradient b - 2 lambda / (2 b)^3", str(b - 2 * lam / (2 * b) ** 3), b == 2 * lam / (2 * b) ** 3
    yield "T_0 - T_1, the increase over log 2, positive", str(first - last), first > last > 0
