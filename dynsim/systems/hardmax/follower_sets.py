"""Who follows whom: the sets C_i of (1.1b), all maximisers, by exact comparison."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int


class FollowerSets(NamedTuple):
    """The sets C_1, ..., C_n that tokens follow, equal ones stored once.

    `members[starts[s] : starts[s + 1]]` are the tokens of set s, in increasing order, and `which[i]` is the set of
    token i. `gaps[i]` is a lower bound of how much more token i's best score is than its best outside C_i, divided by
    $|A z_i| \\max_j |z_j|$ (dimensionless, rounding included, never negative; infinite where C_i holds every token).

    Source: HARDMAX, (1.1b).
    """

    which: Int[np.ndarray, " n"]
    starts: Int[np.ndarray, " bounds"]
    members: Int[np.ndarray, " members"]
    gaps: Float[np.ndarray, " n"]

    def of(self, i: int) -> Int[np.ndarray, " members"]:
        """Return C_i, in increasing order."""
        s = self.which[i]
        return self.members[self.starts[s] : self.starts[s + 1]]

    def lists(self) -> list[list[int]]:
        """Return C_1, ..., C_n as lists, to print or to compare."""
        return [self.of(i).tolist() for i in range(len(self.which))]

    @property
    def sizes(self) -> Int[np.ndarray, " n"]:
        """The number of tokens that each token follows."""
        return np.diff(self.starts)[self.which]

    @property
    def leaders(self) -> Bool[np.ndarray, " n"]:
        """Which tokens follow themselves alone, C_i = {i}: the leaders of this layer."""
        first = self.members[self.starts[self.which]]
        return (self.sizes == 1) & (first == np.arange(len(self.which)))

    def averages(self, x: np.ndarray) -> np.ndarray:
        """Return the mean of the tokens that each token follows, shape (n, d), in the arithmetic of `x`.

        In floats it is the first of them plus the mean difference from it: exact where all are equal.
        """
        sizes, first = np.diff(self.starts), x[self.members[self.starts[:-1]]]
        if x.dtype == object:
            return (np.add.reduceat(x[self.members], self.starts[:-1], axis=0) / sizes.astype(object)[:, None])[
                self.which
            ]
        differences = x[self.members] - np.repeat(first, sizes, axis=0)
        return (first + np.add.reduceat(differences, self.starts[:-1], axis=0) / sizes[:, None])[self.which]

    def same_as(self, other: "FollowerSets") -> bool:
        """Return whether every token follows the same tokens in both."""
        return len(self.which) == len(other.which) and self.lists() == other.lists()


def from_lists(sets: Iterable[Iterable[int]], gaps: Float[np.ndarray, " n"]) -> FollowerSets:
    """Return follower sets from one collection of tokens each; equal ones are stored once."""
    seen: dict[tuple[int, ...], int] = {}
    which = [seen.setdefault(tuple(sorted(s)), len(seen)) for s in sets]
    starts = np.concatenate([[0], np.cumsum([len(s) for s in seen])]).astype(int)
    members = np.fromiter((j for s in seen for j in s), int, count=int(starts[-1]))
    return FollowerSets(np.array(which, int), starts, members, gaps)
