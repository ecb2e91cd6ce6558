"""What is known of the follower sets of the next layer: who follows a token that follows itself goes on doing so.

Let $C_i = \\{v\\}$ and $C_v = \\{v\\}$, up to equal tokens, and let c = alpha / (1 + alpha) be in (0, 1). After the
layer $z_i' = (1 - c) z_i + c z_v$, $z_v' = z_v$, and $z_j' = (1 - c) z_j + c m_j$ with $m_j$ a mean of tokens, so that
for every other j, with the gaps $g_i$ and $g_v$ of the scores before,

$$ \\langle A z_i', z_v' - z_j' \\rangle \\ge (1 - c) \\big((1 - c) g_i + c\\, g_v\\big) > 0. $$

In floats the bound also loses what the tokens were rounded by; when nothing is left of it, the token is searched again.
"""

import numpy as np
from jaxtyping import Bool, Float

from dynsim.systems.hardmax.attention import AbstractHardmax
from dynsim.systems.hardmax.follower_sets import FollowerSets
from dynsim.systems.hardmax.search.choice import search_for
from dynsim.systems.hardmax.search.scores import EPSILON, joined

SAFE = 1 - 2.0**-40  # more than the rounding of a bound's own arithmetic


class Sizes:
    """Lengths in one unit for all layers: `tokens` and `queries` bound $|z_i|$ and $|A z_i|$ from below and above.

    `attention` bounds the norm of A; A and the tokens are divided by powers of two that make them of order one.
    """

    def __init__(self, rule: AbstractHardmax, exponent: int):
        self.rule, self.exponent = rule, exponent
        self.matrix = rule.scaled_attention()
        self.attention = 1.0 if self.matrix is None else float(np.linalg.norm(self.matrix)) / SAFE

    def of(self, z: np.ndarray) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"], float]:
        """Return lower and upper bounds of $|A z_i|$, and one of the largest token."""
        u = self.rule.scaled(z, self.exponent)
        tokens = np.linalg.norm(u, axis=1)
        lengths = tokens if self.matrix is None else np.linalg.norm(u @ self.matrix.T, axis=1)
        lost = 0.0 if self.matrix is None else 8 * u.shape[1] * EPSILON * self.attention * tokens
        return np.maximum(lengths - lost, 0.0) * SAFE, (lengths + lost) / SAFE, float(np.max(tokens)) / SAFE


class ReusedFollowerSets:
    """The follower sets of one layer after the other, searched only where the last layer does not tell.

    `share` is alpha / (1 + alpha); outside ]0, 1[ every layer is searched. `rounding` is whether tokens are rounded.
    After `follow`, `bounds[i]` is a lower bound of $g_i$, in the unit of `sizes`.
    """

    def __init__(self, rule: AbstractHardmax, share: float, sizes: Sizes, *, rounding: bool):
        self.rule, self.share, self.sizes, self.rounding = rule, share, sizes, rounding
        self.sets: FollowerSets | None = None
        self.tokens = np.empty(0)
        self.bounds = np.empty(0)
        self.largest = 0.0

    def follow(self, z: np.ndarray) -> FollowerSets:
        """Return the follower sets of the next layer's tokens `z`, shape (n, d), as `follower_sets` does."""
        if self.sets is not None and np.array_equal(z, self.tokens):
            return self.sets
        low, high, largest = self.sizes.of(z)
        bounds = np.zeros(len(z)) if self.sets is None else self._kept(self.sets)
        known = bounds > 0
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            gaps = np.where(np.isinf(bounds), np.inf, np.nan_to_num(bounds / (high * largest), nan=0.0, posinf=0.0))
        self.sets = self._searched(z, known, gaps)
        found = self.sets.gaps[~known]
        fresh = np.where(
            np.isinf(found), np.inf, np.where(np.isinf(found), 0.0, found) * low[~known] * largest * SAFE**2
        )
        bounds[~known] = fresh
        self.tokens, self.bounds, self.largest = z, bounds, largest
        return self.sets

    def _kept(self, sets: FollowerSets) -> Float[np.ndarray, " n"]:
        """Return bounds for tokens that go on following who follows itself; zero for the others."""
        c = self.share
        if not 0 < c < 1:
            return np.zeros(len(sets.which))
        first = sets.members[sets.starts[:-1]]
        leads = self.same() & (sets.which[first] == np.arange(len(first)))
        leader = first[sets.which]
        found = (1 - c) * ((1 - c) * self.bounds + c * self.bounds[leader]) * SAFE - self._lost(sets)
        return np.where(leads[sets.which], np.maximum(found, 0.0), 0.0)

    def same(self) -> Bool[np.ndarray, " sets"]:
        """Return of each set of the last layer whether its tokens are all equal."""
        sets = self.sets
        assert sets is not None
        sizes = np.diff(sets.starts)
        if np.max(sizes) == 1:
            return np.ones(len(sizes), bool)
        first = np.repeat(sets.members[sets.starts[:-1]], sizes)
        equal = np.all((self.tokens[sets.members] == self.tokens[first]).astype(bool), axis=1)
        return np.logical_and.reduceat(equal, sets.starts[:-1])

    def rounded(self, sets: FollowerSets) -> float:
        """Return by how much at most a layer's tokens are rounded, in the unit of `sizes`; means of equals are exact.

        Each operation rounds by half an EPSILON; a mean of m tokens takes m of them, c three and the rest three.
        """
        if not self.rounding:
            return 0.0
        mixed = np.diff(sets.starts)[~self.same()]
        steps = int(np.max(mixed)) if len(mixed) else 0
        return (steps + 16) * EPSILON * self.largest + 2.0 ** min(-1070 - self.sizes.exponent, 1000)

    def _lost(self, sets: FollowerSets) -> float:
        return 4 * self.sizes.attention * self.largest * self.rounded(sets)

    def _searched(self, z: np.ndarray, known: np.ndarray, gaps: np.ndarray) -> FollowerSets:
        """Return the sets of the last layer where they are known, those of a search for the others."""
        if self.sets is not None and np.all(known):
            return self.sets._replace(gaps=gaps)
        scores, rest = self.rule.scores(z), np.flatnonzero(~known)
        found = search_for(scores, len(rest)).sets(scores, rest)
        if self.sets is None or len(rest) == len(z):
            return found
        kept = self.sets._replace(which=self.sets.which[known], gaps=gaps[known])
        return joined([kept, found], [known, ~known])
