"""Verify an instance that refutes Proposition 5 of "DDCL-Attention".

Printed: at each level Lq = L_OLS + V, the inputs of level 2 being the soft centroids of level 1.

Instance: two prototypes at each level, symmetric about the embedding, which is then the soft centroid at level 1.
"""

from fractions import Fraction

from analysis.verifiers.frames.assignments import assignments, centroids, losses, on_lattice
from analysis.verifiers.frames.linear_algebra import matrix

STATEMENT = "prototypes/proposition-5-decomposition"
WITNESS = {"z": [["0"]], "P1": [["1"], ["-1"]], "P2": [["2"], ["-2"]], "b": "2", "spacing": "1"}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    z, grid = matrix(witness["z"]), [Fraction(witness[name]) for name in ("b", "spacing")]
    for name in ("P1", "P2"):
        p = matrix(witness[name])
        yield (
            f"{name}: T is positive, and coordinates are multiples of the spacing: base and spacing",
            [*map(str, grid)],
            on_lattice([z, p], *grid),
        )
        q = assignments(z, p, *grid)
        loss, hard, variance = losses(z, p, q)
        yield f"{name}: Lq is not M + V: Lq - M - V", loss - hard - variance, loss != hard + variance
        z = centroids(q, p)
