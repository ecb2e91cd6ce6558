"""Read arrays from .npy and .csv files, as floats or as exact fractions."""

import csv
import math
import re
import warnings
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from dynsim.errors import ArgumentError, reason

DIGITS = 400  # largest power of ten in a number: floats end at 308, and larger exact fractions would take forever
SHOWN = 40  # characters of an invalid field that the error quotes


def array(path: Path, name: str) -> np.ndarray:
    """Read a .csv file of numbers such as `0.1` or `1/3` as floats (rows, columns), or the array of a .npy file.

    Raises:
        ValueError: about the argument `name`, if the file cannot be read or holds anything but finite real numbers.
    """
    if path.suffix == ".csv":
        try:
            with warnings.catch_warnings(action="error"):  # an empty file is only a warning
                found = np.loadtxt(path, delimiter=",", ndmin=2)
        except OSError as error:
            raise _unreadable(path, name, error) from None
        except (ValueError, UserWarning):
            found = np.array(_rows(path, name, _float), float)  # names the line
    elif path.suffix == ".npy":
        found = _stored(path, name)
    else:
        raise ArgumentError(name, "be a .npy or .csv file", f"is `{path}`")
    if found.dtype.kind not in "iuf" or found.dtype.itemsize > 8 or found.size == 0:
        holds = f"`{path}` holds {found.dtype.name} of shape {found.shape}"
        raise ArgumentError(name, "hold real numbers in float64 or a smaller type", holds)
    if not np.all(np.isfinite(found)):
        where = tuple(int(k) for k in np.argwhere(~np.isfinite(found))[0])
        raise ArgumentError(name, "be finite", f"entry {where} is {found[where]} in `{path}`")
    return found


def matrix(path: Path, name: str, ndims: tuple[int, ...] = (2,)) -> np.ndarray:
    """Read an array as `array` does, and check its number of axes.

    Raises:
        ValueError: as `array`, and for another number of axes.
    """
    found = array(path, name)
    if found.ndim not in ndims:
        axes = " or ".join(str(ndim) for ndim in ndims)
        raise ArgumentError(name, f"have {axes} axes", f"the array of `{path}` has shape {found.shape}")
    return found


def _stored(path: Path, name: str) -> np.ndarray:
    """Read a .npy file after comparing its length with its header, before anything is allocated."""
    try:
        with path.open("rb") as file:
            version = np.lib.format.read_magic(file)
            read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, _, dtype = read(file)
            promised, there = math.prod(shape) * dtype.itemsize, path.stat().st_size - file.tell()
        if promised != there and not dtype.hasobject:
            raise ValueError(f"its header announces {promised} bytes for shape {shape}, but it has {there}")
        return np.load(path, allow_pickle=False)
    except OSError as error:
        raise _unreadable(path, name, error) from None
    except (ValueError, SyntaxError, EOFError) as error:
        raise ArgumentError(name, "be a file of numbers", f"`{path}` is not ({reason(error)})") from None


def number(word: str) -> Fraction:
    """Parse a number such as `0.1`, `1e-3` or `1/3` exactly, as a fraction.

    Raises:
        ValueError: for any other text, and for a power of ten beyond `DIGITS`.
    """
    powers = re.findall(r"[eE]([+-]?[0-9_]+)", word)
    if any(abs(int(power)) > DIGITS for power in powers):
        raise ValueError(f"`{word}` has a power of ten beyond {DIGITS}")
    try:
        return Fraction(word)
    except ZeroDivisionError:
        raise ValueError(f"`{word}` divides by zero") from None


def _float(word: str) -> float:
    try:
        return float(number(word))
    except OverflowError:
        raise ValueError(f"`{word}` is too large for a float") from None


def exact_array(path: Path, name: str) -> np.ndarray:
    """Read a .csv file of numbers such as `0.1` or `1/3` as Fractions, or the array of a .npy file as stored.

    Raises:
        ValueError: as `array`.
    """
    if path.suffix != ".csv":
        return matrix(path, name)
    rows = _rows(path, name, number)
    found = np.empty((len(rows), len(rows[0])), dtype=object)
    found[:] = rows
    return found


def _rows(path: Path, name: str, read: Callable[[str], Any]) -> list[list[Any]]:
    """Read the rows of a .csv file, which must have equal lengths; a line that begins with `#` is a comment."""
    rows: list[list[Any]] = []
    try:
        text = path.read_text(encoding="utf-8-sig")
        lines = list(enumerate(csv.reader(text.splitlines()), 1))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise _unreadable(path, name, error) from None
    for line, words in lines:
        if not words or words[0].lstrip().startswith("#"):
            continue
        must = "hold a number in every field, and equally many in every line"
        try:
            rows.append([read(word.strip()) for word in words])
        except ValueError:
            bad = next(word for word in words if not _reads(read, word))
            holds = f"line {line} of `{path}` holds `{bad.strip()[:SHOWN]}`"
            raise ArgumentError(name, must, holds) from None
        if len(rows[-1]) != len(rows[0]):
            raise ArgumentError(name, must, f"line {line} of `{path}` holds {len(rows[-1])}, not {len(rows[0])}")
    if not rows:
        raise ArgumentError(name, "hold numbers", f"`{path}` is empty")
    return rows


def _reads(read: Callable[[str], Any], word: str) -> bool:
    try:
        read(word.strip())
    except ValueError:
        return False
    return True


def _unreadable(path: Path, name: str, error: Exception) -> ArgumentError:
    return ArgumentError(name, "be a file that can be read", f"`{path}` is not ({reason(error)})")
