"""Verify an instance that refutes Lemma 20, with equation (46) as printed, of "DDCL-INCRT".

Printed: dW/dt <= 0 on every dwell interval, with dP/dt = -eta_P grad_P L_q, without the barrier.

Instance: two heads on integer points at T = T_min = 1 / log 2, losses as means over tokens. dW/dt = -eta_P <g + lambda
r, g> with the derivatives g of L_q, through the assignments, and lambda r of the barrier. <r, g> is affine in log 2,
|g|^2 convex.
"""

from fractions import Fraction

from analysis.verifiers.frames.linear_algebra import frobenius_product, integer_matrix
from analysis.verifiers.frames.logarithms import log_2_is_within
from analysis.verifiers.frames.losses import barrier_gradient, mean_loss_gradient

STATEMENT = "growing/lemma-20/equation-46"
WITNESS = {
    "z": [[0, 0, -1, -1], [1, -1, 0, 0], [0, -1, 0, 1]],
    "banks": [[[-1, -1, -1, 0], [-1, 1, 1, 0]], [[-1, 0, -1, 1], [0, -1, -1, -1]]],
    "lambda": "140",
    "eta_P": "1/4",
    "low": "69/100",
    "high": "7/10",
}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    z, banks = integer_matrix(witness["z"]), [integer_matrix(p) for p in witness["banks"]]
    lam, eta, low, high = (Fraction(witness[k]) for k in ("lambda", "eta_P", "low", "high"))
    yield "log 2 is between the bounds", f"{low} and {high}", log_2_is_within(low, high)
    yield "lambda - 2 eta_P C(2, 2), positive", str(lam - 2 * eta), lam > 2 * eta > 0
    slopes = [[mean_loss_gradient(z, p, log_2) for p in banks] for log_2 in (low, high)]
    barriers = [barrier_gradient(p) for p in banks]
    crossed = max(sum(frobenius_product(g, r) for g, r in zip(pair, barriers, strict=True)) for pair in slopes)
    steepest = max(sum(frobenius_product(g, g) for g in pair) for pair in slopes)
    bound = eta * (-lam * crossed - steepest)
    yield "dW/dt, at least, positive", float(bound), bound > 0
