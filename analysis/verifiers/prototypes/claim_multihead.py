"""Verify an instance that refutes a sentence of Section 3.2 of "DDCL-Attention".

Printed: the decomposition (3), Lq = L_OLS + V, holds for each head.

Instance: one token and two heads. In each head the embedding W_h x lies between two prototypes.
"""

from fractions import Fraction

from analysis.verifiers.frames.assignments import assignments, losses, on_lattice
from analysis.verifiers.frames.linear_algebra import matrix

STATEMENT = "prototypes/claim-multihead"
WITNESS = {
    "x": [["1", "2"]],
    "W": [[["2", "-1"]], [["1", "-1"]]],
    "p": [[["1"], ["-1"]], [["0"], ["2"]]],
    "b": "2",
    "spacing": "1",
}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    x, grid = matrix(witness["x"]), [Fraction(witness[name]) for name in ("b", "spacing")]
    for h, (projection, prototypes) in enumerate(zip(witness["W"], witness["p"], strict=True)):
        p, rows = matrix(prototypes), matrix(projection)
        z = [[sum(u * v for u, v in zip(row, token, strict=True)) for row in rows] for token in x]
        yield (
            f"head {h}: T is positive, and coordinates are multiples of the spacing: base and spacing",
            [*map(str, grid)],
            on_lattice([z, p], *grid),
        )
        loss, hard, variance = losses(z, p, assignments(z, p, *grid))
        yield f"head {h}: Lq is not M + V: Lq - M - V", loss - hard - variance, loss != hard + variance
