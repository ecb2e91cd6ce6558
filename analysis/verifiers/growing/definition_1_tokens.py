"""Verify an instance that refutes a reading of Definition 1 of "DDCL-INCRT".

Read: the directional loss |X P M_a P X^T|_F / |X M_a X^T|_F of tokens X is at most 1 for every projection P on the
complement of captured directions.

Instance: M_a has the entries (1, 2) = 1 and (1, 3) = t, the tokens are e_1 and e_2 - e_3, and e_3 is captured. Two
tokens interact through the one number x_1^T M_a x_2, and the ratio of the norms is that of its sizes.

Usage: python definition_1_tokens.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "growing/definition-1/tokens"
WITNESS = {"t": "1/2"}


def product(x, m, y):
    """Return x^T m y."""
    return sum(a * row[j] * b for a, row in zip(x, m, strict=True) for j, b in enumerate(y))


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    t, zero, one = Fraction(witness["t"]), Fraction(0), Fraction(1)
    m = [[zero, one, t], [-one, zero, zero], [-t, zero, zero]]
    antisymmetric = all(m[i][j] == -m[j][i] for i in range(3) for j in range(3))
    yield "M_a is antisymmetric", antisymmetric, antisymmetric
    tokens = [[one, zero, zero], [zero, one, -one]]
    seen = [[x, y, zero] for x, y, _ in tokens]  # without the captured e_3

    before, after = abs(product(tokens[0], m, tokens[1])), abs(product(seen[0], m, seen[1]))
    yield "the tokens interact: |x_1^T M_a x_2|", before, before > 0
    yield "|x_1^T P M_a P x_2| is larger", after, after > before


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
