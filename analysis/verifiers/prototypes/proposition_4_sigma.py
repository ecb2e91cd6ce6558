"""Verify an instance that refutes a sentence in the proof of Proposition 4 of "DDCL-Attention".

Printed: Sigma_q = sum_n (diag(q_n) - q_n q_n^T) is zero only if all tokens are assigned to a single prototype.

Instance: two tokens, each assigned to a prototype of its own. (Such assignments are limits as T -> 0, of which the
proof speaks; at T > 0 no assignment is zero.)

Usage: python proposition_4_sigma.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "prototypes/proposition-4-sigma"
WITNESS = {"q": [["1", "0"], ["0", "1"]]}


def numbers(rows):
    """Return rows of fractions."""
    return [[Fraction(v) for v in row] for row in rows]


def covariance(q):
    """Return Sigma_q, the sum over n of diag(q_n) - q_n q_n^T."""
    size = range(len(q[0]))
    return [[sum((row[j] if j == k else 0) - row[j] * row[k] for row in q) for k in size] for j in size]


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    q = numbers(witness["q"])
    yield "rows are assignments: their sums", [str(sum(row)) for row in q], all(sum(row) == 1 for row in q)
    yield "assignments are not negative", min(map(min, q)), min(map(min, q)) >= 0
    sigma = covariance(q)
    yield "Sigma_q", [[*map(str, row)] for row in sigma], not any(v for row in sigma for v in row)
    single = [all(row[k] == 1 for row in q) for k in range(len(q[0]))]
    yield "all tokens assigned to prototype k", single, not any(single)


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
