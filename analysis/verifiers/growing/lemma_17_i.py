"""Verify an instance that refutes Lemma 17 (i) of "DDCL-INCRT".

Printed: under eta_T < T_min^3 / (3 sigma_max) all temperatures of T_{s+1} = T_s - eta_T sigma_s / T_s^2 are at least
T_min.

Instance: T_init just above T_min, sigma = sigma_max, one step.

Usage: python lemma_17_i.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "growing/lemma-17-i"
WITNESS = {"T_init": "101/100", "T_min": "1", "sigma": "1", "eta_T": "33/100"}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    start, least, sigma, rate = (Fraction(witness[name]) for name in ("T_init", "T_min", "sigma", "eta_T"))
    yield "T_init > T_min > 0", (str(start), str(least)), start > least > 0
    yield "0 < eta_T < T_min^3 / (3 sigma_max)", rate, 0 < rate < least**3 / (3 * sigma)
    after = start - rate * sigma / start**2
    yield "T_1 is below T_min", after, after < least


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
