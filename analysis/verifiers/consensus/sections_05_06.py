"""Verifiers of refuted statements of Sections 5 and 6 of Rodriguez Abella, Silvestre and Tabuada."""

import math
from fractions import Fraction

from analysis.verifiers.frames.linear_algebra import bilinear_form, linear_image, product
from analysis.verifiers.frames.script import verifies


def total(*terms):
    """The sum of polynomials."""
    return [sum(p[k] for p in terms if k < len(p)) for k in range(max(map(len, terms)))]


def positive(p):
    """Whether a polynomial has nonnegative coefficients that are not all zero."""
    return min(p) >= 0 < max(p)


def cross(u, v):
    """The cross product of two plane vectors of polynomials: the derivative of the angle of u if u' = v."""
    return total(product(u[0], v[1]), product([-1], product(u[1], v[0])))


@verifies("consensus/theorem-5.1-domain", {"y1": ["1", "0"], "y2": ["-3/5", "4/5"], "P": [["0", "0"], ["0", "0"]]})
def theorem_5_1_domain(witness):
    """Verify an instance that refutes the domain of attraction in Theorem 5.1 of Rodriguez Abella et al..

    Printed: for bounded P_h(t) the domain of attraction of the consensus set of (15) contains every initial condition
    with y_j != -y_1 for all j >= 2.

    Instance: three tokens on the circle (or on a great circle of S^n, which is invariant), one head, P = 0, and a
    second token y_2 other than y_1 and -y_1. Some y_3 on the open arc from -y_1 to -(y_1 + y_2) / |y_1 + y_2|, hence
    y_3 != -y_1, does not reach consensus.

    Argument. With P = 0 the weights of a token are equal, so that (15) is, up to positive factors, y_2' = y_1 -
    (y_1.y_2) y_2 and y_3' = (y_1 + y_2) - (y_3.(y_1 + y_2)) y_3. Measure angles from y_1, with y_2 at an angle in (0,
    pi):
    (a) the angle of y_2 decreases to 0 and stays positive, so the direction m of y_1 + y_2, at half that angle, turns
    back; (b) at y_3 = -y_1 the angle of y_3 decreases: a solution that has fallen below the angle pi stays below it;
    (c) at y_3 = -m the angle of y_3 has derivative 0 while that of -m decreases: a solution above -m stays above it.
    The sets of initial y_3 on the closed arc from -y_1 to -m that come to lie below pi, or above -m, are open by (b),
    (c) and continuity, disjoint, and contain one end of the arc each. The arc is connected, so some y_3 is in neither:
    its solution stays between -y_1 and -m for all t, and m -> y_1 takes it to -y_1. It never approaches y_1 = lim y_2.

    The signs in (a)-(c) are checked for every position of y_2 on the open half-circle: with s > 0, m = (1 + 2 s, 2 s +
    2 s^2) / (1 + 2 s + 2 s^2) runs through all angles in (0, pi/2); a polynomial in s whose coefficients are
    nonnegative and not all zero is positive.
    """
    y1, y2 = ([Fraction(v) for v in witness[name]] for name in ("y1", "y2"))
    yield (
        "|y_1|^2 and |y_2|^2 are 1",
        (str(y1[0] ** 2 + y1[1] ** 2), str(y2[0] ** 2 + y2[1] ** 2)),
        all(y[0] ** 2 + y[1] ** 2 == 1 for y in (y1, y2)),
    )
    yield (
        "P = 0, which makes the weights equal",
        witness["P"],
        all(Fraction(v) == 0 for row in witness["P"] for v in row),
    )
    turn = y1[0] * y2[1] - y1[1] * y2[0]
    yield "y_2 is at an angle in (0, pi) from y_1: y_1 x y_2 > 0", turn, turn > 0
    # m = (c, t) / N and y_2 = (c^2 - t^2, 2 c t) / N^2 in the frame of y_1; all vectors below are multiplied by N^2
    c, t, N = [1, 2], [0, 2, 2], [1, 2, 2]
    one = product(N, N)
    same = total(product(c, c), product(t, t), product([-1], one))
    yield "m is a unit vector: c^2 + t^2 - N^2 = 0", same, not any(same)
    first, second = (one, [0]), (total(product(c, c), product([-1], product(t, t))), product([2], product(c, t)))
    drive = tuple(total(u, v) for u, v in zip(first, second, strict=True))
    rate = product([-1], cross(second, first))
    yield "(a) the angle of y_2 decreases: coefficients of minus its rate", rate, positive(rate)
    rate = product([-1], cross(([-1], [0]), drive))
    yield "(b) at -y_1 the angle of y_3 decreases: coefficients of minus its rate", rate, positive(rate)
    rate = cross((product([-1], c), product([-1], t)), drive)
    yield "(c) at -m the rate of the angle of y_3 is zero", rate, not any(rate)
    yield "the arc from -y_1 to -m has positive length: coefficients of the sine", t, positive(t)


