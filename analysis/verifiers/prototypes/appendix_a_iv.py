"""Verify an instance that refutes the last paragraph of Appendix A of "DDCL-Attention".

Printed: resonance instabilities arise at eps = 1.

Instance: two data (+-a, +-y), the encoder z = (x_0, theta x_1), two prototypes at (+-a r, 0), theta = 0, gradients at
fixed assignments, T = 2 a^2 r / artanh r, where the assignments are (1 +- r) / 2: an equilibrium with distinct
prototypes. The Hessian in theta and the second coordinates is ((4 y^2, -2 y r, 2 y r), (-2 y r, 2, 0), (2 y r, 0,
2)); in the first ones its eigenvalues are 2 - 4 a^2 (1 - r^2) / T and 2 - 4 a^2 r^2 (1 - r^2) / T, that is 2 - 2 (1 -
r^2) A / r and 2 - 2 r (1 - r^2) A with A = artanh r, which lies between r and r + r^3 / (3 (1 - r^2)).

At eps = 1 J* = eta_P H*: symmetric, so that its eigenvalues are real, and positive definite.
"""

from fractions import Fraction

from analysis.verifiers.frames.encoders import eigenvalue_bounds

STATEMENT = "prototypes/appendix-a-iv"
WITNESS = {"y": "1", "r": "3/5"}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    y, r = Fraction(witness["y"]), Fraction(witness["r"])
    low, _ = eigenvalue_bounds(r)
    yield "least eigenvalue in the first coordinates, positive", float(low), low > 0 < r < 1
    minors = [Fraction(2), Fraction(4), 4 * (4 * y * y) - 2 * 2 * (2 * y * r) ** 2]
    yield "minors of the other block, positive", [*map(str, minors)], all(m > 0 for m in minors)
