"""Verify an instance that refutes a sentence on (25) in Section 7.4 of Rodriguez Abella, Silvestre and Tabuada.

Printed: E = 1 - (1/l) sum_i |y_1.y_i| / (|y_1| |y_i|) only becomes zero when all the tokens are located at the same
configuration. (The printed sum starts at i = 0; there is no y_0, and it is read from i = 1.)

Instance: tokens y and -y on the sphere. The absolute value makes E zero although they differ.

Usage: python equation_25.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "consensus/equation-25"
WITNESS = {"tokens": [["2/3", "-1/3", "2/3"], ["-2/3", "1/3", "-2/3"], ["2/3", "-1/3", "2/3"]]}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    tokens = [[Fraction(v) for v in row] for row in witness["tokens"]]
    dot = lambda x, y: sum(s * t for s, t in zip(x, y, strict=True))
    norms = [str(dot(y, y)) for y in tokens]
    yield "squared norms of the tokens", norms, norms == ["1"] * len(tokens)
    gap = max(dot(tokens[0], tokens[0]) - dot(tokens[0], y) for y in tokens)
    yield "the tokens do not coincide: largest 1 - y_1.y_i", gap, gap > 0
    E = 1 - sum(abs(dot(tokens[0], y)) for y in tokens) / len(tokens)
    yield "E", E, E == 0


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