@verifies(
    "consensus/theorem-5.1-iss", {"derivative of V": ["-1", "0", "1"], "w(1) / r": ["1", "1/1000", "1/1000000000000"]}
)
def theorem_5_1_iss(witness):
    """Verify an instance that refutes a step in the proof of Theorem 5.1 of Rodriguez Abella, Silvestre and Tabuada.

    Printed: V(a) = 2/3 - a + a^3/3, (17), is an ISS-Lyapunov function on (-1, 1] for the equilibrium a = 1 of (19),
    with input e. Such a function decreases for e = 0 at least at a rate w(1 - a), with w continuous, w(0) = 0 and
    increasing.

    Instance: a = -1 + d, d -> 0. For e = 0 the rate is -V' = r(t) (1 - a^2)^2 with r(t) <= r, a bound by Lemma 4.1, and
    (1 - a^2)^2 = d^2 (2 - d)^2 <= 4 d^2. An increasing w would give w(1) <= w(1 - a) = w(2 - d) <= 4 r d^2 for all d in
    (0, 1]; d -> 0 leaves w(1) <= 0, which is not so. For every candidate value w(1) / r of the list a d is found at
    which the inequality fails.
    """
    p, q, r = map(Fraction, witness["derivative of V"])
    slope = lambda a: p + q * a + r * a * a
    yield (
        "dV/da at 0, 1/2 and 1, which agrees with (17)",
        [*map(str, map(slope, (0, Fraction(1, 2), 1)))],
        all(slope(a) == a * a - 1 for a in (0, Fraction(1, 2), 1)),
    )
    for bound in map(Fraction, witness["w(1) / r"]):
        d = Fraction(1)
        while 4 * d * d >= bound > 0:
            d /= 2
        a = d - 1
        yield (
            "a positive candidate w(1) / r, and 1 - a >= 1",
            (float(bound), float(1 - a)),
            bound > 0 and 1 <= 1 - a < 2,
        )
        rate = slope(a) ** 2
        yield "the rate / r at this a is smaller", float(rate), rate <= 4 * d * d < bound


@verifies(
    "consensus/claim-value-matrix-consensus",
    {"lambda": "1", "mu": "-3", "delta": ["7/25", "24/25"], "eta": ["3/5", "4/5"]},
)
def claim_value_matrix_consensus(witness):
    """Verify an instance that refutes a claim of the abstract of Rodriguez Abella, Silvestre and Tabuada.

    Printed: all results point to the same conclusion, all tokens asymptotically converge to each other. Read for the
    model (21) of Section 6, outside the hemispheres of Theorem 6.1: U symmetric with a simple top eigenvalue lambda >
    0, P bounded, almost every initial condition.

    Instance: two tokens on a sphere, P = 0, U = diag(lambda, mu, ..., mu) with mu < 0 < lambda. With y_i = (b_i, w_i)
    and r_i = |w_i|, the open set b_1 > 0, r_1 < delta, b_2 < 0, r_2 < eta is never left, and the tokens stay far apart
    on it.

    Argument. With P = 0 all weights of a token are equal; alpha is that of token 1 or 2.
    Token 1: (r_1^2)' = 2 alpha (mu - y_1.U y_1) r_1^2 = 2 alpha (mu - lambda) b_1^2 r_1^2 <= 0: r_1 stays below delta,
    and b_1 = sqrt(1 - r_1^2) does not change its sign, hence b_1 > sqrt(1 - delta^2).
    Token 2: (r_2^2)' / (2 alpha) = mu b_2^2 (w_2.w_1 + r_2^2) - lambda b_2 (b_1 + b_2) r_2^2. At r_2 = eta, with
    beta = sqrt(1 - eta^2) = -b_2, b_1 <= 1 and w_2.w_1 >= -eta delta, this is at most
        mu beta^2 (eta^2 - eta delta) + lambda beta (1 - beta) eta^2 < 0,
    so that r_2 stays below eta and b_2 < -beta. Then |y_1 - y_2| >= b_1 - b_2 > sqrt(1 - delta^2) + beta for all t.

    The witness has delta and eta with their cosines sqrt(1 - delta^2) and sqrt(1 - eta^2).
    """
    lam, mu = Fraction(witness["lambda"]), Fraction(witness["mu"])
    (delta, near), (eta, beta) = ([Fraction(x) for x in witness[name]] for name in ("delta", "eta"))
    yield "the top eigenvalue lambda is simple and positive", lam, mu < lam and lam > 0
    yield "the other eigenvalue mu is negative", mu, mu < 0
    yield "delta^2 + cosine^2", delta**2 + near**2, delta**2 + near**2 == 1 and delta > 0 < near
    yield "eta^2 + cosine^2", eta**2 + beta**2, eta**2 + beta**2 == 1 and eta > 0 < beta
    yield "delta < eta, the sign with which mu < 0 is bounded", eta - delta, delta < eta
    rate = mu * beta**2 * (eta**2 - eta * delta) + lam * beta * (1 - beta) * eta**2
    yield "bound of (r_2^2)' / (2 alpha) at r_2 = eta", rate, rate < 0
    yield "lower bound of |y_1 - y_2| for all t", near + beta, near + beta > 0


