"""Forward passes of many reviews through hardmax layers, with exact follower sets."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from dynsim.systems.hardmax.maps import HardmaxMap

BLOCK = 32  # number of reviews processed at a time, so that their scores stay in the cache

Values = Float[np.ndarray, "reviews n d"]


class WordGroups(NamedTuple):
    """The distinct tokens of each review, padded to equal numbers; words with equal embeddings are one token.

    Attributes:
        words: the index of the first word with each value.
        counts: how often each token occurs in the review; 0 for padding.
        which: `which[r, i]` is the position of token i of review r among the distinct tokens.
        values: the distinct tokens.
    """

    words: Int[np.ndarray, "reviews n"]
    counts: Int[np.ndarray, "reviews n"]
    which: Int[np.ndarray, "reviews n"]
    values: Values


class ForwardPass(NamedTuple):
    """Reviews before and after the hardmax layers.

    Attributes:
        groups: the distinct tokens of the reviews before the layers.
        final: these tokens after the last layer.
        leading: the first layer, from 0 to the depth, at which a distinct token is a leader by value, meaning that it
            follows only tokens equal to it; -1 if there is none. It is a leader by index, as in Definition 1.1, if it
            also occurs once, because equal tokens follow each other.
        certain: the reviews in which rounding in earlier layers certainly changed no follower set.
    """

    groups: WordGroups
    final: Values
    leading: Int[np.ndarray, "reviews n"]
    certain: Bool[np.ndarray, " reviews"]

    @property
    def means(self) -> Float[np.ndarray, "reviews d"]:
        """Mean token of each review after the last layer; padding counts as a word."""
        counts = self.groups.counts
        return np.einsum("rn,rnd->rd", counts, self.final) / counts.sum(axis=1, keepdims=True)

    @property
    def by_index(self) -> Bool[np.ndarray, "reviews n"]:
        """Which distinct tokens are leaders by index, as in HARDMAX, Definition 1.1."""
        return (self.leading >= 0) & (self.groups.counts == 1)


class Attended(NamedTuple):
    """Hardmax attention of one layer.

    Attributes:
        averages: the mean of the follower set of each distinct token.
        leads: whether the token follows only tokens equal to it.
        radius: for each review, a lower bound on the displacements of tokens that change a follower set, divided by the
            largest norm of a token.
    """

    averages: Values
    leads: Bool[np.ndarray, "reviews n"]
    radius: Float[np.ndarray, " reviews"]


def grouped(ids: Int[np.ndarray, "reviews n"], embedding: Float[np.ndarray, "words d"]) -> WordGroups:
    """Find the distinct tokens of the reviews `ids`, which are rows of word indices."""
    used, place = np.unique(ids, return_inverse=True)
    _, first, kind = np.unique(embedding[used], axis=0, return_index=True, return_inverse=True)
    kinds = kind.reshape(-1)[place.reshape(ids.shape)]
    words, counts, which = (np.zeros(ids.shape, np.int64) for _ in range(3))
    for r, row in enumerate(kinds):
        distinct, where, inverse, count = np.unique(row, return_index=True, return_inverse=True, return_counts=True)
        words[r, : len(distinct)], counts[r, : len(distinct)], which[r] = ids[r, where], count, inverse.reshape(-1)
    values = np.where(counts[..., None] > 0, embedding[words].astype(np.float64), 0.0)
    return WordGroups(words, counts, which, values)


def apply_layers(groups: WordGroups, layer: HardmaxMap, depth: int) -> ForwardPass:
    """Apply `depth` hardmax layers to reviews; follower sets are exact for the floating-point tokens."""
    final, leading = groups.values.copy(), np.full(groups.counts.shape, -1)
    certain = np.ones(len(leading), bool)
    for rows, size in _blocks(groups):
        x, counts = final[rows, :size], groups.counts[rows, :size]
        for k in range(depth + 1):
            found = attended(layer, x, counts)
            leading[rows, :size] = np.where(found.leads & (leading[rows, :size] < 0), k, leading[rows, :size])
            # A layer rounds by at most 8 ulp of the largest entry, and does not increase distances between tokens.
            certain[rows] &= found.radius > 8 * k * np.sqrt(x.shape[-1]) * 2.0**-52
            if k < depth:
                x = moved(layer, x, found.averages)
        final[rows, :size] = x
    return ForwardPass(groups, final, leading, certain)


def moved(layer: HardmaxMap, x: Values, averages: Values) -> Values:
    """Tokens after one layer (1.1), from the means of their follower sets."""
    return x + layer.alpha / (1 + layer.alpha) * (averages - x)


def attended(layer: HardmaxMap, x: Values, counts: Int[np.ndarray, "reviews n"]) -> Attended:
    """Hardmax attention of the tokens; scores within rounding error are compared exactly."""
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
    leads = best[..., 0] == np.arange(x.shape[1])  # false for padding, whose best token is the first position
    scores[near] = -np.inf
    spare = (top[..., 0] - scores.max(axis=2) - errors) / (2 * (sizes + largest) * np.maximum(largest, 1e-300))
    radius = np.where(filled, spare, np.inf).min(axis=1)
    for r in np.flatnonzero(several.any(axis=1)):
        averages[r], leads[r] = _attended_exactly(layer, x[r], counts[r])
        radius[r] = 0.0
    return Attended(averages, leads, radius)


def further_layers(found: ForwardPass, layer: HardmaxMap, layers: int) -> tuple[Values, Float[np.ndarray, " reviews"]]:
    """Apply `layers` more layers; also the largest displacement in each review in the last of them.

    Ties are not resolved: the first of the best scores in floats counts. In a cluster whose diameter is of the order of
    rounding, ties have no meaning.
    """
    final, movement = found.final.copy(), np.zeros(len(found.final))
    for rows, size in _blocks(found.groups):
        x, counts = final[rows, :size], found.groups.counts[rows, :size]
        for _ in range(layers):
            best = np.argmax(_scores(x, counts), axis=2)[..., None]
            before, x = x, moved(layer, x, np.take_along_axis(x, best, axis=1))
            movement[rows] = np.linalg.norm(x - before, axis=2).max(axis=1, initial=0.0, where=counts > 0)
        final[rows, :size] = x
    return final, movement


def _scores(x: Values, counts: Int[np.ndarray, "reviews n"]) -> Float[np.ndarray, "reviews n n"]:
    scores = x @ x.swapaxes(1, 2)
    return np.where(counts[:, None, :] > 0, scores, -np.inf)


def _attended_exactly(layer: HardmaxMap, x: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Fields `averages` and `leads` for one review, by exact comparisons."""
    size = int(np.count_nonzero(counts))
    sets = layer.follower_sets(x[:size])
    averages, leads = np.zeros_like(x), np.zeros(len(x), bool)
    for i in range(size):
        members = sets.of(i)
        averages[i] = np.average(x[members], axis=0, weights=counts[members]) if len(members) > 1 else x[members[0]]
    leads[:size] = sets.leaders
    return averages, leads


def _blocks(groups: WordGroups) -> Iterator[tuple[Int[np.ndarray, " block"], int]]:
    """Yield blocks of reviews with similar numbers of distinct tokens, and the largest number of each block."""
    sizes = np.count_nonzero(groups.counts, axis=1)
    order = np.argsort(sizes, kind="stable")
    for first in range(0, len(order), BLOCK):
        rows = order[first : first + BLOCK]
        yield rows, int(sizes[rows[-1]])
