"""Verify an instance that refutes a sentence of Remark 3 of "DDCL-Attention".

Printed: [Sigma_q P]_k is not zero for every prototype k whenever the prototypes are distinct.

Instance: an embedding at the middle one of three equidistant prototypes on a line. The middle row of Sigma_q P vanishes
by symmetry, at every temperature.
"""

from analysis.verifiers.frames.assignments import assignments, positive_assignments, separation_gradient
from analysis.verifiers.frames.linear_algebra import matrix, vector

STATEMENT = "prototypes/remark-3-nonzero"
WITNESS = {"z": [["0"]], "p": [["-1"], ["0"], ["1"]], "b": "2", "spacing": "1"}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    z, p, grid = matrix(witness["z"]), matrix(witness["p"]), vector(witness[k] for k in ("b", "spacing"))
    yield from positive_assignments(z, p, *grid)
    q = assignments(z, p, *grid)
    yield "prototypes are distinct", witness["p"], len({tuple(y) for y in p}) == len(p)
    rows = [[*map(str, row)] for row in separation_gradient(q, p)]
    yield "2 Sigma_q P has a row of zeros", rows, any(set(row) == {"0"} for row in rows)