DIGITS = 10**40


def outward(low, high):
    """An interval that contains [low, high], with ends that are multiples of 1 / DIGITS."""
    return Fraction(math.floor(low * DIGITS), DIGITS), Fraction(math.ceil(high * DIGITS), DIGITS)


def exponential(x):
    """Bounds of exp(x): for x >= 0 the terms after number n sum to at most twice the next if 2 x <= n + 2."""
    if x < 0:
        low, high = exponential(-x)
        return outward(1 / high, 1 / low)
    n = 60 + 2 * math.ceil(x)
    low = sum(x**k / math.factorial(k) for k in range(n + 1))
    return outward(low, low + 2 * x ** (n + 1) / math.factorial(n + 1))


def cosine(x):
    """Bounds of cos(x), |x| <= 2: two partial sums of a series whose terms alternate and decrease from k = 1."""
    sums = [sum((-1) ** k * x ** (2 * k) / math.factorial(2 * k) for k in range(n)) for n in (30, 31)]
    return outward(min(sums), max(sums))


def field(heads, low, high):
    """Bounds of F on the interval [low, high] of positive numbers c, for the numbers a, d and p of each head."""
    bottom, top = Fraction(0), Fraction(0)
    for a, d, p in heads:
        exponents = sorted([p * (1 - low), p * (1 - high)])
        least, most = 1 / (1 + exponential(exponents[1])[1]), 1 / (1 + exponential(exponents[0])[0])
        terms = sorted([a * least, a * most]), sorted([(a - d) * (1 - most) * low, (a - d) * (1 - least) * high])
        bottom, top = bottom + terms[0][0] + terms[1][0], top + terms[0][1] + terms[1][1]
    return bottom, top


