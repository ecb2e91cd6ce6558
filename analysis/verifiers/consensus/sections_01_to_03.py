"""Verifiers of refuted statements of Sections 1 to 3 of Rodriguez Abella, Silvestre and Tabuada."""

from fractions import Fraction
from math import isqrt

from analysis.verifiers.frames.linear_algebra import bilinear_form, dot, linear_image, pivots, rank
from analysis.verifiers.frames.script import verifies

WITNESS_1 = {"tokens": [["2/3", "-1/3", "2/3"], ["-2/3", "1/3", "-2/3"], ["2/3", "-1/3", "2/3"]]}


@verifies("consensus/equation-25", WITNESS_1)
def equation_25(witness):
    """Verify an instance that refutes a sentence on (25) in Section 7.4 of Rodriguez Abella, Silvestre and Tabuada.

    Printed: E = 1 - (1/l) sum_i |y_1.y_i| / (|y_1| |y_i|) only becomes zero when all the tokens are located at the same
    configuration. (The printed sum starts at i = 0; there is no y_0, and it is read from i = 1.)

    Instance: tokens y and -y on the sphere. The absolute value makes E zero although they differ.
    """
    tokens = [[Fraction(v) for v in row] for row in witness["tokens"]]
    norms = [str(dot(y, y)) for y in tokens]
    yield "squared norms of the tokens", norms, norms == ["1"] * len(tokens)
    gap = max(dot(tokens[0], tokens[0]) - dot(tokens[0], y) for y in tokens)
    yield "the tokens do not coincide: largest 1 - y_1.y_i", gap, gap > 0
    E = 1 - sum(abs(dot(tokens[0], y)) for y in tokens) / len(tokens)
    yield "E", E, E == 0


@verifies(
    "consensus/equation-5",
    {
        "tokens": [["1", "0", "0", "0"], ["0", "1", "0", "0"]],
        "W": [["1", "0", "0", "0"], ["0", "1", "0", "0"], ["0", "0", "1", "0"], ["0", "0", "0", "1"]],
        "W_h V_h": [[["1", "0", "0", "0"], ["0", "1", "0", "0"], ["0", "0", "1", "0"], ["0", "0", "0", "1"]]],
        "exponents of two": [[["0", "1", "0", "0"], ["0", "0", "0", "0"], ["0", "0", "0", "0"], ["0", "0", "0", "0"]]],
    },
)
def equation_5(witness):
    """Verify an instance that refutes the equivalence of (5) and (6) of Rodriguez Abella, Silvestre and Tabuada.

    Printed: y(k+1) = pi_W(y + W V y D exp(y^T K^T Q y)), (5), "more explicitly" reads token by token y_i(k+1) =
    pi_W(y_i + sum_j W V D_ii exp(y_j^T K^T Q y_i) y_j), (6), with D_ii^{-1} = sqrt(n+1) sum_l exp(y_l^T K^T Q y_i).

    Instance: heads with rational matrices W_h V_h, d the square of an integer, and K_h^T Q_h = (log 2) M_h, so that all
    numbers are rational: exp(y_j^T K^T Q y_i) = 2^(y_j.M y_i), with integer exponents. In the product y D exp(R) column
    i is sum_j y_j D_jj exp(R)_{ji}: (5) divides by D_jj^{-1}, the sum of the key, where (6) has D_ii^{-1}, the sum of
    the query. Two vectors have the same projection to the ellipsoid only if they are parallel.
    """
    y, W = ([[Fraction(v) for v in row] for row in witness[name]] for name in ("tokens", "W"))
    heads, forms = (
        [[[Fraction(v) for v in row] for row in M] for M in witness[name]] for name in ("W_h V_h", "exponents of two")
    )
    n, d = range(len(y)), len(W)
    root = isqrt(d)
    yield "d is a square, so that its root is rational", d, root**2 == d
    symmetric = all(W[i][j] == W[j][i] for i in range(d) for j in range(i))
    gaps = [W[i][i] - sum(abs(W[i][j]) for j in range(d) if j != i) for i in range(d)]
    yield "W is positive definite: diagonal less the others of its row", [*map(str, gaps)], symmetric and min(gaps) > 0
    norms = [bilinear_form(v, W, v) for v in y]
    yield "the tokens are on the ellipsoid of W", [*map(str, norms)], {*norms} == {1}
    five, six, whole = [v[:] for v in y], [v[:] for v in y], True
    for A, M in zip(heads, forms, strict=True):
        power = [[bilinear_form(y[j], M, y[i]) for i in n] for j in n]
        whole = whole and all(v.denominator == 1 for row in power for v in row)
        weight = [[Fraction(2) ** int(v) for v in row] for row in power]
        D = [Fraction(1) / (root * sum(weight[j][i] for j in n)) for i in n]
        values = [[sum(a * b for a, b in zip(row, v, strict=True)) for row in A] for v in y]
        for i in n:
            for k in range(d):
                five[i][k] += sum(D[j] * weight[j][i] * values[j][k] for j in n)
                six[i][k] += sum(D[i] * weight[j][i] * values[j][k] for j in n)
    yield "the exponents are integers", len(forms), whole
    yield "before the projection, (5)", [[*map(str, row)] for row in five], all(any(row) for row in five)
    yield "before the projection, (6)", [[*map(str, row)] for row in six], all(any(row) for row in six)
    turns = [
        max(abs(p[a] * q[b] - p[b] * q[a]) for a in range(d) for b in range(a)) for p, q in zip(five, six, strict=True)
    ]
    yield "some pair is not parallel: largest cross products", [*map(float, turns)], any(turns)


