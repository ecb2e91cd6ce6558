"""All maximisers by all scores: floats decide what they can, exact arithmetic the rest."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from dynsim.systems.hardmax.follower_sets import FollowerSets

Decide = Callable[[int, Int[np.ndarray, " candidates"]], Int[np.ndarray, " members"]]
BLOCK_BYTES = 2**24  # of scores at a time: they stay in the cache of one core's neighbourhood


class Scores(NamedTuple):
    """What floats know of the scores $\\langle A z_i, z_j\\rangle$ of distinct tokens.

    `queries` are $A z_i$ and `tokens` are $z_j$ up to a common positive factor each, `sizes` bounds of $\\|A\\| |z_i|$
    in the units of `queries`; `decide(i, candidates)` returns exactly which candidates have token i's best score.
    """

    queries: Float[np.ndarray, "n d"]
    tokens: Float[np.ndarray, "n d"]
    sizes: Float[np.ndarray, " n"]
    decide: Decide

    @property
    def errors(self) -> Float[np.ndarray, " n"]:
        """A bound of the rounding error of the difference of two of token i's scores."""
        d = self.tokens.shape[1]
        return 16 * (d + 3) * 2.0**-52 * self.sizes * self.largest

    @property
    def largest(self) -> float:
        """The largest norm of a token."""
        return float(np.max(np.linalg.norm(self.tokens, axis=1)))


def brute_force(scores: Scores) -> tuple[list[Int[np.ndarray, " members"]], Float[np.ndarray, " n"]]:
    """Return the exact maximisers of every token, among distinct tokens, and the gaps of `FollowerSets`."""
    n = len(scores.tokens)
    rows = max(1, BLOCK_BYTES // (8 * n))
    sets: list[Int[np.ndarray, " members"]] = []
    gaps: list[np.ndarray] = []
    errors, units = scores.errors, np.linalg.norm(scores.queries, axis=1) * scores.largest
    for first in range(0, n, rows):
        here = slice(first, min(first + rows, n))
        found = scores.queries[here] @ scores.tokens.T
        best = np.max(found, axis=1)
        near = found >= (best - errors[here])[:, None]
        found[near] = -np.inf
        second = np.max(found, axis=1)
        gaps.append(relative_gaps(best - second - errors[here], units[here]))
        sets += _decided(scores.decide, near, first, gaps[-1])
    return sets, np.concatenate(gaps)


def _decided(decide: Decide, near: np.ndarray, first: int, gaps: np.ndarray) -> list[np.ndarray]:
    """Return the members among those that floats cannot tell from the best; one rejected leaves no known gap."""
    sets = []
    for row, candidates in enumerate(np.split(np.nonzero(near)[1], np.cumsum(np.sum(near, axis=1))[:-1])):
        members = candidates if len(candidates) == 1 else decide(first + row, candidates)
        if len(members) < len(candidates):
            gaps[row] = 0.0
        sets.append(members)
    return sets


def relative_gaps(differences: np.ndarray, units: np.ndarray) -> np.ndarray:
    """Return differences of scores in `units`, never negative; infinite where nothing was left to compare with."""
    alone = np.isinf(differences)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.maximum(differences, 0.0) / units
    return np.where(alone, np.inf, np.nan_to_num(found, nan=0.0, posinf=0.0))


def expanded(
    sets: Sequence[np.ndarray], gaps: np.ndarray, inverse: Int[np.ndarray, " n"], counts: Int[np.ndarray, " distinct"]
) -> FollowerSets:
    """Return the sets of tokens from those of distinct values, of which token i has number `inverse[i]`."""
    seen: dict[bytes, int] = {}
    distinct: list[np.ndarray] = []
    which = np.empty(len(sets), int)
    for u, members in enumerate(sets):
        which[u] = seen.setdefault(members.tobytes(), len(distinct))
        if which[u] == len(distinct):
            distinct.append(members)
    owners = np.split(np.argsort(inverse, kind="stable"), np.cumsum(counts)[:-1])
    whole = [np.sort(np.concatenate([owners[v] for v in members])) for members in distinct]
    starts = np.concatenate([[0], np.cumsum([len(s) for s in whole])]).astype(int)
    return FollowerSets(which[inverse], starts, np.concatenate(whole), gaps[inverse])
