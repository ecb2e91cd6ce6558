"""Verify an instance that refutes a step of the Algorithm in Section 3.4 of "DDCL-INCRT".

Printed: the updates of prototypes spread them and raise A_res, recomputed via (3).

Instance: one step of descent on Lq at fixed assignments moves the prototypes. P M_a P and X P M_a P X^T, P being the
projector of what is not captured, contain no prototype: their dominant value after the step is s, as before.

Usage: python claim_prototypes_raise_residual.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "growing/claim-prototypes-raise-residual"
WITNESS = {
    "X": [["1", "0", "0"], ["0", "1", "0"], ["0", "0", "1"]],
    "M": [["1", "2", "0"], ["-2", "3", "1"], ["0", "-1", "0"]],
    "q": ["0", "0", "1"],
    "p": [["1", "0", "0"], ["0", "1", "2"]],
    "b": "2",
    "eta": "1/8",
    "v": ["1", "0", "0"],
    "s": "2",
}


def numbers(rows):
    """Return rows of fractions."""
    return [[Fraction(v) for v in row] for row in rows]


def dot(u, v):
    """Return the product of two vectors."""
    return sum((a * b for a, b in zip(u, v, strict=True)), Fraction(0))


def squared(u, v):
    """Return |u - v|^2."""
    return sum(((a - b) ** 2 for a, b in zip(u, v, strict=True)), Fraction(0))


def lattice(*points, b):
    """Return whether b > 1, so that T > 0, and all coordinates are integers, so that assignments are rational."""
    return b > 1 and all(v.denominator == 1 for rows in points for row in rows for v in row)


def assignments(z, p, b):
    """Return q_nk = exp(-|z_n - p_k|^2 / T) over its row's sum at T = 1 / log b, where exp(-1 / T) = 1 / b."""
    found = []
    for point in z:
        d = [squared(point, prototype) for prototype in p]
        weights = [1 / b ** int(v - min(d)) for v in d]
        found.append([w / sum(weights) for w in weights])
    return found


def times(A, B):
    """Return the product of two matrices."""
    return [[dot(row, column) for column in zip(*B, strict=True)] for row in A]


def transposed(A):
    """Return the transpose."""
    return [list(column) for column in zip(*A, strict=True)]


def rest(q):
    """Return the projector 1 - q q^T / |q|^2; that of zero is 1."""
    size = dot(q, q) or Fraction(1)
    return [[(i == j) - a * b / size for j, b in enumerate(q)] for i, a in enumerate(q)]


def antisymmetric(M):
    """Return (M - M^T) / 2."""
    return [
        [(a - b) / 2 for a, b in zip(row, column, strict=True)] for row, column in zip(M, transposed(M), strict=True)
    ]


def dominant(A, u, s):
    """Return whether |u| = 1, A^T A u = s^2 u, and tr A^T A < 4 s^2, so that no other pair reaches s."""
    gram = times(transposed(A), A)
    trace = sum(row[i] for i, row in enumerate(gram))
    return dot(u, u) == 1 and [dot(row, u) for row in gram] == [s**2 * v for v in u] and 0 < trace < 4 * s**2


def residuals(X, M, q, p):
    """Return A_res in the readings `features` and `tokens` at a state with prototypes p, which do not occur in (3)."""
    del p
    inside = times(times(rest(q), antisymmetric(M)), rest(q))
    return inside, times(times(X, inside), transposed(X))


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    X, M, p = (numbers(witness[name]) for name in ("X", "M", "p"))
    (q, v), b, eta, s = numbers([witness["q"], witness["v"]]), *(Fraction(witness[name]) for name in ("b", "eta", "s"))
    yield "T = 1 / log b is positive, and coordinates are integers: b", b, lattice(X, p, b=b)
    after = [list(row) for row in p]
    for x, row in zip(X, assignments(X, p, b), strict=True):
        for k, y in enumerate(p):
            after[k] = [a - 2 * eta * row[k] * (c - d) for a, c, d in zip(after[k], y, x, strict=True)]
    yield "the prototypes move", [[str(c) for c in row] for row in after], after != p
    for matrix in (*residuals(X, M, q, p), *residuals(X, M, q, after)):
        yield "the dominant value of A_res is s", s, dominant(matrix, v, s)


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
