"""Bisection for a point on the boundary between basins of attraction."""

from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

import numpy as np

from dynsim.errors import argument_error


class Bracket(NamedTuple):
    """An interval [low, high] of a parameter, with different outcomes at its ends.

    If each outcome holds on an open set of parameters (as a limit does in its basin of attraction), some parameter in
    the interval has neither of the two.
    """

    low: float
    high: float
    at_low: Hashable
    at_high: Hashable

    @property
    def middle(self) -> float:
        """The midpoint of the interval."""
        return (self.low + self.high) / 2


def bisect_outcome(
    outcome: Callable[[float], Hashable], low: float, high: float, *, width: float = 1e-9, max_steps: int = 200
) -> Bracket:
    """Return an interval no wider than `width`, within [low, high], at whose ends the outcome differs.

    The outcome of a parameter is any value with equality, such as the index of the limit that `simulate` or `settle`
    reaches. A parameter with a third outcome becomes the upper end. Bisection stops after `max_steps`, or when no float
    lies between the ends. NumPy: not for `jit`.

    Raises:
        ValueError: unless low < high and the width is positive, or if both ends have the same outcome.
    """
    return divide_outcomes(lambda xs: [outcome(x) for x in xs], low, high, width=width, max_steps=max_steps)


def divide_outcomes(
    outcomes: Callable[[list[float]], Sequence[Hashable]],
    low: float,
    high: float,
    *,
    parts: int = 2,
    width: float = 1e-9,
    max_steps: int = 200,
    at_ends: tuple[Hashable, Hashable] | None = None,
) -> Bracket:
    """Return what `bisect_outcome` does, from a function of many parameters at once and division into `parts`.

    The lowest part at whose upper end the outcome is not that of the lower end of all is divided again. `at_ends` are
    the outcomes at both ends, if they are known.

    Raises:
        ValueError: as `bisect_outcome`.
    """
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise argument_error("high", f"be finite and above `low` = {low}", f"is {high}")
    if not width > 0:
        raise argument_error("width", "be positive", f"is {width}")
    left, right = outcomes([low, high]) if at_ends is None else at_ends
    if left == right:
        raise argument_error("outcome", "differ between `low` and `high`", f"is {left!r} at both")
    for _ in range(max_steps):
        inside = [low + (high - low) * k / parts for k in range(1, parts)]
        if high - low <= width or not (low < inside[0] and inside[-1] < high):
            break
        ends = [low, *inside, high]
        found = [left, *outcomes(inside), right]
        change = next(k for k, one in enumerate(found) if one != left)
        low, high, right = ends[change - 1], ends[change], found[change]
    return Bracket(low, high, left, right)
