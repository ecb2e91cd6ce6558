"""Verify an instance that refutes Remark 32 (1) of "Attention is just another name for coupling?", read literally.

Printed: under the generator-structure assumption the QSS manifold is the stationary distribution. (Theorem 28, which
the remark summarises, adds irreducibility and, in its last clause, mass one.)

Instance: weights A of attention without a mask, and their generator Q = A^T - I, which has the structure. With p_st all
its multiples are equilibria of x' = Q x.
"""

from fractions import Fraction

STATEMENT = "multirate/remark-32"
WITNESS = {"A": [["1/3", "2/3"], ["1/2", "1/2"]], "p_st": ["3/7", "4/7"], "another equilibrium": ["6/7", "8/7"]}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    A = [[Fraction(v) for v in row] for row in witness["A"]]
    n, least = len(A), min(v for row in A for v in row)
    sums = [str(sum(row)) for row in A]
    yield "A is attention without a mask: least weight", least, least > 0
    yield "its rows sum to one", sums, sums == ["1"] * n
    Q = [[A[j][i] - (i == j) for j in range(n)] for i in range(n)]
    rates = [Q[i][j] for i in range(n) for j in range(n) if i != j]
    yield (
        "Q = A^T - I is a generator: least rate",
        min(rates),
        min(rates) >= 0 and not any(map(sum, zip(*Q, strict=True))),
    )
    p, x = ([Fraction(v) for v in witness[name]] for name in ("p_st", "another equilibrium"))
    yield "p_st is a distribution", witness["p_st"], sum(p) == 1 and min(p) >= 0
    for name, y in (("p_st", p), ("the other point", x)):
        field = [sum(a * b for a, b in zip(row, y, strict=True)) for row in Q]
        yield f"the field at {name}", [*map(str, field)], not any(field)
    yield "they differ", witness["another equilibrium"], x != p
