"""Verify an instance that refutes the interlacing in the proof of Lemma 25, for A_res = X P M_a P X^T, of "DDCL-INCRT".

Printed: projecting out a unit direction never raises the top eigenvalue of A_res.

Instance: M_a with the planes (e_1, e_2) and (e_3, e_4) of values s and r, two tokens, and the direction e_3. A_res is
2 x 2 and antisymmetric, and its top value is the modulus of its entry x_1^T P M_a P x_2.

Usage: python lemma_25_interlacing_tokens.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "growing/lemma-25-interlacing/tokens"
WITNESS = {"s": "11/4", "r": "1/2", "tokens": [["1", "0", "1", "0"], ["0", "1", "0", "-1"]]}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    s, r = Fraction(witness["s"]), Fraction(witness["r"])
    yield "values, in descending order", f"{s}, {r}", s > r > 0
    m = [[0, s, 0, 0], [-s, 0, 0, 0], [0, 0, 0, r], [0, 0, -r, 0]]
    x, y = ([Fraction(v) for v in token] for token in witness["tokens"])
    value = lambda a, b: abs(sum(a[i] * m[i][j] * b[j] for i in range(4) for j in range(4)))
    without = lambda v: [0 if i == 2 else w for i, w in enumerate(v)]
    before, after = value(x, y), value(without(x), without(y))
    yield "top value before", str(before), before >= 0
    yield "top value after, above it", str(after), after > before


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
