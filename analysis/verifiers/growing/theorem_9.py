"""Verify an instance that refutes Theorem 9 of "DDCL-INCRT".

Printed: if C_1 eps_1 + C_2 eps_2 + C_3 eps_3 < c_0, then dW/dt <= 0 on every dwell interval.

Instance: two heads on integer points at T = 1 / log 2, losses as means over tokens, fixed embeddings (C_3 = 0),
prototypes that descend W. The constants are c_1 eta_P, c_2 eta_P and c_0 = eta_P mu_P / 2; the condition does not
change when all rates are multiplied by a number, and dW/dt = sum sigma - eta_P |grad_P W|^2 - eta_T sum sigma^2 / T^4
tends to sum sigma.
"""

from fractions import Fraction

from analysis.verifiers.frames.assignments import activity, assignments
from analysis.verifiers.frames.linear_algebra import integer_matrix
from analysis.verifiers.frames.logarithms import log_2_is_within
from analysis.verifiers.frames.losses import squared_slope

STATEMENT = "growing/theorem-9"
WITNESS = {
    "z": [[0, 1, 1, -1], [-1, 0, -1, -1], [1, 0, -1, 0]],
    "banks": [[[-1, -1, -1, 0], [0, -1, -1, 0]], [[-1, -1, 0, 1], [-1, 1, -1, -1]]],
    "lambda": "1/4",
    "eta_plus": "1/10",
    "eta_P": "1/100",
    "eta_T": "1/2500",
    "c_1": "1",
    "c_2": "2",
    "mu_P": "1",
    "low": "69/100",
    "high": "7/10",
}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    z, banks = integer_matrix(witness["z"]), [integer_matrix(p) for p in witness["banks"]]
    lam, eta, eta_T, low, high = (Fraction(witness[k]) for k in ("lambda", "eta_P", "eta_T", "low", "high"))
    yield "log 2 is between the bounds", f"{low} and {high}", log_2_is_within(low, high)
    yield "lambda - 2 eta_P C(2, 2), positive", str(lam - 2 * eta), lam > 2 * eta > 0
    sigma = [activity(z, p, assignments(z, p, Fraction(2))) for p in banks]
    yield "activities, positive and different", [float(s) for s in sigma], min(sigma) > 0 and sigma[0] != sigma[1]
    gate, c_1, c_2, mu = (Fraction(witness[k]) for k in ("eta_plus", "c_1", "c_2", "mu_P"))
    yield (
        "eps_1 and eps_2, at most 1/10",
        [str(eta / gate), str(eta_T / eta)],
        max(eta / gate, eta_T / eta) <= Fraction(1, 10),
    )
    coupled = eta * (c_1 * eta / gate + c_2 * eta_T / eta)
    yield "C_1 eps_1 + C_2 eps_2, below c_0", str(coupled), coupled < eta * mu / 2
    steepest = max(squared_slope(z, banks, lam, log_2) for log_2 in (low, high))
    bound = sum(sigma) - eta * steepest - eta_T * sum(s * s for s in sigma) * high**4
    yield "dW/dt, at least, positive", float(bound), bound > 0
