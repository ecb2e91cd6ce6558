"""Verify an instance that refutes the rescaled equations of Section 4.2 of "DDCL-Attention".

Printed: with tau = t / eps, eps = eta_theta / eta_P, (11) and (12) become eps dtheta/dtau = -grad_theta L_q / eta_P
and dP/dtau = -grad_P L_q.

Instance: a linear encoder z = x W^T and prototypes at integer points, T = 1 / log 2, gradients at fixed q. As dtau =
dt / eps, d/dtau = eps d/dt: the left sides are -eps^2 eta_theta grad_theta and -eps eta_P grad_P.
"""

from fractions import Fraction

from analysis.verifiers.frames.linear_algebra import frobenius_product, integer_matrix, matrix_product, transpose
from analysis.verifiers.frames.losses import loss_and_gradients

STATEMENT = "prototypes/claim-rescaling"
WITNESS = {
    "x": [["1", "0"], ["-1", "1"], ["0", "2"], ["2", "-1"]],
    "W": [["1", "0"], ["-1", "1"]],
    "p": [["1", "1"], ["-1", "0"], ["0", "-1"]],
    "eta_theta": "1/4",
    "eta_P": "1/2",
}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    slow, fast = Fraction(witness["eta_theta"]), Fraction(witness["eta_P"])
    x, W, p = (integer_matrix(witness[name]) for name in ("x", "W", "p"))
    z = matrix_product(x, transpose(W))
    epsilon, (_, by_z, by_p) = slow / fast, loss_and_gradients(z, p)
    by_W = matrix_product(transpose(by_z), x)
    yield "eps, between 0 and 1", str(epsilon), 0 < epsilon < 1
    yield "|grad_theta L_q|^2, positive", float(frobenius_product(by_W, by_W)), frobenius_product(by_W, by_W) > 0
    yield "|grad_P L_q|^2, positive", float(frobenius_product(by_p, by_p)), frobenius_product(by_p, by_p) > 0
    yield "eps^2 eta_theta eta_P, not 1", str(epsilon**2 * slow * fast), epsilon**2 * slow * fast != 1
    yield "eps eta_P, not 1", str(epsilon * fast), epsilon * fast != 1
