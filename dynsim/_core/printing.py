"""Print numbers and results as text, with numbers that are zero within their error as 0."""

import dataclasses
import enum
import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

LINE = 180  # characters of a result in one line, its closing dots left out
WORD = 40  # characters of one field in it
FEW = 4  # entries of a tuple that are shown in it
MANY = 12  # entries of an array or a tuple that a report shows in full
FOUND = 1e-9  # relative to the window in which a search finds states; smaller values are taken for its errors
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


def printed_place(values: Iterable[float], widths: Iterable[float]) -> str:
    """Print the components of a state found in a window, as 0 where they are at most 1e-9 of the window's width."""
    return ", ".join(printed(value, FOUND / ROUNDING * width) for value, width in zip(values, widths, strict=True))


def size_of(values: Iterable[float]) -> float:
    """Largest absolute value of several numbers, or one if all of them are rounding errors."""
    largest = max((abs(value) for value in values), default=0.0)
    return largest if largest > ROUNDING else 1.0


def _real(value: float, size: float, digits: int) -> str:
    return "0" if math.isfinite(size) and abs(value) <= ROUNDING * abs(size) else f"{value:.{digits}g}"


def one_line(self: Any) -> str:
    """Describe a result in one line of fewer than 200 characters: its class, its numbers, and the sizes of the rest.

    A class of results takes it as `__repr__`.
    """
    name, said = type(self).__name__, ""
    for field, value in _fields(self):
        more = f"{', ' if said else ''}{field}={_short(value)}"
        if len(name) + len(said) + len(more) > LINE:
            return f"{name}({said}, ...)"
        said += more
    return f"{name}({said})"


def report(self: Any) -> str:
    """Describe a result by its class and a line for each of its fields; of long arrays the first and last entries.

    A class of results without a report of its own takes it as `__str__`.
    """
    rows = [f"  {field}: {_indented(value)}" for field, value in _fields(self)]
    return "\n".join([type(self).__name__, *rows])


def _fields(result: Any) -> list[tuple[str, Any]]:
    """List the public fields of a named tuple or a dataclass that are set, with their values."""
    names = getattr(result, "_fields", None) or [field.name for field in dataclasses.fields(result)]
    return [(name, getattr(result, name)) for name in names if not name.startswith("_") and hasattr(result, name)]


def _short(value: Any) -> str:
    """Print a number or a word, or the type and size of anything else."""
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        known = None if value.shape or not hasattr(value, "item") else _number(value)
        return f"{value.dtype}[{', '.join(map(str, value.shape))}]" if known is None else known
    if isinstance(value, float | complex):
        return f"{value:.6g}"
    if value is None or isinstance(value, bool | int | str | Fraction):
        text = repr(value) if isinstance(value, str) else str(value)
        return text if len(text) <= WORD else f"{text[:WORD]}..."
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, tuple | list) and not hasattr(value, "_fields"):
        kinds = {type(entry).__name__ for entry in value}
        words = f"({', '.join(map(_short, value))})" if len(value) <= FEW else ""
        return words if words and len(words) <= WORD else f"<{len(value)} {' or '.join(sorted(kinds))}>"
    if isinstance(value, Mapping):
        return f"<{len(value)} entries>"
    return getattr(value, "__name__", type(value).__name__)


def _number(value: Any) -> str | None:
    """Convert an array without axes to a number; None if it is traced."""
    try:
        item = value.item()
    except (TypeError, NotImplementedError):  # of a traced array, and of a random key
        return None
    return _short(item)


def _indented(value: Any) -> str:
    """Print a value in full, except long arrays, with its further lines indented below the name of its field."""
    if isinstance(value, tuple | list) and not hasattr(value, "_fields") and any(map(_is_result, value)):
        text = "".join(f"\n- {str(entry)}" for entry in value[:MANY])
        text += f"\n- and so on for {len(value) - MANY} more" if len(value) > MANY else ""
    elif _is_result(value):
        text = str(value)
    elif (array := _array(value)) is not None:
        text = np.array2string(array, precision=6, threshold=MANY, separator=", ")
    else:
        text = _short(value)
    return text.replace("\n", "\n    ")


def _array(value: Any) -> np.ndarray | None:
    """Copy an array to the host; None for traced arrays and for values that are not arrays."""
    try:
        return np.asarray(value) if hasattr(value, "__array__") else None
    except TypeError:
        return None


def _is_result(value: Any) -> bool:
    return type(value).__repr__ is one_line
