"""Iterate a hardmax map, with score gaps and the number of layers whose follower sets are certain."""

from fractions import Fraction
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Float

from dynsim._core.printing import one_line, report
from dynsim._core.validation import integer
from dynsim._runtime.progress import tracked
from dynsim.errors import ArgumentError
from dynsim.simulation.simulate import path_on_host
from dynsim.simulation.trajectory import Trajectory
from dynsim.systems.hardmax.maps import ExactHardmaxMap, HardmaxMap
from dynsim.systems.hardmax.reuse import NormBounds, ReusedFollowerSets
from dynsim.systems.hardmax.search.follower_sets import FollowerSets
from dynsim.systems.hardmax.search.grouping import equal_rows
from dynsim.systems.hardmax.search.scores import EPSILON
from dynsim.systems.hardmax.search.ties import binary_extent

MANTISSA = 53  # bits in the mantissa of a float64


class Clustering(eqx.Module):
    """A trajectory of a hardmax map, with the quantities that decide whether its follower sets are exact.

    Attributes:
        path: the trajectory, with the states that `iterate` returns.
        gaps: for each layer the smallest relative gap over all tokens between the best score and the best score outside
            the follower set, dimensionless; see `FollowerSets`.
        certain: the number of initial layers whose follower sets are proved to equal those of exact arithmetic from the
            same numbers; all layers for `ExactHardmaxMap`.
    """

    path: Trajectory
    gaps: Float[np.ndarray, " layers"]
    certain: int = eqx.field(static=True)

    __repr__ = one_line
    __str__ = report


def iterate_hardmax(
    map: Any,  # a HardmaxMap or an ExactHardmaxMap, checked below
    x0: Any,
    num_layers: int,
    *,
    every: int = 1,
) -> Clustering:
    """Apply a hardmax map to the tokens `x0`, shape (n, d), with certified follower sets; keeps some states.

    Every `every`-th state is kept. Follower sets that cannot have changed since the previous layer are not recomputed:
    see `ReusedFollowerSets`.

    Raises:
        ValueError: if `map` is of another kind, `x0` is not a finite array of shape (n, d), or `num_layers` is not a
            positive multiple of `every`.

    Source: HARDMAX, (1.1).
    """
    if not isinstance(map, HardmaxMap | ExactHardmaxMap):
        raise ArgumentError("map", "be a HardmaxMap or an ExactHardmaxMap", f"is a {type(map).__name__}")
    num_layers, every = integer("num_layers", num_layers, least=1), integer("every", every, least=1)
    if num_layers % every:
        raise ArgumentError("num_layers", f"be a positive multiple of `every` = {every}", f"is {num_layers}")
    z = map.rule.tokens(x0)
    exact = isinstance(map, ExactHardmaxMap)
    share = float(map.alpha / (1 + map.alpha))
    norms = NormBounds(map.rule, _exponent(z))
    reused = ReusedFollowerSets(map.rule, share, norms, rounding=not exact)
    proof = None if exact else CertainLayers(map, z, reused)
    kept, gaps = [z], np.empty(num_layers)
    for k in tracked(range(num_layers), num_layers, "hardmax", unit="layers"):
        sets = reused.follower_sets(z)
        gaps[k] = np.min(sets.gaps)
        if proof is not None:
            proof.add_layer(z, sets)
        z = map.moved(z, sets)
        if (k + 1) % every == 0:
            kept.append(z)
    path = path_on_host(map, kept, np.arange(0, num_layers + 1, every))
    return Clustering(path, gaps, num_layers if proof is None else proof.certain)


class CertainLayers:
    """Number of initial layers whose floating-point follower sets provably agree with exact arithmetic.

    While they are equal, both iterations average the same tokens, so for alpha > 0 the error of a token grows in each
    layer by at most the rounding of that layer. A follower set is certain if its gap exceeds the effect of the error,
    and if its members were equal in the first layer, because then they are still equal. Before the first layer that
    rounds, all sets are certain.
    """

    def __init__(self, map: HardmaxMap, z: np.ndarray, reused: ReusedFollowerSets):
        self.map, self.reused = map, reused
        self.initial_groups = equal_rows(z).label
        self.error = 0.0  # bound on the distance of a token from its exact value, in the unit of `NormBounds`
        self.certain = 0
        self.ended = False

    def add_layer(self, z: np.ndarray, sets: FollowerSets) -> None:
        """Count the next layer, with tokens `z` and follower sets `sets`, if all layers so far are certain."""
        self.ended = self.ended or not self._same_sets(z, sets)
        if self.ended:
            return
        self.certain += 1
        if self.error > 0 or not _unrounded(self.map.alpha, z, sets):
            c = self.reused.share
            growth = 1.0 if 0 < c < 1 else (abs(1 - c) + abs(c)) * (1 + 8 * EPSILON)
            factor = max(1.0, abs(c))  # factor by which displacements exceed those of a convex combination
            self.error = growth * self.error + factor * self.reused.rounding_error(sets)

    def _same_sets(self, z: np.ndarray, sets: FollowerSets) -> bool:
        """Whether the follower sets in exact arithmetic are certainly the same."""
        if self.error == 0:
            return True
        _, lengths, largest = self.reused.norms.of(z)
        norm, e = self.reused.norms.attention, self.error
        change = (2 * norm * e * (largest + e) + 2 * lengths * e) * (1 + 64 * EPSILON)  # of a score difference
        group = self.initial_groups[sets.members]
        one = np.minimum.reduceat(group, sets.starts[:-1]) == np.maximum.reduceat(group, sets.starts[:-1])
        return bool(np.all(one) and np.all(self.reused.bounds > change))


def _exponent(z: np.ndarray) -> int:
    """Exponent e such that the largest modulus of an entry lies between $2^{e-2}$ and $2^e$."""
    largest = np.max(np.abs(z))
    if isinstance(largest, Fraction):
        return largest.numerator.bit_length() - largest.denominator.bit_length() + 1
    return int(np.frexp(largest)[1])


def _unrounded(alpha: float, z: np.ndarray, sets: FollowerSets) -> bool:
    """Whether the layer is certainly free of rounding, because few bits and only powers of two occur."""
    share = Fraction(alpha) / (1 + Fraction(alpha))
    largest = int(np.max(np.diff(sets.starts)))
    sizes = np.unique(np.diff(sets.starts))
    if share.denominator & (share.denominator - 1) or np.any(sizes & (sizes - 1)):
        return False
    low, high = binary_extent(z)
    finest = low - (largest.bit_length() - 1) - (share.denominator.bit_length() - 1)
    bits = high - finest + abs(share.numerator).bit_length() + largest.bit_length() + 2
    return bits <= MANTISSA and finest >= -1074
