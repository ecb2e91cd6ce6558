"""Verifiers of refuted statements of Section 4 of Rodriguez Abella, Silvestre and Tabuada."""

import itertools
from fractions import Fraction
from math import comb

from analysis.verifiers.frames.linear_algebra import dot, product
from analysis.verifiers.frames.script import verifies


@verifies("consensus/definition-4.1", {"coefficients of 1, s, s^2": ["0", "0", "1"], "t": "1"})
def definition_4_1(witness):
    """Verify an instance that refutes Definition 4.1 of Rodriguez Abella, Silvestre and Tabuada as printed.

    Printed: the upper Dini derivative of a continuous f is limsup_{tau -> t+} (f(t + tau) - f(t)) / tau; it is the
    derivative of f where f is differentiable. (Meant is tau -> 0+.)

    Instance: a parabola f and t > 0. The quotient is continuous in tau at tau = t > 0, so that the printed limit is its
    value there, (f(2 t) - f(t)) / t, and not f'(t).
    """
    (a, b, c), t = map(Fraction, witness["coefficients of 1, s, s^2"]), Fraction(witness["t"])
    f = lambda s: a + b * s + c * s * s
    yield "t > 0", t, t > 0
    printed, slope = (f(2 * t) - f(t)) / t, b + 2 * c * t
    yield "the printed limit less the derivative f'(t)", printed - slope, printed != slope


@verifies("consensus/equation-12/infinite-family", {"slope": "4", "k": [1, 10, 1000, 1000000]})
def equation_12_infinite_family(witness):
    """Verify an instance that refutes (12) of Rodriguez Abella, Silvestre and Tabuada for infinite families.

    Printed: for a family of continuously differentiable functions f_i, i in I, and f = max_i f_i, the upper Dini
    derivative of f at t is the largest derivative at t of the f_i with f_i(t) = f(t). Read for any index set I for
    which the maximum exists. (For finitely many f_i, as in the paper's use, it holds; and for a compact I, if f_i and
    f_i' are continuous in i and t together.)

    Instance: f_0 = 0 and f_i(t) = 4 t - 1/i - i t^2, i = 1, 2, ..., at t = 0. The maximum exists for every t, since
    f_i(t) tends to -oo for t > 0 and f_i(0) = -1/i < 0. Only f_0 is active at 0, with the derivative 0. But f(1/k) >=
    f_k(1/k) = 2/k for all k: the upper Dini derivative at 0 is at least 2.
    """
    slope = Fraction(witness["slope"])
    member = lambda i, t: slope * t - Fraction(1, i) - i * t * t
    for k in witness["k"]:
        yield f"f_{k} is not active at 0: f_{k}(0)", member(k, 0), member(k, 0) < 0
        quotient = member(k, Fraction(1, k)) * k
        yield f"a lower bound of (f(1/{k}) - f(0)) / (1/{k}), above the derivative 0 of f_0", quotient, quotient > 0
        yield "it is slope - 2, for every k", slope - 2, quotient == slope - 2


@verifies(
    "consensus/theorem-4.1-barbalat",
    {"v": ["1", "0", "0"], "tokens": [["3/5", "4/5", "0"], ["3/5", "12/25", "-16/25"], ["12/13", "5/13", "0"]]},
)
def theorem_4_1_barbalat(witness):
    """Verify an instance that refutes a step in the proof of Theorem 4.1 of Rodriguez Abella, Silvestre and Tabuada.

    Printed: the upper Dini derivative of V = max_i V_i, V_i = 1 - v.y_i, (13), is uniformly continuous along solutions
    of (11) on [0, oo[, as a minimum of bounded and uniformly continuous functions.

    Instance: three tokens in the open hemisphere of v, W = I, one head, P = 0, two of which attain the maximum with
    different derivatives V_i'. The minimum in the proof is over the active indices, which change at this state.

    Argument. All weights are 1 / (l sqrt(n+1)), and V_i' = -sum_j (v.y_j - (y_i.y_j) v.y_i) / (l sqrt(n+1)). Take the
    solution through this state at a small time t_0 > 0, with tokens in the open hemisphere from time 0. Before t_0 the
    one of the two indices with the smaller derivative is active alone, after t_0 the one with the larger: the Dini
    derivative jumps at t_0 by the difference, and is not continuous.
    """
    v, tokens = [Fraction(x) for x in witness["v"]], [[Fraction(x) for x in row] for row in witness["tokens"]]
    norms = [str(dot(y, y)) for y in [v, *tokens]]
    yield "squared norms of v and the tokens", norms, norms == ["1"] * len(norms)
    heights = [dot(v, y) for y in tokens]
    yield "tokens are in the open hemisphere: v.y_i", [*map(str, heights)], min(heights) > 0
    yield "tokens 1 and 2 alone attain V: least v.y_i", str(heights[0]), heights[0] == heights[1] < min(heights[2:])
    rates = [-sum(dot(v, z) - dot(y, z) * dot(v, y) for z in tokens) for y in tokens[:2]]
    yield "l sqrt(n+1) V_i' for i = 1, 2, which differ", [*map(str, rates)], rates[0] != rates[1]


def difference(p, q):
    """The difference of two polynomials."""
    return [sum(p[k : k + 1]) - sum(q[k : k + 1]) for k in range(max(len(p), len(q)))]


