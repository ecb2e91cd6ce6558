"""Verify an instance that refutes (36) of Lemma 15 of "DDCL-INCRT" for the rule of the Algorithm.

Read: if S(P), the least squared distance of two prototypes, is below phi_g < theta_w, then sigma is at most phi_g times
the mean over n of max_k |z_n - p_k|^2. Instance: two prototypes near each other and a third one far away.
"""

from fractions import Fraction

from analysis.verifiers.frames.assignments import activity, exact_assignments
from analysis.verifiers.frames.linear_algebra import matrix, squared_distance

STATEMENT = "growing/lemma-15/algorithm"
WITNESS = {
    "z": [["0", "0"], ["1", "0"]],
    "p": [["0", "0"], ["0", "1/8"], ["1", "1"]],
    "b": "65/64",
    "spacing": "1/8",
    "phi_g": "1/32",
    "theta_w": "1/2",
}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    z, p = matrix(witness["z"]), matrix(witness["p"])
    b, h, phi, theta = (Fraction(witness[name]) for name in ("b", "spacing", "phi_g", "theta_w"))
    S = min(squared_distance(x, y) for i, x in enumerate(p) for y in p[:i])
    yield "0 < S(P) < phi_g < theta_w", str(S), 0 < S < phi < theta and b > 1
    farthest = sum(max(squared_distance(x, y) for y in p) for x in z) / len(z)
    sigma = activity(z, p, exact_assignments(z, p, b, h))
    yield "sigma over its bound exceeds one", float(sigma / (phi * farthest)), sigma > phi * farthest
