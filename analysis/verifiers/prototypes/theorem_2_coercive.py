"""Verify an instance that refutes the coercivity in Theorem 2 of "DDCL-Attention".

Printed: for lambda > 2 eta_P C(K, 2) the sublevel sets of W = L_q + (lambda / 2) sum |p_j - p_k|^-2 are compact.

Instance: one embedding at 0, prototypes at 0 and b: W = b^2 / (1 + e^y) + lambda / b^2 with y = b^2 / T. Since e^y >=
1 + y > y, b^2 / (1 + e^y) < b^2 / y = T, so that W < T + lambda / b^2 <= T + lambda for all b >= 1.
"""

from fractions import Fraction

STATEMENT = "prototypes/theorem-2-coercive"
WITNESS = {"lambda": "3", "eta_P": "1", "T": "1/2", "b": ["1", "10", "1000", "1000000"]}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    lam, eta, T = (Fraction(witness[k]) for k in ("lambda", "eta_P", "T"))
    yield "lambda - 2 eta_P C(2, 2), positive", str(lam - 2 * eta), lam > 2 * eta > 0 < T
    values = [Fraction(b) for b in witness["b"]]
    yield "the points b grow without bound", [*map(str, values)], values == sorted(set(values)) and values[-1] >= 10**6
    for b in values:
        bound = b * b / (2 + b * b / T) + lam / (b * b)
        yield f"W at b = {b}, by e^y >= 1 + y, at most T + lambda", float(bound), bound <= T + lam
