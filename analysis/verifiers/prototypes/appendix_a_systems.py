"""Verify an instance that refutes (A.3) of "DDCL-Attention".

Printed: in the time eta_P t, eps dtheta/dt = -F with F = grad_theta L_q, eps = eta_theta / eta_P.

Instance: free embeddings and prototypes at integer points, T = 1 / log 2, gradients at fixed q. In that time
dtheta/dt = -(eta_theta / eta_P) F = -eps F, so that the left side is -eps^2 F.
"""

from fractions import Fraction

from analysis.verifiers.frames.linear_algebra import frobenius_product, integer_matrix
from analysis.verifiers.frames.losses import loss_and_gradients

STATEMENT = "prototypes/appendix-a-systems"
WITNESS = {
    "z": [["1", "0"], ["-1", "1"], ["0", "2"], ["2", "-1"]],
    "p": [["1", "1"], ["-1", "0"], ["0", "-1"]],
    "eta_theta": "1/4",
    "eta_P": "1/2",
}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    slow, fast = Fraction(witness["eta_theta"]), Fraction(witness["eta_P"])
    epsilon, (_, by_z, _) = slow / fast, loss_and_gradients(integer_matrix(witness["z"]), integer_matrix(witness["p"]))
    yield "|F|^2, positive", float(frobenius_product(by_z, by_z)), frobenius_product(by_z, by_z) > 0
    yield "eps^2, not 1", str(epsilon**2), 0 < epsilon**2 != 1
