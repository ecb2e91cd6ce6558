"""Verifiers of refuted statements of Sections 2 and 3 of "DDCL-Attention"."""

from fractions import Fraction

from analysis.verifiers.frames.assignments import (
    assignments,
    centroids,
    losses,
    on_lattice,
    positive_assignments,
    separation_gradient,
)
from analysis.verifiers.frames.linear_algebra import matrix, squared_distance, vector
from analysis.verifiers.frames.script import verifies


@verifies(
    "prototypes/claim-multihead",
    {
        "x": [["1", "2"]],
        "W": [[["2", "-1"]], [["1", "-1"]]],
        "p": [[["1"], ["-1"]], [["0"], ["2"]]],
        "b": "2",
        "spacing": "1",
    },
)
def claim_multihead(witness):
    """Verify an instance that refutes a sentence of Section 3.2 of "DDCL-Attention".

    Printed: the decomposition (3), Lq = L_OLS + V, holds for each head.

    Instance: one token and two heads. In each head the embedding W_h x lies between two prototypes.
    """
    x, grid = matrix(witness["x"]), [Fraction(witness[name]) for name in ("b", "spacing")]
    for h, (projection, prototypes) in enumerate(zip(witness["W"], witness["p"], strict=True)):
        p, rows = matrix(prototypes), matrix(projection)
        z = [[sum(u * v for u, v in zip(row, token, strict=True)) for row in rows] for token in x]
        yield (
            f"head {h}: T is positive, and coordinates are multiples of the spacing: base and spacing",
            [*map(str, grid)],
            on_lattice([z, p], *grid),
        )
        loss, hard, variance = losses(z, p, assignments(z, p, *grid))
        yield f"head {h}: Lq is not M + V: Lq - M - V", loss - hard - variance, loss != hard + variance


@verifies("prototypes/claim-complexity", {"T": 4, "K": 2, "heads": 1, "C": 1000, "m": 4001})
def claim_complexity(witness):
    """Verify an instance that refutes a sentence of Section 3.3 of "DDCL-Attention".

    Printed: the layer takes O(T K m) operations. Read: for fixed T and K at most C T K m multiplications, for some C.

    One head computes T K distances of m terms, and W_O (P^T q_n) for T tokens, W_O being m x m. In either order, the
    latter takes T K m multiplications and min(T, K) m^2 more, which exceeds C T K m once m > C max(T, K). Several heads
    have projections W_h of T tokens besides, m x m together, which take T m^2 multiplications.
    """
    T, K, heads, C, m = (witness[name] for name in ("T", "K", "heads", "C", "m"))
    yield "T, K, heads, C and m are positive", (T, K, heads, C, m), min(T, K, heads, C, m) > 0
    orders = (T * K * m + T * m * m, K * m * m + T * K * m)
    yield "multiplications of one head in both orders", orders, min(orders) == T * K * m + min(T, K) * m * m
    least = min(orders) if heads == 1 else T * m * m
    yield "those of the layer are more than C T K m", (least, C * T * K * m), least > C * T * K * m


WITNESS_1 = {"z": [["0"], ["2"]], "p": [["1"], ["-1"]], "b": "2", "spacing": "1"}


@verifies("prototypes/algorithm-1-line-12", WITNESS_1)
def algorithm_1_line_12(witness):
    """Verify an instance that refutes line 12 of Algorithm 1 of "DDCL-Attention".

    Printed: V := Lq - (1/B) sum_n min_k d_nk is (1/B) sum_nk q_nk |p_k - mu_n|^2, Lq being the mean (1/B) sum_nk q_nk
    d_nk.

    Instance: a batch of two embeddings, all numbers rational.
    """
    z, p, grid = matrix(witness["z"]), matrix(witness["p"]), vector(witness[k] for k in ("b", "spacing"))
    yield from positive_assignments(z, p, *grid)
    q = assignments(z, p, *grid)
    loss, hard, variance = (v / len(z) for v in losses(z, p, q))
    yield "Lq - (1/B) sum min and the mean variance differ", (str(loss - hard), str(variance)), loss - hard != variance


@verifies("prototypes/algorithm-1-line-20", WITNESS_1)
def algorithm_1_line_20(witness):
    """Verify an instance that refutes line 20 of Algorithm 1 of "DDCL-Attention".

    Printed: the assertion V >= -1e-8, with V := Lq - (1/B) sum_n min_k d_nk, checks the decomposition (3).

    Instance: the assertion passes, and (3) does not hold. (It passes always: a weighted mean of the d_nk is at least
    their least.)
    """
    z, p, grid = matrix(witness["z"]), matrix(witness["p"]), vector(witness[k] for k in ("b", "spacing"))
    yield from positive_assignments(z, p, *grid)
    q = assignments(z, p, *grid)
    loss, hard, variance = (v / len(z) for v in losses(z, p, q))
    yield "the assertion passes: V by line 12", loss - hard, loss - hard >= Fraction(-1, 10**8)
    yield "(3) fails: Lq - M - V", loss - hard - variance, loss != hard + variance


