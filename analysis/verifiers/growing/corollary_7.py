"""Verify an instance that refutes Corollary 7 of "DDCL-INCRT".

Printed: after j prunings of heads of Gamma < phi_g, F_sep^(j) >= F_sep^(0) - j O(phi_g^2), and all of at most d
prunings lower F_sep by at most O(d phi_g^2). Read: F_sep is the sum over heads, the constant at most 10^9. Gamma =
|B u|, B = M_a / |M_a|_F, is s / sqrt(2 sum s^2) for the head of the pair of value s. It depends on M_a alone, and what
the layer is made of does not depend on M_a. All heads but the first are pruned, the last one first.
"""

from fractions import Fraction

from analysis.verifiers.frames.assignments import exact_assignments
from analysis.verifiers.frames.linear_algebra import matrix
from analysis.verifiers.frames.residuals import values_and_thresholds
from analysis.verifiers.frames.separation import separation_force

STATEMENT = "growing/corollary-7"
WITNESS = {
    "z": [["0", "0"], ["1", "2"]],
    "P": [[["0", "0"], ["1", "0"]], [["0", "1"], ["1", "1"]], [["2", "0"], ["-1", "2"]]],
    "b": ["2", "2", "2"],
    "values of M_a": ["4000000", "2", "1"],
    "phi_g": "1/1000000",
    "theta_w": "1/2",
}


def weak(values, phi, theta):
    """Gamma^2 = s^2 / (2 sum s^2) of every value of M_a but the first, and whether each Gamma < phi < theta."""
    squares = [s * s / (2 * sum(v * v for v in values)) for s in values[1:]]
    return squares, max(squares) < phi**2 and 0 < phi < theta < min(values)


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    z, banks, bases = matrix(witness["z"]), [matrix(p) for p in witness["P"]], [Fraction(b) for b in witness["b"]]
    values, phi, theta = values_and_thresholds(witness)
    squares, small = weak(values, phi, theta)
    yield "Gamma < phi_g < theta_w < every value of M_a but for the first head: Gamma^2", [*map(float, squares)], small
    heads, order = len(banks) == len(bases) == len(values), sorted(values, reverse=True) == values
    yield (
        "each T = 1 / log b is positive, and there is a head for each value, in their order",
        [str(b) for b in bases],
        heads and order and min(bases) > 1,
    )
    forces, d = [separation_force(exact_assignments(z, p, b), p) for p, b in zip(banks, bases, strict=True)], len(z[0])
    for j in range(1, len(banks)):
        fall = sum(forces[len(banks) - j :])
        yield f"F_sep falls by more than 10^9 {j} phi_g^2 in {j} prunings", str(fall), fall > j * 10**9 * phi**2
    yield "and by more than 10^9 d phi_g^2 in all", str(fall), fall > d * 10**9 * phi**2