@verifies(
    "consensus/claim-multihead-value",
    {
        "U": [[["0", "0"], ["0", "5"]], [["1", "0"], ["0", "-9/2"]]],
        "P": [[["5", "0"], ["0", "5"]], [["-5", "0"], ["0", "-5"]]],
        "v": ["1", "0"],
        "tokens": [["1", "0"], ["4/5", "3/5"]],
        "interval": ["1/5", "4/5"],
        "angle": ["1.36514844", "1.36514846"],
    },
)
def claim_multihead_value(witness):
    """Verify an instance that refutes a belief stated in Section 1 of Rodriguez Abella, Silvestre and Tabuada.

    Printed: Theorem 6.1 was established for one head only, although we believe it holds in greater generality. Read for
    h heads with symmetric value matrices U_h and bounded P_h: if U = sum_h U_h, the matrix that drives the first token,
    has a simple top eigenvalue lambda > 0 with eigenvector v, then solutions with v.y_i > 0 for all i converge to (v,
    ..., v).

    Instance: two causal tokens on the circle, and two heads with a common eigenvector v = y_1 of their U_h, which is
    not the top one of each; in the coordinates v and w, orthogonal to it, U_h = diag(a_h, d_h), and P_h = p_h I. The
    second token starts in the open hemisphere of v and stays away from v for all t.

    Argument. y_1 = v is an equilibrium for token 1, since U v = lambda v. For token 2 let c = v.y_2. In head h its
    weight on token 1 is, up to the factor 1 / sqrt 2, w_h = 1 / (1 + exp(p_h (1 - c))), and that on itself is 1 - w_h.
    The model gives c' = (1 - c^2) F(c) / sqrt 2, where
        F(c) = sum_h a_h w_h + (1 - w_h) (a_h - d_h) c.
    F is positive at some c_0 in (0, 1) and negative at some c_1 in (c_0, 1): the interval [c_0, c_1] is never left, and
    the distance from v is at least sqrt(2 - 2 c_1). The angle of an equilibrium in it is enclosed by a change of sign
    of F.

    F is evaluated in rational interval arithmetic, exp and cos by their Taylor series with bounds of the remainder.
    """
    U, P = ([[[Fraction(e) for e in row] for row in M] for M in witness[name]] for name in ("U", "P"))
    v, (y1, y2) = [Fraction(e) for e in witness["v"]], ([Fraction(e) for e in y] for y in witness["tokens"])
    w = [-v[1], v[0]]
    norms = [y[0] ** 2 + y[1] ** 2 for y in (v, y1, y2)]
    yield (
        "v and the tokens are on the circle, and y_1 = v: squared norms",
        [*map(str, norms)],
        {*norms} == {1} and y1 == v,
    )
    mixed = [bilinear_form(v, M, w) for M in U] + [bilinear_form(w, M, v) for M in U]
    yield (
        "v is an eigenvector of every U_h, and they are symmetric: off-diagonal entries",
        [*map(str, mixed)],
        not any(mixed),
    )
    scalar = all(M[0][0] == M[1][1] and M[0][1] == M[1][0] == 0 for M in P)
    yield "every P_h is a multiple of I", witness["P"], scalar
    heads = [(bilinear_form(v, M, v), bilinear_form(w, M, w), Q[0][0]) for M, Q in zip(U, P, strict=True)]
    lam, mu = (sum(head[k] for head in heads) for k in (0, 1))
    yield "lambda > 0 is the simple top eigenvalue of U, of v: its eigenvalues", (str(lam), str(mu)), lam > max(mu, 0)
    c, (low, high) = v[0] * y2[0] + v[1] * y2[1], map(Fraction, witness["interval"])
    yield "y_2 starts in the hemisphere of v, in the interval [c_0, c_1]: v.y_2", c, 0 < low <= c <= high < 1
    for name, at, sign in (("c_0", low, 1), ("c_1", high, -1)):
        bounds = field(heads, at, at)
        yield (
            f"F({name}) is {'positive' if sign > 0 else 'negative'}",
            [*map(float, bounds)],
            min(sign * b for b in bounds) > 0,
        )
    yield "squared distance of y_2 from v for all t is at least", 2 - 2 * high, 2 - 2 * high > 0
    small, large = (Fraction(v) for v in witness["angle"])
    yield "the angles are in order, below 2", witness["angle"], 0 < small < large < 2
    ends = [cosine(large), cosine(small)]
    inside = low < ends[0][0] and ends[1][1] < high
    yield "their cosines are in [c_0, c_1]", [float(e) for pair in ends for e in pair], inside
    signs = [field(heads, *pair) for pair in ends]
    yield "F at these cosines", [float(b) for pair in signs for b in pair], signs[0][0] > 0 > signs[1][1]


@verifies("consensus/theorem-6.1-equilibria", {"lambda": "1", "mu": "-2/3", "tokens": [["1", "0"], ["-3/5", "4/5"]]})
def theorem_6_1_equilibria(witness):
    """Verify an instance that refutes a step in the proof of Theorem 6.1 of Rodriguez Abella, Silvestre and Tabuada.

    Printed: for e = 0 and lambda > 0 the only equilibria b_i of (23) in [-1, 1] are 1 and -1. (On [0, 1] this is so,
    and the theorem needs no more.)

    Instance: causal tokens on the circle, P = 0, U = diag(lambda, mu) with mu < 0 < lambda, y_1, ..., y_(i-1) = v = e_1
    (so e = 0) and y_i = (b, s) with b = -(i - 1) lambda / (lambda - mu). With equal weights, b' is a multiple of (1 -
    b^2) ((i - 1) lambda + (lambda - mu) b) = 0; the whole field of (21) is zero at this state.
    """
    u = [Fraction(witness["lambda"]), Fraction(witness["mu"])]
    tokens = [[Fraction(v) for v in y] for y in witness["tokens"]]
    yield "lambda > 0 is the simple top eigenvalue", witness["lambda"], u[0] > max(u[1], 0)
    norms = [y[0] ** 2 + y[1] ** 2 for y in tokens]
    yield "the tokens are on the circle", [*map(str, norms)], {*norms} == {1}
    yield "the earlier tokens are v", len(tokens) - 1, len(tokens) > 1 and all(y == [1, 0] for y in tokens[:-1])
    for i, y in enumerate(tokens):
        drive = [f * sum(column) for f, column in zip(u, zip(*tokens[: i + 1], strict=True), strict=True)]
        along = drive[0] * y[0] + drive[1] * y[1]
        field = [f - along * v for f, v in zip(drive, y, strict=True)]
        yield f"the field of token {i + 1} without the common weight", [*map(str, field)], not any(field)
    b = tokens[-1][0]
    yield "b is in (-1, 1)", b, -1 < b < 1


