"""Verify an instance that refutes 'only if' in Proposition 3 of "DDCL-Attention".

Printed: a fixed point is asymptotically stable if and only if all eigenvalues of J* have positive real part.

Instance: two data (+-a, +-y), the encoder z = (x_0, theta x_1), both prototypes at 0, theta = 0, all assignments 1/2,
and gradients at fixed assignments. H_thetatheta = 4 y^2, H_thetaP = 0; in the second coordinates H_PP = 2 I, in the
first it is 2 I - (2 a^2 / T)((1, -1), (-1, 1)), with the eigenvalues 2 and 2 - 4 a^2 / T.

At T = 2 a^2 the least eigenvalue is 0, with the kernel p_1 = -p_2 = (s, 0). There the potential is 2 (a^2 + s^2 - T
log(2 cosh(2 a s / T))); log cosh u = u^2 / 2 - u^4 / 12 + ..., so that its coefficients of s^2 and s^4 are 2 - 4 a^2
/ T and 8 a^4 / (3 T^3) = 1 / (3 a^2) > 0. In the mode full, whose gradient is taken through the assignments, it is 2
(a^2 + s^2 - 2 a s tanh(2 a s / T)) with the coefficients 2 - 8 a^2 / T and 32 a^4 / (3 T^3); there T = 4 a^2. It is
even in s for all other variables that are odd under the reflections of an axis, which leaves no cubic term: a strict
minimum.
"""

from fractions import Fraction

STATEMENT = "prototypes/proposition-3-iff"
WITNESS = {"mode": "frozen", "a": "1", "y": "1", "T": "2"}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    a, y, T = (Fraction(witness[k]) for k in ("a", "y", "T"))
    factor, fourth = {"frozen": (4, 8), "full": (8, 32)}[witness["mode"]]
    least = 2 - factor * a * a / T
    yield "least eigenvalue of H_PP, and coefficient of s^2, zero", str(least), least == 0
    yield "the others, positive", [str(4 * y * y), "2", "2", "2"], y != 0
    fourth *= a**4 / (3 * T**3)
    yield "coefficient of s^4, positive", str(fourth), fourth > 0
