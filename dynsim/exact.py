"""Exact rational arithmetic with numbers and object arrays of type `Fraction`."""

import math
import re
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

import numpy as np

from dynsim.errors import ArgumentError, reason, shown

Exact = np.ndarray
"""An array of dtype object in which every entry is a `Fraction`."""


def rational(name: str, value: Any) -> Fraction:
    """Convert a number to a Fraction without rounding.

    Args:
        name: the name of the argument in the error message.
        value: an int, a Fraction, a Decimal, a string such as `1/3` or `0.1`, or a float, taken at its binary value.

    Raises:
        ValueError: if `value` is not a finite number of one of these types.

    Example:
        >>> rational("alpha", "0.1") + rational("alpha", "1/3")
        Fraction(13, 30)
    """
    if isinstance(value, Fraction):
        return value
    real = int | float | str | Decimal | np.integer | np.floating
    if isinstance(value, bool | np.bool_) or not isinstance(value, real):
        raise ArgumentError(name, "hold ints, fractions, floats or decimal strings", f"holds {shown(value)}")
    try:
        return Fraction(value.item() if isinstance(value, np.generic) else value)
    except (ValueError, OverflowError, InvalidOperation, ZeroDivisionError):
        raise ArgumentError(name, "hold finite numbers", f"holds {shown(value)}") from None


def rationals(name: str, values: Any) -> Exact:
    """Convert an array to Fractions, entry by entry with `rational`, keeping its shape."""
    try:
        given = values if isinstance(values, np.ndarray) else np.array(values, dtype=object)
    except (TypeError, ValueError) as error:
        raise ArgumentError(name, "hold numbers", f"does not ({reason(error)})") from None
    exact = (value if isinstance(value, Fraction) else rational(name, value) for value in given.flat)
    return _array(exact, given.shape)


def integers(values: Exact) -> tuple[np.ndarray, int]:
    """Integer numerators (Python ints, of the shape of `values`) over the least common denominator D > 0.

    Sums and products of these integers are faster than those of Fractions, which compute a gcd each time.
    """
    denominator = math.lcm(*{entry.denominator for entry in values.flat})
    numerators = (entry.numerator * (denominator // entry.denominator) for entry in values.flat)
    return _array(numerators, values.shape), denominator


def _array(entries: Iterable[Any], shape: tuple[int, ...]) -> np.ndarray:
    """An object array of these entries; the extra None keeps NumPy from unpacking them."""
    return np.array([*entries, None], dtype=object)[:-1].reshape(shape)


def nearest_floats(values: Exact) -> tuple[np.ndarray, Fraction]:
    """Floats f and a scale s > 0 such that s f equals `values` up to half a unit of rounding of f.

    The largest entry of f has modulus one, so numbers beyond the range of floats do not overflow.
    """
    scale = max((abs(entry) for entry in values.flat), default=Fraction(0)) or Fraction(1)
    floats = np.array([float(entry / scale) for entry in values.flat], dtype=float)
    return floats.reshape(values.shape), scale


def positive_definite(matrix: Exact) -> bool:
    """Whether a symmetric matrix of Fractions is positive definite, by the signs of its elimination pivots."""
    rest = matrix.copy()
    for k in range(len(rest)):
        if rest[k, k] <= 0:
            return False
        for i in range(k + 1, len(rest)):
            rest[i, k:] = rest[i, k:] - rest[i, k] / rest[k, k] * rest[k, k:]
    return True


CHUNK = 4000  # digits converted at once; Python refuses more than 4300
WRITTEN = re.compile(r"-?[0-9]+(/0*[1-9][0-9]*)?")


def fraction_text(value: int | Fraction) -> str:
    """Write a rational number as "p/q" or "p", of any length; Python itself refuses more than 4300 digits."""
    number = Fraction(value)
    p, q = _digits(number.numerator), _digits(number.denominator)
    return p if q == "1" else f"{p}/{q}"


def fraction_of(text: str) -> Fraction:
    """Read a number written by `fraction_text`; raise `ValueError` for any other text."""
    if not WRITTEN.fullmatch(text):
        raise ArgumentError("text", "be a fraction in lowest terms, such as `1/3`", f"is `{text[:40]}`")
    return Fraction(*(_integer(part) for part in text.split("/")))


def _digits(n: int) -> str:
    if n < 0:
        return f"-{_digits(-n)}"
    if n.bit_length() < 3 * CHUNK:
        return str(n)
    half = max(CHUNK // 2, int(n.bit_length() * math.log10(2)) // 2)
    high, low = divmod(n, 10**half)
    return f"{_digits(high)}{_digits(low).zfill(half)}"


def _integer(text: str) -> int:
    if text.startswith("-"):
        return -_integer(text[1:])
    if len(text) <= CHUNK:
        return int(text)
    half = len(text) // 2
    return _integer(text[:-half]) * 10**half + _integer(text[-half:])
