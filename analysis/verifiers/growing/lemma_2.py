"""Verify an instance that refutes Lemma 2, (5), of "DDCL-INCRT".

Printed: under z_n -> z_n + eps alpha_n u the derivative of tr Sigma_q at eps = 0 is (2/T) sum_nk q_nk (1 - 2 q_nk)
<mu_n - p_k, u> alpha_n.

Instance: one embedding and two prototypes, all numbers rational. T times the derivative, from the power series of the
assignments, has the opposite sign.

Usage: python lemma_2.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "growing/lemma-2"
WITNESS = {"z": [["1", "0"]], "p": [["1", "0"], ["-1", "0"]], "b": "2", "u": ["1", "0"]}


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


def series(q, p, u, alpha):
    """Return the coefficients of q in eps / T up to the second, from q_n exp(2 (eps / T) alpha_n <p_k, u>).

    The rest of |z_n + eps alpha_n u - p_k|^2 is the same for all k.
    """
    found = [[], [], []]
    for row, a in zip(q, alpha, strict=True):
        slope = [2 * a * dot(y, u) for y in p]
        first = [w * c for w, c in zip(row, slope, strict=True)]
        second = [w * c / 2 for w, c in zip(first, slope, strict=True)]
        q1 = [w - sum(first) * v for w, v in zip(first, row, strict=True)]
        q2 = [w - sum(first) * v - sum(second) * x for w, v, x in zip(second, q1, row, strict=True)]
        for coefficients, values in zip(found, (row, q1, q2), strict=True):
            coefficients.append(values)
    return found


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    z, p, b = numbers(witness["z"]), numbers(witness["p"]), Fraction(witness["b"])
    yield "T = 1 / log b is positive, and coordinates are integers: b", b, lattice(z, p, b=b)
    q = assignments(z, p, b)
    (u,) = numbers([witness["u"]])
    alpha = [dot(x, u) for x in z]
    moving = series(q, p, u, alpha)[1]
    slope = sum((1 - 2 * w) * v for row, speed in zip(q, moving, strict=True) for w, v in zip(row, speed, strict=True))
    formula = Fraction(0)
    for row, mu, a in zip(q, centroids(q, p), alpha, strict=True):
        formula += 2 * sum(w * (1 - 2 * w) * (dot(mu, u) - dot(y, u)) * a for w, y in zip(row, p, strict=True))
    yield (
        "T times the derivative is not that of (5), but its negative",
        (str(slope), str(formula)),
        slope == -formula != 0,
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
