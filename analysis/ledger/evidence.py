"""Measurements and trials: every hypothesis and conclusion is measured as one inequality with an error bound."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dynsim._core.printing import one_line, report
from dynsim._core.types import ArrayLike
from dynsim.errors import ArgumentError, shown

ROUNDING = 1e-11
"""Bound of the rounding error of about 100 float64 operations on numbers of order one, with a wide margin."""

SOLVER = 1e-6
"""Bound of the error of a trajectory at the default tolerances, with a wide margin; unrelated to a theorem's slack."""

Range = tuple[float, float]
"""Smallest and largest value that a quantity can take."""

ANY: Range = (-math.inf, math.inf)

NON_NEGATIVE: Range = (0.0, math.inf)
"""Range of errors, counts and sizes, which have no upper bound of their own."""


@dataclass(frozen=True)
class Measurement:
    """Inequality `slack >= 0`, where `slack` has a numerical error of at most `tolerance`; `what` describes it.

    A hypothesis counts as met only if `slack >= tolerance`; a conclusion as violated only if `slack < -tolerance`.
    """

    what: str
    slack: float
    tolerance: float

    __repr__ = one_line
    __str__ = report

    @property
    def decided(self) -> bool:
        """Whether the slack is finite."""
        return math.isfinite(self.slack)

    @property
    def holds_clearly(self) -> bool:
        """Whether the slack is at least its tolerance."""
        return self.decided and self.slack >= self.tolerance

    @property
    def fails_clearly(self) -> bool:
        """Whether the slack is below minus its tolerance."""
        return self.decided and self.slack < -self.tolerance


def at_most(what: str, value: Any, bound: Any, *, tolerance: float, within: Range = ANY) -> Measurement:
    """Measure `value <= bound`; the tolerance is the numerical error of their difference.

    `within` is the range of the quantity, from its definition alone: a diameter of points on a sphere is in (0, 2).

    Args:
        what: name of the quantity.
        value: its measured value.
        bound: largest value that it may have.
        tolerance: numerical error of their difference, in its unit.
        within: smallest and largest value that the quantity can have.

    Raises:
        ValueError: for a bound that no value in the range exceeds clearly, so that the measurement could not fail.

    Example:
        >>> from analysis.ledger import at_most
        >>> at_most("diameter", 1.5, 1.75, tolerance=0.125, within=(0.0, 2.0)).slack
        0.25
    """
    _can_fail(what, _real("bound", bound) + _error(tolerance) < within[1], f"at most {bound}", within)
    return Measurement(what, _slack(bound, _real("value", value)), _error(tolerance))


def at_least(what: str, value: Any, bound: Any, *, tolerance: float, within: Range = ANY) -> Measurement:
    """Measure `value >= bound`; the tolerance is the numerical error of their difference, `within` as in `at_most`.

    Args:
        what: name of the quantity.
        value: its measured value.
        bound: smallest value that it may have.
        tolerance: numerical error of their difference, in its unit.
        within: smallest and largest value that the quantity can have.

    Raises:
        ValueError: for a bound that no value in the range falls clearly short of.

    Example:
        >>> from analysis.ledger import at_least
        >>> at_least("diameter", 1.5, 1.75, tolerance=0.125).fails_clearly
        True
    """
    _can_fail(what, _real("bound", bound) - _error(tolerance) > within[0], f"at least {bound}", within)
    return Measurement(what, _slack(_real("value", value), bound), _error(tolerance))


def equal(what: str, value: Any, expected: Any, *, tolerance: float, within: Range = ANY) -> Measurement:
    """Measure `value = expected` as `|value - expected| <= tolerance`, an inequality without numerical error.

    Args:
        what: name of the quantity.
        value: its measured value.
        expected: value that it should have.
        tolerance: largest difference that counts as equal.
        within: smallest and largest value that the quantity can have.

    Raises:
        ValueError: for a tolerance that no value in the range `within` exceeds.

    Example:
        >>> from analysis.ledger import equal
        >>> equal("energy", 1.0, 1.25, tolerance=0.5).slack
        0.25
    """
    farthest = max(_real("expected", expected) - within[0], within[1] - float(expected))
    _can_fail(what, farthest > _error(tolerance), f"equal to {expected} up to {tolerance}", within)
    return Measurement(what, _error(tolerance) - abs(_slack(_real("value", value), expected)), 0.0)


