"""Best and second best by all scores: in single precision what it can tell, in double precision the rest.

A few rows at a time, so that their scores stay in the cache.
"""

import numpy as np
from jaxtyping import Float, Int

from dynsim.systems.hardmax.search.ties import Candidates

BLOCK = 2**20  # scores at a time; measured best between 2^17 and 2^21 at n = 1e4
FEW = 2**18  # scores in all for which single precision spares no time
SINGLE = 2.0**-24  # half a unit in the last place of single precision
WIDE = 64  # times the error of single precision is looked at again: the gap of the others is known to a 64th
CROWD = 8  # near candidates of a row beyond which single precision only adds work


def near_best(
    queries: Float[np.ndarray, "r d"], keys: Float[np.ndarray, "m d"], errors: Float[np.ndarray, " r"]
) -> tuple[Candidates, Float[np.ndarray, " r"]]:
    """Return the keys whose score is within `errors` of the best, and by how much all others have less, at least.

    The rows of the candidates are positions in `queries`; without another key the second answer is infinite.
    """
    (r, m), norms = (len(queries), len(keys)), np.sqrt(np.einsum("nd,nd->n", queries, queries))
    single = (queries / norms[:, None]).astype(np.float32), keys.astype(np.float32)
    error = 4 * (keys.shape[1] + 4) * SINGLE * float(np.sqrt(np.max(np.einsum("nd,nd->n", keys, keys))))
    step = max(1, min(r, BLOCK // m))
    buffer = _Buffer(step, m)
    parts: list[tuple[Candidates, np.ndarray]] = []
    for first in range(0, r, step):
        here = slice(first, min(first + step, r))
        at, rest = np.empty(0, int), np.empty(0)
        if r * m > FEW:
            at, second = buffer.near(single[0][here], single[1], np.full(here.stop - first, WIDE * error))
            rest = second * norms[here] + 2 * error * norms[here]
        if not 0 < len(at) <= CROWD * (here.stop - first):
            at, rest = buffer.near(queries[here], keys, errors[here])
        parts.append(_sharpened(first, at, rest, queries[here], keys, errors[here]))
    starts = np.concatenate([[0], np.cumsum(np.concatenate([part.sizes for part, _ in parts]))])
    near = Candidates(np.arange(r), starts, np.concatenate([part.columns for part, _ in parts]))
    return near, np.concatenate([slack for _, slack in parts])


class _Buffer:
    """Room for the scores of some rows, in both precisions."""

    def __init__(self, rows: int, columns: int):
        self.scores = {kind: np.empty((rows, columns), kind) for kind in (np.float32, np.float64)}
        self.close = np.empty((rows, columns), bool)

    def near(self, queries: np.ndarray, keys: np.ndarray, within: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the positions of scores `within` the best of their rows, and the best of the others of each row."""
        found, near = self.scores[queries.dtype.type][: len(queries)], self.close[: len(queries)]
        np.matmul(queries, keys.T, out=found)
        least = np.max(found, axis=1) - within.astype(queries.dtype)
        np.greater_equal(found, least[:, None], out=near)
        at = np.flatnonzero(near.reshape(-1))  # several times as fast as `nonzero`
        found.reshape(-1)[at] = -np.inf
        return at, np.max(found, axis=1).astype(float)


def _sharpened(
    first: int,
    at: Int[np.ndarray, " near"],
    rest: Float[np.ndarray, " rows"],
    queries: np.ndarray,
    keys: np.ndarray,
    errors: np.ndarray,
) -> tuple[Candidates, Float[np.ndarray, " rows"]]:
    """Return the candidates and the slack of some rows, from a few positions and a bound of all other scores."""
    row, column = np.divmod(at, len(keys))
    sizes = np.bincount(row, minlength=len(queries))
    bounds = np.concatenate([[0], np.cumsum(sizes)])
    found = np.concatenate(
        [np.einsum("nd,nd->n", queries[row[p]], keys[column[p]]) for p in _pieces(len(at), keys.shape[1])]
    )
    best = np.maximum.reduceat(found, bounds[:-1])
    near = found >= np.repeat(best - errors, sizes)
    second = np.maximum(rest, np.maximum.reduceat(np.where(near, -np.inf, found), bounds[:-1]))
    return Candidates(first + np.arange(len(queries)), bounds, column).only(near), best - second - errors


def _pieces(count: int, d: int) -> list[slice]:
    """Return slices of `count` pairs in R^d, a few megabytes each."""
    step = max(1, 2**19 // d)
    return [slice(first, first + step) for first in range(0, count, step)]
