"""Decide signs of many score gaps in floating-point arithmetic with rigorous bounds, for constant follower sets."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from analysis.hardmax.constant_follower_sets import Motion, supremum_bound
from analysis.hardmax.leaders import value_numbers
from dynsim._core.printing import one_line, report
from dynsim.exact import Exact, nearest_floats

# Number of gaps handled at a time.
BLOCK = 2**15
# Bound of the absolute error of a product that underflows.
SMALLEST = 1e-300
# Number of error bounds below which a number is left to exact arithmetic; the tests below subtract fewer.
UNRESOLVED = 4
# Factor for the rounding errors of bounds, which are sums of positive numbers.
SAFETY = 1.001


class GapSigns(NamedTuple):
    """Signs of score gaps at the current layer and all later ones, as far as floats decide them.

    Attributes:
        positive: gaps proved positive at all these layers.
        unresolved: gaps with a sign that floats cannot decide, so that exact arithmetic must.
        any_negative: whether some gap is eventually negative, so that the follower sets change; both masks are then
            false.
    """

    positive: Bool[np.ndarray, " gaps"]
    unresolved: Bool[np.ndarray, " gaps"]
    any_negative: bool

    __repr__ = one_line
    __str__ = report


class FloatMotion:
    """A `Motion` rounded to floats, each number with a relative error of at most half a unit in the last place."""

    def __init__(self, motion: Motion, attention: Exact | None):
        """Round limits and terms, each with its own scale factor; a common factor of the scores keeps their signs."""
        n, d = motion.limits.shape
        depth = max([1, *(len(terms) for terms in motion.terms)])
        padded = np.full((depth, n, d), 0 * motion.limits[0, 0], object)
        for i, terms in enumerate(motion.terms):
            for t, term in enumerate(terms):
                padded[t, i] = term
        self.group = value_numbers(motion.limits)
        self.values = motion.limits[np.unique(self.group, return_index=True)[1]]
        self.S, unit = nearest_floats(self.values)
        self.Q, small = nearest_floats(padded)
        self.scale = max(float(small / unit), SMALLEST)  # scale of the terms relative to that of the limits
        A = np.eye(d) if attention is None else nearest_floats(attention)[0]
        self.AS, self.AQ = self.S @ A.T, self.Q @ A.T
        self.attention_norm = float(np.linalg.norm(A))
        self.scores = self.AS @ self.S.T
        self.limit_norms, self.term_norms = _norms(self.S), _norms(self.Q)
        self.error = 16 * (d + 3) * 2.0**-52
        self.exact, self.ratio, self.depth = attention, motion.ratio, depth
        self.signs: dict[tuple[int, int, int], int] = {}

    def gap_signs(
        self, i: Int[np.ndarray, " p"], ahead: Int[np.ndarray, " p"], behind: Int[np.ndarray, " p"]
    ) -> GapSigns:
        """Decide the signs of the scores of `ahead` minus those of `behind`, for the queries of tokens `i`."""
        parts: list[GapSigns] = []
        for begin in range(0, len(i), BLOCK):
            here = slice(begin, begin + BLOCK)
            parts.append(self._block(i[here], ahead[here], behind[here]))
            if parts[-1].any_negative:
                break
        positive, unresolved = np.zeros(len(i), bool), np.zeros(len(i), bool)
        for k, part in enumerate(parts):
            positive[k * BLOCK : (k + 1) * BLOCK] = part.positive
            unresolved[k * BLOCK : (k + 1) * BLOCK] = part.unresolved
        return GapSigns(positive, unresolved, any(part.any_negative for part in parts))

    def _block(self, i: np.ndarray, ahead: np.ndarray, behind: np.ndarray) -> GapSigns:
        g, h, k = self.group[i], self.group[ahead], self.group[behind]
        a = self.scores[g, h] - self.scores[g, k]
        norms = self.limit_norms
        error = self.error * self.attention_norm * norms[g] * (norms[h] + norms[k]) + SMALLEST
        sign = np.where(h == k, 0, np.sign(a)).astype(int)
        for p in np.flatnonzero((np.abs(a) <= error) & (h != k)):
            sign[p] = self._exact_sign(int(g[p]), int(h[p]), int(k[p]))
        if np.any(sign < 0):
            none = np.zeros(len(i), bool)
            return GapSigns(none, none, True)
        first, second = (sign > 0) & (a > UNRESOLVED * error), sign == 0
        positive, unresolved = np.zeros(len(i), bool), (sign > 0) & (a <= UNRESOLVED * error)
        positive[first] = self._separated_in_the_limit(i[first], ahead[first], behind[first], (a - error)[first])
        positive[second], unresolved[second] = self._tied_in_the_limit(i[second], ahead[second], behind[second])
        return GapSigns(positive, unresolved, False)

    def _separated_in_the_limit(
        self, i: np.ndarray, ahead: np.ndarray, behind: np.ndarray, a: np.ndarray
    ) -> np.ndarray:
        """Test which gaps with a > 0 are positive: a quadratic in r^m minus bounds of the higher binomial terms."""
        b, b_size = self._linear(i, ahead, behind, 0)
        c, c_size = self._quadratic(i, ahead, behind)
        least = _least(a, self.scale * b, self.scale**2 * c)
        loss = self.error * (b_size * self.scale + c_size * self.scale**2)
        for t in range(1, self.depth):
            loss += self.scale * float(supremum_bound(self.ratio, t)) * self._linear_size(i, ahead, behind, t)
        loss += self.scale**2 * self._higher_products(i, ahead, behind, 2)
        return least > SAFETY * loss + SMALLEST

    def _tied_in_the_limit(self, i: np.ndarray, ahead: np.ndarray, behind: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Test which gaps with a = 0 are positive, and where floats leave the sign of a coefficient of b open."""
        b, size = self._linear(i, ahead, behind, 0)
        open_sign, nonnegative = np.abs(b) <= UNRESOLVED * (self.error * size + SMALLEST), np.ones(len(i), bool)
        for t in range(1, self.depth):
            found, bound = self._linear(i, ahead, behind, t)
            error = self.error * bound + SMALLEST * (bound > 0)
            nonnegative &= found >= error
            open_sign |= (np.abs(found) <= error) & (bound > 0)
        c, c_size = self._quadratic(i, ahead, behind)
        least = np.minimum(b, b + self.scale * c)
        loss = self.error * (size + c_size * self.scale) + self.scale * self._higher_products(i, ahead, behind, 1)
        positive = nonnegative & (least > SAFETY * loss + SMALLEST)
        return positive, open_sign & ~positive

    def _linear(self, i: np.ndarray, ahead: np.ndarray, behind: np.ndarray, t: int) -> tuple[np.ndarray, np.ndarray]:
        """Compute the coefficient of binom(m, t) in b, and the magnitude to which its rounding error is relative."""
        g, h, k, Q = self.group[i], self.group[ahead], self.group[behind], self.Q[t]
        b = _dots(self.AS[g], Q[ahead] - Q[behind]) + _dots(self.AQ[t][i], self.S[h] - self.S[k])
        return b, self._linear_size(i, ahead, behind, t)

    def _linear_size(self, i: np.ndarray, ahead: np.ndarray, behind: np.ndarray, t: int) -> np.ndarray:
        terms, limits = self.term_norms[t], self.limit_norms[self.group]
        sums = limits[i] * (terms[ahead] + terms[behind]) + terms[i] * (limits[ahead] + limits[behind])
        return self.attention_norm * sums

    def _quadratic(self, i: np.ndarray, ahead: np.ndarray, behind: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Compute the constant coefficient of c, and the magnitude to which its rounding error is relative."""
        c, terms = _dots(self.AQ[0][i], self.Q[0][ahead] - self.Q[0][behind]), self.term_norms[0]
        return c, self.attention_norm * terms[i] * (terms[ahead] + terms[behind])

    def _higher_products(self, i: np.ndarray, ahead: np.ndarray, behind: np.ndarray, power: int) -> np.ndarray:
        """Bound $r^{power m}$ times the terms of c(m) other than its constant coefficient."""
        terms, bound = self.term_norms, np.zeros(len(i))
        for t in range(self.depth):
            for u in range(self.depth):
                if t + u > 0:
                    largest = float(supremum_bound(self.ratio**power, t, u))
                    bound += largest * self.attention_norm * terms[t][i] * (terms[u][ahead] + terms[u][behind])
        return bound

    def _exact_sign(self, g: int, h: int, k: int) -> int:
        """Compute the sign of a for three distinct limits, in fractions."""
        triple = (g, h, k)
        if triple not in self.signs:
            s, difference = self.values[g], self.values[h] - self.values[k]
            a = (s if self.exact is None else self.exact @ s) @ difference
            self.signs[triple] = (a > 0) - (a < 0)
        return self.signs[triple]


def _norms(x: Float[np.ndarray, "*rows d"]) -> Float[np.ndarray, "*rows"]:
    """Compute the Euclidean norms of the rows, or the largest absolute entries where squares underflow."""
    return np.maximum(np.linalg.norm(x, axis=-1), np.max(np.abs(x), axis=-1))


def _dots(x: Float[np.ndarray, "p d"], y: Float[np.ndarray, "p d"]) -> Float[np.ndarray, " p"]:
    return np.einsum("pd,pd->p", x, y)


def _least(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Compute the minimum of a + b u + c u^2 over u in [0, 1], in floating-point arithmetic."""
    inside = (-b > 0) & (-b < 2 * c)
    with np.errstate(over="ignore"):
        bottom = a - b * b / np.where(inside, 4 * c, 1.0)
    return np.where(inside, bottom, np.minimum(a, a + b + c))
