"""Verify an instance that refutes Fact 1 of "DDCL-Attention".

Printed: for lambda > 2 eta_P C(K, 2) the flow of the prototypes with the barrier (lambda / 2) sum |p_j - p_k|^-2
(ordered pairs) converges to critical points with distinct prototypes.

Instance: one fixed embedding and two prototypes on a line (eta_theta = 0).

In the mode `full` the weight of the far prototype in the gradient is q (1 - (1 - q) x) with q = 1 / (1 + e^x) and x =
(b^2 - a^2) / T for prototypes at distances a and b from the embedding, on opposite sides of it. For x >= 2 it is
negative, as (1 - q) x >= 2 - 2 e^-2 > 1. With g = a + b the field is then

    a' <= -2 (eta_theta + eta) a + 2 eta lambda / b_0^3,    b' >= 2 eta lambda / g^3,

so that no trajectory leaves 0 <= a <= a_0, b >= b_0 if b_0^2 - a_0^2 >= 2 T and a_0 b_0^3 >= lambda, and (a_0 + b)^4
grows at least like 8 eta lambda t: it has no limit point.

Usage: python fact_1.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "prototypes/fact-1"
WITNESS = {"lambda": "3", "eta_P": "1", "T": "1", "a_0": "3/8", "b_0": "2"}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    lam, eta, T, a0, b0 = (Fraction(witness[k]) for k in ("lambda", "eta_P", "T", "a_0", "b_0"))
    yield "lambda - 2 eta_P C(2, 2), positive", str(lam - 2 * eta), lam > 2 * eta > 0
    yield "(b_0^2 - a_0^2) / T, at least 2", str((b0**2 - a0**2) / T), b0 > a0 > 0 < T and b0**2 - a0**2 >= 2 * T
    yield "a_0 b_0^3 / lambda, at least 1", str(a0 * b0**3 / lam), a0 * b0**3 >= lam
    yield "e^2, at least 1 + 2 + 2 = 5, exceeds 2: 2 - 2 / e^2 > 1", str(2 - Fraction(2, 5)), 2 - Fraction(2, 5) > 1


def main():
    """Print every check with OK or NOT; return 0 if all hold, 2 if the witness has other names, else 1."""
    given = json.loads(Path(sys.argv[1]).read_text()) if sys.argv[1:] else {"witness": WITNESS}
    witness = given.get("witness", given)  # a file of `dynsim check --witness` has more than the witness
    if not WITNESS.keys() <= witness.keys():
        print("the witness must have the names", ", ".join(WITNESS))
        return 2
    results = list(checks(witness))
    for what, value, fact in results:
        print("OK " if fact else "NOT", f"{what}: {value}")
    refuted = all(fact for _, _, fact in results)
    print(STATEMENT, "is refuted" if refuted else "is not refuted by this witness")
    return 0 if refuted else 1


if __name__ == "__main__":
    sys.exit(main())
