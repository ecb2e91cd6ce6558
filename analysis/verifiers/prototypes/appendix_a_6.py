"""Verify an instance that refutes (A.6) of "DDCL-Attention".

Printed: on a bounded interval of the time eta_P t, |theta - theta*(P)| <= C eps.

Instance: two data (+-a, +-y), the encoder z = (x_0, theta x_1), both prototypes at 0, gradients at fixed assignments.
The prototypes rest, theta*(0) = 0, and dtheta/dt = -4 y^2 eps theta in that time, so that theta(t) = theta_0 e^(-4
y^2 eps t) >= theta_0 (1 - 4 y^2 eps t).
"""

from fractions import Fraction

STATEMENT = "prototypes/appendix-a-6"
WITNESS = {
    "y": "1",
    "theta_0": "1",
    "t": "1",
    "C and eps": [["1", "1/10"], ["100", "1/1000"], ["1000000", "1/10000000"]],
}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    y, start, t = (Fraction(witness[k]) for k in ("y", "theta_0", "t"))
    for C, epsilon in (map(Fraction, pair) for pair in witness["C and eps"]):
        low = start * (1 - 4 * y * y * epsilon * t)
        yield f"C = {C}, eps = {epsilon}: |theta - theta*|, at least", str(low), low > C * epsilon > 0
