"""Verify an instance that refutes Corollary 2 of "DDCL-INCRT".

Read: in the Algorithm, where z_n = f_theta(x_n) does not depend on heads, growth amplifies the force of a
head that exists.

Instance: a head, and a second one that is added. The force (4) of each head is that of its own bank, temperature and
embeddings: that of the first head is the same before and after.

Usage: python corollary_2_algorithm.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "growing/corollary-2/algorithm"
WITNESS = {"z": [["1", "0"], ["-1", "1"]], "banks": [[["1", "0"], ["-1", "0"]], [["0", "1"], ["0", "-1"]]], "b": "2"}


def numbers(rows):
    """Return rows of fractions."""
    return [[Fraction(v) for v in row] for row in rows]


def dot(u, v):
    """Return the product of two vectors."""
    return sum((a * b for a, b in zip(u, v, strict=True)), Fraction(0))


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


def separation_force(q, p):
    """Return F_sep = 4 sum_k |r_k|^2 of (4)."""
    return 4 * sum(dot(r, r) for r in forces(q, p))


def forces_of(z, banks, b):
    """Return F_sep of all heads."""
    return [separation_force(assignments(z, p, b), p) for p in banks]


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    z, banks, b = numbers(witness["z"]), [numbers(p) for p in witness["banks"]], Fraction(witness["b"])
    yield "T = 1 / log b is positive, and coordinates are integers: b", b, lattice(z, *banks, b=b)
    before, after = forces_of(z, banks[:1], b), forces_of(z, banks, b)
    yield "the first head has a force", before[0], before[0] > 0
    yield (
        "there is one head before, and there are two after",
        (len(before), len(after)),
        (len(before), len(after)) == (1, 2),
    )
    yield "the force of the first head is the same", after[0], after[0] == before[0]


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
