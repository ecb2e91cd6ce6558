"""Verifiers of refuted statements of Sections 3 and 4 of "DDCL-INCRT"."""

from fractions import Fraction

from analysis.verifiers.frames.assignments import assignments, centroids, losses, on_lattice
from analysis.verifiers.frames.linear_algebra import (
    dot,
    matrix,
    matrix_product,
    product,
    squared_distance,
    transpose,
    vector,
)
from analysis.verifiers.frames.residuals import antisymmetric_part, complement, dominant, dominant_direction
from analysis.verifiers.frames.script import verifies
from analysis.verifiers.frames.separation import (
    assignment_series,
    deviations,
    displaced,
    force_series,
    separated_along,
    separation_force,
    variance_bound,
)


def rational_assignments(witness):
    """Yield the check that assignments are rational; return z and p in units of h, and q."""
    h, b = Fraction(witness["spacing"]), Fraction(witness["b"])
    z, p = ([[v / h for v in row] for row in matrix(witness[name])] for name in ("z", "p"))
    fits = h > 0 and on_lattice([z, p], b)
    yield "T = h^2 / log b is positive, and coordinates are multiples of h, their unit: b", b, fits
    return z, p, assignments(z, p, b)


def expansion(witness):
    """Yield the checks of a dominant u and of prototypes apart along it; return z, p, b, q, u and <z_n, u>."""
    yield from dominant_direction(witness)
    z, p, b, u = matrix(witness["z"]), matrix(witness["p"]), Fraction(witness["b"]), vector(witness["u"])
    alpha = [dot(x, u) for x in z]
    yield from separated_along(p, u, alpha)
    return z, p, b, assignments(z, p, b), u, alpha


def second_order(witness, s0):
    """Yield the checks of `expansion` and S(P) >= s_0; return phi, the bound of phi'' / 32 for a level, and (19)."""
    _, p, _, q, u, alpha = yield from expansion(witness)
    variance, correction = variance_bound(q, p, u, alpha)
    yield "S(P) >= s_0 > 0: s_0", s0, squared_distance(*p) >= s0 > 0
    bound = lambda level: s0**2 / len(p) ** 2 * level * variance - correction
    return force_series(assignment_series(q, p, u, alpha), p), bound, len(p) ** 2 * correction / (s0**2 * variance)


def squares_along(witness):
    """|Z u|^2, the sum of the squared components of tokens along u."""
    return sum(dot(x, vector(witness["u"])) ** 2 for x in matrix(witness["z"]))


WITNESS_1 = {
    "z": [["1", "0"], ["-1", "0"]],
    "p": [["1", "0"], ["-1", "0"]],
    "b": "9/8",
    "M": [["1", "10"], ["-10", "0"]],
    "captured": [],
    "u": ["1", "0"],
    "s": "10",
}


@verifies("growing/proposition-1", WITNESS_1)
def proposition_1(witness):
    """Printed: phi''(0) >= (32/T^2) [(s_0^2/K^2) lambda_max(A_res) Var - C_0] under (A1), (A2') and S(P) >= s_0 > 0,
    with the mean Var over n of Var_{q_n}[p*] and C_0 = |alpha|^2 Var_max N D^2, D = max_nk |p_k - mu_n|.

    Instance: two prototypes at +-a u and two tokens at +-u, so warm that phi is concave. phi does not depend on M, with
    which the right side grows. s_0 = 2 is a lower bound both of S(P) and of the distance.
    """
    phi, bound, _ = yield from second_order(witness, Fraction(2))
    least = bound(Fraction(witness["s"]))
    yield "T^2 phi''(0) / 32 is below the bound", (str(phi[2] / 16), str(least)), phi[2] / 16 < least


WITNESS_2 = {
    "z": [["1", "0"], ["-1", "0"]],
    "p": [["1", "0"], ["-1", "0"]],
    "b": "9/8",
    "M": [["1", "3"], ["-3", "0"]],
    "captured": [],
    "u": ["1", "0"],
    "s": "3",
}