def holds(what: str, fact: bool | np.bool_) -> Measurement:
    """Measure a Boolean fact without numerical error: counts, index sets, exact algebra.

    Args:
        what: the fact, in words.
        fact: whether it is true.

    Example:
        >>> from analysis.ledger import holds
        >>> holds("there are two clusters", True).holds_clearly
        True
    """
    try:
        return Measurement(what, 1.0 if bool(fact) else -1.0, 0.0)
    except ValueError:
        raise ArgumentError("fact", "be True or False", f"is {shown(fact)}") from None


def _real(name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError(name, "be a real number in the range of floats", f"is {shown(value)}") from None


def _reals(name: str, value: Any) -> np.ndarray:
    try:
        return np.asarray(value, float)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError(name, "hold real numbers in the range of floats", f"is {shown(value)}") from None


def _slack(larger: Any, smaller: Any) -> float:
    larger, smaller = float(larger), float(smaller)
    if math.isnan(larger) or math.isnan(smaller):
        return math.nan
    return math.inf if larger == smaller == math.inf else larger - smaller


def _can_fail(what: str, able: bool, must: str, within: Range) -> None:
    """Raise `ValueError` for a measurement that every value of the quantity's range would pass."""
    if within is not ANY and not able:
        low, high = within
        raise ArgumentError("within", f"hold a value that is clearly not {must}", f"is ({low}, {high}) for `{what}`")


def _error(tolerance: float) -> float:
    tolerance = float(tolerance)
    if not tolerance >= 0:
        raise ArgumentError("tolerance", "be a non-negative number", f"is {tolerance}")
    return tolerance


@dataclass(frozen=True)
class Trial:
    """One instance of a statement: its measured hypotheses and conclusions, and a `witness` to reproduce it.

    `reason` says why the trial is undecided, if it is. `parameters` are the sizes and choices that were varied, such as
    `{"n": 5, "d": 3, "start": "half-space boundary"}`; the ledger prints their ranges over all trials.
    """

    hypotheses: tuple[Measurement, ...]
    conclusions: tuple[Measurement, ...]
    witness: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""
    parameters: Mapping[str, float | int | str] = field(default_factory=dict)

    __repr__ = one_line
    __str__ = report

    @classmethod
    def unfinished(cls, reason: str) -> "Trial":
        """Make an undecided trial, with the reason."""
        return cls((), (Measurement("the trial finished", math.nan, 0.0),), {}, reason)

    @property
    def applies(self) -> bool:
        """Whether all hypotheses hold clearly."""
        return all(m.holds_clearly for m in self.hypotheses)

    @property
    def decided(self) -> bool:
        """Whether the slack of every measurement is finite."""
        return all(m.decided for m in (*self.hypotheses, *self.conclusions))

    @property
    def contradicts(self) -> bool:
        """Whether all hypotheses hold clearly and some conclusion clearly fails."""
        return self.applies and any(m.fails_clearly for m in self.conclusions)

    @property
    def worst(self) -> Measurement:
        """Conclusion with the smallest slack, or an undecided one if there is any."""
        return min(self.conclusions, key=lambda m: m.slack if m.decided else -math.inf)


def agrees(what: str, found: Any, expected: ArrayLike) -> Measurement:
    """Measure that `found` equals `expected`, an array of its shape or a number, up to rounding in every entry.

    Args:
        what: name of the quantity.
        found: its computed value, a number or an array.
        expected: an array of the same shape, or a number for all entries.

    Example:
        >>> from analysis.ledger import agrees
        >>> agrees("mean", [1.0, 2.0], [1.0, 2.0]).holds_clearly, agrees("mean", [1.0, 2.0], 1.0).fails_clearly
        (True, True)
    """
    given, wanted = _reals("found", found), _reals("expected", expected)
    if wanted.ndim and given.shape != wanted.shape:
        return holds(f"the shape of {what} is {wanted.shape}, and not {given.shape}", False)
    gap = np.max(np.abs(given - wanted), initial=0.0)
    size = 1 + float(np.max(np.abs(wanted), initial=0.0))
    return equal(f"error of {what}", gap, 0.0, tolerance=ROUNDING * size)
