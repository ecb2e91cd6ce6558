"""Verify an instance that refutes a reading of Section 3.3 of Rodriguez Abella, Silvestre and Tabuada.

Printed: when P is not the identity, the linearisation at equilibria leads to conditions whose validity cannot be easily
ascertained. Read: (8) with W = P symmetric and positive definite is another system than (8) with P = I.

Instance: P = B^T B. In the coordinates z_i = B y_i the exponents are the same, y_i.P y_j = z_i.z_j, and so are the
weights; and term by term B (y_j - (y_i.P y_j) y_i) = z_j - (z_i.z_j) z_i. The two systems are conjugate by a linear
map, and all conditions on P are those on I. Any P has such a factor; the instance has a rational one.
"""

from fractions import Fraction

from analysis.verifiers.frames.linear_algebra import dot, linear_image, rank

STATEMENT = "consensus/claim-general-p-not-ascertainable/conjugacy"
WITNESS = {
    "P": [["5", "4"], ["4", "5"]],
    "B": [["2", "1"], ["1", "2"]],
    "tokens": [["2/15", "1/3"], ["-22/39", "29/39"], ["2/3", "-1/3"]],
}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
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