@verifies("growing/proposition-1/variance", WITNESS_2)
def proposition_1_variance(witness):
    """Printed: phi''(0) >= (32/T^2) [(s_0^2/K^2) lambda_max(A_res) Var - C_0] under (A1), (A2') and S(P) >= s_0 > 0,
    with the mean Var over n of Var_{q_n}[p*] and C_0 = |alpha|^2 Var_max N D^2, D = max_nk |p_k - mu_n|.

    Read: lambda_max is |Z u|^2 = sum_n alpha_n^2, as in the proof.

    Instance: two prototypes at +-a u and two tokens at +-u, so warm that phi is concave.
    """
    phi, bound, _ = yield from second_order(witness, Fraction(2))
    least = bound(squares_along(witness))
    yield "T^2 phi''(0) / 32 is below the bound", (str(phi[2] / 16), str(least)), phi[2] / 16 < least


@verifies("growing/corollary-1", WITNESS_1)
def corollary_1(witness):
    """Printed: phi''(0) > 0 whenever lambda_max(A_res) > K^2 C_0 / (s_0^2 Var), with the constants of Proposition 1.

    Instance: two prototypes at +-a u and two tokens at +-u, so warm that phi is concave. lambda_max is as large
    as one likes.
    """
    (phi, _, threshold), level = (yield from second_order(witness, Fraction(2))), Fraction(witness["s"])
    yield "lambda_max exceeds the right side of (19)", (str(level), str(threshold)), level > threshold
    yield "T^2 phi''(0) / 2 is not positive", phi[2], phi[2] <= 0


@verifies(
    "growing/corollary-1/variance",
    {
        "z": [["1", "0"], ["-1", "0"]],
        "p": [["2", "0"], ["-2", "0"]],
        "b": "17/16",
        "M": [["1", "3"], ["-3", "0"]],
        "captured": [],
        "u": ["1", "0"],
        "s": "3",
    },
)
def corollary_1_variance(witness):
    """Printed: phi''(0) > 0 whenever lambda_max(A_res) > K^2 C_0 / (s_0^2 Var), with the constants of Proposition 1.

    Read: lambda_max is |Z u|^2 = sum_n alpha_n^2, as in the proof, and s_0 = S(P), a squared distance.

    Instance: two prototypes at +-a u and two tokens at +-u, so warm that phi is concave.
    """
    phi, _, threshold = yield from second_order(witness, squared_distance(*matrix(witness["p"])))
    level = squares_along(witness)
    yield "lambda_max exceeds the right side of (19)", (str(level), str(threshold)), level > threshold
    yield "T^2 phi''(0) / 2 is not positive", phi[2], phi[2] <= 0


@verifies(
    "growing/theorem-2",
    {
        "z": [["1", "0"], ["-1", "0"]],
        "p": [["1", "0"], ["-1", "0"]],
        "b": "9/8",
        "M": [["1", "10"], ["-10", "0"]],
        "captured": [],
        "u": ["1", "0"],
        "s": "10",
        "theta_w": "9",
    },
)
def theorem_2(witness):
    """Printed: at lambda_max(A_res) > theta_w, theta_w above the right side of (19), phi(1) >= phi(0) + phi'(0) +
    phi''(0) / 2 with phi'(0) >= 0 and phi''(0) >= (32/T^2) [s_0^2 theta_w Var / K^2 - C_0] > 0.

    Instance: two prototypes at +-a u and two tokens at +-u, so warm that phi is concave. phi' and phi'' are negative.
    """
    phi, bound, _ = yield from second_order(witness, Fraction(2))
    s, level = Fraction(witness["s"]), Fraction(witness["theta_w"])
    yield "lambda_max > theta_w", (str(s), str(level)), s > level
    least = bound(level)
    yield "the bound is positive, so that theta_w is above (19)", least, least > 0
    yield "T phi'(0) is negative", phi[1], phi[1] < 0
    yield "T^2 phi''(0) / 32 is below the bound", (str(phi[2] / 16), str(least)), phi[2] / 16 < least


