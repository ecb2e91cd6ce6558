"""Verifiers of refuted statements of Section 5 of "DDCL-Attention"."""

from fractions import Fraction
from math import floor

from analysis.verifiers.frames.assignments import (
    assignments,
    centroids,
    covariance,
    losses,
    on_lattice,
    positive_assignments,
    separation_gradient,
)
from analysis.verifiers.frames.linear_algebra import matrix, pivots, squared_distance, vector
from analysis.verifiers.frames.logarithms import logarithm
from analysis.verifiers.frames.script import verifies


@verifies("prototypes/proposition-4-sigma", {"q": [["1", "0"], ["0", "1"]]})
def proposition_4_sigma(witness):
    """Verify an instance that refutes a sentence in the proof of Proposition 4 of "DDCL-Attention".

    Printed: Sigma_q = sum_n (diag(q_n) - q_n q_n^T) is zero only if all tokens are assigned to a single prototype.

    Instance: two tokens, each assigned to a prototype of its own. (Such assignments are limits as T -> 0, of which the
    proof speaks; at T > 0 no assignment is zero.)
    """
    q = matrix(witness["q"])
    yield "rows are assignments: their sums", [str(sum(row)) for row in q], all(sum(row) == 1 for row in q)
    yield "assignments are not negative", min(map(min, q)), min(map(min, q)) >= 0
    sigma = covariance(q)
    yield "Sigma_q", [[*map(str, row)] for row in sigma], not any(v for row in sigma for v in row)
    single = [all(row[k] == 1 for row in q) for k in range(len(q[0]))]
    yield "all tokens assigned to prototype k", single, not any(single)


@verifies("prototypes/proposition-4-utilisation", {"z": [["0"]], "p": [["1"], ["3"]], "b": "2", "spacing": "1"})
def proposition_4_utilisation(witness):
    """Verify an instance that refutes a sentence of Proposition 4 of "DDCL-Attention".

    Printed: full codebook utilisation is guaranteed by construction. In Table 5 a prototype is used if its mean
    assignment exceeds .01.

    Instance: an embedding, a prototype near it and one far away.
    """
    z, p, grid = matrix(witness["z"]), matrix(witness["p"]), vector(witness[k] for k in ("b", "spacing"))
    yield from positive_assignments(z, p, *grid)
    q = assignments(z, p, *grid)
    yield "prototypes are distinct", witness["p"], len({tuple(y) for y in p}) == len(p)
    means = [sum(column) / len(q) for column in zip(*q, strict=True)]
    yield "the least mean assignment is not above 1/100", float(min(means)), min(means) <= Fraction(1, 100)


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


@verifies(
    "prototypes/proposition-4-centroid",
    {
        "z": [["-3", "0"], ["0", "0"], ["0", "0"], ["3", "0"]],
        "p": [["-4", "0"], ["0", "0"], ["4", "0"]],
        "b": "2",
        "spacing": "1",
        "lambda": "524787701178883958272/9259683408362110977",
        "eta_P": "1",
    },
)
def proposition_4_centroid(witness):
    """Verify an instance that refutes a sentence of Proposition 4 of "DDCL-Attention".

    Printed: with the regularisation of Fact 1, lambda > 2 eta_P C(K, 2), no prototype can collapse to the global
    centroid.

    Instance: embeddings and three prototypes in the plane, symmetric on a line. The force on each prototype, minus the
    gradient of sum_nk q_nk |z_n - p_k|^2 at fixed assignments plus (lambda/2) sum |p_j - p_k|^-2 over ordered pairs, is
    zero, and the middle prototype is at the mean of the embeddings. The gradient of the last sum by p_k is
    -2 sum_j (p_k - p_j) / |p_k - p_j|^4. The derivative H of minus the force has positive pivots, so that the
    equilibrium attracts all prototypes near it: H is affine in 1 / T = log(b) / spacing^2, and positive definite at
    both ends of an enclosure of log(b).
    """
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


@verifies(
    "prototypes/remark-3-formula/share", {"codes": [["0"], ["1"], ["2"]], "embeddings": [["1/4"], ["5/4"], ["9/4"]]}
)
def remark_3_formula_share(witness):
    """Verify an instance without dead codes, against a reading of Remark 3 of Cirrincione et al.

    Printed: VQ-VAE with K codes has floor(100 (1 - 1/K)) percent dead-code risk. Read: this percentage of the codes is
    dead, that is, receives zero gradient.

    Instance: every code is nearest to some embedding. The codebook loss sum_n |sg[z_n] - p_k(n)|^2 has the derivative
    2 sum_{n: k(n) = k} (p_k - z_n) by the code p_k.
    """
    p, z = ([[Fraction(v) for v in row] for row in witness[name]] for name in ("codes", "embeddings"))
    d = [[sum((a - b) ** 2 for a, b in zip(x, y, strict=True)) for y in p] for x in z]
    nearest = [row.index(min(row)) for row in d]
    single = all(row.count(min(row)) == 1 for row in d)
    yield "the nearest codes, without ties", nearest, single
    gradient = [[Fraction(0)] * len(y) for y in p]
    for x, k in zip(z, nearest, strict=True):
        gradient[k] = [g + 2 * (b - a) for g, a, b in zip(gradient[k], x, p[k], strict=True)]
    dead = sum(not any(g) for g in gradient)
    formula = floor(100 * (1 - Fraction(1, len(p))))
    yield "derivatives by the codes", [[*map(str, g)] for g in gradient], True
    yield (
        f"percent of dead codes, where the formula has {formula}",
        floor(100 * Fraction(dead, len(p))),
        dead == 0 < formula,
    )


