"""Follower sets from lists."""

from collections.abc import Iterable

import numpy as np

from dynsim.systems.hardmax.search.follower_sets import FollowerSets


def from_lists(sets: Iterable[Iterable[int]], gaps: np.ndarray) -> FollowerSets:
    """Build the follower sets whose i-th set is the i-th of `sets`, with the given gaps."""
    seen: dict[tuple[int, ...], int] = {}
    which = [seen.setdefault(tuple(sorted(s)), len(seen)) for s in sets]
    starts = np.concatenate([[0], np.cumsum([len(s) for s in seen])]).astype(int)
    members = np.fromiter((j for s in seen for j in s), int, count=int(starts[-1]))
    return FollowerSets(np.array(which, int), starts, members, gaps)
