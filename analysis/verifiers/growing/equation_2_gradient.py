"""Verify an instance that refutes the gradient of V in Section 3.1 of "DDCL-INCRT".

Printed: grad_P V = 2 P Sigma_q for V = sum_nk q_nk |p_k - mu_n|^2 with the assignments (1).

Instance: one embedding and two prototypes on a line. The assignments depend on the prototypes: with e_nk = |p_k -
mu_n|^2, T (grad_k V - 2 r_k) = -2 sum_n q_nk (e_nk - sum_j q_nj e_nj) (p_k - z_n), a rational number that is not 0.

Usage: python equation_2_gradient.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "growing/equation-2-gradient"
WITNESS = {"z": [["1"]], "p": [["1"], ["-1"]], "b": "2", "spacing": "1"}


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
    rest = [[Fraction(0)] * len(p[0]) for _ in p]
    for x, row, mu in zip(z, q, centroids(q, p), strict=True):
        e = [squared(y, mu) for y in p]
        mean = sum(w * v for w, v in zip(row, e, strict=True))
        for k, y in enumerate(p):
            share = -2 * row[k] * (e[k] - mean)
            rest[k] = [a + share * (v - w) for a, v, w in zip(rest[k], y, x, strict=True)]
    yield (
        "T times the rest of the gradient",
        [[str(v) for v in row] for row in rest],
        any(v for row in rest for v in row),
    )


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
