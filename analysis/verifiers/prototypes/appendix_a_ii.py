"""Verify an instance that refutes the use of Fact 1 in Appendix A of "DDCL-Attention".

Printed: for lambda > 2 eta_P C(K, 2) the fast subsystem converges exponentially to P*(theta) at a rate mu_P > 0.

Instance: one embedding at 0, prototypes at rest at +-b, lambda = 4 b^4 (their gradient is b - 2 lambda / (2 b)^3).
For a common displacement u the squared distances are (b +- u)^2, and the free energy of the mode frozen is b^2 + u^2 -
T log(2 cosh(2 b u / T)): its second derivative is 2 - 4 b^2 / T, which is zero at T = 2 b^2. The loss, of the mode
full, is b^2 + u^2 - 2 b u tanh(2 b u / T), with the second derivative 2 - 8 b^2 / T, zero at T = 4 b^2. The
linearisation has the eigenvalue 0.
"""

from fractions import Fraction

STATEMENT = "prototypes/appendix-a-ii"
WITNESS = {"mode": "frozen", "b": "1", "T": "2", "lambda": "4", "eta_P": "1"}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    b, T, lam, eta = (Fraction(witness[k]) for k in ("b", "T", "lambda", "eta_P"))
    yield "lambda - 2 eta_P C(2, 2), positive", str(lam - 2 * eta), lam > 2 * eta > 0
    yield "gradient b - 2 lambda / (2 b)^3", str(b - 2 * lam / (2 * b) ** 3), b == 2 * lam / (2 * b) ** 3
    second = 2 - {"frozen": 4, "full": 8}[witness["mode"]] * b * b / T
    yield "second derivative, not positive", str(second), second <= 0
