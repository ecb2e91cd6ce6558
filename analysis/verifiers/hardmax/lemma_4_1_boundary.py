"""Verify an instance that refutes the first half of Lemma 4.1 of Alcalde, Fantuzzi and Zuazua.

Printed: S = {x in K : max_l <v_l - x, x> = 0}, v_l the vertices of K, is a subset of the boundary of K.

Instance: the vertices of a square about the origin, A = I. Each token is a leader from the start and stays, so that K
is the square. For x = 0 all products <v_l - x, x> are zero: the origin is in S as soon as it is in K. (The proof
maximises the linear function <z, x>, which for x = 0 is constant.)

The origin is interior if, as here, small multiples of the vectors e_1, -e_1, e_2, -e_2 are means of two vertices.

Usage: python lemma_4_1_boundary.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "hardmax/lemma-4.1-boundary"
WITNESS = {"tokens": [["1", "1"], ["-1", "1"], ["-1", "-1"], ["1", "-1"]], "point": ["0", "0"]}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    z, x = [[Fraction(v) for v in row] for row in witness["tokens"]], [Fraction(v) for v in witness["point"]]
    dot = lambda a, b: a[0] * b[0] + a[1] * b[1]
    scores = [[dot(a, b) for b in z] for a in z]
    margins = [row[i] - max(v for j, v in enumerate(row) if j != i) for i, row in enumerate(scores)]
    yield "every token is a leader: least margin of <z_i, z_i> over <z_i, z_j>", min(margins), min(margins) > 0
    support = max(dot([s - t for s, t in zip(v, x, strict=True)], x) for v in z)
    yield "the point is in S: max_l <v_l - x, x>", support, support == 0
    middles = [[(s + t) / 2 - c for s, t, c in zip(a, b, x, strict=True)] for a in z for b in z]
    for e in ([1, 0], [-1, 0], [0, 1], [0, -1]):
        reach = max((dot(m, e) for m in middles if m[0] * e[1] == m[1] * e[0]), default=0)
        yield f"a mean of two vertices lies beyond the point in the direction {e}, at", reach, reach > 0


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
