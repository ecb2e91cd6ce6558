"""Verify an instance that refutes Proposition 3 on weak coupling of "DDCL-Attention".

Printed: if H_thetaP = 0, condition (14) is eta_theta < eta_P.

Instance: two data (+-a, +-y), the encoder z = (x_0, theta x_1), both prototypes at 0, theta = 0, all assignments 1/2,
and gradients at fixed assignments. H_thetatheta = 4 y^2, H_thetaP = 0; in the second coordinates H_PP = 2 I, in the
first it is 2 I - (2 a^2 / T)((1, -1), (-1, 1)), with the eigenvalues 2 and 2 - 4 a^2 / T.

(14) is then eta_theta / eta_P < lambda_min(H_PP) / lambda_max(H_PP) = 1 - 2 a^2 / T.
"""

from fractions import Fraction

STATEMENT = "prototypes/proposition-3-weak-coupling"
WITNESS = {"a": "1", "y": "1", "1 / T": "1/4", "ratio": "3/4"}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    a, y, cold, ratio = (Fraction(witness[k]) for k in ("a", "y", "1 / T", "ratio"))
    least = 2 - 4 * a * a * cold
    yield "least eigenvalue of H_PP, positive", str(least), least > 0 != y and cold > 0
    yield "eta_theta / eta_P, below 1", str(ratio), 0 < ratio < 1
    yield "the bound of (14), not above the ratio", str(least / 2), least / 2 <= ratio
