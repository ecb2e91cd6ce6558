"""Interval arithmetic on arrays: bounds of the operations of programs on many intervals at once.

Sums, products, quotients and square roots are rounded outwards by one unit in the last place; elementary functions are
widened by `ULPS` units, more than the error of the libraries behind NumPy. Floating-point constants count as the binary
fractions that they are. Where a function may be undefined or infinite somewhere in an interval, its bounds are NaN.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dynsim._core.printing import one_line, report
from dynsim.programs.arrays import NUMPY, special

ULPS = 8
"""Units in the last place by which elementary functions are widened."""


class IntervalArray(NamedTuple):
    """Lower and upper bounds of a quantity on each of many boxes; truth values are bounds of 0 and 1."""

    low: Any
    high: Any

    __repr__ = one_line
    __str__ = report


def constant(value: Any) -> IntervalArray:
    """The interval of one number."""
    return IntervalArray(np.float64(value), np.float64(value))


HALF_PI = constant(np.pi / 2)


# --- rounding ---


LARGEST = np.finfo(float).max


def outwards(a: IntervalArray, ulps: int = 1) -> IntervalArray:
    """Round bounds outwards by some units in the last place; an overflow means more than the largest number."""
    if ulps == 1:
        return IntervalArray(np.nextafter(a.low, -np.inf), np.nextafter(a.high, np.inf))
    widen = lambda end: ulps * np.spacing(np.where(np.isfinite(end), np.abs(end), 0.0))
    return IntervalArray(np.minimum(a.low - widen(a.low), LARGEST), np.maximum(a.high + widen(a.high), -LARGEST))


def _images(fn: Callable[[Any], Any], a: IntervalArray, ulps: int) -> IntervalArray:
    """Bounds of an increasing function, rounded outwards, but for zero where it is mapped to zero, which is exact."""
    ends = fn(a.low), fn(a.high)
    rounded = outwards(IntervalArray(*ends), ulps)
    keep = lambda at, end, bound: np.where((at == 0) & (end == 0), 0.0, bound)
    return IntervalArray(keep(a.low, ends[0], rounded.low), keep(a.high, ends[1], rounded.high))


_Said = Callable[[IntervalArray, IntervalArray], Any]

# --- operations ---


def _sum(a: IntervalArray, b: IntervalArray) -> IntervalArray:
    return IntervalArray(_added(a.low, b.low, -np.inf), _added(a.high, b.high, np.inf))


def _added(x: Any, y: Any, way: float) -> Any:
    """Add, and round in one direction unless the sum is exact, as the error of an addition shows."""
    total = x + y
    part = total - x
    error = (x - (total - part)) + (y - part)
    return np.where(error == 0, total, np.nextafter(total, way))


def _difference(a: IntervalArray, b: IntervalArray) -> IntervalArray:
    return _sum(a, _negative(b))


def _product(a: IntervalArray, b: IntervalArray) -> IntervalArray:
    """Multiply; zero times a bound is zero, also if it is infinite, since the other factor is finite at every point."""
    corners = [(np.asarray(x * y), (x == 0) | (y == 0)) for x in a for y in b]
    unknown = np.isnan(a.low) | np.isnan(a.high) | np.isnan(b.low) | np.isnan(b.high)
    ends = []
    for way, choose in ((-np.inf, np.minimum), (np.inf, np.maximum)):
        rounded = [np.where(zero, 0.0, np.nextafter(c, way)) for c, zero in corners]
        ends.append(np.where(unknown, np.nan, functools.reduce(choose, rounded)))
    return IntervalArray(*ends)


def _quotient(a: IntervalArray, b: IntervalArray) -> IntervalArray:
    clear = (b.low > 0) | (b.high < 0)
    inverse = outwards(IntervalArray(1 / np.where(clear, b.high, np.nan), 1 / np.where(clear, b.low, np.nan)))
    return _product(a, inverse)


def _power(a: IntervalArray, exponent: int) -> IntervalArray:
    """Compute an integer power; an even power of an interval around zero begins at zero."""
    if exponent == 0:
        return constant(1.0)
    if exponent < 0:
        return _quotient(constant(1.0), _power(a, -exponent))
    if exponent % 2 == 0:
        a = _absolute(a)
    if exponent <= 3:
        least, most = (functools.reduce(_product, [IntervalArray(end, end)] * exponent) for end in a)
        found = IntervalArray(least.low, most.high)
    else:
        found = _images(lambda end: end**exponent, a, ULPS)
    return IntervalArray(found.low if exponent % 2 else np.maximum(found.low, 0.0), found.high)


def _absolute(a: IntervalArray) -> IntervalArray:
    ends = np.abs(a.low), np.abs(a.high)
    inside = (a.low <= 0) & (a.high >= 0)
    return IntervalArray(np.where(inside, 0.0, np.minimum(*ends)), np.maximum(*ends))


def _monotone(fn: Callable[[Any], Any], ulps: int = ULPS, low: float = -np.inf, high: float = np.inf) -> Any:
    """An increasing function with values between bounds."""

    def call(a: IntervalArray) -> IntervalArray:
        found = _images(fn, a, ulps)
        lost = np.isnan(found.low) | np.isnan(found.high)
        bound = lambda end: np.where(lost, np.nan, end)
        return IntervalArray(bound(np.maximum(found.low, low)), bound(np.minimum(found.high, high)))

    return call


def _falling(fn: Callable[[Any], Any], low: float, high: float) -> Any:
    """A decreasing function with values between bounds."""
    rising = _monotone(lambda a: -fn(a), low=-high, high=-low)
    return lambda a: _negative(rising(a))


def _negative(a: IntervalArray) -> IntervalArray:
    return IntervalArray(-a.high, -a.low)


def _inverse_root(a: IntervalArray) -> IntervalArray:
    return _quotient(constant(1.0), INTERVALS["sqrt"](a))


def _real_power(a: IntervalArray, b: IntervalArray) -> IntervalArray:
    """Compute powers of positive numbers."""
    return INTERVALS["exp"](_product(b, INTERVALS["log"](IntervalArray(np.where(a.low > 0, a.low, np.nan), a.high))))


def _cosine(a: IntervalArray) -> IntervalArray:
    """Compute cosines: the extremes are at the ends or at multiples of pi, which are counted with room for rounding."""
    ends = np.cos(a.low), np.cos(a.high)
    room = 4 * np.spacing(np.maximum(np.abs(a.low), np.abs(a.high))) + 1e-15
    turns = lambda end, shift: end / (2 * np.pi) + shift
    crosses = lambda shift: np.floor(turns(a.high + room, shift)) > np.floor(turns(a.low - room, shift))
    at = lambda shift: crosses(shift) | ~(a.high - a.low < 6.25)
    found = outwards(IntervalArray(np.minimum(*ends), np.maximum(*ends)), ULPS)
    low = np.where(at(0.5), -1.0, np.maximum(found.low, -1.0))
    high = np.where(at(0.0), 1.0, np.minimum(found.high, 1.0))
    wide = (np.abs(a.low) > 1e8) | (np.abs(a.high) > 1e8)
    lost = np.isnan(a.low) | np.isnan(a.high)
    bound = lambda end, all_of: np.where(lost, np.nan, np.where(wide, all_of, end))
    return IntervalArray(bound(low, -1.0), bound(high, 1.0))


def _sine(a: IntervalArray) -> IntervalArray:
    """Compute sines: extremes as of the cosine of the shifted interval, ends of their own."""
    ends = np.sin(a.low), np.sin(a.high)
    found, shifted = (
        outwards(IntervalArray(np.minimum(*ends), np.maximum(*ends)), ULPS),
        _cosine(_difference(a, HALF_PI)),
    )
    low = np.where(shifted.low <= -1.0, -1.0, np.maximum(found.low, -1.0))
    return IntervalArray(low, np.where(shifted.high >= 1.0, 1.0, np.minimum(found.high, 1.0)))


def _tangent(a: IntervalArray) -> IntervalArray:
    """Compute tangents between two poles; across a pole they are not defined."""
    cosine = _cosine(a)
    clear = (cosine.low > 0) | (cosine.high < 0)
    return outwards(
        IntervalArray(np.tan(np.where(clear, a.low, np.nan)), np.tan(np.where(clear, a.high, np.nan))), ULPS
    )


def _angle(y: IntervalArray, x: IntervalArray) -> IntervalArray:
    """Compute atan2: between the corners right of the vertical axis; elsewhere all angles."""
    corners = [np.arctan2(v, u) for v in y for u in x]
    found = outwards(IntervalArray(functools.reduce(np.minimum, corners), functools.reduce(np.maximum, corners)), ULPS)
    clear = (x.low > 0) | (y.low > 0) | (y.high < 0)
    bound = lambda end, all_of: np.where(clear | np.isnan(end), end, all_of)
    return IntervalArray(bound(found.low, -np.nextafter(np.pi, 4)), bound(found.high, np.nextafter(np.pi, 4)))


def _larger(a: IntervalArray, b: IntervalArray) -> IntervalArray:
    return IntervalArray(np.maximum(a.low, b.low), np.maximum(a.high, b.high))


def _smaller(a: IntervalArray, b: IntervalArray) -> IntervalArray:
    return IntervalArray(np.minimum(a.low, b.low), np.minimum(a.high, b.high))


def _compared(
    surely: Callable[[IntervalArray, IntervalArray], Any], perhaps: Callable[[IntervalArray, IntervalArray], Any]
) -> Any:
    """A comparison, from the conditions under which it holds at all pairs of points, or at some."""

    def call(a: IntervalArray, b: IntervalArray) -> IntervalArray:
        lost = np.isnan(a.low) | np.isnan(a.high) | np.isnan(b.low) | np.isnan(b.high)
        truth = lambda said: np.where(lost, np.nan, np.asarray(said(a, b), float))
        return IntervalArray(truth(surely), truth(perhaps))

    return call


def _not(a: IntervalArray) -> IntervalArray:
    return IntervalArray(1 - a.high, 1 - a.low)


_equal = _compared(
    lambda a, b: (a is b) | ((a.low == a.high) & (b.low == b.high) & (a.low == b.low)),
    lambda a, b: (a.low <= b.high) & (b.low <= a.high),
)


def _sign(a: IntervalArray) -> IntervalArray:
    return IntervalArray(np.sign(a.low), np.sign(a.high))


def _rounded(a: IntervalArray, method: int) -> IntervalArray:
    return IntervalArray(NUMPY["round"](a.low, method), NUMPY["round"](a.high, method))


def _remainder(a: IntervalArray, b: IntervalArray) -> IntervalArray:
    """Compute remainders of division by a number, which have the sign of the dividend; undefined for other divisors."""
    size = np.abs(np.where(b.low == b.high, b.low, np.nan))
    turns = np.trunc(a.low / size), np.trunc(a.high / size)
    one = (turns[0] == turns[1]) & (np.sign(a.low) * np.sign(a.high) >= 0)
    low, high = (np.where(one, np.fmod(end, size), np.sign(end) * size) for end in a)
    return IntervalArray(np.where(one, low, np.minimum(low, 0.0)), np.where(one, high, np.maximum(high, 0.0)))


def _selected(which: IntervalArray, *cases: IntervalArray) -> IntervalArray:
    """Select a case, or enclose all that are possible."""
    low, high = np.full(1, np.inf), np.full(1, -np.inf)
    for k, case in enumerate(cases):
        possible = ~((which.low > k) | (which.high < k))  # all of them where the condition is not defined
        low = np.where(possible, np.minimum(low, case.low), low)
        high = np.where(possible, np.maximum(high, case.high), high)
    lost = np.isnan(which.low) | np.isnan(which.high)
    return IntervalArray(np.where(lost, np.nan, low), np.where(lost, np.nan, high))


def _converted(a: IntervalArray, dtype: Any) -> IntervalArray:
    if np.dtype(dtype).kind == "b":
        return _not(_equal(a, constant(0.0)))
    if np.dtype(dtype).kind in "iu":
        whole = (a.low == a.high) & (a.low == np.round(a.low))
        return IntervalArray(np.where(whole, a.low, np.nan), np.where(whole, a.high, np.nan))
    return a


INTERVALS: dict[str, Callable[..., IntervalArray]] = {
    "add": _sum, "add_any": _sum, "sub": _difference, "mul": _product, "div": _quotient,
    "neg": _negative, "abs": _absolute, "square": lambda a: _power(a, 2), "pow": _real_power,
    "integer_pow": _power, "max": _larger, "min": _smaller,
    "sqrt": _monotone(np.sqrt, 1, low=0.0), "rsqrt": _inverse_root, "cbrt": _monotone(np.cbrt),
    "exp": _monotone(np.exp, low=0.0), "exp2": _monotone(np.exp2, low=0.0), "expm1": _monotone(np.expm1, low=-1.0),
    "log": _monotone(np.log), "log1p": _monotone(np.log1p), "log2": _monotone(np.log2),
    "logistic": _monotone(special("expit"), low=0.0, high=1.0), "tanh": _monotone(np.tanh, low=-1.0, high=1.0),
    "sinh": _monotone(np.sinh), "cosh": lambda a: _monotone(np.cosh, low=1.0)(_absolute(a)),
    "asin": _monotone(np.arcsin), "acos": _falling(np.arccos, 0.0, 4.0), "atan": _monotone(np.arctan),
    "asinh": _monotone(np.arcsinh), "acosh": _monotone(np.arccosh, low=0.0), "atanh": _monotone(np.arctanh),
    "erf": _monotone(special("erf"), low=-1.0, high=1.0), "erfc": _falling(special("erfc"), 0.0, 2.0),
    "sin": _sine, "cos": _cosine, "tan": _tangent, "atan2": _angle,
    "one_minus_square": lambda a: _difference(constant(1.0), _power(a, 2)),
    "lt": _compared(lambda a, b: a.high < b.low, lambda a, b: a.low < b.high),
    "le": _compared(lambda a, b: a.high <= b.low, lambda a, b: a.low <= b.high),
    "gt": _compared(lambda a, b: a.low > b.high, lambda a, b: a.high > b.low),
    "ge": _compared(lambda a, b: a.low >= b.high, lambda a, b: a.high >= b.low),
    "eq": _equal, "ne": lambda a, b: _not(_equal(a, b)), "and": _smaller, "or": _larger, "not": _not,
    "sign": _sign, "select_n": _selected, "convert_element_type": _converted,
    "clamp": lambda low, a, high: _smaller(_larger(a, low), high),
}  # fmt: skip
"""The arithmetic of the operations of programs."""

WITH_JUMPS = INTERVALS | {
    "floor": _monotone(np.floor, 0), "ceil": _monotone(np.ceil, 0), "round": _rounded, "rem": _remainder,
}  # fmt: skip
"""The same with roundings and remainders, which no theorem on smooth functions takes."""
