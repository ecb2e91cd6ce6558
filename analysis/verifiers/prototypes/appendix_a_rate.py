"""Verify an instance that refutes Appendix A (b) of "DDCL-Attention".

Printed: there is c > 0 such that for all small eps the decay rate is at least c min(mu_P, mu_P / (L eps)).

Instance: two data (+-a, +-y), the encoder z = (x_0, theta x_1), two prototypes at (+-a r, 0), theta = 0, gradients at
fixed assignments, T = 2 a^2 r / artanh r, where the assignments are (1 +- r) / 2: an equilibrium with distinct
prototypes. The Hessian in theta and the second coordinates is ((4 y^2, -2 y r, 2 y r), (-2 y r, 2, 0), (2 y r, 0,
2)); in the first ones its eigenvalues are 2 - 4 a^2 (1 - r^2) / T and 2 - 4 a^2 r^2 (1 - r^2) / T, that is 2 - 2 (1 -
r^2) A / r and 2 - 2 r (1 - r^2) A with A = artanh r, which lies between r and r + r^3 / (3 (1 - r^2)).

In the time eta_P t of the appendix the rate is the least eigenvalue of a symmetric matrix with the entry eps 4 y^2,
so at most that. mu_P is the least of 2 and the eigenvalues in the first coordinates, L = 4 y^2 (1 - r^2). For each c
of the witness eps = c mu / (8 y^2), or less, contradicts.
"""

from fractions import Fraction

from analysis.verifiers.frames.encoders import eigenvalue_bounds

STATEMENT = "prototypes/appendix-a-rate"
WITNESS = {"y": "1", "r": "3/5", "c": ["1", "1/10", "1/1000"]}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    y, r = Fraction(witness["y"]), Fraction(witness["r"])
    low, _ = eigenvalue_bounds(r)
    mu, L = min(low, Fraction(2)), 4 * y * y * (1 - r * r)
    yield "mu_P / eta_P, at least", float(mu), mu > 0 < r < 1
    yield "L, positive", str(L), L > 0
    for c in map(Fraction, witness["c"]):
        epsilon = min(c * mu / (4 * y * y), mu / L, 1 / L) / 2
        rate, bound = 4 * y * y * epsilon, c * min(mu, mu / (L * epsilon))
        yield f"c = {c}: rate at most, bound at least", (float(rate), float(bound)), 0 < rate < bound
