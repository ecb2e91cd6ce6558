"""Verify an instance that refutes a reading of Theorem 4 of "DDCL-INCRT".

Read: I_DDCL <= I_MLP, where the MLP has captured the span of the rows of W_1.

Instance: d = 4, M_a maps e_2 to a e_1, e_1 to -a e_2, e_4 to b e_3 and e_3 to -b e_4 with a > b > 0, so that e_1 is a
dominant direction. If it is captured the second plane is left. Some rows of W_1 span everything, and nothing is left.

Usage: python theorem_4_span.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "growing/theorem-4/span"
WITNESS = {
    "a": "2",
    "b": "1",
    "W": [[1, 0, 0, 0], [1, 2, 0, 1], [0, 0, 3, 1], [0, 1, 1, 1]],
}


def rank(rows):
    """Return the rank of rows by elimination."""
    rows, found = [list(map(Fraction, row)) for row in rows], 0
    for column in range(4):
        pivot = next((row for row in rows[found:] if row[column] != 0), None)
        if pivot is None:
            continue
        rows.remove(pivot)
        rows.insert(found, pivot)
        found += 1
        for row in rows[found:]:
            factor = row[column] / pivot[column]
            row[:] = [v - factor * w for v, w in zip(row, pivot, strict=True)]
    return found


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    a, b = Fraction(witness["a"]), Fraction(witness["b"])
    yield "a > b > 0", (str(a), str(b)), a > b > 0
    m = [[0, a, 0, 0], [-a, 0, 0, 0], [0, 0, 0, b], [0, 0, -b, 0]]
    found = rank(witness["W"])
    yield "the rows span, so that I_MLP = 0: their rank", found, found == 4

    left = [[0 if 0 in (i, j) else m[i][j] for j in range(4)] for i in range(4)]  # e_1 is captured
    share = sum(v * v for row in left for v in row) / sum(v * v for row in m for v in row)
    yield "I_DDCL^2 is positive", share, share > 0


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