@verifies(
    "prototypes/remark-3-gradient",
    {"z": [["0"], ["1"]], "p": [["-1"], ["2"]], "b": "2", "spacing": "1", "eta_P": "1/1000"},
)
def remark_3_gradient(witness):
    """Verify an instance that refutes the gradient in Remark 3 of "DDCL-Attention".

    Printed: the derivative of Lq by p_k is 2 sum_n q_nk (p_k - z_n) + 2 eta_P [Sigma_q P]_k.

    Instance: rational embeddings, prototypes and eta_P on a lattice of spacing s, and T = s^2 / log b with a rational
    base b > 1, so that assignments are rational. The derivative at fixed assignments is the first term, and the second
    is a rational vector that is not zero. Through the assignments the derivative is the first term minus log b times a
    rational vector. The printed one would be that only if log b were rational, which the logarithm of a rational number
    other than 1 is not (Lindemann).
    """
    z, p, grid = matrix(witness["z"]), matrix(witness["p"]), vector(witness[k] for k in ("b", "spacing"))
    yield from positive_assignments(z, p, *grid)
    q = assignments(z, p, *grid)
    rate = Fraction(witness["eta_P"])
    yield "eta_P is positive", rate, rate > 0
    second = [[rate * v for v in row] for row in separation_gradient(q, p)]
    yield "the second term is not zero", [[*map(str, row)] for row in second], any(v for row in second for v in row)


@verifies("prototypes/remark-3-nonzero", {"z": [["0"]], "p": [["-1"], ["0"], ["1"]], "b": "2", "spacing": "1"})
def remark_3_nonzero(witness):
    """Verify an instance that refutes a sentence of Remark 3 of "DDCL-Attention".

    Printed: [Sigma_q P]_k is not zero for every prototype k whenever the prototypes are distinct.

    Instance: an embedding at the middle one of three equidistant prototypes on a line. The middle row of Sigma_q P
    vanishes by symmetry, at every temperature.
    """
    z, p, grid = matrix(witness["z"]), matrix(witness["p"]), vector(witness[k] for k in ("b", "spacing"))
    yield from positive_assignments(z, p, *grid)
    q = assignments(z, p, *grid)
    yield "prototypes are distinct", witness["p"], len({tuple(y) for y in p}) == len(p)
    rows = [[*map(str, row)] for row in separation_gradient(q, p)]
    yield "2 Sigma_q P has a row of zeros", rows, any(set(row) == {"0"} for row in rows)


@verifies(
    "prototypes/proposition-5-decomposition",
    {"z": [["0"]], "P1": [["1"], ["-1"]], "P2": [["2"], ["-2"]], "b": "2", "spacing": "1"},
)
def proposition_5_decomposition(witness):
    """Verify an instance that refutes Proposition 5 of "DDCL-Attention".

    Printed: at each level Lq = L_OLS + V, the inputs of level 2 being the soft centroids of level 1.

    Instance: two prototypes at each level, symmetric about the embedding, which is then the soft centroid at level 1.
    """
    z, grid = matrix(witness["z"]), [Fraction(witness[name]) for name in ("b", "spacing")]
    for name in ("P1", "P2"):
        p = matrix(witness[name])
        yield (
            f"{name}: T is positive, and coordinates are multiples of the spacing: base and spacing",
            [*map(str, grid)],
            on_lattice([z, p], *grid),
        )
        q = assignments(z, p, *grid)
        loss, hard, variance = losses(z, p, q)
        yield f"{name}: Lq is not M + V: Lq - M - V", loss - hard - variance, loss != hard + variance
        z = centroids(q, p)