@verifies(
    "prototypes/claim-collapse-saddle",
    {
        "frozen": {"z": [["2"], ["-2"], ["1"], ["-1"]], "T": "6"},
        "full": {"z": [["2"], ["-2"], ["1"], ["-1"]], "T": "12"},
    },
)
def claim_collapse_saddle(witness):
    """Verify an instance that refutes a sentence of Section 2.2 of "DDCL-Attention".

    Printed: collapse of the prototypes is an unstable saddle of Lq, the embeddings being fixed.

    Instance: embeddings with the mean c and any number K of prototypes c + p_k. With y_n = z_n - c the free energy of
    frozen assignments is, up to terms of third order in p,

        sum_n |y_n|^2 - T sum_n log mean_k exp((2 y_n.p_k - |p_k|^2) / T)
            = sum_n |y_n|^2 + N mean_k |p_k|^2 - (2 / T) sum_n Var_k(y_n.p_k),

    as sum_n y_n = 0; Lq itself, through the assignments, has 4 in the place of 2. Since Var_k(y_n.p_k) <= |y_n|^2
    mean_k |p_k|^2, the terms of second order are at least (N - (a / T) sum_n |y_n|^2) mean_k |p_k|^2, a = 2 or 4. If
    that is positive collapse is a strict local minimum, and no saddle.
    """
    for mode, a in (("frozen", 2), ("full", 4)):
        z, T = [[Fraction(v) for v in row] for row in witness[mode]["z"]], Fraction(witness[mode]["T"])
        yield f"{mode}: the temperature is positive", T, T > 0
        mean = [sum(column) / len(z) for column in zip(*z, strict=True)]
        spread = sum((v - c) ** 2 for row in z for v, c in zip(row, mean, strict=True))
        yield f"{mode}: the embeddings do not coincide: sum of squares about their mean", spread, spread > 0
        yield f"{mode}: coefficient of the mean of |p_k|^2", len(z) - a * spread / T, len(z) - a * spread / T > 0


WITNESS_2 = {"z": [["0"]], "p": [["1"], ["-1"]], "b": "2", "spacing": "1"}


@verifies("prototypes/equation-3", WITNESS_2)
def equation_3(witness):
    """Verify an instance that refutes (3) of "DDCL-Attention".

    Printed: Lq = L_OLS + V, with L_OLS = M = sum_n min_k |z_n - p_k|^2 and V = sum_nk q_nk |p_k - mu_n|^2.

    Instance: one embedding at 0 and two prototypes at 1 and -1. By symmetry q = (1/2, 1/2) at every temperature and mu
    = 0, so that Lq = 1, M = 1 and V = 1.
    """
    z, p, grid = matrix(witness["z"]), matrix(witness["p"]), vector(witness[k] for k in ("b", "spacing"))
    yield from positive_assignments(z, p, *grid)
    q = assignments(z, p, *grid)
    loss, hard, variance = losses(z, p, q)
    yield "Lq, M, V", (str(loss), str(hard), str(variance)), True
    yield "Lq is not M + V: Lq - M - V", loss - hard - variance, loss != hard + variance


@verifies(
    "prototypes/proposition-1",
    {"x": [["1"], ["3"]], "weight": [["2"]], "bias": ["-3"], "p": [["1"], ["-2"]], "b": "2", "spacing": "1"},
)
def proposition_1(witness):
    """Printed: for any differentiable encoder, its parameters, prototypes and T > 0, Lq = L_OLS + V exactly.

    Instance: the affine encoder z = W x + c. Lq, L_OLS = M and V are rational and not as printed.
    """
    x, weight, p = (matrix(witness[name]) for name in ("x", "weight", "p"))
    grid = [Fraction(witness[name]) for name in ("b", "spacing")]
    rows = [*zip(weight, map(Fraction, witness["bias"]), strict=True)]
    z = [[sum(u * v for u, v in zip(row, datum, strict=True)) + c for row, c in rows] for datum in x]
    yield (
        "T is positive, and coordinates are multiples of the spacing: base and spacing",
        [*map(str, grid)],
        on_lattice([z, p], *grid),
    )
    loss, hard, variance = losses(z, p, assignments(z, p, *grid))
    yield "V is not negative", variance, variance >= 0
    yield "Lq is not M + V: Lq - M - V", loss - hard - variance, loss != hard + variance


@verifies("prototypes/proposition-1-inequality", WITNESS_2)
def proposition_1_inequality(witness):
    """Verify an instance that refutes an inequality in the proof of Proposition 1 of "DDCL-Attention".

    Printed: |z_n - mu_n|^2 >= min_k |z_n - p_k|^2, mu_n being a convex combination of the prototypes.

    Instance: an embedding midway between two prototypes, where mu_n = z_n at every temperature.
    """
    z, p, grid = matrix(witness["z"]), matrix(witness["p"]), vector(witness[k] for k in ("b", "spacing"))
    yield from positive_assignments(z, p, *grid)
    q = assignments(z, p, *grid)
    mu = centroids(q, p)[0]
    error, least = squared_distance(z[0], mu), min(squared_distance(z[0], y) for y in p)
    yield "|z - mu|^2 and min |z - p_k|^2", (str(error), str(least)), error < least


