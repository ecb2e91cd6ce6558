"""Print numbers, with those that are zero within their error as 0."""

import math
from collections.abc import Iterable

ROUNDING = 1e-12  # relative to the size of a quantity; smaller values are taken for rounding errors


def printed(value: complex, size: float = 1.0, *, digits: int = 6) -> str:
    """Print a number with some significant digits, and as 0 where it is at most 1e-12 of a size.

    Args:
        value: the number, real or complex; both parts are treated alike.
        size: the scale of the quantity, such as the largest value of a parameter.
        digits: the number of significant digits.
    """
    real, imaginary = (_real(part, size, digits) for part in (value.real, value.imag))
    if imaginary == "0":
        return real
    signed = imaginary if imaginary.startswith("-") else f"+{imaginary}"
    return f"{'' if real == '0' else real}{signed if real != '0' else imaginary}j"


def size_of(values: Iterable[float]) -> float:
    """Largest absolute value of several numbers, or one if all of them are rounding errors."""
    largest = max((abs(value) for value in values), default=0.0)
    return largest if largest > ROUNDING else 1.0


def _real(value: float, size: float, digits: int) -> str:
    return "0" if math.isfinite(size) and abs(value) <= ROUNDING * abs(size) else f"{value:.{digits}g}"
