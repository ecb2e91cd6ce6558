"""Verify an instance that refutes Corollary 4 of "DDCL-INCRT".

Printed, as one of three properties that hold jointly under (A1), (A2'), (B1)-(B3), (C1): temperatures specialise, some
to T_min and some to values above it.

Instance: tokens (+-c_1, +-c_2), head h sees them along the axis h and has the prototypes +-a there, losses averaged,
gradients through the assignments. With x = 2 a c / T, a' = -eta_P (a - c tanh x - c x / cosh^2 x) and sigma = 4 a^2
c^2 / cosh^2 x for each head.

If c^2 >= T_init, then at a = c / 2 tanh x >= x / (1 + x) >= 1 / 2, so that a' > 0, and at a = 3 c / 2 x / cosh^2 x <
1 / 2, so that a' < 0. So a stays between, S(P) = 4 a^2 > 0, and sigma >= c^4 / cosh^2(3 c^2 / T_min) >= c^4 / 2^m, m
>= 9 c^2 / T_min, since e^2 < 8: the head reaches T_min by the time (T_init^3 - T_min^3) 2^m / (3 eta_T c^4).

The first bank may be tilted along the axis 2, +-(a, b): for tokens on the axis 1 both distances grow by b^2, so that
neither assignments nor sigma change, and (A2') holds.
"""

from analysis.verifiers.frames.cooling import both_heads_cool

STATEMENT = "growing/corollary-4"
WITNESS = {"c": ["1", "2"], "a": "1", "T_init": "1", "T_min": "1/2", "eta_P": "1", "eta_T": "1/100"}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    yield from both_heads_cool(witness)
