"""Verify an instance that refutes a claim of Section 8 of "Attention is just another name for coupling?".

Printed: self-attention with a row-stochastic matrix A is one application of a stochastic matrix, the integrated form
e^{Q tau} of a generator Q. Read: every attention matrix A is e^{Q tau}.

Instance: two tokens whose scores are 0 for themselves and log(k), k > 1, for each other, so that A is 1 / (1 + k) times
((1, k), (k, 1)). For every real Q and tau, det e^{Q tau} = e^{tau tr Q} > 0. But det A = (1 - k) / (1 + k) < 0. (Nor is
A the propagator of a time-dependent generator, whose determinant is positive too.)
"""

from fractions import Fraction

STATEMENT = "multirate/claim-attention-exponential"
WITNESS = {"exponentials of the scores": [["1", "3"], ["3", "1"]]}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    raw = [[Fraction(v) for v in row] for row in witness["exponentials of the scores"]]
    least = min(v for row in raw for v in row)
    yield "exponentials of scores are positive: the least", least, least > 0
    A = [[v / sum(row) for v in row] for row in raw]
    yield (
        "A, the softmax of the rows, is row-stochastic",
        [[*map(str, row)] for row in A],
        all(sum(row) == 1 for row in A),
    )
    determinant = A[0][0] * A[1][1] - A[0][1] * A[1][0]
    yield "det A", determinant, determinant < 0
