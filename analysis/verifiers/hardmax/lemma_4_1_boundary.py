"""Verify an instance that refutes the first half of Lemma 4.1 of Alcalde, Fantuzzi and Zuazua.

Printed: S = {x in K : max_l <v_l - x, x> = 0}, v_l the vertices of K, is a subset of the boundary of K.

Instance: the vertices of a square about the origin, A = I. Each token is a leader from the start and stays, so that K
is the square. For x = 0 all products <v_l - x, x> are zero: the origin is in S as soon as it is in K. (The proof
maximises the linear function <z, x>, which for x = 0 is constant.)

The origin is interior if, as here, small multiples of the vectors e_1, -e_1, e_2, -e_2 are means of two vertices.
"""

from fractions import Fraction

from analysis.verifiers.frames.linear_algebra import dot

STATEMENT = "hardmax/lemma-4.1-boundary"
WITNESS = {"tokens": [["1", "1"], ["-1", "1"], ["-1", "-1"], ["1", "-1"]], "point": ["0", "0"]}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
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
