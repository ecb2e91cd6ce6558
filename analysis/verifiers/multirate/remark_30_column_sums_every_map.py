"""Verify an instance that refutes a reading of Remark 30 of "Attention is just another name for coupling?".

Printed: the linearised one-step map I + tau J of a trained block has column sums that would be expected to differ from
1, since the block is not a generator. Read: whenever J is not a generator (off-diagonal entries >= 0, columns of sum
zero). (For almost every J it is so.)

Instance: J with columns of sum zero and a negative rate. Column sums of 1 mean conservation, not nonnegative rates.
"""

from fractions import Fraction

STATEMENT = "multirate/remark-30-column-sums/every-map"
WITNESS = {"J": [["-1", "-1/4", "1"], ["1/2", "3/4", "1"], ["1/2", "-1/2", "-2"]], "tau": "1/4"}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    J, tau = [[Fraction(v) for v in row] for row in witness["J"]], Fraction(witness["tau"])
    n = range(len(J))
    yield "tau > 0", tau, tau > 0
    least = min(J[i][j] for i in n for j in n if i != j)
    yield "J is not a generator: its least rate", least, least < 0
    sums = [str(sum((i == j) + tau * J[i][j] for i in n)) for j in n]
    yield "column sums of I + tau J", sums, sums == ["1"] * len(J)