@verifies(
    "consensus/remark-5.1-projection",
    {"U": [["2", "0"], ["0", "1"]], "inverse of U": [["1/2", "0"], ["0", "1"]], "y": ["3/10", "4/5"]},
)
def remark_5_1_projection(witness):
    """Verify an instance that refutes a word in Remark 5.1 of Rodriguez Abella, Silvestre and Tabuada.

    Printed: for U regular, W = U^T U and y on the ellipsoid y.W y = 1, Pi = U^{-1} (I - U y y^T U^T) is a projection to
    the tangent space of the ellipsoid at y. Read: a linear map onto the tangent space that fixes tangent vectors. (It
    maps onto the tangent space, and the remark needs no more; but it is not idempotent.)

    Instance: a regular U, not the identity, and the images X of the unit vectors, tangent vectors, one of which Pi
    moves.
    """
    U, inverse = ([[Fraction(v) for v in row] for row in witness[name]] for name in ("U", "inverse of U"))
    y, d = [Fraction(v) for v in witness["y"]], range(len(U))
    unit = [[Fraction(i == k) for i in d] for k in d]
    regular = all(linear_image(U, linear_image(inverse, e)) == e for e in unit)
    yield "U is regular, with its inverse", witness["inverse of U"], regular
    z = linear_image(U, y)
    size = sum(v * v for v in z)
    yield "y is on the ellipsoid: y.W y", size, size == 1

    def image(X):
        """Pi X."""
        inner = sum(a * b for a, b in zip(z, X, strict=True))
        return linear_image(inverse, [x - inner * w for x, w in zip(X, z, strict=True)])

    images = [image(e) for e in unit]  # each is tangent
    tangent = [sum(a * b for a, b in zip(z, linear_image(U, X), strict=True)) for X in images]
    yield "the images X of the unit vectors are tangent: y.W X", [*map(str, tangent)], not any(tangent)
    moved = [X for X in images if image(X) != X]
    yield "Pi moves some of them", [[*map(str, X)] for X in moved], len(moved) > 0


@verifies("consensus/lemma-6.1-lower", {"U": ["3", "2", "1"], "start": ["0", "4/5", "3/5"]})
def lemma_6_1_lower(witness):
    """Verify an instance that refutes part (2) of Lemma 6.1 of Rodriguez Abella, Silvestre and Tabuada.

    Printed: a unit eigenvector y* of U for an eigenvalue below the top one is unstable for (22) with empty domain of
    attraction. Read: no solution other than y* itself converges to y*.

    Instance: U = diag(u_1, u_2, u_3) with u_1 > u_2 > u_3, y* = e_2 and a start on the circle y_1 = 0, other than y*.

    Argument. In coordinates (22) is y_k' = a(t) (u_k - q) y_k with q = y.U y. So y_1 = 0 is invariant, y_2 keeps its
    sign, and the ratio r = y_3 / y_2 obeys r' = -a(t) (u_2 - u_3) r with a(t) >= c > 0: it tends to 0 whatever a(t) is.
    On the circle y_1 = 0 with y_2 > 0 this means that y converges to e_2 = y*.
    """
    u, y = ([Fraction(x) for x in witness[name]] for name in ("U", "start"))
    norm, q = sum(v * v for v in y), sum(a * v * v for a, v in zip(u, y, strict=True))
    yield (
        "the top eigenvalue is simple, and y* = e_2 belongs to a lower one: eigenvalues",
        witness["U"],
        u[0] > max(u[1:]),
    )
    yield "the start is on the sphere: |y|^2", norm, norm == 1
    yield "it is not y*: y_3", y[2], y[2] != 0
    yield "it is in the half-space of y*: y_2", y[1], y[1] > 0
    field = [(a - q) * v for a, v in zip(u, y, strict=True)]
    tangent = sum(f * v for f, v in zip(field, y, strict=True))
    yield "the field is tangent: y.y'", tangent, tangent == 0
    yield "the circle y_1 = 0 is invariant: y_1 and y_1'", (str(y[0]), str(field[0])), y[0] == 0 == field[0]
    ratio, rate = y[2] / y[1], (field[2] * y[1] - y[2] * field[1]) / y[1] ** 2
    yield "r' / (a r) = u_3 - u_2 at the start", rate / ratio if ratio else 0, rate == (u[2] - u[1]) * ratio
    yield "r tends to 0: u_2 - u_3", u[1] - u[2], u[1] > u[2]
