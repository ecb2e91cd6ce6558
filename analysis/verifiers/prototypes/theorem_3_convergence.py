"""Verify an instance that refutes the convergence in Theorem 3 of "DDCL-Attention".

Printed: for any decreasing T(t) with limit T_min > 0 the flow of Theorem 2 converges to the critical set at T_min.

Instance: one free embedding and two prototypes on a line. The region below, for the first temperature T, is one for
every lower temperature, at which x is larger.

For prototypes at distances a and b from the embedding, on opposite sides of it, let g = a + b, x = (b^2 - a^2) / T and
q = 1 / (1 + e^x). The weight w of the far prototype in the gradient is q in the mode frozen, and q (1 - (1 - q) x) in
the mode full. The field is

    a' = -2 (eta_theta + eta) (1 - w) a + 2 eta_theta w b + 2 eta lambda / g^3,
    b' = -2 (eta_theta + eta) w b + 2 eta_theta (1 - w) a + 2 eta lambda / g^3.

Under the conditions below no trajectory leaves the region 0 <= a <= a_0, b >= b_0, where x >= 2. In it b' >= eta
lambda / g^3, so that (a_0 + b)^4 grows at least like 4 eta lambda t: it has no limit point.

Mode full: w < 0, as (1 - q) x >= 2 - 2 e^-2 > 1, so that b' is as said; at a = a_0, a' <= 2 eta (lambda / g^3 - a_0);
at a = 0, |w| < x e^-x < 24 / x^3, so that a' > 0 if 24 T^3 eta_theta <= eta lambda b_0^2.

Mode frozen: 0 < w < 1/2, and w < e^-x < 6 / x^3, so that w b g^3 < 6 T^3 (b + a_0) / (b - a_0)^3, which decreases in b.
If it is at most s lambda / 2 with s = eta / (eta_theta + eta), b' is as said, and at a = a_0, a' <= (3 - s) eta
lambda / g^3 - eta a_0 / s, which is not positive for a_0 b_0^3 >= 2 lambda, as s (3 - s) <= 2. At a = 0, a' > 0.

Usage: python theorem_3_convergence.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "prototypes/theorem-3-convergence"
WITNESS = {
    "mode": "full",
    "lambda": "3",
    "eta_P": "1",
    "eta_theta": "1/2",
    "T": "1",
    "T_min": "1/4",
    "a_0": "3/8",
    "b_0": "2",
}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    lam, eta, slow, T = (Fraction(witness[k]) for k in ("lambda", "eta_P", "eta_theta", "T"))
    a0, b0 = Fraction(witness["a_0"]), Fraction(witness["b_0"])
    frozen = {"frozen": True, "full": False}[witness["mode"]]
    yield "lambda - 2 eta_P C(2, 2), positive", str(lam - 2 * eta), lam > 2 * eta > 0
    yield "(b_0^2 - a_0^2) / T, at least 2", str((b0**2 - a0**2) / T), b0 > a0 > 0 < T and b0**2 - a0**2 >= 2 * T
    least = 2 if frozen else 1
    yield f"a_0 b_0^3 / lambda, at least {least}", str(a0 * b0**3 / lam), a0 * b0**3 >= least * lam
    if frozen:
        weak = 12 * T**3 * (b0 + a0) / (b0 - a0) ** 3 * (eta + slow) / eta / lam
        yield "twice the bound of w b g^3, over s lambda, at most 1", float(weak), weak <= 1
    else:
        yield "e^2, at least 1 + 2 + 2 = 5, exceeds 2: 2 - 2 / e^2 > 1", str(2 - Fraction(2, 5)), 2 - Fraction(2, 5) > 1
        push = 24 * T**3 * slow / (eta * lam * b0**2)
        yield "24 T^3 eta_theta over eta lambda b_0^2, at most 1", float(push), push <= 1
    floor = Fraction(witness["T_min"])
    yield "eta_theta, not negative", str(slow), slow >= 0
    yield "T_min, positive and below T", str(floor), 0 < floor < T


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
