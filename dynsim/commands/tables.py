"""Arrays of numbers from .npy and .csv files, in floats or in exact fractions."""

import csv
import warnings
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from dynsim.errors import argument_error


def array(path: Path, name: str) -> np.ndarray:
    """Return the numbers of a .csv file as floats (rows, columns), or the array of a .npy file as it is stored.

    Raises:
        ValueError: for the argument `name`, if the file cannot be read or holds anything but numbers.
    """
    if path.suffix == ".csv":
        try:
            with warnings.catch_warnings(action="error"):  # an empty file is only a warning
                return np.loadtxt(path, delimiter=",", ndmin=2)
        except OSError as error:
            raise _unreadable(path, name, error) from None
        except (ValueError, UserWarning):
            return np.array(_rows(path, name, float), float)  # names the line
    if path.suffix != ".npy":
        raise argument_error(name, "be a .npy or .csv file", f"is `{path}`")
    try:
        return np.load(path, allow_pickle=False)
    except OSError as error:
        raise _unreadable(path, name, error) from None
    except ValueError as error:
        reason = str(error).splitlines()[0]
        raise argument_error(name, "be a file of numbers", f"`{path}` is not ({reason})") from None


def exact_array(path: Path, name: str) -> np.ndarray:
    """Return the numbers of a .csv file (such as `0.1` or `1/3`) as Fractions, or the array of a .npy file as stored.

    Raises:
        ValueError: as `array`.
    """
    if path.suffix != ".csv":
        return array(path, name)
    rows = _rows(path, name, Fraction)
    found = np.empty((len(rows), len(rows[0])), dtype=object)
    found[:] = rows
    return found


def _rows(path: Path, name: str, number: Callable[[str], Any]) -> list[list[Any]]:
    """Return the rows of a .csv file, all of one length; a `#` begins a comment."""
    rows: list[list[Any]] = []
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(path, name, error) from None
    for line, words in enumerate(csv.reader(text.splitlines()), 1):
        if not words or words[0].lstrip().startswith("#"):
            continue
        must = "hold a number in every field, as many in every line"
        try:
            rows.append([number(word.strip()) for word in words])
        except (ValueError, ZeroDivisionError):
            bad = next(word for word in words if not _reads(number, word))
            raise argument_error(name, must, f"line {line} of `{path}` holds `{bad.strip()}`") from None
        if len(rows[-1]) != len(rows[0]):
            raise argument_error(name, must, f"line {line} of `{path}` holds {len(rows[-1])}, not {len(rows[0])}")
    if not rows:
        raise argument_error(name, "hold numbers", f"`{path}` is empty")
    return rows


def _reads(number: Callable[[str], Any], word: str) -> bool:
    try:
        number(word.strip())
    except (ValueError, ZeroDivisionError):
        return False
    return True


def _unreadable(path: Path, name: str, error: Exception) -> ValueError:
    return argument_error(name, "be a file that can be read", f"`{path}` is not ({error})")
