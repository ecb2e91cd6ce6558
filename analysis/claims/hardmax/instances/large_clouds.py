"""Clouds of thousands of tokens with integer coordinates, whose follower sets are known exactly from all scores."""

import jax
import numpy as np
from jaxtyping import Float, Int

from analysis.ledger.evidence import ROUNDING, Measurement, holds
from dynsim._core.types import Key
from dynsim.systems.hardmax.maps import ExactHardmaxMap, HardmaxMap
from dynsim.systems.hardmax.search.follower_sets import FollowerSets

SIZES = {1: 2100, 2: 2400, 3: 4000}  # tokens by dimension: enough for the search by cells and cones
EXTENT = 40  # of the lattice, on which many scores are equal
ARC = 100  # tokens on each half of an arc
METRICS = {1: ((2,),), 2: ((2, 1), (0, 1)), 3: ((2, 1, 0), (0, 1, 1), (1, 0, 3))}  # by dimension; not symmetric

Integers = Int[np.ndarray, "n d"]


def large_cloud(key: Key, d: int) -> Integers:
    """Return repeated tokens of a lattice, in half of the cases with tokens of large norm on a flat arc, (n, d).

    The arc is $(c - k^2, 10^5 k)$ with $|k|$ up to `ARC`; its tokens are the best for directions (1, t) with |t| below
    0.002 only, of which there are many too: hard for a search that divides directions.
    """
    a, b, c = jax.random.split(key, 3)
    found = np.array(jax.random.randint(a, (SIZES[d], d), -EXTENT, EXTENT + 1), np.int64)
    if jax.random.bernoulli(b):
        k, zero = np.arange(-ARC, ARC + 1), np.zeros((2 * ARC + 1, 3), np.int64)
        arc, towards = zero + [[10**7, 0, 0]], zero + [[3 * 10**4, 0, 0]]
        arc[:, 0] -= k**2
        arc[:, 1], towards[:, 1] = 10**5 * k, k
        found[: 2 * len(k)] = np.concatenate([arc, towards])[:, :d]
    return found[np.asarray(jax.random.permutation(c, len(found)))]


def search_measurements(key: Key) -> tuple[Measurement, ...]:
    """Measure the follower sets that ship against all scores, in floats and fractions, in one to three dimensions.

    All scores are integers below 2^53, so that products in floats are exact.
    """
    found = []
    for d, metric in METRICS.items():
        x, A = large_cloud(jax.random.fold_in(key, d), d), np.array(metric)
        scores = (x.astype(float) @ A.T) @ x.T.astype(float)
        sizes = np.linalg.norm(x @ A.T, axis=1) * np.max(np.linalg.norm(x, axis=1))
        for kind in (HardmaxMap, ExactHardmaxMap) if d == 2 else (HardmaxMap,):
            map = kind(1, A)
            sets = map.follower_sets(map.rule.tokens(x))
            found += _measured(f"{kind.__name__}, {len(x)} tokens in R^{d}", scores, sizes, sets)
    return tuple(found)


def _measured(
    name: str, scores: Float[np.ndarray, "n n"], sizes: Float[np.ndarray, " n"], sets: FollowerSets
) -> tuple[Measurement, ...]:
    """Measure that `sets` are the maximisers of each row, and that their relative gaps are lower bounds."""
    best = scores == np.max(scores, axis=1)[:, None]
    known = np.zeros_like(best)
    for s in range(len(sets.starts) - 1):
        known[np.ix_(sets.which == s, sets.members[sets.starts[s] : sets.starts[s + 1]])] = True
    other = np.max(np.where(best, -np.inf, scores), axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        gaps = np.where(np.all(best, axis=1), np.inf, (np.max(scores, axis=1) - other) / sizes)
    return (
        holds(f"{name}: the follower sets are all maximisers", np.array_equal(best, known)),
        holds(f"{name}: the gaps are positive", bool(np.all(sets.gaps > 0))),
        holds(f"{name}: they are lower bounds", bool(np.all(sets.gaps <= gaps * (1 + ROUNDING)))),
    )
