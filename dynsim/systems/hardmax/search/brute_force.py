"""Best and second best token of each query from all scores, in single precision where that suffices.

The queries are processed in blocks whose scores stay in the cache.
"""

import numpy as np
from jaxtyping import Float, Int

from dynsim.systems.hardmax.search.ties import FollowerCandidates

BLOCK = 2**20  # number of scores computed at a time; fastest between 2^17 and 2^21 at n = 1e4
FEW = 2**18  # total number of scores up to which single precision saves no time
SINGLE = 2.0**-24  # half a unit in the last place of single precision
WIDE = 64  # scores within this many single-precision errors of the best are recomputed, so gaps are accurate to 1/64
CROWD = 8  # with more near candidates per row, single precision only adds work


def near_best(
    queries: Float[np.ndarray, "r d"], keys: Float[np.ndarray, "m d"], errors: Float[np.ndarray, " r"]
) -> tuple[FollowerCandidates, Float[np.ndarray, " r"]]:
    """Keys whose score is within `errors` of the best, for each query, and the slack of all other keys.

    The slack is a lower bound of the best score minus the score of every other key, infinite if there is no other. The
    rows of the candidates are positions in `queries`.
    """
    (r, m), norms = (len(queries), len(keys)), np.sqrt(np.einsum("nd,nd->n", queries, queries))
    single = (queries / norms[:, None]).astype(np.float32), keys.astype(np.float32)
    error = 4 * (keys.shape[1] + 4) * SINGLE * float(np.sqrt(np.max(np.einsum("nd,nd->n", keys, keys))))
    step = max(1, min(r, BLOCK // m))
    buffer = _Buffer(step, m)
    parts: list[tuple[FollowerCandidates, np.ndarray]] = []
    for first in range(0, r, step):
        here = slice(first, min(first + step, r))
        at, rest = np.empty(0, int), np.empty(0)
        if r * m > FEW:
            at, second = buffer.near(single[0][here], single[1], np.full(here.stop - first, WIDE * error))
            rest = second * norms[here] + 2 * error * norms[here]
        if not 0 < len(at) <= CROWD * (here.stop - first):
            at, rest = buffer.near(queries[here], keys, errors[here])
        parts.append(_rescored(first, at, rest, queries[here], keys, errors[here]))
    starts = np.concatenate([[0], np.cumsum(np.concatenate([part.sizes for part, _ in parts]))])
    near = FollowerCandidates(np.arange(r), starts, np.concatenate([part.columns for part, _ in parts]))
    return near, np.concatenate([slack for _, slack in parts])


class _Buffer:
    """Preallocated memory for the scores of a block of rows, in both precisions."""

    def __init__(self, rows: int, columns: int):
        self.scores = {kind: np.empty((rows, columns), kind) for kind in (np.float32, np.float64)}
        self.close = np.empty((rows, columns), bool)

    def near(self, queries: np.ndarray, keys: np.ndarray, within: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Flat positions of the scores within `within` of the best of their row, and the best of the others."""
        found, near = self.scores[queries.dtype.type][: len(queries)], self.close[: len(queries)]
        np.matmul(queries, keys.T, out=found)
        least = np.max(found, axis=1) - within.astype(queries.dtype)
        np.greater_equal(found, least[:, None], out=near)
        at = np.flatnonzero(near.reshape(-1))  # several times faster than `nonzero`
        found.reshape(-1)[at] = -np.inf
        return at, np.max(found, axis=1).astype(float)


def _rescored(
    first: int,
    at: Int[np.ndarray, " near"],
    rest: Float[np.ndarray, " rows"],
    queries: np.ndarray,
    keys: np.ndarray,
    errors: np.ndarray,
) -> tuple[FollowerCandidates, Float[np.ndarray, " rows"]]:
    """Candidates and slack of some rows, from flat positions `at` and a bound `rest` on all other scores."""
    row, column = np.divmod(at, len(keys))
    sizes = np.bincount(row, minlength=len(queries))
    bounds = np.concatenate([[0], np.cumsum(sizes)])
    found = np.concatenate(
        [np.einsum("nd,nd->n", queries[row[p]], keys[column[p]]) for p in _pieces(len(at), keys.shape[1])]
    )
    best = np.maximum.reduceat(found, bounds[:-1])
    near = found >= np.repeat(best - errors, sizes)
    second = np.maximum(rest, np.maximum.reduceat(np.where(near, -np.inf, found), bounds[:-1]))
    return FollowerCandidates(first + np.arange(len(queries)), bounds, column).only(near), best - second - errors


def _pieces(count: int, d: int) -> list[slice]:
    """Slices that split `count` pairs of vectors in R^d into pieces of a few megabytes."""
    step = max(1, 2**19 // d)
    return [slice(first, first + step) for first in range(0, count, step)]
