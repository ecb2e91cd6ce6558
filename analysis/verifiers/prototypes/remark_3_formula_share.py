"""Verify an instance without dead codes, against a reading of Remark 3 of Cirrincione et al.

Printed: VQ-VAE with K codes has floor(100 (1 - 1/K)) percent dead-code risk. Read: this percentage of the codes is
dead, that is, receives zero gradient.

Instance: every code is nearest to some embedding. The codebook loss sum_n |sg[z_n] - p_k(n)|^2 has the derivative
2 sum_{n: k(n) = k} (p_k - z_n) by the code p_k.
"""

from fractions import Fraction
from math import floor

STATEMENT = "prototypes/remark-3-formula/share"
WITNESS = {"codes": [["0"], ["1"], ["2"]], "embeddings": [["1/4"], ["5/4"], ["9/4"]]}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    p, z = ([[Fraction(v) for v in row] for row in witness[name]] for name in ("codes", "embeddings"))
    d = [[sum((a - b) ** 2 for a, b in zip(x, y, strict=True)) for y in p] for x in z]
    nearest = [row.index(min(row)) for row in d]
    single = all(row.count(min(row)) == 1 for row in d)
    yield "the nearest codes, without ties", nearest, single
    gradient = [[Fraction(0)] * len(y) for y in p]
    for x, k in zip(z, nearest, strict=True):
        gradient[k] = [g + 2 * (b - a) for g, a, b in zip(gradient[k], x, p[k], strict=True)]
    dead = sum(not any(g) for g in gradient)
    formula = floor(100 * (1 - Fraction(1, len(p))))
    yield "derivatives by the codes", [[*map(str, g)] for g in gradient], True
    yield (
        f"percent of dead codes, where the formula has {formula}",
        floor(100 * Fraction(dead, len(p))),
        dead == 0 < formula,
    )
