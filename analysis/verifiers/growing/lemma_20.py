"""Verify an instance that refutes Lemma 20 of "DDCL-INCRT".

Printed: dW/dt <= 0 on every dwell interval, under conditions that bound rates and their ratios from above, and lambda
> 2 eta_P C(K, 2).

Instance: two heads on integer points at T = 1 / log 2, losses as means over tokens, fixed embeddings, prototypes that
descend W. dW/dt = sum sigma - eta_P |grad_P W|^2 - eta_T sum sigma^2 / T^4; the square is convex in log 2.
"""

from fractions import Fraction

from analysis.verifiers.frames.assignments import activity, assignments
from analysis.verifiers.frames.linear_algebra import integer_matrix
from analysis.verifiers.frames.logarithms import log_2_is_within
from analysis.verifiers.frames.losses import squared_slope

STATEMENT = "growing/lemma-20"
WITNESS = {
    "z": [[0, 1, 1, -1], [-1, 0, -1, -1], [1, 0, -1, 0]],
    "banks": [[[-1, -1, -1, 0], [0, -1, -1, 0]], [[-1, -1, 0, 1], [-1, 1, -1, -1]]],
    "lambda": "1/4",
    "eta_P": "1/100",
    "eta_T": "1/2500",
    "T_min": "1/10",
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
    yield "eta_T / eta_P, at most 1/10", float(eta_T / eta), 0 < 10 * eta_T <= eta
    coldest = Fraction(witness["T_min"]) ** 3
    yield "(E1) 3 eta_T sigma, below T_min^3", float(3 * eta_T * max(sigma)), 3 * eta_T * max(sigma) < coldest
    steepest = max(squared_slope(z, banks, lam, log_2) for log_2 in (low, high))
    bound = sum(sigma) - eta * steepest - eta_T * sum(s * s for s in sigma) * high**4
    yield "dW/dt, at least, positive", float(bound), bound > 0
