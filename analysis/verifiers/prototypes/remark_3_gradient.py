"""Verify an instance that refutes the gradient in Remark 3 of "DDCL-Attention".

Printed: the derivative of Lq by p_k is 2 sum_n q_nk (p_k - z_n) + 2 eta_P [Sigma_q P]_k.

Instance: rational embeddings, prototypes and eta_P on a lattice of spacing s, and T = s^2 / log b with a rational
base b > 1, so that assignments are rational. The derivative at fixed assignments is the first term, and the second is a
rational vector that is not zero. Through the assignments the derivative is the first term minus log b times a rational
vector. The printed one would be that only if log b were rational, which the logarithm of a rational number other than 1
is not (Lindemann).

Usage: python remark_3_gradient.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "prototypes/remark-3-gradient"
WITNESS = {"z": [["0"], ["1"]], "p": [["-1"], ["2"]], "b": "2", "spacing": "1", "eta_P": "1/1000"}


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
    z, p = numbers(witness["z"]), numbers(witness["p"])
    grid = [Fraction(witness[name]) for name in ("b", "spacing")]
    yield (
        "T is positive, and coordinates are multiples of the spacing: base and spacing",
        [*map(str, grid)],
        lattice(z, p, grid=grid),
    )
    q = assignments(z, p, grid)
    yield "assignments are positive: the least", min(map(min, q)), min(map(min, q)) > 0

    rate = Fraction(witness["eta_P"])
    yield "eta_P is positive", rate, rate > 0
    second = [[rate * v for v in row] for row in force(q, p)]
    yield "the second term is not zero", [[*map(str, row)] for row in second], any(v for row in second for v in row)


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
