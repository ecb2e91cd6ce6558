"""Verifiers of refuted statements of Sections 1 to 3 of Alcalde, Fantuzzi and Zuazua."""

from fractions import Fraction

from analysis.verifiers.frames.linear_algebra import dot
from analysis.verifiers.frames.script import verifies


@verifies("hardmax/claim-s-all-projections", {"tokens": [["4", "0"], ["0", "4"], ["3", "3"]], "edge": [0, 1]})
def claim_s_all_projections(witness):
    """Verify an instance that refutes a sentence of Section 1.1 of Alcalde, Fantuzzi and Zuazua.

    Printed: the cluster points S of (4.1), S = {x in K : max_l <v_l - x, x> = 0}, consist of the vertices v_l of K plus
    projections of the origin onto the faces of K. Read: every such projection that lies in K belongs to S.

    Instance: a triangle of leaders that does not contain the origin, A = I. Each token is a leader from the start and
    stays, so that K is the triangle. The projection p of the origin onto an edge is a point of this edge, but the third
    vertex v lies beyond it, <v - p, p> > 0: p is not in S. (It is if K lies on the side of the origin.)
    """
    z, (i, j) = [[Fraction(v) for v in row] for row in witness["tokens"]], witness["edge"]
    less = lambda a, b: [s - t for s, t in zip(a, b, strict=True)]
    margins = [dot(a, a) - max(dot(a, b) for b in z if b is not a) for a in z]
    yield "every token is a leader: least margin of <z_i, z_i> over <z_i, z_j>", min(margins), min(margins) > 0
    u, v = less(z[1], z[0]), less(z[2], z[0])
    yield (
        "K is a triangle, of which every edge is a face: twice its area",
        u[0] * v[1] - u[1] * v[0],
        u[0] * v[1] != u[1] * v[0],
    )
    along = less(z[j], z[i])
    share = -dot(z[i], along) / dot(along, along)
    p = [s + share * t for s, t in zip(z[i], along, strict=True)]
    yield "the projection p is on the edge: its coordinate along it", share, dot(p, along) == 0 and 0 < share < 1
    beyond = max(dot(less(w, p), p) for w in z)
    yield "p is not in S: max_l <v_l - p, p>", beyond, beyond > 0


@verifies(
    "hardmax/claim-figure-2-rows",
    {
        "leaders": [["2", "1"], ["-2", "1"], ["-2", "-1"], ["2", "-1"]],
        "others in row C": [["1", "1/4"], ["-1", "-1/2"], ["1/2", "1/10"], ["1/10", "-1/3"]],
        "others in row D": [["1", "1/4"], ["-1", "-1/2"], ["1/2", "0"], ["0", "-1/3"]],
        "extra points": [["2", "0"], ["0", "-1"]],
    },
)
def claim_figure_2_rows(witness):
    """Verify an instance that refutes a sentence on Figure 2 in Section 1.1 of Alcalde, Fantuzzi and Zuazua.

    Printed: rows (C) and (D) have the same leaders, as well as the limiting convex polytope K; however, in row (C) the
    cluster set consists of the four leaders, while in row (D) it also contains two extra points. Read with the cluster
    set S = {x in K : max_l <v_l - x, x> = 0} of (4.1), v_l the vertices of K. S is a function of K alone: rows with the
    same K have the same S. (What may differ is the set of limits that the tokens attain.)

    Instance: tokens in the shape of both rows, A = I, four leaders at (p, q), (-p, q), (-p, -q), (p, -q) and the others
    in their rectangle, which is K: the leaders are never left, and hulls shrink. The projections (p, 0) and (0, -q) of
    the origin onto two edges are in S in row (C) as in row (D). The paper prints no coordinates.
    """
    read = lambda name: [[Fraction(v) for v in row] for row in witness[name]]
    v, extra = read("leaders"), read("extra points")
    p, q = v[0]
    yield (
        "the leaders are the corners of a rectangle about the origin: p and q",
        (str(p), str(q)),
        (p > 0 < q and v == [[p, q], [-p, q], [-p, -q], [p, -q]]),
    )
    for row in ("C", "D"):
        z = read(f"others in row {row}")
        reach = max(abs(a) / p for a, _ in z), max(abs(b) / q for _, b in z)
        yield (
            f"row {row}: the others are in the rectangle, and nonzero",
            [*map(str, reach)],
            max(reach) <= 1 and all(map(any, z)),
        )
        margin = min(dot(a, a) - max(dot(a, b) for b in v + z if b is not a) for a in v)
        yield f"row {row}: each corner follows itself alone: least margin of its score", margin, margin > 0
    for x in extra:
        support = max(dot([s - t for s, t in zip(w, x, strict=True)], x) for w in v)
        inside = abs(x[0]) <= p and abs(x[1]) <= q
        yield (
            f"{[*map(str, x)]} is in S and no leader: max <v_l - x, x>",
            support,
            support == 0 and inside and x not in v,
        )


