"""Search algorithms for follower sets, and the choice between them by dimension and number of tokens."""

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

FEW = 200  # number of tokens up to which brute force is fastest; measured in d = 2: 150 to 300
HIGHEST = 3  # dimension up to which bisection of cones is faster than brute force
# Measured times in seconds: of one score, of building a grid of cells, and of adding a token to it, by dimension.
SCORE_SECONDS = 0.45e-9
GRID_SECONDS, TOKEN_SECONDS = 1.5e-4, {1: 1e-7, 2: 5e-7, 3: 1.5e-6}


class AbstractSearch(abc.ABC):
    """An algorithm that finds the exact follower sets of tokens."""

    @abc.abstractmethod
    def near(
        self, scores: Scores, rows: Int[np.ndarray, " r"]
    ) -> tuple[Columns, FollowerCandidates, np.ndarray, np.ndarray]:
        """Find near-best candidates and slack (see `decided`) of distinct rows, and the position of each row."""

    @abc.abstractmethod
    def best_outside(self, scores: Scores, columns: Columns, tied: FollowerCandidates) -> Float[np.ndarray, " r"]:
        """Best score outside the follower set, in floats, for rows that follow several tokens; or -inf."""

    def sets(self, scores: Scores, rows: Int[np.ndarray, " r"]) -> FollowerSets:
        """Follower sets of the tokens `rows`, in this order."""
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
    """Scores every row against every distinct token, in any dimension."""

    def near(self, scores, rows):
        """Candidates and slack from all scores, as described in `AbstractSearch.near`."""
        columns = Columns(np.arange(len(scores.tokens)), scores.groups())
        distinct, number = columns.groups.among(rows)
        near, slack = near_best(scores.queries[distinct], scores.tokens[columns.tokens], scores.errors(distinct))
        return columns, near._replace(rows=distinct), slack, number

    def best_outside(self, scores, columns, tied):
        """Minus infinity, because the slack of brute force already covers all other tokens."""
        return np.full(len(tied.rows), -np.inf)


class ConeBisection(AbstractSearch):
    """Partitions directions into cones and keeps the tokens that can be best or second best in each; d <= 3.

    The cones come from a grid (`direction_grid`), and from bisection where tokens form clusters (`cone_bisection`).
    """

    def near(self, scores, rows):
        """Candidates and slack from the cone of each row, as described in `AbstractSearch.near`."""
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
            # a slice avoids copies
            part = slice(None) if np.array_equal(distinct, np.arange(len(scores.tokens))) else distinct
            near, slack = near_best_by_cells(scores.queries[part], keys, scores.norm_bounds[part], margin)
        place = np.empty(len(distinct), int)
        place[near.rows] = np.arange(len(distinct))
        return columns, near._replace(rows=distinct[near.rows]), slack, place[number]

    def best_outside(self, scores, columns, tied):
        """Best score outside a tie, which may hold both of the two best values that a cone keeps for a query."""
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
    """Score of each row with the first of its candidates, given as positions in `tokens`."""
    return np.einsum("nd,nd->n", scores.queries[near.rows], scores.tokens[tokens[near.columns[near.starts[:-1]]]])


def _brute_force_is_faster(rows: int, columns: int, d: int) -> bool:
    """Whether all scores are computed faster than a grid of cells is built, according to the measured times."""
    return SCORE_SECONDS * rows * columns < GRID_SECONDS + TOKEN_SECONDS[d] * columns


def search_for(scores: Scores, rows: int) -> AbstractSearch:
    """Choose the fastest search for this many rows."""
    n, d = scores.tokens.shape
    return BruteForce() if d > HIGHEST or n <= FEW or (rows <= FEW // 8 and n < MANY) else ConeBisection()
