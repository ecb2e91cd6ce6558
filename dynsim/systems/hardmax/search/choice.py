"""The search algorithms for follower sets behind one interface, and the choice among them by dimension and size."""

import abc

import numpy as np
from jaxtyping import Float, Int

from dynsim.systems.hardmax.search.brute_force import near_best
from dynsim.systems.hardmax.search.cone_bisection import MANY, margin_of, possibly_best
from dynsim.systems.hardmax.search.direction_grid import near_best_by_cells
from dynsim.systems.hardmax.search.follower_sets import FollowerSets
from dynsim.systems.hardmax.search.scores import (
    Columns,
    Scores,
    assembled,
    decided,
    joined,
    relative_gaps,
    sets_of_zero_queries,
)
from dynsim.systems.hardmax.search.ties import FollowerCandidates

FEW = 200  # tokens up to which brute force is the fastest; measured in d = 2: 150 to 300
HIGHEST = 3  # dimension up to which bisection of cones is faster than brute force
SCORE_SECONDS = 0.45e-9  # measured time of one score; below, of a grid of cells, and by dimension of a token in it
GRID_SECONDS, TOKEN_SECONDS = 1.5e-4, {1: 1e-7, 2: 5e-7, 3: 1.5e-6}


class AbstractSearch(abc.ABC):
    """An algorithm that finds the exact follower sets."""

    @abc.abstractmethod
    def near(
        self, scores: Scores, rows: Int[np.ndarray, " r"]
    ) -> tuple[Columns, FollowerCandidates, np.ndarray, np.ndarray]:
        """Return columns, candidates and slack (see `decided`) of distinct rows, and each row's position in these."""

    @abc.abstractmethod
    def best_outside(self, scores: Scores, columns: Columns, tied: FollowerCandidates) -> Float[np.ndarray, " r"]:
        """Return the best score outside the follower set, in floats, of rows that follow several values; or -inf."""

    def sets(self, scores: Scores, rows: Int[np.ndarray, " r"]) -> FollowerSets:
        """Return the follower sets of the tokens `rows`, in this order."""
        zero = scores.norm_bounds[rows] == 0
        if np.all(zero):
            return sets_of_zero_queries(len(scores.tokens), len(rows))
        columns, near, slack, number = self.near(scores, rows[~zero])
        near, slack = decided(scores, columns, near, slack)
        several = near.sizes > 1
        if np.any(several):
            tied = near.among(several)
            best = _products(scores, tied, columns.tokens)
            other = self.best_outside(scores, columns, tied)
            slack[several] = np.minimum(slack[several], best - other - scores.errors(tied.rows))
        gaps = relative_gaps(scores, near.rows, slack)
        found = assembled(near, gaps, columns)
        found = FollowerSets(found.which[number], found.starts, found.members, found.gaps[number])
        if not np.any(zero):
            return found
        return joined([found, sets_of_zero_queries(len(scores.tokens), int(np.sum(zero)))], [~zero, zero])


class BruteForce(AbstractSearch):
    """All scores of every row against every distinct token, in any dimension."""

    def near(self, scores, rows):
        """See `AbstractSearch`."""
        columns = Columns(np.arange(len(scores.tokens)), scores.groups())
        distinct, number = columns.groups.among(rows)
        near, slack = near_best(scores.queries[distinct], scores.tokens[columns.tokens], scores.errors(distinct))
        return columns, near._replace(rows=distinct), slack, number

    def best_outside(self, scores, columns, tied):
        """See `AbstractSearch`; -inf, since the slack of brute force covers all other tokens already."""
        del scores, columns
        return np.full(len(tied.rows), -np.inf)


class ConeBisection(AbstractSearch):
    """A partition of directions into cones, each with the few tokens that can be best or second best in it; d <= 3.

    The cones are those of a grid (`direction_grid`), and bisected ones where tokens form clusters (`cone_bisection`).
    """

    def near(self, scores, rows):
        """See `AbstractSearch`."""
        margin = margin_of(scores, rows)
        among = possibly_best(scores.tokens, margin)
        if 2 * len(among) < len(scores.tokens) and scores.equal is None:
            columns = Columns(among, scores._replace(tokens=scores.tokens[among]).groups())
            distinct, number = rows, np.arange(len(rows))
        else:
            columns = Columns(np.arange(len(scores.tokens)), scores.groups())
            distinct, number = columns.groups.among(rows)
        keys = scores.tokens[columns.tokens]
        if _brute_force_is_faster(len(distinct), *keys.shape):
            near, slack = near_best(scores.queries[distinct], keys, scores.errors(distinct))
        else:
            part = slice(None) if np.array_equal(distinct, np.arange(len(scores.tokens))) else distinct  # avoids copies
            near, slack = near_best_by_cells(scores.queries[part], keys, scores.norm_bounds[part], margin)
        place = np.empty(len(distinct), int)
        place[near.rows] = np.arange(len(distinct))
        return columns, near._replace(rows=distinct[near.rows]), slack, place[number]

    def best_outside(self, scores, columns, tied):
        """See `AbstractSearch`: a cone has the two best values of each query, and both may belong to the tie."""
        members = np.unique(tied.columns)
        queries = scores.queries[tied.rows]
        found = np.full(len(tied.rows), -np.inf)
        tokens, place = scores.tokens[columns.tokens[members]], np.searchsorted(members, tied.columns)
        for first in range(0, len(found), 1024):
            here = slice(first, first + 1024)
            pairs = slice(tied.starts[first], tied.starts[min(first + 1024, len(found))])
            others = queries[here] @ tokens.T
            others[tied.row[pairs] - first, place[pairs]] = -np.inf
            found[here] = np.max(others, axis=1)
        inside, _ = columns.groups.tokens(members)
        rest = np.delete(np.arange(len(scores.tokens)), columns.among[inside])
        if not len(rest):
            return found
        margin = margin_of(scores, tied.rows)
        rest = rest[possibly_best(scores.tokens[rest], margin)]
        near, _ = near_best_by_cells(queries, scores.tokens[rest], scores.norm_bounds[tied.rows], margin)
        best = _products(scores, near._replace(rows=tied.rows[near.rows]), rest)
        found[near.rows] = np.maximum(found[near.rows], best)
        return found


def _products(scores: Scores, near: FollowerCandidates, tokens: np.ndarray) -> Float[np.ndarray, " r"]:
    """Return the score of each row with the first of its candidates, which are positions in `tokens`."""
    return np.einsum("nd,nd->n", scores.queries[near.rows], scores.tokens[tokens[near.columns[near.starts[:-1]]]])


def _brute_force_is_faster(rows: int, columns: int, d: int) -> bool:
    """Return whether computing all scores is faster than building a grid of cells, by the measured times."""
    return SCORE_SECONDS * rows * columns < GRID_SECONDS + TOKEN_SECONDS[d] * columns


def search_for(scores: Scores, rows: int) -> AbstractSearch:
    """Return the fastest search for this many rows."""
    n, d = scores.tokens.shape
    return BruteForce() if d > HIGHEST or n <= FEW or (rows <= FEW // 8 and n < MANY) else ConeBisection()