@verifies(
    "prototypes/proposition-5-independence",
    {
        "z": [["0", "0"]],
        "P1": [["1", "0"], ["-1", "0"]],
        "other P1": [["1", "1"], ["-1", "1"]],
        "P2": [["0", "0"], ["0", "2"]],
        "b": "2",
        "spacing": "1",
    },
)
def proposition_5_independence(witness):
    """Verify an instance that refutes a sentence in the proof of Proposition 5 of "DDCL-Attention".

    Printed: the gradient of V of a level, 2 P Sigma_q at fixed assignments, is independent of the prototypes of the
    others.

    Instance: two choices of two prototypes at level 1, both at equal distances of the embedding, so that the input of
    level 2 is their midpoint. The gradients at level 2 differ.
    """
    z, second = matrix(witness["z"]), matrix(witness["P2"])
    grid = [Fraction(witness[name]) for name in ("b", "spacing")]
    found = []
    for name in ("P1", "other P1"):
        p = matrix(witness[name])
        inputs = centroids(assignments(z, p, *grid), p)
        yield (
            f"{name}: T is positive, coordinates and inputs are multiples of the spacing",
            [*map(str, grid)],
            on_lattice([z, p, second, inputs], *grid),
        )
        found.append(separation_gradient(assignments(inputs, second, *grid), second))
    shown = [[[*map(str, row)] for row in rows] for rows in found]
    yield "the gradients of V of level 2 differ", shown, found[0] != found[1]


@verifies(
    "prototypes/claim-no-interference",
    {
        "z": [["0"]],
        "P1": [["1"], ["-1"]],
        "P2": [["1"], ["3"]],
        "far P2": [["10000001"], ["-10000001"]],
        "b": "2",
        "spacing": "1",
    },
)
def claim_no_interference(witness):
    """Verify an instance that refutes sentences of Sections 5.2 and 8.4 of "DDCL-Attention".

    Printed: in one backward pass there is no interference between levels, and the separation gradient 2 P Sigma_q of
    one level cannot vanish while that of the other is large. Read: the gradient of the total loss by P1 is that of the
    loss of level 1, and the gradient of V of level 1 is at least 1e-6 times that of level 2.

    Instance: an embedding midway between two prototypes at level 1, so that the input of level 2 is z. At fixed
    assignments the loss of level 2 adds q_k 2 (mu - mu') to the gradient by p_k, mu' being the soft centroid at level
    2. With other prototypes of level 2, distinct and far apart, the ratio of the gradients of V is below 1e-6.
    """
    z, first = matrix(witness["z"]), matrix(witness["P1"])
    grid = [Fraction(witness[name]) for name in ("b", "spacing")]
    q = assignments(z, first, *grid)
    mu = centroids(q, first)
    second, far = matrix(witness["P2"]), matrix(witness["far P2"])
    yield (
        "T is positive, coordinates and inputs are multiples of the spacing",
        [*map(str, grid)],
        on_lattice([z, first, second, far, mu], *grid),
    )
    distinct = [len({tuple(y) for y in p}) == len(p) for p in (first, second, far)]
    yield "prototypes of each level are distinct", distinct, all(distinct)
    beyond = centroids(assignments(mu, second, *grid), second)
    added = [
        2 * row[k] * (x - y)
        for row, u, v in zip(q, mu, beyond, strict=True)
        for k in range(2)
        for x, y in zip(u, v, strict=True)
    ]
    yield "level 2 moves P1: what it adds to the gradient", [*map(str, added)], any(added)
    gradients = [separation_gradient(assignments(x, p, *grid), p) for x, p in ((z, first), (mu, far))]
    sizes = [sum(v * v for row in rows for v in row) for rows in gradients]
    yield "squared gradients of V of levels 1 and 2", [*map(str, sizes)], sizes[0] * 10**12 < sizes[1]


@verifies(
    "prototypes/proposition-4-soft", {"z": [["0"]], "p": [["1"], ["-1"]], "h": ["1/1024", "1/1048576", "1/1073741824"]}
)
def proposition_4_soft(witness):
    """Verify an instance that refutes a sentence of Proposition 4 of "DDCL-Attention".

    Printed: L_OLS = sum_n min_k |z_n - p_k|^2 is a soft commitment loss without hard argmin, and gradients flow
    continuously.

    Instance: an embedding z, the first, at equal distances of its two nearest prototypes, moved by h v to either side
    with v = (p_1 - p_2) / 2. The gradient 2 (z - p_k), k being the nearest, jumps by 4 (h - 1) v, which does not tend
    to zero.
    """
    z, p = [Fraction(v) for v in witness["z"][0]], [[Fraction(v) for v in row] for row in witness["p"]]
    d = [squared_distance(z, y) for y in p]
    tied = d[0] == d[1] > 0 and all(d[0] < v for v in d[2:]) and p[0] != p[1]
    yield "the embedding is tied between two prototypes: squared distances", [*map(str, d)], tied
    v = [(a - b) / 2 for a, b in zip(*p[:2], strict=True)]
    for h in map(Fraction, witness["h"]):
        slopes = []
        for side in (h, -h):
            at = [a + side * b for a, b in zip(z, v, strict=True)]
            nearest = min(p, key=lambda y, at=at: squared_distance(at, y))
            slopes.append([2 * (a - b) for a, b in zip(at, nearest, strict=True)])
        jump, gap = squared_distance(*slopes), squared_distance(*p[:2])
        yield (
            f"the squared jump across 2 h, h = {h}, is at least |p_1 - p_2|^2",
            (str(jump), str(gap)),
            h > 0 < gap <= jump,
        )
