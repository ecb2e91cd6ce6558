"""Verify an instance that refutes Definition 2 of "DDCL-INCRT".

Printed: Phi = (T_init^3 - T^3) / (3 eta_T) is constructed so that dPhi/dt = -sigma along dT/dt = -eta_T sigma / T^2.

Instance: two heads on integer points at T = 1 / log 2, where assignments are rational: sigma > 0, and dPhi/dt =
-(dT^3/dt) / (3 eta_T) = +sigma.
"""

from fractions import Fraction

from analysis.verifiers.frames.assignments import activity, assignments
from analysis.verifiers.frames.linear_algebra import integer_matrix

STATEMENT = "growing/definition-2"
WITNESS = {
    "z": [[1, -1, 1, 0], [-1, -1, 0, -1], [-1, -1, -1, 1]],
    "banks": [[[1, 1, -1, 1], [1, -1, 0, -1]], [[0, 0, 1, 1], [1, 1, 0, 0]]],
    "eta_T": "1/90",
}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    eta = Fraction(witness["eta_T"])
    yield "eta_T, positive", str(eta), eta > 0
    for bank in witness["banks"]:
        z, p = integer_matrix(witness["z"]), integer_matrix(bank)
        sigma = activity(z, p, assignments(z, p, Fraction(2)))
        cubes = -3 * eta * sigma  # the derivative of T^3
        along = -cubes / (3 * eta)
        yield "sigma, positive", str(sigma), sigma > 0
        yield "dPhi/dt, which is sigma", str(along), along == sigma
        yield "dPhi/dt + sigma, not zero", str(along + sigma), along != -sigma
