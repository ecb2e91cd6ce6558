"""Verify an instance that refutes a reading of "Attention is just another name for coupling?" (Sections 1, 7, 12).

Printed: under the linear generator assumption x' = Q x the equilibrium of the fast dynamics is exactly the stationary
distribution p_st. Read: among distributions, a set that is invariant, p_st is the only equilibrium.

Instance: a generator with two closed classes, which has two stationary distributions, and a segment between them.
"""

from fractions import Fraction

from analysis.verifiers.frames.chains import column_sums

STATEMENT = "multirate/claim-qss-equals-stationary/distributions"
WITNESS = {
    "Q": [["-1", "2", "0", "0"], ["1", "-2", "0", "0"], ["0", "0", "-3", "1"], ["0", "0", "3", "-1"]],
    "distributions": [["2/3", "1/3", "0", "0"], ["0", "0", "1/4", "3/4"]],
}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    Q = [[Fraction(v) for v in row] for row in witness["Q"]]
    yield from column_sums(Q)
    found = [[Fraction(v) for v in p] for p in witness["distributions"]]
    for p in found:
        field = [sum(a * b for a, b in zip(row, p, strict=True)) for row in Q]
        yield (
            f"{[*map(str, p)]} is a distribution, and the field there is",
            [*map(str, field)],
            (sum(p) == 1 and min(p) >= 0 and not any(field)),
        )
    yield "the number of different stationary distributions", len({*map(tuple, found)}), len({*map(tuple, found)}) > 1
