"""Verify an instance that refutes a reading of Theorem 4 of "DDCL-INCRT".

Read: I_DDCL <= I_MLP, where the MLP has captured the span of the rows of W_1.

Instance: d = 4, M_a maps e_2 to a e_1, e_1 to -a e_2, e_4 to b e_3 and e_3 to -b e_4 with a > b > 0, so that e_1 is a
dominant direction. If it is captured the second plane is left. Some rows of W_1 span everything, and nothing is left.
"""

from fractions import Fraction

from analysis.verifiers.frames.linear_algebra import matrix, rank

STATEMENT = "growing/theorem-4/span"
WITNESS = {"a": "2", "b": "1", "W": [[1, 0, 0, 0], [1, 2, 0, 1], [0, 0, 3, 1], [0, 1, 1, 1]]}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    a, b = Fraction(witness["a"]), Fraction(witness["b"])
    yield "a > b > 0", (str(a), str(b)), a > b > 0
    m = [[0, a, 0, 0], [-a, 0, 0, 0], [0, 0, 0, b], [0, 0, -b, 0]]
    found = rank(matrix(witness["W"]))
    yield "the rows span, so that I_MLP = 0: their rank", found, found == 4

    left = [[0 if 0 in (i, j) else m[i][j] for j in range(4)] for i in range(4)]  # e_1 is captured
    share = sum(v * v for row in left for v in row) / sum(v * v for row in m for v in row)
    yield "I_DDCL^2 is positive", share, share > 0
