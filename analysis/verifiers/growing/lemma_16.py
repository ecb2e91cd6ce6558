"""Verify an instance that refutes Lemma 16 of "DDCL-INCRT".

Printed: if Gamma < phi_g for a head, its F_sep is O(phi_g^2). Read: with a constant of at most 10^9. Gamma = |B u|, B =
M_a / |M_a|_F, is s / sqrt(2 sum s^2) for the head of the pair of value s, here the last. It depends on M_a alone, and
what the layer is made of does not depend on M_a.
"""

from fractions import Fraction

from analysis.verifiers.frames.assignments import exact_assignments
from analysis.verifiers.frames.linear_algebra import matrix
from analysis.verifiers.frames.residuals import last_gap, values_and_thresholds
from analysis.verifiers.frames.separation import separation_force

STATEMENT = "growing/lemma-16"
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
    yield "T = 1 / log b is positive, and prototypes differ", str(b), b > 1 and len({tuple(x) for x in p}) == len(p)
    F = separation_force(exact_assignments(z, p, b), p)
    yield "F_sep exceeds 10^9 phi_g^2", str(F), 10**9 * phi**2 < F
