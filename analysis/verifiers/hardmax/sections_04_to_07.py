"""Verifiers of refuted statements of Sections 4 to 7 of Alcalde, Fantuzzi and Zuazua."""

from fractions import Fraction

from analysis.verifiers.frames.linear_algebra import dot
from analysis.verifiers.frames.script import verifies


@verifies(
    "hardmax/lemma-4.1-boundary", {"tokens": [["1", "1"], ["-1", "1"], ["-1", "-1"], ["1", "-1"]], "point": ["0", "0"]}
)
def lemma_4_1_boundary(witness):
    """Verify an instance that refutes the first half of Lemma 4.1 of Alcalde, Fantuzzi and Zuazua.

    Printed: S = {x in K : max_l <v_l - x, x> = 0}, v_l the vertices of K, is a subset of the boundary of K.

    Instance: the vertices of a square about the origin, A = I. Each token is a leader from the start and stays, so that
    K is the square. For x = 0 all products <v_l - x, x> are zero: the origin is in S as soon as it is in K. (The proof
    maximises the linear function <z, x>, which for x = 0 is constant.)

    The origin is interior if, as here, small multiples of the vectors e_1, -e_1, e_2, -e_2 are means of two vertices.
    """
    z, x = [[Fraction(v) for v in row] for row in witness["tokens"]], [Fraction(v) for v in witness["point"]]
    scores = [[dot(a, b) for b in z] for a in z]
    margins = [row[i] - max(v for j, v in enumerate(row) if j != i) for i, row in enumerate(scores)]
    yield "every token is a leader: least margin of <z_i, z_i> over <z_i, z_j>", min(margins), min(margins) > 0
    support = max(dot([s - t for s, t in zip(v, x, strict=True)], x) for v in z)
    yield "the point is in S: max_l <v_l - x, x>", support, support == 0
    middles = [[(s + t) / 2 - c for s, t, c in zip(a, b, x, strict=True)] for a in z for b in z]
    for e in ([1, 0], [-1, 0], [0, 1], [0, -1]):
        reach = max((dot(m, e) for m in middles if m[0] * e[1] == m[1] * e[0]), default=0)
        yield f"a mean of two vertices lies beyond the point in the direction {e}, at", reach, reach > 0


@verifies("hardmax/proposition-5.3-if", {"tokens": [["1"], ["2"]], "alpha": "1/2", "layers": 8})
def proposition_5_3_if(witness):
    """Verify an instance that refutes one half of Proposition 5.3 of Alcalde, Fantuzzi and Zuazua.

    Printed: token z_i is a leader (C_i(Z^k) = {i} for some k) if its limiting value is a vertex of the polytope K.

    Instance: two tokens 0 < z_1 < z_2 on the line, A = I, any alpha > 0.

    Argument. As long as 0 < z_1 < z_2, <z_1, z_2> > <z_1, z_1> and <z_2, z_2> > <z_2, z_1>: both follow token 2 alone.
    Then z_2 stays and z_2 - z_1 is multiplied by r = 1 / (1 + alpha) in (0, 1), so that 0 < z_1 < z_2 again. By
    induction
    C_1 = {2} in every layer: z_1 is no leader. But z_1 tends to z_2, and K, the intersection of the intervals [z_1,
    z_2], is the point z_2, which is its vertex. (A token that attains a vertex is a leader; the limit is not attained
    here.)

    The induction step is checked on the first layers, in exact arithmetic, and by the sign of r for all others.
    """
    z, alpha = [Fraction(v) for (v,) in witness["tokens"]], Fraction(witness["alpha"])
    r = 1 / (1 + alpha)
    yield "alpha > 0, hence r = 1 / (1 + alpha) is in (0, 1)", r, alpha > 0 and 0 < r < 1
    yield "tokens are nonzero and distinct, 0 < z_1 < z_2", witness["tokens"], len(z) == 2 and 0 < z[0] < z[1]
    yield "at least one layer is checked", witness["layers"], witness["layers"] >= 1
    for k in range(witness["layers"]):
        followed = [[j for j in (0, 1) if z[i] * z[j] == max(z[i] * w for w in z)] for i in (0, 1)]
        after = [r * z[i] + (1 - r) * sum(z[j] for j in followed[i]) / len(followed[i]) for i in (0, 1)]
        fact = followed == [[1], [1]] and after[1] == z[1] and z[1] - after[0] == r * (z[1] - z[0]) > 0
        yield f"layer {k}: both follow token 2, and the distance z_2 - z_1 shrinks by r", float(z[1] - z[0]), fact
        z = after


