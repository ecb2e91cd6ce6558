"""Scores $\\langle A z_i, z_j\\rangle$ in floats with error bounds, and the follower sets they determine."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from dynsim.systems.hardmax.search.follower_sets import FollowerSets
from dynsim.systems.hardmax.search.grouping import Groups, equal_rows
from dynsim.systems.hardmax.search.ties import AbstractTies, FollowerCandidates

EPSILON = 2.0**-52  # distance from 1 to the next float64


class Scores(NamedTuple):
    """Queries $A z_i$ and tokens $z_j$ in floats, with an exact comparison for scores within rounding error.

    Attributes:
        queries: $A z_i$, each up to its own positive factor.
        tokens: $z_j$, up to one positive factor.
        norms: the Euclidean norms of the queries.
        norm_bounds: upper bounds of $\\|A\\| |z_i|$ in the units of `queries`, at most $2^{10}$ times their norms, and
            zero only if $A z_i = 0$ exactly.
        ties: the exact comparison.
        equal: the groups of equal tokens; None if two rows of `tokens` are equal exactly when the tokens are.
    """

    queries: Float[np.ndarray, "n d"]
    tokens: Float[np.ndarray, "n d"]
    norms: Float[np.ndarray, " n"]
    norm_bounds: Float[np.ndarray, " n"]
    ties: AbstractTies
    equal: Groups | None = None

    def groups(self) -> Groups:
        """Groups of equal tokens."""
        return equal_rows(self.tokens) if self.equal is None else self.equal

    @property
    def largest(self) -> float:
        """The largest norm of a token."""
        return float(np.sqrt(np.max(np.einsum("nd,nd->n", self.tokens, self.tokens))))

    def errors(self, rows: Int[np.ndarray, " r"]) -> Float[np.ndarray, " r"]:
        """Bounds on the rounding error of the difference of two scores, for each of the rows."""
        return 16 * (self.tokens.shape[1] + 3) * EPSILON * self.largest * self.norm_bounds[rows]


class Columns(NamedTuple):
    """Distinct tokens that include the best and second best value of every query, and the tokens equal to each.

    Column c is the token `tokens[c]`. The tokens `among[i]` with `groups.label[i] = c` are equal to it.
    """

    among: Int[np.ndarray, " some"]
    groups: Groups

    @property
    def tokens(self) -> Int[np.ndarray, " columns"]:
        """One token for each column."""
        return self.among[self.groups.first]


def relative_gaps(scores: Scores, rows: np.ndarray, differences: np.ndarray) -> Float[np.ndarray, " r"]:
    """Score differences in the unit of `FollowerSets.gaps`; infinite differences stay infinite."""
    units = scores.norms[rows] * (scores.largest * (1 + 64 * EPSILON))
    return np.where(np.isinf(differences), np.inf, np.maximum(differences, 0.0) / units)


def decided(
    scores: Scores, columns: Columns, near: FollowerCandidates, slack: Float[np.ndarray, " r"]
) -> tuple[FollowerCandidates, Float[np.ndarray, " r"]]:
    """Decide which near candidates belong to the follower sets, by exact comparison, and find the slack of all others.

    The slack of a row is a lower bound of its best score minus every other score. The given slack covers the tokens
    that are not candidates.
    """
    several = near.sizes > 1
    if np.any(several):
        part = near.among(several)
        named = FollowerCandidates(part.rows, part.starts, columns.tokens[part.columns])
        kept, lost = scores.ties.best(named, scores.queries[named.rows], scores.tokens)
        slack[several] = np.minimum(slack[several], lost)
        every = np.ones(len(near.columns), bool)
        every[np.repeat(several, near.sizes)] = kept
        near = near.only(every)
    return near, slack


def assembled(near: FollowerCandidates, gaps: np.ndarray, columns: Columns) -> FollowerSets:
    """Assemble the follower sets of these rows: all tokens equal to one of the columns of the row."""
    key = near.columns[near.starts[:-1]].copy()
    tuples: dict[bytes, int] = {}
    several: list[np.ndarray] = []
    for r in np.flatnonzero(near.sizes > 1):
        members = near.columns[near.starts[r] : near.starts[r + 1]]
        key[r] = len(columns.groups.first) + tuples.setdefault(members.tobytes(), len(several))
        if len(tuples) > len(several):
            several.append(members)
    used = np.flatnonzero(np.bincount(key))
    number = np.empty(used[-1] + 1, int)
    number[used] = np.arange(len(used))
    single = used[used < len(columns.groups.first)]
    return FollowerSets(number[key], *_with_equals(columns, single, several), gaps)


def _with_equals(columns: Columns, single: np.ndarray, several: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Fields `starts` and `members` of the sets: one for each column of `single`, then one for each of `several`."""
    inside, bounds = columns.groups.tokens(single)
    members, starts = [columns.among[inside]], [bounds]
    for s in several:
        inside, _ = columns.groups.tokens(s)
        members.append(np.sort(columns.among[inside]))
        starts.append(starts[-1][-1:] + len(inside))
    return np.concatenate(starts), np.concatenate(members)


def sets_of_zero_queries(n: int, rows: int) -> FollowerSets:
    """Follower sets of rows with $A z_i = 0$, which contain all n tokens."""
    return FollowerSets(np.zeros(rows, int), np.array([0, n]), np.arange(n), np.full(rows, np.inf))


def joined(parts: list[FollowerSets], where: list[Bool[np.ndarray, " n"]]) -> FollowerSets:
    """Join the follower sets of disjoint masks of tokens; equal sets are stored once."""
    n = len(where[0])
    which, gaps = np.empty(n, int), np.empty(n)
    seen: dict[bytes, int] = {}
    members: list[np.ndarray] = []
    for part, inside in zip(parts, where, strict=True):
        number = np.empty(len(part.starts) - 1, int)
        for s in np.flatnonzero(np.bincount(part.which)):
            held = part.members[part.starts[s] : part.starts[s + 1]]
            number[s] = seen.setdefault(held.tobytes(), len(members))
            if number[s] == len(members):
                members.append(held)
        which[inside], gaps[inside] = number[part.which], part.gaps
    starts = np.concatenate([[0], np.cumsum([len(m) for m in members])]).astype(int)
    return FollowerSets(which, starts, np.concatenate(members), gaps)