@verifies("consensus/claim-identity-every-initial-position", WITNESS_1)
def claim_identity_every_initial_position(witness):
    """Verify an instance that refutes a claim of Section 1 of Rodriguez Abella, Silvestre and Tabuada.

    Printed: with one head, U = I and P symmetric and positive definite the tokens converge to an equilibrium,
    guaranteed to be of consensus type when P = I, for every initial position of the tokens.

    Instance: P = I and tokens at y or -y, both taken. For every token, y_j - (y_i.y_j) y_i = 0 for all j, whatever the
    weights are: the initial position is an equilibrium, at which two tokens differ.
    """
    tokens = [[Fraction(v) for v in row] for row in witness["tokens"]]
    norms = [str(dot(y, y)) for y in tokens]
    yield "squared norms of the tokens", norms, norms == ["1"] * len(tokens)
    terms = [[v - dot(x, y) * u for u, v in zip(x, y, strict=True)] for x in tokens for y in tokens]
    largest = max(abs(v) for term in terms for v in term)
    yield "largest entry of a term y_j - (y_i.y_j) y_i of the field", largest, largest == 0
    gap = max(2 - 2 * dot(tokens[0], y) for y in tokens)
    yield "largest squared distance from the first token, for all t", gap, gap > 0


@verifies(
    "consensus/theorem-3.2-lojasiewicz",
    {"P": [["1", "0"], ["0", "4"]], "tokens": [["3/5", "2/5"], ["3/5", "2/5"], ["3/5", "2/5"]]},
)
def theorem_3_2_lojasiewicz(witness):
    """Verify an instance that refutes an inequality in the proof of Theorem 3.2 of Rodriguez Abella et al..

    Printed: for some lambda > 0, |V_P| <= lambda |grad V_P| on the product of ellipsoids, V_P = -(1/2) sum_{i,j}
    exp(y_i.P y_j), which the proof calls the Lojasiewicz inequality.

    Instance: l tokens at one point u of the ellipsoid u.P u = 1.

    Argument. The derivative of V_P along tangent vectors z_1, ..., z_l is -(1/2) sum_{i,j} e (z_i.P u + u.P z_j), and
    tangent vectors at u are those with z.P u = 0: it vanishes, so that grad V_P = 0 in any metric. But V_P = -l^2 e / 2
    is not zero, and no lambda makes |V_P| <= 0. (The inequality of Lojasiewicz has V_P - V_P(y*) and an exponent in
    it.)
    """
    P, tokens = ([[Fraction(x) for x in row] for row in witness[name]] for name in ("P", "tokens"))
    size = range(len(P))
    symmetric = all(P[i][j] == P[j][i] for i in size for j in range(i))
    signs = pivots(P)
    yield "P is symmetric and positive definite: pivots", [*map(str, signs)], symmetric and min(signs) > 0
    duals = [[sum(P[i][j] * y[j] for j in size) for i in size] for y in tokens]
    exponents = [sum(a * b for a, b in zip(x, dual, strict=True)) for x in tokens for dual in duals]
    yield (
        "tokens are on the ellipsoid and all exponents y_i.P y_j are 1",
        sorted({*map(str, exponents)}),
        {*exponents} == {1},
    )
    # moving token k along z changes the terms (k, j) and (j, k), each exponential being e: by -e z . sum_j P y_j
    drive = [sum(column) for column in zip(*duals, strict=True)]
    normal = [all(drive[i] * dual[j] == drive[j] * dual[i] for i in size for j in range(i)) for dual in duals]
    yield "that is zero for z with z.P y_k = 0: sum_j P y_j is a multiple of P y_k", [*map(str, drive)], all(normal)
    least = Fraction(len(exponents), 2) * (1 + 1 + Fraction(1, 2))
    yield "lower bound of |V_P|, with e > 5/2", least, least > 0


