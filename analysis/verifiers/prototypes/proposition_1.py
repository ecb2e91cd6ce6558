"""Verify an instance that refutes Proposition 1 of "DDCL-Attention".

Printed: for any differentiable encoder, its parameters, prototypes and T > 0, Lq = L_OLS + V exactly.

Instance: the affine encoder z = W x + c. Lq, L_OLS = M and V are rational and not as printed.
"""

from fractions import Fraction

from analysis.verifiers.frames.assignments import assignments, losses, on_lattice
from analysis.verifiers.frames.linear_algebra import matrix

STATEMENT = "prototypes/proposition-1"
WITNESS = {"x": [["1"], ["3"]], "weight": [["2"]], "bias": ["-3"], "p": [["1"], ["-2"]], "b": "2", "spacing": "1"}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    x, weight, p = (matrix(witness[name]) for name in ("x", "weight", "p"))
    grid = [Fraction(witness[name]) for name in ("b", "spacing")]
    rows = [*zip(weight, map(Fraction, witness["bias"]), strict=True)]
    z = [[sum(u * v for u, v in zip(row, datum, strict=True)) + c for row, c in rows] for datum in x]
    yield (
        "T is positive, and coordinates are multiples of the spacing: base and spacing",
        [*map(str, grid)],
        on_lattice([z, p], *grid),
    )
    loss, hard, variance = losses(z, p, assignments(z, p, *grid))
    yield "V is not negative", variance, variance >= 0
    yield "Lq is not M + V: Lq - M - V", loss - hard - variance, loss != hard + variance
