"""Verify an instance that refutes Theorem 1 of "DDCL-INCRT".

Read: z_n^(K) is the projection of a token on V^(K), without a component along u, and alpha_n is what it gains.

Instance: two prototypes at +-a u. At the start all assignments are 1/2, where F_sep = 32 a^2 (sum_n q_n1 q_n2)^2 is
largest; it falls at every T.

Usage: python theorem_1_projected.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "growing/theorem-1/projected"
WITNESS = {
    "z": [["0", "0"], ["0", "0"]],
    "p": [["1", "0"], ["-1", "0"]],
    "b": "2",
    "M": [["1", "3"], ["-3", "0"]],
    "captured": [],
    "u": ["1", "0"],
    "s": "3",
    "alpha": ["1", "-1"],
}


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


def moved(z, u, alpha):
    """Return z_n + alpha_n u."""
    return [[a + s * b for a, b in zip(point, u, strict=True)] for point, s in zip(z, alpha, strict=True)]


def times(A, B):
    """Return the product of two matrices."""
    return [[dot(row, column) for column in zip(*B, strict=True)] for row in A]


def transposed(A):
    """Return the transpose."""
    return [list(column) for column in zip(*A, strict=True)]


def residual(M, captured):
    """Return P M_a P, P being the projector of what is orthogonal to orthonormal rows."""
    antisymmetric = [
        [(a - b) / 2 for a, b in zip(row, column, strict=True)] for row, column in zip(M, transposed(M), strict=True)
    ]
    d = range(len(M))
    P = [[Fraction(i == j) - sum(c[i] * c[j] for c in captured) for j in d] for i in d]
    return times(P, times(antisymmetric, P))


def orthonormal(rows):
    """Return whether rows have length one and are orthogonal to each other."""
    return all(dot(u, v) == (i == j) for i, u in enumerate(rows) for j, v in enumerate(rows))


def dominant(A, u, s):
    """Return whether |u| = 1, A^T A u = s^2 u, and tr A^T A < 4 s^2, so that no other pair reaches s."""
    gram = times(transposed(A), A)
    trace = sum(row[i] for i, row in enumerate(gram))
    return dot(u, u) == 1 and [dot(row, u) for row in gram] == [s**2 * v for v in u] and 0 < trace < 4 * s**2


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    z, p, b = numbers(witness["z"]), numbers(witness["p"]), Fraction(witness["b"])
    yield "T = 1 / log b is positive, and coordinates are integers: b", b, lattice(z, p, b=b)
    q = assignments(z, p, b)
    M, (u,), s = numbers(witness["M"]), numbers([witness["u"]]), Fraction(witness["s"])
    captured = numbers(witness["captured"])
    yield "what is captured is orthonormal", [[str(v) for v in row] for row in captured], orthonormal(captured)
    yield "u is a dominant vector of A_res: s", s, dominant(residual(M, captured), u, s)
    alpha = numbers([witness["alpha"]])[0]
    yield "(A1) prototypes are distinct", squared(*p), squared(*p) > 0
    yield "(A2') they differ along u", dot(p[0], u) - dot(p[1], u), dot(p[0], u) != dot(p[1], u)
    yield "tokens are centred", [str(a) for a in alpha], sum(alpha) == 0
    yield "no embedding has a component along u", [str(dot(x, u)) for x in z], not any(dot(x, u) for x in z)
    yield "all assignments are 1/2", str(q[0][0]), all(w == Fraction(1, 2) for row in q for w in row)
    start, end = separation_force(q, p), separation_force(assignments(moved(z, u, alpha), p, b), p)
    yield "phi(1) < phi(0)", (str(start), str(end)), end < start


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