@verifies(
    "prototypes/claim-separation-force",
    {"z": [["0", "0"], ["1", "2"]], "p": [["1", "0"], ["-1", "1"], ["0", "2"]], "b": "2", "spacing": "1"},
)
def claim_separation_force(witness):
    """Verify an instance that refutes a sentence of Section 2.2 of "DDCL-Attention".

    Printed: grad_P V = 2 P Sigma_q acts as a separation force in the descent on Lq. Read: the contribution -2 P Sigma_q
    to the descent does not decrease the sum of |p_j - p_k|^2 over all pairs.

    Instance: rational assignments of two embeddings to three prototypes. The derivative of the sum is negative. (It is
    -8 K V in general, twice the sum of 2 (p_j - p_k) . (p_j' - p_k').)
    """
    z, p, grid = matrix(witness["z"]), matrix(witness["p"]), vector(witness[k] for k in ("b", "spacing"))
    yield from positive_assignments(z, p, *grid)
    q = assignments(z, p, *grid)
    speed = [[-v for v in row] for row in separation_gradient(q, p)]
    rate = Fraction(0)
    for x, v in zip(p, speed, strict=True):
        for y, w in zip(p, speed, strict=True):
            rate += 2 * sum((a - b) * (c - d) for a, b, c, d in zip(x, y, v, w, strict=True))
    yield "it is -8 K V", rate, rate == -8 * len(p) * losses(z, p, q)[2]
    yield "the pairs approach each other: the derivative", rate, rate < 0


def directions(encoder, x, m):
    """The derivatives of all embeddings by each parameter."""
    unit = [[Fraction(i == k) for i in range(m)] for k in range(m)]
    by_weight = [[[u * row[j] for u in e] for row in x] for e in unit for j in range(len(x[0]))]
    by_bias = [[e for _ in x] for e in unit]
    free = [[[u * (n == k) for u in e] for n in range(len(x))] for e in unit for k in range(len(x))]
    return {"linear": by_weight, "affine": by_weight + by_bias, "free": free}[encoder]


@verifies(
    "prototypes/proposition-2",
    {
        "encoder": "linear",
        "x": [["1"]],
        "weight": [["1"]],
        "bias": ["0"],
        "p": [["0"], ["3"]],
        "b": "2",
        "spacing": "1",
    },
)
def proposition_2(witness):
    """Verify an instance that refutes (10) in Proposition 2 of "DDCL-Attention".

    Printed: at fixed assignments the gradient of Lq by theta is sum_n (d z_n / d theta)^T (z_n - mu_n). Its proof has
    2 (z_n - mu_n).

    Instance: an encoder z = W x + c with the parameters W (linear), W and c (affine) or z itself (free). At fixed
    assignments Lq is a quadratic polynomial in each, of which a central difference with any step is the derivative.
    """
    x, weight, p = (matrix(witness[name]) for name in ("x", "weight", "p"))
    bias, base, spacing = [Fraction(v) for v in witness["bias"]], *(Fraction(witness[k]) for k in ("b", "spacing"))
    rows = [*zip(weight, bias, strict=True)]
    z = [[sum(u * v for u, v in zip(row, datum, strict=True)) + c for row, c in rows] for datum in x]
    powers = [[squared_distance(a, b) / spacing**2 for b in p] for a in z]
    whole = all(v.denominator == 1 for row in powers for v in row)
    yield "T is positive, and distances fit: base and spacing", (str(base), str(spacing)), base > 1 and whole
    q = [[1 / base ** int(v - min(row)) for v in row] for row in powers]
    q = [[v / sum(row) for v in row] for row in q]
    mu = [[sum(w * v for w, v in zip(row, column, strict=True)) for column in zip(*p, strict=True)] for row in q]

    def loss(s, dz):
        """Lq at z + s dz with these assignments."""
        moved = [[u + s * v for u, v in zip(a, d, strict=True)] for a, d in zip(z, dz, strict=True)]
        pairs = zip(moved, q, strict=True)
        return sum(w * squared_distance(a, b) for a, row in pairs for w, b in zip(row, p, strict=True))

    found = []
    for dz in directions(witness["encoder"], x, len(weight)):
        terms = (zip(d, a, c, strict=True) for d, a, c in zip(dz, z, mu, strict=True))
        found.append(((loss(1, dz) - loss(-1, dz)) / 2, sum(d * (a - c) for row in terms for d, a, c in row)))
    slope, printed = max(found, key=lambda pair: abs(pair[0] - pair[1]))
    yield "a derivative and the printed one differ", (str(slope), str(printed)), slope != printed