@verifies(
    "consensus/claim-identity-consensus-point",
    {"y": ["3/5", "0", "4/5"], "s": ["1/10", "1/1000000", "1/1000000000000"]},
)
def claim_identity_consensus_point(witness):
    """Verify an instance that refutes a claim at the end of Section 3.3 of Rodriguez Abella, Silvestre and Tabuada.

    Printed: for P = I the only equilibria that are asymptotically stable are the consensus equilibria, the points (y,
    ..., y). Read: each of these points of (S^n)^l is asymptotically stable. (Asymptotically stable is the set of all of
    them.)

    Instance: the point (y, ..., y), and the same point rotated through the angle 2 arctan(s) in the first two
    coordinates. For tokens that coincide the field is a multiple of y - (y.y) y = 0: the rotated point is an
    equilibrium too, it does not converge to (y, ..., y), and s can be any positive number. Every neighbourhood contains
    such points.
    """
    y = [Fraction(v) for v in witness["y"]]
    norm = sum(v * v for v in y)
    yield "|y|^2", norm, norm == 1
    yield "the rotation moves y: y_1^2 + y_2^2", y[0] ** 2 + y[1] ** 2, y[0] ** 2 + y[1] ** 2 > 0
    for s in map(Fraction, witness["s"]):
        c, t = (1 - s * s) / (1 + s * s), 2 * s / (1 + s * s)
        z = [c * y[0] - t * y[1], t * y[0] + c * y[1], *y[2:]]
        square = sum(v * v for v in z)
        field = [v - square * v for v in z]
        yield f"the field at the point rotated with s = {s}", [*map(str, field)], square == 1 and not any(field)
        gap = sum((v - w) ** 2 for v, w in zip(z, y, strict=True))
        yield "its squared distance from y, at most 4 s^2 and not zero", float(gap), 0 < gap <= 4 * s * s


@verifies(
    "consensus/claim-general-p-not-ascertainable/conjugacy",
    {
        "P": [["5", "4"], ["4", "5"]],
        "B": [["2", "1"], ["1", "2"]],
        "tokens": [["2/15", "1/3"], ["-22/39", "29/39"], ["2/3", "-1/3"]],
    },
)
def claim_general_p_not_ascertainable_conjugacy(witness):
    """Verify an instance that refutes a reading of Section 3.3 of Rodriguez Abella, Silvestre and Tabuada.

    Printed: when P is not the identity, the linearisation at equilibria leads to conditions whose validity cannot be
    easily ascertained. Read: (8) with W = P symmetric and positive definite is another system than (8) with P = I.

    Instance: P = B^T B. In the coordinates z_i = B y_i the exponents are the same, y_i.P y_j = z_i.z_j, and so are the
    weights; and term by term B (y_j - (y_i.P y_j) y_i) = z_j - (z_i.z_j) z_i. The two systems are conjugate by a linear
    map, and all conditions on P are those on I. Any P has such a factor; the instance has a rational one.
    """
    P, B, tokens = ([[Fraction(v) for v in row] for row in witness[name]] for name in ("P", "B", "tokens"))
    size = range(len(P))
    yield "P is not the identity", witness["P"], [[int(i == j) for j in size] for i in size] != P
    columns = [*zip(*B, strict=True)]
    square = [[dot(x, y) for y in columns] for x in columns]
    yield "B^T B = P, which is symmetric and not negative", witness["B"], square == P
    norms = [dot(y, linear_image(P, y)) for y in tokens]
    yield "tokens are on the ellipsoid: y.P y", [*map(str, norms)], {*norms} == {1}
    span = rank(B)
    yield "B is regular, and P positive: rank of B", span, span == len(B)
    z = [linear_image(B, y) for y in tokens]
    pairs = [(i, j) for i in range(len(z)) for j in range(len(z))]
    gaps = [dot(tokens[i], linear_image(P, tokens[j])) - dot(z[i], z[j]) for i, j in pairs]
    yield "largest difference of the exponents", max(map(abs, gaps)), not any(gaps)
    moved = [
        linear_image(B, [v - dot(x, linear_image(P, y)) * u for u, v in zip(x, y, strict=True)])
        for x, y in ((tokens[i], tokens[j]) for i, j in pairs)
    ]
    direct = [[v - dot(z[i], z[j]) * u for u, v in zip(z[i], z[j], strict=True)] for i, j in pairs]
    gap = max(abs(s - t) for a, b in zip(moved, direct, strict=True) for s, t in zip(a, b, strict=True))
    yield "largest difference of the terms of the fields in the coordinates z", gap, gap == 0
