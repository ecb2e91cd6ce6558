"""Verify an instance that refutes Corollary 1 of "DDCL-INCRT".

Printed: phi''(0) > 0 whenever lambda_max(A_res) > K^2 C_0 / (s_0^2 Var), with the constants of Proposition 1.

Read: lambda_max is |Z u|^2 = sum_n alpha_n^2, as in the proof, and s_0 = S(P), a squared distance.

Instance: two prototypes at +-a u and two tokens at +-u, so warm that phi is concave.

Usage: python corollary_1_variance.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "growing/corollary-1/variance"
WITNESS = {
    "z": [["1", "0"], ["-1", "0"]],
    "p": [["2", "0"], ["-2", "0"]],
    "b": "17/16",
    "M": [["1", "3"], ["-3", "0"]],
    "captured": [],
    "u": ["1", "0"],
    "s": "3",
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


def force_series(q, p):
    """Return the coefficients of F_sep in eps / T up to the second, for those of q."""
    mu = [centroids(rows, p) for rows in q]
    r = [[[Fraction(0)] * len(p[0]) for _ in p] for _ in range(3)]
    for n in range(len(q[0])):
        for k, y in enumerate(p):
            for i in range(3):
                r[i][k] = [a + q[i][n][k] * b for a, b in zip(r[i][k], y, strict=True)]
                for j in range(3 - i):
                    r[i + j][k] = [a - q[i][n][k] * b for a, b in zip(r[i + j][k], mu[j][n], strict=True)]
    product = lambda i, j: sum(dot(a, b) for a, b in zip(r[i], r[j], strict=True))
    return 4 * product(0, 0), 8 * product(0, 1), 4 * product(1, 1) + 8 * product(0, 2)


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


def bound(q, p, u, alpha):
    """Return the mean variance of p* and C_0 = |alpha|^2 Var_max N D^2 of (15)."""
    starred, variances = [dot(y, u) for y in p], []
    for row in q:
        mean = dot(row, starred)
        variances.append(sum(w * (s - mean) ** 2 for w, s in zip(row, starred, strict=True)))
    widest = max(squared(y, mu) for y in p for mu in centroids(q, p))
    return sum(variances) / len(q), max(a * a for a in alpha) * max(variances) * len(q) * widest


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    z, p, b = numbers(witness["z"]), numbers(witness["p"]), Fraction(witness["b"])
    yield "T = 1 / log b is positive, and coordinates are integers: b", b, lattice(z, p, b=b)
    q = assignments(z, p, b)
    M, (u,), s = numbers(witness["M"]), numbers([witness["u"]]), Fraction(witness["s"])
    captured = numbers(witness["captured"])
    yield "what is captured is orthonormal", [[str(v) for v in row] for row in captured], orthonormal(captured)
    yield "u is a dominant vector of A_res: s", s, dominant(residual(M, captured), u, s)
    alpha = [dot(x, u) for x in z]
    yield "(A1) prototypes are distinct", squared(*p), squared(*p) > 0
    yield "(A2') they differ along u", dot(p[0], u) - dot(p[1], u), dot(p[0], u) != dot(p[1], u)
    yield "tokens are centred", [str(a) for a in alpha], sum(alpha) == 0
    phi, level, s0 = force_series(series(q, p, u, alpha), p), sum(a * a for a in alpha), squared(*p)
    variance, correction = bound(q, p, u, alpha)
    yield "S(P) >= s_0 > 0: s_0", s0, squared(*p) >= s0 > 0
    threshold = len(p) ** 2 * correction / (s0**2 * variance)
    yield "lambda_max exceeds the right side of (19)", (str(level), str(threshold)), level > threshold
    yield "T^2 phi''(0) / 2 is not positive", phi[2], phi[2] <= 0


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
