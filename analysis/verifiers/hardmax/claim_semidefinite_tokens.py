"""Verify an instance that refutes a reading of Section 7 of Alcalde, Fantuzzi and Zuazua on semidefinite matrices A.

Read: for initial tokens that are distinct and nonzero, Theorem 1.1 holds for their components on the range of a
symmetric, positive semidefinite and singular A; by its part (ii) leaders attain all vertices of the polytope K.

Instance: two tokens that differ by an element of the kernel of A, and no token has a larger seminorm <A z, z>.

Argument. The scores <A z_i, z_j> depend on the components only, so that the two follow each other and all tokens with
their component p, but by Cauchy-Schwarz no others. So this component stays p, the two are no leaders in any layer, and
nor is another token that attains p. But no convex combination of other components is p, since <A p, y> < <A p, p> for
each of them, in every layer: p is a vertex of the limit K of the hulls of the components, and the limit of no leader.

What the argument says about one layer is checked on the first layers, in exact arithmetic.
"""

from fractions import Fraction

from analysis.verifiers.frames.linear_algebra import dot

STATEMENT = "hardmax/claim-semidefinite/tokens"
WITNESS = {
    "tokens": [["1", "0"], ["1", "1"], ["1/2", "3"], ["-1/3", "0"]],
    "A": [["1", "0"], ["0", "0"]],
    "alpha": "1/2",
}
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


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
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