@verifies("growing/equation-2", {"z": [["0"]], "p": [["1"], ["-1"]], "b": "2", "spacing": "1"})
def equation_2(witness):
    """Verify an instance that refutes the decomposition after (2) of "DDCL-INCRT".

    Printed: Lq = L_OLS + V exactly, with L_OLS = sum_n min_k |z_n - p_k|^2 and V = sum_nk q_nk |p_k - mu_n|^2.

    Instance: one embedding and two prototypes on a line, all numbers rational. (Lq = R + V with the distances from the
    soft centroids in place of L_OLS.)
    """
    z, p, q = yield from rational_assignments(witness)
    loss, hard, variance = losses(z, p, q)
    error = sum(squared_distance(x, mu) for x, mu in zip(z, centroids(q, p), strict=True))
    yield "Lq = R + V with the soft centroids: R", error, loss == error + variance
    yield "Lq is not L_OLS + V: the two", (str(loss), str(hard + variance)), loss != hard + variance


@verifies("growing/equation-2-gradient", {"z": [["1"]], "p": [["1"], ["-1"]], "b": "2", "spacing": "1"})
def equation_2_gradient(witness):
    """Verify an instance that refutes the gradient of V in Section 3.1 of "DDCL-INCRT".

    Printed: grad_P V = 2 P Sigma_q for V = sum_nk q_nk |p_k - mu_n|^2 with the assignments (1).

    Instance: one embedding and two prototypes on a line. The assignments depend on the prototypes: with e_nk = |p_k -
    mu_n|^2, T (grad_k V - 2 r_k) = -2 sum_n q_nk (e_nk - sum_j q_nj e_nj) (p_k - z_n), a rational number that is not 0.
    """
    z, p, q = yield from rational_assignments(witness)
    rest = [[Fraction(0)] * len(p[0]) for _ in p]
    for x, row, mu in zip(z, q, centroids(q, p), strict=True):
        e = [squared_distance(y, mu) for y in p]
        mean = sum(w * v for w, v in zip(row, e, strict=True))
        for k, y in enumerate(p):
            share = -2 * row[k] * (e[k] - mean)
            rest[k] = [a + share * (v - w) for a, v, w in zip(rest[k], y, x, strict=True)]
    yield (
        "T times the rest of the gradient",
        [[str(v) for v in row] for row in rest],
        any(v for row in rest for v in row),
    )


@verifies(
    "growing/claim-separation-force",
    {"z": [["0", "0"], ["1", "2"]], "p": [["1", "0"], ["1", "0"], ["0", "2"]], "b": "2", "spacing": "1"},
)
def claim_separation_force(witness):
    """Verify an instance that refutes a sentence of Section 3.1 of "DDCL-INCRT".

    Printed: whenever two prototypes coincide, the gradient 2 P Sigma_q pushes them apart.

    Instance: two of three prototypes coincide; their gradients are the same.
    """
    z, p, q = yield from rational_assignments(witness)
    yield "the first two prototypes coincide", p[0] == p[1], p[0] == p[1]
    yield "the third is elsewhere", p[2] != p[0], p[2] != p[0]
    r = deviations(q, p)
    yield "their gradients, halved, are the same", [str(v) for v in r[0]], r[0] == r[1]


@verifies("growing/lemma-2", {"z": [["1", "0"]], "p": [["1", "0"], ["-1", "0"]], "b": "2", "u": ["1", "0"]})
def lemma_2(witness):
    """Verify an instance that refutes Lemma 2, (5), of "DDCL-INCRT".

    Printed: under z_n -> z_n + eps alpha_n u the derivative of tr Sigma_q at eps = 0 is (2/T) sum_nk q_nk (1 - 2 q_nk)
    <mu_n - p_k, u> alpha_n.

    Instance: one embedding and two prototypes, all numbers rational. T times the derivative, from the power series of
    the assignments, has the opposite sign.
    """
    z, p, b = matrix(witness["z"]), matrix(witness["p"]), Fraction(witness["b"])
    yield "T = 1 / log b is positive, and coordinates are integers: b", b, on_lattice([z, p], b)
    q = assignments(z, p, b)
    u = vector(witness["u"])
    alpha = [dot(x, u) for x in z]
    moving = assignment_series(q, p, u, alpha)[1]
    slope = sum((1 - 2 * w) * v for row, speed in zip(q, moving, strict=True) for w, v in zip(row, speed, strict=True))
    formula = Fraction(0)
    for row, mu, a in zip(q, centroids(q, p), alpha, strict=True):
        formula += 2 * sum(w * (1 - 2 * w) * (dot(mu, u) - dot(y, u)) * a for w, y in zip(row, p, strict=True))
    yield (
        "T times the derivative is not that of (5), but its negative",
        (str(slope), str(formula)),
        slope == -formula != 0,
    )


