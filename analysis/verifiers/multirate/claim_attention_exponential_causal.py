"""Verify an instance that refutes a reading of Section 8 of "Attention is just another name for coupling?".

Printed: attention is the integrated form e^{Q tau} of a generator. Read: every causal attention matrix A is e^{Q tau}
with Q a generator (off-diagonal entries >= 0, rows of sum zero).

Instance: three causal tokens, with squares 1, 1/m^2, 1/q^2 on the diagonal of A, m != q, all greater than zero.

Argument. If A = e^{Q tau}, then B = e^{Q tau / 2} is stochastic and B B = A. A has distinct real eigenvalues, and Q
commutes with A: Q is a polynomial in A and lower triangular with a real diagonal, and B is lower triangular with a
positive diagonal. The only such B with B B = A is found entry by entry; its entry (3, 1) is negative.
"""

from fractions import Fraction

STATEMENT = "multirate/claim-attention-exponential/causal"
WITNESS = {"A": [["1", "0", "0"], ["3/4", "1/4", "0"], ["1/9", "7/9", "1/9"]], "roots": ["1", "1/2", "1/3"]}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    A, b = [[Fraction(v) for v in row] for row in witness["A"]], [Fraction(v) for v in witness["roots"]]
    sums = [str(sum(row)) for row in A]
    yield "rows of A sum to one", sums, sums == ["1"] * 3
    lower = [A[i][j] for i in range(3) for j in range(i + 1)]
    yield (
        "A is causal, with positive entries up to the diagonal: the least",
        min(lower),
        (min(lower) > 0 and A[0][1] == A[0][2] == A[1][2] == 0),
    )
    fact = all(s > 0 and s * s == A[i][i] for i, s in enumerate(b))
    yield "positive roots of the diagonal, all different", witness["roots"], fact and len({*b}) == 3
    B21, B32 = A[1][0] / (b[0] + b[1]), A[2][1] / (b[1] + b[2])
    B31 = (A[2][0] - B32 * B21) / (b[0] + b[2])
    B = [[b[0], 0, 0], [B21, b[1], 0], [B31, B32, b[2]]]
    square = [[sum(B[i][k] * B[k][j] for k in range(3)) for j in range(3)] for i in range(3)]
    yield "the half step B with B B = A", [[*map(str, row)] for row in B], square == A
    yield "its entry (3, 1) is negative", B31, B31 < 0
