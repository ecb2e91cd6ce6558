"""Verify instances that refute Corollary 10 of "DDCL-INCRT".

Printed: the level (iv) of stability results, with trained temperatures, extends those with a fixed temperature, (i) and
(ii), and with any decreasing schedule, (iii).

Instances. Two heads on integer points at T = 1 / log 2, losses as means over tokens, fixed embeddings, prototypes that
descend W. Without Phi dW/dt = -eta_P |grad_P W|^2 for a fixed T, as in (i). With Phi of (iv) it is sum sigma - eta_P
|grad_P W|^2 - eta_T sum sigma^2 / T^4 for every eta_T > 0; the square is convex in log 2, and T^-4 below high^4. And
one token at 0 with prototypes at -b and b: all distances are equal, sigma = 0, so that a trained T does not fall.
"""

from fractions import Fraction

from analysis.verifiers.frames.assignments import activity, assignments
from analysis.verifiers.frames.linear_algebra import integer_matrix
from analysis.verifiers.frames.logarithms import log_2_is_within
from analysis.verifiers.frames.losses import squared_slope

STATEMENT = "growing/corollary-10"
WITNESS = {
    "z": [[0, 1, 1, -1], [-1, 0, -1, -1], [1, 0, -1, 0]],
    "banks": [[[-1, -1, -1, 0], [0, -1, -1, 0]], [[-1, -1, 0, 1], [-1, 1, -1, -1]]],
    "lambda": "1/4",
    "eta_P": "1/100",
    "eta_T": "1/2500",
    "b": "3/2",
    "T of (iii)": ["2", "1"],
    "low": "69/100",
    "high": "7/10",
}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    z, banks = integer_matrix(witness["z"]), [integer_matrix(p) for p in witness["banks"]]
    lam, eta, eta_T, low, high, b = (Fraction(witness[k]) for k in ("lambda", "eta_P", "eta_T", "low", "high", "b"))
    yield "log 2 is between the bounds", f"{low} and {high}", log_2_is_within(low, high)
    yield "lambda - 2 eta_P C(2, 2), positive", str(lam - 2 * eta), lam > 2 * eta > 0
    sigma = [activity(z, p, assignments(z, p, Fraction(2))) for p in banks]
    yield "activities, positive and different", [float(s) for s in sigma], min(sigma) > 0 and sigma[0] != sigma[1]
    steepest = max(squared_slope(z, banks, lam, log_2) for log_2 in (low, high))
    bound = sum(sigma) - eta * steepest - eta_T * sum(s * s for s in sigma) * high**4
    yield "dW/dt with Phi, for this eta_T and all smaller ones, at least, positive", float(bound), bound > 0 < eta_T
    first, last = (Fraction(v) for v in witness["T of (iii)"])
    yield "squared distances of the pair", f"{b * b}, {(-b) ** 2}", b * b == (-b) ** 2 > 0
    yield "fall of the schedule of (iii), positive", str(first - last), first > last > 0
