"""Verify an instance that refutes a sentence of Remark 3 of "DDCL-Attention".

Printed: [Sigma_q P]_k is not zero for every prototype k whenever the prototypes are distinct.

Instance: an embedding at the middle one of three equidistant prototypes on a line. The middle row of Sigma_q P vanishes
by symmetry, at every temperature.

Usage: python remark_3_nonzero.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "prototypes/remark-3-nonzero"
WITNESS = {"z": [["0"]], "p": [["-1"], ["0"], ["1"]], "b": "2", "spacing": "1"}


def numbers(rows):
    """Return rows of fractions."""
    return [[Fraction(v) for v in row] for row in rows]


def squared(u, v):
    """Return |u - v|^2."""
    return sum(((a - b) ** 2 for a, b in zip(u, v, strict=True)), Fraction(0))


def lattice(*points, grid):
    """Return whether T > 0 and all coordinates are multiples of the spacing, so that assignments are rational."""
    base, spacing = grid
    whole = all((v / spacing).denominator == 1 for rows in points for row in rows for v in row)
    return base > 1 and spacing > 0 and whole


def assignments(z, p, grid):
    """Return q_nk = exp(-|z_n - p_k|^2 / T) over its row's sum, with T such that exp(-spacing^2 / T) = 1 / base."""
    (base, spacing), found = grid, []
    for point in z:
        d = [squared(point, prototype) / spacing**2 for prototype in p]
        weights = [1 / base ** int(v - min(d)) for v in d]
        found.append([w / sum(weights) for w in weights])
    return found


def covariance(q):
    """Return Sigma_q, the sum over n of diag(q_n) - q_n q_n^T."""
    size = range(len(q[0]))
    return [[sum((row[j] if j == k else 0) - row[j] * row[k] for row in q) for k in size] for j in size]


def force(q, p):
    """Return 2 Sigma_q P, the gradient of V by the prototypes at fixed assignments."""
    columns = list(zip(*p, strict=True))
    return [[2 * sum(s * v for s, v in zip(row, column, strict=True)) for column in columns] for row in covariance(q)]


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    z, p = numbers(witness["z"]), numbers(witness["p"])
    grid = [Fraction(witness[name]) for name in ("b", "spacing")]
    yield (
        "T is positive, and coordinates are multiples of the spacing: base and spacing",
        [*map(str, grid)],
        lattice(z, p, grid=grid),
    )
    q = assignments(z, p, grid)
    yield "assignments are positive: the least", min(map(min, q)), min(map(min, q)) > 0

    yield "prototypes are distinct", witness["p"], len({tuple(y) for y in p}) == len(p)
    rows = [[*map(str, row)] for row in force(q, p)]
    yield "2 Sigma_q P has a row of zeros", rows, any(set(row) == {"0"} for row in rows)


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
