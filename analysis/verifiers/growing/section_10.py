"""Verifiers of refuted statements of Section 10 of "DDCL-INCRT"."""

import math
from fractions import Fraction

from analysis.verifiers.frames.cooling import cooled, slow_cooling
from analysis.verifiers.frames.logarithms import logarithm
from analysis.verifiers.frames.script import verifies


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


@verifies(
    "growing/corollary-9",
    {"a": "3", "v": "20", "r": "2", "b": "121/120", "h": "1", "eta_P": "3/4", "eta_T": "1/100", "eta+": "10"},
)
def corollary_9(witness):
    """Printed: the conditions (E1)-(E6) reduce to eta_T << eta_P << eta+ and N_min > max(N_gate, s*). Instance: rates
    with ratios between 1/100 and 1/10 for which (E2), eta_P < 2 / L_P, fails.

    Tokens at +-a on a line, r at each, prototypes at +-v, T = h^2 / log b. The assignment of a token to its prototype
    exceeds that to the other one by t = tanh y, y = 2 a v / T; the derivative of Lq by v at fixed assignments is 2 r (v
    - a t), and F_sep is 8 r^2 v^2 (1 - t^2)^2. Across the line the Jacobian of the gradient is 2 sum_n q_nk = 2 r, so
    that L_P is at least 2 r.
    """
    a, v, r, b, h, eta, eta_T, gate = (Fraction(witness[name]) for name in witness)
    ratios = eta_T / eta, eta / gate
    yield "ratios of rates", [*map(str, ratios)], all(Fraction(1, 100) <= x <= Fraction(1, 10) for x in ratios)
    t = tanh(a, v, b, h)
    across = 2 * r * ((1 + t) / 2 + (1 - t) / 2)
    yield "L_P is at least 2 r", str(across), across == 2 * r and min(a, v, r) > 0
    yield "(E2) fails: eta_P L_P is at least", str(eta * across), eta * across >= 2
    yield "a step enlarges what is across the line by", str(abs(1 - eta * across)), abs(1 - eta * across) >= 1


@verifies("growing/lemma-19", {"T_init": "25", "T_min": "1", "sigma": "1", "eta_T": "5208/16447", "N_gate": 1})
def lemma_19(witness):
    """Printed: N_min > max(N_gate, s*), s* = ceil(t*) + 1, t* = (T_init^3 - T_min^3) / (3 eta_T sigma_0), ensures that
    gate and temperatures have settled after N_min steps.

    Instance: constant sigma, N_min = max(N_gate, s*) + 1. T - eta_T sigma / T^2 increases with T > 0, so that
    temperatures rounded down after every step stay below the true ones.
    """
    start, least, sigma, rate = (Fraction(witness[name]) for name in ("T_init", "T_min", "sigma", "eta_T"))
    yield from slow_cooling(start, least, sigma, rate)

    steps = max(int(witness["N_gate"]), math.ceil((start**3 - least**3) / (3 * rate * sigma)) + 1) + 1
    T = cooled(start, least, sigma, rate, steps)
    yield "steps made: max(N_gate, ceil(t*) + 1) + 1", steps, True
    yield "T after them, rounded down, is above T_min", f"{float(T):.12f}", least < T


@verifies("growing/lemma-18", {"a": "3", "v": "20", "r": "2", "b": "121/120", "h": "1", "shift": "2"})
def lemma_18(witness):
    """Printed: for eta_P < 2 / L_P and eta_P < sqrt(phi''(0) / (L_P |grad Lq|^2)) the net gain of F_sep, after an
    expansion that doubles the tokens' component along u and a step of the prototypes, is positive.

    Instance. Tokens at +-a on a line, r at each, prototypes at +-v, T = h^2 / log b. The assignment of a token to its
    prototype exceeds that to the other one by t = tanh y, y = 2 a v / T; the derivative of Lq by v at fixed assignments
    is 2 r (v - a t), and F_sep is 8 r^2 v^2 (1 - t^2)^2. The step is the one that takes v to v - shift; through the
    assignments the derivative is another one, and another eta_P gives the same step.
    """
    a, v, r, b, h, shift = (Fraction(witness[name]) for name in witness)
    yield "a, v, r and T are positive, and v exceeds the shift", str(v), min(a, r, h, shift) > 0 and v > shift and b > 1
    eta = shift / (2 * r * (v - a * tanh(a, v, b, h)))
    L, second, square = step_conditions(a, v, r, b, h)
    yield "eta_P L_P is positive and below 2", float(eta * L), 0 < eta * L < 2
    yield (
        "phi''(0) exceeds eta_P^2 L_P |grad Lq|^2",
        float(second / (eta**2 * L * square)),
        second > eta**2 * L * square,
    )
    L, least, _ = step_conditions_in_full(a, v, r, b, h)
    yield "in the mode full: eta_P L_P is positive and below 2", float(shift / least * L), 0 < shift / least * L < 2
    yield (
        "phi''(0) exceeds eta_P^2 L_P |grad Lq|^2",
        float(second / (2 * shift * shift * L)),
        second > 2 * shift * shift * L,
    )
    gain = pair_force(2 * a, v - shift, r, b, h) - pair_force(a, v, r, b, h)
    yield "F_sep falls: the gain", float(gain), gain < 0


