"""Bisection on the boundary of basins: how an exceptional set of measure zero is found."""

from collections.abc import Callable, Hashable
from typing import NamedTuple

import numpy as np

from dynsim.errors import argument_error


class Bracket(NamedTuple):
    """Two parameters next to each other, and the different outcomes that belong to them.

    Where the outcome is locally constant (a limit, inside its basin), some parameter between them has neither.
    """

    low: float
    high: float
    at_low: Hashable
    at_high: Hashable

    @property
    def middle(self) -> float:
        """The parameter halfway."""
        return (self.low + self.high) / 2


def bisect_outcome(
    outcome: Callable[[float], Hashable], low: float, high: float, *, width: float = 1e-9, max_steps: int = 200
) -> Bracket:
    """Return a bracket no wider than `width` across which the outcome changes; `low < high`.

    The outcome of a parameter is anything that compares, such as the number of the limit that `simulate` or `settle`
    reaches. A third outcome in between narrows the bracket too: it becomes the upper end. Parameters are not refined
    below two neighbouring floats. NumPy: not for `jit`.

    Raises:
        ValueError: if both ends have the same outcome: there need be no boundary between them.
    """
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise argument_error("high", f"be finite and above `low` = {low}", f"is {high}")
    if not width > 0:
        raise argument_error("width", "be positive", f"is {width}")
    left, right = outcome(low), outcome(high)
    if left == right:
        raise argument_error("outcome", "differ between `low` and `high`", f"is {left!r} at both")
    for _ in range(max_steps):
        middle = low + (high - low) / 2
        if high - low <= width or not low < middle < high:
            break
        found = outcome(middle)
        if found == left:
            low = middle
        else:
            high, right = middle, found
    return Bracket(low, high, left, right)
