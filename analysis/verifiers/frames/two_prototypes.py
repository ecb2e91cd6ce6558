"""Two tokens at +-a and two prototypes at +-v on a line, r of each token, at T = h^2 / log b, 1 < b <= 2."""

from fractions import Fraction

from analysis.verifiers.frames.logarithms import logarithm


def tanh(a, v, b, h):
    """The value t = tanh y, y = 2 a v / T, at T = h^2 / log b: q of a token's own prototype less that of the other."""
    power = 4 * a * v / h**2
    if power.denominator != 1:
        raise ValueError("4 a v must be a multiple of h^2")
    weight = b ** int(power)
    return (weight - 1) / (weight + 1)


def pair_force(a, v, r, b, h):
    """F_sep = 8 r^2 v^2 (1 - t^2)^2, the separation force of both prototypes."""
    return 8 * r**2 * v**2 * (1 - tanh(a, v, b, h) ** 2) ** 2


def step_conditions(a, v, r, b, h):
    """Bounds: of L_P on the segment between +-v and 0 from above, and of phi''(0) from below; and |grad|^2."""
    low, high = logarithm(b, 5)
    t, y = tanh(a, v, b, h), 2 * a * v * low / h**2
    L = max(2 * r, 4 * high / h**2 * r * (v * v + a * a) - 2 * r)
    return L, y * y * (20 * t * t - 4) * pair_force(a, v, r, b, h), 2 * (2 * r * (v - a * t)) ** 2


def step_conditions_in_full(a, v, r, b, h):
    """Bounds in the mode full: of L_P on that segment from above, and of the derivative of Lq by v from both.

    The derivative is 2 r (v - a t - a y (1 - t^2)). The Jacobian has the eigenvalues 2 r and 2 r (1 - (4 / T) c g(s y))
    with c = s^2 v^2 or a^2, 0 <= s <= 1, and g(x) = (1 - x tanh x) / cosh^2 x, which is at most 1, and at least -1/10
    since 4 (x - 1) e^(-2 x) <= 2 e^(-3). If y <= 1 it is not negative, and s^2 g(s y) <= 1 - t^2, as s / cosh(s y)
    increases.
    """
    low, high = logarithm(b, 5)
    t, y = tanh(a, v, b, h), [2 * a * v * end / h**2 for end in (low, high)]
    mild, slack, per_square = y[1] <= 1, 1 - tanh(a, v, b, h) ** 2, 4 * high / h**2
    below = per_square * max(v * v * (slack if mild else 1), a * a) - 1
    above = Fraction(1) if mild else 1 + per_square * max(v, a) ** 2 / 10
    slope = [2 * r * (v - a * t - a * end * slack) for end in y]
    return 2 * r * max(above, below), slope[1], slope[0]
