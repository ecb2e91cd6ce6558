"""Verify an instance that refutes Proposition 5 of "DDCL-Attention".

Printed: at each level Lq = L_OLS + V, the inputs of level 2 being the soft centroids of level 1.

Instance: two prototypes at each level, symmetric about the embedding, which is then the soft centroid at level 1.

Usage: python proposition_5_decomposition.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "prototypes/proposition-5-decomposition"
WITNESS = {"z": [["0"]], "P1": [["1"], ["-1"]], "P2": [["2"], ["-2"]], "b": "2", "spacing": "1"}


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
    z, grid = numbers(witness["z"]), [Fraction(witness[name]) for name in ("b", "spacing")]
    for name in ("P1", "P2"):
        p = numbers(witness[name])
        yield (
            f"{name}: T is positive, and coordinates are multiples of the spacing: base and spacing",
            [*map(str, grid)],
            lattice(z, p, grid=grid),
        )
        q = assignments(z, p, grid)
        loss, hard, variance = sums(z, p, q)
        yield f"{name}: Lq is not M + V: Lq - M - V", loss - hard - variance, loss != hard + variance
        z = centroids(q, p)


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
