"""Verify an instance that refutes a word in Remark 5.1 of Rodriguez Abella, Silvestre and Tabuada.

Printed: for U regular, W = U^T U and y on the ellipsoid y.W y = 1, Pi = U^{-1} (I - U y y^T U^T) is a projection to the
tangent space of the ellipsoid at y. Read: a linear map onto the tangent space that fixes tangent vectors. (It maps onto
the tangent space, and the remark needs no more; but it is not idempotent.)

Instance: a regular U, not the identity, and the images X of the unit vectors, tangent vectors, one of which Pi moves.
"""

from fractions import Fraction

from analysis.verifiers.frames.linear_algebra import linear_image

STATEMENT = "consensus/remark-5.1-projection"
WITNESS = {"U": [["2", "0"], ["0", "1"]], "inverse of U": [["1/2", "0"], ["0", "1"]], "y": ["3/10", "4/5"]}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
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
