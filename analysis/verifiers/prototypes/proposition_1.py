"""Verify an instance that refutes Proposition 1 of "DDCL-Attention".

Printed: for any differentiable encoder, its parameters, prototypes and T > 0, Lq = L_OLS + V exactly.

Instance: the affine encoder z = W x + c. Lq, L_OLS = M and V are rational and not as printed.

Usage: python proposition_1.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "prototypes/proposition-1"
WITNESS = {
    "x": [["1"], ["3"]],
    "weight": [["2"]],
    "bias": ["-3"],
    "p": [["1"], ["-2"]],
    "b": "2",
    "spacing": "1",
}


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
    x, weight, p = (numbers(witness[name]) for name in ("x", "weight", "p"))
    grid = [Fraction(witness[name]) for name in ("b", "spacing")]
    rows = [*zip(weight, map(Fraction, witness["bias"]), strict=True)]
    z = [[sum(u * v for u, v in zip(row, datum, strict=True)) + c for row, c in rows] for datum in x]
    yield (
        "T is positive, and coordinates are multiples of the spacing: base and spacing",
        [*map(str, grid)],
        lattice(z, p, grid=grid),
    )
    loss, hard, variance = sums(z, p, assignments(z, p, grid))
    yield "V is not negative", variance, variance >= 0
    yield "Lq is not M + V: Lq - M - V", loss - hard - variance, loss != hard + variance


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
