"""Follower sets of successive layers, recomputed only for tokens whose set may have changed.

A token that follows a leader still follows it in the next layer. Let $C_i = \\{v\\}$ and $C_v = \\{v\\}$, up to equal
tokens, and let c = alpha / (1 + alpha) be in (0, 1). After the layer $z_i' = (1 - c) z_i + c z_v$, $z_v' = z_v$, and
$z_j' = (1 - c) z_j + c m_j$ with $m_j$ a mean of tokens. With the gaps $g_i$ and $g_v$ between the best and the
second-best score before the layer, every other j therefore satisfies

$$ \\langle A z_i', z_v' - z_j' \\rangle \\ge (1 - c) \\big((1 - c) g_i + c\\, g_v\\big) > 0. $$

In floats the bound is reduced by the rounding error of the tokens; where it is not positive, the set is recomputed.
"""

import numpy as np
from jaxtyping import Bool, Float

from dynsim.systems.hardmax.attention import AbstractHardmax
from dynsim.systems.hardmax.search.choice import search_for
from dynsim.systems.hardmax.search.follower_sets import FollowerSets
from dynsim.systems.hardmax.search.scores import EPSILON, joined

SAFE = 1 - 2.0**-40  # covers the rounding error in the arithmetic of a bound


class NormBounds:
    """Bounds on $|z_i|$ and $|A z_i|$ in a unit that is the same for all layers.

    The tokens are divided by $2^e$ with e = `exponent`, and A by a power of two, so that both are of order one.
    `attention` is an upper bound on the norm of the scaled A.
    """

    def __init__(self, rule: AbstractHardmax, exponent: int):
        self.rule, self.exponent = rule, exponent
        self.matrix = rule.scaled_attention()
        self.attention = 1.0 if self.matrix is None else float(np.linalg.norm(self.matrix)) / SAFE

    def of(self, z: np.ndarray) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"], float]:
        """Lower and upper bounds on $|A z_i|$, shape (n,) each, and an upper bound on the largest $|z_i|$."""
        u = self.rule.scaled(z, self.exponent)
        tokens = np.linalg.norm(u, axis=1)
        lengths = tokens if self.matrix is None else np.linalg.norm(u @ self.matrix.T, axis=1)
        lost = 0.0 if self.matrix is None else 8 * u.shape[1] * EPSILON * self.attention * tokens
        return np.maximum(lengths - lost, 0.0) * SAFE, (lengths + lost) / SAFE, float(np.max(tokens)) / SAFE


class ReusedFollowerSets:
    """Follower sets of successive layers; sets that cannot have changed are taken from the previous layer.

    Attributes:
        rule: the attention rule.
        share: c = alpha / (1 + alpha); outside ]0, 1[ the sets of every layer are recomputed.
        norms: the unit of `bounds`, and bounds on norms in this unit.
        rounding: whether the tokens are rounded.
        sets: the follower sets of the previous layer.
        tokens: the tokens of the previous layer.
        bounds: lower bounds on the gaps $g_i$ of the previous layer.
        largest: an upper bound on the norms of its tokens.
    """

    def __init__(self, rule: AbstractHardmax, share: float, norms: NormBounds, *, rounding: bool):
        self.rule, self.share, self.norms, self.rounding = rule, share, norms, rounding
        self.sets: FollowerSets | None = None
        self.tokens = np.empty(0)
        self.bounds = np.empty(0)
        self.largest = 0.0

    def follower_sets(self, z: np.ndarray) -> FollowerSets:
        """Follower sets at the tokens `z` of the next layer, shape (n, d); updates all attributes."""
        if self.sets is not None and np.array_equal(z, self.tokens):
            return self.sets
        low, high, largest = self.norms.of(z)
        bounds = np.zeros(len(z)) if self.sets is None else self._bounds_after_layer(self.sets)
        known = bounds > 0
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            gaps = np.where(np.isinf(bounds), np.inf, np.nan_to_num(bounds / (high * largest), nan=0.0, posinf=0.0))
        self.sets = self._updated(z, known, gaps)
        found = self.sets.gaps[~known]
        fresh = np.where(
            np.isinf(found), np.inf, np.where(np.isinf(found), 0.0, found) * low[~known] * largest * SAFE**2
        )
        bounds[~known] = fresh
        self.tokens, self.bounds, self.largest = z, bounds, largest
        return self.sets

    def _bounds_after_layer(self, sets: FollowerSets) -> Float[np.ndarray, " n"]:
        """Lower bounds on the new gaps of tokens that follow a leader; zero for other tokens."""
        c = self.share
        if not 0 < c < 1:
            return np.zeros(len(sets.which))
        first = sets.members[sets.starts[:-1]]
        leads = self.equal_members() & (sets.which[first] == np.arange(len(first)))
        leader = first[sets.which]
        found = (1 - c) * ((1 - c) * self.bounds + c * self.bounds[leader]) * SAFE - self._score_error(sets)
        return np.where(leads[sets.which], np.maximum(found, 0.0), 0.0)

    def equal_members(self) -> Bool[np.ndarray, " sets"]:
        """Whether the tokens of each set of the previous layer are all equal."""
        sets = self.sets
        assert sets is not None
        sizes = np.diff(sets.starts)
        if np.max(sizes) == 1:
            return np.ones(len(sizes), bool)
        first = np.repeat(sets.members[sets.starts[:-1]], sizes)
        equal = np.all((self.tokens[sets.members] == self.tokens[first]).astype(bool), axis=1)
        return np.logical_and.reduceat(equal, sets.starts[:-1])

    def rounding_error(self, sets: FollowerSets) -> float:
        """Upper bound on the rounding error of a token in one layer, in the unit of `norms`.

        Each operation has a relative error of at most EPSILON / 2. A mean of m tokens takes m operations, or none if
        they are equal. Computing c takes three operations, and the remaining arithmetic three more.
        """
        if not self.rounding:
            return 0.0
        mixed = np.diff(sets.starts)[~self.equal_members()]
        steps = int(np.max(mixed)) if len(mixed) else 0
        return (steps + 16) * EPSILON * self.largest + 2.0 ** min(-1070 - self.norms.exponent, 1000)

    def _score_error(self, sets: FollowerSets) -> float:
        """Upper bound on the error of a score difference caused by rounding of the tokens."""
        return 4 * self.norms.attention * self.largest * self.rounding_error(sets)

    def _updated(self, z: np.ndarray, known: np.ndarray, gaps: np.ndarray) -> FollowerSets:
        """The previous sets of the tokens `known`, with new gaps, joined with recomputed sets of the others."""
        if self.sets is not None and np.all(known):
            return self.sets._replace(gaps=gaps)
        scores, rest = self.rule.scores(z), np.flatnonzero(~known)
        found = search_for(scores, len(rest)).sets(scores, rest)
        if self.sets is None or len(rest) == len(z):
            return found
        kept = self.sets._replace(which=self.sets.which[known], gaps=gaps[known])
        return joined([kept, found], [known, ~known])