def layer(z, alpha):
    """The tokens after one layer (1.1) with A = I."""
    after = []
    for x in z:
        scores = [sum(s * t for s, t in zip(x, y, strict=True)) for y in z]
        followed = [y for y, s in zip(z, scores, strict=True) if s == max(scores)]
        mean = [sum(column) / len(followed) for column in zip(*followed, strict=True)]
        after.append([s + alpha / (1 + alpha) * (t - s) for s, t in zip(x, mean, strict=True)])
    return after


def extent(z, clusters):
    """The largest squared distance within a cluster and the least between two clusters."""
    square = lambda i, j: sum((s - t) ** 2 for s, t in zip(z[i], z[j], strict=True))
    within = max(square(i, j) for c in clusters for i in c for j in c)
    return within, min(square(i, j) for c in clusters for d in clusters if c is not d for i in c for j in d)


@verifies(
    "hardmax/claim-no-metastability",
    {
        "tokens": [
            ["1", "1", "0"],
            ["1", "-1", "0"],
            ["17592186044417/17592186044416", "0", "1"],
            ["1/2", "0", "-1/4"],
            ["1/2", "0", "-1/3"],
        ],
        "A": [["1", "0", "0"], ["0", "1", "0"], ["0", "0", "1"]],
        "alpha": "1",
        "formed": [8, 40],
        "clusters": [[0], [1], [2], [3, 4]],
        "merged": 60,
        "clusters then": [[0], [1], [2, 3, 4]],
    },
)
def claim_no_metastability(witness):
    """Verify an instance that refutes a claim of Section 1.3 of Alcalde, Fantuzzi and Zuazua.

    Printed: the hardmax formulation prevents the emergence of metastable states, where tokens initially form clusters
    that merge slowly; clusters remain fixed once determined in finite time. Read: clusters are sets of tokens within
    1/64 of each other and at least 1/2 from all others; they have formed when no token moves by more than 1/64 for 16
    layers.

    Instance, with A = I: leaders a = (1, 1, 0), b = (1, -1, 0), c = (1 + e, 0, 1) with a small e, and two tokens (x, 0,
    z) with 0 < x < 1 and z < 0. These follow a and b, tied by symmetry, as long as z < -e x, and approach (1, 0, 0)
    meanwhile: a layer divides 1 - x and z by 1 + alpha. Once z > -e x, after about log(1 / e) / log(1 + alpha) layers,
    in most of which nothing seems to move, c has the larger score, and the two merge with c. A smaller e makes the wait
    as long as one likes.

    The map (1.1) is iterated in exact rational arithmetic.
    """
    alpha, z = Fraction(witness["alpha"]), [[Fraction(v) for v in row] for row in witness["tokens"]]
    A = [[Fraction(v) for v in row] for row in witness["A"]]
    unit = [[Fraction(i == j) for j in range(len(A))] for i in range(len(A))]
    yield "A = I and alpha > 0", alpha, alpha > 0 and unit == A
    yield "tokens are nonzero and distinct: their number", len(z), all(map(any, z)) and len({*map(tuple, z)}) == len(z)
    states = [z]
    for _ in range(witness["merged"]):
        states.append(layer(states[-1], alpha))
    (first, last), clusters, then = witness["formed"], witness["clusters"], witness["clusters then"]
    near, far = Fraction(1, 64) ** 2, Fraction(1, 2) ** 2
    yield "they are formed for 16 layers: from and to", (first, last), last - first >= 16
    extents = [extent(x, clusters) for x in states[first : last + 1]]
    worst = max(w for w, _ in extents), min(b for _, b in extents)
    yield (
        "squared extents of the clusters, at most 1/64^2, and distances, at least 1/4",
        [*map(float, worst)],
        (worst[0] <= near and worst[1] >= far),
    )
    pairs = zip(states[first:last], states[first + 1 : last + 1], strict=True)
    moved = max(
        sum((s - t) ** 2 for s, t in zip(x, y, strict=True)) for a, b in pairs for x, y in zip(a, b, strict=True)
    )
    yield "largest squared displacement in a layer, at most 1/64^2", float(moved), moved <= near
    end = extent(states[-1], then)
    yield (
        f"the same for the clusters {then} at layer {witness['merged']}",
        [*map(float, end)],
        end[0] <= near and end[1] >= far,
    )
    yield "some of the clusters have merged: their numbers", (len(clusters), len(then)), len(then) < len(clusters)


