"""Verify an instance that refutes Lemma 19 of "DDCL-INCRT".

Printed: N_min > max(N_gate, s*), s* = ceil(t*) + 1, t* = (T_init^3 - T_min^3) / (3 eta_T sigma_0), ensures that gate
and temperatures have settled after N_min steps.

Instance: constant sigma, N_min = max(N_gate, s*) + 1. T - eta_T sigma / T^2 increases with T > 0, so that temperatures
rounded down after every step stay below the true ones.

Usage: python lemma_19.py [WITNESS.json]
"""

import json
import math
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "growing/lemma-19"
WITNESS = {"T_init": "25", "T_min": "1", "sigma": "1", "eta_T": "5208/16447", "N_gate": 1}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    start, least, sigma, rate = (Fraction(witness[name]) for name in ("T_init", "T_min", "sigma", "eta_T"))
    yield "T_init > T_min > 0", (str(start), str(least)), start > least > 0
    yield "0 < eta_T < T_min^3 / (3 sigma_max)", rate, 0 < rate < least**3 / (3 * sigma)

    steps = max(int(witness["N_gate"]), math.ceil((start**3 - least**3) / (3 * rate * sigma)) + 1) + 1
    T = start
    for _ in range(steps):
        if least >= T:
            break
        T = Fraction(math.floor((T - rate * sigma / T**2) * 2**80), 2**80)
    yield "steps made: max(N_gate, ceil(t*) + 1) + 1", steps, True
    yield "T after them, rounded down, is above T_min", f"{float(T):.12f}", least < T


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
