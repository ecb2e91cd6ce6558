"""Verify an instance that refutes a sentence of Section 11.1 of "Attention is just another name for coupling?".

Printed: the residual |Post(x) - x| measures the distance to equilibrium. Read: of two states the one with the smaller
residual is closer to the fixed point. (For a contraction with constant L the distance is between residual / (1 + L) and
residual / (1 - L), which decides nothing if L is near 1.)

Instance: Post(x) = W x with W diagonal, a contraction that is slow in one direction, and the maximum norm. Its only
fixed point is 0.

Usage: python claim_residual_distance.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "multirate/claim-residual-distance"
WITNESS = {"W": ["0", "999/1000"], "states": [["0", "100"], ["1", "0"]]}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    W = [Fraction(v) for v in witness["W"]]
    L = max(map(abs, W))
    yield "Post is a contraction: its constant", L, L < 1
    states = [[Fraction(v) for v in x] for x in witness["states"]]
    residuals = [max(abs(w * v - v) for w, v in zip(W, x, strict=True)) for x in states]
    distances = [max(map(abs, x)) for x in states]
    yield "the first state has the smaller residual", [*map(str, residuals)], residuals[0] < residuals[1]
    yield "and the larger distance from the fixed point", [*map(str, distances)], distances[0] > distances[1]


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
