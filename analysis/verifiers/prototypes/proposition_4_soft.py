"""Verify an instance that refutes a sentence of Proposition 4 of "DDCL-Attention".

Printed: L_OLS = sum_n min_k |z_n - p_k|^2 is a soft commitment loss without hard argmin, and gradients flow
continuously.

Instance: an embedding at a distance h on either side of the point midway between two prototypes on a line. The gradient
2 (z - p_k), k being the nearest, jumps by 2 |p_1 - p_2| - 4 h, which does not tend to zero with h.

Usage: python proposition_4_soft.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "prototypes/proposition-4-soft"
WITNESS = {"p": ["1", "-1"], "h": ["1/1024", "1/1048576", "1/1073741824"]}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    p, steps = [Fraction(v) for v in witness["p"]], [Fraction(v) for v in witness["h"]]
    middle = sum(p) / 2
    for h in steps:
        z = (middle + h, middle - h)
        nearest = [min(p, key=lambda v, at=at: (at - v) ** 2) for at in z]
        jump = abs(2 * (z[0] - nearest[0]) - 2 * (z[1] - nearest[1]))
        yield f"the jump across 2 h, h = {h}, exceeds 1", jump, h > 0 and jump > 1


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