def characteristic(A):
    """The coefficients of det(x - A), the leading one first, by Faddeev and LeVerrier."""
    found, power = [Fraction(1)], A
    for k in range(1, len(A) + 1):
        found.append(Fraction(-sum(row[i] for i, row in enumerate(power)) / k))
        shifted = [[v + found[-1] * (i == j) for j, v in enumerate(row)] for i, row in enumerate(power)]
        power = matrix_product(A, shifted)
    return found


@verifies(
    "growing/equation-3/square",
    {
        "X": [["1", "0", "2"], ["0", "1", "1"], ["1", "1", "0"]],
        "M": [["0", "1", "2"], ["3", "1", "0"], ["-1", "2", "1"]],
        "q": ["0", "0", "1"],
    },
)
def equation_3_square(witness):
    """Verify an instance that refutes (3) read as printed, for N = d of "DDCL-INCRT".

    Read: the growth criterion lambda_max(A_res) > theta_w > 0 can hold, of the real eigenvalues of A_res = P X M_a X^T
    P, P being the projector of what is not captured.

    Instance: N = d = 3 and one captured direction q. The coefficients of det(x - A_res) do not change their sign, so
    that no positive number is an eigenvalue, though A_res is not 0.
    """
    X, M, (q,) = (matrix(rows) for rows in (witness["X"], witness["M"], [witness["q"]]))
    inside = matrix_product(matrix_product(X, antisymmetric_part(M)), transpose(X))
    A = matrix_product(matrix_product(complement(q), inside), complement(q))
    yield "N = d", (len(X), len(M)), len(X) == len(M) == len(X[0])
    yield "A_res is not 0", [[str(v) for v in row] for row in A], any(v for row in A for v in row)
    coefficients = characteristic(A)
    yield "no coefficient of det(x - A_res) is negative", [str(c) for c in coefficients], min(coefficients) >= 0


WITNESS_3 = {
    "z": [["1", "0"], ["-1", "0"]],
    "p": [["1", "0"], ["-1", "0"]],
    "b": "2",
    "M": [["1", "3"], ["-3", "0"]],
    "captured": [],
    "u": ["1", "0"],
    "s": "3",
}


@verifies("growing/lemma-4", WITNESS_3)
def lemma_4(witness):
    """Printed: for u = v_1(A_res), C_k = sum_n alpha_n (p*_k - pbar*_n) is at least 0 for all k, and positive for some
    k.

    Instance: centred tokens and prototypes along u, which also is the direction of their largest variance. All C_k are
    the same negative number.
    """
    yield from dominant_direction(witness)
    z, p, b = matrix(witness["z"]), matrix(witness["p"]), Fraction(witness["b"])
    q, u = assignments(z, p, b), vector(witness["u"])
    alpha = [dot(x, u) for x in z]
    yield "(A1) prototypes are distinct", len(p), len({tuple(y) for y in p}) == len(p)
    yield "(A2') they differ along u", [str(dot(y, u)) for y in p], len({dot(y, u) for y in p}) > 1
    yield "tokens are centred", [str(a) for a in alpha], sum(alpha) == 0
    means = [dot(mu, u) for mu in centroids(q, p)]
    found = [sum(a * (dot(y, u) - m) for a, m in zip(alpha, means, strict=True)) for y in p]
    yield "C_k are negative", [str(c) for c in found], max(found) < 0


