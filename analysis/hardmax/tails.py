"""Which of many scores stay ahead forever: floats with error bounds, where they are enough."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from analysis.hardmax.frozen import Motion, crest
from analysis.hardmax.leaders import value_numbers
from dynsim.exact import Exact, nearest_floats

BLOCK = 2**15  # pairs at a time
SMALLEST = 1e-300  # more than any product that underflows
DOUBT = 4  # errors within which a number is left to fractions: more than what the tests below take off
SAFETY = 1.001  # for the rounding of bounds, which are sums of positive numbers


class Tail(NamedTuple):
    """What floats tell of pairs of tokens: `settled` ones stay positive; `doubtful` ones need exact arithmetic.

    `doomed` is true if one of them turns negative in the end, so that the follower sets change.
    """

    settled: Bool[np.ndarray, " pairs"]
    doubtful: Bool[np.ndarray, " pairs"]
    doomed: bool


class FloatMotion:
    """A motion in floats, each number with a relative error of half a unit in the last place."""

    def __init__(self, motion: Motion, attention: Exact | None):
        """Store limits and terms, each in its own unit; scores are in units that have no influence on their sign."""
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
        self.step = max(float(small / unit), SMALLEST)
        A = np.eye(d) if attention is None else nearest_floats(attention)[0]
        self.AS, self.AQ = self.S @ A.T, self.Q @ A.T
        self.size = float(np.linalg.norm(A))
        self.scores = self.AS @ self.S.T
        self.far, self.near = _sizes(self.S), _sizes(self.Q)
        self.error = 16 * (d + 3) * 2.0**-52
        self.exact, self.ratio, self.depth = attention, motion.ratio, depth
        self.signs: dict[tuple[int, int, int], int] = {}

    def tail(self, i: Int[np.ndarray, " p"], ahead: Int[np.ndarray, " p"], behind: Int[np.ndarray, " p"]) -> Tail:
        """Return what is known of the gaps of tokens `i` between the scores of `ahead` and `behind`."""
        parts: list[Tail] = []
        for begin in range(0, len(i), BLOCK):
            here = slice(begin, begin + BLOCK)
            parts.append(self._block(i[here], ahead[here], behind[here]))
            if parts[-1].doomed:
                break
        settled, doubtful = np.zeros(len(i), bool), np.zeros(len(i), bool)
        for k, part in enumerate(parts):
            settled[k * BLOCK : (k + 1) * BLOCK] = part.settled
            doubtful[k * BLOCK : (k + 1) * BLOCK] = part.doubtful
        return Tail(settled, doubtful, any(part.doomed for part in parts))

    def _block(self, i: np.ndarray, ahead: np.ndarray, behind: np.ndarray) -> Tail:
        g, h, k = self.group[i], self.group[ahead], self.group[behind]
        a = self.scores[g, h] - self.scores[g, k]
        error = self.error * self.size * self.far[g] * (self.far[h] + self.far[k]) + SMALLEST
        sign = np.where(h == k, 0, np.sign(a)).astype(int)
        for p in np.flatnonzero((np.abs(a) <= error) & (h != k)):
            sign[p] = self._exact_sign(int(g[p]), int(h[p]), int(k[p]))
        if np.any(sign < 0):
            nothing = np.zeros(len(i), bool)
            return Tail(nothing, nothing, True)
        first, second = (sign > 0) & (a > DOUBT * error), sign == 0
        settled, doubtful = np.zeros(len(i), bool), (sign > 0) & (a <= DOUBT * error)
        settled[first] = self._far_apart(i[first], ahead[first], behind[first], (a - error)[first])
        settled[second], doubtful[second] = self._in_the_limit_equal(i[second], ahead[second], behind[second])
        return Tail(settled, doubtful, False)

    def _far_apart(self, i: np.ndarray, ahead: np.ndarray, behind: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Return which gaps with a > 0 are positive: a quadratic in r^m, and bounds for what polynomials add."""
        b, b_size = self._linear(i, ahead, behind, 0)
        c, c_size = self._quadratic(i, ahead, behind)
        least = _least(a, self.step * b, self.step**2 * c)
        lost = self.error * (b_size * self.step + c_size * self.step**2)
        for t in range(1, self.depth):
            lost += self.step * float(crest(self.ratio, t)) * self._linear_size(i, ahead, behind, t)
        lost += self.step**2 * self._later_products(i, ahead, behind, 2)
        return least > SAFETY * lost + SMALLEST

    def _in_the_limit_equal(
        self, i: np.ndarray, ahead: np.ndarray, behind: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return which gaps with a = 0 are positive, and in which floats cannot tell the sign of a coefficient of b."""
        b, size = self._linear(i, ahead, behind, 0)
        unclear, grows = np.abs(b) <= DOUBT * (self.error * size + SMALLEST), np.ones(len(i), bool)
        for t in range(1, self.depth):
            found, bound = self._linear(i, ahead, behind, t)
            error = self.error * bound + SMALLEST * (bound > 0)
            grows &= found >= error
            unclear |= (np.abs(found) <= error) & (bound > 0)
        c, c_size = self._quadratic(i, ahead, behind)
        least = np.minimum(b, b + self.step * c)
        lost = self.error * (size + c_size * self.step) + self.step * self._later_products(i, ahead, behind, 1)
        settled = grows & (least > SAFETY * lost + SMALLEST)
        return settled, unclear & ~settled

    def _linear(self, i: np.ndarray, ahead: np.ndarray, behind: np.ndarray, t: int) -> tuple[np.ndarray, np.ndarray]:
        """Return coefficient t of b, and the size to which its rounding error is relative."""
        g, h, k, Q = self.group[i], self.group[ahead], self.group[behind], self.Q[t]
        b = _dots(self.AS[g], Q[ahead] - Q[behind]) + _dots(self.AQ[t][i], self.S[h] - self.S[k])
        return b, self._linear_size(i, ahead, behind, t)

    def _linear_size(self, i: np.ndarray, ahead: np.ndarray, behind: np.ndarray, t: int) -> np.ndarray:
        near, far, g = self.near[t], self.far, self.group
        return self.size * (far[g[i]] * (near[ahead] + near[behind]) + near[i] * (far[g[ahead]] + far[g[behind]]))

    def _quadratic(self, i: np.ndarray, ahead: np.ndarray, behind: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the first coefficient of c, and the size to which its rounding error is relative."""
        c = _dots(self.AQ[0][i], self.Q[0][ahead] - self.Q[0][behind])
        return c, self.size * self.near[0][i] * (self.near[0][ahead] + self.near[0][behind])

    def _later_products(self, i: np.ndarray, ahead: np.ndarray, behind: np.ndarray, power: int) -> np.ndarray:
        """Return a bound of $r^{power m}$ times what c(m) has beyond its first coefficient."""
        lost = np.zeros(len(i))
        for t in range(self.depth):
            for u in range(self.depth):
                if t + u > 0:
                    most = float(crest(self.ratio**power, t, u))
                    lost += most * self.size * self.near[t][i] * (self.near[u][ahead] + self.near[u][behind])
        return lost

    def _exact_sign(self, g: int, h: int, k: int) -> int:
        """Return the sign of a for three limits, in fractions."""
        name = (g, h, k)
        if name not in self.signs:
            s, far = self.values[g], self.values[h] - self.values[k]
            a = (s if self.exact is None else self.exact @ s) @ far
            self.signs[name] = (a > 0) - (a < 0)
        return self.signs[name]


def _sizes(x: Float[np.ndarray, "*rows d"]) -> Float[np.ndarray, "*rows"]:
    """Return the lengths of vectors; not zero where squares underflow."""
    return np.maximum(np.linalg.norm(x, axis=-1), np.max(np.abs(x), axis=-1))


def _dots(x: Float[np.ndarray, "p d"], y: Float[np.ndarray, "p d"]) -> Float[np.ndarray, " p"]:
    return np.einsum("pd,pd->p", x, y)


def _least(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Return the least value of a + b u + c u^2 for u in [0, 1]."""
    inside = (-b > 0) & (-b < 2 * c)
    with np.errstate(over="ignore"):
        bottom = a - b * b / np.where(inside, 4 * c, 1.0)
    return np.where(inside, bottom, np.minimum(a, a + b + c))
