"""Follower sets: for each token i the set C_i of the tokens it follows, all maximisers of its score."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int


class FollowerSets(NamedTuple):
    """The sets $C_i$ of all maximisers j of $\\langle A z_i, z_j\\rangle$ for every token i, equal sets stored once.

    Attributes:
        which: `which[i]` is the index s of the set of token i.
        starts: set s holds the tokens `members[starts[s] : starts[s + 1]]`.
        members: the tokens of all sets, in increasing order within each.
        gaps: `gaps[i]` is a lower bound, rounding included, of the best score of token i minus its best score outside
            C_i, divided by $|A z_i| \\max_j |z_j|$: dimensionless, not negative, infinite if C_i holds every token.

    Source: HARDMAX, (1.1b).
    """

    which: Int[np.ndarray, " n"]
    starts: Int[np.ndarray, " bounds"]
    members: Int[np.ndarray, " members"]
    gaps: Float[np.ndarray, " n"]

    def of(self, i: int) -> Int[np.ndarray, " members"]:
        """The set C_i, in increasing order."""
        s = self.which[i]
        return self.members[self.starts[s] : self.starts[s + 1]]

    def lists(self) -> list[list[int]]:
        """The sets C_1, ..., C_n as lists."""
        return [self.of(i).tolist() for i in range(len(self.which))]

    @property
    def sizes(self) -> Int[np.ndarray, " n"]:
        """The number of tokens in each C_i."""
        return np.diff(self.starts)[self.which]

    @property
    def leaders(self) -> Bool[np.ndarray, " n"]:
        """Which tokens are leaders in this layer, meaning C_i = {i}.

        Source: HARDMAX, Definition 1.1.
        """
        first = self.members[self.starts[self.which]]
        return (self.sizes == 1) & (first == np.arange(len(self.which)))

    def averages(self, x: np.ndarray) -> np.ndarray:
        """Mean of the tokens in each C_i, shape (n, d), in the arithmetic of `x`.

        In floats it is the first member plus the mean difference from it, which is exact if all members are equal.
        """
        sizes, first = np.diff(self.starts), x[self.members[self.starts[:-1]]]
        if x.dtype == object:
            return (np.add.reduceat(x[self.members], self.starts[:-1], axis=0) / sizes.astype(object)[:, None])[
                self.which
            ]
        differences = x[self.members] - np.repeat(first, sizes, axis=0)
        return (first + np.add.reduceat(differences, self.starts[:-1], axis=0) / sizes[:, None])[self.which]

    def same_as(self, other: "FollowerSets") -> bool:
        """Whether both have the same sets C_i."""
        return len(self.which) == len(other.which) and self.lists() == other.lists()
