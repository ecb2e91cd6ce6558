"""Verify an instance that refutes a reading of Section 11.3 of "Attention is just another name for coupling?".

Printed: the two-point secant method accelerates the passes of Post; by Proposition 21 perturbing an input token does
not change any logit at earlier positions. Read: with one coefficient theta = <r_1, r_1 - r_0> / |r_1 - r_0|^2, r_m =
G(x_m) - x_m, whose inner products sum over all tokens of the sequence. (With a coefficient for each token it holds.)

Instance: two tokens of width 1 and Post a layer of causal attention with zero queries and W_o W_v = w: G(x)_1 = x_1 + w
R(x_1), G(x)_2 = x_2 + w (R(x_1) + R(x_2)) / 2, R(x) = x / sqrt(x^2 + epsilon). After x_1 = G(x_0) the secant gives x_2
= G(x_1) - theta (G(x_1) - G(x_0)). Token 1 of x_2 is enclosed in rational intervals, square roots by integer square
roots, for two values of token 2; the intervals are disjoint. Head and final norm of width 1 are injective.
"""

import math
from fractions import Fraction

STATEMENT = "multirate/proposition-21/secant-over-the-sequence"
WITNESS = {"token 1": "1", "token 2": "2", "other token 2": "-1", "w": "1/2", "epsilon": "1/4", "span": "sequence"}
DIGITS = 10**40


def plus(u, v, factor=1):
    """Bounds of u + factor v, intervals being pairs of ends."""
    ends = sorted([factor * v[0], factor * v[1]])
    return u[0] + ends[0], u[1] + ends[1]


def times(u, v):
    """Bounds of a product."""
    ends = [a * b for a in u for b in v]
    return min(ends), max(ends)


def normalised(x, epsilon):
    """Bounds of R(x) = x / sqrt(x^2 + epsilon), which increases, from its bounds at the ends."""
    found = []
    for v in x:
        below = math.isqrt(math.floor((v * v + epsilon) * DIGITS**2))
        found += [v * DIGITS / below, v * DIGITS / (below + 1)]
    return min(found), max(found)


def layer(x, w, epsilon):
    """Bounds of G(x)."""
    first, second = (normalised(v, epsilon) for v in x)
    return [plus(x[0], first, w), plus(x[1], plus(first, second), w / 2)]


def secant(x, w, epsilon, tokens):
    """Bounds of token 1 after the secant step, with inner products over the first `tokens` tokens."""
    x1 = layer(x, w, epsilon)
    x2 = layer(x1, w, epsilon)
    r0, r1 = ([plus(a, b, -1) for a, b in zip(*pair, strict=True)] for pair in ((x1, x), (x2, x1)))
    change = [plus(a, b, -1) for a, b in zip(r1, r0, strict=True)][:tokens]
    sums = [
        [sum(times(a, b)[k] for a, b in zip(u, change, strict=True)) for k in (0, 1)] for u in (r1[:tokens], change)
    ]
    theta = times(sums[0], (1 / sums[1][1], 1 / sums[1][0]))  # the denominator is positive: checked by its own bounds
    return sums[1][0], plus(x2[0], times(theta, plus(x2[0], x1[0], -1)), -1)


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    read = lambda name: Fraction(witness[name])
    w, epsilon, first = read("w"), read("epsilon"), read("token 1")
    yield "epsilon > 0 and token 2 differs", epsilon, epsilon > 0 and read("token 2") != read("other token 2")
    yield "one coefficient for the sequence", witness["span"], witness["span"] == "sequence"
    tokens = 2 if witness["span"] == "sequence" else 1
    found = []
    for name in ("token 2", "other token 2"):
        least, end = secant([(first, first), (read(name), read(name))], w, epsilon, tokens)
        yield (
            f"{name}: |r_1 - r_0|^2, and token 1 after the step",
            (float(least), float(end[0])),
            (least > 0 and end[1] - end[0] < Fraction(1, 10**20)),
        )
        found.append(end)
    gap = max(found[0][0] - found[1][1], found[1][0] - found[0][1])
    yield "token 1 differs by at least", float(gap), gap > 0
