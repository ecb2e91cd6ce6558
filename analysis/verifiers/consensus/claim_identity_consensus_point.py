"""Verify an instance that refutes a claim at the end of Section 3.3 of Rodriguez Abella, Silvestre and Tabuada.

Printed: for P = I the only equilibria that are asymptotically stable are the consensus equilibria, the points (y, ...,
y). Read: each of these points of (S^n)^l is asymptotically stable. (Asymptotically stable is the set of all of them.)

Instance: the point (y, ..., y), and the same point rotated through the angle 2 arctan(s) in the first two coordinates.
For tokens that coincide the field is a multiple of y - (y.y) y = 0: the rotated point is an equilibrium too, it does
not converge to (y, ..., y), and s can be any positive number. Every neighbourhood contains such points.
"""

from fractions import Fraction

STATEMENT = "consensus/claim-identity-consensus-point"
WITNESS = {"y": ["3/5", "0", "4/5"], "s": ["1/10", "1/1000000", "1/1000000000000"]}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
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
