"""Verify an instance that refutes a sentence of Proposition 4 of "DDCL-Attention".

Printed: with the regularisation of Fact 1, lambda > 2 eta_P C(K, 2), no prototype can collapse to the global centroid.

Instance: embeddings and three prototypes in the plane, symmetric on a line. The force on each prototype, minus the
gradient of sum_nk q_nk |z_n - p_k|^2 at fixed assignments plus (lambda/2) sum |p_j - p_k|^-2 over ordered pairs, is
zero, and the middle prototype is at the mean of the embeddings. The gradient of the last sum by p_k is
-2 sum_j (p_k - p_j) / |p_k - p_j|^4. The derivative H of minus the force has positive pivots, so that the equilibrium
attracts all prototypes near it: H is affine in 1 / T = log(b) / spacing^2, and positive definite at both ends of an
enclosure of log(b).
"""

from fractions import Fraction

from analysis.verifiers.frames.assignments import assignments, positive_assignments
from analysis.verifiers.frames.linear_algebra import matrix, pivots, squared_distance, vector
from analysis.verifiers.frames.logarithms import logarithm

STATEMENT = "prototypes/proposition-4-centroid"
WITNESS = {
    "z": [["-3", "0"], ["0", "0"], ["0", "0"], ["3", "0"]],
    "p": [["-4", "0"], ["0", "0"], ["4", "0"]],
    "b": "2",
    "spacing": "1",
    "lambda": "524787701178883958272/9259683408362110977",
    "eta_P": "1",
}


def hessian(z, p, q, strength, cold):
    """H at 1 / T = cold: its entry in (k, i), (l, j) is a second derivative by p_ki and p_lj."""
    places = [(k, i) for k in range(len(p)) for i in range(len(p[0]))]
    found = {(a, b): Fraction(0) for a in places for b in places}
    for (k, i), (m, j) in found:
        same, total = int(k == m), Fraction(0)
        for row, x in zip(q, z, strict=True):
            total += 2 * row[k] * same * int(i == j)
            total -= 4 * cold * row[k] * (same - row[m]) * (p[k][i] - x[i]) * (p[m][j] - x[j])
        for other in range(len(p)):  # of lambda |v|^-2, v = p_k - p_other
            if other != k and m in (k, other):
                v, square = [a - b for a, b in zip(p[k], p[other], strict=True)], squared_distance(p[k], p[other])
                total += (2 * same - 1) * strength * (8 * v[i] * v[j] / square**3 - 2 * int(i == j) / square**2)
        found[(k, i), (m, j)] = total
    return [[found[a, b] for b in places] for a in places]


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    z, p, grid = matrix(witness["z"]), matrix(witness["p"]), vector(witness[k] for k in ("b", "spacing"))
    yield from positive_assignments(z, p, *grid)
    q = assignments(z, p, *grid)
    strength, rate = Fraction(witness["lambda"]), Fraction(witness["eta_P"])
    pairs = len(p) * (len(p) - 1) // 2
    yield "lambda > 2 eta_P C(K, 2)", (str(strength), str(2 * rate * pairs)), strength > 2 * rate * pairs > 0
    yield "prototypes are distinct", witness["p"], len(set(map(tuple, p))) == len(p)
    forces = []
    for k, y in enumerate(p):
        for i, at in enumerate(y):
            pull = 2 * sum(row[k] * (at - x[i]) for row, x in zip(q, z, strict=True))
            push = sum((at - other[i]) / squared_distance(y, other) ** 2 for other in p if other != y)
            forces.append(pull - 2 * strength * push)
    yield "the forces vanish", [*map(str, forces)], not any(forces)
    ends = [hessian(z, p, q, strength, end / grid[1] ** 2) for end in logarithm(grid[0], 60)]
    least = min(min(pivots(H)) for H in ends)
    yield "the equilibrium attracts: the least pivot of H", float(least), least > 0
    centroid = [sum(column) / len(z) for column in zip(*z, strict=True)]
    yield "a prototype is at the centroid", [*map(str, centroid)], centroid in p
