"""Verify an instance that refutes sentences of Sections 5.2 and 8.4 of "DDCL-Attention".

Printed: in one backward pass there is no interference between levels, and the separation gradient 2 P Sigma_q of one
level cannot vanish while that of the other is large. Read: the gradient of the total loss by P1 is that of the loss of
level 1, and the gradient of V of level 1 is at least 1e-6 times that of level 2.

Instance: an embedding midway between two prototypes at level 1, so that the input of level 2 is z. At fixed assignments
the loss of level 2 adds q_k 2 (mu - mu') to the gradient by p_k, mu' being the soft centroid at level 2. With other
prototypes of level 2, distinct and far apart, the ratio of the gradients of V is below 1e-6.
"""

from fractions import Fraction

from analysis.verifiers.frames.assignments import assignments, centroids, on_lattice, separation_gradient
from analysis.verifiers.frames.linear_algebra import matrix

STATEMENT = "prototypes/claim-no-interference"
WITNESS = {
    "z": [["0"]],
    "P1": [["1"], ["-1"]],
    "P2": [["1"], ["3"]],
    "far P2": [["10000001"], ["-10000001"]],
    "b": "2",
    "spacing": "1",
}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    z, first = matrix(witness["z"]), matrix(witness["P1"])
    grid = [Fraction(witness[name]) for name in ("b", "spacing")]
    q = assignments(z, first, *grid)
    mu = centroids(q, first)
    second, far = matrix(witness["P2"]), matrix(witness["far P2"])
    yield (
        "T is positive, coordinates and inputs are multiples of the spacing",
        [*map(str, grid)],
        on_lattice([z, first, second, far, mu], *grid),
    )
    distinct = [len({tuple(y) for y in p}) == len(p) for p in (first, second, far)]
    yield "prototypes of each level are distinct", distinct, all(distinct)
    beyond = centroids(assignments(mu, second, *grid), second)
    added = [
        2 * row[k] * (x - y)
        for row, u, v in zip(q, mu, beyond, strict=True)
        for k in range(2)
        for x, y in zip(u, v, strict=True)
    ]
    yield "level 2 moves P1: what it adds to the gradient", [*map(str, added)], any(added)
    gradients = [separation_gradient(assignments(x, p, *grid), p) for x, p in ((z, first), (mu, far))]
    sizes = [sum(v * v for row in rows for v in row) for rows in gradients]
    yield "squared gradients of V of levels 1 and 2", [*map(str, sizes)], sizes[0] * 10**12 < sizes[1]
