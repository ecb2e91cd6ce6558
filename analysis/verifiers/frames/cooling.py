"""Temperatures that fall from T_init to T_min by dT/dt = -eta_T sigma / T^2, in heads with prototypes at +-a or +-c."""

import math
from fractions import Fraction


def activity_bounds(a, c, T):
    """A lower and an upper bound of 4 a^2 c^2 / cosh^2 x, by the Taylor polynomial and a bound of its rest.

    The terms from the last one on fall by more than a factor of two each, once 2 k (2 k - 1) >= 2 x^2.
    """
    x, size = 2 * a * c / T, 4 * a**2 * c**2
    term, polynomial, k = Fraction(1), Fraction(1), 0
    while k < 12 or 2 * k * (2 * k - 1) < 2 * x**2:
        k += 1
        term *= x**2 / (2 * k * (2 * k - 1))
        polynomial += term
    return size / (polynomial + term) ** 2, size / polynomial**2


def both_heads_cool(witness):
    """Yield the checks that two heads of different activity reach T_min, each by a time that depends on c alone."""
    a, start, least, eta_P, eta_T = (Fraction(witness[n]) for n in ("a", "T_init", "T_min", "eta_P", "eta_T"))
    sides = [Fraction(c) for c in witness["c"]]
    yield "T_init > T_min > 0", (str(start), str(least)), start > least > 0
    yield "eta_T > 0, eta_P >= 0", (str(eta_T), str(eta_P)), eta_T > 0 and eta_P >= 0
    yield "(B1): S(P) = 4 a^2 at first", 4 * a**2, a > 0
    (low, high), (lower, higher) = (activity_bounds(a, c, start) for c in sides)
    yield "(B3): sigma_1(0) and sigma_2(0) differ: bounds", [float(low), float(higher)], low > higher or lower > high
    for c in sides:
        yield "c^2 >= T_init: c", c, c > 0 and c**2 >= start
        yield "c / 2 <= a <= 3 c / 2", a, c / 2 <= a <= 3 * c / 2
        latest = (start**3 - least**3) * 2 ** math.ceil(9 * c**2 / least) / (3 * eta_T * c**4)
        yield "the head reaches T_min by the time", latest, latest > 0


def second_head_cools(witness):
    """Yield the checks that the first of two heads stays above T_min, and that the second is local."""
    a, start, least, eta_P, eta_T = (Fraction(witness[n]) for n in ("a", "T_init", "T_min", "eta_P", "eta_T"))
    (short, long), (first, second) = ([Fraction(v) for v in witness[n]] for n in ("c", "lambda"))
    yield "lambda_1 > lambda_2 > 0", (str(first), str(second)), first > second > 0
    yield "T_init > T_min > 0", (str(start), str(least)), start > least > 0
    yield "all rates are positive", (str(eta_P), str(eta_T)), eta_P > 0 and eta_T > 0
    yield "a, c_1 > 0", (str(a), str(short)), a > 0 and short > 0

    yield "head 1: 4 c_1^2 < T_min", 4 * short**2, 4 * short**2 < least
    kappa = eta_P * (1 - 4 * short**2 / least)
    left = start**3 - 6 * eta_T * a**2 * short**2 / kappa if kappa else Fraction(0)
    yield "head 1: T^3 stays above T_min^3", left, left > least**3
    yield "head 2: c_2^2 >= T_init", long**2, long**2 >= start
    yield "head 2: c_2 / 2 <= a <= 3 c_2 / 2", a, long / 2 <= a <= 3 * long / 2


def local_head(witness):
    """Yield the checks that the prototypes of the first head stay near its tokens at +-c."""
    a, start, least, eta_P, eta_T = (Fraction(witness[n]) for n in ("a", "T_init", "T_min", "eta_P", "eta_T"))
    c = Fraction(witness["c"][0])
    yield "T_init > T_min > 0", (str(start), str(least)), start > least > 0
    yield "eta_T > 0, eta_P >= 0", (str(eta_T), str(eta_P)), eta_T > 0 and eta_P >= 0
    yield "the head is local: c^2 >= T_init", c**2, c > 0 and c**2 >= start
    yield "and c / 2 <= a <= 3 c / 2", a, c / 2 <= a <= 3 * c / 2


def slow_cooling(start, least, sigma, rate):
    """Yield the checks that T_init > T_min > 0, and that eta_T is below the bound at which a step could pass zero."""
    yield "T_init > T_min > 0", (str(start), str(least)), start > least > 0
    yield "0 < eta_T < T_min^3 / (3 sigma_max)", rate, 0 < rate < least**3 / (3 * sigma)


def cooled(start, least, sigma, rate, steps):
    """A lower bound of T after steps from T to T - eta_T sigma / T^2, rounded down, until it is at most T_min."""
    T = start
    for _ in range(steps):
        if least >= T:
            break
        T = Fraction(math.floor((T - rate * sigma / T**2) * 2**80), 2**80)
    return T
