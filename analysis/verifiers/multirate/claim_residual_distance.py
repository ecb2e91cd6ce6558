"""Verify an instance that refutes a sentence of Section 11.1 of "Attention is just another name for coupling?".

Printed: the residual |Post(x) - x| measures the distance to equilibrium. Read: of two states the one with the smaller
residual is closer to the fixed point. (For a contraction with constant L the distance is between residual / (1 + L) and
residual / (1 - L), which decides nothing if L is near 1.)

Instance: Post(x) = w - t phi(w) with w = x + f in the plane, f an injected term, and phi(w) = w / sqrt(|w|^2 / 2 + e)
an RMSNorm; at the states of the witness the roots are rational. With r the root, the derivative of w - t phi(w) has the
eigenvalues 1 - t e / r^3 along w and 1 - t / r across, in (-1, 1) if 0 < t < 2 sqrt(e), and bounded away from 1 in
every ball: a contraction there, which is slow along the ray of w. One state is farther out on the ray of the fixed
point, the other beside it.
"""

from fractions import Fraction

STATEMENT = "multirate/claim-residual-distance"
WITNESS = {
    "t": "2",
    "e": "9",
    "forcing": ["8/5", "8/5"],
    "fixed point": ["12/5", "12/5"],
    "states": [["161/40", "161/40"], ["463/120", "113/120"]],
    "roots": ["5", "51/8", "125/24"],
}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    t, e = Fraction(witness["t"]), Fraction(witness["e"])
    yield "Post is a contraction in every ball: t > 0 and t^2 < 4 e", (str(t), str(e)), t > 0 and t * t < 4 * e
    forcing = [Fraction(v) for v in witness["forcing"]]
    points = [[Fraction(v) for v in x] for x in (witness["fixed point"], *witness["states"])]
    residuals = []
    for x, root in zip(points, map(Fraction, witness["roots"]), strict=True):
        w = [a + f for a, f in zip(x, forcing, strict=True)]
        mean = sum(v * v for v in w) / len(w) + e
        yield "the root of |w|^2 / d + e", root, root > 0 and root * root == mean
        residuals.append([f - t * v / root for f, v in zip(forcing, w, strict=True)])
    yield "Post(x) - x at the fixed point", [*map(str, residuals[0])], not any(residuals[0])
    sizes = [sum(v * v for v in r) for r in residuals[1:]]
    yield "the first state has the smaller residual: squares", [*map(str, sizes)], sizes[0] < sizes[1]
    distances = [sum((a - b) ** 2 for a, b in zip(x, points[0], strict=True)) for x in points[1:]]
    yield "and the larger distance from the fixed point: squares", [*map(str, distances)], distances[0] > distances[1]
