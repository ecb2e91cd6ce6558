"""Where the tokens of a hardmax map end, proved: from some layer on, nobody changes whom it follows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int

from analysis.hardmax.frozen import Motion, exact_gap, frozen_motion
from analysis.hardmax.leaders import value_numbers
from analysis.hardmax.tails import FloatMotion
from dynsim.errors import argument_error
from dynsim.exact import Exact, positive_definite
from dynsim.systems.hardmax.follower_sets import FollowerSets
from dynsim.systems.hardmax.maps import ExactHardmaxMap, HardmaxMap


@dataclass(frozen=True)
class Certificate:
    """What is proved of tokens under a hardmax map.

    `certified` says whether the follower sets were proved never to change again from layer `settled` on, the first such
    layer; the proof looked at `layers` of them. `limits`, shape (n, d), are then where the tokens tend, and `sets` whom
    they follow from there on. `leaders` has for each token the first layer with C_i = {i}, -1 if there is none (ever,
    if certified); `value_leaders` the same with equal tokens taken as one. Not certified: `limits` has no rows,
    `settled` is -1, and the leaders are those of the first `layers` layers.
    """

    certified: bool
    limits: Exact
    leaders: Int[np.ndarray, " n"]
    value_leaders: Int[np.ndarray, " n"]
    settled: int
    layers: int
    sets: FollowerSets
    motion: Motion  # of the distinct values, counted from layer `layers`
    values: Int[np.ndarray, " n"]  # the number of each token's value

    def tokens(self, layer: int) -> Exact:
        """Return the exact tokens at a `layer` from `layers` on, shape (n, d), without a step of the map.

        Raises:
            ValueError: for an earlier layer, or without a certificate.
        """
        if not self.certified or layer < self.layers:
            known = f"be at least {self.layers}" if self.certified else "belong to a certified run"
            raise argument_error("layer", known, f"is {layer}")
        return self.motion.after(layer - self.layers)[self.values]

    def explain(self) -> str:
        """Return one sentence: what is proved."""
        if not self.certified:
            return f"Not certified within {self.layers} layers."
        return f"Certified: from layer {self.settled} on, no token changes whom it follows."


def certify(map: HardmaxMap | ExactHardmaxMap, x: Any, *, max_layers: int = 1000) -> Certificate:
    """Iterate exactly until the follower sets are proved to be final, and return the limits in closed form.

    While the sets stay as they are, tokens move by a known formula; the proof shows for every token and every token it
    does not follow that the gap of the scores stays positive, and that those it follows stay equal. Clear cases are
    shown in floats with error bounds, the others in fractions. Equal tokens are merged, and zero tokens follow all.

    Args:
        map: in floats or fractions; floats are taken at their binary value.
        x: the tokens at layer 0, shape (n, d).
        max_layers: where it gives up.

    Raises:
        ValueError: unless alpha is positive and A symmetric and positive definite, which the formula needs.

    Source: HARDMAX, Theorem 1.1 and Sections 4.2, 5.
    """
    if max_layers < 1:
        raise argument_error("max_layers", "be at least 1", f"is {max_layers}")
    exact = _checked(map)
    z = exact.rule.tokens(x)
    number = value_numbers(z)
    values, weights = z[np.unique(number, return_index=True)[1]], np.bincount(number)
    leads, stretch, layer = np.full(len(values), -1), _Stretch(0, exact.follower_sets(values), weights, exact), 0
    while True:
        leads[(leads < 0) & stretch.sets.leaders] = layer
        if (layer > stretch.begin and stretch.proved(values)) or layer == max_layers:
            break
        values, layer = stretch.next_values(values), layer + 1
        sets = exact.follower_sets(values)
        stretch = stretch if _same(sets, stretch.sets) else _Stretch(layer, sets, weights, exact)
    motion, proved = stretch.motion(values), stretch.certified
    return Certificate(
        certified=proved,
        limits=motion.limits[number] if proved else z[:0],
        leaders=np.where(weights[number] == 1, leads[number], -1),
        value_leaders=leads[number],
        settled=stretch.begin if proved else -1,
        layers=layer,
        sets=exact.follower_sets(values[number]),
        motion=motion,
        values=number,
    )


class _Stretch:
    """Layers, from `begin` on, in which distinct tokens follow the same `sets`, and what of them is proved so far."""

    def __init__(self, begin: int, sets: FollowerSets, weights: Int[np.ndarray, " n"], map: ExactHardmaxMap):
        n = len(sets.which)
        self.begin, self.sets, self.weights, self.map = begin, sets, weights, map
        self.leading = sets.members[sets.starts[sets.which]]  # of those that a token follows, one
        self.tokens, self.behind = np.zeros(0, int), np.zeros(0, int)  # pairs of which nothing is proved yet
        self.started = self.doomed = self.certified = False
        self.n = n

    def motion(self, values: Exact) -> Motion:
        """Return the motion from this layer on if the sets stay."""
        return frozen_motion(values, self.sets, self.weights, self.map.alpha, self.map.rule.attention)

    def next_values(self, values: Exact) -> Exact:
        """Return the tokens after one layer, equal ones counted as often as they occur."""
        members, starts = self.sets.members, self.sets.starts[:-1]
        heavy = np.array([int(w) for w in self.weights], object)
        sums = np.add.reduceat(values[members] * heavy[members][:, None], starts, axis=0)
        means: Exact = sums / np.add.reduceat(heavy[members], starts)[:, None]
        a = self.map.alpha / (1 + self.map.alpha)
        return values + a * (means[self.sets.which] - values)

    def proved(self, values: Exact) -> bool:
        """Return whether the sets are shown to be final at this layer; what is shown of a pair need not be repeated."""
        if self.doomed:
            return False
        motion, A = self.motion(values), self.map.rule.attention
        if not self.started and not self._ties_stay(motion):
            self.doomed = True
            return False
        found = FloatMotion(motion, A).tail(self.tokens, self.leading[self.tokens], self.behind)
        self.doomed = found.doomed
        left, doubtful = ~found.settled, found.doubtful[~found.settled]
        self.tokens, self.behind = self.tokens[left], self.behind[left]
        self.certified = bool(np.all(doubtful)) and all(
            exact_gap(motion, A, i, int(self.leading[i]), j).stays_positive
            for i, j in zip(self.tokens.tolist(), self.behind.tolist(), strict=True)
        )
        return self.certified and not self.doomed

    def _ties_stay(self, motion: Motion) -> bool:
        """Return whether those whom a token follows keep equal scores; begin the list of all other pairs."""
        self.started = True
        pairs = np.ones((self.n, self.n), bool)
        for i in range(self.n):
            pairs[i, self.sets.of(i)] = False
        self.tokens, self.behind = np.nonzero(pairs)
        return motion.covered and all(
            exact_gap(motion, self.map.rule.attention, i, int(self.leading[i]), j).vanishes
            for i in range(self.n)
            for j in self.sets.of(i)[1:].tolist()
        )


def _same(sets: FollowerSets, others: FollowerSets) -> bool:
    """Return whether two layers have the same sets, by their arrays where these have the same order."""
    arrays = zip(sets[:3], others[:3], strict=True)
    return all(np.array_equal(a, b) for a, b in arrays) or sets.same_as(others)


def _checked(map: HardmaxMap | ExactHardmaxMap) -> ExactHardmaxMap:
    """Return the map in fractions; raise `ValueError` where the closed form has no proof."""
    exact = ExactHardmaxMap(map.alpha, map.rule.attention)
    A = exact.rule.attention
    if exact.alpha <= 0:
        raise argument_error("map", "have a positive alpha to be certified", f"has {exact.alpha}")
    if A is not None and not bool(np.all(A == A.T)):
        raise argument_error("map", "have a symmetric A to be certified", "has one that is not")
    if A is not None and not positive_definite(A):
        raise argument_error("map", "have a positive definite A to be certified", "has one that is not")
    return exact
