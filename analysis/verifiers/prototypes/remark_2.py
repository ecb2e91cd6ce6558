"""Verify an instance that refutes Remark 2 of "DDCL-Attention".

Printed: a ratio eps in [.01, .1] reliably gives the stable regime, with separated prototypes.

Instance: a linear encoder z = x W^T at integer points, gradients at fixed assignments, T = 1 / log 2. Along the flow
|W|^2 / eta_theta + |P|^2 / eta_P decreases at the rate 4 L_q at every state, so that no state with distinct
prototypes, where L_q > 0, is an equilibrium, and every trajectory, which is bounded, ends where all prototypes
coincide.
"""

from fractions import Fraction

from analysis.verifiers.frames.linear_algebra import frobenius_product, integer_matrix, matrix_product, transpose
from analysis.verifiers.frames.losses import loss_and_gradients

STATEMENT = "prototypes/remark-2"
WITNESS = {
    "x": [["1", "0"], ["-1", "1"], ["0", "2"], ["2", "-1"]],
    "W": [["1", "0"], ["-1", "1"]],
    "p": [["1", "1"], ["-1", "0"], ["0", "-1"]],
    "eps": "1/20",
}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    x, W, p, epsilon = *(integer_matrix(witness[name]) for name in ("x", "W", "p")), Fraction(witness["eps"])
    yield "eps, in [.01, .1]", str(epsilon), Fraction(1, 100) <= epsilon <= Fraction(1, 10)
    yield "the prototypes are distinct", witness["p"], len({tuple(c) for c in p}) == len(p)
    z = matrix_product(x, transpose(W))
    loss, by_z, by_p = loss_and_gradients(z, p)
    by_W = matrix_product(transpose(by_z), x)
    rate = -2 * frobenius_product(W, by_W) - 2 * frobenius_product(p, by_p)
    yield "rate of the norm + 4 L_q", str(rate + 4 * loss), rate == -4 * loss
    yield "rate of the norm, negative", float(rate), rate < 0
