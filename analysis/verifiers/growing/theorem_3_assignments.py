"""Verify an instance that refutes Theorem 3 (2) of "DDCL-INCRT".

Printed: the assignments of a head that tends to T_min converge to 0 and 1.

Instance: tokens +-c along the direction of a head with the prototypes +-a, losses averaged, gradients through the
assignments. With x = 2 a c / T, a' = -eta_P (a - c tanh x - c x / cosh^2 x).

If c^2 >= T_init, a stays between c / 2, where tanh x >= x / (1 + x) >= 1 / 2, and 3 c / 2, where x / cosh^2 x < 1 /
2. sigma is bounded below, and the head reaches T_min. The squared distances of a token differ by 4 a c <= 6 c^2, so
that no assignment falls below 1 / (1 + exp(6 c^2 / T_min)) >= 1 / (1 + 2^m), m >= 9 c^2 / T_min, since e^2 < 8.

Usage: python theorem_3_assignments.py [WITNESS.json]
"""

import json
import math
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "growing/theorem-3-assignments"
WITNESS = {"c": ["1"], "a": "1", "T_init": "1", "T_min": "1/10", "eta_P": "1", "eta_T": "1/100"}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    a, start, least, eta_P, eta_T = (Fraction(witness[n]) for n in ("a", "T_init", "T_min", "eta_P", "eta_T"))
    c = Fraction(witness["c"][0])
    yield "T_init > T_min > 0", (str(start), str(least)), start > least > 0
    yield "eta_T > 0, eta_P >= 0", (str(eta_T), str(eta_P)), eta_T > 0 and eta_P >= 0
    yield "the head is local: c^2 >= T_init", c**2, c > 0 and c**2 >= start
    yield "and c / 2 <= a <= 3 c / 2", a, c / 2 <= a <= 3 * c / 2

    bound = Fraction(1, 1 + 2 ** math.ceil(9 * c**2 / least))
    yield "no assignment falls below", bound, bound > 0


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
