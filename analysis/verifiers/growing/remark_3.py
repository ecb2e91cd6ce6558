"""Verify an instance that refutes Remark 3 of "DDCL-INCRT".

Printed: for T_init = 1, T_min = 0.1, eta_T = 0.01 and sigma_0 = 0.1, t* = (T_init^3 - T_min^3) / (3 eta_T sigma_0) is
about 33.

Usage: python remark_3.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "growing/remark-3"
WITNESS = {"T_init": "1", "T_min": "1/10", "eta_T": "1/100", "sigma_0": "1/10"}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    start, least, rate, sigma = (Fraction(witness[name]) for name in ("T_init", "T_min", "eta_T", "sigma_0"))
    yield "the values are positive", (str(start), str(least), str(rate), str(sigma)), min(start, least, rate, sigma) > 0
    found = (start**3 - least**3) / (3 * rate * sigma)
    yield "t* is not between 30 and 36", found, not 30 <= found <= 36


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
