"""Verify an instance that refutes a sentence of Proposition 4 of "DDCL-Attention".

Printed: L_OLS = sum_n min_k |z_n - p_k|^2 is a soft commitment loss without hard argmin, and gradients flow
continuously.

Instance: an embedding z, the first, at equal distances of its two nearest prototypes, moved by h v to either side with
v = (p_1 - p_2) / 2. The gradient 2 (z - p_k), k being the nearest, jumps by 4 (h - 1) v, which does not tend to zero.
"""

from fractions import Fraction

from analysis.verifiers.frames.linear_algebra import squared_distance

STATEMENT = "prototypes/proposition-4-soft"
WITNESS = {"z": [["0"]], "p": [["1"], ["-1"]], "h": ["1/1024", "1/1048576", "1/1073741824"]}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    z, p = [Fraction(v) for v in witness["z"][0]], [[Fraction(v) for v in row] for row in witness["p"]]
    d = [squared_distance(z, y) for y in p]
    tied = d[0] == d[1] > 0 and all(d[0] < v for v in d[2:]) and p[0] != p[1]
    yield "the embedding is tied between two prototypes: squared distances", [*map(str, d)], tied
    v = [(a - b) / 2 for a, b in zip(*p[:2], strict=True)]
    for h in map(Fraction, witness["h"]):
        slopes = []
        for side in (h, -h):
            at = [a + side * b for a, b in zip(z, v, strict=True)]
            nearest = min(p, key=lambda y, at=at: squared_distance(at, y))
            slopes.append([2 * (a - b) for a, b in zip(at, nearest, strict=True)])
        jump, gap = squared_distance(*slopes), squared_distance(*p[:2])
        yield (
            f"the squared jump across 2 h, h = {h}, is at least |p_1 - p_2|^2",
            (str(jump), str(gap)),
            h > 0 < gap <= jump,
        )
