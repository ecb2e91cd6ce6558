"""Verify an instance that refutes an inequality in the proof of Proposition 1 of "DDCL-Attention".

Printed: |z_n - mu_n|^2 >= min_k |z_n - p_k|^2, mu_n being a convex combination of the prototypes.

Instance: an embedding midway between two prototypes, where mu_n = z_n at every temperature.

Usage: python proposition_1_inequality.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "prototypes/proposition-1-inequality"
WITNESS = {"z": [["0"]], "p": [["1"], ["-1"]], "b": "2", "spacing": "1"}


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


def centroids(q, p):
    """Return the soft centroids mu_n = sum_k q_nk p_k."""
    return [[sum(w * v for w, v in zip(row, column, strict=True)) for column in zip(*p, strict=True)] for row in q]


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

    mu = centroids(q, p)[0]
    error, least = squared(z[0], mu), min(squared(z[0], y) for y in p)
    yield "|z - mu|^2 and min |z - p_k|^2", (str(error), str(least)), error < least


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
