"""Verify an instance that refutes a step in the proof of Theorem 6.1 of Rodriguez Abella, Silvestre and Tabuada.

Printed: for e = 0 and lambda > 0 the only equilibria b_i of (23) in [-1, 1] are 1 and -1. (On [0, 1] this is so, and
the theorem needs no more.)

Instance: two causal tokens on the circle, P = 0, U = diag(lambda, mu) with mu < 0 < lambda, y_1 = v = e_1 (so e = 0)
and y_2 = (b, s) with b = -lambda / (lambda - mu). With equal weights, b' is a multiple of (1 - b^2) (lambda + (lambda -
mu) b) = 0; the whole field of (21) is zero at this state.

Usage: python theorem_6_1_equilibria.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "consensus/theorem-6.1-equilibria"
WITNESS = {"lambda": "1", "mu": "-2/3", "y2": ["-3/5", "4/5"]}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    u = [Fraction(witness["lambda"]), Fraction(witness["mu"])]
    y2 = [Fraction(v) for v in witness["y2"]]
    yield "lambda > 0 is the simple top eigenvalue", witness["lambda"], u[0] > max(u[1], 0)
    yield "|y_2|^2", y2[0] ** 2 + y2[1] ** 2, y2[0] ** 2 + y2[1] ** 2 == 1
    drive = [u[0] * (1 + y2[0]), u[1] * y2[1]]  # U (y_1 + y_2)
    along = drive[0] * y2[0] + drive[1] * y2[1]
    field = [f - along * v for f, v in zip(drive, y2, strict=True)]
    yield "the field of token 2 without the common weight", [*map(str, field)], not any(field)
    yield "b is in (-1, 1)", y2[0], -1 < y2[0] < 1


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