@verifies(
    "hardmax/remark-1.3/boundary", {"tokens": [["-1"], ["-1/2"], ["0"], ["1/2"], ["1"]], "alpha": "1/2", "layers": 8}
)
def remark_1_3_boundary(witness):
    """Verify an instance that refutes a reading of Remark 1.3 of Alcalde, Fantuzzi and Zuazua.

    Printed: if a token value is initially zero, Theorem 1.1 still holds provided that one adds the origin to the set S,
    a finite subset of the boundary of the polytope K. Read: Theorem 1.1 with S and the origin in place of S, its
    inclusion in the boundary of K included. (That every token converges to S or to the origin is true; only the
    inclusion fails.)

    Instance: the remark's own example, the tokens -1, -1/2, 0, 1/2, 1 on the line with A = I and alpha > 0.

    Argument. The tokens 1 and -1 follow themselves, 1/2 follows 1, -1/2 follows -1, and 0 follows all tokens, whose
    mean is 0. One layer multiplies the distances of the second and the fourth token from -1 and 1 by r = 1 / (1 +
    alpha): this is the state (-1, -1 + x, 0, 1 - x, 1) with 0 < x < 1 again, x multiplied by r. By induction on layers
    z_1, z_3 and z_5 never move, K = [-1, 1], and z_3 = 0 converges to 0: the added origin must be kept, and it is
    interior to K.
    """
    z, alpha = [Fraction(v) for (v,) in witness["tokens"]], Fraction(witness["alpha"])
    r, n = 1 / (1 + alpha), range(len(z))
    yield "alpha > 0, hence r = 1 / (1 + alpha) is in (0, 1)", r, alpha > 0 and 0 < r < 1
    yield "tokens are distinct, one is zero", witness["tokens"], len({*z}) == len(z) == 5 and z[2] == 0
    yield "at least one layer is checked", witness["layers"], witness["layers"] >= 1
    for k in range(witness["layers"]):
        x = 1 - z[3]
        yield (
            f"layer {k} is (-1, -1 + x, 0, 1 - x, 1) with 0 < x < 1: x",
            float(x),
            z == [-1, x - 1, 0, 1 - x, 1] and 0 < x < 1,
        )
        followed = [[j for j in n if z[i] * z[j] == max(z[i] * w for w in z)] for i in n]
        yield "follower sets", followed, followed == [[0], [0], [0, 1, 2, 3, 4], [4], [4]]
        z = [r * z[i] + (1 - r) * sum(z[j] for j in followed[i]) / len(followed[i]) for i in n]
        yield "in the next layer x is multiplied by r", float(1 - z[3]), 1 - z[3] == r * x
    yield "the origin is interior to K = [-1, 1]", (str(z[0]), str(z[4])), z[0] < 0 < z[4]


@verifies(
    "hardmax/claim-sphere-fixed",
    {"A": [["2", "1"], ["1", "1"]], "tokens": [["0", "1"], ["3/5", "4/5"]], "alpha": "1/2"},
)
def claim_sphere_fixed(witness):
    """Verify an instance that refutes a remark of Section 2.3 of Alcalde, Fantuzzi and Zuazua.

    Printed: if tokens are projected onto the unit sphere in place of the normalization (2.4), all tokens starting on
    the unit circle remain fixed for all times (by the argument in Lemma 5.1 (i)). Read for a symmetric positive
    definite A, as in Assumption 2.1. (For A = I it holds: then <z_i, z_i> = 1 is larger than any other product.)

    Instance: tokens on the unit circle and a matrix A for which token 1 follows token 2, A z_1 being closer to z_2.
    After (2.2) with (2.3) token 1 is z_1 + alpha z_2, and its projection onto the circle is another point than z_1.
    """
    A, z = ([[Fraction(v) for v in row] for row in witness[name]] for name in ("A", "tokens"))
    alpha = Fraction(witness["alpha"])
    minors = [A[0][0], A[0][0] * A[1][1] - A[0][1] * A[1][0]]
    yield (
        "A is symmetric and positive definite: leading minors",
        [*map(str, minors)],
        A[0][1] == A[1][0] and min(minors) > 0,
    )
    norms = [str(dot(a, a)) for a in z]
    yield "alpha > 0, and squared norms of the tokens", (str(alpha), norms), alpha > 0 and norms == ["1"] * len(z)
    scores = [dot([dot(row, z[0]) for row in A], b) for b in z]
    followed = [b for b, s in zip(z, scores, strict=True) if s == max(scores)]
    yield "token 1 does not follow itself: scores <A z_1, z_j>", [*map(str, scores)], z[0] not in followed
    mean = [sum(b[k] for b in followed) / len(followed) for k in (0, 1)]
    moved = [s + alpha * t for s, t in zip(z[0], mean, strict=True)]
    turn = z[0][0] * moved[1] - z[0][1] * moved[0]
    yield "token 1 after the layer is no multiple of z_1: cross product", turn, turn != 0


