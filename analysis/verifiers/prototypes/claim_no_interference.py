"""Verify an instance that refutes sentences of Sections 5.2 and 8.4 of "DDCL-Attention".

Printed: in one backward pass there is no interference between levels, and the separation gradient 2 P Sigma_q of one
level cannot vanish while that of the other is large. Read: the gradient of the total loss by P1 is that of the loss of
level 1, and the gradient of V of level 1 is at least 1e-6 times that of level 2.

Instance: an embedding midway between two prototypes at level 1, so that the input of level 2 is z. At fixed assignments
the loss of level 2 adds q_k 2 (mu - mu') to the gradient by p_k, mu' being the soft centroid at level 2. With other
prototypes of level 2, distinct and far apart, the ratio of the gradients of V is below 1e-6.

Usage: python claim_no_interference.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "prototypes/claim-no-interference"
WITNESS = {
    "z": [["0"]],
    "P1": [["1"], ["-1"]],
    "P2": [["1"], ["3"]],
    "far P2": [["10000001"], ["-10000001"]],
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
    z, first = numbers(witness["z"]), numbers(witness["P1"])
    grid = [Fraction(witness[name]) for name in ("b", "spacing")]
    q = assignments(z, first, grid)
    mu = centroids(q, first)
    second, far = numbers(witness["P2"]), numbers(witness["far P2"])
    yield (
        "T is positive, coordinates and inputs are multiples of the spacing",
        [*map(str, grid)],
        lattice(z, first, second, far, mu, grid=grid),
    )
    distinct = [len({tuple(y) for y in p}) == len(p) for p in (first, second, far)]
    yield "prototypes of each level are distinct", distinct, all(distinct)
    beyond = centroids(assignments(mu, second, grid), second)
    added = [
        2 * row[k] * (x - y)
        for row, u, v in zip(q, mu, beyond, strict=True)
        for k in range(2)
        for x, y in zip(u, v, strict=True)
    ]
    yield "level 2 moves P1: what it adds to the gradient", [*map(str, added)], any(added)
    sizes = [sum(v * v for row in force(assignments(x, p, grid), p) for v in row) for x, p in ((z, first), (mu, far))]
    yield "squared gradients of V of levels 1 and 2", [*map(str, sizes)], sizes[0] * 10**12 < sizes[1]


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
