r"""Compute the motion of tokens with constant follower sets in closed form, and signs of score gaps along it.

With r = 1/(1 + alpha), a token that follows only others is, m layers later, at
$z_i(m) = s_i + r^m \sum_t q_i^t \binom{m}{t}$. The gap between two scores
$\langle A z_i, z_j \rangle - \langle A z_i, z_k \rangle$ is therefore $a + r^m b(m) + r^{2m} c(m)$, where b and c
are linear combinations of binomials $\binom{m}{t}$.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from jaxtyping import Int

from dynsim.exact import Exact, integers, rationals
from dynsim.systems.hardmax.search.follower_sets import FollowerSets

# A lower bound of e; dividing by it gives an upper bound.
E_LOWER_BOUND = Fraction(2718, 1000)
# Coefficient vectors q^0, q^1, ... of one token; the last one is not zero.
Terms = list[Exact]


@dataclass(frozen=True)
class Motion:
    """Exact motion of tokens with constant follower sets, with layers counted from the current one.

    Attributes:
        limits: the limits s_i, shape (n, d).
        terms: coefficient vectors q_i^t of each token, none for a token at rest.
        ratio: r = 1/(1 + alpha).
        valid: false if some moving token follows itself and others. It then does not converge at the rate r, and the
            closed form does not hold.
    """

    limits: Exact
    terms: list[Terms]
    ratio: Fraction
    valid: bool

    def after(self, layers: int) -> Exact:
        """Compute the exact tokens after `layers` more layers, shape (n, d)."""
        power = self.ratio**layers
        return np.stack(
            [
                s + sum((power * math.comb(layers, t) * q for t, q in enumerate(terms)), 0 * s)
                for s, terms in zip(self.limits, self.terms, strict=True)
            ]
        )


def closed_form_motion(
    x: Exact, sets: FollowerSets, weights: Int[np.ndarray, " n"], alpha: Fraction, attention: Exact | None
) -> Motion:
    """Compute the motion of distinct tokens `x`, shape (n, d), with constant follower sets.

    Token i has multiplicity `weights[i]`. Tokens are solved in order of decreasing A-norm: by Cauchy-Schwarz, all other
    tokens that a token follows have a larger norm (a zero token follows all).

    Source: HARDMAX, eq. (1.1).
    """
    limits, terms, valid = x.copy(), [list[Exact]() for _ in x], True
    followed: dict[int, tuple[Exact, Terms]] = {}
    for i in by_decreasing_norm(x, attention):
        members = sets.of(i)
        others = [int(j) for j in members if j != i]
        if len(others) < len(members):
            if others:
                mean, rest = _average(others, limits, terms, weights)
                valid = valid and not rest and bool(np.all(mean == x[i]))
            continue
        number = int(sets.which[i])
        if number not in followed:
            followed[number] = _average(others, limits, terms, weights)
        limits[i], rest = followed[number]
        terms[i] = [x[i] - limits[i], *(alpha * q for q in rest)]
    return Motion(limits, terms, 1 / (1 + alpha), valid)


def by_decreasing_norm(x: Exact, attention: Exact | None) -> list[int]:
    """Sort token indices by decreasing A-norm, compared exactly."""
    numerators, _ = integers(x)
    queries = numerators if attention is None else numerators @ integers(attention)[0].T
    norms = np.sum(queries * numerators, axis=1)
    return sorted(range(len(x)), key=lambda i: -norms[i])


def _average(
    members: Sequence[int], limits: Exact, terms: list[Terms], weights: Int[np.ndarray, " n"]
) -> tuple[Exact, Terms]:
    """Compute the limit and the terms of a weighted mean of tokens, without trailing terms that cancel."""
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
    """Difference of two scores, $a + r^m b(m) + r^{2m} c(m)$, by the coefficients of a, b and c in the binomials."""

    coefficients: tuple[list[Fraction], list[Fraction], list[Fraction]]
    ratio: Fraction

    @property
    def vanishes(self) -> bool:
        """Whether the two scores are equal at every layer."""
        return not any(entry for polynomial in self.coefficients for entry in polynomial)

    @property
    def stays_positive(self) -> bool:
        """Whether the gap is proved positive at the current layer and all later ones; this condition is sufficient.

        The first nonzero one of a, b, c must have no negative coefficient, and its constant term must exceed the
        largest negative contribution of the others. A gap that is eventually positive meets the condition from some
        layer on, if layers are counted from that one.
        """
        polynomials = [*self.coefficients, []]
        while polynomials and not any(polynomials[0]):
            polynomials = polynomials[1:]
        if not polynomials or min(polynomials[0]) < 0:
            return False
        leading, second, third = ([*polynomial, Fraction(0)] for polynomial in [*polynomials, [], []][:3])
        negative = sum(
            max(-entry, Fraction(0)) * supremum_bound(self.ratio**e, t)
            for e, polynomial in ((1, second), (2, third))
            for t, entry in enumerate(polynomial)
            if t > 0
        )
        return least_on_unit_interval(leading[0], second[0], third[0]) > negative


def exact_gap(motion: Motion, attention: Exact | None, token: int, ahead: int, behind: int) -> Gap:
    """Compute the score of token `ahead` minus that of token `behind`, for the query of `token`."""
    A = rationals("attention", np.eye(motion.limits.shape[1], dtype=int)) if attention is None else attention
    s, limit_difference = A @ motion.limits[token], motion.limits[ahead] - motion.limits[behind]
    q, differences = [A @ term for term in motion.terms[token]], _difference(motion.terms[ahead], motion.terms[behind])
    b = [Fraction(0)] * max(len(q), len(differences))
    for t, term in enumerate(differences):
        b[t] += s @ term
    for t, term in enumerate(q):
        b[t] += term @ limit_difference
    c = [Fraction(0)] * (len(q) + len(differences))
    for t, term in enumerate(q):
        for u, other in enumerate(differences):
            for k, count in product_of_binomials(t, u):
                c[k] += count * (term @ other)
    return Gap(([s @ limit_difference], b, c), motion.ratio)


def _difference(first: Terms, second: Terms) -> Terms:
    zero = [0 * term for term in (first if len(first) > len(second) else second)]
    padded = [[*terms, *zero[len(terms) :]] for terms in (first, second)]
    return [p - q for p, q in zip(*padded, strict=True)]


def product_of_binomials(t: int, u: int) -> list[tuple[int, int]]:
    """List the pairs (k, count) with binom(m, t) binom(m, u) = sum of count * binom(m, k) for every m."""
    return [(t + u - j, math.comb(t + u - j, t) * math.comb(t, j)) for j in range(min(t, u) + 1)]


def supremum_bound(ratio: Fraction, *degrees: int) -> Fraction:
    """Bound the supremum of ratio^m binom(m, t) binom(m, u) ... over m >= 0, for degrees t, u, ...

    The bound follows from binom(m, t) <= m^t / t! and log(1 / ratio) >= 1 - ratio.
    """
    total = sum(degrees)
    return (total / (E_LOWER_BOUND * (1 - ratio))) ** total / math.prod(math.factorial(t) for t in degrees)


def least_on_unit_interval(a: Fraction, b: Fraction, c: Fraction) -> Fraction:
    """Compute the minimum of a + b u + c u^2 over u in [0, 1]."""
    return a - b * b / (4 * c) if 0 < -b < 2 * c else min(a, a + b + c)