@verifies("growing/theorem-1", WITNESS_3)
def theorem_1(witness):
    """Printed: under (A1), (A2') and for T sufficiently large, phi(1) >= phi(0) for u = v_1(A_res).

    Instance: two prototypes at +-a u and centred tokens along u. F_sep = 32 a^2 (sum_n q_n1 q_n2)^2, where q_n1 q_n2 =
    x / (1 + x)^2 with x = exp(-4 a |alpha_n| / T) < 1; the expansion doubles alpha_n, so that x becomes x^2 and the
    product falls, at every T.
    """
    z, p, b, q, u, alpha = yield from expansion(witness)
    start, end = separation_force(q, p), separation_force(assignments(displaced(z, u, alpha), p, b), p)
    yield "phi(1) < phi(0)", (str(start), str(end)), end < start
    a = dot(p[0], u)
    yield "prototypes are +-a u from their mean", a, [v - w for v, w in zip(*p, strict=True)] == [2 * a * v for v in u]
    polynomial = [1, -1, 0, -1, 1]  # (1 + x^2)^2 - x (1 + x)^2, the leading coefficient first
    factors = [1, -2, 1], [1, 1, 1]  # (1 - x)^2 and 1 + x + x^2
    same = polynomial == product(*factors)
    yield "it falls at every T: (1 + x^2)^2 - x (1 + x)^2 = (1 - x)^2 (1 + x + x^2)", polynomial, same


@verifies(
    "growing/theorem-1/projected",
    {
        "z": [["0", "0"], ["0", "0"]],
        "p": [["1", "0"], ["-1", "0"]],
        "b": "2",
        "M": [["1", "3"], ["-3", "0"]],
        "captured": [],
        "u": ["1", "0"],
        "s": "3",
        "alpha": ["1", "-1"],
    },
)
def theorem_1_projected(witness):
    """Read: z_n^(K) is the projection of a token on V^(K), without a component along u, and alpha_n is what it gains.

    Instance: two prototypes at +-a u. At the start all assignments are 1/2, where F_sep = 32 a^2 (sum_n q_n1 q_n2)^2 is
    largest; it falls at every T.
    """
    yield from dominant_direction(witness)
    z, p, b = matrix(witness["z"]), matrix(witness["p"]), Fraction(witness["b"])
    q, u = assignments(z, p, b), vector(witness["u"])
    alpha = vector(witness["alpha"])
    yield from separated_along(p, u, alpha)
    yield "no embedding has a component along u", [str(dot(x, u)) for x in z], not any(dot(x, u) for x in z)
    yield "all assignments are 1/2", str(q[0][0]), all(w == Fraction(1, 2) for row in q for w in row)
    start, end = separation_force(q, p), separation_force(assignments(displaced(z, u, alpha), p, b), p)
    yield "phi(1) < phi(0)", (str(start), str(end)), end < start


@verifies("growing/theorem-1-convexity", WITNESS_2)
def theorem_1_convexity(witness):
    """Verify an instance that refutes a step of the proof of Theorem 1 of "DDCL-INCRT".

    Printed: phi is convex on [0, 1]: phi'' >= 0 whenever some derivative of r_k is not 0.

    Instance: two prototypes at +-a u and two tokens at +-u. phi is 32 a^2 (2 x / (1 + x)^2)^2 with x = exp(-4 a (1 +
    eps) / T), whose second derivative has the sign of 1 - 3 x + x^2: negative for 2/5 < x <= 1, and so at every higher
    T.
    """
    _, p, _, q, u, alpha = yield from expansion(witness)
    coefficients = assignment_series(q, p, u, alpha)
    phi = force_series(coefficients, p)
    moving = any(v for row in coefficients[1] for v in row)
    yield "assignments move", moving, moving
    yield "T^2 phi''(0) / 2 is negative", phi[2], phi[2] < 0
    x = min(min(row) / max(row) for row in q)
    yield "x > 2/5", x, x > Fraction(2, 5)
    sign = [1 - 3 * v + v * v for v in (Fraction(2, 5), Fraction(1))]
    yield "1 - 3 x + x^2 is negative at 2/5 and 1, and so between", [str(v) for v in sign], max(sign) < 0


def residuals(X, M, q, p):
    """A_res in the readings `features` and `tokens` at a state with prototypes p, which do not occur in (3)."""
    del p
    inside = matrix_product(matrix_product(complement(q), antisymmetric_part(M)), complement(q))
    return inside, matrix_product(matrix_product(X, inside), transpose(X))


