"""Verify instances that refute Lemma 11 of "DDCL-INCRT".

Printed: Delta_DDCL >= Delta_MLP - O(I_DDCL), so that a gap lambda_1 - lambda_2 of at least delta_0 persists.

Instances: M_a = s (v u^T - u v^T), of rank two. With u captured nothing is left, so that I_DDCL = 0 and the gap is 0;
with a row w of an MLP captured a positive value and gap are left. Of values with pairs s_1, s_2, s_3 the gap is s_1 -
s_2, and s_2 - s_3 once the dominant direction is captured.

Usage: python lemma_11.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "growing/lemma-11"
WITNESS = {
    "s": "1",
    "u": ["1", "0", "0", "0"],
    "v": ["0", "1", "0", "0"],
    "w": ["3", "0", "4", "0"],
    "values": ["2", "1", "1"],
}


def vector(values):
    """Return a row of fractions."""
    return [Fraction(v) for v in values]


def dot(x, y):
    """Return the product of two vectors."""
    return sum(a * b for a, b in zip(x, y, strict=True))


def left_square(s, u, v, w):
    """Return the squared value of P A P, A = s (v u^T - u v^T), P the projection orthogonal to w: |P A P|_F^2 / 2."""
    size = range(len(u))
    A = [[s * (v[i] * u[j] - u[i] * v[j]) for j in size] for i in size]
    P = [[(1 if i == j else 0) - w[i] * w[j] / dot(w, w) for j in size] for i in size]
    product = lambda X, Y: [[dot(row, column) for column in zip(*Y, strict=True)] for row in X]
    return sum(x * x for row in product(product(P, A), P) for x in row) / 2


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    s, u, v, w = Fraction(witness["s"]), *(vector(witness[name]) for name in "uvw")
    yield "u and v are orthonormal, and s > 0", str(s), dot(u, u) == dot(v, v) == 1 and dot(u, v) == 0 < s
    by_ddcl, by_mlp = left_square(s, u, v, u), left_square(s, u, v, w)
    yield "with u captured nothing is left: the square of the value", str(by_ddcl), by_ddcl == 0
    yield "with w captured a gap is left: the square of the value", str(by_mlp), by_mlp > 0
    first, second, third = vector(witness["values"])
    yield "values decrease, with a positive gap", str(first - second), first > second >= third > 0
    yield "the next gap is smaller", str(second - third), second - third < first - second


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
