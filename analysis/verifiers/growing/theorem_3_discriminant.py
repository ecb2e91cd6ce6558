"""Verify an instance that refutes Theorem 3 (3) of "DDCL-INCRT".

Printed: sigma(0) is proportional to lambda_max(A_res) S(P)(0) for a new head.

Instance: directed attention M_a with the entries (1, 3) = 1 and (3, 1) = -1, and f M_a. The dominant plane and its
vector e_1 are the same, and so are the prototypes at +-spread on e_1, tokens, temperature, sigma(0) and S(P)(0).
lambda is f times as large. At T = spacing^2 / log b the assignments are rational if squared distances of each token
differ by multiples of spacing^2.
"""

from fractions import Fraction

from analysis.verifiers.frames.assignments import activity, exact_assignments
from analysis.verifiers.frames.linear_algebra import squared_distance

STATEMENT = "growing/theorem-3-discriminant"
WITNESS = {"f": "2", "z": [["1", "0", "0"], ["-1", "2", "0"]], "spread": "1", "b": "2", "spacing": "1"}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    f, b, spread, h = (Fraction(witness[name]) for name in ("f", "b", "spread", "spacing"))
    z = [[Fraction(v) for v in row] for row in witness["z"]]
    yield "f, spread, spacing > 0 and b > 1", [str(v) for v in (f, spread, h, b)], min(f, spread, h) > 0 and b > 1
    p = [[s * spread] + [Fraction(0)] * (len(z[0]) - 1) for s in (1, -1)]
    sigma, S = activity(z, p, exact_assignments(z, p, b, h)), squared_distance(*p)
    yield "sigma(0) of both is positive", sigma, sigma > 0
    ratios = [sigma / (value * S) for value in (Fraction(1), f)]
    yield "sigma(0) over lambda S(P)(0) differs", (str(ratios[0]), str(ratios[1])), ratios[0] != ratios[1]
