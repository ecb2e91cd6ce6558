"""Verify an instance that refutes a belief stated in Section 1 of Rodriguez Abella, Silvestre and Tabuada.

Printed: Theorem 6.1 was established for one head only, although we believe it holds in greater generality. Read for h
heads with symmetric value matrices U_h and bounded P_h: if U = sum_h U_h, the matrix that drives the first token, has a
simple top eigenvalue lambda > 0 with eigenvector v, then solutions with v.y_i > 0 for all i converge to (v, ..., v).

Instance: two causal tokens on the circle, and two heads with a common eigenvector v = y_1 of their U_h, which is not
the top one of each; in the coordinates v and w, orthogonal to it, U_h = diag(a_h, d_h), and P_h = p_h I. The second
token starts in the open hemisphere of v and stays away from v for all t.

Argument. y_1 = v is an equilibrium for token 1, since U v = lambda v. For token 2 let c = v.y_2. In head h its weight
on token 1 is, up to the factor 1 / sqrt 2, w_h = 1 / (1 + exp(p_h (1 - c))), and that on itself is 1 - w_h. The model
gives c' = (1 - c^2) F(c) / sqrt 2, where
    F(c) = sum_h a_h w_h + (1 - w_h) (a_h - d_h) c.
F is positive at some c_0 in (0, 1) and negative at some c_1 in (c_0, 1): the interval [c_0, c_1] is never left, and the
distance from v is at least sqrt(2 - 2 c_1). The angle of an equilibrium in it is enclosed by a change of sign of F.

F is evaluated in rational interval arithmetic, exp and cos by their Taylor series with bounds of the remainder.
"""

import math
from fractions import Fraction

from analysis.verifiers.frames.linear_algebra import bilinear_form

STATEMENT = "consensus/claim-multihead-value"
WITNESS = {
    "U": [[["0", "0"], ["0", "5"]], [["1", "0"], ["0", "-9/2"]]],
    "P": [[["5", "0"], ["0", "5"]], [["-5", "0"], ["0", "-5"]]],
    "v": ["1", "0"],
    "tokens": [["1", "0"], ["4/5", "3/5"]],
    "interval": ["1/5", "4/5"],
    "angle": ["1.36514844", "1.36514846"],
}
DIGITS = 10**40


def outward(low, high):
    """An interval that contains [low, high], with ends that are multiples of 1 / DIGITS."""
    return Fraction(math.floor(low * DIGITS), DIGITS), Fraction(math.ceil(high * DIGITS), DIGITS)


def exponential(x):
    """Bounds of exp(x): for x >= 0 the terms after number n sum to at most twice the next if 2 x <= n + 2."""
    if x < 0:
        low, high = exponential(-x)
        return outward(1 / high, 1 / low)
    n = 60 + 2 * math.ceil(x)
    low = sum(x**k / math.factorial(k) for k in range(n + 1))
    return outward(low, low + 2 * x ** (n + 1) / math.factorial(n + 1))


def cosine(x):
    """Bounds of cos(x), |x| <= 2: two partial sums of a series whose terms alternate and decrease from k = 1."""
    sums = [sum((-1) ** k * x ** (2 * k) / math.factorial(2 * k) for k in range(n)) for n in (30, 31)]
    return outward(min(sums), max(sums))


def field(heads, low, high):
    """Bounds of F on the interval [low, high] of positive numbers c, for the numbers a, d and p of each head."""
    bottom, top = Fraction(0), Fraction(0)
    for a, d, p in heads:
        exponents = sorted([p * (1 - low), p * (1 - high)])
        least, most = 1 / (1 + exponential(exponents[1])[1]), 1 / (1 + exponential(exponents[0])[0])
        terms = sorted([a * least, a * most]), sorted([(a - d) * (1 - most) * low, (a - d) * (1 - least) * high])
        bottom, top = bottom + terms[0][0] + terms[1][0], top + terms[0][1] + terms[1][1]
    return bottom, top


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    U, P = ([[[Fraction(e) for e in row] for row in M] for M in witness[name]] for name in ("U", "P"))
    v, (y1, y2) = [Fraction(e) for e in witness["v"]], ([Fraction(e) for e in y] for y in witness["tokens"])
    w = [-v[1], v[0]]
    norms = [y[0] ** 2 + y[1] ** 2 for y in (v, y1, y2)]
    yield (
        "v and the tokens are on the circle, and y_1 = v: squared norms",
        [*map(str, norms)],
        {*norms} == {1} and y1 == v,
    )
    mixed = [bilinear_form(v, M, w) for M in U] + [bilinear_form(w, M, v) for M in U]
    yield (
        "v is an eigenvector of every U_h, and they are symmetric: off-diagonal entries",
        [*map(str, mixed)],
        not any(mixed),
    )
    scalar = all(M[0][0] == M[1][1] and M[0][1] == M[1][0] == 0 for M in P)
    yield "every P_h is a multiple of I", witness["P"], scalar
    heads = [(bilinear_form(v, M, v), bilinear_form(w, M, w), Q[0][0]) for M, Q in zip(U, P, strict=True)]
    lam, mu = (sum(head[k] for head in heads) for k in (0, 1))
    yield "lambda > 0 is the simple top eigenvalue of U, of v: its eigenvalues", (str(lam), str(mu)), lam > max(mu, 0)
    c, (low, high) = v[0] * y2[0] + v[1] * y2[1], map(Fraction, witness["interval"])
    yield "y_2 starts in the hemisphere of v, in the interval [c_0, c_1]: v.y_2", c, 0 < low <= c <= high < 1
    for name, at, sign in (("c_0", low, 1), ("c_1", high, -1)):
        bounds = field(heads, at, at)
        yield (
            f"F({name}) is {'positive' if sign > 0 else 'negative'}",
            [*map(float, bounds)],
            min(sign * b for b in bounds) > 0,
        )
    yield "squared distance of y_2 from v for all t is at least", 2 - 2 * high, 2 - 2 * high > 0
    small, large = (Fraction(v) for v in witness["angle"])
    yield "the angles are in order, below 2", witness["angle"], 0 < small < large < 2
    ends = [cosine(large), cosine(small)]
    inside = low < ends[0][0] and ends[1][1] < high
    yield "their cosines are in [c_0, c_1]", [float(e) for pair in ends for e in pair], inside
    signs = [field(heads, *pair) for pair in ends]
    yield "F at these cosines", [float(b) for pair in signs for b in pair], signs[0][0] > 0 > signs[1][1]
