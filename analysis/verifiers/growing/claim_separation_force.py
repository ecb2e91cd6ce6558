"""Verify an instance that refutes a sentence of Section 3.1 of "DDCL-INCRT".

Printed: whenever two prototypes coincide, the gradient 2 P Sigma_q pushes them apart.

Instance: two of three prototypes coincide; their gradients are the same.
"""

from fractions import Fraction

from analysis.verifiers.frames.assignments import assignments, on_lattice
from analysis.verifiers.frames.linear_algebra import matrix
from analysis.verifiers.frames.separation import deviations

STATEMENT = "growing/claim-separation-force"
WITNESS = {"z": [["0", "0"], ["1", "2"]], "p": [["1", "0"], ["1", "0"], ["0", "2"]], "b": "2", "spacing": "1"}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    h, b = Fraction(witness["spacing"]), Fraction(witness["b"])
    z, p = ([[v / h for v in row] for row in matrix(witness[name])] for name in ("z", "p"))
    yield (
        "T = h^2 / log b is positive, and coordinates are multiples of h, their unit: b",
        b,
        h > 0 and on_lattice([z, p], b),
    )
    q = assignments(z, p, b)
    yield "the first two prototypes coincide", p[0] == p[1], p[0] == p[1]
    yield "the third is elsewhere", p[2] != p[0], p[2] != p[0]
    r = deviations(q, p)
    yield "their gradients, halved, are the same", [str(v) for v in r[0]], r[0] == r[1]
