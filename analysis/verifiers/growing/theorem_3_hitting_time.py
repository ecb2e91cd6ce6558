"""Verify an instance that refutes the hitting time in the proof of Theorem 3 of "DDCL-INCRT".

Printed: a local head reaches T_min by t* = (T_init^3 - T_min^3) / (3 eta_T sigma_0), sigma_0 being its initial
activity.

Instance: tokens +-c along the direction of a head with the prototypes +-a, losses averaged, gradients through the
assignments. With x = 2 a c / T, a' = -eta_P (a - c tanh x - c x / cosh^2 x) and sigma = 4 a^2 c^2 / cosh^2 x.

With x_0 the initial x and a_0 <= c x_0 / (1 + x_0) <= c tanh x_0, a does not fall below a_0 as T falls. sigma
increases with T, and decreases with a where x tanh x >= 1, so for all x >= x_0 if x_0^2 / (1 + x_0) >= 1. So sigma <
sigma_0 at all t > 0, and as T^3 falls at the rate 3 eta_T sigma, T_min is reached later than at t*. It is reached if
c^2 >= T_init, for then sigma is bounded below.
"""

from fractions import Fraction

from analysis.verifiers.frames.cooling import local_head

STATEMENT = "growing/theorem-3-hitting-time"
WITNESS = {"c": ["2"], "a": "1", "T_init": "2", "T_min": "1", "eta_P": "1", "eta_T": "1/100"}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    yield from local_head(witness)
    a, c, start = Fraction(witness["a"]), Fraction(witness["c"][0]), Fraction(witness["T_init"])
    x = 2 * a * c / start
    yield "a_0 <= c x_0 / (1 + x_0)", c * x / (1 + x), a <= c * x / (1 + x)
    yield "x_0^2 / (1 + x_0) >= 1", x**2 / (1 + x), x**2 / (1 + x) >= 1
