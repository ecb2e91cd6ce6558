"""Verify an instance that refutes the decomposition after (2) of "DDCL-INCRT".

Printed: Lq = L_OLS + V exactly, with L_OLS = sum_n min_k |z_n - p_k|^2 and V = sum_nk q_nk |p_k - mu_n|^2.

Instance: one embedding and two prototypes on a line, all numbers rational. (Lq = R + V with the distances from the soft
centroids in place of L_OLS.)

Usage: python equation_2.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "growing/equation-2"
WITNESS = {"z": [["0"]], "p": [["1"], ["-1"]], "b": "2", "spacing": "1"}


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


def sums(z, p, q):
    """Return Lq, M and V, each by its own formula."""
    loss = sum(w * squared(x, y) for x, row in zip(z, q, strict=True) for w, y in zip(row, p, strict=True))
    hard = sum(min(squared(x, y) for y in p) for x in z)
    pairs = zip(centroids(q, p), q, strict=True)
    return loss, hard, sum(w * squared(mu, y) for mu, row in pairs for w, y in zip(row, p, strict=True))


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
    loss, hard, variance = sums(z, p, q)
    error = sum(squared(x, mu) for x, mu in zip(z, centroids(q, p), strict=True))
    yield "Lq = R + V with the soft centroids: R", error, loss == error + variance
    yield "Lq is not L_OLS + V: the two", (str(loss), str(hard + variance)), loss != hard + variance


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