@verifies(
    "hardmax/claim-theory-applies-to-reviews",
    {
        "review": ["an", "amazing", "film", "<PAD>", "<PAD>", "<PAD>"],
        "encoder": {"<PAD>": ["2"], "an": ["1/2"], "amazing": ["3/2"], "film": ["1"]},
        "alpha": "1/2",
        "layers": 8,
    },
)
def claim_theory_applies_to_reviews(witness):
    """Verify an instance that refutes a claim of Section 6 of Alcalde, Fantuzzi and Zuazua.

    Printed: the clustering theory applies to movie reviews Z^0 = X E, whose rows are the encoder values of n words,
    shorter reviews being padded with the word <PAD>. Read: the tokens of a padded review meet the hypotheses of Theorem
    1.1, which are that they are nonzero and distinct.

    Instance: a review with a word, such as <PAD>, that occurs more than once. Its rows of X are equal, and so are its
    tokens, whatever E is. Nor can the theorem hold for them by chance, A = I here: equal tokens have equal scores, so
    that both or neither are in a set C_j; neither is ever a leader, C_i = {i}, and they remain equal. In the instance
    below the words <PAD> have the largest value on the line, all tokens follow them, and the set of leaders is empty in
    all layers, whereas the theorem says that it is not.
    """
    words, alpha = witness["review"], Fraction(witness["alpha"])
    z = [[Fraction(v) for v in witness["encoder"][str(word)]] for word in words]
    yield "alpha > 0", alpha, alpha > 0
    yield "the tokens of the padded review are not zero: their number", len(z), all(map(any, z))
    alike = [i for i, x in enumerate(z) if z.count(x) > 1]
    yield "they are not distinct: tokens that have an equal one", len(alike), len(alike) > 1
    yield "at least one layer is checked", witness["layers"], witness["layers"] >= 1
    for k in range(witness["layers"]):
        after, leaders = [], []
        for i, x in enumerate(z):
            scores = [sum(a * b for a, b in zip(x, y, strict=True)) for y in z]
            followed = [j for j, score in enumerate(scores) if score == max(scores)]
            leaders += [i] if followed == [i] else []
            mean = [sum(column) / len(followed) for column in zip(*(z[j] for j in followed), strict=True)]
            after.append([u + alpha / (1 + alpha) * (v - u) for u, v in zip(x, mean, strict=True)])
        apart = [i for i in alike if i in leaders or after.count(after[i]) == 1]
        yield f"layer {k}: leaders, none of those tokens, which remain equal", leaders, not apart
        z = after


LAYERS = 5


def pivots(matrix):
    """The pivots of a symmetric matrix, and whether each row of a zero pivot vanishes: semidefinite if so."""
    rest, found, clean = [row[:] for row in matrix], [], True
    for k in range(len(rest)):
        found.append(rest[k][k])
        if rest[k][k] == 0:
            clean = clean and not any(rest[k][k:])
            continue
        for i in range(k + 1, len(rest)):
            factor = rest[i][k] / rest[k][k]
            rest[i] = [v - factor * w for v, w in zip(rest[i], rest[k], strict=True)]
    return found, clean


@verifies(
    "hardmax/claim-semidefinite/tokens",
    {
        "tokens": [["1", "0"], ["1", "1"], ["1/2", "3"], ["-1/3", "0"]],
        "A": [["1", "0"], ["0", "0"]],
        "alpha": "1/2",
    },
)
def claim_semidefinite_tokens(witness):
    """Verify an instance that refutes a reading of Section 7 of Alcalde et al. on semidefinite matrices A.

    Read: for initial tokens that are distinct and nonzero, Theorem 1.1 holds for their components on the range of a
    symmetric, positive semidefinite and singular A; by its part (ii) leaders attain all vertices of the polytope K.

    Instance: two tokens that differ by an element of the kernel of A, and no token has a larger seminorm <A z, z>.

    Argument. The scores <A z_i, z_j> depend on the components only, so that the two follow each other and all tokens
    with their component p, but by Cauchy-Schwarz no others. So this component stays p, the two are no leaders in any
    layer, and nor is another token that attains p. But no convex combination of other components is p, since <A p, y> <
    <A p, p> for each of them, in every layer: p is a vertex of the limit K of the hulls of the components, and the
    limit of no leader.

    What the argument says about one layer is checked on the first layers, in exact arithmetic.
    """
    rows = lambda name: [[Fraction(v) for v in row] for row in witness[name]]
    z, A, alpha = rows("tokens"), rows("A"), Fraction(witness["alpha"])
    query = lambda a: [dot(row, a) for row in A]
    found, clean = pivots(A)
    yield "A is symmetric", len(A), all(A[i][j] == A[j][i] for i in range(len(A)) for j in range(len(A)))
    yield "A is positive semidefinite: least pivot", min(found), clean and min(found) >= 0
    yield "A is singular: number of zero pivots", found.count(0), found.count(0) > 0
    yield "alpha > 0", alpha, alpha > 0
    yield "the tokens are distinct: number of values", len({tuple(row) for row in z}), len({*map(tuple, z)}) == len(z)
    yield "no token is zero", len(z), all(any(row) for row in z)
    norms = [dot(query(row), row) for row in z]
    longest = max(range(len(z)), key=lambda i: norms[i])
    twins = [i for i, row in enumerate(z) if query(row) == query(z[longest])]
    yield "number of tokens with the longest component", len(twins), len(twins) > 1 and norms[longest] > 0
    p = query(z[longest])
    for k in range(LAYERS):
        scores = [[dot(query(a), b) for b in z] for a in z]
        followed = [[j for j, score in enumerate(row) if score == max(row)] for row in scores]
        same = [i for i, row in enumerate(z) if query(row) == p]
        fact = set(twins) <= set(same) and all(followed[i] == same for i in same)
        yield (
            f"layer {k}: number of tokens with this component, which follow all of these and no other",
            len(same),
            fact,
        )
        r, others = 1 / (1 + alpha), [dot(p, row) for i, row in enumerate(z) if i not in same]
        yield f"layer {k}: this component is a vertex", len(others), all(v < norms[longest] for v in others)
        means = [[sum(z[j][c] for j in f) / len(f) for c in range(len(A))] for f in followed]
        z = [[r * v + (1 - r) * m for v, m in zip(a, b, strict=True)] for a, b in zip(z, means, strict=True)]
