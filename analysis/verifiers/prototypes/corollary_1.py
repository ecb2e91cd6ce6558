"""Verify an instance that refutes Corollary 1 of "DDCL-Attention".

Printed: each of Fact 1, Theorem 1 and Theorems 2-3 strictly subsumes the previous one.

Instances. Of Theorem 1: two data (+-a, +-y), the encoder z = (x_0, theta x_1), prototypes at (+-a r, 0), without a
barrier, gradients at fixed assignments; see proposition_3_proof.py for the Hessian, positive definite if 0 < r < 1.
There Theorem 2, which needs lambda > 2 eta_P C(2, 2) > 0, does not apply. Of Fact 1: one embedding at 0, prototypes
at rest at +-b, lambda = 4 b^4, T = 2 b^2, where the fast subsystem has the eigenvalue 1 - 2 b^2 / T = 0, so that (ii)
of Theorem 1 fails.
"""

from fractions import Fraction

from analysis.verifiers.frames.encoders import eigenvalue_bounds

STATEMENT = "prototypes/corollary-1"
WITNESS = {"y": "1", "r": "3/5", "lambda of Theorem 1": "0", "eta_P": "1", "b": "1", "T": "2", "lambda of Fact 1": "4"}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    y, r, none, eta, b, T, lam = (Fraction(witness[k]) for k in WITNESS)
    low = eigenvalue_bounds(r)[0]
    yield "Theorem 1: least eigenvalue in the first coordinates, positive", float(low), low > 0 < r < 1 and y != 0
    yield "Theorem 2 does not apply: lambda - 2 eta_P C(2, 2), not positive", str(none - 2 * eta), none <= 2 * eta
    yield "Fact 1 applies: lambda - 2 eta_P C(2, 2), positive", str(lam - 2 * eta), lam > 2 * eta > 0
    yield "at rest: gradient b - 2 lambda / (2 b)^3", str(b - 2 * lam / (2 * b) ** 3), b == 2 * lam / (2 * b) ** 3
    yield "(ii) fails: 1 - 2 b^2 / T, not positive", str(1 - 2 * b * b / T), 1 - 2 * b * b / T <= 0
