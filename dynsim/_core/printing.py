"""Numbers as text: those that are zero within their error are printed as 0."""

import math
from collections.abc import Iterable

ROUNDING = 1e-12  # of the size of a quantity: what is smaller is rounding


def printed(value: complex, size: float = 1.0, *, digits: int = 6) -> str:
    """Return a number with some significant digits; a part that is below 1e-12 of a size, or not larger, is 0.

    Args:
        value: the number, real or complex.
        size: the size of what it is a value of, such as the largest value of a parameter; its error times 1e12.
        digits: how many significant digits.
    """
    real, imaginary = (_real(part, size, digits) for part in (value.real, value.imag))
    if imaginary == "0":
        return real
    signed = imaginary if imaginary.startswith("-") else f"+{imaginary}"
    return f"{'' if real == '0' else real}{signed if real != '0' else imaginary}j"


def size_of(values: Iterable[float]) -> float:
    """Return the largest of the sizes of values, or one if all of them are rounding."""
    largest = max((abs(value) for value in values), default=0.0)
    return largest if largest > ROUNDING else 1.0


def _real(value: float, size: float, digits: int) -> str:
    return "0" if math.isfinite(size) and abs(value) <= ROUNDING * abs(size) else f"{value:.{digits}g}"
