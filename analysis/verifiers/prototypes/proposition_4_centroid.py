"""Verify an instance that refutes a sentence of Proposition 4 of "DDCL-Attention".

Printed: with the regularisation of Fact 1, lambda > 2 eta_P C(K, 2), no prototype can collapse to the global centroid.

Instance: embeddings and three prototypes in the plane, symmetric on a line. The force on each prototype, minus the
gradient of sum_nk q_nk |z_n - p_k|^2 at fixed assignments plus (lambda/2) sum |p_j - p_k|^-2 over ordered pairs, is
zero, and the middle prototype is at the mean of the embeddings. The gradient of the last sum by p_k is
-2 sum_j (p_k - p_j) / |p_k - p_j|^4. The derivative H of minus the force has positive pivots, so that the equilibrium
attracts all prototypes near it: H is affine in 1 / T = log(b) / spacing^2, and positive definite at both ends of an
enclosure of log(b).

Usage: python proposition_4_centroid.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "prototypes/proposition-4-centroid"
WITNESS = {
    "z": [["-3", "0"], ["0", "0"], ["0", "0"], ["3", "0"]],
    "p": [["-4", "0"], ["0", "0"], ["4", "0"]],
    "b": "2",
    "spacing": "1",
    "lambda": "524787701178883958272/9259683408362110977",
    "eta_P": "1",
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


def enclosed_logarithm(x):
    """Return bounds of log x, x > 1, from log x = 2 atanh y, y = (x - 1) / (x + 1), by its series."""
    y = (x - 1) / (x + 1)
    low = 2 * sum(y ** (2 * n + 1) / (2 * n + 1) for n in range(60))
    return low, low + 2 * y**121 / (121 * (1 - y * y))


def hessian(z, p, q, strength, cold):
    """Return H at 1 / T = cold: its entry in (k, i), (l, j) is a second derivative by p_ki and p_lj."""
    places = [(k, i) for k in range(len(p)) for i in range(len(p[0]))]
    found = {(a, b): Fraction(0) for a in places for b in places}
    for (k, i), (m, j) in found:
        same, total = int(k == m), Fraction(0)
        for row, x in zip(q, z, strict=True):
            total += 2 * row[k] * same * int(i == j)
            total -= 4 * cold * row[k] * (same - row[m]) * (p[k][i] - x[i]) * (p[m][j] - x[j])
        for other in range(len(p)):  # of lambda |v|^-2, v = p_k - p_other
            if other != k and m in (k, other):
                v, square = [a - b for a, b in zip(p[k], p[other], strict=True)], squared(p[k], p[other])
                total += (2 * same - 1) * strength * (8 * v[i] * v[j] / square**3 - 2 * int(i == j) / square**2)
        found[(k, i), (m, j)] = total
    return [[found[a, b] for b in places] for a in places]


def pivots(matrix):
    """Return the pivots of a symmetric matrix by elimination, up to the first that is not positive."""
    rows, found = [[*row] for row in matrix], []
    for k, row in enumerate(rows):
        found.append(row[k])
        if row[k] <= 0:
            break
        for below in rows[k + 1 :]:
            factor = below[k] / row[k]
            below[:] = [b - factor * a for a, b in zip(row, below, strict=True)]
    return found


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

    strength, rate = Fraction(witness["lambda"]), Fraction(witness["eta_P"])
    pairs = len(p) * (len(p) - 1) // 2
    yield "lambda > 2 eta_P C(K, 2)", (str(strength), str(2 * rate * pairs)), strength > 2 * rate * pairs > 0
    yield "prototypes are distinct", witness["p"], len(set(map(tuple, p))) == len(p)
    forces = []
    for k, y in enumerate(p):
        for i, at in enumerate(y):
            pull = 2 * sum(row[k] * (at - x[i]) for row, x in zip(q, z, strict=True))
            push = sum((at - other[i]) / squared(y, other) ** 2 for other in p if other != y)
            forces.append(pull - 2 * strength * push)
    yield "the forces vanish", [*map(str, forces)], not any(forces)
    ends = [hessian(z, p, q, strength, end / grid[1] ** 2) for end in enclosed_logarithm(grid[0])]
    least = min(min(pivots(H)) for H in ends)
    yield "the equilibrium attracts: the least pivot of H", float(least), least > 0
    centroid = [sum(column) / len(z) for column in zip(*z, strict=True)]
    yield "a prototype is at the centroid", [*map(str, centroid)], centroid in p


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
