"""Verify an instance that refutes (3) read as printed, for N = d of "DDCL-INCRT".

Read: the growth criterion lambda_max(A_res) > theta_w > 0 can hold, of the real eigenvalues of A_res = P X M_a X^T P, P
being the projector of what is not captured.

Instance: N = d = 3 and one captured direction q. The coefficients of det(x - A_res) do not change their sign, so that
no positive number is an eigenvalue, though A_res is not 0.

Usage: python equation_3_square.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "growing/equation-3/square"
WITNESS = {
    "X": [["1", "0", "2"], ["0", "1", "1"], ["1", "1", "0"]],
    "M": [["0", "1", "2"], ["3", "1", "0"], ["-1", "2", "1"]],
    "q": ["0", "0", "1"],
}


def numbers(rows):
    """Return rows of fractions."""
    return [[Fraction(v) for v in row] for row in rows]


def dot(u, v):
    """Return the product of two vectors."""
    return sum((a * b for a, b in zip(u, v, strict=True)), Fraction(0))


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


def characteristic(A):
    """Return the coefficients of det(x - A), the leading one first, by Faddeev and LeVerrier."""
    found, power = [Fraction(1)], A
    for k in range(1, len(A) + 1):
        found.append(Fraction(-sum(row[i] for i, row in enumerate(power)) / k))
        power = times(A, [[v + found[-1] * (i == j) for j, v in enumerate(row)] for i, row in enumerate(power)])
    return found


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    X, M, (q,) = (numbers(rows) for rows in (witness["X"], witness["M"], [witness["q"]]))
    inside = times(times(X, antisymmetric(M)), transposed(X))
    A = times(times(rest(q), inside), rest(q))
    yield "N = d", (len(X), len(M)), len(X) == len(M) == len(X[0])
    yield "A_res is not 0", [[str(v) for v in row] for row in A], any(v for row in A for v in row)
    coefficients = characteristic(A)
    yield "no coefficient of det(x - A_res) is negative", [str(c) for c in coefficients], min(coefficients) >= 0


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
