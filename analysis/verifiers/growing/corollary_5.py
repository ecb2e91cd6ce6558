"""Verify an instance that refutes Corollary 5 of "DDCL-INCRT".

Printed: with DDCL-INCRT the spectral gap is improved and the growth count reduced. Instance: M_a = s (v u^T - u v^T),
of rank two, and a row w of an MLP. Growth is triggered; the dominant direction leaves no value and no gap, and the row,
which lies neither in the plane nor orthogonal to it, leaves a positive one, less than theta_w. So the gap is smaller,
and one direction suffices for both; it stays so for all rows near w.

Usage: python corollary_5.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "growing/corollary-5"
WITNESS = {
    "s": "1",
    "u": ["1", "0", "0", "0"],
    "v": ["0", "1", "0", "0"],
    "w": ["3", "0", "4", "0"],
    "theta_w": "19/20",
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
    theta = Fraction(witness["theta_w"])
    yield "u and v are orthonormal", "yes", dot(u, u) == dot(v, v) == 1 and dot(u, v) == 0
    yield "growth is triggered: s over theta_w", str(s / theta), s > theta > 0
    by_ddcl, by_mlp = left_square(s, u, v, u), left_square(s, u, v, w)
    yield "one head leaves no value and no gap: the square of the value", str(by_ddcl), by_ddcl == 0
    yield "one row leaves a gap, and less than theta_w: the square of the value", str(by_mlp), 0 < by_mlp < theta**2


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
