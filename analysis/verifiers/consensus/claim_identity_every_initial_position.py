"""Verify an instance that refutes a claim of Section 1 of Rodriguez Abella, Silvestre and Tabuada.

Printed: with one head, U = I and P symmetric and positive definite the tokens converge to an equilibrium, guaranteed to
be of consensus type when P = I, for every initial position of the tokens.

Instance: P = I and tokens at y or -y, both taken. For every token, y_j - (y_i.y_j) y_i = 0 for all j, whatever the
weights are: the initial position is an equilibrium, at which two tokens differ.

Usage: python claim_identity_every_initial_position.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "consensus/claim-identity-every-initial-position"
WITNESS = {"tokens": [["2/3", "-1/3", "2/3"], ["-2/3", "1/3", "-2/3"], ["2/3", "-1/3", "2/3"]]}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    tokens = [[Fraction(v) for v in row] for row in witness["tokens"]]
    dot = lambda x, y: sum(s * t for s, t in zip(x, y, strict=True))
    norms = [str(dot(y, y)) for y in tokens]
    yield "squared norms of the tokens", norms, norms == ["1"] * len(tokens)
    terms = [[v - dot(x, y) * u for u, v in zip(x, y, strict=True)] for x in tokens for y in tokens]
    largest = max(abs(v) for term in terms for v in term)
    yield "largest entry of a term y_j - (y_i.y_j) y_i of the field", largest, largest == 0
    gap = max(2 - 2 * dot(tokens[0], y) for y in tokens)
    yield "largest squared distance from the first token, for all t", gap, gap > 0


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
