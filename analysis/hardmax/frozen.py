r"""Tokens that go on following the same tokens: their motion in closed form, and whether a score stays ahead forever.

With r = 1/(1 + alpha), a token that follows others moves, m layers on, as
$z_i(m) = s_i + r^m \sum_t q_i^t \binom{m}{t}$, so that a difference of two scores is
$a + r^m b(m) + r^{2m} c(m)$ with polynomials b, c in the binomials.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from jaxtyping import Int

from dynsim.exact import Exact, integers, rationals
from dynsim.systems.hardmax.follower_sets import FollowerSets

BELOW_E = Fraction(2718, 1000)  # less than e, so that what is divided by it is bounded from above
Terms = list[Exact]  # the vectors q^0, q^1, ... of one token, the last one not zero


@dataclass(frozen=True)
class Motion:
    """The exact motion of tokens with frozen follower sets, counted from the present layer.

    `limits` are s_i, shape (n, d), `terms` the q_i, empty for a token at rest. `covered` is false if a token follows
    itself and others without being at rest: its motion has other rates, and the formula does not hold.
    """

    limits: Exact
    terms: list[Terms]
    ratio: Fraction
    covered: bool

    def after(self, layers: int) -> Exact:
        """Return the tokens so many layers on, shape (n, d), exactly."""
        power = self.ratio**layers
        return np.stack(
            [
                s + sum((power * math.comb(layers, t) * q for t, q in enumerate(terms)), 0 * s)
                for s, terms in zip(self.limits, self.terms, strict=True)
            ]
        )


def frozen_motion(
    x: Exact, sets: FollowerSets, weights: Int[np.ndarray, " n"], alpha: Fraction, attention: Exact | None
) -> Motion:
    """Return the motion of distinct tokens `x`, shape (n, d), of which token i stands for `weights[i]` equal ones.

    Tokens are solved in the order of decreasing A-norm: by Cauchy-Schwarz a token follows, itself apart, only tokens of
    larger norm (a zero token follows all).
    """
    limits, terms, covered = x.copy(), [list[Exact]() for _ in x], True
    followed: dict[int, tuple[Exact, Terms]] = {}
    for i in decreasing(x, attention):
        members = sets.of(i)
        others = [int(j) for j in members if j != i]
        if len(others) < len(members):
            if others:
                mean, rest = _average(others, limits, terms, weights)
                covered = covered and not rest and bool(np.all(mean == x[i]))
            continue
        name = int(sets.which[i])
        if name not in followed:
            followed[name] = _average(others, limits, terms, weights)
        limits[i], rest = followed[name]
        terms[i] = [x[i] - limits[i], *(alpha * q for q in rest)]
    return Motion(limits, terms, 1 / (1 + alpha), covered)


def decreasing(x: Exact, attention: Exact | None) -> list[int]:
    """Return the tokens in the order of decreasing A-norm, compared exactly."""
    numerators, _ = integers(x)
    queries = numerators if attention is None else numerators @ integers(attention)[0].T
    norms = np.sum(queries * numerators, axis=1)
    return sorted(range(len(x)), key=lambda i: -norms[i])


def _average(
    members: Sequence[int], limits: Exact, terms: list[Terms], weights: Int[np.ndarray, " n"]
) -> tuple[Exact, Terms]:
    """Return limit and terms of the weighted mean of tokens, without terms that cancel at the end."""
    total = sum(int(weights[j]) for j in members)
    share = {j: Fraction(int(weights[j]), total) for j in members}
    rest: Terms = [
        np.sum([share[j] * terms[j][t] for j in members if t < len(terms[j])], axis=0)
        for t in range(max(len(terms[j]) for j in members))
    ]
    while rest and not any(rest[-1]):
        rest.pop()
    return np.sum([share[j] * limits[j] for j in members], axis=0), rest


@dataclass(frozen=True)
class Gap:
    """How far one score is ahead of another, $a + r^m b(m) + r^{2m} c(m)$: the binomial coefficients of a, b and c."""

    levels: tuple[list[Fraction], list[Fraction], list[Fraction]]
    ratio: Fraction

    @property
    def vanishes(self) -> bool:
        """Whether the two scores are equal at every layer."""
        return not any(entry for level in self.levels for entry in level)

    @property
    def stays_positive(self) -> bool:
        """Whether the gap is shown to be positive at this layer and all later ones.

        The first level that is not zero must have no negative coefficient, and its first must exceed what the slower
        powers r^m can take away. False settles nothing by itself, but every gap that is positive in the end is shown to
        be so from some layer on.
        """
        levels = [*self.levels, []]
        while levels and not any(levels[0]):
            levels = levels[1:]
        if not levels or min(levels[0]) < 0:
            return False
        lead, second, third = ([*level, Fraction(0)] for level in [*levels, [], []][:3])
        rest = sum(
            max(-entry, Fraction(0)) * crest(self.ratio**e, t)
            for e, level in ((1, second), (2, third))
            for t, entry in enumerate(level)
            if t > 0
        )
        return least_on_unit_interval(lead[0], second[0], third[0]) > rest


def exact_gap(motion: Motion, attention: Exact | None, token: int, ahead: int, behind: int) -> Gap:
    """Return how far the score of `ahead` is ahead of that of `behind` for a token."""
    A = rationals("attention", np.eye(motion.limits.shape[1], dtype=int)) if attention is None else attention
    s, far = A @ motion.limits[token], motion.limits[ahead] - motion.limits[behind]
    q, near = [A @ term for term in motion.terms[token]], _difference(motion.terms[ahead], motion.terms[behind])
    b = [Fraction(0)] * max(len(q), len(near))
    for t, term in enumerate(near):
        b[t] += s @ term
    for t, term in enumerate(q):
        b[t] += term @ far
    c = [Fraction(0)] * (len(q) + len(near))
    for t, term in enumerate(q):
        for u, other in enumerate(near):
            for k, count in product_of_binomials(t, u):
                c[k] += count * (term @ other)
    return Gap(([s @ far], b, c), motion.ratio)


def _difference(first: Terms, second: Terms) -> Terms:
    zero = [0 * term for term in (first if len(first) > len(second) else second)]
    padded = [[*terms, *zero[len(terms) :]] for terms in (first, second)]
    return [p - q for p, q in zip(*padded, strict=True)]


def product_of_binomials(t: int, u: int) -> list[tuple[int, int]]:
    """Return (k, count) with binom(m, t) binom(m, u) = sum of count * binom(m, k), for every m."""
    return [(t + u - j, math.comb(t + u - j, t) * math.comb(t, j)) for j in range(min(t, u) + 1)]


def crest(ratio: Fraction, *degrees: int) -> Fraction:
    """Return an upper bound of ratio^m binom(m, t) binom(m, u) ... over all m >= 0, for degrees t, u, ...

    From binom(m, t) <= m^t / t! and log(1 / ratio) >= 1 - ratio.
    """
    total = sum(degrees)
    return (total / (BELOW_E * (1 - ratio))) ** total / math.prod(math.factorial(t) for t in degrees)


def least_on_unit_interval(a: Fraction, b: Fraction, c: Fraction) -> Fraction:
    """Return the least value of a + b u + c u^2 for u in [0, 1]."""
    return a - b * b / (4 * c) if 0 < -b < 2 * c else min(a, a + b + c)
