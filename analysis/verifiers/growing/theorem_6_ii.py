"""Verify an instance that refutes Theorem 6 (ii) of "DDCL-INCRT".

Printed: pruning a head of Gamma < phi_g lowers the sum of F_sep by at most O(phi_g^2). Read: with a constant of at most
10^9. Gamma = |B u|, B = M_a / |M_a|_F, is s / sqrt(2 sum s^2) for the head of the pair of value s, here the last. It
depends on M_a alone, and what the layer is made of does not depend on M_a.
"""

from fractions import Fraction

from analysis.verifiers.frames.assignments import exact_assignments
from analysis.verifiers.frames.linear_algebra import matrix
from analysis.verifiers.frames.residuals import last_gap, values_and_thresholds
from analysis.verifiers.frames.separation import separation_force

STATEMENT = "growing/theorem-6-ii"
WITNESS = {
    "z": [["0", "0"], ["1", "2"]],
    "P": [[["0", "0"], ["1", "0"]], [["0", "1"], ["1", "1"]], [["2", "0"], ["-1", "2"]]],
    "b": ["2", "2", "2"],
    "values of M_a": ["2000000", "1000000", "1"],
    "phi_g": "1/1000000",
    "theta_w": "1/2",
}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    z, banks, bases = matrix(witness["z"]), [matrix(p) for p in witness["P"]], [Fraction(b) for b in witness["b"]]
    values, phi, theta = values_and_thresholds(witness)
    square, small = last_gap(values, phi, theta)
    yield "Gamma of the last head < phi_g < theta_w < every value of M_a: Gamma^2", float(square), small
    heads = len(banks) == len(bases) == len(values)
    yield (
        "each T = 1 / log b is positive, and there is a head for each value",
        [str(b) for b in bases],
        heads and min(bases) > 1,
    )
    forces = [separation_force(exact_assignments(z, p, b), p) for p, b in zip(banks, bases, strict=True)]
    fall = sum(forces) - sum(forces[:-1])
    yield "the sum of forces falls by more than 10^9 phi_g^2", str(fall), fall > 10**9 * phi**2
