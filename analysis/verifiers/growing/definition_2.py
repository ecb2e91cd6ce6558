"""Verify an instance that refutes Definition 2 of "DDCL-INCRT".

Printed: Phi = (T_init^3 - T^3) / (3 eta_T) is constructed so that dPhi/dt = -sigma along dT/dt = -eta_T sigma / T^2.

Instance: two heads on integer points at T = 1 / log 2, where assignments are rational: sigma > 0, and dPhi/dt =
-(dT^3/dt) / (3 eta_T) = +sigma.

Usage: python definition_2.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "growing/definition-2"
WITNESS = {
    "z": [[1, -1, 1, 0], [-1, -1, 0, -1], [-1, -1, -1, 1]],
    "banks": [[[1, 1, -1, 1], [1, -1, 0, -1]], [[0, 0, 1, 1], [1, 1, 0, 0]]],
    "eta_T": "1/90",
}


def integers(rows):
    """Return rows of integers."""
    return [[int(v) for v in row] for row in rows]


def assignments(z, p):
    """Return the squared distances and the assignments at T = 1 / log 2, for integer points."""
    d = [[sum((x - y) ** 2 for x, y in zip(a, b, strict=True)) for b in p] for a in z]
    powers = [[Fraction(1, 2**k) for k in row] for row in d]
    return d, [[q / sum(row) for q in row] for row in powers]


def activity(z, p):
    """Return sigma, the mean over tokens of the variance of the squared distances."""
    total = Fraction(0)
    for d, q in zip(*assignments(z, p), strict=True):
        mean = sum(a * b for a, b in zip(q, d, strict=True))
        total += sum(a * (b - mean) ** 2 for a, b in zip(q, d, strict=True))
    return total / len(z)


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    eta = Fraction(witness["eta_T"])
    yield "eta_T, positive", str(eta), eta > 0
    for bank in witness["banks"]:
        sigma = activity(integers(witness["z"]), integers(bank))
        cubes = -3 * eta * sigma  # the derivative of T^3
        along = -cubes / (3 * eta)
        yield "sigma, positive", str(sigma), sigma > 0
        yield "dPhi/dt, which is sigma", str(along), along == sigma
        yield "dPhi/dt + sigma, not zero", str(along + sigma), along != -sigma


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
