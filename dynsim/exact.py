"""Exact numbers: ints, fractions, decimal strings, and floats at their binary value, as arrays of `Fraction`."""

import math
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

import numpy as np

from dynsim.errors import argument_error

Exact = np.ndarray  # of dtype object, every entry a Fraction


def rational(name: str, value: Any) -> Fraction:
    """Return one number exactly: an int, a Fraction, a string as `1/3` or `0.1`, or a float at its binary value.

    Raises:
        ValueError: for what is no finite number, naming the argument.
    """
    if isinstance(value, Fraction):
        return value
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | str | Decimal | np.number):
        raise argument_error(name, "hold ints, fractions, floats or decimal strings", f"holds {value!r}")
    try:
        return Fraction(value.item() if isinstance(value, np.generic) else value)
    except (ValueError, OverflowError, InvalidOperation, ZeroDivisionError):
        raise argument_error(name, "hold finite numbers", f"holds {value!r}") from None


def rationals(name: str, values: Any) -> Exact:
    """Return an array of Fractions with the shape of `values`, whatever its entries; see `rational`."""
    given = values if isinstance(values, np.ndarray) else np.array(values, dtype=object)
    return _array((rational(name, value) for value in given.flat), given.shape)


def integers(values: Exact) -> tuple[np.ndarray, int]:
    """Return Python ints N and a positive D with N / D = `values`: sums and products without a gcd each."""
    denominator = math.lcm(*{entry.denominator for entry in values.flat})
    numerators = (entry.numerator * (denominator // entry.denominator) for entry in values.flat)
    return _array(numerators, values.shape), denominator


def _array(entries: Iterable[Any], shape: tuple[int, ...]) -> np.ndarray:
    """Return an object array of these entries; the extra one keeps NumPy from looking into them."""
    return np.array([*entries, None], dtype=object)[:-1].reshape(shape)


def nearest_floats(values: Exact) -> tuple[np.ndarray, Fraction]:
    """Return floats f and a scale s > 0 with s f equal to `values` but for half a unit in the last place each.

    The largest entry has modulus one, so that numbers beyond the range of floats do not overflow.
    """
    scale = max((abs(entry) for entry in values.flat), default=Fraction(0)) or Fraction(1)
    floats = np.array([float(entry / scale) for entry in values.flat], dtype=float)
    return floats.reshape(values.shape), scale


def positive_definite(matrix: Exact) -> bool:
    """Return whether a symmetric matrix of Fractions is positive definite, by the signs of its pivots."""
    rest = matrix.copy()
    for k in range(len(rest)):
        if rest[k, k] <= 0:
            return False
        for i in range(k + 1, len(rest)):
            rest[i, k:] = rest[i, k:] - rest[i, k] / rest[k, k] * rest[k, k:]
    return True
