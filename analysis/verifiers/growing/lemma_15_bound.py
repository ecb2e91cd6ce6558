"""Verify an instance that refutes (36) of Lemma 15 of "DDCL-INCRT".

Printed: if Gamma < phi_g then sigma <= C phi_g S(P). Read: with C at most 1000. Gamma = |B u|, B = M_a / |M_a|_F, is s
/ sqrt(2 sum s^2) for the head of the pair of value s, here the last. It depends on M_a alone, and what the layer is
made of does not depend on M_a.
"""

from fractions import Fraction

from analysis.verifiers.frames.assignments import activity, exact_assignments
from analysis.verifiers.frames.linear_algebra import matrix, squared_distance
from analysis.verifiers.frames.residuals import last_gap, values_and_thresholds

STATEMENT = "growing/lemma-15/bound"
WITNESS = {
    "z": [["0", "0"], ["1", "2"]],
    "P": [[["0", "0"], ["1", "0"]], [["0", "1"], ["1", "1"]], [["1", "0"], ["-1", "1"], ["0", "2"]]],
    "b": ["2", "2", "2"],
    "values of M_a": ["2000000", "1000000", "1"],
    "phi_g": "1/1000000",
    "theta_w": "1/2",
}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    z, p, b = matrix(witness["z"]), matrix(witness["P"][-1]), Fraction(witness["b"][-1])
    values, phi, theta = values_and_thresholds(witness)
    square, small = last_gap(values, phi, theta)
    yield "Gamma < phi_g < theta_w < every value of M_a: Gamma^2", float(square), small
    S = min(squared_distance(x, y) for i, x in enumerate(p) for y in p[:i])
    yield "T = 1 / log b is positive, and S(P) too", str(S), b > 1 and S > 0
    sigma = activity(z, p, exact_assignments(z, p, b))
    yield "sigma exceeds 1000 phi_g S(P)", float(sigma), sigma > 1000 * phi * S
