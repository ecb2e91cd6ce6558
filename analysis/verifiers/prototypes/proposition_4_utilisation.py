"""Verify an instance that refutes a sentence of Proposition 4 of "DDCL-Attention".

Printed: full codebook utilisation is guaranteed by construction. In Table 5 a prototype is used if its mean assignment
exceeds .01.

Instance: an embedding, a prototype near it and one far away.
"""

from fractions import Fraction

from analysis.verifiers.frames.assignments import assignments, positive_assignments
from analysis.verifiers.frames.linear_algebra import matrix, vector

STATEMENT = "prototypes/proposition-4-utilisation"
WITNESS = {"z": [["0"]], "p": [["1"], ["3"]], "b": "2", "spacing": "1"}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    z, p, grid = matrix(witness["z"]), matrix(witness["p"]), vector(witness[k] for k in ("b", "spacing"))
    yield from positive_assignments(z, p, *grid)
    q = assignments(z, p, *grid)
    yield "prototypes are distinct", witness["p"], len({tuple(y) for y in p}) == len(p)
    means = [sum(column) / len(q) for column in zip(*q, strict=True)]
    yield "the least mean assignment is not above 1/100", float(min(means)), min(means) <= Fraction(1, 100)
