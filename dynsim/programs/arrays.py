"""NumPy implementations of the scalar operations of programs, with JAX's results for infinities and NaN."""

import functools
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np


def _quotient(a: Any, b: Any) -> Any:
    if a.dtype.kind not in "iu":
        return a / b
    safe = np.where(b == 0, 1, b)
    truncated = (a - np.fmod(a, safe)) // safe
    return np.where(b == 0, np.asarray(-1).astype(a.dtype), truncated).astype(a.dtype)


def _remainder(a: Any, b: Any) -> Any:
    if a.dtype.kind not in "iu":
        return np.fmod(a, b)
    return np.where(b == 0, a, np.fmod(a, np.where(b == 0, 1, b))).astype(a.dtype)


def _power(a: Any, b: Any) -> Any:
    return np.float_power(a, b).astype(a.dtype)  # `np.power` takes the root for a half: of -inf it is no number


def _integer_power(a: Any, exponent: int) -> Any:
    """Compute an integer power by repeated squaring, as XLA does."""
    if exponent < 0:
        return a.dtype.type(1) / _integer_power(a, -exponent)
    found, square = None, a
    while exponent:
        if exponent & 1:
            found = square if found is None else found * square
        exponent >>= 1
        square = square * square if exponent else square
    return np.ones_like(a) if found is None else found


def _selected(which: Any, *cases: Any) -> Any:
    if len(cases) == 2:
        return np.where(which, cases[1], cases[0])
    if not any(np.ndim(case) for case in cases):
        return np.asarray(cases)[which]
    return functools.reduce(lambda so_far, k: np.where(which >= k, cases[k], so_far), range(1, len(cases)), cases[0])


def _converted(a: Any, dtype: np.dtype) -> Any:
    """Convert numbers to another type; for an integer type, floats saturate at its bounds and NaN becomes zero."""
    if dtype.kind == "b":
        return a != 0
    if dtype.kind not in "iu" or a.dtype.kind in "iub":
        return a.astype(dtype)
    ends, limits = np.iinfo(dtype), (float(np.iinfo(dtype).min), float(np.iinfo(dtype).max))
    inside = (a > limits[0]) & (a < limits[1])
    found = np.where(inside, a, 0).astype(dtype)
    found = np.where(a >= limits[1], dtype.type(ends.max), found)
    return np.where(a <= limits[0], dtype.type(ends.min), found)


def _shifted_right(a: Any, b: Any) -> Any:
    """Shift the bits of integers to the right; zeros come from the left, also for negative numbers."""
    unsigned = np.dtype(f"u{a.dtype.itemsize}")
    return (a.view(unsigned) >> b.view(unsigned)).view(a.dtype)


def _rounded(a: Any, method: int) -> Any:
    """Round to the nearest integer; halves go away from zero (method 0) or to even (method 1)."""
    if method == 1:
        return np.rint(a)
    whole = np.trunc(a)
    return np.where(np.abs(a - whole) >= 0.5, whole + np.sign(a), whole).astype(a.dtype)


def special(name: str) -> Callable[..., Any]:
    """Wrap a function of `scipy.special` that is imported on its first call, because the import takes 0.1 s."""

    def call(*values: Any) -> Any:
        import scipy.special

        return getattr(scipy.special, name)(*values)

    return call


NUMPY: Mapping[str, Callable[..., Any]] = {
    "add": operator.add, "add_any": operator.add, "sub": operator.sub, "mul": operator.mul, "div": _quotient,
    "neg": operator.neg, "abs": operator.abs, "sign": np.sign, "square": lambda a: a * a, "rem": _remainder,
    "pow": _power, "integer_pow": _integer_power, "max": np.maximum, "min": np.minimum,
    "clamp": lambda low, a, high: np.minimum(np.maximum(a, low), high),
    "sqrt": np.sqrt, "rsqrt": lambda a: a.dtype.type(1) / np.sqrt(a), "cbrt": np.cbrt,
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log1p": np.log1p,
    "log2": np.log2, "one_minus_square": lambda a: (1 - a) * (1 + a),
    "logistic": lambda a: a.dtype.type(1) / (a.dtype.type(1) + np.exp(-a)),
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "atan2": np.arctan2, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh,
    "acosh": np.arccosh, "atanh": np.arctanh,
    "erf": special("erf"), "erfc": special("erfc"), "erf_inv": special("erfinv"), "lgamma": special("gammaln"),
    "digamma": special("psi"), "igamma": special("gammainc"), "igammac": special("gammaincc"),
    "bessel_i0e": special("i0e"), "bessel_i1e": special("i1e"),
    "floor": np.floor, "ceil": np.ceil, "round": _rounded, "nextafter": np.nextafter, "is_finite": np.isfinite,
    "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge, "eq": operator.eq, "ne": operator.ne,
    "and": operator.and_, "or": operator.or_, "xor": operator.xor, "not": np.invert,
    "shift_left": np.left_shift, "shift_right_logical": _shifted_right,
    "select_n": _selected, "convert_element_type": _converted,
}  # fmt: skip
"""NumPy function of each operation; the parameter of an operation, if it has one, comes last."""

EXACT = frozenset((
    "add", "add_any", "sub", "mul", "div", "neg", "abs", "sign", "square", "max", "min", "clamp", "sqrt", "floor",
    "ceil", "round", "is_finite", "lt", "le", "gt", "ge", "eq", "ne", "and", "or", "xor", "not", "select_n",
    "convert_element_type",
))  # fmt: skip
"""Operations whose NumPy results equal JAX's to the last bit, so that constants can be folded without compilation."""
