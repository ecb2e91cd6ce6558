"""Verify an instance that refutes a sentence in the proof of Proposition 5 of "DDCL-Attention".

Printed: the gradient of V of a level, 2 P Sigma_q at fixed assignments, is independent of the prototypes of the others.

Instance: two choices of two prototypes at level 1, both at equal distances of the embedding, so that the input of level
2 is their midpoint. The gradients at level 2 differ.

Usage: python proposition_5_independence.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "prototypes/proposition-5-independence"
WITNESS = {
    "z": [["0", "0"]],
    "P1": [["1", "0"], ["-1", "0"]],
    "other P1": [["1", "1"], ["-1", "1"]],
    "P2": [["0", "0"], ["0", "2"]],
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
    z, second = numbers(witness["z"]), numbers(witness["P2"])
    grid = [Fraction(witness[name]) for name in ("b", "spacing")]
    found = []
    for name in ("P1", "other P1"):
        p = numbers(witness[name])
        inputs = centroids(assignments(z, p, grid), p)
        yield (
            f"{name}: T is positive, coordinates and inputs are multiples of the spacing",
            [*map(str, grid)],
            lattice(z, p, second, inputs, grid=grid),
        )
        found.append(force(assignments(inputs, second, grid), second))
    shown = [[[*map(str, row)] for row in rows] for rows in found]
    yield "the gradients of V of level 2 differ", shown, found[0] != found[1]


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
