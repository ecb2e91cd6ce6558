"""Parse parameter ranges of the command line: NAME=LOW:HIGH, or NAME=LOW:HIGH:COUNT for values on a grid."""

import math
from typing import Any, NamedTuple

import numpy as np

from dynsim.errors import ArgumentError

MOST = 1_000_000  # largest number of values of a parameter, each of which costs a computation


class Range(NamedTuple):
    """Name of a parameter with the lower and upper end of its range."""

    name: str
    low: float
    high: float

    @property
    def bounds(self) -> tuple[float, float]:
        """Lower and upper end."""
        return self.low, self.high


def named_range(word: str, argument: str, *, ascending: bool = False) -> Range:
    """Parse the range of a parameter, NAME=LOW:HIGH.

    Args:
        word: the word of the command line.
        argument: the name of the option, for an error.
        ascending: whether the first end must be the lower one.

    Raises:
        ArgumentError: for any other form, and for ends that are equal or not finite.
    """
    name, _, ends = word.partition("=")
    try:
        low, high = (float(end) for end in ends.split(":"))
    except ValueError:
        raise ArgumentError(argument, "be NAME=LOW:HIGH, such as `rho=0:30`", f"is `{word}`") from None
    if not (np.isfinite([low, high]).all() and low != high and name):
        raise ArgumentError(argument, "hold two different finite numbers after a name", f"is `{word}`")
    if ascending and low > high:
        raise ArgumentError(argument, "hold the lower end first", f"is `{word}`")
    return Range(name.replace("-", "_"), low, high)


def named_values(word: str, count: int, argument: str) -> tuple[str, list[float]]:
    """Parse evenly spaced values of a parameter, NAME=LOW:HIGH:COUNT, or NAME=LOW:HIGH for a default count."""
    parts = word.split(":")
    if len(parts) == 3:
        word = ":".join(parts[:2])
        if not parts[2].isdecimal() or int(parts[2]) < 2:
            raise ArgumentError(
                argument, "end in a count of at least 2, such as `rho=0:30:61`", f"ends in `{parts[2]}`"
            )
        count = int(parts[2])
        if count > MOST:
            raise ArgumentError(argument, f"end in a count of at most {MOST}", f"ends in `{parts[2]}`")
    found = named_range(word, argument)
    return found.name, [float(value) for value in np.linspace(found.low, found.high, count)]


def parameter_values(word: str, count: int, system: Any, argument: str) -> tuple[str, list[float]]:
    """Parse evenly spaced values of a scalar parameter that the system has, in the form of `named_values`.

    Raises:
        ArgumentError: for any other form, or a parameter that the system does not have, with the closest name.
    """
    from dynsim.systems.named import where

    name, values = named_values(word, count, argument)
    leaf = where(system, name, argument)(system)
    if np.ndim(leaf):
        raise ArgumentError(argument, "name a parameter that is one number", f"`{name}` has shape {np.shape(leaf)}")
    return name, values


def check_times(begin: float, end: float) -> None:
    """Raise `ValueError` for times that are not finite, or are the same."""
    for name, time in (("begin", begin), ("end", end)):
        if not math.isfinite(time):
            raise ArgumentError(name, "be a finite number", f"is {time}")
    if end == begin:
        raise ArgumentError("end", f"differ from the initial time, {begin:g}", f"is {end:g}")
