"""Verify an instance that refutes a reading of Theorem 4 of "DDCL-INCRT".

Read: I_DDCL < I_MLP, where the MLP has captured its best aligned row w alone, unless w is a multiple of v_1.

Instance: d = 4 and M_a maps e_2 to a e_1, e_1 to -a e_2, e_4 to a e_3 and e_3 to -a e_4, so that v_1 = e_1 is a
dominant direction. For a unit vector u the projected matrix has the squared norm |M_a|_F^2 - 2 |M_a u|^2, since u^T
M_a u = 0.
"""

from fractions import Fraction

from analysis.verifiers.frames.residuals import remaining_square

STATEMENT = "growing/theorem-4/best-row"
WITNESS = {"a": "1", "w": ["1", "2", "3", "4"]}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    a, w, zero = Fraction(witness["a"]), [Fraction(v) for v in witness["w"]], Fraction(0)
    yield "a > 0", a, a > 0
    yield "w is no multiple of e_1", [str(v) for v in w], any(v != 0 for v in w[1:])
    m = [[zero, a, zero, zero], [-a, zero, zero, zero], [zero, zero, zero, a], [zero, zero, -a, zero]]

    adaptive, fixed = remaining_square(m, [Fraction(1), zero, zero, zero]), remaining_square(m, w)
    yield "squared norm left by e_1", adaptive, True
    yield "that left by w is not larger", fixed, fixed <= adaptive
