"""Verify an instance that refutes a sentence of "Attention is just another name for coupling?" (Sections 1, 7, 12).

Printed: under the linear generator assumption x' = Q x the equilibrium manifold of the fast dynamics is exactly the
stationary distribution p_st. (Theorem 28 itself adds irreducibility and, in its last clause, mass one.)

Instance: any generator Q. With p_st all its multiples are equilibria, 0 and 2 p_st among them: the set is a subspace.
"""

from fractions import Fraction

from analysis.verifiers.frames.chains import column_sums

STATEMENT = "multirate/claim-qss-equals-stationary"
WITNESS = {"Q": [["-1", "2"], ["1", "-2"]], "p_st": ["2/3", "1/3"], "another equilibrium": ["4/3", "2/3"]}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    Q = [[Fraction(v) for v in row] for row in witness["Q"]]
    yield from column_sums(Q)
    p, x = ([Fraction(v) for v in witness[name]] for name in ("p_st", "another equilibrium"))
    yield "p_st is a distribution", witness["p_st"], sum(p) == 1 and min(p) >= 0
    for name, y in (("p_st", p), ("the other point", x)):
        field = [sum(a * b for a, b in zip(row, y, strict=True)) for row in Q]
        yield f"the field at {name}", [*map(str, field)], not any(field)
    yield "they differ", witness["another equilibrium"], x != p
