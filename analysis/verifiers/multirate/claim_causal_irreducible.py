"""Verify an instance that refutes a claim of "Attention is just another name for coupling?" (Sections 1, 7 and 8).

Printed: attention is one transition of a Markov chain operating around the stationary distribution of Theorem 28, which
is unique and positive for irreducible chains. Read: causal attention matrices have this irreducibility and this law.

Instance: a causal attention matrix A of two or more tokens. Its first row is (1, 0, ..., 0): from the first token no
other is accessible. A distribution p = p A has p_n = p_n A_nn with A_nn < 1 for the last token, hence p_n = 0: no
stationary distribution is positive. (The only one is the unit mass on the first token.)
"""

from fractions import Fraction

STATEMENT = "multirate/claim-causal-irreducible"
WITNESS = {"A": [["1", "0", "0"], ["1/2", "1/2", "0"], ["1/6", "1/3", "1/2"]]}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    A = [[Fraction(v) for v in row] for row in witness["A"]]
    n = len(A)
    sums = [str(sum(row)) for row in A]
    yield "rows of A sum to one, for two or more tokens", sums, n > 1 and sums == ["1"] * n
    causal = all((A[i][j] > 0) == (j <= i) and A[i][j] >= 0 for i in range(n) for j in range(n))
    yield "A has positive weights exactly up to the diagonal", witness["A"], causal
    found = {0}
    for _ in A:
        found |= {j for i in found for j in range(n) if A[i][j] > 0}
    yield "tokens accessible from the first", sorted(found), found != {*range(n)}
    column = [str(A[i][-1]) for i in range(n)]
    yield (
        "last column, (0, ..., 0, A_nn) with A_nn < 1",
        column,
        A[-1][-1] < 1 and not any(A[i][-1] for i in range(n - 1)),
    )
