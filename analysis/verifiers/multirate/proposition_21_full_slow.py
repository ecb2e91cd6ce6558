"""Verify an instance that refutes causality with full slow attention in "Attention is just another name for coupling?".

Printed: the slow path is full attention over the pooled tokens (abstract, Section 3.2), and by Proposition 21
perturbing an input token does not change any logit at earlier positions. (The proof of the proposition uses a causal
slow mask, with which it holds.)

Instance: six tokens of width 2, P = 2, one round, one slow layer with zero queries (uniform weights), value and output
matrices I, gate and projector 1; all other layers are the identity (zero output matrices), and so is the head. Token 2
reads the slow state of block 0, which with full attention contains the mean of the normalised pooled tokens of all
blocks: it depends on token 5. With RMSNorm(v) = v / sqrt(|v|^2 / 2 + epsilon) the logits at token 2 are enclosed in
rational intervals, square roots by integer square roots, for two values of token 5; the intervals are disjoint.
"""

import math
from fractions import Fraction

STATEMENT = "multirate/proposition-21-full-slow"
WITNESS = {
    "tokens": [["1", "0"], ["0", "1"], ["1", "1"], ["2", "-1"], ["1", "2"], ["0", "3"]],
    "other token 5": ["0", "-3"],
    "slow mask": "full",
    "epsilon": "1/100000",
}
DIGITS = 10**30


def root(low, high):
    """Bounds of the square root on [low, high]."""
    below = math.isqrt(math.floor(low * DIGITS**2))
    return Fraction(below, DIGITS), Fraction(math.isqrt(math.ceil(high * DIGITS**2)) + 1, DIGITS)


def square(v):
    """Bounds of the square of the numbers in an interval."""
    ends = sorted([v[0] * v[0], v[1] * v[1]])
    return (Fraction(0) if v[0] < 0 < v[1] else ends[0]), ends[1]


def normalised(v, epsilon):
    """Bounds of RMSNorm of a plane vector of intervals."""
    squares = [square(c) for c in v]
    low, high = root(*(sum(s[k] for s in squares) / 2 + epsilon for k in (0, 1)))
    return [(min(c[0] / low, c[0] / high), max(c[1] / low, c[1] / high)) for c in v]


def logits(tokens, mask, epsilon):
    """Bounds of the logits at token 2."""
    plus = lambda u, v: [(a[0] + b[0], a[1] + b[1]) for a, b in zip(u, v, strict=True)]
    pooled = [[((a + b) / 2,) * 2 for a, b in zip(tokens[k], tokens[k + 1], strict=True)] for k in (0, 2, 4)]
    seen = [normalised(p, epsilon) for p in pooled[: 3 if mask == "full" else 1]]
    mean = [(sum(p[k][0] for p in seen) / len(seen), sum(p[k][1] for p in seen) / len(seen)) for k in (0, 1)]
    context = plus(pooled[0], mean)
    return normalised(plus([(v, v) for v in tokens[2]], normalised(context, epsilon)), epsilon)


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    tokens = [[Fraction(v) for v in row] for row in witness["tokens"]]
    other = [*tokens[:5], [Fraction(v) for v in witness["other token 5"]]]
    yield "the slow attention has no mask", witness["slow mask"], witness["slow mask"] == "full"
    yield "token 5 differs", (witness["tokens"][5], witness["other token 5"]), tokens[5] != other[5]
    epsilon = Fraction(witness["epsilon"])
    first, second = (logits(x, witness["slow mask"], epsilon) for x in (tokens, other))
    for name, found in (("first", first), ("other", second)):
        width = max(b - a for a, b in found)
        yield (
            f"logits at token 2, {name} token 5, up to {float(width):.0e}",
            [float(a) for a, _ in found],
            width < Fraction(1, 10**20),
        )
    gap = max(max(a[0] - b[1], b[0] - a[1]) for a, b in zip(first, second, strict=True))
    yield "they differ by at least", float(gap), gap > 0
