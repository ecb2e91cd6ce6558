"""Ranges of a parameter as a word of the command line, NAME=LOW:HIGH."""

from typing import Any

import numpy as np

from dynsim.errors import ArgumentError


def named_range(word: str, argument: str) -> tuple[str, tuple[float, float]]:
    """Return a name and two different numbers; raise `ValueError`, naming the argument, for anything else."""
    name, _, ends = word.partition("=")
    must = "be NAME=LOW:HIGH, such as `rho=0:30`"
    try:
        low, high = (float(end) for end in ends.split(":"))
    except ValueError:
        raise ArgumentError(argument, must, f"is `{word}`") from None
    if not (np.isfinite([low, high]).all() and low != high and name):
        raise ArgumentError(argument, "hold two different finite numbers after a name", f"is `{word}`")
    return name.replace("-", "_"), (low, high)


def parameter_range(word: str, count: int, system: Any, argument: str) -> tuple[str, list[float]]:
    """Return the name of a scalar parameter of a system, and evenly spaced values of it.

    Raises:
        ValueError: for another form, or a parameter that the system has not, with the nearest name.
    """
    from dynsim.systems.named import where

    name, ends = named_range(word, argument)
    leaf = where(system, name, argument)(system)
    if np.ndim(leaf):
        raise ArgumentError(argument, "name a parameter that is one number", f"`{name}` has shape {np.shape(leaf)}")
    return name, [float(value) for value in np.linspace(*ends, count)]
