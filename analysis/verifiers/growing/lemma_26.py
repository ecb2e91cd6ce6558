"""Verify an instance that refutes Lemma 26 of "DDCL-INCRT".

Printed: sum lambda^(h) / |M_a|_F^2 >= 1 - K theta_w / |M_a|_F^2 at the end of growth.

Instance: M_a with planes of coordinates of the given values: |M_a|_F^2 is twice the sum of their squares, and each
plane above theta_w gives one head, at its value.

Usage: python lemma_26.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "growing/lemma-26"
WITNESS = {"values": ["28", "21", "16"], "theta_w": "1/4"}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    s, threshold = [Fraction(v) for v in witness["values"]], Fraction(witness["theta_w"])
    yield "theta_w, positive and below all values", str(threshold), 0 < threshold < min(s)
    energy = 2 * sum(v * v for v in s)
    covered, least = sum(s) / energy, 1 - len(s) * threshold / energy
    yield "coverage, below the bound", f"{float(covered)} < {float(least)}", covered < least


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