@verifies("consensus/theorem-4.1-domain", {"v": ["1", "0"], "y1": ["-7/25", "24/25"], "y2": ["1", "0"]})
def theorem_4_1_domain(witness):
    """Verify an instance that refutes the domain of attraction in Theorem 4.1 of Rodriguez Abella et al..

    Printed: the consensus set of the open hemisphere H+(v) is attractive for (11) with domain of attraction H+(v)^l.

    Instance: two tokens on the circle, W = I, one head, P = p I with any number p. The first token is not in H+(v), the
    midpoint m of the two is. The solution converges to (m, m), a point of the consensus set of H+(v), so that the
    domain is larger than H+(v)^2.

    Argument. Both tokens have the same weight on the other, alpha = exp(p y_1.y_2) / (sqrt 2 (exp p + exp(p y_1.y_2))),
    at least exp(-2 |p|) / (2 sqrt 2) > 0. By symmetry the tokens stay mirror images in the line of m, y_1 = (a, b) and
    y_2 = (a, -b) in the frame of m, and a' = alpha (a - (a^2 - b^2) a) = 2 alpha a b^2. Starting from a in (0, 1), a
    increases to 1: both tokens converge to m.

    The identities are checked for all such pairs: with s > 0, (a, b) = (1 + 2 s, 2 s + 2 s^2) / (1 + 2 s + 2 s^2) runs
    through all angles in (0, pi/2); a polynomial in s whose coefficients are nonnegative and not all zero is positive.
    """
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


@verifies("consensus/theorem-4.1-lyapunov", {"v": ["1", "0"], "u": ["3/5", "4/5"]})
def theorem_4_1_lyapunov(witness):
    """Verify an instance that refutes a sentence in the proof of Theorem 4.1 of Rodriguez Abella et al..

    Printed: V = max_i (1 - v.y_i), (13), is a strict Lyapunov function for the consensus set of the open hemisphere of
    v. A strict Lyapunov function for a set is constant on the set, where it is least, and larger elsewhere. (What
    remains true is that V decreases strictly off the set.)

    Instance: two points of the consensus set, with W = I. V is zero at (v, ..., v) and positive at (u, ..., u) for
    every other u in the hemisphere.
    """
    v, u = ([Fraction(x) for x in witness[name]] for name in ("v", "u"))
    norms = [str(dot(v, v)), str(dot(u, u))]
    yield "|v|^2 and |u|^2", norms, norms == ["1", "1"]
    yield "u is in the open hemisphere: v.u", dot(v, u), dot(v, u) > 0
    values = [1 - dot(v, v), 1 - dot(v, u)]
    yield "V at (v, ..., v) and at (u, ..., u), which differ", [*map(str, values)], values[0] != values[1]


def determinant(rows):
    """The determinant of a square matrix, by its first row."""
    if not rows:
        return 1
    minors = ([[*row[:k], *row[k + 1 :]] for row in rows[1:]] for k in range(len(rows)))
    return sum((-1) ** k * rows[0][k] * determinant(minor) for k, minor in enumerate(minors))


def hemispheres(points):
    """The signs s for which some v has s_i v.x_i > 0 for all i, for points in general position.

    Each choice is that of a cone of vectors v. If there are at least d points, every cone has an edge: a vector
    orthogonal to d - 1 points, which may have either sign next to it. Fewer points have every choice of signs.
    """
    l, d = len(points), len(points[0])
    if l < d:
        return set(itertools.product((1, -1), repeat=l))
    found = set()
    for chosen in itertools.combinations(range(l), d - 1):
        rows = [points[i] for i in chosen]
        edge = [(-1) ** k * determinant([[*row[:k], *row[k + 1 :]] for row in rows]) for k in range(d)]
        side = [0 if i in chosen else sum(a * b for a, b in zip(edge, x, strict=True)) for i, x in enumerate(points)]
        for free in itertools.product((1, -1), repeat=d - 1):
            filled = iter(free)
            one = tuple(next(filled) if i in chosen else (1 if s > 0 else -1) for i, s in enumerate(side))
            found |= {one, tuple(-s for s in one)}
    return found


@verifies("consensus/remark-4.2-formula", {"l": 2, "n": 1, "points": [["1", "0"], ["1", "2"]]})
def remark_4_2_formula(witness):
    """Verify an instance that refutes the formula in Remark 4.2 of Rodriguez Abella, Silvestre and Tabuada.

    Printed: l tokens drawn uniformly at random on S^n lie on the same hemisphere with the probability 2^(1-l)
    sum_{mu=0}^{n-1} binom(l-1, mu). (Tokens on S^n are in R^(n+1), so that the sum of Wendel's theorem ends at n.)

    Instance: l points of R^(n+1) in general position. The signs of uniform tokens are independent of their lines, and
    each choice of signs has the same probability 2^-l; the number of choices of signs of points in general position for
    which they are in an open half-space does not depend on the points (Wendel), and is found by enumeration.
    """
    l, n = int(witness["l"]), int(witness["n"])
    points = [[Fraction(v) for v in row] for row in witness["points"]]
    yield (
        "l >= 2 points of R^(n+1): l and n",
        (l, n),
        l >= 2 and n >= 1 and {l} | {n + 1} == {len(points), len(points[0])},
    )
    filled = points + [[Fraction(i == k) for i in range(n + 1)] for k in range(n + 1 - l)]
    general = all(determinant([*chosen]) != 0 for chosen in itertools.combinations(filled, n + 1))
    yield "they are in general position: any n + 1, or all, are independent", witness["points"], general
    share = Fraction(len(hemispheres(points)), 2**l)
    printed = Fraction(sum(comb(l - 1, mu) for mu in range(n)), 2 ** (l - 1))
    yield (
        "the share of sign choices in a hemisphere, and the printed formula",
        (str(share), str(printed)),
        share != printed,
    )
    full = Fraction(sum(comb(l - 1, mu) for mu in range(n + 1)), 2 ** (l - 1))
    yield "the same sum up to n is the share", full, full == share