@verifies(
    "growing/claim-prototypes-raise-residual",
    {
        "X": [["1", "0", "0"], ["0", "1", "0"], ["0", "0", "1"]],
        "M": [["1", "2", "0"], ["-2", "3", "1"], ["0", "-1", "0"]],
        "q": ["0", "0", "1"],
        "p": [["1", "0", "0"], ["0", "1", "2"]],
        "b": "2",
        "eta": "1/8",
        "v": ["1", "0", "0"],
        "s": "2",
    },
)
def claim_prototypes_raise_residual(witness):
    """Verify an instance that refutes a step of the Algorithm in Section 3.4 of "DDCL-INCRT".

    Printed: the updates of prototypes spread them and raise A_res, recomputed via (3).

    Instance: one step of descent on Lq at fixed assignments moves the prototypes. P M_a P and X P M_a P X^T, P being
    the projector of what is not captured, contain no prototype: their dominant value after the step is s, as before.
    """
    X, M, p = (matrix(witness[name]) for name in ("X", "M", "p"))
    (q, v), b, eta, s = matrix([witness["q"], witness["v"]]), *(Fraction(witness[name]) for name in ("b", "eta", "s"))
    yield "T = 1 / log b is positive, and coordinates are integers: b", b, on_lattice([X, p], b)
    after = [list(row) for row in p]
    for x, row in zip(X, assignments(X, p, b), strict=True):
        for k, y in enumerate(p):
            after[k] = [a - 2 * eta * row[k] * (c - d) for a, c, d in zip(after[k], y, x, strict=True)]
    yield "the prototypes move", [[str(c) for c in row] for row in after], after != p
    for A in (*residuals(X, M, q, p), *residuals(X, M, q, after)):
        yield "the dominant value of A_res is s", s, dominant(A, v, s)


@verifies(
    "growing/corollary-2",
    {
        "z": [["1", "0"], ["-1", "0"]],
        "p": [["1", "0"], ["-1", "0"]],
        "b": "2",
        "M": [["1", "3"], ["-3", "0"]],
        "captured": [],
        "u": ["1", "0"],
        "s": "3",
        "alpha": ["1", "-1"],
    },
)
def corollary_2(witness):
    """Printed: every expansion guided by lambda_max(A_res) > theta_w preserves and amplifies the separation force.

    Instance: two prototypes at +-a u and centred tokens along u, theta_w = 1. F_sep falls when the components double.
    """
    yield from dominant_direction(witness)
    z, p, b = matrix(witness["z"]), matrix(witness["p"]), Fraction(witness["b"])
    q, u, s = assignments(z, p, b), vector(witness["u"]), Fraction(witness["s"])
    alpha, along = vector(witness["alpha"]), [dot(x, u) for x in z]
    yield "alpha is what tokens have along u, or will gain", [str(a) for a in along], along in (alpha, [0] * len(z))
    yield from separated_along(p, u, alpha)
    yield "lambda_max > theta_w = 1", s, s > 1
    start, end = separation_force(q, p), separation_force(assignments(displaced(z, u, alpha), p, b), p)
    yield "phi(1) < phi(0)", (str(start), str(end)), end < start


def forces_of(z, banks, b):
    """F_sep of all heads."""
    return [separation_force(assignments(z, p, b), p) for p in banks]


@verifies(
    "growing/corollary-2/algorithm",
    {"z": [["1", "0"], ["-1", "1"]], "banks": [[["1", "0"], ["-1", "0"]], [["0", "1"], ["0", "-1"]]], "b": "2"},
)
def corollary_2_algorithm(witness):
    """Read: in the Algorithm, where z_n = f_theta(x_n) does not depend on heads, growth amplifies the force of a
    head that exists.

    Instance: a head, and a second one that is added. The force (4) of each head is that of its own bank, temperature
    and embeddings: that of the first head is the same before and after.
    """
    z, banks, b = matrix(witness["z"]), [matrix(p) for p in witness["banks"]], Fraction(witness["b"])
    yield "T = 1 / log b is positive, and coordinates are integers: b", b, on_lattice([z, *banks], b)
    before, after = forces_of(z, banks[:1], b), forces_of(z, banks, b)
    yield "the first head has a force", before[0], before[0] > 0
    yield (
        "there is one head before, and there are two after",
        (len(before), len(after)),
        (len(before), len(after)) == (1, 2),
    )
    yield "the force of the first head is the same", after[0], after[0] == before[0]
