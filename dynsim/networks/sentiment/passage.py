"""Many reviews through the hardmax layers at once, exactly: equal tokens together, near ties by `HardmaxMap`."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from dynsim.systems.hardmax.maps import HardmaxMap

BLOCK = 32  # reviews at a time: their scores stay in the cache

Values = Float[np.ndarray, "reviews n d"]


class WordGroups(NamedTuple):
    """The distinct tokens of each review, of which `counts` says how often they occur; 0 marks an empty slot.

    `words` are the numbers of the first words with these values, `which[r, i]` is the slot of token i of review r.
    """

    words: Int[np.ndarray, "reviews n"]
    counts: Int[np.ndarray, "reviews n"]
    which: Int[np.ndarray, "reviews n"]
    values: Values


class Passage(NamedTuple):
    """Reviews before and after the hardmax layers.

    `final` are the values of `groups` after the last layer. `leading` is the first layer at which a group follows
    itself alone, C_g = {g}, from 0 to the depth, and -1 where it never does: leaders grouped by value. A leader by
    Definition 1.1, by index, is such a group of one token, since repeated words follow each other. `certain` tells in
    which reviews the rounding of all layers before cannot have changed any follower set.
    """

    groups: WordGroups
    final: Values
    leading: Int[np.ndarray, "reviews n"]
    certain: Bool[np.ndarray, " reviews"]

    @property
    def means(self) -> Float[np.ndarray, "reviews d"]:
        """The mean over the tokens of each review after the last layer, padding included."""
        counts = self.groups.counts
        return np.einsum("rn,rnd->rd", counts, self.final) / counts.sum(axis=1, keepdims=True)

    @property
    def by_index(self) -> Bool[np.ndarray, "reviews n"]:
        """Which groups are leaders by Definition 1.1: they follow themselves alone, and hold one token."""
        return (self.leading >= 0) & (self.groups.counts == 1)


class Followed(NamedTuple):
    """One layer: the averages followed, which groups follow themselves alone, and the safety of each review.

    The safety is a bound of how far tokens may be displaced before some follower set changes, divided by the norm of
    the longest token.
    """

    averages: Values
    alone: Bool[np.ndarray, "reviews n"]
    safety: Float[np.ndarray, " reviews"]


def grouped(ids: Int[np.ndarray, "reviews n"], embedding: Float[np.ndarray, "words d"]) -> WordGroups:
    """Return the distinct tokens of each review; words with equal values count as one."""
    used, place = np.unique(ids, return_inverse=True)
    _, first, kind = np.unique(embedding[used], axis=0, return_index=True, return_inverse=True)
    kinds = kind.reshape(-1)[place.reshape(ids.shape)]
    words, counts, which = (np.zeros(ids.shape, np.int64) for _ in range(3))
    for r, row in enumerate(kinds):
        distinct, where, inverse, count = np.unique(row, return_index=True, return_inverse=True, return_counts=True)
        words[r, : len(distinct)], counts[r, : len(distinct)], which[r] = ids[r, where], count, inverse.reshape(-1)
    values = np.where(counts[..., None] > 0, embedding[words].astype(np.float64), 0.0)
    return WordGroups(words, counts, which, values)


def passed(groups: WordGroups, layer: HardmaxMap, depth: int) -> Passage:
    """Return the reviews after `depth` hardmax layers; follower sets of the values in floats are exact."""
    final, leading = groups.values.copy(), np.full(groups.counts.shape, -1)
    certain = np.ones(len(leading), bool)
    for rows, size in _blocks(groups):
        x, counts = final[rows, :size], groups.counts[rows, :size]
        for k in range(depth + 1):
            found = followed(layer, x, counts)
            leading[rows, :size] = np.where(found.alone & (leading[rows, :size] < 0), k, leading[rows, :size])
            # A layer rounds within 8 ulp of the largest entry and brings no two tokens further apart.
            certain[rows] &= found.safety > 8 * k * np.sqrt(x.shape[-1]) * 2.0**-52
            if k < depth:
                x = moved(layer, x, found.averages)
        final[rows, :size] = x
    return Passage(groups, final, leading, certain)


def moved(layer: HardmaxMap, x: Values, averages: Values) -> Values:
    """Return the tokens after one layer (1.1), from the averages that they follow."""
    return x + layer.alpha / (1 + layer.alpha) * (averages - x)


def followed(layer: HardmaxMap, x: Values, counts: Int[np.ndarray, "reviews n"]) -> Followed:
    """Return what each token follows; where floats cannot tell the best from the second, exact arithmetic does."""
    scores = _scores(x, counts)
    best = np.argmax(scores, axis=2)[..., None]
    top = np.take_along_axis(scores, best, axis=2)
    sizes = np.linalg.norm(x, axis=2)
    largest = sizes.max(axis=1)[:, None]
    errors = 16 * (x.shape[-1] + 3) * 2.0**-52 * sizes * largest  # as in `Scores.errors`
    near = scores >= top - errors[..., None]
    filled = counts > 0
    several = (near.sum(axis=2) > 1) & filled
    averages = np.take_along_axis(x, best, axis=1)
    alone = best[..., 0] == np.arange(x.shape[1])  # an empty slot follows the first, which is filled
    scores[near] = -np.inf
    spare = (top[..., 0] - scores.max(axis=2) - errors) / (2 * (sizes + largest) * np.maximum(largest, 1e-300))
    safety = np.where(filled, spare, np.inf).min(axis=1)
    for r in np.flatnonzero(several.any(axis=1)):
        averages[r], alone[r] = _exactly(layer, x[r], counts[r])
        safety[r] = 0.0
    return Followed(averages, alone, safety)


def far_state(passage: Passage, layer: HardmaxMap, layers: int) -> tuple[Values, Float[np.ndarray, " reviews"]]:
    """Return the tokens after further layers, and how far the last one moved any token of each review.

    Once a cluster is narrower than rounding its ties mean nothing: the first best score in floats is followed.
    """
    final, movement = passage.final.copy(), np.zeros(len(passage.final))
    for rows, size in _blocks(passage.groups):
        x, counts = final[rows, :size], passage.groups.counts[rows, :size]
        for _ in range(layers):
            best = np.argmax(_scores(x, counts), axis=2)[..., None]
            before, x = x, moved(layer, x, np.take_along_axis(x, best, axis=1))
            movement[rows] = np.linalg.norm(x - before, axis=2).max(axis=1, initial=0.0, where=counts > 0)
        final[rows, :size] = x
    return final, movement


def _scores(x: Values, counts: Int[np.ndarray, "reviews n"]) -> Float[np.ndarray, "reviews n n"]:
    scores = x @ x.swapaxes(1, 2)
    return np.where(counts[:, None, :] > 0, scores, -np.inf)


def _exactly(layer: HardmaxMap, x: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the averages and who follows itself alone in one review, by exact comparisons."""
    size = int(np.count_nonzero(counts))
    sets = layer.follower_sets(x[:size])
    averages, alone = np.zeros_like(x), np.zeros(len(x), bool)
    for i in range(size):
        members = sets.of(i)
        averages[i] = np.average(x[members], axis=0, weights=counts[members]) if len(members) > 1 else x[members[0]]
    alone[:size] = sets.leaders
    return averages, alone


def _blocks(groups: WordGroups) -> Iterator[tuple[Int[np.ndarray, " block"], int]]:
    """Yield some reviews of about the same number of distinct tokens, and the largest such number."""
    sizes = np.count_nonzero(groups.counts, axis=1)
    order = np.argsort(sizes, kind="stable")
    for first in range(0, len(order), BLOCK):
        rows = order[first : first + BLOCK]
        yield rows, int(sizes[rows[-1]])
