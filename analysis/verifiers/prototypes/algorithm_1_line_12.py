"""Verify an instance that refutes line 12 of Algorithm 1 of "DDCL-Attention".

Printed: V := Lq - (1/B) sum_n min_k d_nk is (1/B) sum_nk q_nk |p_k - mu_n|^2, Lq being the mean (1/B) sum_nk q_nk d_nk.

Instance: a batch of two embeddings, all numbers rational.

Usage: python algorithm_1_line_12.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "prototypes/algorithm-1-line-12"
WITNESS = {"z": [["0"], ["2"]], "p": [["1"], ["-1"]], "b": "2", "spacing": "1"}


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


def sums(z, p, q):
    """Return Lq, M and V, each by its own formula."""
    loss = sum(w * squared(x, y) for x, row in zip(z, q, strict=True) for w, y in zip(row, p, strict=True))
    hard = sum(min(squared(x, y) for y in p) for x in z)
    pairs = zip(centroids(q, p), q, strict=True)
    return loss, hard, sum(w * squared(mu, y) for mu, row in pairs for w, y in zip(row, p, strict=True))


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

    loss, hard, variance = (v / len(z) for v in sums(z, p, q))
    yield "Lq - (1/B) sum min and the mean variance differ", (str(loss - hard), str(variance)), loss - hard != variance


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
