"""Verify an instance that refutes a step of the Algorithm in Section 3.4 of "DDCL-INCRT".

Printed: the updates of prototypes spread them and raise A_res, recomputed via (3).

Instance: one step of descent on Lq at fixed assignments moves the prototypes. P M_a P and X P M_a P X^T, P being the
projector of what is not captured, contain no prototype: their dominant value after the step is s, as before.
"""

from fractions import Fraction

from analysis.verifiers.frames.assignments import assignments, on_lattice
from analysis.verifiers.frames.linear_algebra import matrix, matrix_product, transpose
from analysis.verifiers.frames.residuals import antisymmetric_part, complement, dominant

STATEMENT = "growing/claim-prototypes-raise-residual"
WITNESS = {
    "X": [["1", "0", "0"], ["0", "1", "0"], ["0", "0", "1"]],
    "M": [["1", "2", "0"], ["-2", "3", "1"], ["0", "-1", "0"]],
    "q": ["0", "0", "1"],
    "p": [["1", "0", "0"], ["0", "1", "2"]],
    "b": "2",
    "eta": "1/8",
    "v": ["1", "0", "0"],
    "s": "2",
}


def residuals(X, M, q, p):
    """A_res in the readings `features` and `tokens` at a state with prototypes p, which do not occur in (3)."""
    del p
    inside = matrix_product(matrix_product(complement(q), antisymmetric_part(M)), complement(q))
    return inside, matrix_product(matrix_product(X, inside), transpose(X))


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    X, M, p = (matrix(witness[name]) for name in ("X", "M", "p"))
    (q, v), b, eta, s = matrix([witness["q"], witness["v"]]), *(Fraction(witness[name]) for name in ("b", "eta", "s"))
    yield "T = 1 / log b is positive, and coordinates are integers: b", b, on_lattice([X, p], b)
    after = [list(row) for row in p]
    for x, row in zip(X, assignments(X, p, b), strict=True):
        for k, y in enumerate(p):
            after[k] = [a - 2 * eta * row[k] * (c - d) for a, c, d in zip(after[k], y, x, strict=True)]
    yield "the prototypes move", [[str(c) for c in row] for row in after], after != p
    for A in (*residuals(X, M, q, p), *residuals(X, M, q, after)):
        yield "the dominant value of A_res is s", s, dominant(A, v, s)
