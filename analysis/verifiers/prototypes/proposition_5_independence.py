"""Verify an instance that refutes a sentence in the proof of Proposition 5 of "DDCL-Attention".

Printed: the gradient of V of a level, 2 P Sigma_q at fixed assignments, is independent of the prototypes of the others.

Instance: two choices of two prototypes at level 1, both at equal distances of the embedding, so that the input of level
2 is their midpoint. The gradients at level 2 differ.
"""

from fractions import Fraction

from analysis.verifiers.frames.assignments import assignments, centroids, on_lattice, separation_gradient
from analysis.verifiers.frames.linear_algebra import matrix

STATEMENT = "prototypes/proposition-5-independence"
WITNESS = {
    "z": [["0", "0"]],
    "P1": [["1", "0"], ["-1", "0"]],
    "other P1": [["1", "1"], ["-1", "1"]],
    "P2": [["0", "0"], ["0", "2"]],
    "b": "2",
    "spacing": "1",
}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    z, second = matrix(witness["z"]), matrix(witness["P2"])
    grid = [Fraction(witness[name]) for name in ("b", "spacing")]
    found = []
    for name in ("P1", "other P1"):
        p = matrix(witness[name])
        inputs = centroids(assignments(z, p, *grid), p)
        yield (
            f"{name}: T is positive, coordinates and inputs are multiples of the spacing",
            [*map(str, grid)],
            on_lattice([z, p, second, inputs], *grid),
        )
        found.append(separation_gradient(assignments(inputs, second, *grid), second))
    shown = [[[*map(str, row)] for row in rows] for rows in found]
    yield "the gradients of V of level 2 differ", shown, found[0] != found[1]
