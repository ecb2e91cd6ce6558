"""Verify an instance that refutes (3) read as printed, for N = d of "DDCL-INCRT".

Read: the growth criterion lambda_max(A_res) > theta_w > 0 can hold, of the real eigenvalues of A_res = P X M_a X^T P, P
being the projector of what is not captured.

Instance: N = d = 3 and one captured direction q. The coefficients of det(x - A_res) do not change their sign, so that
no positive number is an eigenvalue, though A_res is not 0.
"""

from fractions import Fraction

from analysis.verifiers.frames.linear_algebra import matrix, matrix_product, transpose
from analysis.verifiers.frames.residuals import antisymmetric_part, complement

STATEMENT = "growing/equation-3/square"
WITNESS = {
    "X": [["1", "0", "2"], ["0", "1", "1"], ["1", "1", "0"]],
    "M": [["0", "1", "2"], ["3", "1", "0"], ["-1", "2", "1"]],
    "q": ["0", "0", "1"],
}


def characteristic(A):
    """The coefficients of det(x - A), the leading one first, by Faddeev and LeVerrier."""
    found, power = [Fraction(1)], A
    for k in range(1, len(A) + 1):
        found.append(Fraction(-sum(row[i] for i, row in enumerate(power)) / k))
        shifted = [[v + found[-1] * (i == j) for j, v in enumerate(row)] for i, row in enumerate(power)]
        power = matrix_product(A, shifted)
    return found


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    X, M, (q,) = (matrix(rows) for rows in (witness["X"], witness["M"], [witness["q"]]))
    inside = matrix_product(matrix_product(X, antisymmetric_part(M)), transpose(X))
    A = matrix_product(matrix_product(complement(q), inside), complement(q))
    yield "N = d", (len(X), len(M)), len(X) == len(M) == len(X[0])
    yield "A_res is not 0", [[str(v) for v in row] for row in A], any(v for row in A for v in row)
    coefficients = characteristic(A)
    yield "no coefficient of det(x - A_res) is negative", [str(c) for c in coefficients], min(coefficients) >= 0
