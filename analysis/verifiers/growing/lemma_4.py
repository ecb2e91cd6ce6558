"""Verify an instance that refutes Lemma 4 of "DDCL-INCRT".

Printed: for u = v_1(A_res), C_k = sum_n alpha_n (p*_k - pbar*_n) is at least 0 for all k, and positive for some k.

Instance: centred tokens and prototypes along u, which also is the direction of their largest variance. All C_k are the
same negative number.
"""

from fractions import Fraction

from analysis.verifiers.frames.assignments import assignments, centroids
from analysis.verifiers.frames.linear_algebra import dot, matrix, vector
from analysis.verifiers.frames.residuals import dominant_direction

STATEMENT = "growing/lemma-4"
WITNESS = {
    "z": [["1", "0"], ["-1", "0"]],
    "p": [["1", "0"], ["-1", "0"]],
    "b": "2",
    "M": [["1", "3"], ["-3", "0"]],
    "captured": [],
    "u": ["1", "0"],
    "s": "3",
}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    yield from dominant_direction(witness)
    z, p, b = matrix(witness["z"]), matrix(witness["p"]), Fraction(witness["b"])
    q, u = assignments(z, p, b), vector(witness["u"])
    alpha = [dot(x, u) for x in z]
    yield "(A1) prototypes are distinct", len(p), len({tuple(y) for y in p}) == len(p)
    yield "(A2') they differ along u", [str(dot(y, u)) for y in p], len({dot(y, u) for y in p}) > 1
    yield "tokens are centred", [str(a) for a in alpha], sum(alpha) == 0
    means = [dot(mu, u) for mu in centroids(q, p)]
    found = [sum(a * (dot(y, u) - m) for a, m in zip(alpha, means, strict=True)) for y in p]
    yield "C_k are negative", [str(c) for c in found], max(found) < 0