@verifies(
    "growing/theorem-7",
    {
        "a": "10/21",
        "v": "21/20",
        "r": "2",
        "b": "15/8",
        "h": "1",
        "eta_P": "18207/54428",
        "eta_T": "1/1000",
        "eta+": "10",
        "T_init": "2",
        "T_min": "1",
        "N_gate": "10",
        "N_min": "1000000",
    },
)
def theorem_7(witness):
    """Verify an instance that refutes Theorem 7 (v) of "DDCL-INCRT".

    Printed: under (E1)-(E6) S(P_h) > 0 for every survivor h of a pruning at all later steps.

    Instance. Tokens at +-a on a line, r at each, prototypes at +-v, T = h^2 / log b. The assignment of a token to its
    prototype exceeds that to the other one by t = tanh y, y = 2 a v / T; the derivative of Lq by v at fixed assignments
    is 2 r (v - a t), and F_sep is 8 r^2 v^2 (1 - t^2)^2. After one step both prototypes are at 0. L_P is that of the
    segment between the two banks; the gate's steps are eta+ / s. Through the assignments the derivative is another one,
    and another eta_P, v over it, takes both prototypes to 0.
    """
    a, v, r, b, h, eta, eta_T, gate, T_init, T_min, N_gate, N_min = (Fraction(witness[name]) for name in witness)
    low, high = logarithm(b, 5)
    yield "T_min < T = h^2 / log b < T_init", float(h * h / low), 0 < T_min < h * h / high and h * h / low < T_init
    t = tanh(a, v, b, h)
    sigma = (1 - t * t) * (2 * a * v) ** 2
    yield "(E1): eta_T over T_min^3 / (3 sigma)", float(eta_T * 3 * sigma / T_min**3), 0 < eta_T * 3 * sigma < T_min**3
    L, second, square = step_conditions(a, v, r, b, h)
    yield "(E2): eta_P L_P is below 2", float(eta * L), 0 < eta * L < 2
    yield (
        "(E3): phi''(0) over eta_P^2 L_P |grad Lq|^2",
        float(second / (eta**2 * L * square)),
        second > eta**2 * L * square,
    )
    yield (
        "(E4) and (E5): eta_T / eta_P and eta_P / eta+ are at most 1/10",
        str(eta / gate),
        10 * max(eta_T / eta, eta / gate) <= 1,
    )
    wait = (T_init**3 - T_min**3) / (3 * eta_T * sigma / 10) + 2
    yield "(E6) with sigma_0 = sigma / 10: N_min exceeds", float(max(N_gate, wait)), max(N_gate, wait) < N_min
    yield "S(P) > 0 before the step", str(4 * v * v), v > 0
    after = v - eta * 2 * r * (v - a * t)
    yield "both prototypes are at one point after it", str(after), after == 0
    L, least, largest = step_conditions_in_full(a, v, r, b, h)
    yield "in the mode full: eta_P slope = v, with a slope of at least", float(least), 0 < least <= largest
    yield "(E2): eta_P L_P is below 2", float(v / least * L), v / least * L < 2
    yield "(E3): phi''(0) over eta_P^2 L_P |grad Lq|^2", float(second / (2 * v * v * L)), second > 2 * v * v * L
    yield (
        "(E5): eta_T / eta_P and eta_P / eta+ are at most 1/10",
        float(v / least / gate),
        10 * max(eta_T * largest / v, v / least / gate) <= 1,
    )


@verifies("growing/remark-3", {"T_init": "1", "T_min": "1/10", "eta_T": "1/100", "sigma_0": "1/10"})
def remark_3(witness):
    """Printed: for T_init = 1, T_min = 0.1, eta_T = 0.01 and sigma_0 = 0.1, t* = (T_init^3 - T_min^3) / (3 eta_T
    sigma_0) is about 33.
    """
    start, least, rate, sigma = (Fraction(witness[name]) for name in ("T_init", "T_min", "eta_T", "sigma_0"))
    yield "the values are positive", (str(start), str(least), str(rate), str(sigma)), min(start, least, rate, sigma) > 0
    found = (start**3 - least**3) / (3 * rate * sigma)
    yield "t* is not between 30 and 36", found, not 30 <= found <= 36


@verifies("growing/lemma-17-i", {"T_init": "101/100", "T_min": "1", "sigma": "1", "eta_T": "33/100"})
def lemma_17_i(witness):
    """Printed: under eta_T < T_min^3 / (3 sigma_max) all temperatures of T_{s+1} = T_s - eta_T sigma_s / T_s^2 are at
    least T_min.

    Instance: T_init just above T_min, sigma = sigma_max, one step.
    """
    start, least, sigma, rate = (Fraction(witness[name]) for name in ("T_init", "T_min", "sigma", "eta_T"))
    yield from slow_cooling(start, least, sigma, rate)
    after = start - rate * sigma / start**2
    yield "T_1 is below T_min", after, after < least


@verifies("growing/lemma-17-iii", {"T_init": "10", "T_min": "1", "sigma": "1", "eta_T": "19/60"})
def lemma_17_iii(witness):
    """Printed: under eta_T < T_min^3 / (3 sigma_max) and for sigma_s >= sigma_0, T_{s+1} = T_s - eta_T sigma_s / T_s^2
    reaches T_min in at most ceil(t*) + 1 steps, t* = (T_init^3 - T_min^3) / (3 eta_T sigma_0).

    Instance: constant sigma. T - eta_T sigma / T^2 increases with T > 0, so that temperatures rounded down after every
    step stay below the true ones.
    """
    start, least, sigma, rate = (Fraction(witness[name]) for name in ("T_init", "T_min", "sigma", "eta_T"))
    yield from slow_cooling(start, least, sigma, rate)

    steps = math.ceil((start**3 - least**3) / (3 * rate * sigma)) + 1
    T = cooled(start, least, sigma, rate, steps)
    yield "steps allowed: ceil(t*) + 1", steps, True
    yield "T after them, rounded down, is above T_min", f"{float(T):.12f}", least < T
