"""Verify an instance that refutes the formula in Remark 4.2 of Rodriguez Abella, Silvestre and Tabuada.

Printed: l tokens drawn uniformly at random on S^n lie on the same hemisphere with the probability 2^(1-l)
sum_{mu=0}^{n-1} binom(l-1, mu). (Tokens on S^n are in R^(n+1), so that the sum of Wendel's theorem ends at n.)

Instance: l points of R^(n+1) in general position. The signs of uniform tokens are independent of their lines, and each
choice of signs has the same probability 2^-l; the number of choices of signs of points in general position for which
they are in an open half-space does not depend on the points (Wendel), and is found by enumeration.
"""

from fractions import Fraction
from itertools import combinations, product
from math import comb

STATEMENT = "consensus/remark-4.2-formula"
WITNESS = {"l": 2, "n": 1, "points": [["1", "0"], ["1", "2"]]}


def determinant(rows):
    """The determinant of a square matrix, by its first row."""
    if not rows:
        return 1
    minors = ([[*row[:k], *row[k + 1 :]] for row in rows[1:]] for k in range(len(rows)))
    return sum((-1) ** k * rows[0][k] * determinant(minor) for k, minor in enumerate(minors))


def hemispheres(points):
    """The signs s for which some v has s_i v.x_i > 0 for all i, for points in general position.

    Each choice is that of a cone of vectors v. If there are at least d points, every cone has an edge: a vector
    orthogonal to d - 1 points, which may have either sign next to it. Fewer points have every choice of signs.
    """
    l, d = len(points), len(points[0])
    if l < d:
        return set(product((1, -1), repeat=l))
    found = set()
    for chosen in combinations(range(l), d - 1):
        rows = [points[i] for i in chosen]
        edge = [(-1) ** k * determinant([[*row[:k], *row[k + 1 :]] for row in rows]) for k in range(d)]
        side = [0 if i in chosen else sum(a * b for a, b in zip(edge, x, strict=True)) for i, x in enumerate(points)]
        for free in product((1, -1), repeat=d - 1):
            filled = iter(free)
            one = tuple(next(filled) if i in chosen else (1 if s > 0 else -1) for i, s in enumerate(side))
            found |= {one, tuple(-s for s in one)}
    return found


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    l, n = int(witness["l"]), int(witness["n"])
    points = [[Fraction(v) for v in row] for row in witness["points"]]
    yield (
        "l >= 2 points of R^(n+1): l and n",
        (l, n),
        l >= 2 and n >= 1 and {l} | {n + 1} == {len(points), len(points[0])},
    )
    filled = points + [[Fraction(i == k) for i in range(n + 1)] for k in range(n + 1 - l)]
    general = all(determinant([*chosen]) != 0 for chosen in combinations(filled, n + 1))
    yield "they are in general position: any n + 1, or all, are independent", witness["points"], general
    share = Fraction(len(hemispheres(points)), 2**l)
    printed = Fraction(sum(comb(l - 1, mu) for mu in range(n)), 2 ** (l - 1))
    yield (
        "the share of sign choices in a hemisphere, and the printed formula",
        (str(share), str(printed)),
        share != printed,
    )
    full = Fraction(sum(comb(l - 1, mu) for mu in range(n + 1)), 2 ** (l - 1))
    yield "the same sum up to n is the share", full, full == share
