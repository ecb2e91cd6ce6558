"""Verify an instance that refutes a sentence of Section 3.1 of "DDCL-INCRT".

Printed: whenever two prototypes coincide, the gradient 2 P Sigma_q pushes them apart.

Instance: two of three prototypes coincide; their gradients are the same.

Usage: python claim_separation_force.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "growing/claim-separation-force"
WITNESS = {"z": [["0", "0"], ["1", "2"]], "p": [["1", "0"], ["1", "0"], ["0", "2"]], "b": "2", "spacing": "1"}


def numbers(rows):
    """Return rows of fractions."""
    return [[Fraction(v) for v in row] for row in rows]


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


def centroids(q, p):
    """Return the soft centroids mu_n = sum_k q_nk p_k."""
    return [[sum(w * v for w, v in zip(row, column, strict=True)) for column in zip(*p, strict=True)] for row in q]


def forces(q, p):
    """Return r_k = sum_n q_nk (p_k - mu_n); twice these are the columns of 2 P Sigma_q."""
    found = []
    for k, y in enumerate(p):
        away = [
            [row[k] * (a - b) for a, b in zip(y, mu, strict=True)] for row, mu in zip(q, centroids(q, p), strict=True)
        ]
        found.append([sum(column) for column in zip(*away, strict=True)])
    return found


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    h, b = Fraction(witness["spacing"]), Fraction(witness["b"])
    z, p = ([[v / h for v in row] for row in numbers(witness[name])] for name in ("z", "p"))
    yield (
        "T = h^2 / log b is positive, and coordinates are multiples of h, their unit: b",
        b,
        h > 0 and lattice(z, p, b=b),
    )
    q = assignments(z, p, b)
    yield "the first two prototypes coincide", p[0] == p[1], p[0] == p[1]
    yield "the third is elsewhere", p[2] != p[0], p[2] != p[0]
    r = forces(q, p)
    yield "their gradients, halved, are the same", [str(v) for v in r[0]], r[0] == r[1]


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
