"""Verify an instance that refutes the gradient of V in Section 3.1 of "DDCL-INCRT".

Printed: grad_P V = 2 P Sigma_q for V = sum_nk q_nk |p_k - mu_n|^2 with the assignments (1).

Instance: one embedding and two prototypes on a line. The assignments depend on the prototypes: with e_nk = |p_k -
mu_n|^2, T (grad_k V - 2 r_k) = -2 sum_n q_nk (e_nk - sum_j q_nj e_nj) (p_k - z_n), a rational number that is not 0.
"""

from fractions import Fraction

from analysis.verifiers.frames.assignments import assignments, centroids, on_lattice
from analysis.verifiers.frames.linear_algebra import matrix, squared_distance

STATEMENT = "growing/equation-2-gradient"
WITNESS = {"z": [["1"]], "p": [["1"], ["-1"]], "b": "2", "spacing": "1"}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    h, b = Fraction(witness["spacing"]), Fraction(witness["b"])
    z, p = ([[v / h for v in row] for row in matrix(witness[name])] for name in ("z", "p"))
    yield (
        "T = h^2 / log b is positive, and coordinates are multiples of h, their unit: b",
        b,
        h > 0 and on_lattice([z, p], b),
    )
    q = assignments(z, p, b)
    rest = [[Fraction(0)] * len(p[0]) for _ in p]
    for x, row, mu in zip(z, q, centroids(q, p), strict=True):
        e = [squared_distance(y, mu) for y in p]
        mean = sum(w * v for w, v in zip(row, e, strict=True))
        for k, y in enumerate(p):
            share = -2 * row[k] * (e[k] - mean)
            rest[k] = [a + share * (v - w) for a, v, w in zip(rest[k], y, x, strict=True)]
    yield (
        "T times the rest of the gradient",
        [[str(v) for v in row] for row in rest],
        any(v for row in rest for v in row),
    )
