"""Verify an instance that refutes (A.7) of "DDCL-Attention".

Printed: as the Hessian of the reduced loss is bounded, the reduced flow contracts distances.

Instance: two data (+-a, +-y), the encoder z = (x_0, theta x_1), both prototypes at 0, theta = 0, all assignments 1/2,
and gradients at fixed assignments. H_thetatheta = 4 y^2, H_thetaP = 0; in the second coordinates H_PP = 2 I, in the
first it is 2 I - (2 a^2 / T)((1, -1), (-1, 1)), with the eigenvalues 2 and 2 - 4 a^2 / T.

Hence theta*(P) = 0 to first order, the Hessian of the reduced loss is H_PP, bounded near P = 0, and for T < 2 a^2
solutions on either side of P = 0 move apart at the rate 4 a^2 / T - 2.
"""

from fractions import Fraction

STATEMENT = "prototypes/appendix-a-7"
WITNESS = {"a": "1", "y": "1", "1 / T": "2/3"}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    a, y, cold = (Fraction(witness[k]) for k in ("a", "y", "1 / T"))
    yield "H_thetatheta, positive", str(4 * y * y), y != 0 < cold
    least = 2 - 4 * a * a * cold
    yield "least eigenvalue of the reduced Hessian, negative", str(least), least < 0
