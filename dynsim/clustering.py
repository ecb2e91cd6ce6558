"""A run of a clustering map that records how close its decisions were, and how far they are certain."""

from fractions import Fraction
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Float

from dynsim.errors import argument_error
from dynsim.simulation import path_on_host
from dynsim.systems.hardmax.follower_sets import FollowerSets
from dynsim.systems.hardmax.maps import ExactHardmaxMap, HardmaxMap
from dynsim.systems.hardmax.search.grouping import equal_rows
from dynsim.systems.hardmax.search.reuse import ReusedFollowerSets, Sizes
from dynsim.systems.hardmax.search.scores import EPSILON
from dynsim.systems.hardmax.search.ties import binary_extent
from dynsim.trajectory import Trajectory

MANTISSA = 53  # bits of a float


class Clustering(eqx.Module):
    """A run of a hardmax map.

    `path` holds the same states as `iterate` returns. `gaps[k]` is the smallest relative gap between best and second
    best score in layer k, over the tokens: see `FollowerSets`. The follower sets of the first `certain` layers are
    proved to be those of exact arithmetic from the same numbers; all of them for `ExactHardmaxMap`.
    """

    path: Trajectory
    gaps: Float[np.ndarray, " layers"]
    certain: int = eqx.field(static=True)


def iterate_hardmax(
    map: Any,  # checked here, in one sentence
    x0: Any,
    num_layers: int,
    *,
    every: int = 1,
) -> Clustering:
    """Apply a hardmax map `num_layers` times to the tokens `x0`, shape (n, d), and keep every `every`-th state.

    Follower sets that cannot have changed since the last layer are not searched again: see `ReusedFollowerSets`.

    Raises:
        ValueError: for a map of another kind, for what are no tokens, or if `num_layers` is no multiple of `every`.
    """
    if not isinstance(map, HardmaxMap | ExactHardmaxMap):
        raise argument_error("map", "be a HardmaxMap or an ExactHardmaxMap", f"is a {type(map).__name__}")
    if num_layers < 1 or every < 1 or num_layers % every:
        raise argument_error("num_layers", f"be a positive multiple of `every` = {every}", f"is {num_layers}")
    z = map.rule.tokens(x0)
    exact = isinstance(map, ExactHardmaxMap)
    share = float(map.alpha / (1 + map.alpha))
    sizes = Sizes(map.rule, _exponent(z))
    memory = ReusedFollowerSets(map.rule, share, sizes, rounding=not exact)
    proof = None if exact else CertainLayers(map, z, memory)
    kept, gaps = [z], np.empty(num_layers)
    for k in range(num_layers):
        sets = memory.follow(z)
        gaps[k] = np.min(sets.gaps)
        if proof is not None:
            proof.layer(z, sets)
        z = map.moved(z, sets)
        if (k + 1) % every == 0:
            kept.append(z)
    path = path_on_host(map, kept, np.arange(0, num_layers + 1, every))
    return Clustering(path, gaps, num_layers if proof is None else proof.certain)


class CertainLayers:
    """How far the follower sets of floats are those of exact arithmetic.

    While they are, both runs average the same tokens, so that an error of the tokens grows by a layer's rounding and,
    for alpha > 0, by no more. A set is certain if its gap is larger than what the error can change, and if its members
    were equal from the start, since then they still are. Before anything is rounded all sets are.
    """

    def __init__(self, map: HardmaxMap, z: np.ndarray, memory: ReusedFollowerSets):
        self.map, self.memory = map, memory
        self.origin = equal_rows(z).label
        self.error = 0.0  # of a token's place, in the unit of the memory's sizes
        self.certain = 0
        self.broken = False

    def layer(self, z: np.ndarray, sets: FollowerSets) -> None:
        """Judge the sets of the next layer, of tokens `z`."""
        self.broken = self.broken or not self._same_sets(z, sets)
        if self.broken:
            return
        self.certain += 1
        if self.error > 0 or not _unrounded(self.map.alpha, z, sets):
            c = self.memory.share
            growth = 1.0 if 0 < c < 1 else (abs(1 - c) + abs(c)) * (1 + 8 * EPSILON)
            room = max(1.0, abs(c))  # of the moves that are rounded, in those of a convex combination
            self.error = growth * self.error + room * self.memory.rounded(sets)

    def _same_sets(self, z: np.ndarray, sets: FollowerSets) -> bool:
        """Return whether exact arithmetic certainly has these sets too."""
        if self.error == 0:
            return True
        _, lengths, largest = self.memory.sizes.of(z)
        norm, e = self.memory.sizes.attention, self.error
        changed = (2 * norm * e * (largest + e) + 2 * lengths * e) * (1 + 64 * EPSILON)
        origin = self.origin[sets.members]
        one = np.minimum.reduceat(origin, sets.starts[:-1]) == np.maximum.reduceat(origin, sets.starts[:-1])
        return bool(np.all(one) and np.all(self.memory.bounds > changed))


def _exponent(z: np.ndarray) -> int:
    """Return e such that the largest entry is at most $2^e$ and not much smaller."""
    largest = np.max(np.abs(z))
    if isinstance(largest, Fraction):
        return largest.numerator.bit_length() - largest.denominator.bit_length() + 1
    return int(np.frexp(largest)[1])


def _unrounded(alpha: float, z: np.ndarray, sets: FollowerSets) -> bool:
    """Return whether the layer is certainly computed without rounding: few bits, and means over powers of two."""
    share = Fraction(alpha) / (1 + Fraction(alpha))
    largest = int(np.max(np.diff(sets.starts)))
    sizes = np.unique(np.diff(sets.starts))
    if share.denominator & (share.denominator - 1) or np.any(sizes & (sizes - 1)):
        return False
    low, high = binary_extent(z)
    finest = low - (largest.bit_length() - 1) - (share.denominator.bit_length() - 1)
    bits = high - finest + abs(share.numerator).bit_length() + largest.bit_length() + 2
    return bits <= MANTISSA and finest >= -1074
