"""Certify limits of the hardmax map by a proof that the follower sets are constant from some layer on."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int

from analysis.hardmax.constant_follower_sets import Motion, closed_form_motion, exact_gap
from analysis.hardmax.float_score_gaps import FloatMotion
from analysis.hardmax.leaders import value_numbers
from dynsim._core.checked import checked
from dynsim._core.printing import one_line
from dynsim.errors import ArgumentError
from dynsim.exact import Exact, positive_definite
from dynsim.systems.hardmax.maps import ExactHardmaxMap, HardmaxMap
from dynsim.systems.hardmax.search.follower_sets import FollowerSets


@dataclass(frozen=True)
class Certificate:
    """Result of `certify`: whether the follower sets were proved constant from some layer on, and the limits.

    Attributes:
        certified: whether the follower sets were proved constant.
        limits: limits of the tokens, shape (n, d); (0, d) if not certified.
        leader_layers: for each token the first layer with C_i = {i}, or -1 if there is none at any layer (if not
            certified, among the first `num_layers` layers).
        leader_layers_by_value: the same with equal tokens identified.
        constant_from: first layer from which on the sets are constant; -1 if not certified.
        num_layers: number of exact layers that were computed.
        sets: follower sets from `constant_from` on.
        motion: closed form of the distinct tokens, with layers counted from layer `num_layers`.
        values: for each token, the index of its value among the distinct ones.
    """

    certified: bool
    limits: Exact
    leader_layers: Int[np.ndarray, " n"]
    leader_layers_by_value: Int[np.ndarray, " n"]
    constant_from: int
    num_layers: int
    sets: FollowerSets
    motion: Motion  # of the distinct tokens, with layers counted from layer `num_layers`
    values: Int[np.ndarray, " n"]  # for each token, the index of its value among the distinct ones

    __repr__ = one_line

    def tokens(self, layer: int) -> Exact:
        """Compute the exact tokens at a `layer` of at least `num_layers`, shape (n, d), by the closed form.

        Raises:
            ValueError: for an earlier layer, or if the run is not certified.
        """
        if not self.certified or layer < self.num_layers:
            must = f"be at least {self.num_layers}" if self.certified else "belong to a certified run"
            raise ArgumentError("layer", must, f"is {layer}")
        return self.motion.after(layer - self.num_layers)[self.values]

    def __str__(self) -> str:
        """Describe the result in one sentence."""
        if not self.certified:
            return f"Not certified within {self.num_layers} layers."
        return f"Certified: the follower sets are constant from layer {self.constant_from} on."


@checked
def certify(map: HardmaxMap | ExactHardmaxMap, x: Any, *, max_layers: int = 1000) -> Certificate:
    """Iterate exactly until the follower sets are proved constant, and compute the limits in closed form.

    With constant sets the tokens have a closed form. The proof shows that along it the scores of the tokens that a
    token follows stay equal, and stay above the scores of all others. Signs are decided in floating-point arithmetic
    with error bounds where these suffice, and in fractions otherwise. Equal tokens are merged; zero tokens follow all
    tokens.

    Args:
        map: the hardmax map, in floats or fractions; floats are taken at their exact binary values.
        x: tokens at layer 0, shape (n, d).
        max_layers: number of layers after which the attempt ends without a certificate.

    Raises:
        ValueError: unless alpha is positive and A is symmetric and positive definite, which the formula requires.

    Source: HARDMAX, Theorem 1.1 and Sections 4.2, 5.

    Example:
        >>> import dynsim as ds
        >>> from analysis.hardmax import certify
        >>> found = certify(ds.hardmax.HardmaxMap(1), [[1.0], [2.0]])  # token 0 follows token 1, a leader
        >>> found.certified, found.limits.tolist() == [[2], [2]], found.leader_layers.tolist()
        (True, True, [-1, 0])
    """
    if max_layers < 1:
        raise ArgumentError("max_layers", "be at least 1", f"is {max_layers}")
    exact = _checked(map)
    z = exact.rule.tokens(x)
    number = value_numbers(z)
    values, weights = z[np.unique(number, return_index=True)[1]], np.bincount(number)
    first, phase, layer = np.full(len(values), -1), _Phase(0, exact.follower_sets(values), weights, exact), 0
    while True:
        first[(first < 0) & phase.sets.leaders] = layer
        if (layer > phase.begin and phase.proved(values)) or layer == max_layers:
            break
        values, layer = phase.next_values(values), layer + 1
        sets = exact.follower_sets(values)
        phase = phase if _same(sets, phase.sets) else _Phase(layer, sets, weights, exact)
    motion, proved = phase.motion(values), phase.certified
    return Certificate(
        certified=proved,
        limits=motion.limits[number] if proved else z[:0],
        leader_layers=np.where(weights[number] == 1, first[number], -1),
        leader_layers_by_value=first[number],
        constant_from=phase.begin if proved else -1,
        num_layers=layer,
        sets=exact.follower_sets(values[number]),
        motion=motion,
        values=number,
    )


class _Phase:
    """Successive layers with the same follower `sets` of distinct tokens, starting at `begin`, and the proof so far."""

    def __init__(self, begin: int, sets: FollowerSets, weights: Int[np.ndarray, " n"], map: ExactHardmaxMap):
        n = len(sets.which)
        self.begin, self.sets, self.weights, self.map = begin, sets, weights, map
        self.ahead = sets.members[sets.starts[sets.which]]  # one token of each follower set
        self.tokens, self.behind = (
            np.zeros(0, int),
            np.zeros(0, int),
        )  # pairs whose score gap is not yet proved positive
        self.pairs_listed = self.refuted = self.certified = False
        self.n = n

    def motion(self, values: Exact) -> Motion:
        """Compute the motion from this layer on, assuming that the sets stay the same."""
        return closed_form_motion(values, self.sets, self.weights, self.map.alpha, self.map.rule.attention)

    def next_values(self, values: Exact) -> Exact:
        """Compute the distinct tokens after one layer; means count each with its multiplicity."""
        members, starts = self.sets.members, self.sets.starts[:-1]
        weights = np.array([int(w) for w in self.weights], object)
        sums = np.add.reduceat(values[members] * weights[members][:, None], starts, axis=0)
        means: Exact = sums / np.add.reduceat(weights[members], starts)[:, None]
        a = self.map.alpha / (1 + self.map.alpha)
        return values + a * (means[self.sets.which] - values)

    def proved(self, values: Exact) -> bool:
        """Try to prove that the sets are constant from this layer on; gaps once proved positive are dropped."""
        if self.refuted:
            return False
        motion, A = self.motion(values), self.map.rule.attention
        if not self.pairs_listed and not self._ties_stay(motion):
            self.refuted = True
            return False
        found = FloatMotion(motion, A).gap_signs(self.tokens, self.ahead[self.tokens], self.behind)
        self.refuted = found.any_negative
        left, unresolved = ~found.positive, found.unresolved[~found.positive]
        self.tokens, self.behind = self.tokens[left], self.behind[left]
        self.certified = bool(np.all(unresolved)) and all(
            exact_gap(motion, A, i, int(self.ahead[i]), j).stays_positive
            for i, j in zip(self.tokens.tolist(), self.behind.tolist(), strict=True)
        )
        return self.certified and not self.refuted

    def _ties_stay(self, motion: Motion) -> bool:
        """Test whether the scores within each follower set stay equal, and list pairs (token, token not followed)."""
        self.pairs_listed = True
        pairs = np.ones((self.n, self.n), bool)
        for i in range(self.n):
            pairs[i, self.sets.of(i)] = False
        self.tokens, self.behind = np.nonzero(pairs)
        return motion.valid and all(
            exact_gap(motion, self.map.rule.attention, i, int(self.ahead[i]), j).vanishes
            for i in range(self.n)
            for j in self.sets.of(i)[1:].tolist()
        )


def _same(sets: FollowerSets, others: FollowerSets) -> bool:
    """Test whether two layers have the same sets; comparing arrays first is cheaper and decides most cases."""
    arrays = zip(sets[:3], others[:3], strict=True)
    return all(np.array_equal(a, b) for a, b in arrays) or sets.same_as(others)


def _checked(map: HardmaxMap | ExactHardmaxMap) -> ExactHardmaxMap:
    """Convert the map to fractions; raise `ValueError` unless it meets the assumptions of the closed form."""
    exact = ExactHardmaxMap(map.alpha, map.rule.attention)
    A = exact.rule.attention
    if exact.alpha <= 0:
        raise ArgumentError("map", "have a positive alpha to be certified", f"has {exact.alpha}")
    if A is not None and not bool(np.all(A == A.T)):
        raise ArgumentError("map", "have a symmetric A to be certified", "has one that is not")
    if A is not None and not positive_definite(A):
        raise ArgumentError("map", "have a positive definite A to be certified", "has one that is not")
    return exact
