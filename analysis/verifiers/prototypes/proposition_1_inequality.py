"""Verify an instance that refutes an inequality in the proof of Proposition 1 of "DDCL-Attention".

Printed: |z_n - mu_n|^2 >= min_k |z_n - p_k|^2, mu_n being a convex combination of the prototypes.

Instance: an embedding midway between two prototypes, where mu_n = z_n at every temperature.
"""

from analysis.verifiers.frames.assignments import assignments, centroids, positive_assignments
from analysis.verifiers.frames.linear_algebra import matrix, squared_distance, vector

STATEMENT = "prototypes/proposition-1-inequality"
WITNESS = {"z": [["0"]], "p": [["1"], ["-1"]], "b": "2", "spacing": "1"}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    z, p, grid = matrix(witness["z"]), matrix(witness["p"]), vector(witness[k] for k in ("b", "spacing"))
    yield from positive_assignments(z, p, *grid)
    q = assignments(z, p, *grid)
    mu = centroids(q, p)[0]
    error, least = squared_distance(z[0], mu), min(squared_distance(z[0], y) for y in p)
    yield "|z - mu|^2 and min |z - p_k|^2", (str(error), str(least)), error < least
