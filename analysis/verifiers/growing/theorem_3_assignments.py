"""Verify an instance that refutes Theorem 3 (2) of "DDCL-INCRT".

Printed: the assignments of a head that tends to T_min converge to 0 and 1.

Instance: tokens +-c along the direction of a head with the prototypes +-a, losses averaged, gradients through the
assignments. With x = 2 a c / T, a' = -eta_P (a - c tanh x - c x / cosh^2 x).

If c^2 >= T_init, a stays between c / 2, where tanh x >= x / (1 + x) >= 1 / 2, and 3 c / 2, where x / cosh^2 x < 1 /
2. sigma is bounded below, and the head reaches T_min. The squared distances of a token differ by 4 a c <= 6 c^2, so
that no assignment falls below 1 / (1 + exp(6 c^2 / T_min)) >= 1 / (1 + 2^m), m >= 9 c^2 / T_min, since e^2 < 8.
"""

import math
from fractions import Fraction

from analysis.verifiers.frames.cooling import local_head

STATEMENT = "growing/theorem-3-assignments"
WITNESS = {"c": ["1"], "a": "1", "T_init": "1", "T_min": "1/10", "eta_P": "1", "eta_T": "1/100"}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    yield from local_head(witness)
    least, c = Fraction(witness["T_min"]), Fraction(witness["c"][0])
    bound = Fraction(1, 1 + 2 ** math.ceil(9 * c**2 / least))
    yield "no assignment falls below", bound, bound > 0
