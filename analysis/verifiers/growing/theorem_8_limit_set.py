"""Verify an instance that refutes Theorem 8 (iii) of "DDCL-INCRT".

Printed: at every limit point sigma = 0.

Instance: tokens at -z and z, prototypes at -p and p on a line, T between T_min and T_init. p' = eta (-p + v z + lambda
/ (4 p^3)), losses as means over tokens, with v = tanh(x/2) + x / (2 cosh^2(x/2)), x = 4 z p / T; 0 <= v <= 3/2, since
cosh^2(x/2) >= 1 + x^2/4. sigma = (4 z p)^2 / (4 cosh^2(x/2)) >= (4 z p)^2 / (4 e^x) > 0 on an invariant interval, at
all times.

Usage: python theorem_8_limit_set.py [WITNESS.json]
"""

import json
import math
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "growing/theorem-8-limit-set"
WITNESS = {"z": "1/4", "lambda": "9/4", "eta_P": "9/16", "least p": "1/2", "largest p": "1", "T_min": "7/16"}


def interval(witness):
    """Yield the checks that an interval is invariant under p' = eta (-p + v z + lambda / (4 p^3)), 0 <= v <= 3/2."""
    z, lam, low, high = (Fraction(witness[k]) for k in ("z", "lambda", "least p", "largest p"))
    yield "0 < least p < largest p, z > 0", f"{low}, {high}, {z}", 0 < low < high and z > 0
    yield "p' / eta at the least p, at least, positive", str(lam / (4 * low**3) - low), lam / (4 * low**3) > low
    most = lam / (4 * high**3) + 3 * z / 2 - high
    yield "p' / eta at the largest p, at most, negative", str(most), most < 0


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    lam, eta, coldest = (Fraction(witness[k]) for k in ("lambda", "eta_P", "T_min"))
    yield "lambda - 2 eta_P C(2, 2), positive", str(lam - 2 * eta), lam > 2 * eta > 0
    yield from interval(witness)
    z, low, high = (Fraction(witness[k]) for k in ("z", "least p", "largest p"))
    yield "T_min, positive", str(coldest), coldest > 0
    largest = math.ceil(4 * z * high / coldest)
    sigma = (4 * z * low) ** 2 / (4 * 3**largest)
    yield "sigma, at least, positive", str(sigma), sigma > 0


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