@verifies("hardmax/claim-softmax-limit/uniform", {"m": [64, 1024, 16384], "gap times m": "1"})
def claim_softmax_limit_uniform(witness):
    """Verify an instance that refutes a reading of Section 2.3 of Alcalde, Fantuzzi and Zuazua.

    Printed: when the tokens are assumed to be in a compact set, then the hardmax formulation is formally obtained from
    the softmax weights (2.6) by letting the temperature tau -> 0. Read: uniformly over tokens in the compact set. (For
    fixed tokens the limit holds, and no compact set is needed.)

    Instance: A = I, three tokens in the square [-1, 1]^2, and the temperatures tau = 1 / (m log 2), at which
    exponentials exp(s / tau) = 2^(m s) of suitable scores are rational. The scores of token 1 are 1/4, 1/2 and 1/2 -
    1/m: hardmax gives token 2 the weight 1 and softmax less than 2/3, whatever m is.
    """
    for m in witness["m"]:
        gap = Fraction(witness["gap times m"]) / m
        z = [[Fraction(1, 2), Fraction(0)], [Fraction(1), Fraction(1)], [1 - 2 * gap, Fraction(-1)]]
        largest = max(abs(v) for row in z for v in row)
        yield f"m = {m}: the tokens are in the square", largest, largest <= 1
        scores = [sum(s * t for s, t in zip(z[0], y, strict=True)) for y in z]
        powers = [m * (s - max(scores)) for s in scores]
        yield (
            "token 1 follows token 2 alone: m (score - largest score)",
            [*map(str, powers)],
            (powers[1] == 0 > max(powers[0], powers[2]) and all(v.denominator == 1 for v in powers)),
        )
        weight = 1 / sum(Fraction(2) ** int(v) for v in powers)
        yield "the softmax weight of token 2, where hardmax has 1", float(weight), weight < Fraction(2, 3)


@verifies(
    "hardmax/lemma-3.2/general-attention",
    {"A": [["4", "0"], ["0", "1"]], "tokens": [["1", "2"], ["2", "1/2"]], "alpha": "1/2"},
)
def lemma_3_2_general_attention(witness):
    """Verify an instance that refutes a reading of Lemma 3.2 of Alcalde, Fantuzzi and Zuazua.

    Printed: for every token |z_i^l| >= |z_i^k| for all l >= k. Read for a symmetric positive definite A and the
    Euclidean norm. (Section 3 fixes A = I, and the lemma holds then; for general A it holds in the norm of A.)

    Instance: two tokens in the plane. Token 1 follows token 2, which lies farther in the direction of A z_1, but not in
    the direction of z_1: its norm decreases in the first layer.
    """
    A, z = ([[Fraction(v) for v in row] for row in witness[name]] for name in ("A", "tokens"))
    alpha = Fraction(witness["alpha"])
    minors = [A[0][0], A[0][0] * A[1][1] - A[0][1] * A[1][0]]
    yield (
        "A is symmetric and positive definite: leading minors",
        [*map(str, minors)],
        A[0][1] == A[1][0] and min(minors) > 0,
    )
    yield "alpha > 0, tokens are nonzero and distinct", alpha, alpha > 0 and all(map(any, z)) and z[0] != z[1]
    scores = [dot([dot(row, z[0]) for row in A], y) for y in z]
    yield "token 1 follows token 2 alone: scores", [*map(str, scores)], scores[1] > scores[0]
    after = [s + alpha / (1 + alpha) * (t - s) for s, t in zip(*z, strict=True)]
    norms = [dot(z[0], z[0]), dot(after, after)]
    yield "its squared norm decreases: before and after", [*map(str, norms)], norms[1] < norms[0]
