"""Searches for the best tokens: one interface, chosen by dimension and size, the same sets from each."""

import abc

import numpy as np
from jaxtyping import Float, Int

from dynsim.systems.hardmax.follower_sets import FollowerSets
from dynsim.systems.hardmax.search.brute_force import near_best
from dynsim.systems.hardmax.search.cone_bisection import MANY, columns_within, margin_of
from dynsim.systems.hardmax.search.direction_grid import near_best_by_cells
from dynsim.systems.hardmax.search.scores import Columns, Scores, assembled, decided, everything, joined, relative_gaps
from dynsim.systems.hardmax.search.ties import Candidates

FEW = 200  # tokens up to which all scores are the fastest: measured in d = 2, 150 to 300
HIGHEST = 3  # dimension in which cones win
SCORE = 0.45e-9  # seconds of one score, measured, as are those of a grid of cells and of a token's way through it
GRID, TOKEN = 1.5e-4, {1: 1e-7, 2: 5e-7, 3: 1.5e-6}


class AbstractSearch(abc.ABC):
    """A way to the exact follower sets."""

    @abc.abstractmethod
    def near(self, scores: Scores, rows: Int[np.ndarray, " r"]) -> tuple[Columns, Candidates, np.ndarray, np.ndarray]:
        """Return columns, candidates and slack (see `decided`) of distinct rows, and each row's number among them."""

    @abc.abstractmethod
    def beside_ties(self, scores: Scores, columns: Columns, tied: Candidates) -> Float[np.ndarray, " r"]:
        """Return upper bounds of the best score outside the set, of rows that follow several values; or infinity."""

    def sets(self, scores: Scores, rows: Int[np.ndarray, " r"]) -> FollowerSets:
        """Return the follower sets of the tokens `rows`, one for each, in their order."""
        zero = scores.sizes[rows] == 0
        if np.all(zero):
            return everything(len(scores.tokens), len(rows))
        columns, near, slack, number = self.near(scores, rows[~zero])
        near, slack = decided(scores, columns, near, slack)
        several = near.sizes > 1
        if np.any(several):
            tied = near.among(several)
            best = _products(scores, tied, columns.tokens)
            beside = self.beside_ties(scores, columns, tied)
            slack[several] = np.minimum(slack[several], best - beside - scores.errors(tied.rows))
        gaps = relative_gaps(scores, near.rows, slack)
        found = assembled(near, gaps, columns)
        found = FollowerSets(found.which[number], found.starts, found.members, found.gaps[number])
        if not np.any(zero):
            return found
        return joined([found, everything(len(scores.tokens), int(np.sum(zero)))], [~zero, zero])


class BruteForce(AbstractSearch):
    """Every row against every distinct token, in any dimension."""

    def near(self, scores, rows):
        """See `AbstractSearch`."""
        columns = Columns(np.arange(len(scores.tokens)), scores.groups())
        distinct, number = columns.groups.among(rows)
        near, slack = near_best(scores.queries[distinct], scores.tokens[columns.tokens], scores.errors(distinct))
        return columns, near._replace(rows=distinct), slack, number

    def beside_ties(self, scores, columns, tied):
        """See `AbstractSearch`; the second score is that of all others already."""
        del scores, columns
        return np.full(len(tied.rows), -np.inf)


class ConeBisection(AbstractSearch):
    """Cones of directions, each with the few tokens that can be best or second best in it: for d at most 3.

    A grid of them first (`cells`), bisected ones where tokens have become clusters (`cones`).
    """

    def near(self, scores, rows):
        """See `AbstractSearch`."""
        margin = margin_of(scores, rows)
        among = columns_within(scores.tokens, margin)
        if 2 * len(among) < len(scores.tokens) and scores.equal is None:
            columns = Columns(among, scores._replace(tokens=scores.tokens[among]).groups())
            distinct, number = rows, np.arange(len(rows))
        else:
            columns = Columns(np.arange(len(scores.tokens)), scores.groups())
            distinct, number = columns.groups.among(rows)
        keys = scores.tokens[columns.tokens]
        if _all_are_faster(len(distinct), *keys.shape):
            near, slack = near_best(scores.queries[distinct], keys, scores.errors(distinct))
        else:
            part = slice(None) if np.array_equal(distinct, np.arange(len(scores.tokens))) else distinct  # spares copies
            near, slack = near_best_by_cells(scores.queries[part], keys, scores.sizes[part], margin)
        place = np.empty(len(distinct), int)
        place[near.rows] = np.arange(len(distinct))
        return columns, near._replace(rows=distinct[near.rows]), slack, place[number]

    def beside_ties(self, scores, columns, tied):
        """See `AbstractSearch`: a cone holds two values for each query, and ties may have used up both."""
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
        sizes = scores.sizes[tied.rows]
        margin = margin_of(scores, tied.rows)
        rest = rest[columns_within(scores.tokens[rest], margin)]
        near, _ = near_best_by_cells(queries, scores.tokens[rest], sizes, margin)
        best = _products(scores, near._replace(rows=tied.rows[near.rows]), rest)
        found[near.rows] = np.maximum(found[near.rows], best)
        return found


def _products(scores: Scores, near: Candidates, tokens: np.ndarray) -> Float[np.ndarray, " r"]:
    """Return each row's score of the first of its candidates, which are numbers of `tokens`."""
    return np.einsum("nd,nd->n", scores.queries[near.rows], scores.tokens[tokens[near.columns[near.starts[:-1]]]])


def _all_are_faster(rows: int, columns: int, d: int) -> bool:
    """Return whether all scores take less time than cells, beside what each row takes in both: seconds as measured."""
    return SCORE * rows * columns < GRID + TOKEN[d] * columns


def search_for(scores: Scores, rows: int) -> AbstractSearch:
    """Return the search that is the fastest for that many rows."""
    n, d = scores.tokens.shape
    return BruteForce() if d > HIGHEST or n <= FEW or (rows <= FEW // 8 and n < MANY) else ConeBisection()
