"""Verify an instance that refutes the domain of attraction in Theorem 4.1 of Rodriguez Abella, Silvestre and Tabuada.

Printed: the consensus set of the open hemisphere H+(v) is attractive for (11) with domain of attraction H+(v)^l.

Instance: two tokens on the circle, W = I, one head, P = p I with any number p. The first token is not in H+(v), the
midpoint m of the two is. The solution converges to (m, m), a point of the consensus set of H+(v), so that the domain
is larger than H+(v)^2.

Argument. Both tokens have the same weight on the other, alpha = exp(p y_1.y_2) / (sqrt 2 (exp p + exp(p y_1.y_2))), at
least exp(-2 |p|) / (2 sqrt 2) > 0. By symmetry the tokens stay mirror images in the line of m, y_1 = (a, b) and
y_2 = (a, -b) in the frame of m, and a' = alpha (a - (a^2 - b^2) a) = 2 alpha a b^2. Starting from a in (0, 1), a
increases to 1: both tokens converge to m.

The identities are checked for all such pairs: with s > 0, (a, b) = (1 + 2 s, 2 s + 2 s^2) / (1 + 2 s + 2 s^2) runs
through all angles in (0, pi/2); a polynomial in s whose coefficients are nonnegative and not all zero is positive.
"""

from fractions import Fraction

from analysis.verifiers.frames.linear_algebra import dot
from analysis.verifiers.frames.polynomials import product

STATEMENT = "consensus/theorem-4.1-domain"
WITNESS = {"v": ["1", "0"], "y1": ["-7/25", "24/25"], "y2": ["1", "0"]}


def difference(p, q):
    """The difference of two polynomials."""
    return [sum(p[k : k + 1]) - sum(q[k : k + 1]) for k in range(max(len(p), len(q)))]


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    v, y1, y2 = ([Fraction(x) for x in witness[name]] for name in ("v", "y1", "y2"))
    middle = [s + t for s, t in zip(y1, y2, strict=True)]
    norms = [str(dot(u, u)) for u in (v, y1, y2)]
    yield "squared norms of v, y_1, y_2", norms, norms == ["1"] * 3
    yield "y_1 is not in the hemisphere: v.y_1", dot(v, y1), dot(v, y1) <= 0
    yield "the midpoint is: v.(y_1 + y_2)", dot(v, middle), dot(v, middle) > 0
    yield (
        "y_1 and y_2 are neither equal nor opposite, so that a is in (0, 1): y_1.y_2",
        dot(y1, y2),
        -1 < dot(y1, y2) < 1,
    )
    # (a, b) = (c, t) / N; the fields of the tokens without the common weight, times N^3
    c, t, N = [1, 2], [0, 2, 2], [1, 2, 2]
    one, minus, inner = product(N, N), product([-1], t), difference(product(c, c), product(t, t))
    unit = difference(difference(one, product(c, c)), product(t, t))
    yield "a^2 + b^2 = 1: coefficients of N^2 - c^2 - t^2", unit, not any(unit)
    first = [difference(product(one, w), product(inner, u)) for w, u in ((c, c), (minus, t))]
    second = [difference(product(one, w), product(inner, u)) for w, u in ((c, c), (t, minus))]
    mirror = difference(first[0], second[0]) + difference(first[1], product([-1], second[1]))
    yield "the fields are mirror images: coefficients of the difference", mirror, not any(mirror)
    gap = difference(first[0], product([2], product(c, product(t, t))))
    yield "a' is proportional to 2 a b^2: coefficients of the difference", gap, not any(gap)
    yield "a increases: coefficients of a' N^3 / alpha", first[0], min(first[0]) >= 0 < max(first[0])
