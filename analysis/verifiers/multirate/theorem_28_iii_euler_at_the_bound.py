"""Verify an instance that refutes a reading of Theorem 28 (iii) of "Attention is just another name for coupling?".

Printed: for irreducible Q the forward-Euler iterates (I + tau Q)^n p tend to the stationary distribution for every
distribution p, for tau below the bound 1 / max |Q_jj|. Read: also at the bound. (The printed bound is lost in the
extracted text; below it the statement holds.)

Instance: a directed cycle with equal rates. At the bound I + tau Q is a cyclic permutation: its iterates of a unit mass
are periodic and stay at a fixed distance from the stationary distribution.
"""

from fractions import Fraction

STATEMENT = "multirate/theorem-28-iii-euler/at-the-bound"
WITNESS = {"Q": [["-2", "0", "2"], ["2", "-2", "0"], ["0", "2", "-2"]], "tau": "1/2"}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    Q, tau = [[Fraction(v) for v in row] for row in witness["Q"]], Fraction(witness["tau"])
    n = range(len(Q))
    sums = [str(sum(Q[i][j] for i in n)) for j in n]
    least = min(Q[i][j] for i in n for j in n if i != j)
    yield "Q is a generator: column sums", sums, sums == ["0"] * len(Q) and least >= 0
    found = {0}
    for _ in n:
        found |= {i for j in found for i in n if Q[i][j] > 0}
    back = all(Q[(j + 1) % len(Q)][j] > 0 for j in n)
    yield "Q is irreducible: states accessible around the cycle", sorted(found), back and found == {*n}
    bound = 1 / max(abs(Q[j][j]) for j in n)
    yield "tau is at the bound", bound, tau == bound
    stationary, start = [Fraction(1, len(Q))] * len(Q), [Fraction(int(i == 0)) for i in n]
    field = [sum(a * b for a, b in zip(row, stationary, strict=True)) for row in Q]
    yield "the uniform distribution is stationary", [*map(str, field)], not any(field)
    p = start
    for _ in n:
        p = [v + tau * sum(a * b for a, b in zip(row, p, strict=True)) for v, row in zip(p, Q, strict=True)]
    gap = max(abs(v - w) for v, w in zip(p, stationary, strict=True))
    yield f"after {len(Q)} steps the unit mass is back, at the same distance", gap, p == start and gap > 0
