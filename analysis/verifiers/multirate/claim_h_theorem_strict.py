"""Verify an instance that refutes a reading of Section 6.1 of "Attention is just another name for coupling?".

Printed: for a generator Q and a stationary distribution p_st the relative entropy D(p || p_st) is a Lyapunov function
of p' = Q p, dD/dt <= 0. Read: it decreases strictly wherever p is not p_st, for every generator. (For irreducible Q it
does; that it does not increase is always true.)

Instance: two closed classes. Another stationary distribution p with the same support is an equilibrium: D is finite,
constant along this solution, and positive.
"""

from fractions import Fraction

from analysis.verifiers.frames.chains import column_sums

STATEMENT = "multirate/claim-h-theorem/strict"
WITNESS = {
    "Q": [["-1", "2", "0", "0"], ["1", "-2", "0", "0"], ["0", "0", "-3", "1"], ["0", "0", "3", "-1"]],
    "p_st": ["1/3", "1/6", "1/8", "3/8"],
    "p": ["2/9", "1/9", "1/6", "1/2"],
}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    Q = [[Fraction(v) for v in row] for row in witness["Q"]]
    yield from column_sums(Q)
    for name in ("p_st", "p"):
        x = [Fraction(v) for v in witness[name]]
        field = [sum(a * b for a, b in zip(row, x, strict=True)) for row in Q]
        yield (
            f"{name} is a positive distribution and Q {name} = 0",
            [*map(str, field)],
            (sum(x) == 1 and min(x) > 0 and not any(field)),
        )
    gap = max(abs(Fraction(a) - Fraction(b)) for a, b in zip(witness["p_st"], witness["p"], strict=True))
    yield "p is not p_st, hence D > 0: largest difference", gap, gap > 0
