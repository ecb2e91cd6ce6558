"""Verify an instance that refutes a reading of Lemma 3.2 of Alcalde, Fantuzzi and Zuazua.

Printed: for every token |z_i^l| >= |z_i^k| for all l >= k. Read for a symmetric positive definite A and the Euclidean
norm. (Section 3 fixes A = I, and the lemma holds then; for general A it holds in the norm of A.)

Instance: two tokens in the plane. Token 1 follows token 2, which lies farther in the direction of A z_1, but not in the
direction of z_1: its norm decreases in the first layer.
"""

from fractions import Fraction

from analysis.verifiers.frames.linear_algebra import dot

STATEMENT = "hardmax/lemma-3.2/general-attention"
WITNESS = {"A": [["4", "0"], ["0", "1"]], "tokens": [["1", "2"], ["2", "1/2"]], "alpha": "1/2"}


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
    yield "alpha > 0, tokens are nonzero and distinct", alpha, alpha > 0 and all(map(any, z)) and z[0] != z[1]
    scores = [dot([dot(row, z[0]) for row in A], y) for y in z]
    yield "token 1 follows token 2 alone: scores", [*map(str, scores)], scores[1] > scores[0]
    after = [s + alpha / (1 + alpha) * (t - s) for s, t in zip(*z, strict=True)]
    norms = [dot(z[0], z[0]), dot(after, after)]
    yield "its squared norm decreases: before and after", [*map(str, norms)], norms[1] < norms[0]
