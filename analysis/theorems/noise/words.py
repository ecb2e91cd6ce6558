"""Iterated integrals of a Wiener process as words, with exact products and expectations.

The word (1, 0) is the integral of W over time: letters are 0 for time and 1 for noise, the innermost integral first.
The length of the step is one, because all parts of a coefficient have the same power of it.
"""

import functools
import math
from fractions import Fraction

Word = tuple[int, ...]
Combination = dict[Word, Fraction]
"""A linear combination of iterated integrals."""


def combined(*terms: tuple[Fraction | int, Combination]) -> Combination:
    """Add multiples of combinations; zero coefficients are left out."""
    total: Combination = {}
    for factor, one in terms:
        for word, value in one.items():
            total[word] = total.get(word, Fraction(0)) + factor * value
    return {word: value for word, value in total.items() if value}


@functools.cache
def _products(u: Word, v: Word, is_ito: bool) -> tuple[tuple[Word, int], ...]:
    """The product of two iterated integrals: the shuffles, and for Ito's integrals also dW dW = dt."""
    if not u or not v:
        return ((u + v, 1),)
    parts = [(_products(u[:-1], v, is_ito), u[-1]), (_products(u, v[:-1], is_ito), v[-1])]
    if is_ito and u[-1] == v[-1] == 1:
        parts.append((_products(u[:-1], v[:-1], is_ito), 0))
    total: dict[Word, int] = {}
    for words, last in parts:
        for word, count in words:
            total[(*word, last)] = total.get((*word, last), 0) + count
    return tuple(total.items())


def product(a: Combination, b: Combination, *, is_ito: bool) -> Combination:
    """Multiply two combinations."""
    terms = [
        (x * y, {word: Fraction(count) for word, count in _products(u, v, is_ito)})
        for u, x in a.items()
        for v, y in b.items()
    ]
    return combined(*terms)


def integral(a: Combination, letter: int) -> Combination:
    """Integrate over time (0) or along the noise (1)."""
    return {(*word, letter): value for word, value in a.items()}


def expectation(a: Combination, *, is_ito: bool) -> Fraction:
    """The expectation; of Stratonovich's integrals from the expected signature exp(e0 + e1 e1 / 2)."""
    return sum((value * _mean(word, is_ito) for word, value in a.items()), Fraction(0))


def _mean(word: Word, is_ito: bool) -> Fraction:
    steps, pairs, k = 0, 0, 0
    while k < len(word):
        if word[k] == 1:
            if is_ito or word[k : k + 2] != (1, 1):
                return Fraction(0)
            pairs, k = pairs + 1, k + 1
        steps, k = steps + 1, k + 1
    return Fraction(1, math.factorial(steps) * 2**pairs)
