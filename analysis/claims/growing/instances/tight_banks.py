"""Banks whose prototypes lie close to each other, near some of the tokens or far from all of them, exactly."""

from fractions import Fraction

import numpy as np

from analysis.claims.prototype_banks import RationalBank
from analysis.claims.rational_instances import matrix
from dynsim._core.types import Key
from dynsim.keys import numpy_rng

NEAR = Fraction(1, 8)  # the distance of prototypes; what is far is at about 1


def tight_bank(key: Key, *, count: int = 3, tokens: int = 5, dimension: int = 6) -> RationalBank:
    """Return tokens with integer coordinates and prototypes at a corner of a small cube and its neighbours."""
    rng = numpy_rng(key, "tight")
    z, corner = (matrix(rng.integers(-1, 2, (rows, dimension))) for rows in (tokens, 1))
    axes = rng.choice(dimension, count - 1, replace=False)
    steps = np.concatenate([np.zeros((1, dimension), int), np.eye(dimension, dtype=int)[axes]])
    base = 1 + Fraction(1, int(rng.integers(64, 257)))
    return RationalBank(z, corner + NEAR * matrix(steps), base, NEAR, "tight")


def remote_bank(key: Key) -> RationalBank:
    """Return two prototypes at distance 1 and a token far away on their line, at a temperature above all distances."""
    rng = numpy_rng(key, "remote")
    z = matrix([[2 * int(rng.integers(100, 200)) + 1, 0]]) / 2
    return RationalBank(z, matrix([[0, 0], [1, 0]]), 1 + Fraction(1, 10**6), Fraction(1, 2), "remote")


def lone_bank(key: Key) -> RationalBank:
    """Return two prototypes close to each other and a third one far away, with tokens between."""
    rng = numpy_rng(key, "lone")
    z = matrix(rng.integers(0, 2, (5, 2)))
    p = matrix([[0, 0], [0, 1], [8, 8 * int(rng.integers(-1, 2))]]) * NEAR
    return RationalBank(z, p, 1 + Fraction(1, int(rng.integers(64, 257))), NEAR, "one apart")
