"""Group equal tokens by hashing their bits, which is much faster than sorting rows."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int


class Groups(NamedTuple):
    """A partition of tokens by value: `label[i]` is the group of token i, `first[g]` the first token of group g."""

    label: Int[np.ndarray, " n"]
    first: Int[np.ndarray, " groups"]

    def among(self, tokens: Int[np.ndarray, " r"]) -> tuple[Int[np.ndarray, " distinct"], Int[np.ndarray, " r"]]:
        """One token for each group that occurs in `tokens`, and the position of each token's group among these."""
        label = self.label[tokens]
        present = np.flatnonzero(np.bincount(label))
        place = np.empty(len(self.first), int)
        place[present] = np.arange(len(present))
        return self.first[present], place[label]

    def tokens(self, groups: Int[np.ndarray, " wanted"]) -> tuple[np.ndarray, np.ndarray]:
        """Tokens of distinct `groups`, group by group in increasing order, and the bounds of the groups."""
        place = np.full(len(self.first), len(groups))
        place[groups] = np.arange(len(groups))
        where = place[self.label]
        inside = np.flatnonzero(where < len(groups))
        where = where[inside]
        order = np.argsort(where * len(self.label) + inside)
        return inside[order], np.concatenate([[0], np.cumsum(np.bincount(where, minlength=len(groups)))])


def equal_rows(values: Float[np.ndarray, "n d"]) -> Groups:
    """Group equal rows; negative zeros are not allowed, because bits are compared."""
    bits = np.ascontiguousarray(values).view(np.uint64)
    hashes = np.zeros(len(bits), np.uint64)
    for column in bits.T:  # both operations are invertible, so for d = 1 different values have different hashes
        hashes = (hashes ^ column) * np.uint64(0x9E3779B97F4A7C15)
        hashes ^= hashes >> np.uint64(32)
    order = np.argsort(hashes)
    if _collide(values[order], hashes[order]):
        order = np.lexsort(values.T)
    return _runs(values[order], order)


def equal_keys(keys: list[tuple[int, ...]]) -> Groups:
    """Group equal keys."""
    numbers: dict[tuple[int, ...], int] = {}
    label = np.array([numbers.setdefault(key, len(numbers)) for key in keys], int)
    return Groups(label, np.unique(label, return_index=True)[1])


def _collide(rows: np.ndarray, hashes: np.ndarray) -> bool:
    """Whether two consecutive rows differ but have the same hash."""
    return bool(np.any(np.any(rows[1:] != rows[:-1], axis=1) & (hashes[1:] == hashes[:-1])))


def _runs(rows: np.ndarray, order: np.ndarray) -> Groups:
    """Groups formed by runs of equal consecutive rows; row k is token `order[k]`."""
    new = np.any(rows[1:] != rows[:-1], axis=1)
    label = np.empty(len(order), int)
    label[order] = np.concatenate([[0], np.cumsum(new)])
    return Groups(label, np.minimum.reduceat(order, np.concatenate([[0], np.flatnonzero(new) + 1])))
