"""Verify an instance that refutes a remark of Section 2.3 of Alcalde, Fantuzzi and Zuazua.

Printed: if tokens are projected onto the unit sphere in place of the normalization (2.4), all tokens starting on the
unit circle remain fixed for all times (by the argument in Lemma 5.1 (i)). Read for a symmetric positive definite A, as
in Assumption 2.1. (For A = I it holds: then <z_i, z_i> = 1 is larger than any other product.)

Instance: tokens on the unit circle and a matrix A for which token 1 follows token 2, A z_1 being closer to z_2. After
(2.2) with (2.3) token 1 is z_1 + alpha z_2, and its projection onto the circle is another point than z_1.
"""

from fractions import Fraction

from analysis.verifiers.frames.linear_algebra import dot

STATEMENT = "hardmax/claim-sphere-fixed"
WITNESS = {"A": [["2", "1"], ["1", "1"]], "tokens": [["0", "1"], ["3/5", "4/5"]], "alpha": "1/2"}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
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
