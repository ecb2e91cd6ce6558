"""Verify an instance that refutes a reading of Section 3.3 of Rodriguez Abella, Silvestre and Tabuada.

Printed: when P is not the identity, the linearisation at equilibria leads to conditions whose validity cannot be easily
ascertained. Read: (8) with W = P symmetric and positive definite is another system than (8) with P = I.

Instance: P = B^T B. In the coordinates z_i = B y_i the exponents are the same, y_i.P y_j = z_i.z_j, and so are the
weights; and term by term B (y_j - (y_i.P y_j) y_i) = z_j - (z_i.z_j) z_i. The two systems are conjugate by a linear
map, and all conditions on P are those on I. Any P has such a factor; the instance has a rational one.

Usage: python claim_general_p_not_ascertainable_conjugacy.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "consensus/claim-general-p-not-ascertainable/conjugacy"
WITNESS = {
    "P": [["5", "4"], ["4", "5"]],
    "B": [["2", "1"], ["1", "2"]],
    "tokens": [["2/15", "1/3"], ["-22/39", "29/39"], ["2/3", "-1/3"]],
}


def dot(x, y):
    """Return the inner product of two vectors."""
    return sum(a * b for a, b in zip(x, y, strict=True))


def apply(M, x):
    """Return M x."""
    return [dot(row, x) for row in M]


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    P, B, tokens = ([[Fraction(v) for v in row] for row in witness[name]] for name in ("P", "B", "tokens"))
    size = range(len(P))
    yield "P is not the identity", witness["P"], [[int(i == j) for j in size] for i in size] != P
    columns = [*zip(*B, strict=True)]
    square = [[dot(x, y) for y in columns] for x in columns]
    yield "B^T B = P, which is symmetric and not negative", witness["B"], square == P
    norms = [dot(y, apply(P, y)) for y in tokens]
    yield "tokens are on the ellipsoid: y.P y", [*map(str, norms)], {*norms} == {1}
    span = rank(B)
    yield "B is regular, and P positive: rank of B", span, span == len(B)
    z = [apply(B, y) for y in tokens]
    pairs = [(i, j) for i in range(len(z)) for j in range(len(z))]
    gaps = [dot(tokens[i], apply(P, tokens[j])) - dot(z[i], z[j]) for i, j in pairs]
    yield "largest difference of the exponents", max(map(abs, gaps)), not any(gaps)
    moved = [
        apply(B, [v - dot(tokens[i], apply(P, tokens[j])) * u for u, v in zip(tokens[i], tokens[j], strict=True)])
        for i, j in pairs
    ]
    direct = [[v - dot(z[i], z[j]) * u for u, v in zip(z[i], z[j], strict=True)] for i, j in pairs]
    gap = max(abs(s - t) for a, b in zip(moved, direct, strict=True) for s, t in zip(a, b, strict=True))
    yield "largest difference of the terms of the fields in the coordinates z", gap, gap == 0


def rank(M):
    """Return the rank of a matrix, by elimination."""
    rows, found = [row[:] for row in M], 0
    for column in range(len(M[0])):
        pivot = next((i for i in range(found, len(rows)) if rows[i][column] != 0), None)
        if pivot is None:
            continue
        rows[found], rows[pivot] = rows[pivot], rows[found]
        for i in range(found + 1, len(rows)):
            factor = rows[i][column] / rows[found][column]
            rows[i] = [a - factor * b for a, b in zip(rows[i], rows[found], strict=True)]
        found += 1
    return found


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
