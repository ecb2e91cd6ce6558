"""Verify an instance that refutes the proof of Proposition 3 of "DDCL-Attention".

Printed: for H* > 0, J* is positive definite, hence has positive eigenvalues, if and only if (14) holds.

Instance: two data (+-a, +-y), the encoder z = (x_0, theta x_1), two prototypes at (+-a r, 0), theta = 0, gradients at
fixed assignments, T = 2 a^2 r / artanh r, where the assignments are (1 +- r) / 2: an equilibrium with distinct
prototypes. The Hessian in theta and the second coordinates is ((4 y^2, -2 y r, 2 y r), (-2 y r, 2, 0), (2 y r, 0,
2)); in the first ones its eigenvalues are 2 - 4 a^2 (1 - r^2) / T and 2 - 4 a^2 r^2 (1 - r^2) / T, that is 2 - 2 (1 -
r^2) A / r and 2 - 2 r (1 - r^2) A with A = artanh r, which lies between r and r + r^3 / (3 (1 - r^2)).

At equal rates J* = H*, and (14) fails, its bound being less than 1. At the small ratio (14) holds, but the symmetric
part of J* in (theta, (1, -1) / sqrt 2) has the determinant 8 eps y^2 - 2 (1 + eps)^2 r^2 y^2 < 0.
"""

from fractions import Fraction

from analysis.verifiers.frames.encoders import eigenvalue_bounds

STATEMENT = "prototypes/proposition-3-proof"
WITNESS = {"y": "1", "r": "3/5", "eps": "1/20"}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    y, r, epsilon = (Fraction(witness[k]) for k in ("y", "r", "eps"))
    low, high = eigenvalue_bounds(r)
    yield "least eigenvalue in the first coordinates, positive", float(low), low > 0 < r < 1
    yield "determinant of the other block, 16 y^2 (1 - r^2), positive", str(16 * y * y * (1 - r * r)), y != 0
    bounds = (
        min(low, Fraction(2)) / (2 * r * r + max(high, Fraction(2))),
        min(high, Fraction(2)) / (2 * r * r + Fraction(2)),
    )
    yield "upper bound of the bound of (14), below 1", float(bounds[1]), bounds[1] < 1
    yield "lower bound of it, above the small ratio", float(bounds[0]), bounds[0] > epsilon > 0
    determinant = 8 * epsilon * y * y - 2 * (1 + epsilon) ** 2 * r * r * y * y
    yield "determinant of the symmetric part, negative", str(determinant), determinant < 0
